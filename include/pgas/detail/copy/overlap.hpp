// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <pgas/vocabulary/expects.hpp>

namespace PGAS_NAMESPACE::detail {

/// Returns whether two runs of `bytes` bytes have a byte in common. Memory at null overlaps nothing.
inline bool overlap(void const* a, void const* b, std::size_t bytes) noexcept {
  auto const x = reinterpret_cast<std::uintptr_t>(a);
  auto const y = reinterpret_cast<std::uintptr_t>(b);
  return y - x < bytes || x - y < bytes;  // unsigned: one of the distances is short
}

/// The same for rows of memory whose whole extents overlap. Pitches are at least as long as a row.
[[gnu::noinline]] inline bool rows_meet(std::uintptr_t x, std::size_t x_pitch, std::uintptr_t y,
                                        std::size_t y_pitch, std::size_t rows,
                                        std::size_t row_bytes) noexcept {
  if (rows == 1) return true;
  if (x_pitch == y_pitch) {  // the columns of one matrix
    std::uintptr_t const distance = x > y ? x - y : y - x;
    std::size_t const row = distance / x_pitch;
    std::size_t const column = distance % x_pitch;
    return (row < rows && column < row_bytes) || (row + 1 < rows && x_pitch - column < row_bytes);
  }
  for (std::size_t i = 0; i < rows; ++i, x += x_pitch) {
    if (x + row_bytes <= y) continue;
    std::size_t const last =
        std::min((x + row_bytes - 1 - y) / y_pitch, rows - 1);  // that begins before x ends
    if (y + last * y_pitch + row_bytes > x) return true;
  }
  return false;
}

/// Returns whether rows of memory have a byte in common. Pitches are in bytes.
inline bool rows_overlap(void const* a, std::size_t a_pitch, void const* b, std::size_t b_pitch,
                         std::size_t rows, std::size_t row_bytes) noexcept {
  if (rows == 0 || row_bytes == 0) return false;
  auto const x = reinterpret_cast<std::uintptr_t>(a);
  auto const y = reinterpret_cast<std::uintptr_t>(b);
  if (y - x >= (rows - 1) * a_pitch + row_bytes && x - y >= (rows - 1) * b_pitch + row_bytes) return false;
  return rows_meet(x, a_pitch, y, b_pitch, rows, row_bytes);
}

}  // namespace PGAS_NAMESPACE::detail
