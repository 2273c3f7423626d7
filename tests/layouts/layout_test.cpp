// SPDX-License-Identifier: BSL-1.0
// The promises of every layout, checked against a table of owners made by assigning indices one by one.
#include <doctest/doctest.h>
#include <cmath>

#include <algorithm>
#include <cstdlib>
#include <pgas/detail/array/blocks.hpp>
#include <set>
#include <vector>

#include "support/dealt_table.hpp"
#include "support/distributions.hpp"

namespace {

using namespace pgas;
using pgas_test::table;

template <std::size_t N>
using cell_index = std::array<std::size_t, N>;

/// Calls use(i) for each index below `extents`, in row-major order.
template <std::size_t N, class Use>
constexpr void for_each_index(cell_index<N> const& extents, Use&& use) {
  if (box<N>{{}, extents}.size() == 0) return;
  cell_index<N> i{};
  do use(i);
  while (pgas::detail::advance(i, extents));
}

/// A set of cells, as a mark for each: without an optimizer std::set would take much of the time.
template <std::size_t N>
class marked_cells {
 public:
  explicit marked_cells(cell_index<N> const& extents)
      : extents_(extents), marks_(box<N>{{}, extents}.size()) {}

  /// Returns whether the cell lies within the extents and is new.
  bool insert(cell_index<N> const& i) {
    std::size_t at = 0;
    for (std::size_t d = 0; d < N; ++d) {
      if (i[d] >= extents_[d]) return false;
      at = at * extents_[d] + i[d];
    }
    char& mark = marks_.data()[at];
    if (mark != 0) return false;
    mark = 1;
    ++size_;
    return true;
  }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  cell_index<N> extents_;
  std::vector<char> marks_;
  std::size_t size_ = 0;
};

/// Returns an empty string, or the first promise that `l` breaks. owner(index) gives a cell's owner; `tight`
/// tells that parts have room for own cells only.
template <layout L, class Owner>
std::string broken(L const& l, Owner const& owner, bool tight) {
  constexpr std::size_t N = L::dimensions;
  auto const extents = l.extents();
  std::vector<std::vector<bool>> taken;
  std::vector<std::size_t> owned(static_cast<std::size_t>(l.ranks()));
  for (rank_t r = 0; r < l.ranks(); ++r) taken.emplace_back(l.part_size(r));
  std::string wrong;
  for_each_index(extents, [&](cell_index<N> const& i) {
    if (!wrong.empty()) return;
    std::string const at = " of (" + pgas::detail::joined(i, ", ") + ")";
    rank_t const r = l.owner(i);
    auto const offset = l.offset(i);
    if (r != owner(i)) return static_cast<void>(wrong = "owner" + at);
    auto& part = taken[static_cast<std::size_t>(r)];
    if (offset >= part.size()) return static_cast<void>(wrong = "part_size against offset" + at);
    if (part[offset]) return static_cast<void>(wrong = "offset taken twice" + at);
    part[offset] = true;
    ++owned[static_cast<std::size_t>(r)];
    if (l.global_index(r, offset) != i) return static_cast<void>(wrong = "global_index" + at);
    auto const t = l.tile_at(i);
    if (t.owner != r || t.offset_of(i) != offset) return static_cast<void>(wrong = "tile_at" + at);
    for (std::size_t d = 0; d < N; ++d) {
      if (i[d] < t.cells.first[d] || i[d] - t.cells.first[d] >= t.cells.count[d])
        wrong = "cells of tile" + at;
    }
  });
  if (!wrong.empty()) return wrong;
  for (rank_t r = 0; r < l.ranks(); ++r) {
    auto const own = owned[static_cast<std::size_t>(r)];
    std::string const at = " of rank " + std::to_string(r);
    if (tight ? l.part_size(r) != own : own == 0 && l.part_size(r) != 0) return "part_size" + at;
    std::size_t cells = 0;
    for (std::size_t k = 0; k < l.tiles(r); ++k) {
      auto const t = l.tile_of(r, k);
      cells += t.cells.size();
      if (t.cells.size() == 0 || t.pitches[N - 1] != 1) return "tile_of" + at;
      if (!t.cells.is_within(extents) || l.tile_at(t.cells.first) != t) return "tile_of" + at;
    }
    if (cells != own) return "tiles" + at;
    if constexpr (matrix_layout<L>) {
      if (box<N>{{}, l.local_extents(r)}.size() != own) return "local_extents" + at;
      if (own != 0 && l.global_index(r, l.origin(r)) != l.tile_of(r, 0).cells.first) return "origin" + at;
      if (own != 0 && l.tile_of(r, 0).pitches != l.pitches(r)) return "pitches" + at;
    }
    if constexpr (box_layout<L>) {
      if (l.tiles(r) > 1 || l.box_of(r).size() != own) return "box_of" + at;
      if (own != 0 && l.box_of(r) != l.tile_of(r, 0).cells) return "box_of" + at;
    }
  }
  // A box of cells in the middle, in pieces.
  box<N> some;
  for (std::size_t d = 0; d < N; ++d) {
    some.first[d] = extents[d] / 4;
    some.count[d] = extents[d] - some.first[d] - extents[d] / 5;
  }
  marked_cells<N> seen(extents);
  for_each_tile(l, some, [&](tile<N> const& in, box<N> const& piece) {
    for_each_index(piece.count, [&](cell_index<N> i) {
      for (std::size_t d = 0; d < N; ++d) i[d] += piece.first[d];
      if (!seen.insert(i)) wrong = "for_each_tile, a cell twice or outside";
      if (l.owner(i) != in.owner || l.offset(i) != in.offset_of(i)) wrong = "for_each_tile, a cell elsewhere";
    });
  });
  if (wrong.empty() && seen.size() != some.size()) wrong = "for_each_tile, a cell left out";
  // The same box in shares.
  if constexpr (matrix_layout<L>) {
    marked_cells<N> shared(extents);
    l.for_each_share(some, [&](share<N> const& s) {
      cell_index<N> counts{};
      for (std::size_t d = 0; d < N; ++d) counts[d] = s.blocks[d] * s.length[d];
      for_each_index(counts, [&](cell_index<N> const& local) {
        cell_index<N> i{};
        for (std::size_t d = 0; d < N; ++d) {
          i[d] = s.first[d] + local[d] / s.length[d] * s.step[d] + local[d] % s.length[d];
        }
        if (!shared.insert(i)) wrong = "for_each_share, a cell twice or outside";
        if (l.owner(i) != s.owner || l.offset(i) != s.offset + pgas::detail::element_at(local, s.pitches)) {
          wrong = "for_each_share, a cell elsewhere";
        }
      });
    });
    if (wrong.empty() && shared.size() != some.size()) wrong = "for_each_share, a cell left out";
  }
  return wrong;
}

/// The table that a distribution should equal, computed without it.
table table_of(block, std::size_t extent, rank_t ranks) {
  std::vector<std::size_t> sizes(static_cast<std::size_t>(ranks));
  for (std::size_t i = 0; i < extent; ++i) ++sizes[i % sizes.size()];
  return pgas_test::one_each(sizes);
}
table table_of(whole, std::size_t extent, rank_t) { return pgas_test::one_each({extent}); }
table table_of(cyclic, std::size_t extent, rank_t ranks) { return pgas_test::dealt(extent, ranks, 1); }
template <std::size_t B>
table table_of(block_cyclic<B> d, std::size_t extent, rank_t ranks) {
  return pgas_test::dealt(extent, ranks, d.block_size());
}
table table_of(single_owner d, std::size_t extent, rank_t ranks) { return {{{extent, d.owner(0)}}, ranks}; }

/// The number of checked cases, for the record.
struct covered {
  std::size_t layouts = 0;
  std::size_t cells = 0;
};

template <std::size_t N>
cell_index<N> counts_of(std::array<rank_t, N> const& extents) {
  cell_index<N> counts{};
  for (std::size_t d = 0; d < N; ++d) counts[d] = static_cast<std::size_t>(extents[d]);
  return counts;
}

/// The ranks of a grid's places in row-major order, numbered node by node and, within a node, place by place.
template <std::size_t N>
std::vector<rank_t> ranks_by_walking(grid<N> const& g) {
  auto const all = counts_of<N>(g.extents());
  auto const in_node = counts_of<N>(g.node_extents());
  cell_index<N> nodes{};
  for (std::size_t d = 0; d < N; ++d) nodes[d] = all[d] / in_node[d];
  std::vector<rank_t> ranks(static_cast<std::size_t>(g.size()), -1);
  rank_t next = 0;
  for_each_index(nodes, [&](cell_index<N> const& node) {
    for_each_index(in_node, [&](cell_index<N> const& inside) {
      std::size_t place = 0;
      for (std::size_t d = 0; d < N; ++d) place = place * all[d] + node[d] * in_node[d] + inside[d];
      ranks[place] = next++;
    });
  });
  return ranks;
}

/// The number of pairs of grid neighbours on different nodes, if place(rank) is each rank's place.
template <std::size_t N, class Place>
int pairs_cut(grid<N> const& g, rank_t per_node, Place const& place) {
  int cut = 0;
  for (rank_t a = 0; a < g.size(); ++a) {
    for (rank_t b = 0; b < a; ++b) {
      rank_t apart = 0;
      for (std::size_t d = 0; d < N; ++d) apart += std::abs(place(a)[d] - place(b)[d]);
      cut += apart == 1 && a / per_node != b / per_node ? 1 : 0;
    }
  }
  return cut;
}

/// Checks a grid of ranks in nodes. Returns how many fewer pairs of neighbours are cut than without nodes.
template <std::size_t N>
int check_nodes(grid<N> const& rule, rank_t ranks, rank_t per_node) {
  CAPTURE(rule.describe());
  CAPTURE(ranks);
  CAPTURE(per_node);
  auto const asked = rule.in_nodes_of(per_node);
  REQUIRE_FALSE(asked.error_for(ranks));
  auto const g = asked.over(ranks);
  auto const plain = rule.over(ranks);
  REQUIRE(g.extents() == plain.extents());
  auto const table = ranks_by_walking(g);
  std::size_t place = 0;
  for_each_index(counts_of<N>(g.extents()), [&](cell_index<N> const& i) {
    std::array<rank_t, N> at{};
    for (std::size_t d = 0; d < N; ++d) at[d] = static_cast<rank_t>(i[d]);
    CHECK(g.rank(at) == table[place++]);
    CHECK(g.place(g.rank(at)) == at);
  });
  int const cut = pairs_cut(g, per_node, [&](rank_t r) { return g.place(r); });
  int const without = pairs_cut(plain, per_node, [&](rank_t r) { return plain.place(r); });
  bool const in_blocks = table != ranks_by_walking(plain);
  CHECK((in_blocks ? cut < without : cut == without));
  for (rank_t first = 0; in_blocks && first < g.size(); first += per_node) {
    auto least = g.place(first);
    auto most = least;
    for (rank_t r = first; r < first + per_node; ++r) {
      for (std::size_t d = 0; d < N; ++d) {
        least[d] = std::min(least[d], g.place(r)[d]);
        most[d] = std::max(most[d], g.place(r)[d]);
      }
    }
    rank_t block = 1;
    for (std::size_t d = 0; d < N; ++d) block *= most[d] - least[d] + 1;
    CHECK(block == per_node);
  }
  for_each_index(counts_of<N>(g.extents()), [&](cell_index<N> const& last) {
    // Any other shape that divides the grid, with nodes numbered by a grid within a grid.
    std::array<rank_t, N> shape{};
    std::array<rank_t, N> nodes{};
    rank_t size = 1;
    for (std::size_t d = 0; d < N; ++d) {
      shape[d] = static_cast<rank_t>(last[d]) + 1;
      if (g.extent(d) % shape[d] != 0) return;
      nodes[d] = g.extent(d) / shape[d];
      size *= shape[d];
    }
    if (size != per_node) return;
    CHECK(cut <= pairs_cut(g, per_node, [&](rank_t r) {
            auto at = grid<N>(nodes).place(r / per_node);
            for (std::size_t d = 0; d < N; ++d)
              at[d] = at[d] * shape[d] + grid<N>(shape).place(r % per_node)[d];
            return at;
          }));
  });
  return without - cut;
}

/// Compares the product of distributions with the product of their tables, tight, padded and with margins.
template <class... D>
void check_product(grid<sizeof...(D)> const& asked, cell_index<sizeof...(D)> const& extents, rank_t ranks,
                   covered& c, D const&... each) {
  constexpr std::size_t N = sizeof...(D);
  auto const rule = tiled<D...>{each...}.on(asked);
  if (rule.error_for(extents, ranks)) return;
  auto const l = rule.over(extents, ranks);
  auto const& places = l.places();
  CAPTURE(l.describe());
  CAPTURE(pgas::detail::joined(extents, " x "));
  CAPTURE(ranks);
  std::vector<table> const tables = [&]<std::size_t... d>(std::index_sequence<d...>) {
    return std::vector<table>{table_of(each, extents[d], places.extent(d))...};
  }(std::index_sequence_for<D...>{});
  auto const ranks_at = ranks_by_walking(places);
  auto const owner = [&](cell_index<N> const& i) {
    std::size_t place = 0;
    for (std::size_t d = 0; d < N; ++d) {
      place = place * static_cast<std::size_t>(places.extent(d)) +
              static_cast<std::size_t>(tables[d].entries()[i[d]].owner);
    }
    return ranks_at[place];
  };
  CHECK(broken(l, owner, true) == "");
  // Own cells form one matrix of local indices, row after row.
  bool in_order = true;
  for_each_index(extents, [&](cell_index<N> const& i) {
    std::size_t at = 0;
    for (std::size_t d = 0; d < N; ++d) {
      auto const& e = tables[d].entries()[i[d]];
      at = at * tables[d].size(e.owner) + e.local;
    }
    in_order = in_order && l.offset(i) == at;
  });
  CHECK(in_order);

  margins<N> around;
  for (std::size_t d = 0; d < N; ++d) around.before[d] = (d + 1) % 3, around.after[d] = (d + extents[d]) % 3;
  auto const roomy = rule.padded(64).over(extents, ranks, 12, around);  // 16 elements of 12 bytes are 3 lines
  CHECK(broken(roomy, owner, false) == "");
  bool on_lines = true;
  bool has_room = true;
  for_each_index(extents, [&](cell_index<N> const& i) {
    auto const r = owner(i);
    auto const offset = roomy.offset(i);
    std::size_t const local = tables[N - 1].entries()[i[N - 1]].local;
    on_lines = on_lines && (offset - local) % 16 == 0;
    for (std::size_t d = 0; d < N; ++d) {
      auto const all = roomy.part_extents(r)[d];
      auto const mine = offset / roomy.pitches(r)[d] % all;
      has_room = has_room && mine >= around.before[d] && all - mine > around.after[d];
    }
  });
  CHECK(on_lines);
  CHECK(has_room);
  c.layouts += 2;
  c.cells += 2 * box<N>{{}, extents}.size();
}

template <std::size_t... B>
void check_dealt(cell_index<sizeof...(B)> const& extents, rank_t ranks, covered& c) {
  constexpr std::size_t N = sizeof...(B);
  constexpr cell_index<N> shape{B...};
  // Tiles in row-major order, assigned in turn.
  cell_index<N> counts{};
  for (std::size_t d = 0; d < N; ++d) counts[d] = (extents[d] + shape[d] - 1) / shape[d];
  std::vector<rank_t> owners;
  for_each_index(counts, [&](auto const&) { owners.push_back(static_cast<rank_t>(owners.size()) % ranks); });
  auto const owner = [&](cell_index<N> const& i) {
    std::size_t number = 0;
    for (std::size_t d = 0; d < N; ++d) number = number * counts[d] + i[d] / shape[d];
    return owners[number];
  };
  CAPTURE(pgas::detail::joined(extents, " x "));
  CAPTURE(ranks);
  bool divides = true;
  for (std::size_t d = 0; d < N; ++d) divides = divides && extents[d] % shape[d] == 0;
  auto const l = cyclic_tiles<B...>{}.over(extents, ranks);
  CHECK(broken(l, owner, divides) == "");
  auto const on_lines = cyclic_tiles<B...>{}.padded(64).over(extents, ranks, 8);
  CHECK(broken(on_lines, owner, false) == "");
  for (rank_t r = 0; r < ranks; ++r) {
    CHECK(l.part_size(r) == l.tiles(r) * (B * ...));
    for (std::size_t k = 0; k < on_lines.tiles(r); ++k) CHECK(on_lines.tile_of(r, k).offset % 8 == 0);
  }
  c.layouts += 2;
  c.cells += 2 * box<N>{{}, extents}.size();
}

/// Calls check(extents, ranks) for all extents below a bound and 1 to 9 ranks.
template <std::size_t N, class Check>
void for_all_extents(std::size_t bound, Check const& check) {
  cell_index<N> below;
  below.fill(bound);
  for_each_index(below, [&](cell_index<N> const& extents) {
    for (rank_t ranks = 1; ranks <= 9; ++ranks) check(extents, ranks);
  });
}

void report(std::string const& what, covered const& c) {
  MESSAGE(what << ": " << c.layouts << " layouts with " << c.cells << " cells against a table of owners");
  CHECK(c.cells > 0);
}

// A layout does not communicate, so the compiler can check it too.
static_assert(layout<tiled<block>> && layout<tiled<cyclic, block_cyclic<4>>> &&
              layout<tiled<irregular, whole, block>>);
static_assert(box_layout<tiled<block, whole>> && box_layout<tiled<irregular, single_owner, block>>);
static_assert(matrix_layout<tiled<block, cyclic>> && !box_layout<tiled<block, cyclic>> &&
              !matrix_layout<cyclic_tiles<2, 2>>);

constexpr auto board = tiled{block_cyclic<2>{}, block_cyclic<3>{}}.over({7, 8}, 6);
static_assert(board.places() == grid{3, 2} && board.owner({4, 5}) == 5 && board.owner({6, 7}) == 0);
static_assert(board.local_extents(0) == cell_index<2>{3, 5} && board.offset({6, 7}) == 14 &&
              board.tiles(0) == 4);
static_assert(board.tile_of(0, 3).cells == box<2>{{6, 6}, {1, 2}} &&
              board.tile_of(0, 3).pitches == cell_index<2>{5, 1});
static_assert([] {
  bool right = true;
  for_each_index(board.extents(), [&](cell_index<2> const& i) {
    right = right && board.global_index(board.owner(i), board.offset(i)) == i;
  });
  return right;
}());
constexpr auto ferreras =
    cyclic_tiles<2, 2>{}.over({8, 8}, 4);  // the example for which the printed formula is no bijection
static_assert([] {
  std::array<bool, 64> taken{};
  std::size_t different = 0;
  for_each_index(ferreras.extents(), [&](cell_index<2> const& i) {
    auto& cell = taken[static_cast<std::size_t>(ferreras.owner(i)) * 16 + ferreras.offset(i)];
    different += cell ? 0 : 1;
    cell = true;
  });
  return different == 64;
}());

}  // namespace

