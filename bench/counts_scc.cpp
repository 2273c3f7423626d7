// SPDX-License-Identifier: BSL-1.0
// Lines that epochs move on the emulated SCC, beside the fewest possible: a put must be written, a read must
// be fetched. And drops: a rank forgets old copies of a part by one instruction, so each part that another
// rank may have written needs one. No line that goes past the caches needs a flush of a whole cache.
#include <cstdio>
#include <pgas/backends/scc.hpp>
#include <pgas/exchange_halo.hpp>
#include <pgas/pgas.hpp>
#include <utility>
#include <vector>

namespace {

constexpr pgas::rank_t ranks = 4;
constexpr std::size_t line = 32;

struct moved {
  std::size_t lines;
  std::size_t drops;
  std::size_t flushes;
};

template <class Segment, class Act>
moved during(Segment const& segment, Act&& act) {
  auto const lines = [&] {
    auto const& c = segment.counters();
    return c.fills + c.pushes + c.write_backs + c.reads + c.writes;
  };
  auto const flushes = [&] { return segment.counters().l1_flushes + segment.counters().l2_flushes; };
  moved const before{lines(), segment.counters().tagged_drops, flushes()};
  act();
  return {lines() - before.lines, segment.counters().tagged_drops - before.drops, flushes() - before.flushes};
}

void tell(char const* row, std::size_t bytes, char const* mode, char const* unit, char const* way,
          std::size_t count) {
  std::printf(R"({"type":"sample","row":"%s","mode":"%s","bytes":%zu,"unit":"%s","ranks":%d,"way":"%s",)"
              R"("hand_over":[],"seconds":[%zu]})"
              "\n",
              row, mode, bytes, unit, static_cast<int>(ranks), way, count);
}

/// The counts of rank 1, which has a neighbour on either side, and the fewest possible ones.
template <class Team>
void tell(Team const& team, char const* row, std::size_t bytes, moved const& ours, moved const& fewest) {
  if (team.rank() != 1) return;
  for (auto const& [way, m] : {std::pair{"", ours}, std::pair{"fewest", fewest}}) {
    tell(row, bytes, "SCC, lines", "lines", way, m.lines);
    tell(row, bytes, "SCC, drops", "drops", way, m.drops);
    tell(row, bytes, "SCC, flushes of a cache", "flushes", way, m.flushes);
  }
}

template <class Team>
void count(Team& world) {
  auto team = world.template with<pgas::coherence::write_through>();
  pgas::rank_t const next = (team.rank() + 1) % ranks;
  pgas::rank_t const before = (team.rank() + ranks - 1) % ranks;
  auto w = pgas::make_window<std::uint64_t>(team, 1024);
  auto const& segment = w.state().segment;
  std::vector<std::uint64_t> const values(512);

  {
    pgas::fence epoch{w};
    for (std::size_t const words : {1U, 512U}) {
      tell(team, "fence", words * 8,
           during(segment,
                  [&] {
                    epoch.put(next, 0, std::span(values).first(words));
                    epoch.next();
                  }),
           // Each part may have been written, the own one too.
           {.lines = (words * 8 + line - 1) / line, .drops = ranks, .flushes = 0});
    }
  }
  tell(team, "pscw", 8,
       during(segment,
              [&] {
                pgas::exposure exposed{w, {before}};
                {
                  pgas::access epoch{w, {next}};
                  epoch.put(next, 0, 1);
                }
                exposed.wait();
              }),
       // The own part has been exposed, and the target's part was exposed to others before.
       {.lines = 1, .drops = 2, .flushes = 0});
  tell(team, "lock_exclusive", 8,
       during(segment,
              [&] {
                pgas::lock epoch{w, next, pgas::exclusive};
                auto const there = epoch.to();
                there.put(0, there.get(0) + 1);
              }),
       {.lines = 2, .drops = 1, .flushes = 0});
  team.barrier();

  constexpr std::size_t cols = 512;
  auto now = pgas::make_array<double>(team, {2 * ranks, cols}, pgas::halo{.width = 1});
  pgas::exchange_halo(now);
  // One row each way, read and written. The neighbours write into the own part alone.
  tell(team, "halo", cols * 8, during(now.window().state().segment, [&] { pgas::exchange_halo(now); }),
       {.lines = 4 * (cols * 8 / line), .drops = 1, .flushes = 0});
}

}  // namespace

int main() {
  pgas::scc::with_options const calm{{}};
  pgas::run<pgas::backends::scc>(ranks, [](auto& team) { count(team); });
  std::printf("{\"type\":\"end\"}\n");
  return 0;
}
