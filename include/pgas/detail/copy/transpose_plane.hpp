// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <pgas/detail/copy/bulk_copy.hpp>
#include <utility>

namespace PGAS_NAMESPACE::detail {

/// A vector of `Bytes` bytes. Each of its lanes is an element, or a part of one that is larger than 8 bytes.
template <std::size_t Bytes, std::size_t ElementBytes>
struct register_of {
  using lane = std::conditional_t<
      ElementBytes % 8 == 0, std::uint64_t,
      std::conditional_t<ElementBytes == 4, std::uint32_t,
                         std::conditional_t<ElementBytes == 2, std::uint16_t, std::uint8_t>>>;
  typedef lane vector __attribute__((vector_size(Bytes)));
  static constexpr std::size_t count = Bytes / sizeof(lane);
  static constexpr std::size_t an_element = ElementBytes / sizeof(lane);
};

/// Swaps squares of `Step` lanes across the diagonal: the second of each pair in `a` with the first of that
/// in `b`.
template <std::size_t Step, class Vector, std::size_t... Lane>
[[gnu::always_inline]] inline void swap_squares(Vector& a, Vector& b, std::index_sequence<Lane...>) noexcept {
  constexpr auto all = static_cast<int>(sizeof...(Lane));
  constexpr auto step = static_cast<int>(Step);
  Vector const first = a;
  a = __builtin_shufflevector(first, b, ((Lane & Step) == 0 ? int{Lane} : all + int{Lane} - step)...);
  b = __builtin_shufflevector(first, b, ((Lane & Step) == 0 ? int{Lane} + step : all + int{Lane})...);
}

/// Transposes a square of elements in registers, one row in each. It swaps squares of one element, then of
/// two, four and so on. Source: Eklundh 1972.
template <std::size_t Step, class Lanes, std::size_t Rows>
[[gnu::always_inline]] inline void transpose_rows(typename Lanes::vector (&rows)[Rows]) noexcept {
  if constexpr (Step < Rows) {
#pragma GCC unroll 16
    for (std::size_t r = 0; r < Rows; ++r) {
      if ((r & Step) == 0) {
        swap_squares<Step * Lanes::an_element>(rows[r], rows[r + Step],
                                               std::make_index_sequence<Lanes::count>());
      }
    }
    transpose_rows<2 * Step, Lanes>(rows);
  }
}

/// Transposes rows x cols elements in squares that fit registers of `Bytes` bytes, and the remaining ones one
/// by one.
template <std::size_t Bytes, std::size_t ElementBytes>
[[gnu::always_inline]] inline void transpose_squares(std::byte const* from, std::size_t from_pitch,
                                                     std::byte* to, std::size_t to_pitch, std::size_t rows,
                                                     std::size_t cols) noexcept {
  constexpr std::size_t side = ElementBytes < Bytes && Bytes % ElementBytes == 0 ? Bytes / ElementBytes : 1;
  std::size_t square_rows = 0;
  std::size_t square_cols = 0;
  if constexpr (side > 1) {
    using in_register = register_of<Bytes, ElementBytes>;
    square_rows = rows - rows % side;
    square_cols = cols - cols % side;
    for (std::size_t i = 0; i < square_rows; i += side) {
      for (std::size_t j = 0; j < square_cols; j += side) {
        typename in_register::vector square[side];
#pragma GCC unroll 16
        for (std::size_t r = 0; r < side; ++r) {
          std::memcpy(&square[r], from + (i + r) * from_pitch + j * ElementBytes, Bytes);
        }
        transpose_rows<1, in_register>(square);
#pragma GCC unroll 16
        for (std::size_t r = 0; r < side; ++r) {
          std::memcpy(to + (j + r) * to_pitch + i * ElementBytes, &square[r], Bytes);
        }
      }
    }
  }
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = i < square_rows ? square_cols : 0; j < cols; ++j) {
      std::memcpy(to + j * to_pitch + i * ElementBytes, from + i * from_pitch + j * ElementBytes,
                  ElementBytes);
    }
  }
}

