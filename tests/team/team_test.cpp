// SPDX-License-Identifier: BSL-1.0
// The promises of teams and their collectives, on every model.
// test: addresses, threads in full, each way, unit window
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <new>
#include <pgas/team_along.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "support/ranks.hpp"

using namespace pgas_test;
using pgas::make_window;

namespace {

/// Larger than the payload of one round of the exchange.
struct large {
  std::array<std::int64_t, 37> values{};
  friend bool operator==(large const&, large const&) = default;

  static large of(std::int64_t seed) {
    large l;
    for (std::size_t i = 0; i < l.values.size(); ++i)
      l.values[i] = seed * 1000 + static_cast<std::int64_t>(i);
    return l;
  }
};
large operator+(large a, large const& b) {
  for (std::size_t i = 0; i < a.values.size(); ++i) a.values[i] += b.values[i];
  return a;
}

}  // namespace

TEST_CASE("team: it knows the rank, the size, the nodes of ranks, and the time") {
  everywhere([](auto& team) {
    require(team.rank() >= 0 && team.rank() < team.size(), "a rank's number lies below the size");
    for (rank_t r = 0; r < team.size(); ++r) {
      require_equal(team.world_rank(r), r, "world_rank");
      require((team.locality_of(r) == pgas::locality::self) == (r == team.rank()),
              "locality_of is self for this rank only");
    }
    auto const before = team.now();
    team.charge(100);
    require(team.now() >= before, "now() does not go back");
  });
}

TEST_CASE("collectives: values of every small type travel, bool among them") {
  enum class side : char { left, right };
  struct three {
    char each[3];
  };
  struct nothing {};
  everywhere([](auto& team) {
    bool const is_last = team.rank() == team.size() - 1;
    auto const flags = team.all_gather(is_last);
    auto const sides = team.all_gather(is_last ? side::right : side::left);
    auto const bytes = team.all_gather(static_cast<std::byte>(team.rank()));
    auto const texts = team.all_gather(three{{'a', 'b', is_last ? 'z' : 'c'}});
    for (rank_t r = 0; r < team.size(); ++r) {
      auto const i = static_cast<std::size_t>(r);
      bool const last = r == team.size() - 1;
      require_equal(static_cast<bool>(flags[i]), last, "a bool");
      require(sides[i] == (last ? side::right : side::left), "an enumerator");
      require(bytes[i] == static_cast<std::byte>(r), "a byte");
      require_equal(texts[i].each[2], last ? 'z' : 'c', "three characters");
    }
    require_equal(team.all_gather(nothing{}).size(), static_cast<std::size_t>(team.size()), "empty structs");
    require_equal(team.broadcast(is_last, team.size() - 1), true, "a bool of a root");
    require_equal(team.all_reduce(is_last, pgas::op::bit_or{}), true, "bit_or of bools");
    require_equal(team.all_reduce(is_last, pgas::op::bit_and{}), team.size() == 1, "bit_and of bools");
  });
}

TEST_CASE("team: no rank leaves a barrier before every rank has come") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, 1);
    pgas::lock_all epoch{w};
    random_source rng(static_cast<std::uint64_t>(team.rank()));
    for (int round = 1; round <= 100; ++round) {
      dawdle(rng);
      epoch.accumulate(0, 0, 1);
      epoch.flush(0);
      team.barrier();
      int const seen = epoch.atomic_load(0, 0);
      require(seen >= round * team.size(), "no rank leaves before every rank has come");
      team.barrier();
    }
  });
}