TEST_CASE("grid: open extents are as equal as possible, larger ones first") {
  CHECK(grid<1>{}.over(7) == grid{7});
  CHECK(grid<2>{}.over(1) == grid{1, 1});
  CHECK(grid<2>{}.over(6) == grid{3, 2});
  CHECK(grid<2>{}.over(7) == grid{7, 1});
  CHECK(grid<2>{}.over(1024) == grid{32, 32});
  CHECK(grid<3>{}.over(12) == grid{3, 2, 2});
  CHECK(grid<4>{}.over(16) == grid{2, 2, 2, 2});
  CHECK(grid{0, 3}.over(6) == grid{2, 3});
  CHECK(grid{0, 2, 0}.over(24) == grid{4, 2, 3});
  CHECK(grid{2, 2}.over(9) == grid{2, 2});  // five ranks have no place
  CHECK(grid<3>{}.over(8, {false, true, false}) == grid{4, 1, 2});
  CHECK(grid<2>{}.over(8, {true, true}) == grid{1, 1});
  for (rank_t ranks = 1; ranks <= 64; ++ranks) {
    auto const g = grid<3>{}.over(ranks);
    CHECK(g.size() == ranks);
    CHECK(std::is_sorted(g.extents().rbegin(), g.extents().rend()));
    for (rank_t r = 0; r < ranks; ++r) CHECK(g.rank(g.place(r)) == r);
    CHECK_FALSE(g.has(ranks));
    CHECK_FALSE(g.has(-1));
  }
}

