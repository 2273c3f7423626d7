// SPDX-License-Identifier: BSL-1.0
// Counters of a team: sums, unique numbers, blocks of loops, and what a sum tells of other memory.
// test: addresses, threads, unit containers
#include <algorithm>
#include <pgas/containers/counter.hpp>
#include <pgas/lock_all.hpp>
#include <pgas/window.hpp>
#include <vector>

#include "support/where_cells_are.hpp"

using namespace pgas_test;
using pgas::make_counter;
using pgas::make_striped_counter;

namespace pgas_test::counter_suite {

/// Each rank takes all blocks that it gets, and all ranks together must have each iteration once.
template <class Team, class Blocks>
void take_all(Team& team, std::int64_t total, Blocks blocks, std::int64_t least, std::int64_t most) {
  auto next = make_counter(team, team.size() - 1);
  auto taken = pgas::make_window<std::int32_t>(team, team.rank() == 0 ? total : 0);
  random_source rng(static_cast<std::uint64_t>(team.rank()));
  {
    pgas::lock_all epoch{taken};
    while (auto const block = next.next_block(total, blocks)) {
      require(block->count >= 1 && block->count <= most, "a block has at most its size");
      require(block->count >= least || block->first + block->count == total,
              "only the last block is smaller");
      for (std::int64_t i = block->first; i < block->first + block->count; ++i)
        epoch.accumulate(0, static_cast<std::size_t>(i), 1);
      dawdle(rng);
    }
  }
  team.barrier();
  require(!next.next_block(total, blocks).has_value(), "a finished loop has no block");
  {
    pgas::lock_all epoch{taken};
    for (std::int64_t i = 0; i < total; ++i)
      require_equal(epoch.get(0, static_cast<std::size_t>(i)), 1, "the takers of an iteration");
  }
  next.reset(team);
  if (team.rank() == 0) require_equal(next.next_block(total, blocks)->first, 0, "the first after reset");
  team.barrier();
}

}  // namespace pgas_test::counter_suite
using namespace pgas_test::counter_suite;

TEST_CASE("counter: a sum has all numbers that ranks have added, and negative ones") {
  where_cells_are([](auto& team) {
    auto const rounds = rounds_on(team.state()->backend, 50);
    auto sum = make_counter(team, team.size() - 1);
    require_equal(sum.read(), 0, "a new counter");
    team.barrier();
    for (int i = 0; i < rounds; ++i) sum.add(team.rank() + 2);
    sum.add(-rounds);
    team.barrier();
    std::int64_t expected = 0;
    for (rank_t r = 0; r < team.size(); ++r) expected += rounds * (r + 1);
    require_equal(sum.read(), expected, "the sum");
    sum.reset(team);
    require_equal(sum.read(), 0, "the sum after reset");
    team.barrier();
  });
}

TEST_CASE("counter: fetch_add gives each caller numbers of its own, and leaves no gap") {
  where_cells_are([](auto& team) {
    auto const rounds = rounds_on(team.state()->backend, 40);
    auto ticket = make_counter(team);
    random_source rng(static_cast<std::uint64_t>(team.rank()) + 7);
    std::vector<std::int64_t> mine;
    for (int i = 0; i < rounds; ++i) {
      mine.push_back(ticket.fetch_add());
      dawdle(rng);
    }
    require(std::is_sorted(mine.begin(), mine.end()), "a rank's numbers grow");
    std::vector<std::int64_t> all;
    for (int i = 0; i < rounds; ++i) {
      for (std::int64_t const each : team.all_gather(mine[static_cast<std::size_t>(i)])) all.push_back(each);
    }
    std::sort(all.begin(), all.end());
    for (std::size_t i = 0; i < all.size(); ++i)
      require_equal(all[i], static_cast<std::int64_t>(i), "number i of all");
  });
}

TEST_CASE("counter: each iteration of a loop is in one block of one rank, with fixed and guided blocks") {
  where_cells_are([](auto& team) {
    take_all(team, 60, pgas::fixed_blocks{7}, 7, 7);
    take_all(team, 90, pgas::guided_blocks{3}, 3, std::max<std::int64_t>(3, 90 / (2 * team.size())));
    take_all(team, 1, pgas::guided_blocks{}, 1, 1);
  });
}

TEST_CASE("counter: a striped sum is exact after a barrier, and lies between two sums before it") {
  everywhere([](auto& team) {
    auto const rounds = rounds_on(team.state()->backend, 50);
    auto sum = make_striped_counter(team);
    std::int64_t last = 0;
    for (int i = 0; i < rounds; ++i) {
      sum.add(3);
      std::int64_t const now = sum.read();
      require(now >= last && now >= 3 * (i + 1), "the sum never falls, and has this rank's own numbers");
      require(now <= 3 * std::int64_t{rounds} * team.size(), "the sum has nothing that was not added");
      last = now;
    }
    team.barrier();
    require_equal(sum.read(), 3 * std::int64_t{rounds} * team.size(), "the sum");
    require_equal(sum.own(), 3 * std::int64_t{rounds}, "this rank's number");
    sum.reset(team);
    require_equal(sum.read(), 0, "the sum after reset");
    team.barrier();
  });
}

TEST_CASE("counter: a rank that finds a sum finds what was flushed before it was added") {
  where_cells_are(
      [](auto& team) {
        auto done = make_counter(team);
        auto parts = make_striped_counter(team);
        auto values = pgas::make_window<int>(team, 2);
        pgas::lock_all epoch{values};
        rank_t const next = (team.rank() + 1) % team.size();
        epoch.put(next, 0, team.rank() + 1);
        epoch.flush(next);
        done.add();
        while (done.read() < team.size()) std::this_thread::yield();
        rank_t const before = (team.rank() + team.size() - 1) % team.size();
        require_equal(epoch.get(team.rank(), 0), before + 1, "the value of the rank before");
        epoch.put(next, 1, team.rank() + 2);
        epoch.flush(next);
        parts.add();
        while (parts.read() < team.size()) std::this_thread::yield();
        require_equal(epoch.get(team.rank(), 1), before + 2, "the second value of the rank before");
        epoch.close();
        team.barrier();
      },
      {1, 2, 4});
}

TEST_CASE("counter: ranks that name different homes, or one outside the team, get an error") {
  for_each_model_with_cells([]<class Model>(Model) {
    {
      if (!can_have<typename Model::backend>(2)) return;
      on<Model>(2, [](auto& team) {
        require_error(errc::mismatch, {"make_counter", "as the home rank"},
                      [&] { static_cast<void>(make_counter(team, team.rank())); });
        require_error(errc::out_of_range, {"make_counter", "rank 2", "2 ranks"},
                      [&] { static_cast<void>(make_counter(team, 2)); });
        auto next = make_counter(team);
        require_error(errc::invalid_argument, {"next_block", "a block of 0"},
                      [&] { static_cast<void>(next.next_block(5, pgas::fixed_blocks{0})); });
        team.barrier();
      });
    }
  });
}
