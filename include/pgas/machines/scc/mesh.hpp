// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <pgas/machines/scc/timing.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <string>
#include <vector>

namespace PGAS_NAMESPACE {

namespace scc {

/// The load of one link of the mesh, buffer, register block or controller, or of the system interface.
struct load {
  std::string name;             ///< of the part
  std::uint64_t requests = 0;   ///< the number of accesses
  double busy = 0, queued = 0;  ///< core cycles in use; core cycles that requests waited
};

/// The loads of all parts of the chip in a run with a clock: for heat maps.
struct traffic {
  std::vector<load> links;  ///< of each tile: to the east, west, north, south, out of its cores and into them
  std::vector<load> buffers;      ///< of each tile
  std::vector<load> registers;    ///< of each tile
  std::vector<load> controllers;  ///< the memory controllers
  load interface;                 ///< the system interface
  std::vector<double> clocks;     ///< each core's clock at the end, in core cycles
};

}  // namespace scc

namespace detail::scc {

using pgas::scc::cycles;
using pgas::scc::ticks;
using pgas::scc::timing;

/// The number of a tile of the chip: row by row, from the lower left.
using tile = unsigned;
inline constexpr unsigned tile_columns = 6, tile_rows = 4, tiles = tile_columns * tile_rows, controllers = 4;

constexpr tile tile_of(rank_t core) noexcept { return static_cast<tile>(core) / 2; }
constexpr unsigned column_of(tile t) noexcept { return t % tile_columns; }
constexpr unsigned row_of(tile t) noexcept { return t / tile_columns; }
constexpr unsigned hops(tile from, tile to) noexcept {
  auto const apart = [](unsigned a, unsigned b) { return a > b ? a - b : b - a; };
  return apart(column_of(from), column_of(to)) + apart(row_of(from), row_of(to));
}
/// The controller of a core: the nearest of four, each with a quarter of the chip.
constexpr unsigned domain_of(rank_t core) noexcept {
  return (column_of(tile_of(core)) >= tile_columns / 2 ? 1U : 0U) +
         (row_of(tile_of(core)) >= tile_rows / 2 ? 2U : 0U);
}
/// The tile whose router a controller is at: (0,0), (5,0), (0,2) or (5,2).
constexpr tile controller_tile(unsigned controller) noexcept {
  return (controller % 2) * (tile_columns - 1) + (controller / 2) * 2 * tile_columns;
}
inline constexpr tile interface_tile = 3;

/// A part of the chip that serves one access at a time.
struct station {
  enum kind : std::uint8_t { buffer, registers, controller, interface };
  kind what;
  std::uint8_t number;  ///< of its tile, or of the controller

  static constexpr station buffer_of(rank_t core) noexcept { return at(buffer, tile_of(core)); }
  static constexpr station registers_of(rank_t core) noexcept { return at(registers, tile_of(core)); }
  static constexpr station memory_of(rank_t core) noexcept { return at(controller, domain_of(core)); }
  static constexpr station at(kind k, unsigned number) noexcept {
    return {k, static_cast<std::uint8_t>(number)};
  }
  static constexpr std::size_t count = 2 * tiles + controllers + 1;

  [[nodiscard]] constexpr tile where() const noexcept {
    return what == controller ? controller_tile(number) : what == interface ? interface_tile : number;
  }
  [[nodiscard]] constexpr std::size_t index() const noexcept {
    return what * std::size_t{tiles} + number - (what == interface ? tiles - controllers : 0);
  }
  /// The gate that orders its accesses. A tile's registers and its buffer share one: both are behind its mesh
  /// interface.
  /// Source: Christgau 2017, section 2.2.1.
  [[nodiscard]] constexpr std::size_t gate() const noexcept {
    return (what == registers ? at(buffer, number) : *this).index();
  }
};

/// One direction between two routers, or between a tile's cores and its router. It passes one flit of 16
/// bytes a mesh cycle.
///
/// Passages are requested ahead of time and in any order. Each takes the first gap that is long enough.
class link {
 public:
  /// Returns the tick at which a packet that arrives at `at` begins to pass. No later request is for a tick
  /// before `past`.
  ticks pass(ticks at, ticks length, ticks past) {
    ++requests;
    busy += length;
    if (taken_.size() > 16) std::erase_if(taken_, [&](span const& s) { return s.end <= past; });
    ticks begin = at;
    auto i = taken_.end();
    while (i != taken_.begin() && (i - 1)->end > at) --i;  // earlier spans end too early to matter
    for (; i != taken_.end() && i->begin < begin + length; ++i) begin = std::max(begin, i->end);
    taken_.insert(i, {begin, begin + length});
    queued += begin - at;
    return begin;
  }

