// SPDX-License-Identifier: BSL-1.0
// The promises of completion tokens, and of an io_context that drives the progress of a rank, on every model.
// test: addresses, threads in full, each way, unit async
#include <boost/asio/detached.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/asio/write.hpp>
#if __has_include(<boost/asio/deferred.hpp>)
#include <boost/asio/deferred.hpp>
#endif
#if defined(BOOST_ASIO_HAS_CO_AWAIT)
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#endif

#include <pgas/async/asio.hpp>
#include <pgas/async/cancel_after.hpp>
#include <pgas/async/requests.hpp>
#include <pgas/fence.hpp>
#include <pgas/lock_all.hpp>
#include <pgas/signals.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <numeric>
#include <span>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "support/neighbours.hpp"
#include "support/ranks.hpp"

using namespace pgas_test;
using namespace std::chrono_literals;
using pgas::complete;
using pgas::make_signals;
using pgas::make_window;
using pgas::task;
namespace asio = boost::asio;

namespace {

/// A request that is done, or throws, after some tests.
struct looked_at {
  int left;
  bool throws = false;
  int* waits = nullptr;
  [[nodiscard]] bool test() {
    if (left > 0) return --left, false;
    if (throws) throw std::runtime_error("the operation has failed");
    return true;
  }
  void wait() {
    left = 0;
    if (waits != nullptr) ++*waits;
  }
  [[nodiscard]] static int value() { return 17; }
};
static_assert(pgas::valued_request<looked_at>);

/// All but those whose ranks are fibers.
using models_of_threads =
    std::tuple<self_model, process_model, thread_model, loopback_model, write_back_model, pool_model>;

/// A window of 100 elements on each rank: rank r's element i is 100 r + i.
template <class Team>
auto numbers(Team& team) {
  auto w = make_window<int>(team, 100);
  {
    auto const own = pgas::stage(w, pgas::write_only);
    std::iota(own.begin(), own.end(), 100 * team.rank());
  }
  pgas::fence shown{w};
  shown.close();
  return w;
}

}  // namespace

TEST_CASE("async: an operation completes by a callback, by a future, and by nothing") {
  everywhere<models_of_threads>(
      [](auto& team) {
        auto w = numbers(team);
        auto s = make_signals(w);
        std::array<int, 100> first{};
        std::array<int, 100> second{};
        pgas::lock_all epoch{w};
        asio::io_context context;
        pgas::scheduler tasks(team);
        pgas::progress_in loop(context, tasks);
        int calls = 0;
        bool is_inside = true;
        complete(loop, epoch.rget(right_of(team), 0, std::span(first)), [&](std::exception_ptr const& error) {
          require(!error && !is_inside, "the handler is called after its call, and without an error");
          require_equal(first[99], 100 * right_of(team) + 99, "an element that has been got");
          ++calls;
          // A handler starts further operations.
          complete(loop, looked_at{5}, [&](std::exception_ptr const&, int value) {
            require_equal(value, 17, "the value of a request");
            ++calls;
          });
        });
        auto came = complete(loop, epoch.rget(right_of(team), 0, std::span(second)), asio::use_future);
        auto value = complete(loop, looked_at{3}, asio::use_future);
        auto error = complete(loop, looked_at{3, true}, asio::use_future);
        auto early = complete(loop, looked_at{0, true}, asio::use_future);
        s.signal(epoch, right_of(team));
        complete(loop, pgas::arrival(s, {(team.rank() + team.size() - 1) % team.size()}), asio::detached);
        is_inside = false;
        context.run();  // until all operations have ended
        require_equal(calls, 2, "calls of handlers");
        came.get();
        require_equal(second[0], 100 * right_of(team), "an element that has been got");
        require_equal(value.get(), 17, "the value in a future");
        for (auto* each : {&error, &early}) {
          bool thrown = false;
          try {
            each->get();
          } catch (std::runtime_error const&) {
            thrown = true;
          }
          require(thrown, "a future throws the error of its operation");
        }
        require(tasks.is_idle() && s.pending({0}) == 0, "nothing is left");
      },
      {1, 2});
}

