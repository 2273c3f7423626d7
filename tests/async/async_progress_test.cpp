// SPDX-License-Identifier: BSL-1.0
// The progress of a rank: by team.progress(), which also lets tasks go on, and by a thread beside its
// computation.
// test: addresses, threads, each way, unit async
#include <pgas/async/calls.hpp>
#include <pgas/async/progress_thread.hpp>
#include <pgas/async/requests.hpp>
#include <pgas/async/scheduler.hpp>
#include <pgas/fence.hpp>
#include <pgas/lock_all.hpp>
#include <pgas/signals.hpp>
#include <pgas/stage.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>

#include "support/neighbours.hpp"
#include "support/ranks.hpp"

using namespace pgas_test;
using namespace std::chrono_literals;
using pgas::make_signals;
using pgas::make_window;
using pgas::task;

namespace {

using mailing_models = std::tuple<process_model, thread_model, loopback_model, scc_model>;
using models_with_threads = std::tuple<process_model, thread_model, loopback_model>;

/// Is done at the second look.
struct second_look {
  int looks = 0;
  [[nodiscard]] bool test() { return ++looks == 2; }
};

/// Returns whether a condition becomes true within seconds, while this rank looks at nothing else.
template <class Condition>
bool comes_true(Condition const& condition) {
  auto const end = std::chrono::steady_clock::now() + 20s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace

TEST_CASE("async: team.progress() runs calls, started collectives and tasks, and nothing else is needed") {
  everywhere<mailing_models>(
      [](auto& team) {
        auto calls = pgas::make_calls(team);
        auto w = make_window<int>(team, 1);
        auto s = make_signals(w);
        pgas::lock_all epoch{w};
        int called = 0;
        auto const shared = calls.share(called);
        int rounds = 0;
        auto const echo = [&]() -> task<> {
          for (; rounds < 5; ++rounds) {
            s.signal(epoch, right_of(team));
            co_await pgas::arrival(s, {left_of(team)});
          }
        };
        auto const sums = [&]() -> task<int> {
          int sum = 0;
          for (int i = 0; i < 5; ++i) {
            int const one = 1;
            co_await team.start().all_reduce(std::span(&one, 1), std::span(&sum, 1));
          }
          co_return sum;
        };
        pgas::scheduler tasks(team);
        tasks.spawn(echo());
        auto const count = [&]() -> task<> { rounds += 100 * (co_await sums() - team.size()); };
        tasks.spawn(count());
        calls.send(
            right_of(team), [](int& n) { ++n; }, shared);
        while (called == 0 || !tasks.is_idle()) team.progress();
        require_equal(rounds, 5, "rounds of the tasks");
        calls.finish();
      },
      {1, 2, 3});
}

TEST_CASE("async: a task that calls team.progress() does not resume itself, and an exception comes out") {
  everywhere<std::tuple<process_model, thread_model>>(
      [](auto& team) {
        pgas::scheduler tasks(team);
        int steps = 0;
        auto const inner = [&]() -> task<> {
          for (; steps < 3; ++steps) {
            require_equal(team.progress(), 0U, "steps of tasks within a step");
            co_await second_look{};
          }
          throw std::invalid_argument("the tea is cold");
        };
        tasks.spawn(inner());
        std::string caught;
        std::size_t resumed = 0;
        try {
          for (int i = 0; i < 100; ++i) resumed += team.progress();
        } catch (std::invalid_argument const& e) {
          caught = e.what();
        }
        require_equal(caught, std::string("the tea is cold"), "the exception of the task");
        require_equal(steps, 3, "steps of the task");
        require_equal(resumed, 2U, "steps that progress has returned, but for the one that threw");
        { pgas::scheduler gone(team); }
        team.progress();  // a scheduler that is gone is not asked
      },
      {1, 2});
}

TEST_CASE("async: a progress thread runs the calls of others while its rank computes") {
  everywhere<models_with_threads>(
      [](auto& team) {
        auto calls = pgas::make_calls(team);
        std::atomic<int> called = 0;
        auto const shared = calls.share(called);
        {
          pgas::progress_thread helper{team};
          {
            auto const mine = helper.pause();
            for (int i = 0; i < 20; ++i)
              calls.send(
                  right_of(team), [](std::atomic<int>& n) { ++n; }, shared);
          }
          require(comes_true([&] { return called == 20; }), "the calls have run during the computation");
        }
        calls.finish();
        team.barrier();
      },
      {1, 2, 3});
}

TEST_CASE("async: a rank that opens an epoch beside its progress thread is told to pause it") {
  everywhere<models_with_threads>(
      [](auto& team) {
        auto w = make_window<int>(team, 1);
        {
          // Its first look may let an epoch pass. A later look would refuse to close such an epoch.
          pgas::progress_thread helper{team, 1h};
          bool is_refused = false;
          auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
          while (!is_refused && std::chrono::steady_clock::now() < deadline) {
            try {
              pgas::lock_all const epoch{w};
            } catch (pgas::error const& e) {
              is_refused = e.code() == make_error_code(errc::wrong_order);
            }
          }
          require(is_refused, "the epoch is refused");
          auto const mine = helper.pause();
          pgas::lock_all epoch{w};
          epoch.put(right_of(team), 0, 5);
          epoch.close();
        }
        pgas::fence epoch{w};
        epoch.close();
        require_equal(pgas::stage(w, pgas::read_only)[0], 5, "what was put in the pause");
      },
      {1, 2});
}

TEST_CASE("async: a rank that computes beside its progress thread learns of a failed rank in its next call") {
  for_each_model<models_with_threads>([]<class Model>(Model) {
    auto const failure = error_of<Model>(2, [](auto& team) {
      if (team.rank() == 1) throw std::runtime_error("rank 1 gives up");
      pgas::progress_thread const helper{team};
      std::this_thread::sleep_for(20ms);
    });
    CHECK_MESSAGE(failure.has_value(), Model::name());
    if (failure) CHECK_MESSAGE(failure->rank() == 1, std::string(failure->what()));
  });
}
