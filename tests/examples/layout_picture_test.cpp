// SPDX-License-Identifier: BSL-1.0
// A sentence about a layout means the layout that the library makes, and its picture shows that.
// test: unit examples
#include <doctest/doctest.h>
#include <cmath>

#include <map>

#include "../../examples/support/layout_svg.hpp"

using namespace example;

namespace {

/// The owner of cell (i, j) by the tiles of a picture: -1 if there is none, -2 if there are two.
std::vector<int> owners(drawn_layout const& l) {
  std::vector<int> all(l.extents[0] * l.extents[1], -1);
  for (auto const& t : l.tiles) {
    for (std::size_t i = t.first[0]; i < t.first[0] + t.count[0]; ++i) {
      for (std::size_t j = t.first[1]; j < t.first[1] + t.count[1]; ++j) {
        int& owner = all[i * l.extents[1] + j];
        owner = owner == -1 ? t.owner : -2;
      }
    }
  }
  return all;
}

/// The same by a layout of the library.
template <pgas::layout L>
std::vector<int> owners(L const& rule, std::array<std::size_t, L::dimensions> const& extents,
                        pgas::rank_t ranks) {
  auto const l = rule.over(extents, ranks);
  std::vector<int> all;
  std::array<std::size_t, L::dimensions> i{};
  do all.push_back(l.owner(i));
  while (pgas::detail::advance(i, extents));
  return all;
}

/// The number of bytes that each rank needs of the others when it reads all cells up to `width` from its own.
std::vector<std::uint64_t> read_around(std::vector<int> const& of, std::array<std::size_t, 2> extents,
                                       std::size_t ranks, std::ptrdiff_t width, bool is_periodic,
                                       std::uint64_t bytes) {
  std::vector<std::uint64_t> all(ranks * ranks);
  auto const rows = static_cast<std::ptrdiff_t>(extents[0]);
  auto const cols = static_cast<std::ptrdiff_t>(extents[1]);
  auto const at = [&](std::ptrdiff_t i, std::ptrdiff_t j) {
    return of[static_cast<std::size_t>(i * cols + j)];
  };
  for (std::size_t reader = 0; reader < ranks; ++reader) {
    for (std::ptrdiff_t i = 0; i < rows; ++i) {
      for (std::ptrdiff_t j = 0; j < cols; ++j) {
        bool reads = false;
        for (std::ptrdiff_t k = 0; k < rows * cols; ++k) {
          auto di = std::abs(k / cols - i);
          auto dj = std::abs(k % cols - j);
          if (is_periodic) di = std::min(di, rows - di), dj = std::min(dj, cols - dj);
          reads = reads ||
                  (di <= width && dj <= width && of[static_cast<std::size_t>(k)] == static_cast<int>(reader));
        }
        auto const owner = static_cast<std::size_t>(at(i, j));
        if (reads && owner != reader) all[owner * ranks + reader] += bytes;
      }
    }
  }
  return all;
}

}  // namespace