TEST_CASE("async: flushes, barriers and the ends of fences complete by each token") {
  everywhere<models_of_threads>(
      [](auto& team) {
        auto w = numbers(team);
        asio::io_context context;
        pgas::scheduler tasks(team);
        pgas::progress_in loop(context, tasks);
        int calls = 0;
        auto const count = [&](std::exception_ptr const& error) { calls += error ? 100 : 1; };
        for (int round = 1; round <= 3; ++round) {
          pgas::fence epoch{w};
          epoch.put(right_of(team), 0, round);
          complete(loop, pgas::start_flush(epoch, right_of(team)), count);
          complete(loop, pgas::start_flush(epoch), asio::detached);
          auto met = complete(loop, pgas::start_barrier(team), asio::use_future);
          complete(loop, pgas::start_barrier(team), count);
          if (round == 1) {
            complete(loop, pgas::start_close(std::move(epoch)), count);
          } else {
            auto closed = complete(loop, pgas::start_close(std::move(epoch)), asio::use_future);
            context.run();
            closed.get();
            ++calls;
          }
          context.run();
          context.restart();
          met.get();
          require_equal(pgas::stage(w, pgas::read_only)[0], round, "the put of the left neighbour");
        }
        require_equal(calls, 9, "completions without an error");
      },
      {1, 2});
}

TEST_CASE("async: a task completes by a token, with its value or its exception") {
  everywhere<models_of_threads>(
      [](auto& team) {
        asio::io_context context;
        pgas::scheduler tasks(team);
        pgas::progress_in loop(context, tasks);
        auto const number = [](int looks) -> task<int> { co_return co_await looked_at{looks}; };
        auto const fails = []() -> task<> {
          co_await looked_at{2};
          throw std::invalid_argument("no");
        };
        auto value = complete(loop, number(4), asio::use_future);
        int failures = 0;
        complete(loop, fails(), [&](std::exception_ptr const& error) { failures += error ? 1 : 0; });
        context.run();
        require_equal(value.get(), 17, "the value of the task");
        require_equal(failures, 1, "errors of the second task");
      },
      {1, 2});
}

#if defined(BOOST_ASIO_HAS_CO_AWAIT)
TEST_CASE("async: coroutines of Asio await requests of windows") {
  everywhere<models_of_threads>(
      [](auto& team) {
        auto w = numbers(team);
        auto other = numbers(team);
        pgas::lock_all epoch{w};
        asio::io_context context;
        pgas::scheduler tasks(team);
        pgas::progress_in loop(context, tasks);
        int sum = 0;
        auto const work = [&]() -> asio::awaitable<void> {
          std::array<int, 100> values{};
          co_await complete(loop, epoch.rget(right_of(team), 0, std::span(values)), asio::use_awaitable);
          {
            pgas::fence open{other};
            co_await complete(loop, pgas::start_barrier(team), asio::use_awaitable);
            co_await complete(loop, pgas::start_close(std::move(open)), asio::use_awaitable);
          }
          sum = values[7] + co_await complete(loop, looked_at{3}, asio::use_awaitable);
          bool thrown = false;
          try {
            co_await complete(loop, looked_at{3, true}, asio::use_awaitable);
          } catch (std::runtime_error const&) {
            thrown = true;
          }
          require(thrown, "an error is thrown by the co_await");
        };
        auto done = asio::co_spawn(context, work(), asio::use_future);
        context.run();
        done.get();
        require_equal(sum, 100 * right_of(team) + 24, "a got element and a value");
      },
      {1, 2});
}
#endif

#if __has_include(<boost/asio/deferred.hpp>)
TEST_CASE("async: a deferred operation starts when it is asked for") {
  everywhere<models_of_threads>(
      [](auto& team) {
        asio::io_context context;
        pgas::scheduler tasks(team);
        pgas::progress_in loop(context, tasks);
        auto later = complete(loop, looked_at{3}, asio::deferred);
        require(tasks.is_idle(), "nothing is under way before");
        auto value = std::move(later)(asio::use_future);
        context.run();
        require_equal(value.get(), 17, "the value of the operation");
      },
      {1});
}
#endif

