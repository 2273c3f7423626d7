// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <string>

#include "../support/models.hpp"
#include "../support/ranks.hpp"

/// What every distribution promises.
namespace pgas_test {

/// Whether d is a bijection between its extent and its ranks' local indices.
template <pgas::distribution D>
constexpr bool is_bijection(D const& d) {
  std::size_t owned = 0;
  for (pgas::rank_t r = 0; r < d.ranks(); ++r) {
    owned += d.local_size(r);
    for (std::size_t i = 0; i < d.local_size(r); ++i) {
      std::size_t const g = d.global_index(r, i);
      if (g >= d.extent() || d.owner(g) != r || d.local_index(g) != i) return false;
    }
  }
  if (owned != d.extent()) return false;
  for (std::size_t g = 0; g < d.extent(); ++g) {
    if (d.owner(g) < 0 || d.owner(g) >= d.ranks()) return false;
    if (d.local_index(g) >= d.local_size(d.owner(g))) return false;
    if (d.global_index(d.owner(g), d.local_index(g)) != g) return false;
  }
  return true;
}

TEST_CASE("distribution: global and local index are a bijection, for all extents to 40 and 1 to 9 ranks") {
  [&]<class... D>(std::type_identity<std::tuple<D...>>) {
    auto const check = [&]<class One>(std::type_identity<One>) {
      for (std::size_t extent = 0; extent <= 40; ++extent) {
        for (pgas::rank_t ranks = 1; ranks <= 9; ++ranks) {
          CHECK_MESSAGE(is_bijection(One(extent, ranks)), extent, " indices on ", ranks, " ranks");
        }
      }
    };
    (check(std::type_identity<D>{}), ...);
  }(std::type_identity<distributions>{});
}

// There is no communication in it, so the compiler can check it too.
static_assert(is_bijection(pgas::block(40, 9)) && is_bijection(pgas::block(3, 9)) && is_bijection(pgas::block(0, 4)));
static_assert(is_bijection(pgas::block{}) && pgas::block{}.extent() == 0);

TEST_CASE("block: blocks are contiguous, in rank order, and differ by one index at most") {
  for (std::size_t extent = 0; extent <= 40; ++extent) {
    for (pgas::rank_t ranks = 1; ranks <= 9; ++ranks) {
      pgas::block const d(extent, ranks);
      std::size_t next = 0;
      for (pgas::rank_t r = 0; r < ranks; ++r) {
        CHECK(d.first(r) == next);
        next += d.local_size(r);
        CHECK(d.local_size(0) - d.local_size(r) <= 1);
      }
      CHECK(next == extent);
    }
  }
}

}  // namespace pgas_test
