// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <pgas/detail/files/file.hpp>
#include <pgas/fence.hpp>
#include <pgas/global_array.hpp>

namespace PGAS_NAMESPACE::detail {

/// Calls use(box, number of its first cell) for the cells of `range`, numbered in row-major order of an array
/// of these extents. The boxes come in order, and are at most 2 N - 1.
template <std::size_t N, class Use>
constexpr void for_each_box(std::array<std::size_t, N> const& extents, index_range range, Use&& use) {
  auto const pitches = dense_pitches(extents);
  std::size_t const end = range.first + range.count;
  for (std::size_t at = range.first; at < end;) {
    box<N> b;
    std::size_t rest = at;
    for (std::size_t d = 0; d < N; ++d) {
      b.first[d] = rest / pitches[d];
      b.count[d] = 1;
      rest %= pitches[d];
    }
    std::size_t d = N - 1;  // the outermost dimension with a whole slice of the range from here on
    while (d > 0 && at % pitches[d - 1] == 0 && end - at >= pitches[d - 1]) --d;
    b.count[d] = std::min((end - at) / pitches[d], extents[d] - b.first[d]);
    for (std::size_t inner = d + 1; inner < N; ++inner) b.count[inner] = extents[inner];
    use(std::as_const(b), at);
    at += b.count[d] * pitches[d];
  }
}

/// The strip of a file that this rank writes or reads: consecutive cells of a box, in row-major order.
///
/// If each rank owns whole rows in plain memory, its strip consists of these rows and moves without a copy.
/// Otherwise all strips have the same size, and ranks exchange cells by put or get. The file is thus moved in
/// large runs on every layout.
/// Two-phase collective I/O: del Rosario, Bordawekar and Choudhary 1993; ROMIO: Thakur, Gropp and Lusk 1999.
template <any_global_array Array>
class strip {
 public:
  static constexpr std::size_t dimensions = Array::dimensions;
  using value_type = typename Array::value_type;
  using box_type = typename Array::box_type;

  strip(Array const& a, box_type const& cells) : array_(&a), cells_(cells), is_own_(is_own(a, cells)) {
    if (is_own_) {
      if constexpr (has_rows) {
        auto const own = intersection(a.own_box(), cells);
        std::size_t const row = cells.count[0] == 0 ? 0 : cells.size() / cells.count[0];
        if (own.size() != 0) share_ = {(own.first[0] - cells.first[0]) * row, own.count[0] * row};
      }
    } else {
      auto const ranks = static_cast<std::size_t>(a.ranks());
      auto const rank = static_cast<std::size_t>(a.rank());
      std::size_t const all = cells.size();  // all / ranks cells each, the first ranks one more
      share_.first = all / ranks * rank + std::min(rank, all % ranks);
      share_.count = all / ranks + (rank < all % ranks ? 1 : 0);
    }
  }

  /// Writes the strip to a `file`, or to one that a backend carries. `first` is the byte of the file at which
  /// the first cell of the box lies. Collective.
  /// Returns this rank's failure; the rank has taken part in all collective steps even then. Throws
  /// exceptions of epochs and of `progress`.
  template <class File, class Progress>
  [[nodiscard]] std::optional<file_failure> write(File const* to, std::uint64_t first,
                                                  Progress& progress) const {
    if (is_own_) {
      return in_chunks(to != nullptr, progress, [&](index_range chunk, auto&) {
        auto pieces = own_pieces(chunk);
        to->write(pieces, first + chunk.first * sizeof(value_type));
      });
    }
    fence epoch{*array_, read_only};
    auto failed = in_chunks(to != nullptr, progress, [&](index_range chunk, auto& memory) {
      for_each_box(cells_.count, chunk, [&](box_type b, std::size_t at) {
        epoch.get(shifted(b), std::span(memory.get() + (at - chunk.first), b.size()));
      });
      epoch.flush_local_all();
      to->write(memory.get(), chunk.count * sizeof(value_type), first + chunk.first * sizeof(value_type));
    });
    epoch.close();
    return failed;
  }

