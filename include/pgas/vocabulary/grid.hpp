// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <pgas/detail/text/text.hpp>
#include <pgas/vocabulary/box.hpp>
#include <pgas/vocabulary/rank.hpp>

namespace PGAS_NAMESPACE {

/// Ranks arranged in N dimensions, the last one fastest: `grid{2, 3}` has ranks 0, 1, 2 in its first row.
///
/// An extent of 0 is free. `over(ranks)` chooses the free extents as equal as possible, larger ones first.
/// Ranks beyond the last place of the grid have no place.
/// `in_nodes_of(4)` places ranks in two levels. Four ranks with consecutive numbers are one node and get one
/// block of the grid, if more neighbours then share a node.
/// MPI: MPI_Dims_create and the coordinates of MPI_Cart_create, with reorder for nodes.
template <std::size_t N>
class grid {
 public:
  constexpr grid() = default;
  /// A grid of these extents; an extent of 0 is free.
  constexpr explicit grid(std::array<rank_t, N> const& extents) noexcept : extents_(extents) {}
  template <std::convertible_to<rank_t>... Extents>
    requires(sizeof...(Extents) == N)
  constexpr explicit grid(Extents... extents) noexcept : extents_{static_cast<rank_t>(extents)...} {}

  /// The same grid for nodes of `ranks_per_node` ranks. A grid with no more places than that is on one node.
  [[nodiscard]] constexpr grid in_nodes_of(rank_t ranks_per_node) const noexcept {
    grid other = *this;
    other.ranks_per_node_ = ranks_per_node;
    return other;
  }

  /// The same grid for `ranks` ranks, with its free extents chosen; free extents of `undivided` dimensions
  /// become 1. Requires that error_for() is empty.
  [[nodiscard]] constexpr grid over(rank_t ranks, std::array<bool, N> const& undivided = {}) const noexcept {
    grid best = extents_over(ranks, undivided);
    best.ranks_per_node_ = ranks_per_node_;
    if (ranks_per_node_ > 0 && ranks_per_node_ < best.size()) {
      auto const block = best.node_of(ranks_per_node_);
      if (best.cut_by(block) < best.cut_in_order(ranks_per_node_)) best.node_ = block;
      best.node_size_ = product(best.node_);
    }
    return best;
  }

  /// A sentence that says what is wrong with this grid for `ranks` ranks, or nothing if the grid fits.
  [[nodiscard]] std::optional<std::string> error_for(rank_t ranks,
                                                     std::array<bool, N> const& undivided = {}) const {
    std::optional<std::string> found = error_of_extents(ranks);
    if (found) return found;
    rank_t const places = extents_over(ranks, undivided).size();
    if (ranks_per_node_ > 0 && (places <= ranks_per_node_ || places % ranks_per_node_ == 0))
      return std::nullopt;
    return detail::text_of({"a grid of ", describe(), " needs a number of places that ", ranks_per_node_,
                            " divides, and ", places, " are there"});
  }
  /// The extents in text, such as "2 x 3": for messages.
  [[nodiscard]] std::string describe() const {
    std::string text = detail::joined(extents_, " x ");
    if (ranks_per_node_ != 1) detail::append_text(text, {" in nodes of ", ranks_per_node_});
    return text;
  }

  /// The number of places in dimension d; 0 if it is free.
  [[nodiscard]] constexpr rank_t extent(std::size_t d) const noexcept { return extents_[d]; }
  /// The number of places in each dimension; 0 in a free one.
  [[nodiscard]] constexpr std::array<rank_t, N> const& extents() const noexcept { return extents_; }
  /// The extents of one node's block; all 1 if ranks are in their order.
  [[nodiscard]] constexpr std::array<rank_t, N> const& node_extents() const noexcept { return node_; }
  /// The number of places.
  [[nodiscard]] constexpr rank_t size() const noexcept { return product(extents_); }

  /// Returns whether a rank has a place.
  [[nodiscard]] constexpr bool has(rank_t rank) const noexcept { return rank >= 0 && rank < size(); }
  /// The rank at a place.
  [[nodiscard]] constexpr rank_t rank(std::array<rank_t, N> const& place) const noexcept {
    if (node_size_ != 1) [[unlikely]] {
      rank_t node = 0;
      rank_t in_node = 0;
      for (std::size_t d = 0; d < N; ++d) {
        node = node * (extents_[d] / node_[d]) + place[d] / node_[d];
        in_node = in_node * node_[d] + place[d] % node_[d];
      }
      return node * node_size_ + in_node;
    }
    rank_t r = 0;
    for (std::size_t d = 0; d < N; ++d) r = r * extents_[d] + place[d];
    return r;
  }
  /// The place of a rank. Requires has(rank).
  [[nodiscard]] constexpr std::array<rank_t, N> place(rank_t rank) const noexcept {
    std::array<rank_t, N> at{};
    rank_t node = rank / node_size_;
    rank_t in_node = rank % node_size_;
    for (std::size_t d = N; d-- > 0;) {
      rank_t const nodes = extents_[d] / node_[d];
      at[d] = node % nodes * node_[d] + in_node % node_[d];
      node /= nodes;
      in_node /= node_[d];
    }
    return at;
  }

