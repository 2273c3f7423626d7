// SPDX-License-Identifier: BSL-1.0
// A barrier and a fence, against barriers written by hand: spinning on a core each, yielding where ranks share cores.
#include <pgas/sync/central_counter.hpp>

#include "harness.hpp"

namespace {
constexpr double no_slower = 1.03;  // what two runs of one thing differ by
}

int main(int argc, char** argv) {
  bench::options const options(argc, argv);
  return bench::run(options, "barrier", {2, 4, 8}, [](auto& b) {
    using counting = pgas::protocols<pgas::sync::central_counter, pgas::sync::match_vector, pgas::sync::shared_only>;
    auto const fence_on = [](auto& window) {
      return std::make_unique<pgas::fence<typename std::decay_t<decltype(window)>::state_type>>(window);
    };

    auto& team = b.team();
    auto const ranks = static_cast<std::uint64_t>(team.size());
    auto const self = static_cast<std::size_t>(team.rank());
    using team_type = std::decay_t<decltype(team)>;
    auto window = pgas::make_window<double>(team, 16);
    auto counted = pgas::make_window<double>(team.template with<pgas::coherence::coherent, counting>(), 16);

    struct place {
      team_type team;
      decltype(fence_on(window)) epoch;
      decltype(fence_on(counted)) counted_epoch;
      bench::raw::central_barrier central;
      bench::raw::pair_barrier pair;
    };
    std::vector<place> places;
    for (std::size_t i = 0; i < b.places; ++i) {
      auto again = pgas::make_window<double>(team, 16);
      auto counted_again = pgas::make_window<double>(team.template with<pgas::coherence::coherent, counting>(), 16);
      auto const lines = b.lines(i);
      places.push_back({team.split(0),
                        fence_on(again),
                        fence_on(counted_again),
                        {lines.at(0), lines.at(1), ranks},
                        {lines.at(2 + self % 2), lines.at(3 - self % 2)}});
    }

    auto const here = [&]() -> place& { return places[b.place()]; };
    auto const repeat = [](char const* name, auto step) {
      return bench::contender{name, [step](std::size_t n) {
                                for (std::size_t i = 0; i < n; ++i) step();
                              }};
    };
    auto const barrier = repeat("barrier", [&] { here().team.barrier(); });
    auto const fence = repeat("fence", [&] { here().epoch->next(); });
    auto const by_counter = repeat("fence", [&] { here().counted_epoch->next(); });

    if (b.oversubscribed()) {
      auto const at_once = repeat("yield", [&] { here().central.pass(0); });
      auto const soon = repeat("spin 40, then yield", [&] { here().central.pass(40); });
      auto const later = repeat("spin 400, then yield", [&] { here().central.pass(400); });
      b.compare({.name = "barrier, ranks share cores", .target = no_slower}, barrier, {at_once, soon, later});
      b.compare({.name = "fence, ranks share cores", .target = no_slower}, fence, {at_once, soon, later});
      b.compare({.name = "the same by central_counter", .target = no_slower}, by_counter, {at_once, soon, later});
    } else {
      auto const counter = repeat("spin on a counter", [&] { here().central.pass(1 << 30); });
      auto const flags = repeat("spin on flags", [&] { here().pair.pass(); });
      auto const& other = ranks == 2 ? flags : counter;  // flags are for two
      b.compare({.name = "barrier", .target = 1.3}, barrier, {counter, other});
      b.compare({.name = "fence", .target = 1.3}, fence, {counter, other});
      b.compare({.name = "fence by central_counter", .target = 1.3}, by_counter, {counter, other});
    }
  });
}
