// SPDX-License-Identifier: BSL-1.0
// Ranks that wait for each other's locks are found and named, with every protocol, also where several ranks
// hold a lock together; and ranks that only wait long are left alone.
// test: addresses, threads, each way, unit window
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <optional>
#include <pgas/backends/checked.hpp>
#include <pgas/backends/simulated.hpp>
#include <pgas/backends/tile.hpp>
#include <pgas/signals.hpp>
#include <pgas/sync/mailed_locks.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/ranks.hpp"

using namespace pgas_test;
using pgas::exclusive;
using pgas::make_window;
using pgas::shared;

namespace {

using std::chrono::milliseconds;

template <class Lock>
using process_model_with = model<pgas::backends::process_map, pgas::coherence::coherent,
                                 pgas::protocols<pgas::default_fence, pgas::sync::match_vector, Lock>>;

using protocols_to_try = decltype(std::tuple_cat(
    target_lock_protocols{},
    std::tuple<pgas::sync::biased<pgas::sync::two_level<>>, pgas::sync::deferred<pgas::sync::queued>>{}));

/// A job, and the words that its error must have; none: it must end well.
struct job_to_run {
  std::string name;
  std::function<std::optional<pgas::error>()> run;
  std::vector<std::string> words;
};

/// Runs all jobs at once, since a search for a deadlock takes two seconds of sleep.
void run_together(std::vector<job_to_run> const& jobs) {
  std::vector<std::optional<pgas::error>> ends(jobs.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < jobs.size(); ++i) threads.emplace_back([&, i] { ends[i] = jobs[i].run(); });
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    CAPTURE(jobs[i].name);
    std::string const what = ends[i] ? ends[i]->what() : "the job ended well";
    CAPTURE(what);
    CHECK(ends[i].has_value() == !jobs[i].words.empty());
    if (!jobs[i].words.empty() && ends[i]) CHECK(ends[i]->code() == pgas::make_error_code(errc::deadlock));
    for (auto const& word : jobs[i].words) CHECK_MESSAGE(what.find(word) != std::string::npos, word);
  }
}

/// A job on each protocol.
template <class Body>
void with_each_protocol(rank_t ranks, std::vector<std::string> const& words, Body const& body) {
  std::vector<job_to_run> jobs;
  [&]<class... Lock>(std::type_identity<std::tuple<Lock...>>) {
    (jobs.push_back(
         {std::string(Lock::name),
          [&] {
            using named = process_model_with<Lock>;
            using here = PGAS_TEST_LIST::here<process_model>;
            using run_on =
                model<typename here::backend, typename named::coherence, typename named::protocols>;
            return error_of<run_on>(ranks, body);
          },
          words}),
     ...);
  }(std::type_identity<protocols_to_try>{});
  run_together(jobs);
}

/// Opens a lock, and makes sure that it is held, with a deferred protocol, too.
template <class Window, class Kind>
[[nodiscard]] auto held(Window& w, rank_t target, Kind kind) {
  pgas::lock epoch{w, target, kind};
  static_cast<void>(epoch.get(target, 0));
  return epoch;
}

/// While it lives, errors do not look for the lines of calls, which takes long in a program as large as this.
class without_lines {
 public:
  without_lines() : path_(std::getenv("PATH")) { ::setenv("PATH", "/nowhere", 1); }
  without_lines(without_lines const&) = delete;
  without_lines& operator=(without_lines const&) = delete;
  ~without_lines() { ::setenv("PATH", path_.c_str(), 1); }

 private:
  std::string path_;
};

/// Computes longer than a search for a deadlock takes. The job's end by SIGTERM then needs no report.
void compute_long() {
  std::signal(SIGTERM, SIG_DFL);
  std::this_thread::sleep_for(milliseconds(4000));
}

std::vector<std::string> const named_cycle{"rank 0 waits in lock (window 0) for rank 1;",
                                           "rank 1 waits in lock (window 0) for rank 0",
                                           "none of them can go on"};

/// Ranks 0 and 1 each hold their own part, and want the other's. Others compute, and call nothing.
template <auto Own, auto Other>
void lock_crosswise(auto& team) {
  auto w = make_window<int>(team, 1);
  auto const pair = team.split(team.rank() / 2);
  if (team.rank() > 1) return compute_long();
  auto own = held(w, team.rank(), Own);
  pair.barrier();
  auto other = held(w, 1 - team.rank(), Other);
}

using models_that_look = std::tuple<process_model, loopback_model, pool_model, scc_model>;

}  // namespace

