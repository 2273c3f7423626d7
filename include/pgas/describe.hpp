// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstdio>
#include <pgas/global_array.hpp>
#include <pgas/options.hpp>
#include <string>
#include <vector>

namespace PGAS_NAMESPACE {

namespace detail {

/// A number of bytes in words: 1536 is "1.5 KiB".
inline std::string bytes_text(std::uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " bytes";
  constexpr char const* units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1024; value /= 1024) ++unit;
  char text[32];
  std::snprintf(text, sizeof text, "%.4g %s", value, units[unit]);
  return text;
}

/// The first indices of the first `most` tiles along a dimension, or of all tiles if there are fewer.
template <layout L>
std::vector<std::size_t> cuts(L const& l, std::size_t d, std::size_t most) {
  std::vector<std::size_t> found;
  if (box<L::dimensions>{{}, l.extents()}.size() == 0) return found;
  std::array<std::size_t, L::dimensions> index{};
  while (index[d] < l.extents()[d] && found.size() < most) {
    found.push_back(index[d]);
    auto const cells = l.tile_at(index).cells;  // cuts go through the whole array, so one row has all of them
    index[d] = cells.first[d] + cells.count[d];
  }
  return found;
}

/// The number of cells that a rank owns.
template <layout L>
std::size_t cells_owned_by(L const& l, rank_t rank) {
  if constexpr (matrix_layout<L>) {
    return box<L::dimensions>{{}, l.local_extents(rank)}.size();
  } else {
    std::size_t sum = 0;
    for (std::size_t k = 0; k < l.tiles(rank); ++k) sum += l.tile_of(rank, k).cells.size();
    return sum;
  }
}

/// The owners, as numbers in rows: of each cell, or of each tile if there are many cells. Long rows are cut
/// off.
template <layout L>
  requires(L::dimensions <= 2)
std::string picture_of_owners(L const& l) {
  constexpr std::size_t last = L::dimensions - 1;
  constexpr std::size_t most_rows = 16;
  constexpr std::size_t most_cols = 32;
  auto const& extents = l.extents();
  std::size_t const rows = last == 0 ? 1 : extents[0];
  if (rows * extents[last] == 0) return "";
  bool const by_cell = rows <= most_rows && extents[last] <= most_cols;
  std::array<std::vector<std::size_t>, 2> at;  // the rows and the columns to show
  for (std::size_t d = 0; d < 2; ++d) {
    bool const is_row = d == 0;
    std::size_t const most = is_row ? most_rows : most_cols;
    if (is_row && last == 0) {
      at[d] = {0};
    } else if (by_cell) {
      for (std::size_t i = 0; i < extents[is_row ? 0 : last]; ++i) at[d].push_back(i);
    } else {
      at[d] = cuts(l, is_row ? 0 : last, most + 1);
    }
  }
  std::size_t const width = std::to_string(l.ranks() - 1).size();
  std::string text = by_cell ? "owners of cells\n" : "owners of tiles\n";
  for (std::size_t i = 0; i < at[0].size(); ++i) {
    if (i == most_rows) {
      text += "  ...\n";
      break;
    }
    text += " ";
    for (std::size_t j = 0; j < at[1].size(); ++j) {
      if (j == most_cols) {
        text += " ...";
        break;
      }
      std::array<std::size_t, L::dimensions> index{};
      index[0] = at[0][i];
      index[last] = at[1][j];
      std::string const owner = std::to_string(l.owner(index));
      text.append(1 + width - owner.size(), ' ');
      text += owner;
    }
    text += "\n";
  }
  return text;
}

/// A layout in words. The sizes of parts are also given in bytes if the size of an element is known.
template <layout L>
std::string layout_text(L const& l, std::size_t element_bytes) {
  std::string text = "layout    " + l.describe();
  if constexpr (requires { l.places().describe(); })
    text += "; a grid of " + l.places().describe() + " ranks";
  std::size_t tiles = 0;
  for (rank_t r = 0; r < l.ranks(); ++r) tiles += l.tiles(r);
  if (tiles != 0) {
    text += "; " + std::to_string(tiles) + (tiles == 1 ? " tile" : " tiles, the first") + " of " +
            joined(l.tile_at({}).cells.count, " x ");
  }
  text += "\n";

  struct share {
    std::size_t cells;
    std::size_t elements;
  };
  std::vector<share> shares;
  std::size_t room = 0;
  std::size_t without = 0;
  for (rank_t r = 0; r < l.ranks(); ++r) {
    shares.push_back({cells_owned_by(l, r), l.part_size(r)});
    room += shares.back().elements - shares.back().cells;
    if (shares.back().cells == 0) ++without;
  }
  auto const size = [&](std::size_t elements) {
    return element_bytes == 0 ? std::to_string(elements) + " elements" : bytes_text(elements * element_bytes);
  };
  constexpr std::size_t most_ranks = 8;
  if (shares.size() <= most_ranks) {
    for (std::size_t r = 0; r < shares.size(); ++r) {
      text += "rank " + std::to_string(r) + "    " + std::to_string(shares[r].cells) + " cells, a part of " +
              size(shares[r].elements) + "\n";
    }
  } else {
    auto const [fewest, most] = std::minmax_element(
        shares.begin(), shares.end(), [](share const& a, share const& b) { return a.cells < b.cells; });
    auto const [least, largest] = std::minmax_element(
        shares.begin(), shares.end(), [](share const& a, share const& b) { return a.elements < b.elements; });
    std::size_t all = 0;
    for (share const& s : shares) all += s.cells;
    char mean[32];
    std::snprintf(mean, sizeof mean, "%.6g", static_cast<double>(all) / static_cast<double>(shares.size()));
    text += "ranks     " + std::to_string(shares.size()) + " own " + std::to_string(fewest->cells) + " to " +
            std::to_string(most->cells) + " cells, " + mean + " on average, in parts of " +
            size(least->elements) + " to " + size(largest->elements) +
            (without == 0 ? "" : "; " + std::to_string(without) + " without any") + "\n";
  }
  text += "padding   " +
          (room == 0 ? "none" : size(room) + " in all are ghost cells or fill lines and tiles") + "\n";
  if constexpr (L::dimensions <= 2) text += picture_of_owners(l);
  return text;
}

}  // namespace detail

