// SPDX-License-Identifier: BSL-1.0
// The promises of lock epochs on one part, on every model.
// test: addresses, threads, each way, unit window
#include <array>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <pgas/detail/control/word_rows.hpp>
#include <pgas/global_array.hpp>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/ranks.hpp"

using namespace pgas_test;
using pgas::exclusive;
using pgas::make_window;
using pgas::shared;
using pgas::try_lock;

TEST_CASE("lock: an exclusive holder gets the last holder's puts, and no update is lost") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, 2);
    constexpr int rounds = 15;
    for (int round = 0; round < rounds; ++round) {
      for (rank_t target = 0; target < team.size(); ++target) {
        pgas::lock epoch{w, target, exclusive};
        int const before = epoch.get(target, 0);
        epoch.put(target, 0, before + 1);
        epoch.to().put(1, team.rank());
      }
    }
    team.barrier();
    pgas::lock own{w, team.rank(), shared};
    int const counted = w.local()[0];
    require_equal(counted, rounds * team.size(), "updates");
  });
}

TEST_CASE("lock: the owner stores and loads under a lock of its own, between other ranks' exclusive locks") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, 1);
    constexpr int rounds = 15;
    for (int round = 0; round < rounds; ++round) {
      {
        pgas::lock own{w, team.rank(), exclusive};
        int const before = w.local()[0];
        w.local()[0] = before + 1;
      }
      rank_t const next = (team.rank() + 1) % team.size();
      pgas::lock epoch{w, next, exclusive};
      epoch.put(next, 0, epoch.get(next, 0) + 1);
    }
    team.barrier();
    for (rank_t r = 0; r < team.size(); ++r) {
      pgas::lock epoch{w, r, shared, pgas::read_only};
      require_equal(epoch.get(r, 0), 2 * rounds, "updates by owner and neighbour");
    }
  });
}

TEST_CASE("lock: values stored before a lock of the own part survive it") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, 1);
    for (int round = 1; round < 10; ++round) {
      w.local()[0] = round;
      {
        pgas::lock own{w, team.rank(), shared};
        int const seen = w.local()[0];
        require_equal(seen, round, "the own store");
      }
      team.barrier();
      for (rank_t r = 0; r < team.size(); ++r) {
        pgas::lock epoch{w, r, shared};
        require_equal(epoch.get(r, 0), round, "the value that its owner stored before its lock");
      }
      team.barrier();
    }
  });
}

TEST_CASE("lock: accumulates are exact, in exclusive and shared epochs, by elements and in bulk") {
  everywhere([](auto& team) {
    constexpr std::size_t n = 37;
    auto w = make_window<std::int64_t>(team, n);
    std::vector<std::int64_t> const ones(n, 1);
    constexpr int rounds = 6;
    for (int round = 0; round < rounds; ++round) {
      for (rank_t target = 0; target < team.size(); ++target) {
        if ((round + team.rank()) % 2 == 0) {
          pgas::lock epoch{w, target, exclusive};
          epoch.accumulate(target, 0, ones);
          epoch.accumulate(target, 3, 1);
          std::vector<std::int64_t> before(n);
          epoch.to().get_accumulate(0, ones, before);
          require_equal(before[5], before[6], "the old value");
          std::int64_t expected = epoch.fetch_add(target, 5, 0);
          require(epoch.compare_exchange(target, 5, expected, expected), "alone, nothing changes in between");
          require_equal(epoch.to().atomic_load(5), expected, "the old value");
        } else {
          pgas::lock epoch{w, target, shared};
          epoch.accumulate(target, 0, ones);
          epoch.accumulate(target, 3, 1);
          epoch.accumulate(target, 0, ones);
        }
      }
    }
    team.barrier();
    pgas::lock own{w, team.rank(), exclusive};
    for (std::size_t i = 0; i < n; ++i) {
      std::int64_t const seen = w.local()[i];
      require_equal(seen, std::int64_t{rounds} * team.size() * (i == 3 ? 3 : 2), "sum " + std::to_string(i));
    }
  });
}

