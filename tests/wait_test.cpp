// SPDX-License-Identifier: BSL-1.0
// The promises of waiting under each wait_policy.
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <pgas/options.hpp>
#include <pgas/signals.hpp>
#include <thread>

#include "support/ranks.hpp"

using namespace pgas_test;
using pgas::wait_policy;

namespace {

/// Processes if the test may start them, else threads.
using models = std::tuple<process_model, thread_model>;

/// Sets PGAS_WAIT for the jobs that start while it lives.
struct with_policy {
  explicit with_policy(std::string_view name) { ::setenv("PGAS_WAIT", std::string(name).c_str(), 1); }
  with_policy(with_policy const&) = delete;
  with_policy& operator=(with_policy const&) = delete;
  ~with_policy() { ::unsetenv("PGAS_WAIT"); }
};

/// A window whose parts can be locked.
template <class Team>
auto locked_window(Team& team) {
  return pgas::make_window<int>(team, 1);
}

void sleep_ms(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

}  // namespace

TEST_CASE("waiting: a wait sees the value that ends it under each policy, early or late") {
  for (std::string_view const name : pgas::wait_policy_names) {
    CAPTURE(name);
    with_policy const chosen(name);
    everywhere<models>(
        [](auto& team) {
          auto w = locked_window(team);
          auto signals = pgas::make_signals(w);
          w.local()[0] = 0;
          team.barrier();
          for (int round = 0; round < 6; ++round) {
            if (round == 3 && team.rank() == 0)
              sleep_ms(5);  // the other ranks are past the first stage of their wait
            team.barrier();
            pgas::lock epoch{w, 0, pgas::exclusive};
            epoch.put(0, 0, epoch.get(0, 0) + 1);
            if (round == 4 && team.rank() == 0) sleep_ms(5);
          }
          team.barrier();  // no rank wants an exclusive lock any more
          {
            pgas::lock_all epoch{w};
            rank_t const next = (team.rank() + 1) % team.size();
            rank_t const before = (team.rank() + team.size() - 1) % team.size();
            signals.signal(epoch, next);
            signals.wait({before});
          }
          team.barrier();
          pgas::lock epoch{w, 0, pgas::shared};
          require_equal(epoch.get(0, 0), 6 * team.size(), "updates");
        },
        {1, 2, 3, 5});
  }
}

TEST_CASE("waiting: each policy notices a failed rank, a deadline, and ranks that wait for each other") {
  for (std::string_view const name : pgas::wait_policy_names) {
    CAPTURE(name);
    with_policy const policy(name);
    for_each_model<models>([name]<class Model>(Model) {
      auto const failed = error_of<Model>(3, [](auto& team) {
        team.barrier();
        if (team.rank() == 1) {
          sleep_ms(20);
          throw std::runtime_error("lost interest");
        }
        team.barrier();
      });
      REQUIRE_MESSAGE(failed.has_value(), Model::name());
      CHECK(std::string(failed->what()).find("rank 1 threw: lost interest") != std::string::npos);

      on<Model>(2, [](auto& team) {
        auto w = locked_window(team);
        auto signals = pgas::make_signals(w);
        require_error(errc::timed_out, {"wait for a signal"}, [&] {
          signals.wait({1 - team.rank()}, 1,
                       std::chrono::steady_clock::now() + std::chrono::milliseconds(10));
        });
        team.barrier();
      });

      // A second each: one policy that keeps its core and one that does not, on one model.
      if ((name != "spin" && name != "park") || !std::is_same_v<Model, process_model>) return;
      auto const crosswise = error_of<Model>(2, [](auto& team) {
        auto w = locked_window(team);
        pgas::lock own{w, team.rank(), pgas::exclusive};
        team.barrier();
        pgas::lock other{w, 1 - team.rank(), pgas::exclusive};
      });
      REQUIRE_MESSAGE(crosswise.has_value(), Model::name());
      CHECK(crosswise->code() == pgas::make_error_code(errc::deadlock));
    });
  }
}

TEST_CASE("waiting: a rank sleeps in a long wait only if its policy says so") {
  if (!chosen(process_model::backend::name)) return;
  for (std::string_view const name : pgas::wait_policy_names) {
    CAPTURE(name);
    with_policy const policy(name);
    long const sleeps = pgas::run<pgas::backends::process_map>(2, [](auto& team) {
      auto const slept = [] {
        ::rusage usage{};
        ::getrusage(RUSAGE_SELF, &usage);
        return usage.ru_nvcsw;
      };
      team.barrier();
      long const before = slept();
      if (team.rank() == 1) sleep_ms(100);
      team.barrier();
      return slept() - before;
    });
    bool const may_sleep = name == "adaptive" || name == "park";
    CHECK_MESSAGE((sleeps >= 5) == may_sleep, name, ": ", sleeps);  // on a busy machine each wait lasts long
  }
}

TEST_CASE(
    "waiting: the command line and the environment name the policy, and an unknown name is refused with a "
    "sentence") {
  CHECK(pgas::wait_policy_named("park") == wait_policy::park);
  std::string const sentence = "no way to wait is called 'often'; there are adaptive spin yield park";
  {
    with_policy const wrong("often");
    require_error(errc::invalid_argument, {sentence},
                  [] { pgas::run<pgas::backends::process_map>(2, [](auto&) {}); });
  }
  require_error(errc::invalid_argument, {sentence}, [] {
    char const* const words[] = {"program", "--pgas-wait=often"};
    static_cast<void>(pgas::detail::command_line::parse(2, words));
  });
  char const* const words[] = {"program", "--pgas-wait", "yield", "--pgas-ranks", "2"};
  CHECK(pgas::run<pgas::backend_list<pgas::backends::process_map>>(5, words, [](auto&) {
          return std::string_view(std::getenv("PGAS_WAIT")) == "yield" ? 7 : 1;
        }) == 7);
  ::unsetenv("PGAS_WAIT");
}