TEST_CASE("grid: a node's ranks get the block that separates the fewest neighbours, or keep their order") {
  int better = 0;
  for (rank_t ranks = 1; ranks <= 24; ++ranks) {
    for (rank_t per_node = 1; per_node <= ranks + 1; ++per_node) {
      if (ranks % per_node != 0 && per_node < ranks) continue;
      better += check_nodes(grid<1>{}, ranks, per_node);
      better += check_nodes(grid<2>{}, ranks, per_node);
      better += check_nodes(grid{1, 0}, ranks, per_node);
      better += check_nodes(grid<3>{}, ranks, per_node);
      better += check_nodes(grid<4>{}, ranks, per_node);
    }
  }
  CHECK(better > 0);
  static_assert(grid{4, 4}.in_nodes_of(4).over(16).rank({1, 2}) == 6);
  static_assert(grid{4, 4}.in_nodes_of(4).over(16).place(6) == std::array{1, 2});
  CHECK(grid{4, 6}.in_nodes_of(6).over(24).node_extents() == std::array{2, 3});
  CHECK(grid{5, 2}.in_nodes_of(5).over(10).node_extents() ==
        std::array{1, 1});  // two rows and a half separate fewer
  CHECK(grid{4, 4}.in_nodes_of(4).describe() == "4 x 4 in nodes of 4");
  CHECK(grid<2>{}.in_nodes_of(4).error_for(6).value_or("").find("places that 4 divides, and 6 are there") !=
        std::string::npos);
  CHECK(grid<2>{}.in_nodes_of(0).error_for(6).value_or("").find("places that 0 divides") !=
        std::string::npos);
  CHECK_FALSE(grid<2>{}.in_nodes_of(4).error_for(6, {true, true}));
}

