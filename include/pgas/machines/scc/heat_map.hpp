// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <pgas/detail/text/svg_canvas.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/machines/scc/mesh.hpp>
#include <pgas/vocabulary/error.hpp>

namespace PGAS_NAMESPACE {

namespace detail::scc {

/// Draws the chip with the load of each part: 6 x 4 tiles, the links between them, the controllers beside
/// their routers, and the system interface.
class heat_drawing {
 public:
  heat_drawing(pgas::scc::traffic const& t, std::string const& title) : traffic_(t) {
    for (double const c : t.clocks) cycles_ = std::max(cycles_, c);
    out_.text(margin - 110, 44, title, "title");
    out_.text(margin - 110, 68,
              std::to_string(t.clocks.size()) + " cores, " + grouped(cycles_) +
                  " core cycles: share of them for which each part was in use",
              "label", "fill='#6b7785'");
    for (tile i = 0; i < tiles; ++i) draw_tile(i);
    for (tile i = 0; i < tiles; ++i) draw_links(i);
    for (unsigned c = 0; c < controllers; ++c) draw_controller(c);
    draw_interface();
    draw_legend(chip_bottom + 118);
    draw_busiest(chip_bottom + 118);
  }

  [[nodiscard]] std::string finished() const {
    return out_.finished(2 * margin + chip_width, chip_bottom + 270);
  }

 private:
  using load = pgas::scc::load;
  static constexpr double side = 116, gap = 66, step = side + gap, margin = 150, top = 104;
  static constexpr double chip_width = tile_columns * step - gap;
  static constexpr double chip_bottom = top + tile_rows * step - gap;

  static double left_of(tile t) noexcept { return margin + column_of(t) * step; }
  /// The y coordinate of a tile. The first row of tiles is the lowest.
  static double top_of(tile t) noexcept { return top + (tile_rows - 1 - row_of(t)) * step; }

  [[nodiscard]] double share(load const& l) const noexcept { return cycles_ > 0 ? l.busy / cycles_ : 0; }

  static std::string percent(double share) {
    if (share == 0) return "0";
    if (share < 0.0005) return "<0.1%";
    std::array<char, 24> text{};
    std::snprintf(text.data(), text.size(), share < 0.0995 ? "%.1f%%" : "%.0f%%", 100 * share);
    return text.data();
  }
  static std::string grouped(double value) {
    std::string text = std::to_string(std::llround(value));
    for (std::size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, ",");
    return text;
  }
  /// The colour of a share. Half of the colours cover the first quarter, where most parts of most runs are.
  static std::string colour(double share) {
    if (share == 0) return "#f4f6f8";
    struct stop {
      double r, g, b;
    };
    constexpr std::array<stop, 5> stops{
        {{255, 246, 219}, {253, 211, 138}, {245, 154, 76}, {219, 82, 52}, {142, 22, 48}}};
    double const at = std::sqrt(std::clamp(share, 0.0, 1.0)) * (stops.size() - 1);
    auto const i = std::min(static_cast<std::size_t>(at), stops.size() - 2);
    double const part = at - static_cast<double>(i);
    auto const mix = [&](double stop::*c) { return stops[i].*c + (stops[i + 1].*c - stops[i].*c) * part; };
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "rgb(%.0f,%.0f,%.0f)", mix(&stop::r), mix(&stop::g),
                  mix(&stop::b));
    return text.data();
  }
  static std::string says(load const& l, std::string const& what) {
    return what + ": " + grouped(static_cast<double>(l.requests)) + " requests, in use for " +
           grouped(l.busy) + " core cycles; they waited " + grouped(l.queued) + " in all";
  }

  void box(double x, double y, double width, double height, load const& l, std::string const& label,
           std::string const& what, double size) {
    double const part = share(l);
    std::string const ink = part > 0.3 ? " light" : "";
    out_.begin_group(says(l, what));
    out_.rect(x, y, width, height, "fill='" + colour(part) + "' rx='4' stroke='#d5dbe1' stroke-width='.8'");
    out_.text(x + width / 2, y + height * 0.3, label, "middle" + ink,
              "font-size='" + svg_canvas::number(size * 0.78) + "' " + (part > 0.3 ? "" : "fill='#6b7785'"));
    out_.text(x + width / 2, y + height * 0.68, percent(part), "middle" + ink,
              "font-weight='600' font-size='" + svg_canvas::number(size) + "'");
    out_.end_group();
  }

