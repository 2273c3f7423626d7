// SPDX-License-Identifier: BSL-1.0
// Calls of functions at other ranks, on every model that has mailboxes; and calls without one step of their
// messages, each of which a program finds.
// test: addresses, threads, each way, unit messages
#include <pgas/async/calls.hpp>
#include <pgas/pgas.hpp>

#include <array>
#include <exception>
#include <span>

#include "calls_mutants.hpp"
#include "support/ranks.hpp"

namespace pgas_test {
using calls_models = all_models;
}

#include "conformance/calls.hpp"

namespace pgas_test {
namespace {

/// Runs program(state) on two cores of the emulated chip, on what make(team) returns. Returns
/// whether the program ended well.
template <class Make, class Program>
bool passes(Make const& make, Program const& program) {
  try {
    pgas::run<pgas::backends::scc>(2, [&](auto& team) {
      auto calls = make(team);
      program(team, calls);
      calls.finish();
    });
    return true;
  } catch (std::exception const&) {
    return false;
  }
}
constexpr pgas::call_options small{.message_bytes = 8 * kib};
constexpr auto right = [](auto& team) { return pgas::make_calls(team, small); };
constexpr auto without_room = [](auto& team) {
  return pgas::calls_mutants::no_room::make_calls(team, small);
};
constexpr auto without_look = [](auto& team) {
  return pgas::calls_mutants::no_look::make_calls(team, small);
};

TEST_CASE("calls: a receiver returns room by itself, or a caller that gets no answers waits for ever") {
  auto const one_way = [](auto& team, auto& calls) {
    for (int i = 0; i < 500 && team.rank() == 0; ++i)
      calls.send(
          1, [](int) {}, i);
  };
  CHECK(passes(right, one_way));
  CHECK(!passes(without_room, one_way));
}

TEST_CASE("calls: a rank begins the calls that wait when its functions' calls have left, without a message") {
  // Rank 1 waits in a barrier. Each function there starts a call of several messages, so the next one waits
  // until these have left. Rank 0 has nothing to send then.
  auto const one_by_one = [](auto& team, auto& calls) {
    if (team.rank() == 0) {
      auto const start_much = [](auto& site) {
        site.send(
            site.from(), [](std::span<pgas::word const>) {}, std::array<pgas::word, 24>{});
      };
      for (int i = 0; i < 4; ++i) calls.send(1, start_much);
      calls.call(1, start_much).wait();
    }
    team.barrier();
  };
  CHECK(passes(right, one_by_one));
  CHECK(!passes(without_look, one_by_one));
}

}  // namespace
}  // namespace pgas_test
