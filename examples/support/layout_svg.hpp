// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <pgas/detail/text/svg_canvas.hpp>
#include <set>
#include <string>

#include "file.hpp"
#include "layout_sentence.hpp"

namespace example {

namespace detail {

using pgas::detail::svg_canvas;

/// A colour for each rank, different from those of ranks with near numbers.
inline std::string colour_of(pgas::rank_t rank) {
  constexpr char const* first[] = {"#7aa6d6", "#f2b06b", "#8cc59a", "#e58f8f", "#b49ad2", "#d9c36a",
                                   "#7cc7c9", "#e3a3c6", "#a9b86f", "#9aa8b8", "#c99a7a", "#8f9be0"};
  constexpr auto given = static_cast<pgas::rank_t>(std::size(first));
  if (rank < given) return first[rank];
  char text[48];  // multiples of the golden angle never coincide
  std::snprintf(text, sizeof text, "hsl(%.0f,%d%%,%d%%)", std::fmod(20 + 137.508 * rank, 360.0),
                42 + rank % 2 * 8, 62 + rank % 3 * 7);
  return text;
}

inline std::string fill(std::string const& colour) { return "fill='" + colour + "'"; }

/// A number that fits into a small box: 1536 is "1.5k".
inline std::string short_number(std::uint64_t value) {
  if (value < 1000) return std::to_string(value);
  auto v = static_cast<double>(value);
  char const* unit = "";
  for (char const* const next : {"k", "M", "G", "T"}) {
    if (v < 1000) break;
    v /= 1000;
    unit = next;
  }
  char text[32];
  std::snprintf(text, sizeof text, v < 10 ? "%.1f%s" : "%.0f%s", v, unit);
  return text;
}

/// The cells, coloured by owner, with the borders of tiles.
struct drawn_box {
  double width;
  double height;
};
inline drawn_box draw_cells(svg_canvas& out, drawn_layout const& l, double left, double top) {
  auto const rows = static_cast<double>(std::max<std::size_t>(1, l.extents[0]));
  auto const cols = static_cast<double>(std::max<std::size_t>(1, l.extents[1]));
  double const cell = std::min({620 / cols, 560 / rows, 36.0});
  double const width = cell * cols;
  double const height = l.dimensions == 1 ? std::max(cell * rows, 36.0) : cell * rows;
  double const tall = height / rows;
  std::array<std::set<std::size_t>, 2> cuts;
  for (auto const& t : l.tiles) {
    double const x = left + cell * static_cast<double>(t.first[1]);
    double const y = top + tall * static_cast<double>(t.first[0]);
    double const w = cell * static_cast<double>(t.count[1]);
    double const h = tall * static_cast<double>(t.count[0]);
    double const gap = std::min({1.5, w / 8, h / 8});  // the border of a tile is the white gap between two
    out.rect(x + gap / 2, y + gap / 2, w - gap, h - gap,
             fill(colour_of(t.owner)) + " rx='" + (std::min(w, h) > 12 ? "3" : "0") + "'");
    if (cell >= 7) {  // cells, faint
      for (std::size_t j = 1; j < t.count[1]; ++j) {
        double const at = x + cell * static_cast<double>(j);
        out.line(at, y + gap, at, y + h - gap, "stroke='#fff' stroke-opacity='.45' stroke-width='.8'");
      }
      for (std::size_t i = 1; i < t.count[0]; ++i) {
        double const at = y + tall * static_cast<double>(i);
        out.line(x + gap, at, x + w - gap, at, "stroke='#fff' stroke-opacity='.45' stroke-width='.8'");
      }
    }
    if (w >= 16 && h >= 14) {
      double const size = std::clamp(std::min(w, h) * 0.4, 10.0, 26.0);
      out.text(x + w / 2, y + h / 2, std::to_string(t.owner), "middle",
               "font-weight='600' font-size='" + std::to_string(static_cast<int>(size)) + "'");
    }
    for (std::size_t d = 0; d < 2; ++d) cuts[d].insert({t.first[d], t.first[d] + t.count[d]});
  }
  double last = -100;  // indices beside the borders of tiles, as many as fit
  for (std::size_t const cut : cuts[1]) {
    double const x = left + cell * static_cast<double>(cut);
    if (x - last < 26) continue;
    out.text(x, top - 10, std::to_string(cut), "small middle");
    last = x;
  }
  last = -100;
  for (std::size_t const cut : l.dimensions == 1 ? std::set<std::size_t>{} : cuts[0]) {
    double const y = top + tall * static_cast<double>(cut);
    if (y - last < 14) continue;
    out.text(left - 8, y, std::to_string(cut), "small end");
    last = y;
  }
  return {width, height};
}

/// Draws ranks and their cells, in columns; returns the height.
inline double draw_legend(svg_canvas& out, drawn_layout const& l, double left, double top, double width) {
  double const column = 150;
  auto const columns = std::max<std::size_t>(1, static_cast<std::size_t>(width / column));
  for (std::size_t r = 0; r < l.cells.size(); ++r) {
    double const x = left + column * static_cast<double>(r % columns);
    double const y = top + 22 * static_cast<double>(r / columns);
    out.rect(x, y, 14, 14, fill(colour_of(static_cast<pgas::rank_t>(r))) + " rx='3'");
    out.text(x + 21, y + 7.5, "rank " + std::to_string(r), "label start");
    out.text(x + 80, y + 7.5, std::to_string(l.cells[r]) + (l.cells[r] == 1 ? " cell" : " cells"),
             "note start");
  }
  return 22 * std::ceil(static_cast<double>(l.cells.size()) / static_cast<double>(columns));
}

/// Draws the bytes from each rank to each other; returns the size, with all labels.
inline drawn_box draw_traffic(svg_canvas& out, drawn_layout const& l, double left, double top) {
  auto const n = static_cast<std::size_t>(l.ranks);
  double const cell = std::min(46.0, 400 / static_cast<double>(n));
  double const side = cell * static_cast<double>(n);
  std::uint64_t const most = *std::max_element(l.traffic.begin(), l.traffic.end());
  out.text(left + side / 2, top - 34, "to rank", "note middle");
  out.text(
      left - 42, top + side / 2, "from rank", "note middle",
      "transform='rotate(-90 " + std::to_string(left - 42) + " " + std::to_string(top + side / 2) + ")'");
  for (std::size_t r = 0; r < n; ++r) {
    double const at = cell * (static_cast<double>(r) + 0.5);
    double const chip = std::min(18.0, cell - 2);
    std::string const colour = fill(colour_of(static_cast<pgas::rank_t>(r))) + " rx='3'";
    out.rect(left + at - chip / 2, top - 8 - chip, chip, chip, colour);
    out.rect(left - 8 - chip, top + at - chip / 2, chip, chip, colour);
    if (chip < 12) continue;
    out.text(left + at, top - 8 - chip / 2, std::to_string(r), "middle", "font-size='10'");
    out.text(left - 8 - chip / 2, top + at, std::to_string(r), "middle", "font-size='10'");
  }
  for (std::size_t from = 0; from < n; ++from) {
    for (std::size_t to = 0; to < n; ++to) {
      double const x = left + cell * static_cast<double>(to);
      double const y = top + cell * static_cast<double>(from);
      std::uint64_t const bytes = l.traffic[from * n + to];
      double const part = most == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(most);
      double const gap = std::min(2.0, cell / 8);
      char colour[48];  // from a light to a dark blue
      std::snprintf(colour, sizeof colour, "rgb(%.0f,%.0f,%.0f)", 221 - 184 * part, 233 - 142 * part,
                    246 - 84 * part);
      std::string const nothing = from == to ? "#e4e7eb" : "#f4f6f8";
      out.rect(x + gap / 2, y + gap / 2, cell - gap, cell - gap,
               fill(bytes == 0 ? nothing : std::string(colour)) + " rx='" + (cell > 12 ? "3" : "0") + "'");
      if (bytes != 0 && cell >= 26) {
        out.text(x + cell / 2, y + cell / 2, short_number(bytes), part > 0.5 ? "middle light" : "middle",
                 "font-size='" + std::string(cell > 36 ? "12" : "9.5") + "'");
      }
    }
  }
  return {side, side};
}

}  // namespace detail

/// A picture of a layout: its cells coloured by owner, a legend, and a matrix of the bytes that pairs of
/// ranks exchange.
inline std::string svg(drawn_layout const& l) {
  detail::svg_canvas out;
  double const left = 56;
  double const top = 128;
  out.text(left - 24, 40, l.rule, "title");
  std::string const extents = l.dimensions == 1
                                  ? std::to_string(l.extents[1])
                                  : std::to_string(l.extents[0]) + " x " + std::to_string(l.extents[1]);
  out.text(left - 24, 64,
           extents + " cells on " + std::to_string(l.ranks) + (l.ranks == 1 ? " rank" : " ranks") + ", in " +
               std::to_string(l.tiles.size()) + (l.tiles.size() == 1 ? " tile" : " tiles"),
           "label", "fill='#6b7785'");
  auto const cells = detail::draw_cells(out, l, left, top);
  double const shown = std::max(cells.width, 300.0);
  double const legend = detail::draw_legend(out, l, left, top + cells.height + 28, shown);

  double const right = left + shown + 110;
  double const matrix_top = top + 44;
  out.text(right - 46, top - 10, "Bytes from rank to rank", "head start");
  out.text(right - 46, top + 8, l.exchange, "note start");
  auto const matrix = detail::draw_traffic(out, l, right, matrix_top + 22);
  std::uint64_t all = 0;
  for (std::uint64_t const bytes : l.traffic) all += bytes;
  out.text(right, matrix_top + 22 + matrix.height + 20, pgas::detail::bytes_text(all) + " in all",
           "note start");

  double const width = right + std::max(matrix.width, 230.0) + 40;
  double const height = std::max(top + cells.height + 28 + legend + 24, matrix_top + 22 + matrix.height + 48);
  // A long rule, or many ranks in one line, may be wider than the drawing.
  return out.finished(std::max(width, 40 + 12.0 * static_cast<double>(l.rule.size())), height);
}

}  // namespace example
