// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <pgas/concepts/collective.hpp>
#include <pgas/detail/control/collective_call.hpp>
#include <pgas/detail/exchange/steps.hpp>
#include <pgas/detail/types/plain_list.hpp>
#include <pgas/vocabulary/block_sizes.hpp>
#include <pgas/vocabulary/expects.hpp>
#include <pgas/vocabulary/folding.hpp>
#include <span>

namespace PGAS_NAMESPACE::detail {

/// Stands for a number of bytes that not all ranks know.
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

/// The bytes at the beginning of a share that hold the length of its block. Ranks need them to compare calls,
/// unless all ranks know the lengths of all blocks. They keep elements aligned to 16.
constexpr std::size_t head_bytes(std::size_t share, bool are_equal) noexcept {
  constexpr std::size_t head = 16;
  return compares_calls && !are_equal && share >= 2 * head ? head : 0;
}
/// The number of pieces of such a block: at least one, so that the other rank can compare the length.
constexpr std::size_t compared_pieces(std::size_t pieces, bool are_equal) noexcept {
  return compares_calls && !are_equal ? std::max(pieces, std::size_t{1}) : pieces;
}

inline void write_head(std::byte* share, std::size_t block) noexcept {
  std::uint64_t const bytes = block;
  std::memcpy(share, &bytes, sizeof bytes);
}
inline std::size_t read_head(std::byte const* share) noexcept {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, share, sizeof bytes);
  return static_cast<std::size_t>(bytes);
}

/// Passes blocks round the ring of ranks: each rank has block `rank + ahead` first, and all blocks at the
/// end. In each of n - 1 rounds a rank sends what came in the round before.
template <linking_medium M>
steps pass_round(M& m, bytes_out all, block_sizes const& sizes, rank_t ahead) {
  link const up{0, false};
  rank_t const ranks = m.size();
  for (rank_t round = 0; round + 1 < ranks; ++round) {
    rank_t const out = (m.rank() + ahead - round + 2 * ranks) % ranks;
    rank_t const in = (out - 1 + ranks) % ranks;
    co_await m.exchange(up, sizes.of(all, out), up, sizes.of(all, in));
  }
}

/// Folds each block on its way round the ring. At the end, rank r has block r + 1 of the result, folded in
/// the order r + 1, r + 2, ..., r: for commutative operations.
template <linking_medium M>
steps fold_round(M& m, bytes_out all, block_sizes const& sizes, folding fold) {
  link const up{0, false};
  rank_t const ranks = m.size();
  for (rank_t round = 0; round + 1 < ranks; ++round) {
    rank_t const out = (m.rank() - round + ranks) % ranks;
    rank_t const in = (out - 1 + ranks) % ranks;
    std::byte* const into = sizes.of(all, in).data();
    auto const take = [&](std::size_t first, std::byte const* piece, std::size_t bytes) {
      fold(into + first, piece, into + first, bytes);
    };
    co_await m.exchange_and_take(up, sizes.of(all, out), up, sizes.size(in), fold.element_bytes(), take);
  }
}

/// Divides n elements into blocks of nearly equal size.
inline block_sizes shares(std::size_t bytes, std::size_t unit, rank_t ranks) {
  plain_list<std::size_t> counts(static_cast<std::size_t>(ranks));
  std::size_t const elements = bytes / unit;
  for (std::size_t r = 0; r < counts.size(); ++r)
    counts[r] = elements * (r + 1) / counts.size() - elements * r / counts.size();
  return {counts, unit};
}

}  // namespace PGAS_NAMESPACE::detail
