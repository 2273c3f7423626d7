// SPDX-License-Identifier: BSL-1.0
// The promises of tasks and of the scheduler of a rank, on every model.
// test: addresses, threads, each way, unit async
#include <pgas/async/cancel_after.hpp>
#include <pgas/async/in_flight.hpp>
#include <pgas/async/requests.hpp>
#include <pgas/async/scheduler.hpp>
#include <pgas/async/when_all.hpp>
#include <pgas/async/when_any.hpp>
#include <pgas/exchange_halo.hpp>
#include <pgas/global_array.hpp>
#include <pgas/signals.hpp>

#include <array>
#include <chrono>
#include <memory>
#include <numeric>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "support/neighbours.hpp"
#include "support/ranks.hpp"
#include "support/watch.hpp"

using namespace pgas_test;
using namespace std::chrono_literals;
using pgas::make_signals;
using pgas::make_window;
using pgas::task;

// Coroutines are functions, or lambdas without `auto` parameters: clang 16 forgets virtual functions that
// only a generic lambda within a body names.
namespace {

/// A request that is done at the test after `left` others; counts how it is used.
struct slow_request {
  struct uses {
    int tests = 0, waits = 0;
  };
  uses* count;
  int left;
  bool throws = false;

  [[nodiscard]] bool test() {
    ++count->tests;
    if (left > 0) return --left, false;
    if (throws) throw std::runtime_error("the operation has failed");
    return true;
  }
  void wait() {
    ++count->waits;
    left = 0;
    static_cast<void>(test());
  }
};
static_assert(pgas::request<slow_request> && !pgas::droppable<slow_request>);

/// The same with a value.
struct slow_value : slow_request {
  int result = 0;
  [[nodiscard]] int value() const { return result; }
};
static_assert(pgas::valued_request<slow_value>);

/// Never over by itself, and dropped without a wait.
struct never {
  static constexpr bool is_droppable = true;
  [[nodiscard]] static bool test() { return false; }
};
static_assert(pgas::testable<never> && pgas::droppable<never>);

// An operation that is done at its call's return is not stored, tested or suspended for.
static_assert(std::is_same_v<decltype(pgas::detail::promise_of<void>::await_transform(pgas::done{})),
                             pgas::detail::ready_awaiter>);
static_assert(pgas::detail::ready_awaiter::await_ready() && std::is_empty_v<pgas::detail::ready_awaiter>);

task<int> after(slow_request::uses& count, int looks, int result) {
  co_return co_await slow_value{{&count, looks}, result};
}
task<> until_never(int& frames) {
  watch const here(frames);
  co_await never{};
}
task<int> throws_after(slow_request::uses& count, int looks, char const* what) {
  co_await slow_request{&count, looks};
  throw std::invalid_argument(what);
}

/// Shows each rank's stores to its own part to the others.
template <class Window>
void publish(Window const& w) {
  pgas::fence epoch{w};
  epoch.close();
}

template <class Act>
void require_thrown(std::string const& text, Act&& act) {
  std::string caught;
  try {
    act();
  } catch (std::exception const& e) {
    caught = e.what();
  }
  require_equal(caught, text, "the exception");
}

}  // namespace

TEST_CASE("async: a task that awaits a signal gets the puts before it, and tasks of a rank take turns") {
  everywhere(
      [](auto& team) {
        auto w = make_window<int>(team, 64);
        auto arrived = make_signals(w, 4);
        pgas::lock_all epoch{w};
        auto const ring = [&](std::size_t tag) -> task<int> {
          int sum = 0;
          for (int round = 1; round <= 5; ++round) {
            std::vector<int> values(8, round * 10 + team.rank());
            co_await epoch.rput(right_of(team), tag * 8, values);
            arrived.signal(epoch, right_of(team), tag);
            co_await pgas::arrival(arrived, {left_of(team), tag});
            std::vector<int> mine(8);
            co_await epoch.rget(team.rank(), tag * 8, mine);
            require_equal(mine, std::vector<int>(8, round * 10 + left_of(team)), "the neighbour's values");
            sum += mine[0];
            arrived.signal(epoch, left_of(team), tag);  // the left rank may put again
            co_await pgas::arrival(arrived, {right_of(team), tag});
          }
          co_return sum;
        };
        pgas::scheduler tasks(team);
        auto const both = [&]() -> task<int> {
          auto [a, b, c] = co_await pgas::when_all(ring(0), ring(1), ring(2));
          co_return a + b + c;
        };
        require_equal(tasks.run(both()), 3 * (150 + 5 * left_of(team)), "the sum of three rings");
      },
      {1, 2, 3});
}