  std::uint64_t requests = 0;
  ticks busy = 0, queued = 0;

 private:
  struct span {
    ticks begin, end;
  };
  std::vector<span> taken_;  ///< in order, without overlap
};

/// The routers of the chip and the links between them. A packet travels along its row first, then along the
/// column.
class mesh {
 public:
  enum direction : unsigned { east, west, north, south, out_of_cores, into_cores };
  static constexpr unsigned directions = 6;

  explicit mesh(timing const& t) : flit_(t.mesh), hop_(t.in_ticks(t.hop)) {}

  /// Returns the tick at which the head of a packet that leaves a tile at `at` reaches another tile.
  ticks travel(tile from, tile to, ticks at, unsigned flits, ticks past) {
    while (from != to) {
      direction const d = next(from, to);
      at = of(from, d).pass(at, flits * flit_, past) + hop_;
      from = beside(from, d);
    }
    return at;
  }
  /// Counts `times` further packets that take no time.
  void count(tile from, tile to, unsigned flits, std::uint64_t times) noexcept {
    for (; from != to; from = beside(from, next(from, to))) count_link(from, next(from, to), flits, times);
  }
  void count_link(tile t, direction d, unsigned flits, std::uint64_t times) noexcept {
    of(t, d).requests += times;
    of(t, d).busy += times * flits * flit_;
  }
  /// Passes the link between a tile's cores and its router. Both cores share one link out and one back.
  ticks pass_cores(tile at_tile, direction d, ticks at, unsigned flits, ticks past) {
    return of(at_tile, d).pass(at, flits * flit_, past);
  }

  [[nodiscard]] link const& look(tile t, direction d) const noexcept { return links_[t * directions + d]; }

  static constexpr direction next(tile from, tile to) noexcept {
    if (column_of(from) != column_of(to)) return column_of(from) < column_of(to) ? east : west;
    return row_of(from) < row_of(to) ? north : south;
  }
  static constexpr tile beside(tile t, direction d) noexcept {
    switch (d) {
      case east:
        return t + 1;
      case west:
        return t - 1;
      case north:
        return t + tile_columns;
      case south:
        return t - tile_columns;
      default:
        return t;
    }
  }

 private:
  [[nodiscard]] link& of(tile t, direction d) noexcept { return links_[t * directions + d]; }

  ticks flit_, hop_;
  std::array<link, std::size_t{tiles} * directions> links_;
};

/// Chooses the next core of those that wait for a station.
///
/// A buffer or a register keeps no queue. Waiting packets fill the nearest routers, and each router serves
/// its inputs in turn. A core alone on an input is therefore served more often than cores that share one: the
/// chip is unfair. Farther away, the first to arrive is the first served.
/// Source: Shahmirzadi 2014, section 2.4, for the unfairness. The mechanism is the usual cause, and the
/// number of filled routers is fitted to the measured unfairness.
class arbiter {
 public:
  using waiters = std::uint64_t;

  /// `arrivals`: the tick at which each core's access arrived.
  template <class Arrivals>
  rank_t choose(waiters who, tile at, Arrivals const& arrivals) noexcept {
    tile router = at;
    for (unsigned i = 0; i < filled_routers; ++i) {
      std::array<waiters, 5> by_input{};
      for (waiters left = who; left != 0; left &= left - 1) {
        auto const core = static_cast<rank_t>(std::countr_zero(left));
        by_input[input(tile_of(core), router)] |= left & ~(left - 1);
      }
      unsigned next = last_[router];
      do next = (next + 1) % 5;
      while (by_input[next] == 0);
      last_[router] = static_cast<std::uint8_t>(next);
      who = by_input[next];
      if (next == own) break;
      router = mesh::beside(router, static_cast<mesh::direction>(next));
    }
    auto first = static_cast<std::size_t>(std::countr_zero(who));
    for (waiters left = who; left != 0; left &= left - 1) {
      auto const core = static_cast<std::size_t>(std::countr_zero(left));
      if (arrivals[core] < arrivals[first]) first = core;
    }
    return static_cast<rank_t>(first);
  }

 private:
  static constexpr unsigned filled_routers = 2;
  static constexpr unsigned own = 4;
  /// The input by which packets of a tile reach a router. The last turn of their route decides.
  static unsigned input(tile from, tile router) noexcept {
    if (row_of(from) != row_of(router)) return row_of(from) > row_of(router) ? mesh::north : mesh::south;
    if (column_of(from) != column_of(router))
      return column_of(from) > column_of(router) ? mesh::east : mesh::west;
    return own;
  }

  std::array<std::uint8_t, tiles> last_{};
};

}  // namespace detail::scc

}  // namespace PGAS_NAMESPACE
