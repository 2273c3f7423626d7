// SPDX-License-Identifier: BSL-1.0
// Christgau 2017, Figs. 3.12 and 3.13: a cellular automaton of 1600 lines of 8192 one-byte cells whose processes only
// synchronize with their neighbours; their control words are all at one controller, or each at its own.
#include <pgas/backends/scc/heat_map.hpp>
#include <pgas/exposure.hpp>
#include <pgas/sync/match_list.hpp>

#include "chip.hpp"

namespace {

using namespace papers;

constexpr std::size_t rows = 1600;
/// An eighth of the paper's, which would take minutes: synchronization is below 1 % of a generation still.
constexpr std::uint32_t columns = 8192 / 8;
/// Core cycles for each cell: a serial run takes 401.05 s for 100 generations of 2400 x 8192 (Christgau 2017, section
/// 4.4.5), less the store, which goes to memory.
constexpr double cell_cycles = 401.05e6 * machine::core_mhz / (100.0 * 2400 * 8192) - 71;
constexpr std::uint32_t line = 32;

enum class synchronization { none, distributed, central };

/// Cores domain by domain, as the paper places its processes.
std::vector<rank_t> by_domain() {
  std::vector<rank_t> cores;
  for (unsigned domain = 0; domain < 4; ++domain) {
    for (rank_t core = 0; core < 48; ++core) {
      if (pgas::detail::scc::domain_of(core) == domain) cores.push_back(core);
    }
  }
  return cores;
}

/// One generation of some lines: three lines are read through the caches, and each cell is stored. A store fetches no
/// line, so that each of these goes to memory; the loads of the next cell wait for it, as they would for a load.
void generation(machine& m, std::size_t own, std::uint32_t from, std::uint32_t to) {
  for (std::size_t row = 0; row < own; ++row) {
    for (std::size_t column = 0; column < columns; column += line) {
      auto const at = static_cast<std::uint32_t>(row * columns + column);
      for (std::uint32_t k = 0; k < 3; ++k) static_cast<void>(m.load(page_type::dcm, from + at + k * columns));
      m.cycles(static_cast<std::uint64_t>(line * cell_cycles));
      for (std::uint32_t i = 0; i < line; ++i) static_cast<void>(m.load(page_type::ncm, to + at + i / 4 * 4));
    }
  }
}

/// Microseconds of one generation.
double time_of(rank_t cores, synchronization how, int generations) {
  double us = 0;
  auto const order = by_domain();
  on_chip(
      48, default_timing(),
      [&](machine& m) {
        auto const place = std::find(order.begin(), order.begin() + cores, m.rank()) - order.begin();
        bool const takes_part = place < cores;
        auto part = m.team().split(takes_part ? 0 : 1, static_cast<int>(place));
        if (!takes_part) return;
        using bundle = pgas::protocols<pgas::default_fence, pgas::sync::match_list<4>, pgas::sync::shared_only>;
        auto const w =
            pgas::make_window<std::uint32_t>(part.template with<pgas::coherence::write_through, bundle>(), 1);
        auto const me = static_cast<rank_t>(place);
        std::vector<rank_t> neighbours{(me + 1) % cores};
        if (cores > 2) neighbours.push_back((me + cores - 1) % cores);
        std::size_t const own = (rows * static_cast<std::size_t>(me) + rows) / static_cast<std::size_t>(cores) -
                                rows * static_cast<std::size_t>(me) / static_cast<std::size_t>(cores);
        std::uint32_t now = machine::scratch(0), next = machine::scratch(std::size_t{1} << 24U);
        part.barrier();
        double const before = m.now();
        for (int g = 0; g < generations; ++g) {
          if (how == synchronization::none || cores == 1) {
            generation(m, own, now, next);
          } else {
            pgas::exposure exposed{w, neighbours};
            pgas::access epoch{w, neighbours};
            generation(m, own, now, next);
            epoch.complete();
            exposed.wait();
          }
          std::swap(now, next);
        }
        us = std::max(us, m.now() - before);
      },
      how == synchronization::central ? pgas::scc::placement::central : pgas::scc::placement::distributed);
  return us / generations;
}

/// What the chip did in the last run.
std::string heat_of(std::string const& words) {
  return pgas::scc::heat_map(backend::last_traffic(), "The stencil, control words " + words);
}

}  // namespace

int main(int argc, char** argv) {
  // The paper's 50. Who waits polls at the one controller and so slows down those whose cells are there, for whom then
  // more have to wait: it takes generations until that has come to its end.
  bool const quick = is_quick(argc, argv);
  int const generations = quick ? 10 : 50;
  teller const tell("placement", default_timing());
  double const alone = time_of(1, synchronization::none, 1);
  for (rank_t cores : {6, 12, 24, 36, 48}) {
    if (quick && cores != 24 && cores != 48) continue;
    tell("none", cores, "speedup", alone / time_of(cores, synchronization::none, 5), "times");
    tell("distributed", cores, "speedup", alone / time_of(cores, synchronization::distributed, generations), "times");
    if (cores == 48) tell.picture("distributed", heat_of("each at its owner's controller"));
    tell("central", cores, "speedup", alone / time_of(cores, synchronization::central, generations), "times");
    if (cores == 48) tell.picture("central", heat_of("all at one controller"));
  }
  std::printf("{\"type\":\"end\"}\n");
}
