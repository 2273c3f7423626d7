// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <concepts>
#include <pgas/box.hpp>
#include <pgas/rank.hpp>

namespace pgas::inline PGAS_ASSERTIONS {

/// Ranks arranged in N dimensions, the last one fastest: `grid{2, 3}` has ranks 0, 1, 2 in its first row.
///
/// An extent of 0 is to be chosen: `over(ranks)` makes those as equal as they can be, larger ones first.
/// Ranks past the last place of a grid have none. MPI: MPI_Dims_create and the coordinates of MPI_Cart_create.
template <std::size_t N>
class grid {
 public:
  constexpr grid() = default;
  constexpr explicit grid(std::array<rank_t, N> const& extents) noexcept : extents_(extents) {}
  template <std::convertible_to<rank_t>... Extents>
    requires(sizeof...(Extents) == N)
  constexpr explicit grid(Extents... extents) noexcept : extents_{static_cast<rank_t>(extents)...} {}

  /// This grid for so many ranks, with what is 0 chosen; what is in `undivided` is then 1.
  /// Requires that objection() has none.
  [[nodiscard]] constexpr grid over(rank_t ranks, std::array<bool, N> const& undivided = {}) const noexcept {
    grid best = *this;
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

  /// What is wrong with it for so many ranks: a sentence, or nothing.
  [[nodiscard]] std::string objection(rank_t ranks) const {
    rank_t fixed = 1;
    bool any_free = false;
    for (rank_t e : extents_) {
      any_free = any_free || e == 0;
      if (e < 0 || (e > 0 && fixed > ranks / e)) {
        return "a grid of " + describe() + " needs more than the " + std::to_string(ranks) + " ranks there are";
      }
      if (e > 0) fixed *= e;
    }
    if (!any_free || ranks % fixed == 0) return "";
    return "a grid of " + describe() + " needs a number of ranks that " + std::to_string(fixed) + " divides, and " +
           std::to_string(ranks) + " are there";
  }
  [[nodiscard]] std::string describe() const { return detail::joined(extents_, " x "); }

  [[nodiscard]] constexpr rank_t extent(std::size_t d) const noexcept { return extents_[d]; }
  [[nodiscard]] constexpr std::array<rank_t, N> const& extents() const noexcept { return extents_; }
  /// How many places there are.
  [[nodiscard]] constexpr rank_t size() const noexcept {
    rank_t all = 1;
    for (rank_t e : extents_) all *= e;
    return all;
  }

  [[nodiscard]] constexpr bool has(rank_t rank) const noexcept { return rank >= 0 && rank < size(); }
  [[nodiscard]] constexpr rank_t rank(std::array<rank_t, N> const& place) const noexcept {
    rank_t r = 0;
    for (std::size_t d = 0; d < N; ++d) r = r * extents_[d] + place[d];
    return r;
  }
  /// The place of a rank that has one.
  [[nodiscard]] constexpr std::array<rank_t, N> place(rank_t rank) const noexcept {
    std::array<rank_t, N> at{};
    for (std::size_t d = N; d-- > 0;) {
      at[d] = rank % extents_[d];
      rank /= extents_[d];
    }
    return at;
  }

  friend constexpr bool operator==(grid const&, grid const&) = default;

 private:
  /// Tries all ways to be a product and keeps the one with the least sum: of larger first ones that are equal, the
  /// first.
  struct chooser {
    grid best;
    std::array<rank_t, N> now;
    rank_t least;  ///< 0: none yet

    constexpr void choose(grid const& given, std::size_t d, rank_t rest) noexcept {
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

  std::array<rank_t, N> extents_{};
};

template <std::convertible_to<rank_t>... Extents>
grid(Extents...) -> grid<sizeof...(Extents)>;

}  // namespace pgas::inline PGAS_ASSERTIONS