/// A layout in words, in several lines: its rule, its grid, its tiles, and the number of cells of each rank.
/// For one and two dimensions it also shows the owners. Example: `std::puts(describe(a.layout()).c_str())`.
///
/// Local. Costs time in proportion to the ranks; for layouts in cyclic tiles, to the tiles.
template <layout L>
[[nodiscard]] std::string describe(L const& l) {
  return "extents   " + detail::joined(l.extents(), " x ") + " on " + std::to_string(l.ranks()) + " ranks\n" +
         detail::layout_text(l, 0);
}

/// An array in words: extents, element, halo, backend, coherence policy, protocols and layout.
///
/// Local. Every rank gets the same text, so one rank prints it. Costs as much as describe of its layout.
template <class T, std::size_t N, class Layout, class Backend, class Coherence, class Protocols>
[[nodiscard]] std::string describe(global_array<T, N, Layout, Backend, Coherence, Protocols> const& a) {
  std::string text = "array     " + detail::joined(a.extents(), " x ") + " cells of " +
                     detail::bytes_text(sizeof(T)) + ", " + detail::bytes_text(a.size() * sizeof(T)) +
                     " on " + std::to_string(a.ranks()) + " ranks\n";
  if (a.shape().halos().any()) {
    text += "halo     ";
    for (std::size_t d = 0; d < N; ++d) {
      halo const& h = a.shape().halo(d);
      text += (d == 0 ? " " : ", ") + std::to_string(h.width) + " before and " + std::to_string(h.after) +
              " after, " +
              (h.edges == edge::periodic     ? "periodic"
               : h.edges == edge::reflecting ? "reflecting"
                                             : "fixed");
    }
    text += a.shape().halos().corners() ? "; with corners\n" : "; without corners\n";
  }
  text += "runs on   " + std::string(Backend::name) + ", coherence " + std::string(Coherence::name) +
          ", protocols " + protocols_name<Protocols>() + "\n";
  return text + detail::layout_text(a.layout(), sizeof(T));
}

}  // namespace PGAS_NAMESPACE
