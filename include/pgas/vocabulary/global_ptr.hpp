// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <pgas/vocabulary/rank.hpp>

namespace PGAS_NAMESPACE {

/// The position of a piece of a heap in its window: `count` elements of one rank's part from `first` on.
struct opened_piece {
  rank_t rank = 0;        ///< the owner of the piece
  std::size_t first = 0;  ///< its first element in the owner's part
  std::size_t count = 0;  ///< in elements

  friend constexpr bool operator==(opened_piece const&, opened_piece const&) noexcept = default;
};

/// The address of an element of a window: the rank that owns it and its index in that rank's part. A plain
/// value that may be stored in windows and sent; it means the same on every rank of the window's team.
///
/// Arithmetic stays within one part. An open epoch dereferences it, `epoch[p]`. `window.local(p)` turns it
/// into a `T*` if load and store reach the part. UPC++: global_ptr.
template <class T>
struct global_ptr {
  rank_t rank = -1;        ///< the owner, a number of the window's team; negative: the null pointer
  std::int64_t index = 0;  ///< in elements of the owner's part

  /// Returns whether the pointer names an element: false for a null pointer.
  explicit constexpr operator bool() const noexcept { return rank >= 0; }

  /// Moves by `n` elements within the part, as a pointer into an array does.
  constexpr global_ptr& operator+=(std::ptrdiff_t n) noexcept { return index += n, *this; }
  /// Moves back by `n` elements.
  constexpr global_ptr& operator-=(std::ptrdiff_t n) noexcept { return index -= n, *this; }
  /// Moves to the next element of the part.
  constexpr global_ptr& operator++() noexcept { return *this += 1; }
  /// Moves to the element before.
  constexpr global_ptr& operator--() noexcept { return *this -= 1; }
  /// The pointer `n` elements further.
  friend constexpr global_ptr operator+(global_ptr p, std::ptrdiff_t n) noexcept { return p += n; }
  friend constexpr global_ptr operator-(global_ptr p, std::ptrdiff_t n) noexcept { return p -= n; }
  /// The distance in elements between two pointers into the same part.
  friend constexpr std::ptrdiff_t operator-(global_ptr a, global_ptr b) noexcept { return a.index - b.index; }
  friend constexpr auto operator<=>(global_ptr, global_ptr) noexcept = default;
};

}  // namespace PGAS_NAMESPACE