TEST_CASE("deadlock: two ranks that share parts and want them alone are named, on every backend") {
  without_lines const quick;
  auto const body = [](auto& team) { lock_crosswise<shared, exclusive>(team); };
  std::vector<job_to_run> jobs;
  auto const on_fibers = [&]<class Backend>(std::type_identity<Backend>) {
    if (!chosen(Backend::name)) return;
    auto const e = error_of<model<Backend>>(2, body);
    run_together({{std::string(Backend::name), [&] { return e; }, named_cycle}});
  };
  for_each_model<models_that_look>([&]<class Model>(Model) {
    if constexpr (std::is_same_v<Model, scc_model>) {
      on_fibers(std::type_identity<typename Model::backend>{});
    } else {
      jobs.push_back({Model::name(), [&] { return error_of<Model>(2, body); }, named_cycle});
      if constexpr (std::is_same_v<Model, process_model>) {
        using checked_model = model<pgas::backends::checked<typename Model::backend>>;
        jobs.push_back({"checked", [&] { return error_of<checked_model>(2, body); }, named_cycle});
      }
    }
  });
  run_together(jobs);
  on_fibers(std::type_identity<pgas::backends::simulated>{});
  on_fibers(std::type_identity<pgas::backends::tile>{});
}

TEST_CASE("deadlock: with every protocol, shared holders of parts are named beside a rank that computes") {
  with_each_protocol(3, named_cycle, [](auto& team) { lock_crosswise<shared, exclusive>(team); });
}

TEST_CASE("deadlock: with every protocol, exclusive holders are named if others want the parts shared") {
  // Not beside a rank that computes: mcs_wp and protocols of messages do not know then who is in the way.
  with_each_protocol(2, named_cycle, [](auto& team) { lock_crosswise<exclusive, shared>(team); });
}

TEST_CASE("deadlock: with every protocol, a rank that holds all parts in lock_all is named") {
  // Not beside a rank that computes: it would answer no mail, and lock_all asks each owner.
  with_each_protocol(
      2, {"rank 0 waits in barrier (team) for rank 1", "rank 1 waits in lock (window 0) for rank 0"},
      [](auto& team) {
        auto w = make_window<int>(team, 1);
        std::optional<pgas::lock_all<typename decltype(w)::state_type>> all;
        if (team.rank() == 0) static_cast<void>(all.emplace(w).get(1, 0));
        team.barrier();
        if (team.rank() == 1) static_cast<void>(held(w, 1, exclusive));
        team.barrier();
      });
}

TEST_CASE("deadlock: with every protocol, a lock_all that waits for an exclusive holder names it") {
  with_each_protocol(
      2, {"rank 0 waits in barrier (team) for rank 1", "rank 1 waits in lock_all (window 0) for rank 0"},
      [](auto& team) {
        auto w = make_window<int>(team, 1);
        std::optional<decltype(held(w, 0, exclusive))> one;
        if (team.rank() == 0) one.emplace(held(w, 1, exclusive));
        team.barrier();
        if (team.rank() == 1) {
          pgas::lock_all all{w};
          static_cast<void>(all.get(1, 0));
        }
        team.barrier();
      });
}

TEST_CASE("deadlock: with every protocol, a rank behind another one in the queue of a part is found") {
  // Rank 0 shares part 0 and waits for rank 2, which stands behind rank 1, which wants the part alone.
  with_each_protocol(3,
                     {"rank 0 waits in lock (window 1) for rank 2", "rank 1 waits in lock (window 0) for",
                      "rank 2 waits in lock (window 0) for", "none of them can go on"},
                     [](auto& team) {
                       auto w = make_window<int>(team, 1);
                       auto other = make_window<int>(team, 1);
                       if (team.rank() == 0) {
                         auto const part = held(w, 0, shared);
                         team.barrier();
                         std::this_thread::sleep_for(milliseconds(200));
                         auto const last = held(other, 2, exclusive);
                       } else if (team.rank() == 1) {
                         team.barrier();
                         auto const part = held(w, 0, exclusive);
                       } else {
                         auto const own = held(other, 2, shared);
                         team.barrier();
                         std::this_thread::sleep_for(milliseconds(100));
                         auto const part = held(w, 0, exclusive);
                       }
                     });
}

