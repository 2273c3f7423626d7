// SPDX-License-Identifier: BSL-1.0
// Kills any rank at any moment, and the supervisor too. Each kill gives an error that names the rank, soon,
// and leaves nothing behind.
// test: sleeps, unit kill
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "support/leftovers.hpp"
#include "support/ranks.hpp"

using namespace pgas_test;
using pgas::make_window;

namespace {

constexpr rank_t ranks = 3;
using team_type = pgas::team<pgas::backends::process_map>;

/// Memory that the test and all ranks share outside of the job: the ranks report there that they have reached
/// the state.
struct scene {
  std::atomic<int> arrived{0};
  std::atomic<::pid_t> process[16]{};
};
class shared_scene {
 public:
  shared_scene()
      : at_(new(::mmap(nullptr, sizeof(scene), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
                scene) {}
  shared_scene(shared_scene const&) = delete;
  shared_scene& operator=(shared_scene const&) = delete;
  ~shared_scene() { ::munmap(at_, sizeof(scene)); }
  scene* operator->() const { return at_; }
  [[nodiscard]] scene* get() const { return at_; }

 private:
  scene* at_;
};

/// A moment in a rank's life. The rank is killed there, while the others are in the state that belongs to it.
struct state {
  char const* name;
  void (*reach)(team_type&, rank_t victim);
};

/// A rank is forked from this test with its crash handlers, which must not report the rank.
void forget_handlers() {
  for (int const signal : {SIGTERM, SIGSEGV, SIGABRT, SIGINT, SIGILL, SIGFPE}) ::signal(signal, SIG_DFL);
}

[[noreturn]] void die() {
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

state const states[] = {
    {"barrier",
     [](team_type& team, rank_t victim) {
       team.barrier();
       if (team.rank() == victim) die();
       for (;;) team.barrier();
     }},
    {"fence",
     [](team_type& team, rank_t victim) {
       auto w = make_window<int>(team, 4);
       for (int round = 0;; ++round) {
         pgas::fence epoch{w};
         epoch.put((team.rank() + 1) % ranks, 0, round);
         if (round == 3 && team.rank() == victim) die();
       }
     }},
    {"start: its target never posts",
     [](team_type& team, rank_t victim) {
       auto w = make_window<int>(team, 4);
       if (team.rank() == victim) die();
       pgas::access epoch{w, {victim}};
       epoch.put(victim, 0, 1);
       epoch.complete();
       team.barrier();
     }},
    {"wait: its origin never completes",
     [](team_type& team, rank_t victim) {
       auto w = make_window<int>(team, 4);
       pgas::exposure exposed{w, {(team.rank() + ranks - 1) % ranks}};
       pgas::access epoch{w, {(team.rank() + 1) % ranks}};
       epoch.put((team.rank() + 1) % ranks, 0, 1);
       if (team.rank() == victim) die();
       epoch.complete();
       exposed.wait();
       team.barrier();
     }},
    {"complete: while its peers wait in a ring",
     [](team_type& team, rank_t victim) {
       auto w = make_window<int>(team, 4);
       for (int round = 0;; ++round) {
         pgas::exposure exposed{w, {(team.rank() + ranks - 1) % ranks}};
         pgas::access epoch{w, {(team.rank() + 1) % ranks}};
         epoch.complete();
         if (round == 20 && team.rank() == victim) die();
         exposed.wait();
       }
     }},
    {"lock_all",
     [](team_type& team, rank_t victim) {
       auto w = make_window<int>(team, 4);
       pgas::lock_all epoch{w};
       static_cast<void>(epoch.fetch_add(0, 0, 1));
       if (team.rank() == victim) die();
       team.barrier();
     }},
    {"accumulate: it may hold the lock of the elements",
     [](team_type& team, rank_t victim) {
       struct large {
         double a, b, c;
         large operator+(large const& o) const { return {a + o.a, b + o.b, c + o.c}; }
       };
       auto w = make_window<large>(team, 1);
       pgas::lock_all epoch{w};
       for (int i = 0; i < 50; ++i) {
         epoch.accumulate(0, 0, large{1, 1, 1});
         if (team.rank() == victim && i == 20) die();
       }
       for (;;) team.barrier();
     }},
    {"put loop",
     [](team_type& team, rank_t victim) {
       auto w = make_window<double>(team, 1000);
       pgas::lock_all epoch{w};
       auto const target = epoch.to((team.rank() + 1) % ranks);
       for (int round = 0;; ++round) {
         for (std::size_t i = 0; i < 1000; ++i) target.put(i, round);
         if (team.rank() == victim && round == 10) die();
         if (team.rank() != victim && round == 1000) break;
       }
       team.barrier();
     }},
    {"get",
     [](team_type& team, rank_t victim) {
       auto w = make_window<double>(team, 100'000);
       std::vector<double> into(100'000);  // before the epoch, since gets may fill it until the epoch ends
       pgas::lock_all epoch{w};
       for (int round = 0;; ++round) {
         epoch.get((team.rank() + 1) % ranks, 0, into);
         if (team.rank() == victim && round == 3) die();
         if (round == 50) break;
       }
       team.barrier();
     }},
    {"computing: the others loop on an element that it will not write",
     [](team_type& team, rank_t victim) {
       auto w = make_window<int>(team, 1);
       pgas::lock_all epoch{w};
       if (team.rank() == victim) {
         ::usleep(20'000);
         die();
       }
       while (epoch.atomic_load(victim, 0) == 0)
         std::this_thread::yield();  // never; only a signal ends the loop
     }},
    {"exit: it has left the last barrier",
     [](team_type& team, rank_t victim) {
       team.barrier();
       if (team.rank() == victim) die();
     }},
    {"make_window",
     [](team_type& team, rank_t victim) {
       for (int i = 0;; ++i) {
         auto w = make_window<double>(team, 1000);
         if (i == 5 && team.rank() == victim) die();
       }
     }},
    {"split",
     [](team_type& team, rank_t victim) {
       for (int i = 0;; ++i) {
         auto sub = team.split(team.rank() % 2);
         if (i == 5 && team.rank() == victim) die();
       }
     }},
    {"start-up",
     [](team_type& team, rank_t victim) {
       if (team.rank() == victim) die();
       auto sub = team.self();
       team.barrier();
     }},
};

bool exists(::pid_t process) { return ::kill(process, 0) == 0; }

}  // namespace

TEST_CASE(
    "kill -9 of each rank in each state: an error names the rank within 3 seconds, and nothing is left "
    "behind") {
  for (auto const& state : states) {
    for (rank_t victim = 0; victim < ranks; ++victim) {
      leftovers const before;
      stopwatch const watch;
      auto const reach = state.reach;
      auto const e = error_of<process_model>(ranks, [reach, victim](auto& team) {
        forget_handlers();
        reach(team, victim);
      });
      std::string const where = std::string(state.name) + ", rank " + std::to_string(victim);
      CHECK_MESSAGE(watch.seconds() < 3.5, where, " took ", watch.seconds(), " s");
      REQUIRE_MESSAGE(e.has_value(), where);
      CHECK_MESSAGE(e->rank() == victim, where, ": ", std::string(e->what()));
      std::string const what = e->what();
      CHECK_MESSAGE(what.find("rank " + std::to_string(victim) + " (process") != std::string::npos, where,
                    ": ", what);
      CHECK_MESSAGE(what.find("signal 9") != std::string::npos, where, ": ", what);
      before.check(where);
    }
  }
}

namespace {

/// A team whose windows have these protocols.
template <class Post, class Lock>
auto with_protocols_of(team_type& team) {
  return team.with<pgas::coherence::coherent, pgas::protocols<pgas::default_fence, Post, Lock>>();
}

/// Kills each rank in a state; the errors of the other ranks name it.
void each_rank_dies(std::string const& name, void (*reach)(team_type&, rank_t)) {
  for (rank_t victim = 0; victim < ranks; ++victim) {
    leftovers const before;
    stopwatch const watch;
    auto const e = error_of<process_model>(ranks, [reach, victim](auto& team) {
      forget_handlers();
      reach(team, victim);
    });
    std::string const where = name + ", rank " + std::to_string(victim);
    CHECK_MESSAGE(watch.seconds() < 3.5, where, " took ", watch.seconds(), " s");
    REQUIRE_MESSAGE(e.has_value(), where);
    CHECK_MESSAGE(e->rank() == victim, where, ": ", std::string(e->what()));
    CHECK_MESSAGE(std::string(e->what()).find("signal 9") != std::string::npos, where, ": ",
                  std::string(e->what()));
    before.check(where);
  }
}

}  // namespace

TEST_CASE("kill -9 of a lock's holder or of a waiting rank: an error names the rank, for every protocol") {
  std::apply(
      []<class... Lock>(Lock...) {
        auto const one = []<class L>(L) {
          each_rank_dies(std::string(L::name) + ", the holder", [](team_type& world, rank_t victim) {
            auto team = with_protocols_of<pgas::default_protocols::post, L>(world);
            auto w = make_window<int>(team, 1);
            if (team.rank() == victim) {
              pgas::lock held{w, 0, pgas::exclusive};
              held.put(0, 0, 1);
              team.barrier();
              ::usleep(20'000);  // the other ranks wait for the lock
              die();
            }
            team.barrier();
            if (team.rank() == (victim + 1) % ranks) {
              pgas::lock wanted{w, 0, pgas::exclusive};
              wanted.put(0, 0, 1);
            } else {
              pgas::lock_all wanted{w};
              wanted.put(0, 0, 1);
            }
            team.barrier();
          });
          each_rank_dies(std::string(L::name) + ", one that waits", [](team_type& world, rank_t victim) {
            auto team = with_protocols_of<pgas::default_protocols::post, L>(world);
            auto w = make_window<int>(team, 1);
            if (team.rank() == victim) {
              team.barrier();
              std::thread([] {
                ::usleep(20'000);
                die();
              }).detach();
              pgas::lock wanted{w, 0, pgas::shared};
              static_cast<void>(wanted.get(0, 0));
              for (;;) ::pause();
            }
            if (team.rank() == (victim + 1) % ranks) {
              pgas::lock held{w, 0, pgas::exclusive};
              held.put(0, 0, 1);
              team.barrier();
              team.barrier();  // the victim never comes here
            } else {
              team.barrier();
              ::usleep(10'000);  // after the victim
              pgas::lock wanted{w, 0, pgas::exclusive};
              wanted.put(0, 0, 1);
            }
          });
        };
        (one(Lock{}), ...);
      },
      target_lock_protocols{});
}

TEST_CASE(
    "kill -9 of a target before its post or of an origin before its complete: an error names the rank, for "
    "every "
    "protocol") {
  std::apply(
      []<class... Post>(Post...) {
        auto const one = []<class P>(P) {
          each_rank_dies(std::string(P::name) + ", the target", [](team_type& world, rank_t victim) {
            auto team = with_protocols_of<P, pgas::default_protocols::lock>(world);
            auto w = make_window<int>(team, 1);
            if (team.rank() == victim) die();
            pgas::access epoch{w, {victim}};
            epoch.put(victim, 0, 1);
            epoch.complete();
            team.barrier();
          });
          each_rank_dies(std::string(P::name) + ", the origin", [](team_type& world, rank_t victim) {
            auto team = with_protocols_of<P, pgas::default_protocols::lock>(world);
            auto w = make_window<int>(team, 1);
            pgas::exposure exposed{w, {(team.rank() + ranks - 1) % ranks}};
            pgas::access epoch{w, {(team.rank() + 1) % ranks}};
            epoch.put((team.rank() + 1) % ranks, 0, 1);
            if (team.rank() == victim) die();
            epoch.complete();
            exposed.wait();
            team.barrier();
          });
        };
        (one(Post{}), ...);
      },
      post_protocols{});
}

TEST_CASE(
    "kill -9 at random moments of a busy program: an error names the rank, and nothing is left behind") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    leftovers const before;
    stopwatch const watch;
    auto const e = error_of<process_model>(ranks, [seed](auto& team) {
      random_source rng(seed);
      rank_t const victim = rng.rank_below(ranks);
      auto const delay = 1000 + rng.below(15'000);
      if (team.rank() == victim) {
        // A thread that kills its process at any moment of the rank's work.
        std::thread([delay] {
          ::usleep(static_cast<::useconds_t>(delay));
          die();
        }).detach();
      }
      for (;;) {
        auto w = make_window<int>(team, 100);
        for (int i = 0; i < 3; ++i) {
          pgas::fence epoch{w};
          epoch.accumulate((team.rank() + 1) % ranks, 5, 1);
        }
        pgas::exposure exposed{w, {(team.rank() + ranks - 1) % ranks}};
        pgas::access epoch{w, {(team.rank() + 1) % ranks}};
      }
    });
    REQUIRE_MESSAGE(e.has_value(), "seed ", seed);
    CHECK_MESSAGE(std::string(e->what()).find("signal 9") != std::string::npos, "seed ", seed, ": ",
                  std::string(e->what()));
    CHECK_MESSAGE(watch.seconds() < 3.5, "seed ", seed, " took ", watch.seconds(), " s");
    before.check("seed " + std::to_string(seed));
  }
}

TEST_CASE("the error for a rank that dies of a signal names the signal") {
  leftovers const before;
  auto const e = error_of<process_model>(2, [](auto& team) {
    forget_handlers();
    if (team.rank() == 1) ::raise(SIGSEGV);
    team.barrier();
  });
  REQUIRE(e.has_value());
  CHECK_MESSAGE(std::string(e->what()).find("signal 11") != std::string::npos, std::string(e->what()));
  before.check("after the signal");
}

TEST_CASE("kill -9 of the supervisor ends every rank, in any state") {
  for (int const how : {0, 1, 2}) {
    leftovers const before;
    shared_scene at;
    ::pid_t const supervisor = ::fork();
    if (supervisor == 0) {
      try {
        scene* const s = at.get();
        pgas::run<pgas::backends::process_map>(ranks, [s, how](auto& team) {
          auto w = make_window<int>(team, 4);
          s->process[team.rank()] = ::getpid();
          ++s->arrived;
          if (how == 0) {
            for (;;) team.barrier();
          } else if (how == 1) {
            if (team.rank() == 0) ::usleep(60'000'000);  // the other ranks sleep in the barrier
            team.barrier();
          } else {
            for (std::atomic<int> spin{0};;) spin.fetch_add(1, std::memory_order_relaxed);  // calls nothing
          }
        });
      } catch (...) {}
      ::_exit(0);
    }
    stopwatch const watch;
    while (at->arrived < ranks && watch.seconds() < 10)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    REQUIRE(at->arrived == ranks);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ::kill(supervisor, SIGKILL);
    ::waitpid(supervisor, nullptr, 0);
    stopwatch const after;
    auto const any_alive = [&] {
      for (rank_t r = 0; r < ranks; ++r) {
        if (!exists(at->process[r])) continue;
        // True if the process is dead, though its new parent may not have reaped it yet.
        std::string const path = "/proc/" + std::to_string(at->process[r].load()) + "/stat";
        char text[512] = {};
        int const fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        if (fd < 0) continue;
        auto const bytes = ::read(fd, text, sizeof text - 1);
        ::close(fd);
        if (bytes > 0 && std::string_view(text).find(") Z") == std::string_view::npos) return true;
      }
      return false;
    };
    while (any_alive() && after.seconds() < 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    CHECK_MESSAGE(!any_alive(), "ranks outlive their supervisor, case ", how);
    for (rank_t r = 0; r < ranks; ++r) {
      if (exists(at->process[r])) ::kill(at->process[r], SIGKILL);
    }
    before.check("after the supervisor");
  }
}

TEST_CASE("a rank that ignores the request to end is killed") {
  leftovers const before;
  stopwatch const watch;
  auto const e = error_of<process_model>(2, [](auto& team) {
    if (team.rank() == 1) die();
    ::signal(SIGTERM, SIG_IGN);
    for (;;) ::pause();
  });
  CHECK((e && e->rank() == 1));
  CHECK(watch.seconds() < 4.5);
  before.check("after the force");
}

TEST_CASE("a thousand fences of 16 ranks on few cores end in time") {
  stopwatch const watch;
  pgas::run<pgas::backends::process_map>(16, [](auto& team) {
    auto w = make_window<int>(team, 16);
    pgas::fence epoch{w};
    for (int round = 0; round < 1000; ++round) {
      epoch.put((team.rank() + round) % 16, static_cast<std::size_t>(team.rank()), round);
      epoch.next();
    }
  });
  MESSAGE("1000 fences of 16 ranks: ", watch.seconds(), " s");
  CHECK(watch.seconds() < 10);
}