TEST_CASE("grid: a grid that does not fit the ranks is refused with both numbers") {
  CHECK_FALSE(grid{2, 0}.error_for(6));
  CHECK_FALSE(grid{2, 2}.error_for(9));
  CHECK(grid{2, 0}.error_for(7).value_or("").find("that 2 divides, and 7") != std::string::npos);
  CHECK(grid{4, 2}.error_for(7).value_or("").find("4 x 2 needs more than the 7 ranks") != std::string::npos);
  CHECK(grid{1 << 20, 1 << 20}.error_for(7).value_or("").find("more than the 7") != std::string::npos);
  CHECK(grid{-1, 2}.error_for(7));
}

TEST_CASE("layouts: every layout keeps the axioms, for all extents below 9 x 9 on 1 to 9 ranks") {
  for_all_extents<2>(9, [](cell_index<2> const& extents, rank_t ranks) {
    pgas_test::for_each_layout([&](auto const& rule) {
      CAPTURE(rule.describe());
      CAPTURE(pgas::detail::joined(extents, " x "));
      CAPTURE(ranks);
      REQUIRE_FALSE(rule.error_for(extents, ranks));
      auto const l = rule.over(extents, ranks);
      CHECK(broken(
                l, [&](cell_index<2> const& i) { return l.owner(i); }, false) == "");
    });
  });
}