TEST_CASE("lock: lock_all excludes exclusive locks part by part, and coexists with shared ones") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, 2);
    for (int round = 0; round < 10; ++round) {
      if ((round + team.rank()) % 2 == 0) {
        pgas::lock_all epoch{w};
        for (rank_t r = 0; r < team.size(); ++r) epoch.accumulate(r, 0, 1);
      } else {
        for (rank_t r = 0; r < team.size(); ++r) {
          pgas::lock epoch{w, r, exclusive};
          epoch.put(r, 0, epoch.get(r, 0) + 1);
        }
      }
    }
    team.barrier();
    pgas::lock own{w, team.rank(), shared};
    int const seen = w.local()[0];
    require_equal(seen, 10 * team.size(), "updates");
  });
}

TEST_CASE("lock: the first exclusive lock on a window waits for each lock_all epoch that is open") {
  everywhere([](auto& team) {
    for (int round = 0; round < 5; ++round) {
      auto w = make_window<int>(team, 1);
      if (team.rank() == 0) {
        pgas::lock_all epoch{w};
        team.barrier();
        team.barrier();  // the others have tried
        for (rank_t r = 0; r < team.size(); ++r) epoch.put(r, 0, epoch.get(r, 0) + 1);
      } else {
        team.barrier();
        require(!try_lock(w, team.rank(), exclusive).has_value(), "lock_all holds the part");
        require(try_lock(w, team.rank(), shared).has_value(), "shared beside lock_all is got");
        team.barrier();
      }
      for (rank_t r = 0; r < team.size(); ++r) {
        pgas::lock epoch{w, r, exclusive};
        epoch.put(r, 0, epoch.get(r, 0) + 1);
      }
      team.barrier();
      pgas::lock_all all{w};
      for (rank_t r = 0; r < team.size(); ++r) require_equal(all.get(r, 0), 1 + team.size(), "updates");
    }
  });
}

TEST_CASE("lock: one rank holds locks on several parts at once") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, 1);
    for (int round = 0; round < 10; ++round) {
      std::vector<pgas::lock<typename decltype(w)::state_type, pgas::lock_kind::exclusive,
                             pgas::hints{.alone = true}>>
          all;
      for (rank_t r = 0; r < team.size(); ++r) all.emplace_back(w, r, exclusive);
      for (auto& epoch : all) epoch.put(epoch.target(), 0, epoch.get(epoch.target(), 0) + 1);
    }
    team.barrier();
    pgas::lock own{w, team.rank(), shared};
    int const seen = w.local()[0];
    require_equal(seen, 10 * team.size(), "updates");
  });
}

TEST_CASE(
    "lock: a deferred lock waits at the first access, on the own part at once, and without an access never") {
  using protocols = pgas::protocols<pgas::default_fence, pgas::sync::match_vector,
                                    pgas::sync::deferred<pgas::sync::queued>>;
  everywhere<std::tuple<model<pgas::backends::process_map, pgas::coherence::coherent, protocols>,
                        model<pgas::backends::scc, pgas::coherence::write_through, protocols>>>(
      [](auto& team) {
        auto w = make_window<int>(team, 1);
        for (int round = 0; round < 5; ++round) {
          if (team.rank() == 0) {
            pgas::lock own{w, 0, exclusive};
            team.barrier();
            team.barrier();  // no rank waited for the lock in between
            w.local()[0] = w.local()[0] + 1;
          } else {
            team.barrier();
            { pgas::lock untouched{w, 0, exclusive}; }
            pgas::lock epoch{w, 0, exclusive};
            team.barrier();
            epoch.put(0, 0, epoch.get(0, 0) + 1);
            epoch.flush(0);  // else the get and the put of one element are in no order
            epoch.put(0, 0, epoch.get(0, 0) + 1);
          }
          team.barrier();
        }
        pgas::lock epoch{w, 0, shared};
        require_equal(epoch.get(0, 0), 5 * (2 * team.size() - 1), "no update is lost");
      },
      {1, 2, 4});
}

