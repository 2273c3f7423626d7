// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <pgas/detail/text/text.hpp>
#include <span>
#include <string>

namespace PGAS_NAMESPACE::detail {

/// The sizes of parts that lie at equal distances, as an error names them: those of all ranks, or the largest
/// and its rank.
inline std::string asked_text(std::span<std::size_t const> sizes) {
  auto const largest = std::max_element(sizes.begin(), sizes.end());
  if (std::equal(sizes.begin() + 1, sizes.end(), sizes.begin()))
    return text_of({*largest, " bytes on each of ", sizes.size(), " ranks were asked for"});
  return text_of({*largest, " bytes on rank ", largest - sizes.begin(), " were asked for, and each of ",
                  sizes.size(), " ranks takes as many addresses"});
}

}  // namespace PGAS_NAMESPACE::detail
