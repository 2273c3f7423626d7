// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <pgas/vocabulary/rank.hpp>

namespace pgas::inline PGAS_ASSERTIONS {

/// The position of a piece of a heap in its window: `count` elements of one rank's part from `first` on.
struct opened_piece {
  rank_t rank = 0;        ///< the owner of the piece
  std::size_t first = 0;  ///< its first element in the owner's part
  std::size_t count = 0;  ///< in elements

  friend constexpr bool operator==(opened_piece const&, opened_piece const&) noexcept = default;
};

}  // namespace pgas::inline PGAS_ASSERTIONS
