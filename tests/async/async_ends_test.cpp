// SPDX-License-Identifier: BSL-1.0
// Flushes, barriers, fences, exposures, halo exchanges, messages and saves end beside other work: tasks of a
// rank await each of them on every model.
// test: addresses, threads, each way, unit async
#include <pgas/access.hpp>
#include <pgas/async/calls.hpp>
#include <pgas/async/requests.hpp>
#include <pgas/async/scheduler.hpp>
#include <pgas/async/when_all.hpp>
#include <pgas/backends/simulated.hpp>
#include <pgas/containers/make_messenger.hpp>
#include <pgas/exposure.hpp>
#include <pgas/files/save_request.hpp>
#include <pgas/notified_halo.hpp>

#include <array>
#include <chrono>
#include <filesystem>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "requests_mutants.hpp"
#include "support/neighbours.hpp"
#include "support/ranks.hpp"
#include "support/saved.hpp"
#include "support/watch.hpp"

using namespace pgas_test;
using pgas::make_signals;
using pgas::make_window;
using pgas::task;

// Coroutines are functions, or lambdas without `auto` parameters: clang 16 forgets virtual functions that
// only a generic lambda within a body names.
namespace {

/// Sends a token around all ranks, while other tasks of each rank await something else.
template <class Team, class Epoch, class Signals>
task<> pass_around(Team& team, Epoch& epoch, Signals& s, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    if (team.rank() == 0) s.signal(epoch, right_of(team));
    co_await pgas::arrival(s, {left_of(team)});
    if (team.rank() != 0) s.signal(epoch, right_of(team));
  }
}

/// Each round, each rank puts a number to its right neighbour in a fence that it closes beside other work.
template <class Mutant = requests_mutants::none, class Team, class Window>
task<> put_in_fences(Team& team, Window& w, int rounds) {
  for (int i = 1; i <= rounds; ++i) {
    pgas::fence epoch{w};
    if constexpr (std::is_same_v<Mutant, requests_mutants::no_meeting>) {  // a rank that is late shows that
                                                                           // the others do not wait for it
      if (team.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    epoch.put(right_of(team), 0, 100 * i + team.rank());
    epoch.put(right_of(team), 1, i);
    co_await
        typename Mutant::template close_request<typename Window::state_type, decltype(epoch)::opened_with>(
            std::move(epoch));
    auto const own = pgas::stage(w, pgas::read_only);
    require_equal(own[0], 100 * i + left_of(team), "the number that the left neighbour has put");
    require_equal(own[1], i, "the round in which it was put");
  }
}

/// Fills the ghost cells of two arrays in turn, each time with other values.
template <class Team, class Array, class Halos>
task<> exchange(Team& team, Array& a, Array& b, Halos& halos, int rounds) {
  for (int i = 1; i <= rounds; ++i) {
    {
      auto const own = pgas::stage(a, pgas::read_write);
      own(0) = own(3) = 100 * i + team.rank();
    }
    co_await halos.begin_exchange(a);
    auto const own = pgas::stage(a, pgas::read_only);
    require_equal(own(-1), 100 * i + left_of(team), "a ghost cell of the left neighbour");
    require_equal(own(4), 100 * i + right_of(team), "a ghost cell of the right neighbour");
    std::swap(a, b);
  }
}

/// Rounds of the general active target, each of which ends at a co_await.
template <class Team, class Window>
task<> expose(Team& team, Window& w, int rounds) {
  for (int i = 1; i <= rounds; ++i) {
    pgas::exposure exposed{w, {left_of(team)}};
    {
      pgas::access epoch{w, {right_of(team)}};
      epoch.put(right_of(team), 2, 10 * i + team.rank());
    }
    co_await std::move(exposed);
    require_equal(pgas::stage(w, pgas::read_only)[2], 10 * i + left_of(team), "a put into the exposed part");
  }
}

template <class Team, class Messenger>
task<> send_messages(Team& team, Messenger& m, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    std::vector<int> const mine(static_cast<std::size_t>(1 + 100 * i), team.rank());
    co_await pgas::ended(m, m.start_send(right_of(team), 3, std::as_bytes(std::span(mine))));
  }
}
template <class Team, class Messenger>
task<> receive_messages(Team& team, Messenger& m, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    std::vector<int> theirs(static_cast<std::size_t>(1 + 100 * i));
    auto const into = std::as_writable_bytes(std::span(theirs));
    auto const envelope = co_await pgas::ended(m, m.start_receive(pgas::any_sender, 3, into));
    require_equal(envelope.from, left_of(team), "the sender");
    require_equal(envelope.bytes, into.size(), "the length");
    require_equal(theirs.back(), left_of(team), "the last value");
  }
}

