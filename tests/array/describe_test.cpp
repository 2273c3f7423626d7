// SPDX-License-Identifier: BSL-1.0
// The text of describe has the true facts of its array.
// test: unit distributions
#include <pgas/describe.hpp>
#include <pgas/distributions/block_cyclic.hpp>
#include <pgas/distributions/cyclic.hpp>
#include <pgas/distributions/irregular.hpp>
#include <pgas/distributions/single_owner.hpp>
#include <pgas/layouts/cyclic_tiles.hpp>

#include "support/ranks.hpp"

using namespace pgas_test;
using namespace pgas;

TEST_CASE("describe: the owners of a small array are drawn cell by cell") {
  CHECK(describe(tiled{block{}, block{}}.over({4, 4}, 4)) ==
        "extents   4 x 4 on 4 ranks\n"
        "layout    tiled(block, block); a grid of 2 x 2 ranks; 4 tiles, the first of 2 x 2\n"
        "rank 0    4 cells, a part of 4 elements\n"
        "rank 1    4 cells, a part of 4 elements\n"
        "rank 2    4 cells, a part of 4 elements\n"
        "rank 3    4 cells, a part of 4 elements\n"
        "padding   none\n"
        "owners of cells\n"
        "  0 0 1 1\n"
        "  0 0 1 1\n"
        "  2 2 3 3\n"
        "  2 2 3 3\n");
  CHECK(describe(tiled{irregular{1, 0, 3}}.over({4}, 3)) ==
        "extents   4 on 3 ranks\n"
        "layout    tiled(irregular(1, 0, 3)); a grid of 3 ranks; 2 tiles, the first of 1\n"
        "rank 0    1 cells, a part of 1 elements\n"
        "rank 1    0 cells, a part of 0 elements\n"
        "rank 2    3 cells, a part of 3 elements\n"
        "padding   none\n"
        "owners of cells\n"
        "  0 2 2 2\n");
}

TEST_CASE("describe: the picture shows the owner of each cell, or of each tile of a large array") {
  auto const picture = [](auto const& l) {
    std::string const all = describe(l);
    return all.substr(all.find("owners"));
  };
  auto const l = cyclic_tiles<2, 3>{}.over({5, 8}, 3);
  std::string cells = "owners of cells\n";
  for (std::size_t i = 0; i < 5; ++i) {
    cells += " ";
    for (std::size_t j = 0; j < 8; ++j) cells += " " + std::to_string(l.owner({i, j}));
    cells += "\n";
  }
  CHECK(picture(l) == cells);
  CHECK(picture(tiled{block_cyclic<40>{}, block{}}.over({200, 64}, 4)) ==
        "owners of tiles\n  0 1\n  2 3\n  0 1\n  2 3\n  0 1\n");
  // A picture with too many tiles is cut off; its numbers stand below each other.
  std::string line = " ";
  for (int j = 0; j < 32; ++j) line += (j % 11 < 10 ? "  " : " ") + std::to_string(j % 11);
  std::string rows = "owners of tiles\n";
  for (int i = 0; i < 16; ++i) rows += line + " ...\n";
  CHECK(picture(tiled{cyclic{}, cyclic{}}.on(grid{1, 11}).over({17, 34}, 11)) == rows + "  ...\n");
}

TEST_CASE("describe: many ranks are summed up, and their cells add up to those of the array") {
  std::string const text = describe(tiled{block{}, single_owner{}}.on(grid{10, 1}).over({12, 100}, 11));
  CHECK(text.find(
            "ranks     11 own 0 to 200 cells, 109.091 on average, in parts of 0 elements to 200 elements; "
            "1 without any\n") != std::string::npos);
  auto const sum = [](auto const& l) {
    std::size_t all = 0;
    for (rank_t r = 0; r < l.ranks(); ++r) all += pgas::detail::cells_owned_by(l, r);
    return all;
  };
  CHECK(sum(cyclic_tiles<4, 5>{}.over({13, 17}, 3)) == 13 * 17);
  CHECK(sum(tiled{cyclic{}, block_cyclic<2>{}, block{}}.over({7, 5, 3}, 4)) == 7 * 5 * 3);
}

TEST_CASE("describe: an array of no cells, or of three dimensions, has no picture") {
  CHECK(describe(by_rows<2>{}.over({0, 5}, 2)).find("owners") == std::string::npos);
  CHECK(describe(by_rows<3>{}.over({2, 5, 3}, 2)).find("owners") == std::string::npos);
  CHECK(describe(cyclic_tiles<4>{}.over({0}, 2)).find("padding   none\n") != std::string::npos);
}

TEST_CASE("describe: an array names its elements, halo, backend and policies, and the bytes of parts") {
  everywhere<std::tuple<process_model, write_back_model>>(
      [](auto& team) {
        using team_type = std::remove_reference_t<decltype(team)>;
        auto const a = make_array<double>(
            team, {6, 5}, halos<2>{halo{.width = 1, .edges = edge::periodic, .after = 2}, halo{}});
        std::string const text = describe(a);
        for (std::string const& piece :
             {std::string("array     6 x 5 cells of 8 bytes, 240 bytes on 2 ranks\n"),
              std::string(
                  "halo      1 before and 2 after, periodic, 0 before and 0 after, fixed; with corners\n"),
              "runs on   " + std::string(team_type::backend_type::name) + ", coherence " +
                  std::string(team_type::coherence_type::name) + ", protocols ",
              std::string("rank 1    15 cells, a part of 240 bytes\n"),
              std::string("padding   240 bytes in all are")}) {
          require(text.find(piece) != std::string::npos, "it says '" + piece + "': " + text);
        }
        auto const b = make_array<int>(team, {3, 700}, tiled{block{}, whole{}}.padded(64));
        require(describe(b).find("rank 0    1400 cells, a part of 5.5 KiB\n") != std::string::npos,
                describe(b));
      },
      {2});
}