TEST_CASE("team: the lines of a grid are teams, in the order of their places") {
  everywhere([](auto& team) {
    using pgas::grid;
    for (auto const& places : {grid<2>{}.over(team.size()), grid<2>{}.in_nodes_of(2).over(team.size() & ~1),
                               grid{1, std::min(team.size(), 2)}}) {
      if (places.size() == 0) continue;  // one rank cannot have nodes of two
      for (std::size_t d = 0; d < 2; ++d) {
        auto line = pgas::team_along(team, places, d);
        if (!places.has(team.rank())) {
          require_equal(line.size(), rank_t{1}, "ranks of a line without places");
          continue;
        }
        auto at = places.place(team.rank());
        require_equal(line.size(), places.extent(d), "ranks of a line");
        require_equal(line.rank(), at[d], "number in a line");
        auto const members = line.all_gather(team.rank());
        for (at[d] = 0; at[d] < places.extent(d); ++at[d]) {
          require_equal(members[static_cast<std::size_t>(at[d])], places.rank(at), "member of a line");
        }
      }
    }
    std::string const self = "rank " + std::to_string(team.rank());
    require_error(errc::invalid_argument, {self, "team_along", "a grid of 0 x 0", "along dimension 0"},
                  [&] { static_cast<void>(pgas::team_along(team, grid<2>{}, 0)); });
    require_error(errc::invalid_argument, {self, "team_along", "along dimension 1"},
                  [&] { static_cast<void>(pgas::team_along(team, grid{1}, 1)); });
    require_error(errc::invalid_argument, {self, "8 x 1", "a team of " + std::to_string(team.size())}, [&] {
      static_cast<void>(pgas::team_along(team, grid{8, 1}, 1));
    });
  });
}

TEST_CASE("team: a node contains the ranks at node distance or nearer") {
  everywhere([](auto& team) {
    bool const apart = team.locality_of((team.rank() + 1) % team.size()) == pgas::locality::remote;
    require_equal(pgas::ranks_per_node(team), apart ? 1 : team.size(), "ranks of a node");
  });
}

TEST_CASE("collectives: broadcast, all_gather and all_reduce work for small and large values") {
  everywhere([](auto& team) {
    for (int round = 0; round < 5; ++round) {
      for (rank_t root = 0; root < team.size(); ++root) {
        require_equal(team.broadcast(team.rank() * 10 + round, root), root * 10 + round, "an int");
        require(team.broadcast(large::of(team.rank()), root) == large::of(root),
                "every rank gets the root's large value");
        require_equal(team.broadcast(team.rank() == root ? 'y' : 'n', root), 'y', "a char");
      }
      auto const ranks = team.all_gather(team.rank() + round);
      require_equal(ranks.size(), static_cast<std::size_t>(team.size()), "the number of gathered values");
      for (rank_t r = 0; r < team.size(); ++r)
        require_equal(ranks[static_cast<std::size_t>(r)], r + round, "a gathered value");
      auto const all = team.all_gather(large::of(team.rank() + round));
      for (rank_t r = 0; r < team.size(); ++r)
        require(all[static_cast<std::size_t>(r)] == large::of(r + round), "every rank gets all large values");
      int const n = team.size();
      require_equal(team.all_reduce(team.rank() + 1), n * (n + 1) / 2, "sum");
      require_equal(team.all_reduce(team.rank(), pgas::op::max{}), n - 1, "max");
      require_equal(team.all_reduce(team.rank() + 5, pgas::op::min{}), 5, "min");
      require_equal(team.all_reduce(std::uint64_t{1} << team.rank(), pgas::op::bit_or{}),
                    (std::uint64_t{1} << n) - 1, "bit_or");
      require_equal(team.all_reduce(0.5), 0.5 * n, "doubles");
      large sum = large::of(0);
      for (rank_t r = 1; r < n; ++r) sum = sum + large::of(r);
      require(team.all_reduce(large::of(team.rank())) == sum, "all_reduce sums large values");
    }
  });
}