/// The number of seeds of an adversary with which a program on memory that does not agree by itself fails.
template <class Body>
int failures_of(int seeds, Body const& body) {
  int failures = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    incoherent::against const misbehaviour({.seed = static_cast<std::uint64_t>(seed)});
    try {
      pgas::run<incoherent::backend>(2, [&](auto& world) {
        auto team = world.template with<pgas::coherence::write_back>();
        body(team);
      });
    } catch (std::exception const&) {
      ++failures;
    }
  }
  return failures;
}

template <class R>
task<> hold(R request, int& frames) {
  watch const here(frames);
  co_await std::move(request);
}

}  // namespace

TEST_CASE("async: a flush that is awaited tells that earlier puts have arrived") {
  everywhere(
      [](auto& team) {
        auto w = make_window<int>(team, 300);
        auto const work = [&]() -> task<> {
          for (int i = 1; i <= 10; ++i) {
            pgas::lock_all epoch{w};
            std::vector<int> const values(300, i);
            epoch.put(right_of(team), 0, values);
            if (i % 2 == 0) {
              co_await pgas::start_flush(epoch, right_of(team));
            } else {
              co_await pgas::start_flush(epoch);
            }
            team.barrier();
            epoch.sync();
            require_equal(pgas::stage(w, pgas::read_only)[299], i, "the last element of a put");
            team.barrier();
            epoch.close();
          }
          pgas::lock_all epoch{w};
          require_error(errc::out_of_range, {"start_flush"},
                        [&] { static_cast<void>(pgas::start_flush(epoch, team.size())); });
        };
        pgas::sync_wait(team, work());
      },
      {1, 2, 3});
}