TEST_CASE("layout sentence: each layout and distribution has the owners that the library computes") {
  using namespace pgas;
  CHECK(owners(read_layout("16x24 tiled(4x4) grid(2x3)")) ==
        owners(tiled{block_cyclic<4>{}, block_cyclic<4>{}}.on(grid{2, 3}), {16, 24}, 6));
  CHECK(owners(read_layout("rows 7x5 ranks(3)")) == owners(by_rows<2>{}, {7, 5}, 3));
  CHECK(owners(read_layout("7x5")) == owners(by_rows<2>{}, {7, 5}, 4));
  CHECK(owners(read_layout("tiled(block, block) ranks(6) 7x5")) ==
        owners(tiled{block{}, block{}}, {7, 5}, 6));
  CHECK(owners(read_layout(" tiled( cyclic,block_cyclic( 3 ) )  grid(2x0) ranks(8) 9x14 ")) ==
        owners(tiled{cyclic{}, block_cyclic<3>{}}.on(grid{2, 0}), {9, 14}, 8));
  CHECK(owners(read_layout("tiled(whole, single_owner(2)) grid(1x3) 4x4")) ==
        owners(tiled{whole{}, single_owner{2}}.on(grid{1, 3}), {4, 4}, 3));
  CHECK(owners(read_layout("tiled(irregular(3,0,1), block) ranks(6) 4x4")) ==
        owners(tiled{irregular{3, 0, 1}, block{}}.on(grid{3, 2}), {4, 4}, 6));
  CHECK(owners(read_layout("cyclic_tiles(2x3) ranks(5) padded(64) 7x8")) ==
        owners(cyclic_tiles<2, 3>{}, {7, 8}, 5));
  CHECK(owners(read_layout("cyclic_tiles(4) 18")) == owners(cyclic_tiles<4>{}, {18}, 4));
  CHECK(owners(read_layout("cyclic ranks(3) 10")) == owners(tiled{cyclic{}}, {10}, 3));
  CHECK(owners(read_layout("irregular(5, 0, 12, 3) 20")) == owners(tiled{irregular{5, 0, 12, 3}}, {20}, 4));
  auto const empty = read_layout("0x5");
  CHECK(empty.tiles.empty());
  CHECK(svg(empty).ends_with("</svg>\n"));
}

TEST_CASE("layout sentence: the error points at the wrong word and lists the possible ones") {
  struct wrong {
    char const* sentence;
    char const* under;  ///< a '^' where the wrong word begins
    char const* why;
    char const* possible;
  };
  for (auto const& [sentence, under, why, possible] : {
           wrong{"tiled(4x4) gird(2x3) 16x24", "           ^~~~~~~~~\n", "'gird' is no word", "tiled(4x4)"},
           wrong{"tiled(4x4) grid(2x3)", "^~~~~~~~~~", "the extents of the array are missing", "16x24"},
           wrong{"16x24 tiled(4x4", "      ^~~~~~~~~\n", "a parenthesis is not closed", "')'"},
           wrong{"tiled(blok, cyclic) 4x4", "      ^~~~\n", "'blok' is no distribution",
                 "irregular(5, 0, 12)"},
           wrong{"tiled(block cyclic) 4x4", "            ^\n", "a comma should be here", "block, cyclic"},
           wrong{"tiled(4x4)grid(2x3) 4x4", "          ^\n", "text follows the parenthesis directly",
                 "a blank"},
           wrong{"tiled(4x0) 4x4", "        ^\n", "'0' is not a number that can be here", "1 to 100000"},
           wrong{"cyclic_tiles(5x5) 4x4", "             ^~~\n", "was not compiled for", "2, 3, 4 and 8"},
           wrong{"cyclic_tiles(4) 4x4", "^~~~~~~~~~~~~~~\n", "its tiles have one dimension",
                 "cyclic_tiles(4x4)"},
           wrong{"cyclic 4x4", "^~~~~~\n", "this layout has one dimension, but the array has 2",
                 "tiled(cyclic, whole)"},
           wrong{"grid 4x4", "^~~~\n", "the text in its parentheses is missing", "grid(2x3)"},
           wrong{"grid(2) 4x4", "^~~~~~~\n", "the grid has one dimension, but the array has 2", "grid(2x3)"},
           wrong{"cyclic_tiles(4x4) grid(2x2) 4x4", "                  ^~~~~~~~~\n", "without a grid",
                 "ranks"},
           wrong{"tiled(whole,block) grid(2x2) 4x4", "                   ^~~~~~~~~\n", "is whole", "1"},
           wrong{"tiled(block, block) grid(2x3) ranks(4) 4x4", "^~~~",
                 "needs more than the 4 ranks there are", "ranks()"},
           wrong{"4x4x4", "^~~~~\n", "one or two dimensions", "16x24"},
           wrong{"4x4 5x5", "    ^~~\n", "the extents are given twice", "one"},
           wrong{"block cyclic 5", "      ^~~~~~\n", "'block' is a layout already", "one"},
           wrong{"irregular(5,2) 9", "^~~~~~~~~~~~~~\n", "7 indices together, for 9", ""},
           wrong{"single_owner(9) ranks(3) 4", "^~~", "rank 9 is to own all", ""},
           wrong{"ranks(65) 4", "      ^~\n", "'65' is not a number", "1 to 64"},
           wrong{")", "^\n", "this parenthesis was never opened", "tiled"},
           wrong{"block, 5", "     ^\n", "blanks separate words, not commas", ""},
           wrong{"cyclic 100000", "^~~~~~\n", "more than 20000 tiles", "larger tiles"},
           wrong{"", "^\n", "the extents of the array are missing", ""},
       }) {
    try {
      static_cast<void>(read_layout(sentence));
      FAIL_CHECK(sentence << ": is taken");
    } catch (std::runtime_error const& e) {
      std::string const text = e.what();
      std::string const shown = "\n  " + std::string(sentence) + "\n  " + under;
      CHECK_MESSAGE((*under == '\0' || text.find(shown) != std::string::npos), text);
      CHECK_MESSAGE(text.find(why) < text.find('\n'), text);
      CHECK_MESSAGE(text.substr(text.find("\npossible: ")).find(possible) != std::string::npos, text);
    }
  }
}