TEST_CASE("layouts: every distribution makes a layout, alone and beside blocks") {
  for (std::size_t extent = 0; extent < 20; ++extent) {
    for (rank_t ranks = 1; ranks <= 6; ++ranks) {
      pgas_test::for_each_distribution(extent, ranks, [&](auto const& rule) {
        CAPTURE(rule.describe());
        CAPTURE(extent);
        CAPTURE(ranks);
        auto const check = [](auto const& l) {
          CHECK(broken(
                    l, [&](auto const& i) { return l.owner(i); }, true) == "");
        };
        check(tiled{rule}.over({extent}, ranks));
        auto const both = tiled{rule, block{}}.on(grid{0, 1});
        check(both.over({extent, 5}, ranks));
      });
    }
  }
}

TEST_CASE("tiled: one dimension equals its table, all extents to 12 on 1 to 9 ranks") {
  covered c;
  for_all_extents<1>(13, [&](cell_index<1> const& e, rank_t ranks) {
    check_product(grid<1>{}, e, ranks, c, block{});
    check_product(grid<1>{}, e, ranks, c, cyclic{});
    check_product(grid<1>{}, e, ranks, c, block_cyclic<2>{});
    check_product(grid<1>{}, e, ranks, c, block_cyclic<3>{});
    check_product(grid<1>{}, e, ranks, c, block_cyclic<>{5});
    check_product(grid<1>{}, e, ranks, c, single_owner{ranks / 2});
    check_product(grid<1>{}, e, ranks, c, whole{});
    check_product(grid{(ranks + 1) / 2}, e, ranks, c, block_cyclic<4>{});  // some ranks have no place
    check_dealt<1>(e, ranks, c);
    check_dealt<3>(e, ranks, c);
    check_dealt<4>(e, ranks, c);
  });
  report("one dimension, extents to 12, 1 to 9 ranks", c);
}

