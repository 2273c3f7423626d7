// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstring>
#include <pgas/detail/types/algorithms.hpp>
#include <pgas/vocabulary/expects.hpp>
#include <string_view>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Copies as much of a text as fits into an array of characters, which can travel between ranks.
template <std::size_t Size>
void copy_text(std::array<char, Size>& to, std::string_view from) noexcept {
  std::memcpy(to.data(), from.data(), std::min(from.size(), Size - 1));
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
