// SPDX-License-Identifier: BSL-1.0
// The promises of signals: puts that tell the target when they have arrived, on every model.
// test: addresses, threads, each way, unit window
#include <pgas/global_array.hpp>
#include <pgas/signals.hpp>

#include <array>
#include <chrono>
#include <numeric>
#include <vector>

#include "support/ranks.hpp"

using namespace pgas_test;
using pgas::make_signals;
using pgas::make_window;
using pgas::signal_from;

namespace {

rank_t right_of(rank_t self, rank_t n) { return (self + 1) % n; }
rank_t left_of(rank_t self, rank_t n) { return (self + n - 1) % n; }

}  // namespace

TEST_CASE("signals: a rank that has waited sees the earlier puts, and the origin puts again when told so") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, 40);
    auto arrived = make_signals(w, 2);
    rank_t const right = right_of(team.rank(), team.size());
    rank_t const left = left_of(team.rank(), team.size());
    pgas::lock_all epoch{w};
    for (int round = 1; round <= 20; ++round) {
      std::vector<int> values(30);
      std::iota(values.begin(), values.end(), 1000 * team.rank() + round);
      arrived.put(epoch, right, 7, values);
      arrived.put(epoch, right, 0, -round);
      arrived.wait({left}, 2);
      for (std::size_t i = 0; i < values.size(); ++i) {
        int const seen = w.local()[7 + i];
        require_equal(seen, 1000 * left + round + static_cast<int>(i), "an element of a block");
      }
      int const first = w.local()[0];
      require_equal(first, -round, "a single element");
      arrived.signal(epoch, left, 1);
      arrived.wait({right, 1});
    }
    require_equal(arrived.pending({left}), 0U, "signals that no rank sent");
  });
}

TEST_CASE("signals: a rank that has waited gets the other rank's stores to its own part") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, 3);
    auto ready = make_signals(w);
    rank_t const right = right_of(team.rank(), team.size());
    rank_t const left = left_of(team.rank(), team.size());
    pgas::lock_all epoch{w};
    for (int round = 1; round <= 20; ++round) {
      w.local()[1] = 100 * team.rank() + round;
      ready.signal(epoch, left);
      ready.wait({right});
      require_equal(epoch.get(right, 1), 100 * right + round, "a neighbour's own element");
      ready.signal(epoch, right);  // the other rank may store again
      ready.wait({left});
    }
  });
}

TEST_CASE("signals: signals of an array go with epochs on the array and on its window") {
  everywhere([](auto& team) {
    auto const ranks = static_cast<std::size_t>(team.size());
    auto const a = pgas::make_array<int>(team, 2 * ranks);
    auto arrived = make_signals(a);
    rank_t const right = right_of(team.rank(), team.size());
    rank_t const left = left_of(team.rank(), team.size());
    {
      pgas::lock_all epoch{a};
      epoch.put({2 * static_cast<std::size_t>(right)}, team.rank());
      arrived.signal(epoch, right);
      arrived.wait({left});
      int const seen = a.local()[0];
      require_equal(seen, left, "the left neighbour's put by index");
    }
    team.barrier();
    pgas::lock_all epoch{a.window()};
    arrived.put(epoch, right, 1, team.rank() + 100);
    arrived.wait({left});
    int const seen = a.local()[1];
    require_equal(seen, left + 100, "the left neighbour's put by rank");
    epoch.close();
    require_error(errc::wrong_order, {"signal", "closed"}, [&] { arrived.signal(epoch, right); });
  });
}

TEST_CASE("signals: none is lost, each is taken once, and tags are independent") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, 1);
    auto s = make_signals(w, 3);
    rank_t const to = right_of(team.rank(), team.size());
    rank_t const from = left_of(team.rank(), team.size());
    {
      pgas::lock_all epoch{w};
      for (int i = 0; i < 100; ++i) s.signal(epoch, to, 1);
      for (int i = 0; i < 5; ++i) s.signal(epoch, to, 2);
    }
    team.barrier();  // all signals have come
    s.wait({from, 1}, 60);
    s.wait({from, 1}, 39);
    require_equal(s.pending({from, 1}), 1U, "the rest of the first signals");
    require(s.test({from, 1}), "the last signal has come");
    require(!s.test({from, 1}), "no further signal has come");
    s.wait({from, 2}, 4);
    require(!s.test({from, 2}, 2), "a test for two signals fails if one has come");
    require(s.test({from, 2}), "the failed test took no signal");
    require_equal(s.pending({from, 0}), 0U, "no rank sent the first tag");
  });
}

TEST_CASE("signals: a rank waits for any, some or all of several") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, static_cast<std::size_t>(team.size()));
    auto s = make_signals(w, 2);
    std::vector<signal_from> all;
    for (rank_t r = 0; r < team.size(); ++r) all.push_back({r, 1});
    pgas::lock_all epoch{w};
    auto const tell_all = [&](int value) {
      for (rank_t r = 0; r < team.size(); ++r)
        s.put(epoch, r, static_cast<std::size_t>(team.rank()), value + team.rank(), 1);
    };
    auto const require_put = [&](std::size_t which, int value) {
      int const seen = w.local()[which];
      require_equal(seen, value + static_cast<int>(which), "the value sent with the signal");
    };
    auto const next = [&] {  // no rank puts again before all have read
      for (rank_t r = 0; r < team.size(); ++r) s.signal(epoch, r, 0);
      for (rank_t r = 0; r < team.size(); ++r) s.wait({r, 0});
    };
    for (int round = 0; round < 5; ++round) {
      tell_all(round);
      std::vector<int> came(all.size());
      for (std::size_t k = 0; k < all.size(); ++k) {
        std::size_t const which = s.wait_any(all);
        ++came[which];
        require_put(which, round);
      }
      require(came == std::vector<int>(all.size(), 1), "each signal comes once");
      next();

      tell_all(round + 100);
      std::size_t k = 0;
      while (k < all.size()) {
        auto const some = s.wait_some(all);
        require(!some.empty(), "wait_some returns at least one signal");
        for (std::size_t which : some) require_put(which, round + 100);
        k += some.size();
      }
      require_equal(k, all.size(), "the number of signals taken by wait_some");
      next();

      tell_all(round + 200);
      s.wait_all(all);
      for (std::size_t which = 0; which < all.size(); ++which) require_put(which, round + 200);
      next();
    }
  });
}

