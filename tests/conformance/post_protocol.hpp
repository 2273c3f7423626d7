// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../support/post_rounds.hpp"
#include "fence_protocol.hpp"

/// The promises of every post protocol, checked on every backend whose control words can carry it.
namespace pgas_test {

TEST_CASE("post: start returns after the post and wait after the complete, among all ranks") {
  with_protocols<post_protocols>([]<class Protocol, class Backend>(Protocol, Backend& b, auto& boot) {
    post_fixture<Protocol, Backend> f(b, boot, "p");
    random_source rng(static_cast<std::uint64_t>(b.rank()) + 5);
    auto const n = static_cast<std::size_t>(b.size());
    std::vector<std::vector<bool>> const all(n, std::vector<bool>(n, true));  // a rank is its own origin too
    for (pgas::word round = 1; round <= rounds_on(b, pgas::word{100}); ++round)
      play_round(f, b, all, round, rng, false);
  });
}

TEST_CASE("post: groups may change from round to round, be empty, and overtake each other") {
  with_protocols<post_protocols>([]<class Protocol, class Backend>(Protocol, Backend& b, auto& boot) {
    post_fixture<Protocol, Backend> f(b, boot, "g");
    random_source rng(static_cast<std::uint64_t>(b.rank()) + 50);
    random_source shared(99);
    for (pgas::word round = 1; round <= rounds_on(b, pgas::word{150}); ++round) {
      auto const graph = random_graph(shared, b.size());
      play_round(f, b, graph, round, rng, false);
    }
  });
}

TEST_CASE("post: test acts as a wait that does not block") {
  with_protocols<post_protocols>([]<class Protocol, class Backend>(Protocol, Backend& b, auto& boot) {
    post_fixture<Protocol, Backend> f(b, boot, "t");
    random_source rng(static_cast<std::uint64_t>(b.rank()) + 500);
    random_source shared(77);
    for (pgas::word round = 1; round <= rounds_on(b, pgas::word{150}); ++round) {
      auto const graph = random_graph(shared, b.size());
      play_round(f, b, graph, round, rng, round % 2 == 0);
    }
    // test must not return true early.
    pgas::no_boundary nothing;
    rank_t const last = b.size() - 1;
    if (b.size() > 1) {
      if (b.rank() == 0) {
        f.protocol.post(pgas::group(&last, 1), nothing);
        require(!f.protocol.test(pgas::group(&last, 1), nothing), "the origin has not completed");
        boot.fence();
        f.protocol.wait(pgas::group(&last, 1), nothing);
      } else {
        boot.fence();
      }
      rank_t const zero = 0;
      if (b.rank() == last) {
        f.protocol.start(pgas::group(&zero, 1), nothing, pgas::exposure_state::awaited);
        f.protocol.complete(pgas::group(&zero, 1), nothing, pgas::exposure_state::awaited);
      }
    }
    boot.fence();
  });
}

TEST_CASE("post: a rank's epochs on two windows may overlap in any way") {
  with_protocols<post_protocols>([]<class Protocol, class Backend>(Protocol, Backend& b, auto& boot) {
    post_fixture<Protocol, Backend> one(b, boot, "one");
    post_fixture<Protocol, Backend> two(b, boot, "two");
    pgas::no_boundary nothing;
    rank_t const self = b.rank();
    rank_t const next = (self + 1) % b.size();
    rank_t const previous = (self - 1 + b.size()) % b.size();
    pgas::group const to(&next, 1);
    pgas::group const from(&previous, 1);
    for (pgas::word round = 1; round <= rounds_on(b, pgas::word{100}); ++round) {
      two.protocol.post(from, nothing);
      one.protocol.post(from, nothing);
      one.protocol.start(to, nothing, pgas::exposure_state::awaited);
      one.protocol.trigger(next, nothing, pgas::exposure_state::awaited);
      two.protocol.start(to, nothing, pgas::exposure_state::awaited);
      two.protocol.trigger(next, nothing, pgas::exposure_state::awaited);
      one.write(next, self, round);
      two.write(next, self, round * 2);
      one.protocol.complete(to, nothing, pgas::exposure_state::awaited);
      one.protocol.wait(from, nothing);
      require_equal(one.read(self, previous), round, "the first window");
      two.protocol.complete(to, nothing, pgas::exposure_state::awaited);
      two.protocol.wait(from, nothing);
      require_equal(two.read(self, previous), round * 2, "the second window");
    }
  });
}

TEST_CASE("post: the epochs of two windows, side by side in one control, do not interfere") {
  with_two_windows<post_protocols>("side ", [](auto, auto& one, auto& two, auto& b, auto& boot) {
    pgas::no_boundary nothing;
    rank_t const next = (b.rank() + 1) % b.size();
    rank_t const previous = (b.rank() - 1 + b.size()) % b.size();
    pgas::group const to(&next, 1);
    pgas::group const from(&previous, 1);
    for (int round = 0; round < rounds_on(b, 50); ++round) {
      one.post(from, nothing);
      if (round % 3 == 0) two.post(to, nothing);  // the other way round
      one.start(to, nothing, pgas::exposure_state::awaited);
      one.complete(to, nothing, pgas::exposure_state::awaited);
      require(round % 3 != 0 || b.size() <= 2 || !two.test(to, nothing),
              "an epoch on one window is no epoch on the other");
      one.wait(from, nothing);
      boot.fence();
      if (round % 3 != 0) continue;
      two.start(from, nothing, pgas::exposure_state::awaited);
      two.complete(from, nothing, pgas::exposure_state::awaited);
      two.wait(to, nothing);
    }
  });
}

TEST_CASE("post: it works with more than 64 ranks") {
  with_protocols<post_protocols>(
      []<class Protocol, class Backend>(Protocol, Backend& b, auto& boot) {
        post_fixture<Protocol, Backend> f(b, boot, "m");
        random_source rng(static_cast<std::uint64_t>(b.rank()));
        random_source shared(3);
        for (pgas::word round = 1; round <= rounds_on(b, pgas::word{5}); ++round)
          play_round(f, b, random_graph(shared, b.size()), round, rng, false);
      },
      {67});
}

}  // namespace pgas_test
