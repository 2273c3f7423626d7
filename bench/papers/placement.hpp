// SPDX-License-Identifier: BSL-1.0
// Christgau 2017, Figs. 3.12 and 3.13: a cellular automaton of 1600 lines of 8192 one-byte cells, whose
// processes only synchronize with their neighbours. Their control words are all at one controller, or each at
// its own.
#pragma once

#include <pgas/exposure.hpp>
#include <pgas/machines/scc/heat_map.hpp>
#include <pgas/sync/match_list.hpp>
#include <pgas/sync/shared_only.hpp>

#include "chip.hpp"

namespace papers::placement {

inline constexpr std::size_t paper_rows = 1600;
inline constexpr std::uint32_t pitch = 8192;
inline constexpr std::uint32_t line = 32;
/// A 32nd of each line. It leaves to the caches a 32nd of their sets, so the share of accesses to memory is
/// that of the paper's run. Synchronization is still 1 % of a generation.
inline constexpr std::uint32_t columns = pitch / 32;
/// Core cycles to compute a cell: those of the serial run, less the time to read the cell's line of 32, once
/// from memory and twice from L2, and to issue the store.
inline constexpr double cell_cycles =
    serial_s * 1e6 * machine::core_mhz / serial_cells - (71 + 2 * 18) / 32.0 - 1;

enum class synchronization { none, distributed, central };

/// Cores domain by domain, in the order in which the paper places its processes.
inline std::vector<rank_t> by_domain() {
  std::vector<rank_t> cores;
  for (unsigned domain = 0; domain < 4; ++domain) {
    for (rank_t core = 0; core < 48; ++core) {
      if (pgas::detail::scc::domain_of(core) == domain) cores.push_back(core);
    }
  }
  return cores;
}

/// One generation of some lines: it reads three lines through the caches and stores each cell. A store
/// fetches no line, and the cell's line has left the caches since the last generation. So the store goes to
/// memory and holds the controller while the next cell is computed.
inline void generation(machine& m, std::size_t own, std::uint32_t from, std::uint32_t to,
                       cell_stores stores) {
  auto const of_cell = static_cast<std::uint64_t>(cell_cycles + longer_store(m.rank(), stores));
  for (std::uint32_t row = 0; row < own; ++row) {
    for (std::uint32_t column = 0; column < columns; column += line) {
      std::uint32_t const at = row * pitch + column;
      for (std::uint32_t k = 0; k < 3; ++k) static_cast<void>(m.load(page_type::dcm, from + at + k * pitch));
      for (std::uint32_t i = 0; i < line; ++i) {
        m.cycles(of_cell);
        std::byte const cell{};
        m.core().store(page_type::dcm, to + at + pitch + i, std::span(&cell, 1));
      }
    }
  }
}

/// Microseconds of one generation: of all, and of those from a half to four fifths of the run. By then waits
/// have spread, and no process has ended.
struct times {
  double all, late;
};
inline times time_of(rank_t cores, synchronization how, int generations, std::size_t rows = paper_rows,
                     cell_stores stores = cell_stores::stall) {
  double all = 0, half = 0, fifths = 0;
  int const at_half = generations / 2, at_fifths = generations * 4 / 5;
  auto const order = by_domain();
  on_chip(
      48, default_timing(),
      [&](machine& m) {
        auto const place = std::find(order.begin(), order.begin() + cores, m.rank()) - order.begin();
        bool const takes_part = place < cores;
        auto part = m.team().split(takes_part ? 0 : 1, static_cast<int>(place));
        if (!takes_part) return;
        using bundle =
            pgas::protocols<pgas::default_fence, pgas::sync::match_list<4>, pgas::sync::shared_only>;
        auto const w =
            pgas::make_window<std::uint32_t>(part.template with<pgas::coherence::write_through, bundle>(), 1);
        auto const me = static_cast<rank_t>(place);
        std::vector<rank_t> neighbours{(me + 1) % cores};
        if (cores > 2) neighbours.push_back((me + cores - 1) % cores);
        std::size_t const own =
            (rows * static_cast<std::size_t>(me) + rows) / static_cast<std::size_t>(cores) -
            rows * static_cast<std::size_t>(me) / static_cast<std::size_t>(cores);
        std::uint32_t now = machine::scratch(0), next = machine::scratch(std::size_t{1} << 24U);
        part.barrier();
        double const before = m.now();
        for (int g = 0; g < generations; ++g) {
          if (how == synchronization::none || cores == 1) {
            generation(m, own, now, next, stores);
          } else {
            pgas::exposure exposed{w, neighbours};
            pgas::access epoch{w, neighbours};
            generation(m, own, now, next, stores);
            epoch.complete();
            exposed.wait();
          }
          std::swap(now, next);
          if (g + 1 == at_half) half = std::max(half, m.now() - before);
          if (g + 1 == at_fifths) fifths = std::max(fifths, m.now() - before);
        }
        all = std::max(all, m.now() - before);
      },
      how == synchronization::central ? pgas::scc::placement::central : pgas::scc::placement::distributed);
  return {all / generations, (fifths - half) / (at_fifths - at_half)};
}

/// The heat map of the last run.
inline std::string heat_of(std::string const& words) {
  return pgas::scc::heat_map(backend::last_traffic(), "The stencil, control words " + words);
}

inline void run(effort how) {
  // The paper's 50. A waiting process polls at the one controller and slows down the processes whose cells
  // are there, so more processes have to wait. It takes generations until that has settled.
  int const generations = times_of(how, 50, 10, 1);
  teller const tell("placement", default_timing());
  std::size_t const rows = how == effort::small ? 48 : paper_rows;
  int const undisturbed = times_of(how, 5, 5, 1);
  double const alone = time_of(1, synchronization::none, undisturbed, rows).all;
  for (rank_t cores : {6, 12, 24, 36, 48}) {
    if (how == effort::small ? cores != 6 : how == effort::quick && cores != 24 && cores != 48) continue;
    tell("none", cores, "speedup", alone / time_of(cores, synchronization::none, undisturbed, rows).all,
         "times");
    tell("distributed", cores, "speedup",
         alone / time_of(cores, synchronization::distributed, generations, rows).all, "times");
    if (cores == 48) tell.picture("distributed", heat_of("each at its owner's controller"));
    times const central = time_of(cores, synchronization::central, generations, rows);
    tell("central", cores, "speedup", alone / central.all, "times");
    if (how != effort::small) tell("central", cores, "speedup later", alone / central.late, "times");
    if (cores == 48) {
      auto const of = [&](synchronization words) {
        return alone / time_of(cores, words, generations, rows, cell_stores::overlap).all;
      };
      tell("distributed, stores overlap", cores, "speedup", of(synchronization::distributed), "times");
      tell("central, stores overlap", cores, "speedup", of(synchronization::central), "times");
    }
    if (cores == 48) tell.picture("central", heat_of("all at one controller"));
  }
}

}  // namespace papers::placement
