// SPDX-License-Identifier: BSL-1.0
// Channels of messages of words, on every model that has mailboxes or a channel of its own; and channels in a
// mailbox without one of their steps, each of which a program finds.
// test: addresses, threads, each way, unit messages
#include <memory>

#include "conformance/channel.hpp"
#include "conformance/channel_ends.hpp"
#include "mailed_channel_mutants.hpp"

namespace pgas_test {
namespace {

using pgas::word;

/// Runs program(team, channel) on two cores of the emulated chip, on a right or a wrong channel. Returns
/// whether the program ended well.
template <class Mutant, class Program>
bool passes(Program const& program) {
  try {
    pgas::run<pgas::backends::scc>(2, [&program](auto& team) {
      using channel = typename Mutant::template mailed_channel<pgas::backends::scc>;
      auto c = pgas::detail::join_channel<channel>(team);
      program(team, c);
      team.barrier();
    });
    return true;
  } catch (std::exception const&) {
    return false;
  }
}

TEST_CASE("channel: a receiver returns room by itself, or a sender that gets no messages waits for ever") {
  auto const one_way = [](auto& team, auto& c) {
    for (word i = 0; i < 500; ++i) {
      if (team.rank() == 0) {
        channel_suite::tell(c, 1, 0, i);
      } else {
        require_equal(channel_suite::hear(c, 0), i, "the next message");
      }
    }
  };
  CHECK(passes<mailed_channel_mutants::none>(one_way));
  CHECK(!passes<mailed_channel_mutants::no_room>(one_way));
}

TEST_CASE("channel: a message stays behind kept ones of its queue, or it overtakes them") {
  auto const overtakes = [](auto& team, auto& c) {
    using channel = std::remove_reference_t<decltype(c)>;
    constexpr word kept = 20;
    channel_suite::message_of<channel> text{};
    if (team.rank() == 0) {
      bool asked = false;
      c.handle(0, [&](rank_t from, std::span<word const>) {
        asked = true;
        for (text[0] = 0; text[0] < kept; ++text[0]) c.send(from, 1, text);
      });
      while (!asked) c.poll();
      for (int i = 0; i < 1000; ++i) c.poll();  // until the queue is full
      channel_suite::tell(c, 1, 1, kept);       // fits where a long message does not
      c.handle(0, {});
    } else {
      channel_suite::tell(c, 0, 0, 1);
      for (int i = 0; i < 5000; ++i) c.poll();  // for longer
      for (word i = 0; i <= kept; ++i) {
        c.receive(1, text);
        require_equal(text[0], i, "the next message");
      }
    }
  };
  CHECK(passes<mailed_channel_mutants::none>(overtakes));
  CHECK(!passes<mailed_channel_mutants::no_order>(overtakes));
}

TEST_CASE("channel: a rank reminds itself of messages that came while it held handlers, or forgets them") {
  auto const holds = [](auto& team, auto& c) {
    c.handle(0, [&](rank_t from, std::span<word const>) { channel_suite::tell(c, from, 1, 7); });
    if (team.rank() == 1) {
      auto const held = c.hold();
      team.barrier();
      team.barrier();
      while (c.poll() != 0) {}
    } else {
      team.barrier();
      channel_suite::tell(c, 1, 0, 0);
      team.barrier();
      require_equal(channel_suite::hear(c, 1), word{7}, "the answer");
    }
    team.barrier();
    c.handle(0, {});
  };
  CHECK(passes<mailed_channel_mutants::none>(holds));
  CHECK(!passes<mailed_channel_mutants::no_reminder>(holds));
}

TEST_CASE("channel: on the emulated chip, random schedules and hostile caches lose no message") {
  channel_suite::flood_for_a_while<pgas::backends::scc>([](std::uint64_t seed) {
    return std::make_unique<pgas::scc::with_options>(pgas::scc::options{}.disturb(seed));
  });
}

}  // namespace
}  // namespace pgas_test
