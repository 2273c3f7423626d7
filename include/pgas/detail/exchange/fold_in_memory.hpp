// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <pgas/concepts/collective.hpp>
#include <pgas/detail/exchange/fold_on_boards.hpp>
#include <pgas/detail/exchange/single_copy.hpp>
#include <pgas/detail/exchange/steps.hpp>
#include <pgas/detail/types/algorithms.hpp>
#include <pgas/detail/types/plain_list.hpp>
#include <pgas/vocabulary/block_sizes.hpp>
#include <pgas/vocabulary/folding.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The operands of a reduction, piece by piece, and room for those that calls fetch.
class operands {
 public:
  static constexpr std::size_t line = 64;

  /// For `bytes` bytes of elements of `unit` bytes.
  operands(std::size_t bytes, std::size_t unit)
      : bytes_(std::max(std::min(longest, bytes) / unit, std::size_t{1}) * unit),
        room_(plain_list<std::byte>::for_overwrite(2 * bytes_ + 2 * line)) {}
  /// The longest piece, whole elements: all that is at work fits into a core's second level cache.
  [[nodiscard]] std::size_t piece_bytes() const noexcept { return bytes_; }
  /// Folds `out.size()` bytes that begin at byte `at` of each rank's operands into `out`, in rank order.
  /// `out` may lie in the place of this rank's operands.
  template <reaching_medium M>
  void fold_piece(M& m, bytes_in mine, std::size_t at, bytes_out out, folding const& fold) {
    std::byte const* left = nullptr;
    for (rank_t r = 0; r < m.size(); ++r) {
      std::byte const* const right = of(m, r, mine, at, out.size());
      if (r == 0) {
        left = right;
        continue;
      }
      // Own operands are read before the last operand is.
      std::byte* const into = r + 1 == m.size() ? out.data() : aligned(0);
      fold(into, left, right, out.size());
      left = into;
    }
  }
  /// Room for the result of a piece.
  [[nodiscard]] std::byte* result() noexcept { return aligned(0); }

 private:
  /// Long enough that a call costs little beside its bytes.
  static constexpr std::size_t longest = std::size_t{128} << 10U;

  template <reaching_medium M>
  std::byte const* of(M& m, rank_t r, bytes_in mine, std::size_t at, std::size_t bytes) {
    if (r == m.rank()) return mine.data() + at;
    memory_place const place = m.offered(r, 0);
    if (std::byte const* const there = m.address_of(place); there != nullptr) return there + at;
    std::byte* const room = aligned(bytes_ + line);
    m.fetch(r, place, at, bytes_out(room, bytes));
    return room;
  }
  std::byte* aligned(std::size_t at) noexcept {
    auto const past = reinterpret_cast<std::uintptr_t>(room_.begin() + at) % line;
    return room_.begin() + at + (past == 0 ? 0 : line - past);
  }

  std::size_t bytes_;
  plain_list<std::byte> room_;
};

/// Whether a reduction of so many bytes on each rank tries to read operands where they lie. All ranks must
/// be in reach, which more than two ranks find out by a round of offers.
template <posting_medium M>
bool folds_from_memory(M const& m, std::size_t bytes, folding const& fold) noexcept {
  return bytes >= (m.size() == 2 ? offered_bytes : 8 * offered_bytes) && fold.alignment() <= operands::line;
}

/// Each rank folds one range of the elements where they lie, and writes the result to the ranks that want
/// it: each operand is read once. A rank that gives its memory as result, too, loses no operand: the
/// rank that writes a range is the only one that reads it.
template <reaching_medium M>
steps reduce_from_memory(M& m, bytes_in mine, bytes_out result, folding fold, rank_t root) {
  m.begin(unknown_bytes);
  rank_t const self = m.rank();
  auto const wants = [root](rank_t r) { return root == every_rank || root == r; };
  bool const is_stream = root != every_rank;
  memory_place const source = place_for_copies(m, mine, is_stream);
  memory_place const target = wants(self) ? place_for_copies(m, result, is_stream) : memory_place{};
  if (!m.is_free(0)) co_await m.until_free(0);
  m.offer(0, source);
  if (!m.is_free(1)) co_await m.until_free(1);
  m.offer(1, target);
  bool all_reach = source.is_there() && (target.is_there() || !wants(self));
  for (rank_t r = 0; r < m.size(); ++r) {
    if (r == self) continue;
    co_await m.posted(r, 1);
    all_reach = all_reach && m.offered(r, 0).is_there() && (m.offered(r, 1).is_there() || !wants(r));
  }
  if (!all_reach) {
    // All ranks have read the same offers, so all of them turn to the boards.
    m.end();
    co_await reduce_from_boards(m, mine, result, fold, root);
    co_return;
  }
  std::size_t const unit = fold.element_bytes();
  auto const first_of = [&](rank_t r) {
    return mine.size() / unit * static_cast<std::size_t>(r) / static_cast<std::size_t>(m.size()) * unit;
  };
  std::size_t const end = first_of(self + 1);
  operands pieces(end - first_of(self), unit);
  for (std::size_t at = first_of(self); at < end; at += pieces.piece_bytes()) {
    std::size_t const bytes = std::min(pieces.piece_bytes(), end - at);
    bytes_out const out = wants(self) ? result.subspan(at, bytes) : bytes_out(pieces.result(), bytes);
    pieces.fold_piece(m, mine, at, out, fold);
    for (rank_t distance = 1; distance < m.size(); ++distance) {
      rank_t const r = (self + distance) % m.size();
      if (wants(r)) m.deliver(r, m.offered(r, 1), at, out);
    }
  }
  // Carries the results, and says that this rank reads operands no more.
  if (!m.is_free(2)) co_await m.until_free(2);
  m.post(2);
  for (rank_t r = 0; r < m.size(); ++r) {
    if (r != self) co_await m.posted(r, 2);
  }
  m.end();
}

/// Each rank folds its block of the elements where they lie.
template <reaching_medium M>
steps reduce_shares_from_memory(M& m, bytes_in all, block_sizes const& sizes, bytes_out mine, folding fold) {
  m.begin(unknown_bytes);
  // Results would replace elements that other ranks have not read.
  memory_place const source = do_overlap(all, mine) ? memory_place{} : place_for_copies(m, all);
  if (!m.is_free(0)) co_await m.until_free(0);
  m.offer(0, source);
  bool all_reach = source.is_there();
  for (rank_t r = 0; r < m.size(); ++r) {
    if (r == m.rank()) continue;
    co_await m.posted(r, 0);
    all_reach = all_reach && m.offered(r, 0).is_there();
  }
  if (!all_reach) {
    m.end();
    co_await reduce_shares(m, all, sizes, mine, fold);
    co_return;
  }
  operands pieces(mine.size(), fold.element_bytes());
  for (std::size_t at = 0; at < mine.size(); at += pieces.piece_bytes()) {
    bytes_out const out = mine.subspan(at, std::min(pieces.piece_bytes(), mine.size() - at));
    pieces.fold_piece(m, all, sizes.first(m.rank()) + at, out, fold);
  }
  m.end();
  co_await read_by_all(m);
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