TEST_CASE("async: co_await takes boxes, collectives, halo exchanges and locks") {
  everywhere(
      [](auto& team) {
        auto const n = static_cast<std::size_t>(team.size());
        auto a = pgas::make_array<int>(team, 4 * n, pgas::halo{.width = 1, .edges = pgas::edge::periodic});
        auto w = make_window<int>(team, 1);
        pgas::stage(w, pgas::write_only)[0] = 0;
        {
          auto const own = pgas::stage(a, pgas::read_write);
          for (std::size_t i = 0; i < 4; ++i) own(i) = static_cast<int>(4 * n);
          own(0) = own(3) = team.rank();
        }
        publish(w);
        auto const work = [&]() -> task<> {
          co_await pgas::begin_exchange(a);
          {
            auto const own = pgas::stage(a, pgas::read_only);
            require_equal(own(-1), left_of(team), "a ghost cell of the left neighbour");
            require_equal(own(4), right_of(team), "a ghost cell of the right neighbour");
          }
          std::array<int, 2> const mine{1, team.rank()};
          std::array<int, 2> sums{};
          co_await team.start().all_reduce(mine, sums);
          require_equal(sums[0], team.size(), "the sum over all ranks");
          for (int i = 0; i < 3; ++i) {
            auto epoch = co_await pgas::start_lock(w, 0, pgas::exclusive);
            epoch.put(0, 0, epoch.get(0, 0) + 1);
          }
          team.barrier();
          std::vector<int> cells(4 * n);
          pgas::fence epoch{a};
          co_await epoch.rget({{0}, {4 * n}}, cells);
          for (std::size_t r = 0; r < n; ++r) require_equal(cells[4 * r + 3], static_cast<int>(r), "a cell");
          epoch.close();
        };
        pgas::sync_wait(team, work());
        pgas::lock check{w, 0, pgas::shared};
        require_equal(check.get(0, 0), 3 * team.size(), "increments under locks");
      },
      {1, 2, 3});
}

TEST_CASE("async: an exception goes through each co_await to the caller of run") {
  everywhere(
      [](auto& team) {
        slow_request::uses count;
        pgas::scheduler tasks(team);
        auto const outer = [&]() -> task<> {
          int frames = 0;
          bool caught = false;
          try {
            watch const here(frames);
            co_await throws_after(count, 3, "inner");
          } catch (std::invalid_argument const&) {
            caught = true;
          }
          require(caught && frames == 0, "the frame is unwound before the handler runs");
          co_await throws_after(count, 0, "second");
        };
        require_thrown("second", [&] { tasks.run(outer()); });
        auto const failing = [&]() -> task<> { co_await slow_request{&count, 2, true}; };
        require_thrown("the operation has failed", [&] { tasks.run(failing()); });
        tasks.spawn(failing());
        require_thrown("the operation has failed", [&] { tasks.finish(); });
        require(tasks.is_idle(), "nothing is left");
      },
      {1, 2});
}

TEST_CASE("async: when_all waits for all, returns in order, and throws the first exception") {
  everywhere(
      [](auto& team) {
        slow_request::uses count;
        int ended = 0;
        auto const counted = [&](int looks) -> task<> {
          co_await slow_request{&count, looks};
          ++ended;
        };
        auto const work = [&]() -> task<> {
          auto [a, b, c] = co_await pgas::when_all(after(count, 5, 1), after(count, 0, 2), counted(9));
          require(a == 1 && b == 2 && ended == 1, "results are in order and all have ended");
          static_assert(std::is_same_v<decltype(c), std::monostate>);
          std::vector<task<int>> many;
          many.reserve(20);
          for (int i = 0; i < 20; ++i) many.push_back(after(count, 20 - i, i));
          auto const values = co_await pgas::when_all(std::move(many));
          for (int i = 0; i < 20; ++i) require_equal(values[static_cast<std::size_t>(i)], i, "a result");
          co_await pgas::when_all(std::vector<task<>>{});
          // Requests alone are one request, without a task.
          slow_request::uses both;
          co_await pgas::when_all(slow_request{&both, 2}, slow_request{&both, 4});
          static_assert(std::is_same_v<decltype(pgas::when_all(pgas::done{}, pgas::done{})), pgas::done>);
          bool caught = false;
          try {
            co_await pgas::when_all(counted(7), throws_after(count, 4, "a"), throws_after(count, 2, "b"));
          } catch (std::invalid_argument const& e) {
            caught = e.what() == std::string("a");
          }
          require(caught, "the first exception in order");
          require_equal(ended, 2, "the tasks that ended before the exception was thrown");
        };
        pgas::sync_wait(team, work());
      },
      {1, 2});
}