TEST_CASE("async: a rank serves a socket, a timer and windows in one loop") {
  everywhere<models_of_threads>(
      [](auto& team) {
        auto w = numbers(team);
        pgas::lock_all epoch{w};
        asio::io_context context;
        pgas::scheduler tasks(team);
        pgas::progress_in loop(context, tasks);
        asio::local::stream_protocol::socket server(context);
        asio::local::stream_protocol::socket client(context);
        asio::local::connect_pair(server, client);
        asio::steady_timer timer(context, 2ms);
        bool is_late = false;
        timer.async_wait([&](auto) { is_late = true; });
        constexpr int questions = 200;
        int answered = 0;
        int index = 0;
        int element = 0;
        std::function<void()> const serve = [&] {
          asio::async_read(server, asio::buffer(&index, sizeof(index)), [&](auto error, std::size_t) {
            if (error) return;
            auto const at = static_cast<std::size_t>(index);
            complete(loop, epoch.rget(right_of(team), at, std::span(&element, 1)),
                     [&](std::exception_ptr const&) {
                       asio::async_write(server, asio::buffer(&element, sizeof(element)),
                                         [&](auto failed, std::size_t) {
                                           if (!failed) serve();
                                         });
                     });
          });
        };
        int asked = 0;
        int answer = 0;
        std::function<void()> const ask = [&] {
          if (answered == questions) return client.close();
          asked = (answered * 37) % 100;
          asio::async_write(client, asio::buffer(&asked, sizeof(asked)), [](auto, std::size_t) {});
          asio::async_read(client, asio::buffer(&answer, sizeof(answer)), [&](auto, std::size_t) {
            require_equal(answer, 100 * right_of(team) + asked, "an answer");
            ++answered;
            ask();
          });
        };
        serve();
        ask();
        context.run();
        require(answered == questions && is_late, "all questions are answered and the timer has ended");
        team.barrier();
      },
      {1, 2});
}

TEST_CASE("async: a loop that goes while operations are under way settles them and calls no handler") {
  everywhere<models_of_threads>(
      [](auto& team) {
        int waits = 0;
        auto const held = std::make_shared<int>(0);
        {
          asio::io_context context;
          pgas::scheduler tasks(team);
          pgas::progress_in loop(context, tasks);
          complete(loop, looked_at{1 << 30, false, &waits},
                   [held](std::exception_ptr const&, int) { ++*held; });
          context.run_for(2ms);
        }
        require_equal(waits, 1, "waits for the operation");
        require(*held == 0 && held.use_count() == 1, "the handler is gone and was not called");
      },
      {1});
}

TEST_CASE("async: an io_context in another thread than the scheduler's gets an error") {
  everywhere<std::tuple<self_model, thread_model>>(
      [](auto& team) {
        asio::io_context context;
        pgas::scheduler tasks(team);
        pgas::progress_in loop(context, tasks);
        complete(loop, looked_at{1 << 30}, asio::detached);
        std::jthread([&] {
          require_error(errc::wrong_order, {"progress", "another thread"}, [&] { context.run(); });
        }).join();
      },
      {1});
}

TEST_CASE("async: a rank in its io_context learns of a rank that fails") {
  for_each_model<std::tuple<thread_model, process_model, loopback_model>>([]<class Model>(Model) {
    for (bool const has_operation : {false, true}) {
      auto const failure = error_of<Model>(2, [has_operation](auto& team) {
        auto w = make_window<int>(team, 1);
        auto s = make_signals(w);
        if (team.rank() == 1) throw std::runtime_error("rank 1 gives up");
        asio::io_context context;
        pgas::scheduler tasks(team);
        pgas::progress_in loop(context, tasks, pgas::polls::always);
        if (has_operation) {
          complete(loop, pgas::arrival(s, {1}), [](std::exception_ptr const& error) {
            if (error) std::rethrow_exception(error);
          });
        }
        context.run();
      });
      CHECK_MESSAGE(failure.has_value(), Model::name());
      if (failure) CHECK_MESSAGE(failure->rank() == 1, std::string(failure->what()));
    }
  });
}

TEST_CASE("async: of ranks that are fibers of one thread, one may have an io_context") {
  everywhere<std::tuple<scc_model>>(
      [](auto& team) {
        asio::io_context context;
        pgas::scheduler tasks(team);
        if (team.rank() == 0) {
          pgas::progress_in loop(context, tasks);
          auto value = complete(loop, looked_at{300}, asio::use_future);
          team.barrier();
          context.run();
          require_equal(value.get(), 17, "the value of the operation");
          team.barrier();
        } else {
          team.barrier();
          require_error(errc::unsupported, {"fibers", "rank 0"}, [&] { pgas::progress_in(context, tasks); });
          team.barrier();
        }
      },
      {2});
}