  void draw_tile(tile t) {
    double const x = left_of(t), y = top_of(t);
    std::string const name = '(' + std::to_string(column_of(t)) + ',' + std::to_string(row_of(t)) + ')';
    out_.rect(x, y, side, side, "fill='#ffffff' rx='9' stroke='#b8c2cc' stroke-width='1.2'");
    out_.text(x + 9, y + 15, name, "small start");
    std::string cores;
    for (unsigned core = 2 * t; core < std::min<std::size_t>(2 * t + 2, traffic_.clocks.size()); ++core)
      cores += (cores.empty() ? "" : ", ") + std::to_string(core);
    out_.text(x + side - 9, y + 15, cores, "small end", "font-weight='600'");
    double const wide = (side - 24) / 2, tall = 38;
    double const second = x + 16 + wide, low = y + 31 + tall;
    box(x + 8, y + 26, wide, tall, traffic_.buffers[t], "buffer", "buffer of tile " + name, 12);
    box(second, y + 26, wide, tall, traffic_.registers[t], "registers", "registers of tile " + name, 12);
    box(x + 8, low, wide, tall, link_of(t, mesh::out_of_cores), "cores out", "link from the cores of " + name,
        12);
    box(second, low, wide, tall, link_of(t, mesh::into_cores), "cores in", "link to the cores of " + name,
        12);
  }

  [[nodiscard]] load const& link_of(tile t, mesh::direction d) const {
    return traffic_.links[t * mesh::directions + d];
  }

  /// Draws the links of a tile to its eastern and northern neighbours, in both directions: at most four
  /// arrows.
  void draw_links(tile t) {
    double const x = left_of(t), y = top_of(t), middle = side / 2, apart = 15;
    if (column_of(t) + 1 < tile_columns) {
      arrow(x + side + 4, y + middle - apart, x + step - 4, y + middle - apart, link_of(t, mesh::east));
      arrow(x + step - 4, y + middle + apart, x + side + 4, y + middle + apart, link_of(t + 1, mesh::west));
    }
    if (row_of(t) + 1 < tile_rows) {
      tile const above = t + tile_columns;
      arrow(x + middle - apart, y - 4, x + middle - apart, y - gap + 4, link_of(t, mesh::north));
      arrow(x + middle + apart, y - gap + 4, x + middle + apart, y - 4, link_of(above, mesh::south));
    }
  }
  void arrow(double x1, double y1, double x2, double y2, load const& l) {
    double const part = share(l), half = 5, head = 11;
    double const dx = x2 > x1 ? 1 : x2 < x1 ? -1 : 0, dy = y2 > y1 ? 1 : y2 < y1 ? -1 : 0;
    double const xn = x2 - dx * head, yn = y2 - dy * head;  // the base of the arrow's head
    std::string points;
    for (auto const& [along, across] :
         {std::pair{0, half}, {1, half}, {1, half + 4}, {2, 0.0}, {1, -half - 4}, {1, -half}, {0, -half}}) {
      double const px = (along == 0 ? x1 : along == 1 ? xn : x2) - dy * across;
      double const py = (along == 0 ? y1 : along == 1 ? yn : y2) + dx * across;
      points += svg_canvas::number(px) + "," + svg_canvas::number(py) + " ";
    }
    out_.begin_group(says(l, "link " + l.name));
    out_.polygon(points, "fill='" + colour(part) + "' stroke='" + (part == 0 ? "#d5dbe1" : "#9a6a3a") +
                             "' stroke-width='.7' stroke-linejoin='round'");
    double const x = (x1 + x2) / 2, y = (y1 + y2) / 2;
    if (dx > 0) out_.text(x, y - 15, percent(part), "small middle");
    if (dx < 0) out_.text(x, y + 15, percent(part), "small middle");
    if (dy < 0) out_.text(x - 13, y, percent(part), "small end");
    if (dy > 0) out_.text(x + 13, y, percent(part), "small start");
    out_.end_group();
  }

  void draw_controller(unsigned c) {
    tile const t = controller_tile(c);
    bool const is_left = column_of(t) == 0;
    double const width = 92, y = top_of(t) + 16, tall = side - 32;
    double const x = is_left ? left_of(t) - 22 - width : left_of(t) + side + 22;
    double const edge = is_left ? left_of(t) : left_of(t) + side;
    out_.line(edge, y + tall / 2, is_left ? x + width : x, y + tall / 2, "stroke='#b8c2cc' stroke-width='3'");
    box(x, y, width, tall, traffic_.controllers[c], "controller " + std::to_string(c),
        traffic_.controllers[c].name, 17);
  }
  void draw_interface() {
    double const x = left_of(interface_tile) - 10, y = chip_bottom + 22;
    out_.line(x + 10 + side / 2, chip_bottom, x + 10 + side / 2, y, "stroke='#b8c2cc' stroke-width='3'");
    box(x, y, side + 20, 52, traffic_.interface, "system interface", "system interface", 14);
  }

