// SPDX-License-Identifier: BSL-1.0
// Tasks that ranks steal from each other: each runs once, and the end comes when no task is anywhere.
// test: addresses, threads, unit containers
#include <array>
#include <cstring>
#include <iostream>
#include <numeric>
#include <pgas/containers/counter.hpp>
#include <pgas/containers/work_stealing_queue.hpp>
#include <pgas/lock_all.hpp>
#include <vector>

#include "support/where_cells_are.hpp"

using namespace pgas_test;
using pgas::make_work_stealing_queue;

namespace pgas_test::stealing_suite {

/// A task of 100 bytes: a number of a binary tree, whose node n has the children 2 n and 2 n + 1.
struct node_task {
  std::int32_t number = 0;
  std::array<std::int32_t, 24> filler{};

  static node_task of(std::int32_t number) {
    node_task t{number, {}};
    std::iota(t.filler.begin(), t.filler.end(), number * 17);
    return t;
  }
  friend bool operator==(node_task const&, node_task const&) = default;
};
static_assert(sizeof(node_task) == 100);

/// All ranks run the tree below `roots` up to node `end`, and note in `runs` at rank 0 how often each node
/// ran.
template <class Team, class Queue, class Epoch>
long run_tree(Team& team, Queue& queue, Epoch& runs, std::int32_t end, std::uint64_t seed) {
  random_source rng(seed * 64 + static_cast<std::uint64_t>(team.rank()));
  long mine = 0;
  while (auto const task = queue.next()) {
    require(*task == node_task::of(task->number), "a task is whole");
    runs.accumulate(0, static_cast<std::size_t>(task->number), 1);
    ++mine;
    for (std::int32_t child = 2 * task->number; child <= 2 * task->number + 1 && child < end; ++child)
      queue.push(node_task::of(child));
    if (rng.one_in(5)) queue.offer();
    dawdle(rng);
  }
  // The end is never early: all runs of all ranks are there, without a barrier.
  for (std::int32_t n = 1; n < end; ++n)
    require_equal(runs.atomic_load(0, static_cast<std::size_t>(n)), 1, "the runs of a task");
  require(queue.all_done() && queue.size() == 0, "no task is left");
  return mine;
}

}  // namespace pgas_test::stealing_suite
using namespace pgas_test::stealing_suite;

TEST_CASE("work_stealing: every task of a tree runs once, and no rank ends before all have run") {
  where_cells_are([seed = next_seed()](auto& team) {
    std::int32_t const end = rounds_on(team.state()->backend, 200);
    for (std::size_t const cells : {1U, 4U, 256U}) {
      auto queue = make_work_stealing_queue<node_task>(team, cells);
      auto counts = pgas::make_window<std::int32_t>(team, team.rank() == 0 ? end : 0);
      pgas::lock_all runs{counts};
      if (team.rank() == team.size() - 1) queue.push(node_task::of(1));
      long const mine = run_tree(team, queue, runs, end, seed);
      require_equal(team.all_reduce(mine), long{end} - 1, "the tasks that ran");
      runs.close();
      team.barrier();
    }
  });
}

TEST_CASE("work_stealing: ranks without tasks steal from one that has many, and the end comes again") {
  where_cells_are(
      [](auto& team) {
        auto queue = make_work_stealing_queue<int>(team, 16);
        auto const many = rounds_on(team.state()->backend, 400);
        for (int phase = 0; phase < 3; ++phase) {
          require(!queue.all_done(), "the phase has not ended");
          if (team.rank() == phase % team.size()) {
            std::vector<int> tasks(static_cast<std::size_t>(many));
            std::iota(tasks.begin(), tasks.end(), 1);
            queue.push(std::span<int const>(tasks));
          }
          long sum = 0;
          while (auto const task = queue.next()) {
            sum += *task;
            std::this_thread::yield();
          }
          require(!queue.next().has_value(), "the end stays");
          require_equal(team.all_reduce(sum), long{many} * (many + 1) / 2, "the sum of all tasks");
          queue.restart(team);
        }
        auto const stolen = team.all_reduce(queue.stolen());
        require(stolen <= 3U * static_cast<std::uint64_t>(many) * 4U, "tasks are stolen by need");
        if (team.rank() == 0 && team.size() > 1)
          std::cout << "covered: " << stolen << " of " << 3 * many << " tasks of " << team.size()
                    << " ranks were stolen\n";
      },
      {1, 2, 4});
}

TEST_CASE("work_stealing: a rank runs its newest task first") {
  where_cells_are(
      [](auto& team) {
        auto queue = make_work_stealing_queue<int>(team, 2);
        for (int i = 0; i < 20; ++i) queue.push(i);
        require_equal(*queue.next(), 19, "the newest task");
        queue.push(30);
        queue.push(31);
        require_equal(*queue.next(), 31, "the newest task");
        require_equal(*queue.next(), 30, "the task before");
        int sum = 0;
        int tasks = 0;
        while (auto const task = queue.next()) sum += *task, ++tasks;
        require(sum == 19 * 18 / 2 && tasks == 19, "the others, in whatever order");
      },
      {1});
}

TEST_CASE("work_stealing: a rank that finds the end finds what all ranks have flushed") {
  where_cells_are(
      [](auto& team) {
        auto queue = make_work_stealing_queue<int>(team);
        auto values = pgas::make_window<int>(team, static_cast<std::size_t>(team.size()));
        pgas::lock_all epoch{values};
        for (int i = 0; i < 3; ++i) queue.push(i);
        for (rank_t r = 0; r < team.size(); ++r) {
          epoch.put(r, static_cast<std::size_t>(team.rank()), team.rank() + 1);
          epoch.flush(r);
        }
        while (queue.next()) {}
        for (rank_t r = 0; r < team.size(); ++r)
          require_equal(epoch.get(team.rank(), static_cast<std::size_t>(r)), r + 1, "the value of a rank");
        epoch.close();
        team.barrier();
      },
      {1, 2, 3});
}

TEST_CASE("work_stealing: wrong calls get an error that says what to do") {
  for_each_model_with_cells([]<class Model>(Model) {
    if (!can_have<typename Model::backend>(2)) return;
    on<Model>(2, [](auto& team) {
      require_error(errc::invalid_argument, {"make_work_stealing_queue", "0 tasks at a time"},
                    [&] { static_cast<void>(make_work_stealing_queue<int>(team, 0)); });
      require_error(errc::mismatch, {"make_work_stealing_queue", "as the number of cells"}, [&] {
        static_cast<void>(make_work_stealing_queue<int>(team, static_cast<std::size_t>(team.rank()) + 1));
      });
      auto queue = make_work_stealing_queue<int>(team);
      require_error(errc::wrong_order, {"restart", "call next"}, [&] { queue.restart(team); });
      require(!queue.next().has_value(), "there is no task");
      require_error(errc::wrong_order, {"push", "call restart"}, [&] { queue.push(1); });
      team.barrier();
    });
  });
}