/// Transposes rows x cols elements block by block; pitches are in bytes.
///
/// Each block is first transposed into a dense one in the first level cache. Both memories are therefore
/// touched in runs of four lines, or of eight in `to`. This also holds for pitches that are powers of two,
/// with which a column lies in one set of the cache. The next block is prefetched while one is stored: at the
/// end of a row of blocks the first of the next row, and at last the plane at `next`, unless that is null.
/// Blocks follow each other along the rows of `from`, so a page serves several. In a high plane they are
/// twice as high as wide, which makes the runs in `to` longer.
template <std::size_t Bytes, std::size_t ElementBytes>
[[gnu::always_inline]] inline void transpose_blocks(std::byte const* from, std::size_t from_pitch,
                                                    std::byte* to, std::size_t to_pitch, std::size_t rows,
                                                    std::size_t cols, bool streams,
                                                    std::byte const* next) noexcept {
  constexpr std::size_t line = 64;
  constexpr std::size_t most = std::clamp<std::size_t>(4 * line / ElementBytes, 1, line);
  constexpr std::size_t tallest = 2 * most * most * ElementBytes <= std::size_t{1} << 14U ? 2 * most : most;
  alignas(line) std::byte block[tallest * most * ElementBytes];
  std::size_t const tall = rows >= 2 * tallest ? tallest : most;
  std::size_t const pitch = tall * ElementBytes;
  // Blocks begin at lines of `to`, if its pitch is whole lines.
  std::size_t const past_line = reinterpret_cast<std::uintptr_t>(to) / ElementBytes % most;
  std::size_t height = std::min(tall - past_line, rows);
  for (std::size_t i = 0; i < rows; i += height, height = std::min(tall, rows - i)) {
    for (std::size_t j = 0; j < cols; j += most) {
      std::size_t const width = std::min(most, cols - j);
      std::byte const* const source = from + i * from_pitch + j * ElementBytes;
      transpose_squares<Bytes, ElementBytes>(source, from_pitch, block, pitch, height, width);
      std::byte const* const then = j + most < cols     ? source + most * ElementBytes
                                    : i + height < rows ? from + (i + height) * from_pitch
                                                        : next;
      std::size_t const rows_a_row = (height + width - 1) / width;
      for (std::size_t c = 0; c < width; ++c) {
        if (then != nullptr) {
          for (std::size_t r = c * rows_a_row; r < std::min((c + 1) * rows_a_row, height); ++r) {
            for (std::size_t k = 0; k < most * ElementBytes; k += line)
              __builtin_prefetch(then + r * from_pitch + k, 0, 2);
          }
        }
        std::byte* const target = to + (j + c) * to_pitch + i * ElementBytes;
        std::byte const* const column = block + c * pitch;
        std::size_t const bytes = height * ElementBytes;
        (streams ? stream_part : copy_short)(target, column, bytes);
      }
    }
  }
}

// The address of each of the following is taken, which an always_inline function does not admit.
template <std::size_t ElementBytes>
void transpose_blocks_in_16(std::byte const* from, std::size_t from_pitch, std::byte* to,
                            std::size_t to_pitch, std::size_t rows, std::size_t cols, bool streams,
                            std::byte const* next) noexcept {
  transpose_blocks<16, ElementBytes>(from, from_pitch, to, to_pitch, rows, cols, streams, next);
}
#if defined(__x86_64__)
template <std::size_t ElementBytes>
[[gnu::target("avx512f")]] void transpose_blocks_wide(std::byte const* from, std::size_t from_pitch,
                                                      std::byte* to, std::size_t to_pitch, std::size_t rows,
                                                      std::size_t cols, bool streams,
                                                      std::byte const* next) noexcept {
  transpose_blocks<64, ElementBytes>(from, from_pitch, to, to_pitch, rows, cols, streams, next);
}

/// Transposes `Squares` squares below each other past the caches. A row of `to` gets its lines one after the
/// other, since a processor writes two lines side by side in half of the time of two that are apart.
template <std::size_t Squares, std::size_t ElementBytes>
[[gnu::always_inline, gnu::target("avx512f")]] inline void stream_column(std::byte const* from,
                                                                         std::size_t from_pitch,
                                                                         std::byte* to,
                                                                         std::size_t to_pitch) noexcept {
  using in_register = register_of<64, ElementBytes>;
  constexpr std::size_t side = 64 / ElementBytes;
  typename in_register::vector squares[Squares][side];
#pragma GCC unroll 2
  for (std::size_t s = 0; s < Squares; ++s) {
#pragma GCC unroll 16
    for (std::size_t r = 0; r < side; ++r)
      std::memcpy(&squares[s][r], from + (s * side + r) * from_pitch, 64);
    transpose_rows<1, in_register>(squares[s]);
  }
#pragma GCC unroll 16
  for (std::size_t r = 0; r < side; ++r) {
#pragma GCC unroll 2
    for (std::size_t s = 0; s < Squares; ++s)
      processor::stream_register(to + r * to_pitch + s * 64, squares[s][r]);
  }
}

