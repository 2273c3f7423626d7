// SPDX-License-Identifier: BSL-1.0
// Costs, counted where they can be: lines and drops on the emulated chip, system calls in a steady state.
// Each number follows from the ranks and the sizes; its comment gives the reason.
// test: lines, unit chip
#include <doctest/doctest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <pgas/backends/scc.hpp>
#include <pgas/exchange_halo.hpp>
#include <pgas/pgas.hpp>
#include <thread>

#include "support/ranks.hpp"

namespace {

using pgas::make_window;
using pgas::rank_t;
using pgas::scc::counters;
using pgas_test::require;
using pgas_test::require_equal;

constexpr std::size_t line_of_chip = 32;  // bytes of a line on the chip
constexpr std::size_t words_in_line = line_of_chip / sizeof(std::uint64_t);

/// The number of lines that `bytes` bytes touch when they begin `first` bytes into a line.
constexpr std::size_t lines_of(std::size_t first, std::size_t bytes) {
  return (first + bytes - 1) / line_of_chip - first / line_of_chip + 1;
}

/// The counts of a core's operations on payload while `act` ran. Control words are counted apart; polls of
/// them are not reported here.
template <class Segment, class Act>
counters during(Segment const& segment, Act&& act) {
  counters const before = segment.counters();
  act();
  counters after = segment.counters();
  after.fills -= before.fills;
  after.reads -= before.reads;
  after.writes -= before.writes;
  after.pushes -= before.pushes;
  after.write_backs -= before.write_backs;
  after.tagged_drops -= before.tagged_drops;
  after.l1_flushes -= before.l1_flushes;
  after.l2_flushes -= before.l2_flushes;
  return after;
}

/// write_through never leaves a modified line in a cache alone. So no flush is needed, and every access is by
/// line.
void require_no_flush(counters const& c) {
  require(c.l1_flushes == 0 && c.l2_flushes == 0 && c.write_backs == 0, "no cache is flushed");
  require(c.reads == 0 && c.writes == 0, "nothing passes the caches piece by piece");
}
void require_moves(counters const& c, std::size_t fills, std::size_t pushes, std::size_t drops) {
  require_no_flush(c);
  require_equal(c.fills, fills, "lines fetched");
  require_equal(c.pushes, pushes, "lines written");
  require_equal(c.tagged_drops, drops, "drops");
}

/// Runs body(team) on several numbers of cores, with memory that does only what it must.
template <class Body>
void counted_on_chip(Body const& body) {
  pgas::scc::with_options const calm{{}};
  for (rank_t const ranks : {2, 3, 5}) pgas::run<pgas::backends::scc>(ranks, body);
}

}  // namespace

TEST_CASE("scc: a fence moves each line that was put once, moves no other, and drops once for each part") {
  counted_on_chip([](auto& team) {
    constexpr std::size_t lines = 4;
    auto w = make_window<std::uint64_t>(team, lines * words_in_line);
    auto const& segment = w.state().segment;
    auto const parts = static_cast<std::size_t>(team.size());
    rank_t const next = (team.rank() + 1) % team.size();
    std::array<std::uint64_t, lines * words_in_line> const values{};
    pgas::fence epoch{w};
    // Each part may have been written, the own one too. A drop is one instruction and covers one part.
    require_moves(during(segment, [&] { epoch.next(); }), 0, 0, parts);
    // A word goes as one line, which the fence pushes out of the write-combining buffer.
    require_moves(during(segment,
                         [&] {
                           epoch.put(next, 0, 1);
                           epoch.next();
                         }),
                  0, 1, parts);
    // Full lines leave the buffer by themselves, each once.
    require_moves(during(segment,
                         [&] {
                           epoch.put(next, 0, values);
                           epoch.next();
                         }),
                  0, lines, parts);
    // The reader fetches each line once, however many of its words it reads.
    auto const own = w.local();
    require_moves(during(segment,
                         [&] {
                           for (std::size_t i = 0; i < values.size(); ++i) {
                             std::uint64_t const value = own[i];
                             require_equal(value, values[i], "element");
                           }
                         }),
                  lines, 0, 0);
  });
}

TEST_CASE("scc: post and start push a line for each target that gets a word, and drop each part once") {
  counted_on_chip([](auto& team) {
    auto w = make_window<std::uint64_t>(team, words_in_line);
    auto const& segment = w.state().segment;
    std::vector<rank_t> others;
    for (rank_t r = 1; r < team.size(); ++r) others.push_back(r);
    if (team.rank() != 0) {
      std::array<rank_t, 1> const origin{0};
      // The post drains nothing, since this rank has stored nothing. The wait drops the own part.
      require_moves(during(segment,
                           [&] {
                             pgas::exposure exposed{w, origin};
                             exposed.wait();
                           }),
                    0, 0, 1);
      return;
    }
    // The first access to each target drops. A put to another target pushes the line before it; the end
    // pushes the last.
    require_moves(during(segment,
                         [&] {
                           pgas::access epoch{w, others};
                           for (rank_t const target : others) epoch.put(target, 0, 1);
                         }),
                  0, others.size(), others.size());
  });
}