TEST_CASE("tiled: two dimensions equal their table, all extents to 12 on 1 to 9 ranks" *
          doctest::test_suite("long")) {
  covered c;
  for_all_extents<2>(13, [&](cell_index<2> const& e, rank_t ranks) {
    check_product(grid<2>{}, e, ranks, c, block{}, whole{});
    check_product(grid<2>{}, e, ranks, c, block{}, block{});
    check_product(grid{0, 1}, e, ranks, c, block{}, cyclic{});
    check_product(grid{1, 0}, e, ranks, c, block_cyclic<2>{}, block{});
    check_product(grid<2>{}, e, ranks, c, block_cyclic<2>{}, block_cyclic<3>{});
    check_product(grid<2>{}.in_nodes_of(2), e, ranks, c, block_cyclic<2>{}, block_cyclic<3>{});
    check_product(grid<2>{}.in_nodes_of(4), e, ranks, c, block{}, block{});
    check_product(grid{0, 2}, e, ranks, c, block_cyclic<>{4}, cyclic{});
    check_product(grid{2, 2}, e, ranks, c, single_owner{1}, block_cyclic<>{3});
    check_dealt<2, 3>(e, ranks, c);
  });
  report("two dimensions, extents to 12, 1 to 9 ranks", c);
}

TEST_CASE("tiled: three dimensions equal their table, all extents to 6 on 1 to 9 ranks" *
          doctest::test_suite("long")) {
  covered c;
  for_all_extents<3>(7, [&](cell_index<3> const& e, rank_t ranks) {
    check_product(grid<3>{}, e, ranks, c, block{}, whole{}, whole{});
    check_product(grid<3>{}, e, ranks, c, block{}, block{}, block{});
    check_product(grid{0, 1, 0}.in_nodes_of(2), e, ranks, c, block_cyclic<2>{}, block{}, cyclic{});
    check_dealt<2, 1, 3>(e, ranks, c);
  });
  report("three dimensions, extents to 6, 1 to 9 ranks", c);
}