TEST_CASE("lock: try_lock returns an epoch, or nothing when it would have to wait") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, 1);
    for (int round = 0; round < 3; ++round) {
      if (team.rank() == 0) {
        auto held = try_lock(w, 0, exclusive);
        require(held.has_value(), "a free lock is got");
        team.barrier();  // all ranks know that the lock is held
        team.barrier();  // all ranks have tried
      } else {
        team.barrier();
        require(!try_lock(w, 0, exclusive).has_value(), "a held lock is not got");
        require(!try_lock(w, 0, shared).has_value(), "not shared either");
        team.barrier();
      }
      team.barrier();
      auto epoch = try_lock(w, 0, shared);
      require(epoch.has_value(), "shared beside shared is got");
      epoch->accumulate(0, 0, 1);
      epoch->unlock();
      team.barrier();
    }
    pgas::lock epoch{w, 0, shared};
    require_equal(epoch.get(0, 0), 3 * team.size(), "each rank's accumulates beside the others'");
  });
}

TEST_CASE(
    "lock: a second lock on a part, another epoch beside it and access to another part are refused with a "
    "sentence") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, 1);
    rank_t const target = team.size() - 1;
    {
      pgas::lock epoch{w, target, shared};
      require_error(errc::wrong_order, {"lock", "has a lock on the part already"}, [&] {
        pgas::lock again{w, target, shared};
      });
      require_error(errc::wrong_order, {"lock_all", "an access epoch of this rank on the window is open"},
                    [&] { pgas::lock_all all{w}; });
      if (team.size() > 1) {
        require_error(errc::wrong_order, {"put", "not on rank 0's"}, [&] { epoch.put(0, 0, 1); });
      }
      epoch.unlock();
      require_error(errc::wrong_order, {"to", "the epoch is closed already"},
                    [&] { static_cast<void>(epoch.to()); });
    }
    require_error(errc::out_of_range, {"lock", std::to_string(team.size())}, [&] {
      pgas::lock epoch{w, team.size(), shared};
    });
    team.barrier();
    pgas::fence epoch{w};
    require_error(errc::wrong_order, {"lock", "an access epoch of this rank on the window is open"}, [&] {
      pgas::lock one{w, 0, shared};
    });
  });
}

TEST_CASE("lock: a rank that waits for a lock learns of its holder's failure") {
  for_each_model<all_models>([]<class Model>(Model) {
    if (!can_have<typename Model::backend>(3)) return;
    auto const e = error_of<Model>(3, [](auto& team) {
      auto w = make_window<int>(team, 1);
      if (team.rank() == 1) {
        pgas::lock held{w, 0, exclusive};
        team.barrier();
        throw std::runtime_error("lost interest");
      }
      team.barrier();
      pgas::lock wanted{w, 0, exclusive};
    });
    REQUIRE_MESSAGE(e.has_value(), Model::name());
    CHECK_MESSAGE(std::string(e->what()).find("rank 1 threw: lost interest") != std::string::npos,
                  Model::name(), ": ", std::string(e->what()));
  });
}

TEST_CASE("lock: hosts that share a pool without read-modify-writes lock by tickets") {
  if (!chosen(pool_backend::name)) return;
  for (rank_t const ranks : {2, 3}) {
    on<pool_model>(ranks, [](auto& world) {
      auto team = world.template with<
          typename std::remove_cvref_t<decltype(world)>::coherence_type,
          pgas::protocols<pgas::sync::dissemination, pgas::sync::stamped, pgas::sync::bakery>>();
      auto w = make_window<int>(team, 1);
      constexpr int rounds = 10;
      for (int round = 0; round < rounds; ++round) {
        for (rank_t target = 0; target < team.size(); ++target) {
          pgas::lock epoch{w, target, exclusive};
          epoch.put(target, 0, epoch.get(target, 0) + 1);
        }
        pgas::lock_all all{w};
        for (rank_t target = 0; target < team.size(); ++target)
          require(all.get(target, 0) > round, "this rank's own update at least");
      }
      team.barrier();
      pgas::lock own{w, team.rank(), shared};
      int const seen = w.local()[0];
      require_equal(seen, rounds * team.size(), "updates");
    });
  }
}