/// Transposes past the caches: two squares at a time are stored to their places straight from registers.
///
/// Requires that `to` and its pitch are whole lines, and that `rows` and `cols` are multiples of a line's
/// elements. More lines for a row of `to`, or a prefetch, are slower if rows of `from` lie in few sets of a
/// cache. A page's worth of rows and columns is finished before the next one, since the processor keeps the
/// addresses of about so many pages.
template <std::size_t ElementBytes>
[[gnu::target("avx512f")]] void stream_squares(std::byte const* from, std::size_t from_pitch, std::byte* to,
                                               std::size_t to_pitch, std::size_t rows,
                                               std::size_t cols) noexcept {
  constexpr std::size_t side = 64 / ElementBytes;
  constexpr std::size_t most = std::min<std::size_t>(512, 4096 / ElementBytes);
  constexpr std::size_t at_once = side <= 8 ? 2 : 1;  // squares in half of the registers
  for (std::size_t first_row = 0; first_row < rows; first_row += most) {
    std::size_t const end_row = std::min(first_row + most, rows);
    for (std::size_t first_col = 0; first_col < cols; first_col += most) {
      std::size_t const end_col = std::min(first_col + most, cols);
      for (std::size_t i = first_row; i < end_row; i += 2 * side) {
        std::size_t const squares = std::min<std::size_t>(2, (end_row - i) / side);
        for (std::size_t j = first_col; j < end_col; j += side) {
          std::byte const* const source = from + i * from_pitch + j * ElementBytes;
          std::byte* const target = to + j * to_pitch + i * ElementBytes;
          if (squares == at_once) {
            stream_column<at_once, ElementBytes>(source, from_pitch, target, to_pitch);
            continue;
          }
          for (std::size_t s = 0; s < squares; ++s) {
            stream_column<1, ElementBytes>(source + s * side * from_pitch, from_pitch, target + s * 64,
                                           to_pitch);
          }
        }
      }
    }
  }
}

/// Transposes past the caches: whole lines of `to` in squares, if its pitch is whole lines, and the rest in
/// blocks.
template <std::size_t ElementBytes>
void transpose_past_caches(std::byte const* from, std::size_t from_pitch, std::byte* to, std::size_t to_pitch,
                           std::size_t rows, std::size_t cols) noexcept {
  constexpr std::size_t side = 64 / ElementBytes;
  auto const blocks = [&](std::size_t row, std::size_t col, std::size_t height, std::size_t width) {
    if (height == 0 || width == 0) return;
    transpose_blocks_wide<ElementBytes>(from + row * from_pitch + col * ElementBytes, from_pitch,
                                        to + col * to_pitch + row * ElementBytes, to_pitch, height, width,
                                        true, nullptr);
  };
  std::size_t const past_line = reinterpret_cast<std::uintptr_t>(to) % 64;
  if (to_pitch % 64 != 0 || past_line % ElementBytes != 0) return blocks(0, 0, rows, cols);
  std::size_t const head = std::min((64 - past_line) % 64 / ElementBytes, rows);
  std::size_t const height = (rows - head) / side * side;
  std::size_t const width = cols / side * side;
  blocks(0, 0, head, cols);
  stream_squares<ElementBytes>(from + head * from_pitch, from_pitch, to + head * ElementBytes, to_pitch,
                               height, width);
  blocks(head, width, height, cols - width);
  blocks(head + height, 0, rows - head - height, cols);
}
#endif

/// Transposes rows x cols elements: rows of `from` become columns of `to`; pitches are in elements.
///
/// With `streams` the elements pass the caches, which could not keep them, and lines of `to` are not read
/// before they are overwritten. The caller ends a series of such calls by end_streaming(). In a series `next`
/// is the source of the next call, of the same pitch: its first rows are prefetched.
template <class T>
void transpose_plane(T const* from, std::size_t from_pitch, T* to, std::size_t to_pitch, std::size_t rows,
                     std::size_t cols, bool streams, T const* next = nullptr) noexcept {
  auto const in_bytes = [&](auto transpose, auto... more) {
    transpose(reinterpret_cast<std::byte const*>(from), from_pitch * sizeof(T),
              reinterpret_cast<std::byte*>(to), to_pitch * sizeof(T), rows, cols, more...);
  };
  auto const* const then = reinterpret_cast<std::byte const*>(next);
#if defined(__x86_64__)
  if constexpr (sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16) {  // squares that fit the registers
    if (__builtin_cpu_supports("avx512f")) {
      return streams ? in_bytes(transpose_past_caches<sizeof(T)>)
                     : in_bytes(transpose_blocks_wide<sizeof(T)>, false, then);
    }
  }
#endif
  in_bytes(transpose_blocks_in_16<sizeof(T)>, streams, then);
}

}  // namespace PGAS_NAMESPACE::detail