  friend constexpr bool operator==(grid const&, grid const&) = default;

 private:
  [[nodiscard]] static constexpr rank_t product(std::array<rank_t, N> const& extents) noexcept {
    rank_t all = 1;
    for (rank_t e : extents) all *= e;
    return all;
  }
  [[nodiscard]] static constexpr std::array<rank_t, N> one_each() noexcept {
    std::array<rank_t, N> ones;
    ones.fill(1);
    return ones;
  }

  [[nodiscard]] constexpr grid extents_over(rank_t ranks,
                                            std::array<bool, N> const& undivided) const noexcept {
    grid best(extents_);
    rank_t rest = ranks;
    bool any_free = false;
    for (std::size_t d = 0; d < N; ++d) {
      if (undivided[d] && best.extents_[d] == 0) best.extents_[d] = 1;
      if (best.extents_[d] > 0) rest /= best.extents_[d];
      any_free = any_free || best.extents_[d] == 0;
    }
    if (!any_free) return best;
    chooser all{best, {}, 0};
    all.choose(best, 0, rest);
    return all.best;
  }

  [[nodiscard]] std::optional<std::string> error_of_extents(rank_t ranks) const {
    rank_t fixed = 1;
    bool any_free = false;
    for (rank_t e : extents_) {
      any_free = any_free || e == 0;
      if (e < 0 || (e > 0 && fixed > ranks / e)) {
        return detail::text_of(
            {"a grid of ", describe(), " needs more than the ", ranks, " ranks there are"});
      }
      if (e > 0) fixed *= e;
    }
    if (!any_free || ranks % fixed == 0) return std::nullopt;
    return detail::text_of({"a grid of ", describe(), " needs a number of ranks that ", fixed,
                            " divides, and ", ranks, " are there"});
  }

  /// The block of `places` places that divides the grid and separates the fewest pairs of neighbours.
  [[nodiscard]] constexpr std::array<rank_t, N> node_of(rank_t places) const noexcept {
    block_chooser all{one_each(), {}};
    all.choose(*this, 0, places);
    return all.best;
  }
  /// The number of pairs of neighbours on two nodes, if nodes are such blocks; cut_in_order: if ranks are in
  /// their order.
  [[nodiscard]] constexpr std::int64_t cut_by(std::array<rank_t, N> const& block) const noexcept {
    std::int64_t cut = 0;
    for (std::size_t d = 0; d < N; ++d) {
      cut += static_cast<std::int64_t>(extents_[d] / block[d] - 1) * (size() / extents_[d]);
    }
    return cut;
  }
  [[nodiscard]] constexpr std::int64_t cut_in_order(rank_t places) const noexcept {
    std::int64_t cut = 0;
    rank_t step = 1;
    for (std::size_t d = N; d-- > 0; step *= extents_[d]) {
      for (rank_t r = 0; r < size(); ++r) {
        if (r / step % extents_[d] != extents_[d] - 1 && r / places != (r + step) / places) ++cut;
      }
    }
    return cut;
  }

  /// Tries all factorizations of the ranks into free extents and keeps the one with the least sum. Among
  /// equal sums it keeps the first, which has the larger extents first.
  struct chooser {
    grid best;
    std::array<rank_t, N> now;
    rank_t least;  ///< the least sum so far; 0 before the first

    // Not inlined into itself, which compilers do several times.
    [[gnu::noinline]] constexpr void choose(grid const& given, std::size_t d, rank_t rest) noexcept {
      if (d == N) {
        rank_t sum = 0;
        for (rank_t e : now) sum += e;
        if (rest != 1 || (least != 0 && sum >= least)) return;
        least = sum;
        best = grid(now);
        return;
      }
      if (given.extents_[d] != 0) {
        now[d] = given.extents_[d];
        choose(given, d + 1, rest);
        return;
      }
      for (rank_t e = rest; e >= 1; --e) {
        if (rest % e != 0) continue;
        now[d] = e;
        choose(given, d + 1, rest / e);
      }
    }
  };

  /// Tries all blocks that divide the grid and keeps the one that cuts the fewest pairs of neighbours.
  struct block_chooser {
    std::array<rank_t, N> best;
    std::array<rank_t, N> now;

    [[gnu::noinline]] constexpr void choose(grid const& cut, std::size_t d, rank_t rest) noexcept {
      if (d == N) {
        if (rest == 1 && (best == one_each() || cut.cut_by(now) < cut.cut_by(best))) best = now;
        return;
      }
      for (rank_t e = 1; e <= rest; ++e) {
        if (rest % e != 0 || cut.extents_[d] % e != 0) continue;
        now[d] = e;
        choose(cut, d + 1, rest / e);
      }
    }
  };

  std::array<rank_t, N> extents_{};
  rank_t ranks_per_node_ = 1;
  std::array<rank_t, N> node_ = one_each();
  rank_t node_size_ = 1;  ///< the places of node_; 1 without a second level
};

template <std::convertible_to<rank_t>... Extents>
grid(Extents...) -> grid<sizeof...(Extents)>;

}  // namespace PGAS_NAMESPACE