TEST_CASE("collectives: ranks that call different ones fail, and the error names both ranks and both calls") {
  auto const fails = [](std::initializer_list<std::string> pieces, auto const& one, auto const& others) {
    for_each_model([&]<class Model>(Model) {
      for (rank_t ranks : {2, 5}) {
        if (!can_have<typename Model::backend>(ranks)) continue;
        for (rank_t const odd : {rank_t{0}, ranks - 1}) {
          auto const e = error_of<Model>(ranks, [&](auto& team) {
            team.barrier();
            static_cast<void>(team.all_reduce(1));
            team.rank() == odd ? one(team) : others(team);
            team.barrier();
          });
          REQUIRE_MESSAGE(e.has_value(), Model::name(), ": run does not throw");
          std::string const what = e->what();
          CHECK_MESSAGE(e->code() == pgas::make_error_code(errc::mismatch), Model::name(), ": ", what);
          CHECK_MESSAGE(what.find("rank " + std::to_string(odd) + " calls ") != std::string::npos,
                        Model::name(), ": ", what);
          for (auto const& piece : pieces)
            CHECK_MESSAGE(what.find(piece) != std::string::npos, Model::name(), ": ", what);
        }
      }
    });
  };
  auto const split = [](auto& team) { static_cast<void>(team.split(0)); };
  auto const make = [](auto& team) { static_cast<void>(make_window<int>(team, 1)); };
  auto const barrier = [](auto& team) { team.barrier(); };
  auto const reduce = [](auto& team) { static_cast<void>(team.all_reduce(1L)); };
  auto const gather = [](auto& team) { static_cast<void>(team.all_gather(1L)); };
  auto const narrow = [](auto& team) { static_cast<void>(team.all_gather(1)); };
  auto const from = [](rank_t root) {
    return [root](auto& team) { static_cast<void>(team.broadcast(1, root)); };
  };
  fails({"calls make_window", "calls split", "in the same order"}, make, split);
  fails({"calls barrier", "calls make_window"}, barrier, make);
  fails({"calls barrier", "calls broadcast"}, from(0), barrier);
  fails({"calls all_reduce", "calls all_gather"}, reduce, gather);
  fails({"calls all_gather of 4 bytes", "calls all_gather of 8 bytes", "values of one size"}, narrow, gather);
  fails({"calls broadcast of 4 bytes with root 0", "with root 1", "the same root"}, from(1), from(0));
}

