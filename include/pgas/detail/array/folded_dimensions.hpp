// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <pgas/detail/array/blocks.hpp>
#include <pgas/vocabulary/box.hpp>

namespace PGAS_NAMESPACE::detail {

/// The K dimensions of an array of N dimensions that a reduction folds, and those that it keeps. Requires
/// that the K numbers are different, and below N.
template <std::size_t N, std::size_t K>
class folded_dimensions {
  static_assert(K < N);

 public:
  static constexpr std::size_t kept = N - K;

  constexpr explicit folded_dimensions(std::array<std::size_t, K> const& folded) noexcept {
    for (std::size_t const d : folded) is_folded_[d] = true;
    std::size_t k = 0;
    std::size_t f = 0;
    for (std::size_t d = 0; d < N; ++d) {
      if (is_folded_[d]) {
        folded_[f++] = d;
      } else {
        kept_[k++] = d;
      }
    }
  }

  [[nodiscard]] constexpr bool is_folded(std::size_t d) const noexcept { return is_folded_[d]; }
  [[nodiscard]] constexpr std::array<std::size_t, kept> kept_of(
      std::array<std::size_t, N> const& all) const noexcept {
    return picked(all, kept_);
  }
  [[nodiscard]] constexpr std::array<std::size_t, K> folded_of(
      std::array<std::size_t, N> const& all) const noexcept {
    return picked(all, folded_);
  }
  [[nodiscard]] constexpr box<kept> kept_of(box<N> const& cells) const noexcept {
    return {kept_of(cells.first), kept_of(cells.count)};
  }
  /// All cells of an array that are folded into these results.
  [[nodiscard]] constexpr box<N> sources_of(box<kept> const& results,
                                            std::array<std::size_t, N> const& extents) const noexcept {
    box<N> cells{{}, extents};
    for (std::size_t k = 0; k < kept; ++k) {
      cells.first[kept_[k]] = results.first[k];
      cells.count[kept_[k]] = results.count[k];
    }
    return cells;
  }
  /// The distances between results of a box without gaps, in the dimensions of the array: 0 in those that are
  /// folded.
  [[nodiscard]] constexpr std::array<std::size_t, N> pitches_of(
      std::array<std::size_t, kept> const& results) const noexcept {
    auto const dense = dense_pitches(results);
    std::array<std::size_t, N> pitches{};
    for (std::size_t k = 0; k < kept; ++k) pitches[kept_[k]] = dense[k];
    return pitches;
  }

  /// Calls use(cells, begin, end) for pieces of a box whose folded indices have the consecutive numbers from
  /// `begin` to `end` in the array, as long as possible and in the order of these numbers.
  template <class Use>
  constexpr void for_each_run(box<N> const& cells, std::array<std::size_t, N> const& extents,
                              Use&& use) const {
    if (cells.size() == 0) return;
    auto const all = folded_of(extents);
    auto const pitches = dense_pitches(all);
    auto const first = folded_of(cells.first);
    auto const count = folded_of(cells.count);
    // Dimensions after the last one that the box does not fill are filled, so a run goes through all of them.
    std::size_t inner = K;
    while (inner > 0 && first[inner - 1] == 0 && count[inner - 1] == all[inner - 1]) --inner;
    std::size_t const outer = inner == 0 ? 0 : inner - 1;
    std::array<std::size_t, K> at{};
    do {
      box<N> run = cells;
      std::size_t begin = 0;
      std::size_t length = 1;
      for (std::size_t f = 0; f < K; ++f) {
        std::size_t const d = folded_[f];
        run.first[d] += at[f];
        if (f < outer) run.count[d] = 1;
        begin += run.first[d] * pitches[f];
        length *= run.count[d];
      }
      use(run, begin, begin + length);
    } while (advance(at, count, outer));
  }

 private:
  template <std::size_t M>
  static constexpr std::array<std::size_t, M> picked(std::array<std::size_t, N> const& all,
                                                     std::array<std::size_t, M> const& which) noexcept {
    std::array<std::size_t, M> some{};
    for (std::size_t i = 0; i < M; ++i) some[i] = all[which[i]];
    return some;
  }

  std::array<bool, N> is_folded_{};
  std::array<std::size_t, kept> kept_{};
  std::array<std::size_t, K> folded_{};
};

}  // namespace PGAS_NAMESPACE::detail