TEST_CASE("async: a started flush takes as long as a flush, and its call takes nothing") {
  if (!chosen("simulated")) return;
  pgas::run<pgas::backends::simulated>(2, [](auto& team) {
    auto w = make_window<int>(team, 10'000);
    pgas::lock_all epoch{w};
    if (team.rank() == 0) {
      std::vector<int> const values(10'000);
      auto const put = [&] {
        team.charge(1);
        epoch.put(1, 0, values);
        return team.now();
      };
      auto const begin = put();
      epoch.flush(1);
      auto const flush = team.now() - begin;
      auto const again = put();
      auto request = pgas::start_flush(epoch, 1);
      auto const call = team.now() - again;
      bool const is_early = request.test();
      request.wait();
      auto const started = team.now() - again;
      require(!is_early, "a started flush is not done before the puts can have arrived");
      require(call * 10 < flush, "the call does not wait");
      require(started * 10 > flush * 9 && started * 10 < flush * 13, "it takes as long as a flush");
    }
    team.barrier();
  });
}

TEST_CASE("async: a barrier that is awaited ends when all ranks have come, and other tasks go on") {
  everywhere(
      [](auto& team) {
        auto w = make_window<int>(team, 1);
        pgas::stage(w, pgas::write_only)[0] = 0;
        auto s = make_signals(w);
        {
          pgas::fence filled{w};
          filled.close();
        }
        pgas::lock_all epoch{w};
        auto const meet = [&]() -> task<> {
          for (int i = 1; i <= 10; ++i) {
            static_cast<void>(epoch.fetch_add(0, 0, 1));
            co_await pgas::start_barrier(team);
            int const come = epoch.atomic_load(0, 0);
            require(come >= i * team.size(), "all ranks have come");
          }
        };
        auto const both = [&]() -> task<> {
          co_await pgas::when_all(meet(), pass_around(team, epoch, s, 10));
        };
        pgas::sync_wait(team, both());
      },
      {1, 2, 3, 5});
}

TEST_CASE("async: a fence that is closed beside other work shows all puts to the owners of their targets") {
  everywhere(
      [](auto& team) {
        auto w = make_window<int>(team, 2);
        auto other = make_window<int>(team, 1);
        auto s = make_signals(other);
        pgas::lock_all epoch{other};
        auto const both = [&]() -> task<> {
          co_await pgas::when_all(put_in_fences(team, w, 8), pass_around(team, epoch, s, 8));
        };
        pgas::sync_wait(team, both());
        {
          pgas::fence open{w};
          auto closing = pgas::start_close(std::move(open));
          require_error(errc::wrong_order, {"has been moved"}, [&] { open.put(0, 0, 1); });
          require_error(errc::wrong_order, {"another epoch"}, [&] { pgas::fence const second{w}; });
        }  // the request waits for the end
        pgas::fence last{w};
        last.close();
      },
      {1, 2, 3});
}

TEST_CASE("async: each step of a fence that is closed beside other work is needed") {
  if (!chosen(incoherent::backend::name)) return;
  auto const failures = []<class Mutant>(std::type_identity<Mutant>) {
    return failures_of(10, [](auto& team) {
      auto w = make_window<int>(team, 2);
      pgas::sync_wait(team, put_in_fences<Mutant>(team, w, 5));
    });
  };
  CHECK(failures(std::type_identity<requests_mutants::none>{}) == 0);
  CHECK(failures(std::type_identity<requests_mutants::no_publish>{}) != 0);
  CHECK(failures(std::type_identity<requests_mutants::no_meeting>{}) != 0);
  CHECK(failures(std::type_identity<requests_mutants::no_refresh>{}) != 0);
}

TEST_CASE("async: exposures, notified halos and messages are awaited beside each other") {
  everywhere(
      [](auto& team) {
        auto const n = 4 * static_cast<std::size_t>(team.size());
        pgas::halo const around{.width = 1, .edges = pgas::edge::periodic};
        auto a = pgas::make_array<int>(team, n, around);
        auto b = pgas::make_array<int>(team, n, around);
        auto halos = pgas::make_notified_halo(a);
        auto w = make_window<int>(team, 3);
        auto const work = [&]() -> task<> {
          if constexpr (pgas::mailbox_backend<typename std::remove_cvref_t<decltype(team)>::backend_type>) {
            auto m = pgas::make_messenger(team, {.budget = 40'000});
            co_await pgas::when_all(exchange(team, a, b, halos, 6), expose(team, w, 6),
                                    send_messages(team, m, 6), receive_messages(team, m, 6));
            team.barrier();
          } else {
            co_await pgas::when_all(exchange(team, a, b, halos, 6), expose(team, w, 6));
          }
        };
        pgas::sync_wait(team, work());
      },
      {1, 2, 3});
}

TEST_CASE("async: a save goes on beside other work, with the cells that the array had at the call") {
  temporary_folder const folder;
  everywhere<std::tuple<self_model, thread_model, process_model, loopback_model, write_back_model>>(
      [&](auto& team) {
        auto a = pgas::make_array<int>(team, {20, 30});
        auto const fill = [&](int value) {
          auto const own = pgas::stage(a, pgas::write_only);
          for (std::size_t i = 0; i < a.own_box().count[0]; ++i)
            for (std::size_t j = 0; j < 30; ++j) own(i, j) = value + static_cast<int>(j);
        };
        auto const check = [&](std::filesystem::path const& path, int value) {
          auto back = pgas::make_array<int>(team, {20, 30});
          pgas::load(back, path);
          auto const own = pgas::stage(back, pgas::read_only);
          for (std::size_t i = 0; i < back.own_box().count[0]; ++i)
            require_equal(own(i, 29), value + 29, "a cell of the file");
        };
        auto const save = [&](std::filesystem::path const& path, int value) -> task<> {
          fill(value);
          auto saved = pgas::start_save(a, path);
          fill(-1);
          co_await std::move(saved);
          check(path, value);
        };
        auto const work = [&]() -> task<> {
          co_await save(folder.path / "first.npy", 100);
          co_await save(folder.path / "first.npy", 200);
          // Two at once, and their ends in another order.
          fill(7);
          auto one = pgas::start_save(a, folder.path / "one.npy");
          fill(8);
          auto two = pgas::start_save(a, {{5, 0}, {10, 30}}, folder.path / "two.npy");
          co_await std::move(two);
          co_await std::move(one);
          check(folder.path / "one.npy", 7);
          auto box = pgas::make_array<int>(team, {10, 30});
          pgas::load(box, folder.path / "two.npy");
        };
        pgas::sync_wait(team, work());
      },
      {1, 2, 3});
}

TEST_CASE("async: a save that fails tells all ranks the same error, and leaves no file") {
  temporary_folder const folder;
  everywhere<std::tuple<thread_model, process_model, loopback_model>>(
      [&](auto& team) {
        auto a = pgas::make_array<int>(team, {20, 30});
        require_error(errc::bad_file, {"save", "missing"},
                      [&] { static_cast<void>(pgas::start_save(a, folder.path / "missing" / "a.npy")); });
        auto const gone = folder.path / "gone";
        if (team.rank() == 0) std::filesystem::create_directory(gone);
        team.barrier();
        auto saved = pgas::start_save(a, gone / "a.npy");
        if (team.rank() == 0) std::filesystem::remove_all(gone);
        require_error(errc::bad_file, {"rank 0: save", "a.npy", "cannot be"}, [&] {
          pgas::sync_wait(team,
                          [](auto request) -> task<> { co_await std::move(request); }(std::move(saved)));
        });
        team.barrier();
        require(!std::filesystem::exists(gone), "no file stays");
        team.barrier();
      },
      {1, 3});
}

TEST_CASE("async: whatever a destroyed task awaits, its end is reached and its memory is free") {
  temporary_folder const folder;
  everywhere(
      [&](auto& team) {
        auto const n = 4 * static_cast<std::size_t>(team.size());
        pgas::halo const around{.width = 1, .edges = pgas::edge::periodic};
        auto a = pgas::make_array<int>(team, n, around);
        auto halos = pgas::make_notified_halo(a);
        auto w = make_window<int>(team, 300);
        int frames = 0;
        for (int turns = 0; turns < 4; ++turns) {
          auto const destroy = [&](auto request) {
            pgas::scheduler tasks(team);
            tasks.spawn(hold(std::move(request), frames));
            for (int i = 0; i < turns; ++i) tasks.progress();
          };
          destroy(pgas::start_barrier(team));
          {
            pgas::fence epoch{w};
            epoch.put(right_of(team), 0, turns);
            destroy(pgas::start_close(std::move(epoch)));
          }
          require_equal(pgas::stage(w, pgas::read_only)[0], turns, "a put of the fence");
          destroy(halos.begin_exchange(a));
          destroy(pgas::begin_exchange(a));
          {
            pgas::exposure exposed{w, {left_of(team)}};
            pgas::access epoch{w, {right_of(team)}};
            epoch.put(right_of(team), 0, turns + 100);
            epoch.close();
            destroy(std::move(exposed));
          }
          require_equal(pgas::stage(w, pgas::read_only)[0], turns + 100, "a put into the exposed part");
          team.barrier();  // before the next puts
          {
            std::vector<int> const values(300, turns);
            pgas::lock_all epoch{w};
            epoch.put(right_of(team), 0, values);
            destroy(pgas::start_flush(epoch, right_of(team)));
            team.barrier();
          }
          if constexpr (pgas::mailbox_backend<typename std::remove_cvref_t<decltype(team)>::backend_type>) {
            auto m = pgas::make_messenger(team, {.budget = 40'000});
            std::vector<int> into(100);
            std::vector<int> const from(100, turns);
            auto const sent = m.start_send(right_of(team), 1, std::as_bytes(std::span(from)));
            auto const taken = m.start_receive(left_of(team), 1, std::as_writable_bytes(std::span(into)));
            destroy(pgas::ended(m, taken));
            require_equal(into[99], turns, "an element of a message");
            m.wait(sent);
            team.barrier();
            auto calls = pgas::make_calls(team);
            int called = 0;
            auto const shared = calls.share(called);
            destroy(calls.call(
                right_of(team), [](int& times) { return ++times; }, shared));
            calls.finish();
            require_equal(called, 1, "calls that have run here");
          }
          if (turns == 2) {
            auto const path = folder.path / "a.npy";
            destroy(pgas::start_save(a, path));
            team.barrier();
            require(std::filesystem::exists(path), "the file has its name");
          }
        }
        require_equal(frames, 0, "frames after the end of their scheduler");
      },
      {1, 3});
}

TEST_CASE("async: a rank that fails is named at the co_await of each end that waits for it") {
  for_each_model<std::tuple<thread_model, process_model, loopback_model, write_back_model>>(
      []<class Model>(Model) {
        for (int what = 0; what < 5; ++what) {
          auto const failure = error_of<Model>(2, [what](auto& team) {
            pgas::halo const around{.width = 1, .edges = pgas::edge::periodic};
            auto a = pgas::make_array<int>(team, 8, around);
            auto halos = pgas::make_notified_halo(a);
            auto w = make_window<int>(team, 2);
            auto work = [&]() -> task<> {
              pgas::fence epoch{w};
              if (what == 0) co_await pgas::start_close(std::move(epoch));
              if (what != 0) epoch.close();
              if (team.rank() == 1) throw std::runtime_error("rank 1 gives up");
              if (what == 0) {
                pgas::fence next{w, pgas::no_precede};
                co_await pgas::start_close(std::move(next));
              }
              if (what == 1) co_await pgas::start_barrier(team);
              if (what == 2) co_await halos.begin_exchange(a);
              if (what == 3) {
                pgas::exposure exposed{w, {1}};
                co_await std::move(exposed);
              }
              if (what == 4) {
                using backend = typename std::remove_cvref_t<decltype(team)>::backend_type;
                if constexpr (pgas::mailbox_backend<backend>) {
                  auto m = pgas::make_messenger(team, {.budget = 40'000});
                  int into = 0;
                  co_await pgas::ended(m, m.start_receive(1, 0, std::as_writable_bytes(std::span(&into, 1))));
                }
                co_await pgas::start_barrier(team);
              }
            };
            pgas::sync_wait(team, work());
            throw std::logic_error("the end was reached without rank 1");
          });
          CHECK_MESSAGE(failure.has_value(), Model::name() << ", end " << what);
          if (failure) CHECK_MESSAGE(failure->rank() == 1, std::string(failure->what()));
        }
      });
}
