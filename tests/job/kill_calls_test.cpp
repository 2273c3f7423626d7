// SPDX-License-Identifier: BSL-1.0
// A rank that dies with calls, messages or tasks under way is named by all other ranks, soon, and leaves
// nothing behind.
// test: sleeps, unit kill
#include <sys/mman.h>
#include <unistd.h>
#include <pgas/async/calls.hpp>
#include <pgas/async/requests.hpp>
#include <pgas/async/scheduler.hpp>
#include <pgas/async/when_all.hpp>
#include <pgas/backends/process_map.hpp>
#include <pgas/containers/make_messenger.hpp>
#include <pgas/lock_all.hpp>
#include <pgas/signals.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <iostream>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "support/leftovers.hpp"
#include "support/ranks.hpp"

namespace pgas_test::deaths {

using pgas::task;
constexpr rank_t ranks = 3;

/// The errors that the ranks have caught, in memory that they share outside of the job.
class catches {
 public:
  catches()
      : at_(new(::mmap(nullptr, sizeof(texts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
                texts{}) {}
  catches(catches const&) = delete;
  catches& operator=(catches const&) = delete;
  ~catches() { ::munmap(at_, sizeof(texts)); }

  void note(rank_t rank, char const* what) const {
    std::strncpy((*at_)[static_cast<std::size_t>(rank)].data(), what, 499);
  }
  [[nodiscard]] std::string of(rank_t rank) const { return (*at_)[static_cast<std::size_t>(rank)].data(); }

 private:
  using texts = std::array<std::array<char, 500>, ranks>;
  texts* at_;
};

[[noreturn]] void die() {
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

/// The number of steps after which this process dies; -1: never.
int steps_left = -1;
void step() {
  if (steps_left >= 0 && steps_left-- == 0) die();
}

/// A function that calls the next rank, until its depth is used; each is a step of its rank.
struct relay {
  template <class Site>
  pgas::call_request<int> operator()(Site& site, int depth) const {
    step();
    rank_t const next = (site.rank() + 1) % site.size();
    if (depth == 0) return site.call(next, [] { return 1; });
    return site.call(next, relay{}, depth - 1).then([](int x) { return x + 1; });
  }
};

/// Calls without an end, whose functions call further ones, and floods beside them.
struct calling {
  static constexpr auto name = "calls";
  template <class Team>
  static void carry_out(Team& team) {
    auto calls = pgas::make_calls(team, {.message_bytes = 64 * 1024});
    team.barrier();
    for (int i = 0;; ++i) {
      step();
      auto request = calls.call((team.rank() + 1) % team.size(), relay{}, i % 7);
      for (int k = 0; k < 20; ++k)
        calls.send((team.rank() + 2) % team.size(), [](std::span<pgas::word const>) { step(); },
                   std::vector<pgas::word>(i % 5 == 0 ? 700U : 2U));
      if (i % 3 != 0) request.wait();
    }
  }
};
/// Messages of all lengths, within a budget that holds some back.
struct sending {
  static constexpr auto name = "messages";
  template <class Team>
  static void carry_out(Team& team) {
    auto m = pgas::make_messenger(team, {.budget = 40'000});
    std::vector<std::byte> const text(9000);
    std::vector<std::byte> into(9000);
    team.barrier();
    for (pgas::word i = 0;; ++i) {
      std::vector<pgas::message_request> all;
      for (rank_t to = 0; to < team.size(); ++to) {
        step();
        all.push_back(m.start_send(to, i % 3, std::span(text).first(i * 97 % 9000)));
      }
      for (rank_t from = 0; from < team.size(); ++from) m.receive(from, i % 3, into);
      for (auto const which : all) m.wait(which);
    }
  }
};
/// Tasks that await signals, gets, collectives and calls.
struct awaiting {
  static constexpr auto name = "tasks";
  template <class Team, class Epoch, class Signals>
  static task<> signal_around(Team& team, Epoch& epoch, Signals& s, std::size_t tag) {
    for (;;) {
      step();
      std::array<int, 100> values{};
      co_await epoch.rget((team.rank() + 1) % team.size(), 0, std::span(values));
      s.signal(epoch, (team.rank() + 1) % team.size(), tag);
      co_await pgas::arrival(s, {(team.rank() + team.size() - 1) % team.size(), tag});
    }
  }
  template <class Team>
  static task<> meet(Team& team) {
    for (;;) {
      step();
      co_await pgas::start_barrier(team);
    }
  }
  template <class Team, class Calls>
  static task<> call_around(Team& team, Calls& calls) {
    for (;;) co_await calls.call((team.rank() + 1) % team.size(), relay{}, 2);
  }
  template <class Team>
  static void carry_out(Team& team) {
    auto w = pgas::make_window<int>(team, 100);
    auto s = pgas::make_signals(w, 2);
    auto calls = pgas::make_calls(team);
    pgas::lock_all epoch{w};
    team.barrier();
    pgas::sync_wait(team, all_of(team, epoch, s, calls));
  }
  template <class Team, class Epoch, class Signals, class Calls>
  static task<> all_of(Team& team, Epoch& epoch, Signals& s, Calls& calls) {
    co_await pgas::when_all(signal_around(team, epoch, s, 0), signal_around(team, epoch, s, 1), meet(team),
                            call_around(team, calls));
  }
};

template <class Program>
void all_name_it() {
  leftovers const before;
  int runs = 0;
  double longest = 0;
  for (rank_t victim = 0; victim < ranks; ++victim) {
    for (int const steps : {0, 1, 7, 40, 300}) {
      catches const caught;
      stopwatch const watch;
      auto const e = error_of<process_model>(ranks, [&caught, victim, steps](auto& team) {
        for (int const signal : {SIGTERM, SIGSEGV, SIGABRT, SIGINT}) ::signal(signal, SIG_DFL);
        steps_left = team.rank() == victim ? steps : -1;
        try {
          Program::carry_out(team);
        } catch (std::exception const& what) {
          caught.note(team.rank(), what.what());
          throw;
        }
      });
      ++runs;
      longest = std::max(longest, watch.seconds());
      std::string const where = std::string(Program::name) + ", rank " + std::to_string(victim) + " after " +
                                std::to_string(steps) + " steps";
      REQUIRE_MESSAGE(e.has_value(), where);
      for (rank_t r = 0; r < ranks; ++r) {
        std::string const what = r == victim ? e->what() : caught.of(r);
        CHECK_MESSAGE(what.find("rank " + std::to_string(victim)) != std::string::npos, where, ": rank ", r,
                      " says: ", what);
        CHECK_MESSAGE(what.find("signal 9") != std::string::npos, where, ": rank ", r, " says: ", what);
      }
    }
  }
  CHECK_MESSAGE(longest < 3.5, "the longest run took ", longest, " s");
  before.check(std::string("after the ") + Program::name);
  std::cout << "covered: " << runs << " deaths with " << Program::name << " under way, the longest took "
            << longest << " s\n";
}

TEST_CASE("calls: a rank that is killed with calls under way is named by all others, soon") {
  if (chosen(process_model::backend::name)) all_name_it<calling>();
}

TEST_CASE("messenger: a rank that is killed with messages under way is named by all others, soon") {
  if (chosen(process_model::backend::name)) all_name_it<sending>();
}

TEST_CASE("async: a rank that is killed with tasks under way is named by all others, soon") {
  if (chosen(process_model::backend::name)) all_name_it<awaiting>();
}

}  // namespace pgas_test::deaths
