// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstring>
#include <pgas/vocabulary/expects.hpp>

namespace PGAS_NAMESPACE::detail {

/// Copies the first and the last `Piece` bytes, which may overlap. Both loads precede both stores.
template <std::size_t Piece>
void copy_ends(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
  struct {
    std::byte at[Piece];
  } first, last;
  std::memcpy(&first, from, Piece);
  std::memcpy(&last, from + bytes - Piece, Piece);
  std::memcpy(to, &first, Piece);
  std::memcpy(to + bytes - Piece, &last, Piece);
}

/// Copies any number of bytes: few without a call, which would take longer than the copy.
inline void copy_short(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
  if (bytes > 64) {
    std::memcpy(to, from, bytes);
  } else if (bytes >= 32) {
    copy_ends<32>(to, from, bytes);
  } else if (bytes >= 16) {
    copy_ends<16>(to, from, bytes);
  } else if (bytes >= 8) {
    copy_ends<8>(to, from, bytes);
  } else if (bytes >= 4) {
    copy_ends<4>(to, from, bytes);
  } else if (bytes != 0) {
    to[0] = from[0];
    to[bytes / 2] = from[bytes / 2];
    to[bytes - 1] = from[bytes - 1];
  }
}

}  // namespace PGAS_NAMESPACE::detail