TEST_CASE("lock: ranks that lock two parts crosswise get a deadlock error with both names") {
  if (!chosen(pgas::backends::process_map::name)) return;
  std::apply(
      []<class... Lock>(Lock...) {
        auto const one = []<class L>(L) {
          auto const e = error_of<process_model>(2, [](auto& world) {
            auto team =
                world.template with<pgas::coherence::coherent,
                                    pgas::protocols<pgas::default_fence, pgas::sync::match_vector, L>>();
            auto w = make_window<int>(team, 1);
            pgas::lock own{w, team.rank(), exclusive};
            team.barrier();
            pgas::lock other{w, 1 - team.rank(), exclusive};
          });
          REQUIRE_MESSAGE(e.has_value(), L::name);
          std::string const what = e->what();
          CHECK_MESSAGE(e->code() == pgas::make_error_code(errc::deadlock), L::name, ": ", what);
          CHECK_MESSAGE(what.find("rank 0 waits in lock (window 0) for rank 1") != std::string::npos, L::name,
                        ": ", what);
          CHECK_MESSAGE(what.find("rank 1 waits in lock (window 0) for rank 0") != std::string::npos, L::name,
                        ": ", what);
        };
        (one(Lock{}), ...);
      },
      std::tuple<pgas::default_protocols::lock, pgas::sync::queued, pgas::sync::mcs, pgas::sync::mcs_wp,
                 pgas::sync::bakery, pgas::sync::two_level<>>{});
}

TEST_CASE("lock: no update is lost and no rank waits for ever, in every order with few changes of turns") {
  if (!chosen(pgas::backends::scc::name)) return;
  char const* const budget = std::getenv("PGAS_TEST_SECONDS");
  double const seconds = (budget != nullptr ? std::atof(budget) : 2.0) / 4;
  for (rank_t const ranks : {2, 3}) {
    for (std::size_t const switches : {2U, 3U}) {
      auto const started = std::chrono::steady_clock::now();
      pgas::scc::decisions script;
      script.most_switches = switches;
      pgas::scc::options how;
      how.schedule = pgas::scc::scheduling::script;
      how.script = &script;
      pgas::scc::with_options const emulated(how);
      long runs = 0;
      bool more = true;
      while (more &&
             std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count() < seconds) {
        int counted = 0;
        pgas::run<pgas::backends::scc>(ranks, [&counted](auto& world) {
          auto team = world.template with<pgas::coherence::write_through>();
          auto w = make_window<int>(team, 1);
          if (team.rank() == 2) {
            pgas::lock_all epoch{w};
            epoch.accumulate(0, 0, 1);
          } else {
            pgas::lock epoch{w, 0, exclusive};
            epoch.put(0, 0, epoch.get(0, 0) + 1);
          }
          team.barrier();
          pgas::lock epoch{w, 0, shared};
          if (team.rank() == 0) counted = epoch.get(0, 0);
        });
        REQUIRE(counted == ranks);
        ++runs;
        more = script.next();
      }
      std::cout << "covered: " << runs << (more ? " of the" : ", all") << " orders of " << ranks
                << " cores with up to " << switches << " changes of turns\n";
    }
  }
}