TEST_CASE(
    "scc: a lock drops once, and its end pushes the lines that were put: a line fetched, a line written") {
  counted_on_chip([](auto& world) {
    auto team = world.template with<pgas::coherence::write_through>();
    auto w = make_window<std::uint64_t>(team, words_in_line);
    rank_t const last = team.size() - 1;
    if (team.rank() == 0) {
      auto const& segment = w.state().segment;
      // An empty lock epoch costs only the drop, since other ranks may have put to the part.
      require_moves(during(segment, [&] { pgas::lock epoch{w, last, pgas::exclusive}; }), 0, 0, 1);
      require_moves(during(segment,
                           [&] {
                             pgas::lock epoch{w, last, pgas::exclusive};
                             auto const there = epoch.to();
                             there.put(0, there.get(0) + 1);
                             there.put(1, there.get(1) + 1);  // of the same line
                           }),
                    1, 1, 1);
    }
    team.barrier();
  });
}

TEST_CASE(
    "scc: an exchange of halos fetches each row that it sends and pushes it into its ghost rows, line by "
    "line") {
  counted_on_chip([](auto& team) {
    constexpr std::size_t cols = 40;
    constexpr std::size_t own_rows = 3;
    auto const ranks = static_cast<std::size_t>(team.size());
    auto now = pgas::make_array<double>(team, {own_rows * ranks, cols}, pgas::halo{.width = 1});
    {
      auto const cells = pgas::stage(now, pgas::write_only);
      for (std::size_t i = 0; i < own_rows; ++i) std::fill_n(&cells(i, 0), cols, 1.0);
    }
    pgas::exchange_halo(now);
    auto const counted = during(now.window().state().segment, [&] { pgas::exchange_halo(now); });

    // A rank has a neighbour above, below, or both. Rows lie a pitch apart; a part begins on a line.
    bool const above = team.rank() > 0;
    bool const below = team.rank() + 1 < team.size();
    std::size_t const pitch = now.shape().pitch() * sizeof(double);
    std::size_t const first = now.shape().origin() * sizeof(double);
    constexpr std::size_t row = cols * sizeof(double);
    // The own first row goes up into the ghost row behind the neighbour's last row. The own last row goes
    // down likewise.
    std::size_t const fetched =
        (above ? lines_of(first, row) : 0) + (below ? lines_of(first + (own_rows - 1) * pitch, row) : 0);
    std::size_t const pushed =
        (above ? lines_of(first + own_rows * pitch, row) : 0) + (below ? lines_of(first - pitch, row) : 0);
    // The exchange only writes to neighbours, so it drops nothing of theirs; it drops the own ghost rows at
    // once.
    require_moves(counted, fetched, pushed, 1);
  });
}

namespace {

/// From here on, any system call but exit ends this process by SIGSYS.
void forbid_system_calls() {
  std::array<sock_filter, 4> program{{
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_exit},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS},
  }};
  sock_fprog const filter{.len = program.size(), .filter = program.data()};
  require(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
              ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0,
          "the system lets a process forbid itself system calls");
}

/// Returns whether `act` ends without a system call. It runs in a child, which has the windows of this rank.
template <class Act>
bool calls_no_system(Act&& act) {
  ::pid_t const child = ::fork();
  if (child == 0) {
    forbid_system_calls();
    act();
    ::syscall(SYS_exit, 0);
  }
  int status = -1;
  require(::waitpid(child, &status, 0) == child, "the child ends");
  require(WIFEXITED(status) || WTERMSIG(status) == SIGSYS, "the child ends by itself or at a system call");
  return WIFEXITED(status);
}

}  // namespace

TEST_CASE("process_map: accesses, flushes and free locks make no system call") {
  pgas::run<pgas::backends::process_map>(2, [](auto& team) {
    constexpr std::size_t size = 8192;
    constexpr std::size_t rounds = 1000;
    auto w = make_window<std::uint64_t>(team, size);
    std::vector<std::uint64_t> values(size);
    if (team.rank() == 0) {
      pgas::lock_all epoch{w};
      auto const there = epoch.to(1);
      static_cast<void>(there.fetch_add(0, 1));
      require(calls_no_system([&] {
                for (std::size_t i = 0; i < rounds; ++i) {
                  there.put(i, i);
                  there.flush();
                  values[i] = there.get(i);
                  there.put(0, values);
                  there.flush();
                  there.get(0, values);
                  there.accumulate(i, 1);
                  values[i] = there.fetch_add(i, 1);
                  there.atomic_store(i, i);
                  static_cast<void>(there.compare_exchange(i, values[i], i));
                }
              }),
              "accesses and flushes make no system call");
      require(!calls_no_system([] { std::this_thread::yield(); }), "a system call is seen");
    }
    team.barrier();
    if (team.rank() == 0) {
      require(calls_no_system([&] {
                for (std::size_t i = 0; i < rounds; ++i) {
                  pgas::lock epoch{w, 1, pgas::exclusive};
                  epoch.to().put(0, i);
                }
              }),
              "free locks make no system call");
    }
    team.barrier();
  });
}