TEST_CASE("tiled: four dimensions equal their table, all extents to 4 on 1 to 9 ranks" *
          doctest::test_suite("long")) {
  covered c;
  for_all_extents<4>(5, [&](cell_index<4> const& e, rank_t ranks) {
    check_product(grid<4>{}, e, ranks, c, block{}, block{}, whole{}, block{});
    check_product(grid<4>{}.in_nodes_of(4), e, ranks, c, cyclic{}, block_cyclic<2>{}, block{}, block{});
    check_dealt<2, 2, 1, 2>(e, ranks, c);
  });
  report("four dimensions, extents to 4, 1 to 9 ranks", c);
}

TEST_CASE("tiled: a box of a cyclic array splits into few shares, regardless of its number of cells") {
  auto const count = [](auto const& l, auto const& cells) {
    std::size_t shares = 0;
    l.for_each_share(cells, [&](auto const&) { ++shares; });
    return shares;
  };
  CHECK(count(tiled{cyclic{}}.over({100'000}, 7), box<1>{{5}, {90'000}}) == 7);
  CHECK(count(tiled{block_cyclic<4>{}}.over({100'000}, 7), box<1>{{5}, {90'000}}) == 7 + 2);
  CHECK(count(tiled{cyclic{}, block{}}.over({900, 900}, 6), box<2>{{1, 0}, {800, 900}}) == 6);
  auto const cells = tiled{cyclic{}, cyclic{}}.over({900, 900}, 6);
  CHECK(cells.has_many_short_rows({{0, 0}, {100, 100}}));
  CHECK_FALSE(cells.has_many_short_rows({{0, 0}, {2, 2}}));
  CHECK_FALSE(tiled{block_cyclic<64>{}, block_cyclic<64>{}}
                  .over({900, 900}, 6)
                  .has_many_short_rows({{}, {900, 900}}));
}

TEST_CASE("for_each_block: a box moves between two places in the fewest blocks of rows") {
  // Moves 4 x 3 x 5 cells between rooms of other sizes, every element once; returns the number of moves.
  auto const moves = [](cell_index<3> const& room_there, cell_index<3> const& room_here) {
    cell_index<3> const count{4, 3, 5};
    auto const there = pgas::detail::dense_pitches(room_there);
    auto const here = pgas::detail::dense_pitches(room_here);
    std::set<std::pair<std::size_t, std::size_t>> pairs;
    std::size_t moved = 0;
    pgas::detail::for_each_block<3>(
        count, {7, there}, {11, here}, [&](rows_of block, std::size_t first, std::size_t pitch) {
          ++moved;
          for (std::size_t r = 0; r < block.rows; ++r) {
            for (std::size_t c = 0; c < block.cols; ++c) {
              CHECK(pairs.emplace(block.first + r * block.pitch + c, first + r * pitch + c).second);
            }
          }
        });
    for_each_index(count, [&](cell_index<3> const& i) {
      CHECK(pairs.contains({7 + pgas::detail::element_at(i, there), 11 + pgas::detail::element_at(i, here)}));
    });
    CHECK(pairs.size() == 60);
    return moved;
  };
  CHECK(moves({4, 3, 5}, {4, 3, 5}) == 1);
  CHECK(moves({9, 3, 5}, {4, 3, 5}) == 1);
  CHECK(moves({4, 4, 5}, {4, 3, 5}) == 1);
  CHECK(moves({4, 3, 8}, {4, 3, 8}) == 1);
  CHECK(moves({4, 4, 8}, {4, 3, 5}) == 4);
  CHECK(moves({4, 3, 8}, {4, 3, 7}) == 1);
}