TEST_CASE("async: when_any returns the first, destroys the others, and takes none of their signals") {
  everywhere(
      [](auto& team) {
        auto w = make_window<int>(team, 1);
        auto s = make_signals(w, 2);
        pgas::lock_all epoch{w};
        auto const work = [&]() -> task<> {
          int frames = 0;
          slow_request::uses count;
          auto const first = co_await pgas::when_any(until_never(frames), after(count, 3, 8), never{});
          require(first.index() == 1 && std::get<1>(first) == 8, "the index and the result of the first");
          require_equal(frames, 0, "frames of tasks that lost");
          s.signal(epoch, right_of(team), 1);
          auto const came = co_await pgas::when_any(pgas::arrival(s, {left_of(team), 0}),
                                                    pgas::arrival(s, {left_of(team), 1}));
          require_equal(came.index(), 1U, "the signal that was sent");
          team.barrier();
          s.signal(epoch, right_of(team), 0);
          co_await pgas::arrival(s, {left_of(team), 0});  // the task that lost took none
          std::vector<task<int>> many;
          many.reserve(20);
          for (int i = 0; i < 5; ++i) many.push_back(after(count, i == 3 ? 1 : 50, i));
          auto const [index, value] = co_await pgas::when_any(std::move(many));
          require(index == 3 && value == 3, "the first of many");
        };
        pgas::sync_wait(team, work());
      },
      {1, 2, 3});
}

TEST_CASE("async: a task that is destroyed settles its transfer, and drops what uses no memory") {
  everywhere(
      [](auto& team) {
        auto w = make_window<int>(team, 1000);
        {
          auto const own = pgas::stage(w, pgas::write_only);
          std::iota(own.begin(), own.end(), team.rank());
        }
        publish(w);
        slow_request::uses count;
        int frames = 0;
        pgas::lock_all epoch{w};
        // The destination is in the frame, which goes while the get may be under way.
        auto const gets = [&]() -> task<> {
          watch const here(frames);
          std::array<int, 1000> values;
          for (;;) {
            values.fill(-1);
            co_await epoch.rget(right_of(team), 0, std::span(values));
            require_equal(values[999], right_of(team) + 999, "the last element of a get");
            co_await slow_request{&count, 1};
          }
        };
        auto const waits = [&]() -> task<> {
          watch const here(frames);
          co_await slow_request{&count, 1000000};
        };
        for (int i = 0; i < 20; ++i) {
          pgas::scheduler tasks(team);
          tasks.spawn(gets());
          tasks.spawn(until_never(frames));
          for (int turns = 0; turns < i; ++turns) tasks.progress();
          require_equal(frames, 2, "frames of tasks under way");
        }
        require_equal(frames, 0, "frames after the end of their scheduler");
        int const before = count.waits;
        {
          pgas::scheduler tasks(team);
          tasks.spawn(waits());
          tasks.progress();
        }
        require_equal(count.waits, before + 1, "waits for an operation whose task was destroyed");
        require_equal(frames, 0, "frames after the end of their scheduler");
        team.barrier();
      },
      {1, 2});
}