TEST_CASE("lock: cells of the locked part are accessed by their indices, and other owners' are refused") {
  everywhere(
      [](auto& team) {
        auto const a = pgas::make_array<int>(team, {2 * static_cast<std::size_t>(team.size()), 2});
        for (rank_t target = 0; target < team.size(); ++target) {
          std::size_t const row = 2 * static_cast<std::size_t>(target);
          pgas::lock epoch{a, target, exclusive};
          static_assert(pgas::array_epoch<decltype(epoch)> && !pgas::epoch_to_all<decltype(epoch)>);
          std::vector<int> values(4);
          epoch.get({{row, 0}, {2, 2}}, values);
          epoch.flush_local_all();
          for (int& value : values) ++value;
          epoch.put({{row, 0}, {2, 2}}, values);
          epoch.flush_all();
          require_equal(epoch.get({row, 1}), values[1], "a value that flush_all has brought there");
          require_error(errc::wrong_order, {"this lock is on rank " + std::to_string(target)}, [&] {
            return epoch.get({(row + 2) % a.extent(0), 0});
          });
        }
        team.barrier();
        pgas::lock_all epoch{a};
        require_equal(epoch.get({1, 1}), static_cast<int>(team.size()), "the sum of all ranks");
        epoch.close();
        team.barrier();
      },
      {2, 3});
}

TEST_CASE("lock: a kind that is chosen at run time excludes as that kind does") {
  everywhere([](auto& team) {
    using pgas::lock_kind;
    auto w = make_window<int>(team, 2);
    for (int round = 0; round < 10; ++round) {
      lock_kind const kind = round % 2 == 0 ? lock_kind::exclusive : lock_kind::shared;
      for (rank_t target = 0; target < team.size(); ++target) {
        pgas::lock epoch{w, target, kind};
        require_equal(epoch.target(), target, "the locked part");
        if (kind == lock_kind::exclusive) {
          int const before = epoch.get(target, 0);
          epoch.put(target, 0, before + 1);
        }
        epoch.accumulate(target, 1, 1);
      }
    }
    team.barrier();
    {
      pgas::lock own{w, team.rank(), lock_kind::shared, pgas::read_only};
      int const puts = w.local()[0];
      int const sum = w.local()[1];
      require_equal(puts, 5 * team.size(), "puts, one at a time");
      require_equal(sum, 10 * team.size(), "accumulates");
    }
    team.barrier();
    for (lock_kind const held : {lock_kind::shared, lock_kind::exclusive}) {
      if (team.rank() == 0) {
        pgas::lock epoch{w, 0, held};
        team.barrier();
        team.barrier();
      } else {
        team.barrier();
        for (lock_kind const wanted : {lock_kind::shared, lock_kind::exclusive}) {
          if (wanted == lock_kind::exclusive && team.rank() != 1) continue;  // ranks are in each other's way
          auto const opened = try_lock(w, 0, wanted);
          require(!opened || (held == lock_kind::shared && wanted == lock_kind::shared),
                  "only shared locks are held together");
        }
        team.barrier();
      }
      team.barrier();
    }
  });
}

TEST_CASE("lock: locks on several parts end in any order, and other epochs open after the last of them") {
  everywhere([](auto& team) {
    if (team.size() < 3) return;
    auto w = make_window<int>(team, 1);
    auto const on = [&](rank_t target) { return pgas::lock{w, target, shared}; };
    using held = std::unique_ptr<decltype(on(0))>;
    for (rank_t const first : {0, 1, 2}) {
      std::array<held, 3> locks;
      for (rank_t target = 0; target < 3; ++target)
        locks[static_cast<std::size_t>(target)] = held(new auto(on(target)));
      for (rank_t const step : {0, 1, 2}) {
        require_error(pgas::errc::wrong_order, {"lock_all"}, [&] { pgas::lock_all const refused{w}; });
        rank_t const target = (first + step) % 3;
        require_error(pgas::errc::wrong_order, {"lock", "already"}, [&] {
          pgas::lock const refused{w, target, shared};
        });
        locks[static_cast<std::size_t>(target)].reset();
        pgas::lock const again{w, target, shared};
      }
      pgas::lock_all const all{w};
    }
    team.barrier();
  });
}

