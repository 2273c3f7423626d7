// SPDX-License-Identifier: BSL-1.0
// Calls of functions at other ranks, on every model that has mailboxes; and calls without one step of their
// messages, each of which a program finds.
// test: addresses, threads, each way, unit messages
#include <pgas/async/calls.hpp>
#include <pgas/pgas.hpp>

#include <array>
#include <exception>
#include <span>

#include "support/ranks.hpp"

namespace pgas_test {
using calls_models = all_models;
}

#include "conformance/calls.hpp"

namespace pgas_test {
namespace {

/// Runs program(state) on two cores of the emulated chip, on calls whose messages have these steps. Returns
/// whether the program ended well.
template <pgas::detail::call_post_steps Steps, class Program>
bool passes(Program const& program, pgas::call_options const& options) {
  try {
    pgas::run<pgas::backends::scc>(2, [&](auto& team) {
      auto calls = pgas::make_calls<Steps>(team, options);
      program(team, calls);
      calls.finish();
    });
    return true;
  } catch (std::exception const&) {
    return false;
  }
}
constexpr pgas::call_options small{.message_bytes = 8 * kib};

TEST_CASE("calls: a receiver returns room by itself, or a caller that gets no answers waits for ever") {
  auto const one_way = [](auto& team, auto& calls) {
    for (int i = 0; i < 500 && team.rank() == 0; ++i)
      calls.send(
          1, [](int) {}, i);
  };
  CHECK(passes<pgas::detail::call_post_steps{}>(one_way, small));
  CHECK(!passes<pgas::detail::call_post_steps{.returns_room = false}>(one_way, small));
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
  CHECK(passes<pgas::detail::call_post_steps{}>(one_by_one, small));
  CHECK(!passes<pgas::detail::call_post_steps{.looks_again = false}>(one_by_one, small));
}

}  // namespace
}  // namespace pgas_test
