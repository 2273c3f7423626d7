// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <limits>
#include <pgas/detail/types/algorithms.hpp>
#include <pgas/vocabulary/expects.hpp>
#include <span>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// In the place of a number of bytes that not all ranks know.
inline constexpr std::size_t unknown_bytes = std::numeric_limits<std::size_t>::max();

/// How a message is cut into pieces of whole elements, the same on every rank that knows its length.
///
/// Pieces are short enough that one rank writes a piece while another reads the one before, and long enough
/// that a piece costs more than its signal.
class cut {
 public:
  constexpr cut(std::size_t bytes, std::size_t unit, std::size_t most) noexcept
      : bytes_(bytes), piece_(length(bytes, most) / unit * unit) {
    if (piece_ == 0) piece_ = std::max(unit, std::size_t{1});
  }

  [[nodiscard]] constexpr std::size_t count() const noexcept { return pieces_of(bytes_, piece_); }
  [[nodiscard]] constexpr std::size_t longest() const noexcept { return std::min(bytes_, piece_); }
  template <class Byte>
  [[nodiscard]] constexpr std::span<Byte> of(std::span<Byte> all, std::size_t i) const noexcept {
    return all.subspan(i * piece_, std::min(piece_, bytes_ - i * piece_));
  }

  /// The number of pieces of this length.
  static constexpr std::size_t pieces_of(std::size_t bytes, std::size_t piece) noexcept {
    return bytes == 0 ? 0 : (bytes - 1) / piece + 1;
  }

 private:
  static constexpr std::size_t at_once = 8192;  ///< a message of so many bytes is one piece
  static constexpr std::size_t least = 4096;

  static constexpr std::size_t length(std::size_t bytes, std::size_t most) noexcept {
    if (bytes <= std::min(at_once, most)) return std::max(bytes, std::size_t{1});
    return std::min(most, std::max(least, (bytes / 4 + 63) / 64 * 64));
  }

  std::size_t bytes_;
  std::size_t piece_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