TEST_CASE("lock: a window stays for its locks, open, closed or moved from, and goes with the last of them") {
  everywhere([](auto& team) {
    rank_t const next = (team.rank() + 1) % team.size();
    auto const uses = team.state().use_count();
    auto const on = [&](rank_t target) {
      auto w = make_window<int>(team, 1);
      {
        pgas::lock const own{w, team.rank(), exclusive};
        w.local()[0] = 7;
      }
      team.barrier();
      return pgas::lock{w, target, shared};
    };
    auto const require_gone = [&] {
      require_equal(team.state().use_count(), uses, "users of the team's state");
      team.barrier();
    };
    {
      auto open = on(next);
      require_equal(open.get(next, 0), 7, "an element of a window that has gone");
    }
    require_gone();
    {
      auto closed = on(next);
      require_equal(closed.get(next, 0), 7, "an element of a window that has gone");
      closed.close();
      require_error(pgas::errc::wrong_order, {"get", "closed already"},
                    [&] { static_cast<void>(closed.get(next, 0)); });
    }
    require_gone();
    {
      auto from = on(next);
      auto const to = std::make_unique<decltype(from)>(std::move(from));
      require_equal(to->get(next, 0), 7, "an element of a window that has gone");
      require_error(pgas::errc::wrong_order, {"get", "moved"}, [&] {
        static_cast<void>(from.get(next, 0));  // NOLINT(bugprone-use-after-move)
      });
    }
    require_gone();
    for (bool const in_order : {true, false}) {
      if (team.size() < 2) break;
      auto locks = [&] {
        auto w = make_window<int>(team, 1);
        auto const lock = [&](rank_t target) { return pgas::lock{w, target, shared}; };
        using held = std::unique_ptr<decltype(lock(0))>;
        return std::array<held, 2>{held(new auto(lock(0))), held(new auto(lock(next == 0 ? 1 : next)))};
      }();
      locks[in_order ? 0 : 1].reset();
      require_equal(locks[in_order ? 1 : 0]->get(locks[in_order ? 1 : 0]->target(), 0), 0, "an element");
      locks = {};
      require_gone();
    }
  });
}

TEST_CASE("lock: the next lock on any window throws an error that a destructor kept, whatever is open") {
  everywhere([](auto& team) {
    auto first = make_window<int>(team, 1);
    auto second = make_window<int>(team, 1);
    rank_t const self = team.rank();
    rank_t const next = (self + 1) % team.size();
    auto const keep = [&] {
      team.state()->deferred->record(std::make_exception_ptr(std::runtime_error("kept")));
    };
    auto const require_thrown_once = [&](auto const& w, rank_t target) {
      bool is_thrown = false;
      try {
        pgas::lock const refused{w, target, shared};
      } catch (std::runtime_error const&) {
        is_thrown = true;
      }
      require(is_thrown, "the lock throws the kept error");
      pgas::lock const opened{w, target, shared};
    };
    for (auto const* const w : {&first, &second}) {
      keep();
      require_thrown_once(*w, next);
      pgas::lock const opened{*w, self, shared};
      keep();
      require_thrown_once(w == &first ? second : first, next);
      if (next == self) continue;
      keep();
      require_thrown_once(*w, next);
    }
    {
      std::optional<decltype(pgas::lock{first, self, shared})> ends;
      ends.emplace(first, self, shared);
      keep();
      ends.reset();
      require_thrown_once(first, self);
    }
    {
      std::optional<decltype(pgas::lock_all{first})> ends;
      ends.emplace(first);
      keep();
      ends.reset();
      require_thrown_once(first, self);
      pgas::lock_all const all{first};
      keep();
      require_thrown_once(second, self);
      require_error(pgas::errc::wrong_order, {"lock"}, [&] {
        pgas::lock const refused{first, self, shared};
      });
    }
    team.barrier();
    auto const uses = team.state().use_count();
    {
      auto const outlives = [&] {
        auto w = make_window<int>(team, 1);
        auto opened = std::make_unique<decltype(pgas::lock{w, self, shared})>(w, self, shared);
        keep();
        return opened;
      }();
      require_thrown_once(second, self);
      require_equal(outlives->get(self, 0), 0, "an element of a window that has gone");
    }
    require_equal(team.state().use_count(), uses, "users of the team's state");
    team.barrier();
  });
}

