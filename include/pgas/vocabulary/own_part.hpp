// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <pgas/vocabulary/expects.hpp>

namespace pgas::inline PGAS_ASSERTIONS {

/// The elements [first, first + count) of this rank's own part, as the origin side of a transfer.
struct own_part {
  std::size_t first = 0;  ///< in elements of the own part
  std::size_t count = 0;  ///< in elements
};

}  // namespace pgas::inline PGAS_ASSERTIONS