TEST_CASE("signals: handlers run in progress, once for each signal, and may send signals") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, 1);
    auto s = make_signals(w, 2);
    rank_t const to = right_of(team.rank(), team.size());
    rank_t const from = left_of(team.rank(), team.size());
    pgas::lock_all epoch{w};
    int answered = 0;
    s.on_signal({from, 0}, [&] {
      ++answered;
      s.signal(epoch, from, 1);
    });
    for (int i = 0; i < 7; ++i) s.signal(epoch, to, 0);
    std::size_t calls = 0;
    s.wait({from, 0});  // already taken, so no handler runs for it
    while (calls < 6) calls += s.progress();
    require_equal(answered, 6, "answers");
    s.wait({to, 1}, 6);
    require_equal(s.progress(), 0U, "further handler calls");
  });
}

TEST_CASE(
    "signals: a wait takes no signal that its mask skips, and a mask of those that came takes each once") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, 1);
    auto s = make_signals(w, 5);
    rank_t const right = right_of(team.rank(), team.size());
    rank_t const left = left_of(team.rank(), team.size());
    pgas::lock_all epoch{w};
    std::vector<signal_from> all;
    for (std::size_t tag = 0; tag < 4; ++tag) all.push_back({left, tag});
    for (int round = 0; round < 5; ++round) {
      for (std::size_t const tag : {2U, 0U, 3U, 1U}) s.signal(epoch, right, tag);
      std::vector<bool> came(all.size());
      std::array<bool, 4> const even{true, false, true, false};
      came[s.wait_any(all, even)] = true;
      require(came[1] || came[3], "a signal that the mask does not skip");
      for (std::size_t const i : s.wait_some(all, came)) {
        require(!came[i], "a signal came once");
        came[i] = true;
      }
      s.wait_all(all, came);
      s.wait_all(all, std::vector<bool>(all.size(), true));
      for (signal_from const& from : all) require_equal(s.pending(from), 0U, "signals left");
      require_error(errc::invalid_argument, {"no signal is named"},
                    [&] { static_cast<void>(s.wait_any(all, std::vector<bool>(all.size(), true))); });
      require_error(errc::invalid_argument, {"the mask has 2 entries for a list of 4"},
                    [&] { static_cast<void>(s.wait_some(all, std::array<bool, 2>{})); });
      s.signal(epoch, left, 4);  // the next round's signals may come
      s.wait({right, 4});
    }
  });
}

TEST_CASE("signals: a deadline ends a wait and takes no signal") {
  everywhere<std::tuple<process_model, loopback_model, scc_model>>(
      [](auto& team) {
        auto w = make_window<int>(team, 1);
        auto s = make_signals(w);
        rank_t const from = left_of(team.rank(), team.size());
        auto const soon = [] { return std::chrono::steady_clock::now() + std::chrono::milliseconds(20); };
        std::array const only{signal_from{from}};
        {
          pgas::lock_all epoch{w};
          s.signal(epoch, right_of(team.rank(), team.size()));
        }
        if (team.rank() == 0) {
          require_error(errc::timed_out, {"wait for a signal"}, [&] { s.wait({from}, 2, soon()); });
          s.wait({from});
          require_error(errc::timed_out, {"wait for a signal"},
                        [&] { static_cast<void>(s.wait_any(only, soon())); });
        } else {
          s.wait({from});
        }
        team.barrier();
      },
      {2, 3});
}

TEST_CASE("signals: wrong tags, ranks, epochs and empty lists are errors that name the mistake") {
  everywhere<std::tuple<process_model, scc_model>>(
      [](auto& team) {
        auto w = make_window<int>(team, 1);
        auto other = make_window<int>(team, 1);
        auto s = make_signals(w, 2);
        {
          pgas::lock_all epoch{w};
          pgas::lock_all foreign{other};
          require_error(errc::out_of_range, {"signal", "tag 2 of 2"}, [&] { s.signal(epoch, 0, 2); });
          require_error(errc::out_of_range, {"rank"}, [&] { s.signal(epoch, team.size()); });
          require_error(errc::out_of_range, {"wait", "tag 9 of 2"}, [&] { s.wait({0, 9}); });
          require_error(errc::out_of_range, {"rank"}, [&] { static_cast<void>(s.test({-1})); });
          require_error(errc::invalid_argument, {"another window"}, [&] { s.signal(foreign, 0); });
          require_error(errc::invalid_argument, {"no signal is named"},
                        [&] { static_cast<void>(s.wait_any(std::span<signal_from const>{})); });
        }
        require_error(errc::invalid_argument, {"0 tags"}, [&] { static_cast<void>(make_signals(w, 0)); });
        require_error(errc::invalid_argument, {"can be 1 to"},
                      [&] { static_cast<void>(make_signals(w, std::size_t{1} << 25U)); });
        if (team.size() > 1) {
          require_error(errc::mismatch, {"all must ask for the same"}, [&] {
            static_cast<void>(make_signals(w, 1 + static_cast<std::size_t>(team.rank())));
          });
        }
        team.barrier();
      },
      {1, 3});
}
