// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <pgas/array/shape.hpp>
#include <pgas/concepts/distribution.hpp>
#include <pgas/concepts/layout.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/vocabulary/error.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace PGAS_NAMESPACE {

/// The layout argument of make_array for N dimensions: a rule or, in one dimension, a distribution.
template <class L, std::size_t N>
concept layout_rule = layout<L, N> || (N == 1 && distribution<L>);

namespace detail {

/// An integer type, other than std::size_t, in which a program may have its extents.
template <class I>
concept other_extent = std::integral<I> && !std::same_as<I, std::size_t> && !std::same_as<I, bool>;

template <other_extent Extent, std::size_t N>
constexpr std::array<std::size_t, N> to_extents(Extent const (&extents)[N]) noexcept {
  std::array<std::size_t, N> all{};
  for (std::size_t d = 0; d < N; ++d) all[d] = static_cast<std::size_t>(extents[d]);
  return all;
}

template <layout L>
constexpr L layout_of(L const& rule) {
  return rule;
}
template <distribution D>
constexpr tiled<D> layout_of(D const& rule) {
  return tiled<D>(rule);
}

/// A rank's description of the array that it helps to make. All ranks must give the same. Its size does not
/// depend on the number of dimensions, so that ranks that disagree about these can tell.
struct array_offer {
  std::uint64_t dimensions = 0;
  std::array<std::uint64_t, 4> extents{};
  std::uint64_t rest = 0;  ///< a hash of the array's text

  /// All of it in a word.
  [[nodiscard]] std::uint64_t digest() const noexcept {
    std::uint64_t all = dimensions;
    for (std::uint64_t const part : {extents[0], extents[1], extents[2], extents[3], rest})
      all = (all ^ (all >> 29U) ^ part) * 0x9e3779b97f4a7c15U;  // a step of splitmix64: every bit counts
    return all;
  }
  friend bool operator==(array_offer const&, array_offer const&) = default;
};

/// The description of an array: its extents, its halo, and its layout if that is not the default.
template <std::size_t N, class Layout>
std::string array_text(std::array<std::size_t, N> const& extents, halos<N> const& around,
                       Layout const& rule) {
  std::string widths;
  std::string edges;
  for (std::size_t d = 0; d < N; ++d) {
    halo const& h = around[d];
    append_text(widths, {d == 0 ? "" : " x ", as_given(h.width)});
    if (h.after != h.width) append_text(widths, {"+", as_given(h.after)});
    edges += h.edges == edge::periodic ? " periodic" : h.edges == edge::reflecting ? " reflecting" : " fixed";
  }
  if (!around.corners()) edges += " without corners";
  std::string text = text_of({joined(extents, " x "), " with halo ", widths, edges});
  if (!std::is_same_v<Layout, by_rows<N>> || rule != Layout{}) append_text(text, {", ", rule.describe()});
  return text;
}

/// Throws errc::mismatch, on every rank of the team, if ranks are about to make different arrays. `text`
/// describes this rank's. Collective. Costs a reduction of one word; two all_gathers if ranks disagree.
template <class Team, std::size_t N>
void agree_on_array(Team const& team, std::array<std::size_t, N> const& extents, std::string const& text,
                    std::string_view operation) {
  auto& members = *team.state();
  array_offer mine{N, {}, std::hash<std::string>{}(text)};
  std::copy(extents.begin(), extents.end(), mine.extents.begin());
  if (members.collectives.are_same(mine.digest(), 0, operation)[0]) return;
  array_offer first;
  array_offer other;
  rank_t differs = 0;  // the first rank whose offer is not rank 0's
  members.collectives.all_gather(mine, operation, [&](rank_t rank, array_offer const& offer) {
    if (rank == 0) first = offer;
    if (differs != 0 || offer == first) return;
    differs = rank;
    other = offer;
  });
  if (differs == 0) return;

  // All ranks have seen the same offers, so all ranks come here together.
  std::array<char, 240> mine_in_words{};
  copy_text(mine_in_words, text);
  std::string of_first;
  std::string of_other;
  members.collectives.all_gather(mine_in_words, operation, [&](rank_t rank, auto const& words) {
    if (rank == 0) of_first = words.data();
    if (rank == differs) of_other = words.data();
  });
  if (other.dimensions != first.dimensions) {
    of_first = text_of({first.dimensions, " dimensions"});
    of_other = text_of({other.dimensions, " dimensions"});
  }
  throw_error(errc::mismatch, members.backend.world_rank(team.rank()), operation,
              {"rank ", differs, " makes an array of ", of_other, ", rank 0 one of ", of_first,
               "; all must make the same"});
}

}  // namespace detail

}  // namespace PGAS_NAMESPACE