TEST_CASE("async: a task whose time is over is canceled, its memory is settled, and its signal stays") {
  everywhere(
      [](auto& team) {
        auto w = make_window<int>(team, 2);
        auto s = make_signals(w);
        pgas::lock_all epoch{w};
        int frames = 0;
        slow_request::uses count;
        auto const waits = [&]() -> task<int> {
          watch const here(frames);
          co_await pgas::arrival(s, {left_of(team)});
          co_return 5;
        };
        auto const work = [&]() -> task<> {
          auto const nothing = co_await pgas::cancel_after(waits(), 2ms);
          require(!nothing && frames == 0, "the wait is over and its frame is gone");
          team.barrier();
          s.signal(epoch, right_of(team));
          auto const five = co_await pgas::cancel_after(waits(), std::chrono::hours(1));
          require(five && *five == 5, "a task that ends in time returns its value");
          // A transfer is not given up halfway: the call waits for it.
          bool const ended = co_await pgas::cancel_after(
              [](slow_request::uses& c) -> task<> {
                co_await slow_request{&c, 1 << 30};
              }(count),
              1ms);
          require(!ended && count.waits == 1, "the operation has been waited for");
          std::stop_source stop;
          auto const stops = [](std::stop_source& source) -> task<> {
            co_await pgas::sleep_for(1ms);
            source.request_stop();
          };
          auto const [stopped, _] =
              co_await pgas::when_all(pgas::cancel_when(until_never(frames), stop.get_token()), stops(stop));
          require(!stopped && frames == 0, "a stop cancels");
        };
        pgas::sync_wait(team, work());
        team.barrier();
      },
      {1, 2});
}

TEST_CASE("async: another thread may request a stop") {
  everywhere<std::tuple<thread_model, process_model>>(
      [](auto& team) {
        std::stop_source stop;
        std::jthread const other([&] {
          std::this_thread::sleep_for(2ms);
          stop.request_stop();
        });
        int frames = 0;
        require(!pgas::sync_wait(team, pgas::cancel_when(until_never(frames), stop.get_token())), "canceled");
      },
      {1, 2});
}

TEST_CASE("async: operations without number are in flight in the memory of their room") {
  everywhere(
      [](auto& team) {
        constexpr std::size_t room = 64;
        int const all = rounds_on(team.state()->backend, 20000) / 10 * 10;
        auto w = make_window<int>(team, 100);
        {
          auto const own = pgas::stage(w, pgas::write_only);
          std::iota(own.begin(), own.end(), 0);
        }
        publish(w);
        pgas::lock_all epoch{w};
        using request = decltype(epoch.rget(0, 0, std::span<int>()));
        auto const work = [&]() -> task<long> {
          std::vector<int> into(room);
          pgas::in_flight<request> gets(room);
          long sum = 0;
          for (int i = 0; i < all; i += static_cast<int>(room)) {
            for (std::size_t k = 0; k < room; ++k) {
              co_await gets.room();
              gets.add(epoch.rget(right_of(team), k, std::span(&into[k], 1)));
              require(gets.size() <= room, "no more requests than their room");
            }
            co_await gets.none();
            require_equal(gets.size(), 0U, "requests under way");
            sum += std::accumulate(into.begin(), into.end(), 0L);
          }
          co_return sum;
        };
        long const rounds = (all + static_cast<int>(room) - 1) / static_cast<int>(room);
        require_equal(pgas::sync_wait(team, work()), rounds * 2016, "the sum of all gets");
        slow_request::uses count;
        auto const held = [&]() -> task<> {  // requests that end late hold others up
          pgas::in_flight<slow_request> few(3);
          for (int i = 0; i < 30; ++i) {
            co_await few.room();
            few.add(slow_request{&count, i});
            require(few.size() <= 3, "no more requests than their room");
          }
        };
        pgas::sync_wait(team, held());
      },
      {1, 2});
}

TEST_CASE("async: a million operations of a thousand tasks end, with a frame for each task") {
  everywhere<std::tuple<self_model, thread_model>>(
      [](auto& team) {
        auto w = make_window<int>(team, 1);
        pgas::stage(w, pgas::write_only)[0] = 1;
        publish(w);
        pgas::lock_all epoch{w};
        pgas::scheduler tasks(team);
        long sum = 0;
        slow_request::uses count;
        auto const one = [&]() -> task<> {
          for (int i = 0; i < 1000; ++i) {
            int value = 0;
            co_await epoch.rget(right_of(team), 0, value);
            sum += value;
            if (i % 100 == 0) co_await slow_request{&count, 1};
          }
        };
        for (int i = 0; i < 1000; ++i) tasks.spawn(one());
        require_equal(tasks.pending(), 1000U, "operations that are pending at once");
        tasks.finish();
        require_equal(sum, 1000000L, "gets of all tasks");
      },
      {1, 2});
}