TEST_CASE("collectives: a second thread of a rank is refused while the first is in one") {
  for_each_model<std::tuple<thread_model>>([]<class Model>(Model) {
    std::atomic<int> refused = 0;
    std::string what;
    on<Model>(2, [&](auto& team) {
      auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
      if (team.rank() == 1) {  // it keeps rank 0's threads waiting until one of them is refused
        while (refused == 0 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
        require(refused == 1, "one of two threads is refused");
        team.barrier();
        return;
      }
      auto const call = [&] {
        try {
          team.barrier();
        } catch (pgas::error const& e) {
          if (refused++ == 0) what = e.what();
        }
      };
      std::thread other(call);
      call();
      other.join();
    });
    CHECK_MESSAGE(what.starts_with("rank 0: barrier: another thread of this rank is in a collective"), what);
  });
}

TEST_CASE("collectives: a constant handle is enough for each of them") {
  everywhere([](auto const& team) {
    team.barrier();
    team.charge(10);
    require_equal(team.broadcast(3), 3, "broadcast");
    require_equal(team.all_gather(1).size(), static_cast<std::size_t>(team.size()), "all_gather");
    require_equal(team.split(0).size(), team.size(), "split");
    require_equal(team.self().size(), 1, "self");
  });
}

TEST_CASE("all_reduce: it takes an operation of the library, of the standard, or a function of two values") {
  everywhere([](auto const& team) {
    int const n = team.size();
    require_equal(team.all_reduce(team.rank()), n * (n - 1) / 2, "op::sum is the default");
    require_equal(team.all_reduce(team.rank(), std::plus<>{}), n * (n - 1) / 2, "std::plus");
    require_equal(team.all_reduce(std::int16_t{1}, std::multiplies<>{}), std::int16_t{1}, "std::multiplies");
    require_equal(team.all_reduce(team.rank() + 1, [](int a, int b) { return std::max(a, b); }), n,
                  "a lambda");
    require_equal(team.all_reduce(1U << static_cast<unsigned>(team.rank()), std::bit_or<unsigned>{}),
                  (1U << static_cast<unsigned>(n)) - 1, "std::bit_or");
  });
}

TEST_CASE("all_reduce: every rank gets the same bits, folded in rank order") {
  everywhere([](auto& team) {
    double const mine = 0.1 * (team.rank() + 1) + 1e10 * (team.rank() % 2);
    double expected = 0;
    for (rank_t r = 0; r < team.size(); ++r) {
      double const its = 0.1 * (r + 1) + 1e10 * (r % 2);
      expected = r == 0 ? its : expected + its;
    }
    require_equal(team.all_reduce(mine), expected, "bit for bit");
  });
}

TEST_CASE("split: ranks are grouped by color and ordered by key, then by rank") {
  everywhere([](auto& team) {
    int const color = team.rank() % 2;
    auto sub = team.split(color, -team.rank());
    std::vector<rank_t> members;
    for (rank_t r = team.size(); r-- > 0;) {
      if (r % 2 == color) members.push_back(r);
    }
    require_equal(sub.size(), static_cast<rank_t>(members.size()), "size");
    for (rank_t r = 0; r < sub.size(); ++r)
      require_equal(sub.world_rank(r), members[static_cast<std::size_t>(r)], "order");
    require_equal(sub.world_rank(sub.rank()), team.rank(), "this rank");
    require_equal(sub.all_reduce(team.rank(), pgas::op::max{}), members.front(), "its own collectives");
    auto same_keys = team.split(7, 3);
    require_equal(same_keys.rank(), team.rank(), "equal keys keep the order");
    auto alone = team.self();
    require(alone.size() == 1 && alone.rank() == 0 && alone.world_rank(0) == team.rank(),
            "self() is a team of this rank alone");
    alone.barrier();
    require_equal(alone.all_reduce(team.rank()), team.rank(), "a team of one");
  });
}

TEST_CASE("split: a rank without a color gets no team, and the others get theirs") {
  everywhere([](auto& team) {
    for (int round = 0; round < 3; ++round) {
      rank_t const out = round == 0 ? 0 : team.size() - 1;
      bool const stays_out = round == 2 || team.rank() == out;
      auto const sub = stays_out ? team.split(std::nullopt) : team.split(std::optional<int>(7), -team.rank());
      require(sub.has_value() == !stays_out, "a team for each rank with a color");
      if (sub) {
        require_equal(sub->size(), team.size() - 1, "the ranks with a color");
        int const sum = sub->all_reduce(team.rank());
        require_equal(sum, team.size() * (team.size() - 1) / 2 - out, "their numbers");
        auto w = make_window<int>(*sub, 1);
        pgas::fence epoch{w};
        epoch.put((sub->rank() + 1) % sub->size(), 0, 1);
      }
      team.barrier();
    }
  });
}

TEST_CASE("split: windows on sub-teams use the sub-team's numbers and have memory of their own") {
  everywhere([](auto& team) {
    int const color = team.rank() % 2;
    auto sub = team.split(color, -team.rank());
    auto w = make_window<int>(sub, 2);
    auto all = make_window<int>(team, 1);
    rank_t const to = (sub.rank() + 1) % sub.size();
    rank_t const from = (sub.rank() - 1 + sub.size()) % sub.size();
    for (int round = 0; round < 5; ++round) {
      {
        pgas::fence epoch{w};
        epoch.put(to, 0, team.rank() + 100 * round);
      }
      int seen = w.local()[0];
      require_equal(seen, sub.world_rank(from) + 100 * round, "by fence");
      {
        pgas::exposure exposed{w, {from}};
        pgas::access epoch{w, {to}};
        epoch.put(to, 1, team.rank() + 1000 * round);
      }
      seen = w.local()[1];
      require_equal(seen, sub.world_rank(from) + 1000 * round, "by post and start");
      pgas::fence epoch{all};
      epoch.put((team.rank() + 1) % team.size(), 0, team.rank());
    }
  });
}

TEST_CASE("split: teams can be split again and again, one within the other") {
  everywhere([](auto& team) {
    for (int round = 0; round < 5; ++round) {
      auto current = team;
      std::vector<rank_t> world;
      for (rank_t r = 0; r < team.size(); ++r) world.push_back(r);
      while (current.size() > 1) {
        rank_t const half = (current.size() + 1) / 2;
        bool const upper = current.rank() >= half;
        auto next = current.split(upper ? 1 : 0, round % 2 == 0 ? 0 : -current.rank());
        std::vector<rank_t> members(upper ? world.begin() + half : world.begin(),
                                    upper ? world.end() : world.begin() + half);
        if (round % 2 == 1) std::reverse(members.begin(), members.end());
        require_equal(next.size(), static_cast<rank_t>(members.size()), "size");
        for (rank_t r = 0; r < next.size(); ++r) {
          require_equal(next.world_rank(r), members[static_cast<std::size_t>(r)],
                        "the rank's number in the job");
        }
        auto w = make_window<rank_t>(next, 1);
        {
          pgas::fence epoch{w};
          epoch.put((next.rank() + 1) % next.size(), 0, team.rank());
        }
        rank_t const seen = w.local()[0];
        require_equal(seen, next.world_rank((next.rank() - 1 + next.size()) % next.size()),
                      "the value put by the previous rank");
        current = next;
        world = members;
      }
    }
  });
}

TEST_CASE("team: windows and epochs may outlive their team") {
  everywhere([](auto& team) {
    auto w = [&] {
      auto sub = team.split(0, -team.rank());
      return make_window<int>(sub, 1);
    }();
    pgas::fence epoch{w};
    epoch.put((w.rank() + 1) % w.ranks(), 0, w.rank());
    epoch.next();
    require_equal(epoch.get(w.rank(), 0), (w.rank() - 1 + w.ranks()) % w.ranks(),
                  "the value put after the team was destroyed");
  });
}

TEST_CASE("run: it returns rank 0's result, and each rank has its own copy of the body") {
  for_each_model([]<class Model>(Model) {
    for (rank_t n : {1, 3}) {
      if (!can_have<typename Model::backend>(n)) continue;
      CHECK(pgas::run<typename Model::backend>(
                n, [](auto& team) { return team.rank() == 0 ? 42.5 : -1.0; }) == 42.5);
      int counter = 0;
      auto const body = [counter](auto& team) {
        int mine = counter;  // the body is const: its captures cannot be changed
        return team.all_reduce(++mine);
      };
      CHECK(pgas::run<typename Model::backend>(n, body) == n);
      CHECK(counter == 0);
    }
  });
}

TEST_CASE("run: PGAS_RANKS sets the number of ranks if the program does not") {
  ::setenv("PGAS_RANKS", "3", 1);
  CHECK(pgas::run<pgas::backends::process_map>([](auto& team) { return team.size(); }) == 3);
  CHECK(pgas::run<pgas::backends::thread_map>([](auto& team) { return team.size(); }) == 3);
  CHECK(pgas::run<pgas::backends::self>([](auto& team) { return team.size(); }) == 1);
  ::unsetenv("PGAS_RANKS");
}

TEST_CASE("run: a job of backend self ends with the library's error, whatever its rank throws") {
  auto const fails_with = [](auto const& body, std::string const& text) {
    try {
      pgas::run<pgas::backends::self>(1, body);
      FAIL("the exception was lost");
    } catch (pgas::error const& e) {
      CHECK(e.code() == pgas::make_error_code(errc::rank_failed));
      CHECK_MESSAGE(std::string(e.what()).find(text) != std::string::npos, e.what());
    }
  };
  fails_with([](auto&) { throw std::runtime_error("lost interest"); }, "rank 0 threw: lost interest");
  fails_with([](auto&) { throw std::bad_alloc(); }, "rank 0 threw: std::bad_alloc");
  fails_with([](auto&) { throw 42; }, "rank 0 threw something that is no std::exception");  // NOLINT
}