TEST_CASE("layout traffic: each rank's bytes are those it must read around its own cells") {
  struct one {
    char const* sentence;
    std::ptrdiff_t width;
    bool is_periodic;
    std::uint64_t bytes;
  };
  // For boxes on a grid that divides both dimensions, the halo plan sends each cell once to each rank that
  // has it as a ghost.
  for (auto const& [sentence, width, is_periodic, bytes] : {
           one{"tiled(block, block) grid(2x3) 8x9", 1, false, 8},
           one{"tiled(block, block) grid(2x2) halo(2) bytes(4) 9x10", 2, false, 4},
           one{"tiled(block, irregular(3,4,5)) grid(3x3) periodic 9x12", 1, true, 8},
           one{"cyclic_tiles(2x3) ranks(3) 7x8", 1, false, 8},
           one{"cyclic_tiles(2x2) ranks(5) periodic 8x8 halo(2)", 2, true, 8},
           one{"tiled(cyclic, block) ranks(4) 6x6", 1, false, 8},
       }) {
    auto const l = read_layout(sentence);
    auto const n = static_cast<std::size_t>(l.ranks);
    CHECK_MESSAGE(l.traffic == read_around(owners(l), l.extents, n, width, is_periodic, bytes), sentence);
    CHECK(*std::max_element(l.traffic.begin(), l.traffic.end()) > 0);
  }
}

TEST_CASE("layout picture: it has each tile in its owner's colour, each rank and each number of bytes") {
  auto const l = read_layout("tiled(block, block) grid(2x2) 8x8");
  std::string const picture = svg(l);
  std::map<std::string, std::size_t> rects;
  for (std::size_t at = 0; (at = picture.find("<rect ", at)) != std::string::npos; ++at) {
    std::size_t const end = picture.find("/>", at);
    std::size_t const colour = picture.find("fill='", at) + 6;
    REQUIRE(colour < end);
    ++rects[picture.substr(colour, picture.find('\'', colour) - colour)];
  }
  // One for the tile, one in the legend, and one at each side of the matrix.
  for (pgas::rank_t r = 0; r < 4; ++r) CHECK(rects[example::detail::colour_of(r)] == 4);
  CHECK(picture.starts_with("<svg xmlns="));
  CHECK(picture.ends_with("</svg>\n"));
  CHECK(picture.find(">tiled(block, block) on 2 x 2<") != std::string::npos);
  CHECK(picture.find(">rank 3<") != std::string::npos);
  CHECK(picture.find(">16 cells<") != std::string::npos);
  CHECK(picture.find(">32<") != std::string::npos);  // an edge of 4 doubles
  CHECK(picture.find(">288 bytes in all<") != std::string::npos);
  std::set<std::string> colours;
  for (pgas::rank_t r = 0; r < 64; ++r) colours.insert(example::detail::colour_of(r));
  CHECK(colours.size() == 64);
}