TEST_CASE("open accesses: a window knows which parts are locked, and which epochs stand in a lock's way") {
  pgas::detail::open_epochs open(3);
  auto const parts = [&] {
    std::vector<rank_t> locked;
    open.for_each_lock([&](rank_t part) { locked.push_back(part); });
    return locked;
  };
  for (int round = 0; round < 2; ++round) {
    CHECK((!open.any() && open.may_lock(1)));
    open.begin_lock(1);
    CHECK((open.any() && open.has_lock(1) && !open.may_lock(1) && open.may_lock(2)));
    open.begin_lock(2);
    open.end_lock(1);
    CHECK((open.any() && open.may_lock(1) && parts() == std::vector<rank_t>{2}));
    open.end_lock(2);
    CHECK((!open.any() && parts().empty()));
    open.begin_lock_all();
    CHECK((open.any() && open.is_lock_all() && !open.may_lock(0)));
    open = true;
    CHECK((open.any() && !open.is_lock_all() && !open.may_lock(0)));
    open = false;
  }
}

TEST_CASE("lock: a destructor that an exception calls may lock a part") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, 1);
    w.local()[0] = 0;
    team.barrier();
    struct adds_at_its_end {
      decltype(w)& to;
      ~adds_at_its_end() {
        pgas::lock epoch{to, 0, exclusive};
        epoch.put(0, 0, epoch.get(0, 0) + 1);
      }
    };
    if (team.rank() == 0) {
      try {
        adds_at_its_end const adds{w};
        throw 1;
      } catch (int) {
        pgas::lock epoch{w, 0, exclusive};
        epoch.put(0, 0, epoch.get(0, 0) + 1);
      }
    }
    team.barrier();
    pgas::lock epoch{w, 0, shared};
    require_equal(epoch.get(0, 0), 2, "additions");
  });
}

TEST_CASE("process_map: a lock may end in a thread in which no epoch has begun") {
  pgas::run<pgas::backends::process_map>(2, [](auto& team) {
    auto w = make_window<int>(team, 1);
    for (int round = 0; round < 10; ++round) {
      pgas::lock epoch{w, 0, exclusive};
      epoch.put(0, 0, epoch.get(0, 0) + 1);
      std::thread([ended = std::move(epoch)]() mutable { auto const here = std::move(ended); }).join();
    }
    team.barrier();
    pgas::lock epoch{w, 0, shared};
    require_equal(epoch.get(0, 0), 20, "additions");
  });
}

TEST_CASE("process_map: the words of a protocol are those of its control") {
  pgas::run<pgas::backends::process_map>(3, [](auto& team) {
    auto w = make_window<int>(team, 1);
    auto& control = w.state().control;
    using control_type = std::remove_reference_t<decltype(control)>;
    static_assert(pgas::detail::control_in_rows<control_type>);
    for (std::size_t const first : {std::size_t{0}, std::size_t{2}}) {
      pgas::detail::word_rows<control_type> const rows(control, {.slots = first, .cells = first});
      for (rank_t owner = 0; owner < 3; ++owner) {
        for (std::size_t i = 0; i < 3; ++i) {
          require(rows.slot(owner, i, owner).address() == control.slot(owner, first + i, owner).address(),
                  "slot");
          require(rows.cell(owner, i).address() == control.cell(owner, first + i).address(), "cell");
        }
      }
    }
  });
}
