// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <pgas/concepts/access_kind.hpp>
#include <pgas/vocabulary/rank.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail::scc {

/// An access as the oracle remembers it.
struct checked_access {
  rank_t rank = 0;
  std::uint32_t where = 0;  ///< in the oracle's places
  access_kind kind = access_kind::own;
  bool is_read = false;
};

/// The faults that the oracle reports, see checker.
enum class check_fault { none, stale, race, unflushed, false_sharing };

/// The call that would have ordered the accesses of a race.
enum class missing_order { order, flush, sync, exclusive_lock, atomicity };

/// The oracle's answer to an access.
struct check_verdict {
  check_fault what = check_fault::none;
  checked_access last;
  std::size_t byte = 0;  ///< in the line: the first wrong byte
  std::byte expected{};
  missing_order lacks = missing_order::order;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::scc