  /// Reads the strip; like write.
  template <class File, class Progress>
  [[nodiscard]] std::optional<file_failure> read(File const* from, std::uint64_t first,
                                                 Progress& progress) const {
    if (is_own_) {
      return in_chunks(from != nullptr, progress, [&](index_range chunk, auto&) {
        auto pieces = own_pieces(chunk);
        from->read(pieces, first + chunk.first * sizeof(value_type));
        for (iovec const& p : own_pieces(chunk)) check_truth(p.iov_base, p.iov_len, first);
      });
    }
    fence epoch{*array_, write_only};
    auto failed = in_chunks(from != nullptr, progress, [&](index_range chunk, auto& memory) {
      from->read(memory.get(), chunk.count * sizeof(value_type), first + chunk.first * sizeof(value_type));
      check_truth(memory.get(), chunk.count, first + chunk.first);
      for_each_box(cells_.count, chunk, [&](box_type b, std::size_t at) {
        epoch.put(shifted(b), std::span<value_type const>(memory.get() + (at - chunk.first), b.size()));
      });
      epoch.flush_local_all();
    });
    epoch.close();
    return failed;
  }

 private:
  static constexpr bool has_rows = box_layout<typename Array::layout_type> && Array::is_contiguous;
  static constexpr std::size_t chunk_cells =
      std::max<std::size_t>(1, (std::size_t{8} << 20U) / sizeof(value_type));
  /// Shorter runs of memory are gathered first: a system call accepts at most 1024 runs.
  static constexpr std::size_t short_run = 256;

  /// True if ranks move their own rows. All ranks get the same answer.
  static bool is_own(Array const& a, box_type const& cells) noexcept {
    if constexpr (has_rows) {
      for (std::size_t d = 1; d < dimensions; ++d) {
        if (a.layout().places().extent(d) != 1) return false;
      }
      return dimensions == 1 || cells.count[dimensions - 1] * sizeof(value_type) >= short_run;
    } else {
      return false;
    }
  }

  [[nodiscard]] box_type shifted(box_type b) const noexcept {
    for (std::size_t d = 0; d < dimensions; ++d) b.first[d] += cells_.first[d];
    return b;
  }

  /// The memory of own cells, in the order of the file.
  [[nodiscard]] std::vector<iovec> own_pieces(index_range chunk) const {
    std::vector<iovec> pieces;
    if constexpr (has_rows) {
      auto const place = array_->local_place();
      auto const own = array_->own_box();
      value_type* const part = array_->window().local().data();
      for_each_box(cells_.count, chunk, [&](box_type const& b, std::size_t) {
        auto first = shifted(b).first;
        for (std::size_t d = 0; d < dimensions; ++d) first[d] -= own.first[d];
        for_each_block<dimensions>(
            b.count, {0, dense_pitches(cells_.count)},
            {place.first + element_at(first, place.pitches), place.pitches},
            [&](rows_of block, std::size_t at, std::size_t pitch) {
              for (std::size_t row = 0; row < block.rows; ++row) {
                pieces.push_back({part + at + row * pitch, block.cols * sizeof(value_type)});
              }
            });
      });
    }
    return pieces;
  }

  /// Throws if a byte is neither of the two values of a bool.
  static void check_truth(void const* memory, std::size_t count, std::uint64_t first) {
    if constexpr (std::is_same_v<value_type, bool>) {
      auto const* const bytes = static_cast<unsigned char const*>(memory);
      auto const* const odd = std::find_if(bytes, bytes + count, [](unsigned char b) { return b > 1; });
      if (odd == bytes + count) return;
      throw file_failure(errc::bad_file, "holds no bool: one of the bytes from " + std::to_string(first) +
                                             " on is " + std::to_string(*odd));
    }
  }

  /// Calls move(range, memory for its cells) for each piece of the strip, and then progress(bytes done, all
  /// bytes).
  template <class Progress, class Move>
  std::optional<file_failure> in_chunks(bool can, Progress& progress, Move const& move) const {
    if (!can || share_.count == 0) return std::nullopt;
    std::unique_ptr<value_type[]> memory;  // a vector<bool> has no plain memory
    try {
      if (!is_own_) memory = std::make_unique<value_type[]>(std::min(share_.count, chunk_cells));
    } catch (std::bad_alloc const&) {
      return file_failure(errc::no_space, "needs memory to gather cells, but none is left");
    }
    for (std::size_t done = 0; done < share_.count;) {
      std::size_t const count = std::min(chunk_cells, share_.count - done);
      try {
        move(index_range{share_.first + done, count}, memory);
      } catch (file_failure const& failure) {
        return failure;
      }
      done += count;
      progress(static_cast<std::uint64_t>(done * sizeof(value_type)),
               static_cast<std::uint64_t>(share_.count * sizeof(value_type)));
    }
    return std::nullopt;
  }

  Array const* array_;
  box_type cells_;
  bool is_own_;
  index_range share_;
};

}  // namespace PGAS_NAMESPACE::detail