TEST_CASE("deadlock: a shared holder is named whatever it waits in, beside a rank that computes") {
  auto const waits_in = [](std::string const& what, auto const& wait) {
    return job_to_run{
        what,
        [&wait] {
          return error_of<PGAS_TEST_LIST::here<process_model>>(3, [&wait](auto& team) {
            auto w = make_window<int>(team, 1);
            auto const pair = team.split(team.rank() / 2);
            auto v = make_window<int>(pair, 1);
            auto signals = pgas::make_signals(v);
            if (team.rank() > 1) return compute_long();
            if (team.rank() == 0) {
              auto const part = held(w, 1, shared);
              pair.barrier();
              wait(pair, v, signals);
            } else {
              pair.barrier();
              auto const part = held(w, 1, exclusive);
            }
          });
        },
        {"rank 0 waits in " + what + " (", " for rank 1", "rank 1 waits in lock (window 0) for rank 0"}};
  };
  auto const barrier = [](auto& pair, auto&, auto&) { pair.barrier(); };
  auto const fence = [](auto&, auto& v, auto&) { pgas::fence epoch{v}; };
  auto const start = [](auto&, auto& v, auto&) {
    pgas::access epoch{v, {1}};
    epoch.put(1, 0, 1);
  };
  auto const exposed = [](auto&, auto& v, auto&) { pgas::exposure epoch{v, {1}}; };
  auto const signal = [](auto&, auto&, auto& signals) { signals.wait({1}); };
  auto const reduce = [](auto& pair, auto&, auto&) { static_cast<void>(pair.all_reduce(1)); };
  auto const started = [](auto& pair, auto&, auto&) {
    std::vector<int> mine(4);
    std::vector<int> sums(4);
    pair.start().all_reduce(mine, sums).wait();
  };
  run_together({waits_in("barrier", barrier), waits_in("fence", fence), waits_in("start", start),
                waits_in("wait", exposed), waits_in("wait for a signal", signal),
                waits_in("all_reduce", reduce), waits_in("all_reduce", started)});
}

TEST_CASE("deadlock: ranks that wait for a holder that computes are left alone, with every protocol") {
  with_each_protocol(4, {}, [](auto& team) {
    auto w = make_window<int>(team, 1);
    auto own = held(w, team.rank(), shared);
    team.barrier();
    // A chain: each rank wants the part of the one before it, and rank 0 computes. Two want part 0.
    if (team.rank() == 0) compute_long();
    if (team.rank() == 0 || team.rank() == 3) own.unlock();
    if (team.rank() != 0) static_cast<void>(held(w, team.rank() == 3 ? 0 : team.rank() - 1, exclusive));
    if (own.is_open()) own.close();
    team.barrier();  // owners answer messages until then
  });
}

TEST_CASE("deadlock: a lock that its holder releases in the middle of a wait is not held any longer") {
  using model_here = PGAS_TEST_LIST::here<process_model>;
  auto const e = error_of<model_here>(3, [](auto& team) {
    auto w = make_window<int>(team, 1);
    auto const even = team.split(team.rank() % 2);
    std::optional<decltype(held(w, 0, shared))> part;
    if (team.rank() != 2) part.emplace(held(w, 0, shared));
    team.barrier();
    if (team.rank() == 1) return compute_long();
    if (team.rank() == 2) static_cast<void>(held(w, 0, exclusive));
    auto const begun = std::chrono::steady_clock::now();
    auto const work = team.state()->backend.while_waiting([&] {
      if (std::chrono::steady_clock::now() - begun > milliseconds(500)) part.reset();
    });
    even.barrier();
  });
  CHECK_MESSAGE(!e.has_value(), std::string(e ? e->what() : ""));
}

TEST_CASE("deadlock: the message of a time-out is a whole sentence where no word names a rank") {
  for_each_model<models_that_look>([]<class Model>(Model) {
    on<Model>(2, [](auto& team) {
      auto& control = team.state()->control;
      auto const wait_in_vain = [&](rank_t acquires) {
        control.wait_until(control.slot(0, 0, 0), [](pgas::word) { return false; },
                           {.operation = "example",
                            .deadline = team.now() + milliseconds(20),
                            .acquires = acquires,
                            .alone = true});
      };
      require_error(errc::timed_out, {"example: this rank waited ", " (team) for another rank: "},
                    [&] { wait_in_vain(pgas::waiting_for::no_part); });
      require_error(errc::timed_out, {" (team) for the lock on rank 1's part: "}, [&] { wait_in_vain(1); });
      team.barrier();
    });
    // On the chip a rank that sleeps holds up all others, and tickets name a rank.
    if constexpr (std::is_same_v<Model, scc_model> || std::is_same_v<Model, pool_model>) return;
    ::setenv("PGAS_TIMEOUT", "0.2", 1);
    auto const late = error_of<Model>(2, [](auto& team) {
      auto w = make_window<int>(team, 1);
      auto const own = held(w, team.rank(), shared);
      team.barrier();
      if (team.rank() == 1) return std::this_thread::sleep_for(milliseconds(600));
      static_cast<void>(held(w, 1, exclusive));
    });
    ::unsetenv("PGAS_TIMEOUT");
    std::string const what = late ? late->what() : "no error";
    CHECK_MESSAGE(what.find("rank 0: lock: this rank waited ") != std::string::npos, Model::name(), ": ",
                  what);
    CHECK_MESSAGE(what.find(" (window 0) for the lock on rank 1's part, longer than PGAS_TIMEOUT allows: ") !=
                      std::string::npos,
                  Model::name(), ": ", what);
  });
}
