// SPDX-License-Identifier: BSL-1.0
// The checked backend: right and wrong programs in pairs that differ by one call.
// test: addresses, threads in full, lines
#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <pgas/backends/checked.hpp>
#include <pgas/backends/process_map.hpp>
#include <pgas/exchange_halo.hpp>
#include <pgas/options.hpp>
#include <pgas/pgas.hpp>
#include <pgas/user_window.hpp>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <vector>

#include "support/models.hpp"
#include "support/ranks.hpp"

namespace {

using pgas::errc;
using pgas_test::require;
using pgas_test::require_equal;
using pgas_test::require_error;
namespace b = pgas::backends;

static_assert(pgas::mailbox_backend<b::checked<b::process_map>>);
static_assert(pgas::user_memory_backend<b::checked<b::thread_map>>);
static_assert(pgas::scoped_control<b::checked<b::process_map>::control_type>);

/// A sanitizer sees one process, so its build has ranks that are threads only.
namespace lists = pgas_test;
using process_here = lists::PGAS_TEST_LIST::here<lists::process_model>;
using checked_backends = std::conditional_t<std::is_same_v<process_here, lists::process_model>,
                                            std::tuple<b::checked<b::process_map>, b::checked<b::thread_map>>,
                                            std::tuple<b::checked<b::thread_map>>>;

template <class Use>
void on_each(Use const& use) {
  std::apply([&](auto... backend) { (use(backend), ...); },
             []<class... B>(std::type_identity<std::tuple<B...>>) {
               return std::tuple<std::type_identity<B>...>{};
             }(std::type_identity<checked_backends>{}));
}

/// Runs body(team, is_right) on three ranks: the right program ends, and the wrong one is refused in one run
/// with a sentence that has all these pieces.
template <class Body>
void require_race(std::initializer_list<std::string> pieces, Body const& body,
                  std::source_location const& where = std::source_location::current()) {
  on_each([&]<class Backend>(std::type_identity<Backend>) {
    if (!pgas_test::chosen(Backend::name)) return;
    pgas::run<Backend>(3, [&](auto& team) { body(team, true); });
    require_error(
        errc::race, pieces, [&] { pgas::run<Backend>(3, [&](auto& team) { body(team, false); }); }, where);
  });
}

/// A flag in memory that no checker knows: it makes one rank slow, and orders nothing for the program.
class hidden_flag {
 public:
  hidden_flag()
      : at_(static_cast<std::atomic<int>*>(::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                                                  MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  hidden_flag(hidden_flag const&) = delete;
  hidden_flag& operator=(hidden_flag const&) = delete;
  ~hidden_flag() { ::munmap(at_, sizeof(std::atomic<int>)); }
  void set() const { at_->store(1); }
  /// Returns when the flag is set, and clears it.
  void wait() const {
    while (at_->exchange(0) == 0) std::this_thread::yield();
  }

 private:
  std::atomic<int>* at_;
};

/// Memory of three ranks. It outlives a rank that a report ends, while others may still put there.
class parts_of_ranks {
 public:
  [[nodiscard]] std::vector<int>& of(pgas::rank_t rank) { return parts_[static_cast<std::size_t>(rank)]; }

 private:
  std::vector<std::vector<int>> parts_{3, std::vector<int>(10, 0)};
};

/// Runs body(team, memory of this rank) on three ranks in a process of its own. Returns whether the thread
/// sanitizer reports a race.
template <class Body>
bool sanitizer_reports(Body const& body) {
  pid_t const child = ::fork();
  if (child == 0) {
    ::close(STDERR_FILENO);
    try {
      parts_of_ranks parts;
      pgas::run<b::checked<b::thread_map>>(3, [&](auto& team) { body(team, parts.of(team.rank())); });
      std::exit(0);  // the sanitizer makes it 66 if it has reported
    } catch (pgas::error const&) {
      ::_exit(1);
    }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  require(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 66), "the ranks end");
  return WEXITSTATUS(status) == 66;
}

/// Requires that the sanitizer reports body(team, memory, false), and nothing for body(team, memory, true).
template <class Body>
void require_sanitizer_report(Body const& body) {
  if (!pgas::detail::has_thread_sanitizer) return;  // these cases are about that build
  CHECK_FALSE(sanitizer_reports([&](auto& team, std::vector<int>& mine) { body(team, mine, true); }));
  CHECK(sanitizer_reports([&](auto& team, std::vector<int>& mine) { body(team, mine, false); }));
}

}  // namespace

TEST_CASE("thread sanitizer: a store to memory that a rank had before races with a put in the same fence") {
  require_sanitizer_report([](auto& team, std::vector<int>& mine, bool is_right) {
    auto w = pgas::make_window(team, std::span(mine));
    pgas::fence epoch{w};
    epoch.put((team.rank() + 1) % team.size(), 5, 7);
    if (!is_right) mine[5] = 3;
    epoch.close();
    if (is_right) mine[5] = 3;
    team.barrier();
  });
}

TEST_CASE("thread sanitizer: a load of memory that a rank had before needs the wait for a put's signal") {
  require_sanitizer_report([](auto& team, std::vector<int>& mine, bool is_right) {
    auto w = pgas::make_window(team, std::span(mine));
    auto told = pgas::make_signals(w);
    pgas::lock_all epoch{w};
    if (team.rank() == 0) {
      epoch.put(1, 5, 7);
      epoch.flush(1);
      told.signal(epoch, 1);
    } else if (team.rank() == 1) {
      if (is_right) told.wait({.source = 0});
      require(mine[5] == 0 || mine[5] == 7, "a value of the element");
      if (!is_right) told.wait({.source = 0});
    }
    epoch.close();
    team.barrier();
  });
}

TEST_CASE("thread sanitizer: a rank that is slow to wait learns no order that its signal does not promise") {
  require_sanitizer_report([](auto& team, std::vector<int>& mine, bool is_right) {
    // These are relaxed, so they order nothing. Each run is a process of its own, and begins with false.
    static std::atomic<bool> will_wait = false;
    static std::atomic<bool> have_both_come = false;
    auto const wait_for = [](std::atomic<bool> const& flag) {
      while (!flag.load(std::memory_order_relaxed)) std::this_thread::yield();
    };
    auto w = pgas::make_window(team, std::span(mine));
    auto told = pgas::make_signals(w);
    pgas::lock_all epoch{w};
    if (team.rank() == 0) {
      wait_for(will_wait);
      for (int i = 0; i < 2; ++i) {
        epoch.put(1, static_cast<std::size_t>(i), 7);
        epoch.flush(1);
        told.signal(epoch, 1);
      }
      have_both_come.store(true, std::memory_order_relaxed);
    } else if (team.rank() == 1) {
      will_wait.store(true, std::memory_order_relaxed);
      wait_for(have_both_come);
      told.wait({.source = 0}, is_right ? 2 : 1);
      require_equal(mine[1], 7, "the second put");
      if (!is_right) told.wait({.source = 0});
    }
    epoch.close();
    team.barrier();
  });
}

TEST_CASE("checked: two ranks that put to one element in one fence are named, with both lines") {
  require_race({"the put of rank", "the put of rank",
                "checked_test.cpp:", "element 5 of rank 0's part of window 0", "end the epoch of the first"},
               [](auto& team, bool is_right) {
                 auto w = pgas::make_window<int>(team, 10);
                 pgas::fence epoch{w};
                 epoch.put(0, is_right ? static_cast<std::size_t>(team.rank()) : 5, team.rank());
               });
}

TEST_CASE("checked: two ranks that put to one element of memory that a rank had before are named") {
  for (auto const how : {pgas::reach::in_place_or_copies, pgas::reach::copies}) {
    parts_of_ranks parts;
    require_race({"the put of rank", "checked_test.cpp:", "element 5 of rank 0's part of window 0"},
                 [how, &parts](auto& team, bool is_right) {
                   auto& mine = parts.of(team.rank());
                   auto w = pgas::make_window(team, std::span(mine), how);
                   pgas::fence epoch{w};
                   epoch.put(0, is_right ? static_cast<std::size_t>(team.rank()) : 5, team.rank());
                   epoch.close();
                   team.barrier();
                   if (is_right && team.rank() == 0) require_equal(mine[2], 2, "the put of rank 2");
                   team.barrier();
                 });
  }
}

TEST_CASE("checked: a get of memory that a rank had before needs order after a put, and an accumulate none") {
  parts_of_ranks parts;
  require_race({"the get of rank 2", "the put of rank 1", "rank 0's part"}, [&](auto& team, bool is_right) {
    auto& mine = parts.of(team.rank());
    std::vector<int> into(10, 0);
    auto w = pgas::make_window(team, std::span(mine), pgas::reach::in_place_or_copies);
    pgas::lock_all epoch{w};
    epoch.accumulate(0, 9, 1);
    if (team.rank() == 1) epoch.put(0, 0, std::span<int const>(into).first(4));
    if (is_right) {
      epoch.flush(0);
      team.barrier();
    }
    if (team.rank() == 2) epoch.get(0, 0, std::span(into).first(9));
    epoch.flush_all();
    epoch.close();
    team.barrier();
    if (is_right && team.rank() == 0) require_equal(mine[9], 3, "the sum");
    team.barrier();
  });
}

TEST_CASE("checked: an own store needs a fence before another rank gets it") {
  require_race({"store", "get", "element 3 of rank 1's part"}, [](auto& team, bool is_right) {
    auto w = pgas::make_window<double>(team, 10);
    if (!is_right) pgas::fence(w).close();
    if (team.rank() == 1) w.local()[3] = 1.5;
    pgas::fence epoch{w};
    if (!is_right && team.rank() == 1) w.local()[3] = 2.5;
    if (team.rank() == 0) static_cast<void>(epoch.get(1, 3));
  });
}

TEST_CASE("checked: a load after the fence of a put is in order, and one before it is not") {
  require_race({"put", "load", "element 7 of rank 2's part"}, [](auto& team, bool is_right) {
    auto w = pgas::make_window<int>(team, 10);
    int seen = 0;
    {
      pgas::fence epoch{w};
      if (team.rank() == 0) epoch.put(2, 7, 1);
      if (!is_right && team.rank() == 2) seen = pgas::stage(w, 7, 1, pgas::read_only)[0];
    }
    if (is_right && team.rank() == 2) {
      seen = pgas::stage(w, 7, 1, pgas::read_only)[0];
      require_equal(seen, 1, "the element that was put");
    }
  });
}

TEST_CASE("checked: an exposure orders its origins, and no other rank") {
  require_race({"put", "load", "element 0 of rank 0's part"}, [](auto& team, bool is_right) {
    auto w = pgas::make_window<int>(team, 1);
    std::array<pgas::rank_t, 1> const target{0};
    std::array<pgas::rank_t, 1> const origin{1};
    if (team.rank() == 0) {
      pgas::exposure exposed{w, origin};
      if (is_right) exposed.wait();
      static_cast<void>(static_cast<int>(w.local()[0]));
      if (!is_right) exposed.wait();
    } else if (team.rank() == 1) {
      pgas::access epoch{w, target};
      epoch.put(0, 0, 5);
    }
  });
}

TEST_CASE("checked: exclusive locks order their holders, and shared locks do not") {
  require_race({"put", "element 4 of rank 0's part"}, [](auto& team, bool is_right) {
    auto w = pgas::make_window<int>(team, 10);
    team.barrier();
    if (is_right) {
      pgas::lock epoch{w, 0, pgas::exclusive};
      epoch.put(0, 4, team.rank());
    } else {
      pgas::lock epoch{w, 0, pgas::shared};
      epoch.put(0, 4, team.rank());
    }
    team.barrier();
  });
}

TEST_CASE("checked: a signal about a put needs a flush of the put's target before it") {
  require_race(
      {"the get of rank 2", "the put of rank 0", "rank 0 has sent a signal, but it must flush rank 1"},
      [](auto& team, bool is_right) {
        auto w = pgas::make_window<int>(team, 10);
        pgas::lock_all epoch{w};
        if (team.rank() == 0) {
          epoch.put(1, 7, 1);
          epoch.flush(is_right ? 1 : 2);
        }
        team.barrier();
        if (team.rank() == 2) static_cast<void>(epoch.get(1, 7));
      });
}

TEST_CASE("checked: a rank's own put and get of one element need a flush between them") {
  require_race({"of the same rank", "flush rank 1 between the two"}, [](auto& team, bool is_right) {
    auto w = pgas::make_window<int>(team, 10);
    pgas::lock_all epoch{w};
    if (team.rank() != 0) return;
    epoch.put(1, 7, 1);
    if (is_right) epoch.flush(1);
    static_cast<void>(epoch.get(1, 7));
  });
}

TEST_CASE("checked: accumulates of all ranks are in order, and a put beside them is not") {
  require_race({"accumulate", "put", "make both atomic operations"}, [](auto& team, bool is_right) {
    auto w = pgas::make_window<long>(team, 4);
    pgas::fence epoch{w};
    if (is_right || team.rank() != 1)
      epoch.accumulate(0, 2, 1L);
    else
      epoch.put(0, 2, 1L);
  });
}

TEST_CASE("checked: an atomic store orders what came before it for the rank that loads its value") {
  require_race({"element 3 of rank 1's part"}, [](auto& team, bool is_right) {
    auto w = pgas::make_window<int>(team, 10);
    pgas::lock_all epoch{w};
    if (team.rank() == 0) {
      epoch.put(1, 3, 42);
      epoch.flush(1);
      if (is_right)
        epoch.to(1).atomic_store(0, 1);
      else
        epoch.accumulate(1, 0, 1);
    } else if (team.rank() == 2) {
      while (epoch.to(1).atomic_load(0) == 0) std::this_thread::yield();
      static_cast<void>(epoch.get(1, 3));
    }
  });
}

TEST_CASE("checked: a rank that is slow to wait learns no order that its signal does not promise") {
  hidden_flag const both_sent;
  require_race({"element 1 of rank 0's part"}, [&](auto& team, bool is_right) {
    auto w = pgas::make_window<int>(team, 10);
    auto told = pgas::make_signals(w, 1);
    pgas::lock_all epoch{w};
    team.barrier();
    if (team.rank() == 0) {
      w.local()[0] = 1;
      told.signal(epoch, 1);
      w.local()[1] = 1;
      told.signal(epoch, 1);
      both_sent.set();
    } else if (team.rank() == 1) {
      both_sent.wait();
      told.wait({0});
      static_cast<void>(epoch.get(0, is_right ? 0 : 1));
      told.wait({0});
    }
  });
}

TEST_CASE("checked: a get is no race if its reader looks whether the elements have changed meanwhile") {
  hidden_flag const read;
  require_race({"the put of rank 2 at checked_test.cpp", "the get of rank 1", "element 3 of rank 0's part"},
               [&](auto& team, bool is_right) {
                 auto w = pgas::make_window<int>(team, 8);
                 pgas::lock_all epoch{w};
                 if (team.rank() == 1) {
                   std::array<int, 2> seen{};
                   auto const get = [&] {
                     epoch.get(0, 3, seen);
                     epoch.flush_local(0);
                   };
                   if (is_right) {
                     auto const unread = w.state().segment.copying();
                     get();
                   } else {
                     get();
                   }
                   read.set();
                 } else if (team.rank() == 2) {
                   read.wait();
                   epoch.put(0, 3, 1);
                   epoch.flush(0);
                 }
               });
}
TEST_CASE("checked: the source of a bulk put belongs to it until flush_local") {
  require_race({"has changed the source of its put to rank 1", "flush_local"}, [](auto& team, bool is_right) {
    auto w = pgas::make_window<int>(team, 10);
    std::vector<int> source(4, team.rank());
    pgas::lock_all epoch{w};
    if (team.rank() != 0) return;
    epoch.put(1, 0, std::span<int const>(source));
    if (is_right) epoch.flush_local(1);
    source[2] = 9;
  });
}

TEST_CASE("checked: the destination of a bulk get has its values after flush_local, and not before") {
  require_race({"reads the destination of the get from rank 1"}, [](auto& team, bool is_right) {
    auto w = pgas::make_window<int>(team, 10);
    std::vector<int> into(4, -1);
    pgas::lock_all epoch{w};
    if (team.rank() != 0) return;
    epoch.get(1, 0, std::span<int>(into));
    if (is_right) {
      epoch.flush_local(1);
      require_equal(into, std::vector<int>(4, 0), "the elements that were got");
    }
    epoch.put(2, 0, into[1]);
  });
}

TEST_CASE("checked: the destination of an rget is its own when the request is done") {
  require_race({"writes the destination of the get from rank 1"}, [](auto& team, bool is_right) {
    auto w = pgas::make_window<int>(team, 10);
    std::vector<int> into(4, -1);
    pgas::lock_all epoch{w};
    if (team.rank() != 0) return;
    auto first = epoch.to(1).rget(0, std::span<int>(into));
    if (is_right) first.wait();
    auto second = epoch.to(1).rget(4, std::span<int>(into));
    second.wait();
    first.wait();
  });
}

TEST_CASE(
    "checked: a halo exchange orders the stages around it, and a put into a neighbour's cells does not") {
  require_race({"load", "of rank"}, [](auto& team, bool is_right) {
    auto a = pgas::make_array<double>(team, {12, 12}, pgas::halo{.width = 1});
    for (int step = 0; step < 3; ++step) {
      if (auto const u = pgas::stage(a, pgas::read_write); true) u(0, 0) += 1;
      pgas::exchange_halo(a);
      double const seen = pgas::stage(a, pgas::read_only)(-1, 0);
      require_equal(seen >= 0, true, "a ghost cell");
      if (!is_right && step == 1) {
        pgas::lock_all epoch{a.window()};
        if (team.rank() == 0) epoch.put(1, 14, 1.0);
        if (team.rank() == 1) static_cast<void>(static_cast<double>(a.window().local()[14]));
      }
    }
  });
}

TEST_CASE("checked: collectives and barriers order all ranks, and their memory is no race") {
  on_each([&]<class Backend>(std::type_identity<Backend>) {
    if (!pgas_test::chosen(Backend::name)) return;
    for (pgas::rank_t const ranks : {1, 2, 5}) {
      int const sum = pgas::run<Backend>(ranks, [](auto& team) {
        auto w = pgas::make_window<int>(team, 100);
        int all = 0;
        for (int round = 0; round < 20; ++round) {
          if (auto const mine = pgas::stage(w, pgas::write_only); true)
            std::fill(mine.begin(), mine.end(), round);
          all += team.all_reduce(round);
          std::vector<long> many(3000, round);
          team.broadcast(std::span<long>(many), round % team.size());
          pgas::fence(w).close();
          {
            pgas::fence epoch{w};
            all += epoch.get((team.rank() + 1) % team.size(), 50);
          }
        }
        return team.all_reduce(all);
      });
      require_equal(sum, ranks * (ranks + 1) * 190, "the sum of all rounds");
    }
  });
}

TEST_CASE("checked: more ranks than a record has room for are refused") {
  require_error(errc::unsupported, {"a checked job has at most 64 ranks, not 65"},
                [] { pgas::run<b::checked<b::thread_map>>(65, [](auto&) {}); });
}

TEST_CASE("checked: --pgas-check is for programs whose backends check") {
  auto const status = [](auto backends) {
    std::array<char const*, 4> const arguments{"program", "--pgas-check", "--pgas-ranks", "2"};
    return pgas::run<decltype(backends)>(4, arguments.data(), [](auto& team) { team.barrier(); });
  };
  require_equal(status(pgas::backend_list<b::checked<b::thread_map>>{}), 0, "with a checked backend");
  require_equal(status(pgas::backend_list<b::thread_map>{}), 1, "with another one");
}
