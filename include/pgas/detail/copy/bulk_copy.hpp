// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <pgas/detail/copy/cache_sizes.hpp>
#include <pgas/detail/copy/short_copy.hpp>
#include <pgas/detail/processor/streaming_stores.hpp>

namespace PGAS_NAMESPACE::detail {

using processor::end_streaming;

/// Copies whole lines of `to` past the caches, and the rest through them. For a series of copies, after whose
/// last one end_streaming() orders the bytes before a later signal.
inline void stream_part(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
  std::size_t const head = (64 - reinterpret_cast<std::uintptr_t>(to) % 64) % 64;
  if (bytes < head + 64) return copy_short(to, from, bytes);
  std::size_t const lines = (bytes - head) / 64;
  std::size_t const done = head + lines * 64;
  copy_short(to, from, head);
  processor::stream_lines(to + head, from + head, lines);
  copy_short(to + done, from + done, bytes - done);
}

/// Copies rows of `row_bytes` bytes; pitches are in bytes. With `streams` the rows pass the caches, and the
/// caller ends the series by end_streaming().
inline void copy_rows(std::byte* to, std::size_t to_pitch, std::byte const* from, std::size_t from_pitch,
                      std::size_t rows, std::size_t row_bytes, bool streams) noexcept {
  if (streams) {
    for (; rows > 0; --rows, to += to_pitch, from += from_pitch) stream_part(to, from, row_bytes);
  } else {
    for (; rows > 0; --rows, to += to_pitch, from += from_pitch) copy_short(to, from, row_bytes);
  }
}

/// Copies rows of memory, past the caches if all of them are longer than longest_cached_copy(). At return the
/// copy is as ordered as a memcpy.
inline void bulk_copy(std::byte* to, std::size_t to_pitch, std::byte const* from, std::size_t from_pitch,
                      std::size_t rows, std::size_t row_bytes) noexcept {
  bool const streams = rows * row_bytes > longest_cached_copy();
  copy_rows(to, to_pitch, from, from_pitch, rows, row_bytes, streams);
  if (streams) end_streaming();
}
/// The same for one row.
inline void bulk_copy(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
  bulk_copy(to, bytes, from, bytes, 1, bytes);
}

}  // namespace PGAS_NAMESPACE::detail