TEST_CASE("tiled: blocks of different sizes may stand beside each other") {
  covered c;
  for (std::size_t code = 0; code < 64; ++code) {
    std::vector<std::size_t> const rows{code % 4, code / 4 % 4, code / 16};
    irregular const sizes(rows);
    auto const l = tiled{sizes, block{}}.on(grid{3, 0}).over({sizes.extent(), 5}, 6);
    auto const down = pgas_test::one_each(rows);
    auto const across = table_of(block{}, 5, 2);
    auto const owner = [&](cell_index<2> const& i) {
      return down.entries()[i[0]].owner * 2 + across.entries()[i[1]].owner;
    };
    CHECK(broken(l, owner, true) == "");
    c.cells += sizes.extent() * 5;
    ++c.layouts;
  }
  report("irregular rows", c);
}

TEST_CASE("layouts: the reason why a layout does not fit is a sentence") {
  auto const has = [](std::string const& text, char const* piece) {
    return text.find(piece) != std::string::npos;
  };
  CHECK_FALSE(tiled<block, block>{}.error_for({3, 3}, 7));
  CHECK(has(tiled<block, block>{}.on(grid{2, 0}).error_for({3, 3}, 7).value_or(""), "that 2 divides"));
  CHECK(has(tiled<block, whole>{}.on(grid{1, 2}).error_for({3, 3}, 2).value_or(""),
            "dimension 1: it is undivided"));
  CHECK(has(tiled{irregular{1, 2}, block{}}.error_for({3, 3}, 4).value_or(""), "dimension 0") == false);
  CHECK(has(tiled{irregular{1, 2}, block{}}.error_for({4, 3}, 4).value_or(""),
            "dimension 0: the sizes of 2 blocks"));
  CHECK(has(tiled{block{}, block_cyclic<>{0}}.error_for({4, 3}, 4).value_or(""), "dimension 1: blocks of 0"));
  CHECK(tiled{cyclic{}, block_cyclic<4>{}}.on(grid{0, 2}).padded(64).describe() ==
        "tiled(cyclic, block_cyclic(4)) on 0 x 2 padded to 64");
  CHECK(cyclic_tiles<2, 3>{}.padded(64).describe() == "cyclic_tiles(2 x 3) padded to 64");
}

TEST_CASE("layouts: extents that no address can reach are detected before any computation with them") {
  constexpr std::size_t most = ~std::size_t{0};
  auto const over = [](auto const& rule, auto const& extents, std::size_t bytes, auto... around) {
    return rule.over(extents, 3, bytes, around...).overflows(bytes);
  };
  CHECK(over(tiled<block>{}, cell_index<1>{most}, 1));
  CHECK(over(tiled<block, cyclic>{}, cell_index<2>{most / 4, 3}, 4));
  CHECK(over(tiled<block, cyclic>{}.padded(64), cell_index<2>{3, most - 3}, 4));
  CHECK(over(tiled<block, block>{}, cell_index<2>{5, 5}, 8, margins<2>{{most / 2, 1}, {most / 2 + 9, 1}}));
  CHECK_FALSE(over(tiled<block, cyclic>{}, cell_index<2>{1000, 3000}, 8));
  CHECK(over(cyclic_tiles<64, 64>{}, cell_index<2>{most, 1}, 1));
  CHECK(over(cyclic_tiles<4, 4, 4>{}, cell_index<3>{1U << 22U, 1U << 22U, 1U << 22U}, 8));
  CHECK_FALSE(over(cyclic_tiles<64, 64>{}, cell_index<2>{1000, 1000}, 8));
}