TEST_CASE("async: ranks whose tasks wait for each other get an error that says so") {
  for_each_model<std::tuple<self_model, process_model, loopback_model, scc_model>>([]<class Model>(Model) {
    auto const failure = error_of<Model>(can_have<typename Model::backend>(2) ? 2 : 1, [](auto& team) {
      auto w = make_window<int>(team, 1);
      auto s = make_signals(w, 2);
      int errors = 0;
      auto const waits = [&](std::size_t tag) -> task<> {
        try {
          co_await pgas::arrival(s, {right_of(team), tag});
        } catch (pgas::error const&) {
          ++errors;
          throw;
        }
      };
      auto const both = [&]() -> task<> { co_await pgas::when_all(waits(0), waits(1)); };
      try {
        pgas::sync_wait(team, both());
      } catch (pgas::error const&) {
        require_equal(errors, 2, "each task gets the error");
        throw;
      }
    });
    CHECK_MESSAGE(failure.has_value(), Model::name());
    if (failure)
      CHECK_MESSAGE(failure->code() == make_error_code(errc::deadlock), std::string(failure->what()));
  });
}

TEST_CASE("async: tasks of ranks learn of a rank that fails, each at its co_await") {
  for_each_model<std::tuple<thread_model, process_model, loopback_model, write_back_model>>(
      []<class Model>(Model) {
        auto const failure = error_of<Model>(2, [](auto& team) {
          auto w = make_window<int>(team, 1000);
          auto s = make_signals(w, 2);
          pgas::lock_all epoch{w};
          if (team.rank() == 1) throw std::runtime_error("rank 1 gives up");
          int errors = 0;
          auto const waits = [&](std::size_t tag) -> task<> {
            std::array<int, 1000> values;
            try {
              for (;;) {
                co_await epoch.rget(1, 0, std::span(values));
                co_await pgas::arrival(s, {1, tag});
              }
            } catch (pgas::error const&) {
              ++errors;
              throw;
            }
          };
          auto const both = [&]() -> task<> { co_await pgas::when_all(waits(0), waits(1)); };
          try {
            pgas::sync_wait(team, both());
          } catch (pgas::error const&) {
            if (errors != 2) throw std::logic_error("not each task has got the error");
            throw;
          }
        });
        CHECK_MESSAGE(failure.has_value(), Model::name());
        if (failure) CHECK_MESSAGE(failure->rank() == 1, std::string(failure->what()));
      });
}

TEST_CASE("async: a scheduler refuses another thread, and a task that calls it") {
  everywhere<std::tuple<self_model, thread_model>>(
      [](auto& team) {
        pgas::scheduler tasks(team);
        std::jthread([&] {
          require_error(errc::wrong_order, {"progress", "another thread"}, [&] { tasks.progress(); });
        }).join();
        slow_request::uses count;
        auto const nested = [&]() -> task<> {
          tasks.run(after(count, 1, 1));
          co_return;
        };
        require_error(errc::wrong_order, {"run", "co_await the task"}, [&] { tasks.run(nested()); });
        auto const foreign = [&]() -> task<> { co_await std::suspend_always{}; };
        require_error(errc::deadlock, {"nothing that its scheduler polls"}, [&] { tasks.run(foreign()); });
      },
      {1});
}

TEST_CASE("async: spawned tasks go on in progress, beside calls of the library") {
  everywhere(
      [](auto& team) {
        auto w = make_window<int>(team, 1);
        auto s = make_signals(w);
        pgas::lock_all epoch{w};
        pgas::scheduler tasks(team);
        int rounds = 0;
        auto const echo = [&]() -> task<> {
          for (; rounds < 10; ++rounds) {
            s.signal(epoch, right_of(team));
            co_await pgas::arrival(s, {left_of(team)});
          }
        };
        tasks.spawn(echo());
        do {
          tasks.progress();
        } while (team.all_reduce(rounds, pgas::op::min{}) !=
                 10);  // holds up the task; progress lets it go on
        tasks.finish();
        require_equal(rounds, 10, "rounds");
      },
      {1, 2, 3});
}