  void draw_legend(double y) {
    double const x = margin - 110, width = 420;
    out_.text(x, y, "Share of the run in use", "head start");
    constexpr unsigned pieces = 84;
    for (unsigned i = 0; i < pieces; ++i) {
      double const at = (i + 0.5) / pieces;
      out_.rect(x + width * i / pieces, y + 20, width / pieces + 0.6, 16, "fill='" + colour(at * at) + "'");
    }
    for (double const tick : {0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0}) {
      double const at = x + width * std::sqrt(tick);
      out_.line(at, y + 36, at, y + 41, "stroke='#6b7785'");
      out_.text(at, y + 51, std::to_string(std::lround(100 * tick)) + "%", "small middle");
    }
    out_.rect(x, y + 74, 22, 14, "fill='" + colour(0) + "' stroke='#d5dbe1' rx='3'");
    out_.text(x + 30, y + 81, "never used", "note start");
    out_.text(x, y + 106, "Arrows are links of one direction; a pointer on a part shows its requests.",
              "note start");
  }

  /// Lists the busiest parts, which most likely limit the run.
  void draw_busiest(double y) {
    std::vector<std::pair<std::string, load const*>> all;
    auto const add = [&](std::string const& what, std::vector<load> const& some) {
      for (auto const& l : some) all.emplace_back(what + l.name, &l);
    };
    add("link ", traffic_.links);
    add("buffer ", traffic_.buffers);
    add("registers ", traffic_.registers);
    add("", traffic_.controllers);
    all.emplace_back(traffic_.interface.name, &traffic_.interface);
    std::stable_sort(all.begin(), all.end(),
                     [](auto const& a, auto const& b) { return a.second->busy > b.second->busy; });
    double const x = margin + chip_width - 470;
    constexpr std::array<double, 4> columns{0, 250, 370, 540};
    out_.text(x, y, "Busiest", "head start");
    out_.text(x + columns[1], y, "in use", "note end");
    out_.text(x + columns[2], y, "requests", "note end");
    out_.text(x + columns[3], y, "a request waits, cycles", "note end");
    for (std::size_t i = 0; i < 5; ++i) {
      auto const& [name, l] = all[i];
      double const row = y + 26 + 22 * static_cast<double>(i);
      std::array<char, 24> waits{};
      std::snprintf(waits.data(), waits.size(), "%.1f",
                    l->requests == 0 ? 0 : l->queued / static_cast<double>(l->requests));
      out_.rect(x, row - 7, 14, 14,
                "fill='" + colour(share(*l)) + "' rx='3' stroke='#d5dbe1' stroke-width='.8'");
      out_.text(x + 22, row, name, "label start");
      out_.text(x + columns[1], row, percent(share(*l)), "label end");
      out_.text(x + columns[2], row, grouped(static_cast<double>(l->requests)), "label end");
      out_.text(x + columns[3], row, waits.data(), "label end");
    }
  }

  pgas::scc::traffic const& traffic_;
  double cycles_ = 0;
  svg_canvas out_;
};

}  // namespace detail::scc

namespace scc {

/// A picture of a run's traffic as SVG: tiles, links, controllers, buffers and registers. The colour of a
/// part is the share of the run for which it was in use.
[[nodiscard]] inline std::string heat_map(traffic const& t, std::string const& title) {
  return detail::scc::heat_drawing(t, title).finished();
}

/// Writes the heat map to a file, whose name is its title. Throws errc::wrong_order if no run had a clock,
/// errc::bad_file if the file cannot be written.
inline void write_heat_map(traffic const& t, std::filesystem::path const& file) {
  if (t.links.empty()) {
    throw error(errc::wrong_order, -1,
                "heat map: no run has had a clock yet; choose one by scc::options::clock");
  }
  std::ofstream out(file);
  out << heat_map(t, file.stem().string());
  if (!out.flush()) {
    throw error(errc::bad_file, -1,
                "heat map: " + detail::in_quotes(file.string()) +
                    " cannot be written; name a file in a folder where you may write");
  }
}

}  // namespace scc

}  // namespace PGAS_NAMESPACE
