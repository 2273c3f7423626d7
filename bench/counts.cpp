// SPDX-License-Identifier: BSL-1.0
// Counts instead of times, ours beside hand-written code: system calls, which this program counts itself, and
// instructions. For those, tools/bench runs it again under callgrind.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <csignal>
#include <cstddef>
#include <pgas/pgas.hpp>

#include "shapes.hpp"
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#endif

namespace {

constexpr std::size_t repetitions = 1000;

/// Tells callgrind to collect the step and nothing else.
template <class Step>
[[gnu::noinline]] void counted_region(Step& step, std::size_t n) {
  for (; n > 0; --n) step();
}

/// Writes one dump of callgrind, with everything collected since the last dump.
inline void dump() {
#if defined(CALLGRIND_DUMP_STATS)
  CALLGRIND_DUMP_STATS;
#endif
}

/// Counts system calls of a child: each traps, is counted, and does nothing.
class system_calls {
 public:
  template <class Step>
  static std::uint64_t of(Step& step, std::size_t n) {
    void* const at = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::runtime_error("no memory to count in");
    count_ = static_cast<std::uint64_t*>(at);
    ::pid_t const child = ::fork();
    if (child == 0) {
      trap();
      counted_region(step, n);
      ::syscall(SYS_exit, 0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    std::uint64_t const counted = *count_;
    ::munmap(at, 4096);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
      throw std::runtime_error("the system does not allow a program to count its calls");
    return counted;
  }

 private:
  static void trap() {
    struct sigaction action {};
    action.sa_handler = [](int) { ++*count_; };
    std::array<sock_filter, 5> program{{
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
        {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, SYS_exit},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_rt_sigreturn},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_TRAP},
    }};
    sock_fprog const filter{.len = program.size(), .filter = program.data()};
    bool const trapped = ::sigaction(SIGSYS, &action, nullptr) == 0 &&
                         ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
    if (!trapped) ::_exit(1);
  }
  static inline std::uint64_t* count_ = nullptr;
};

template <class Team>
class counts {
 public:
  counts(Team& team, bench::raw::lines lines, bool instructions)
      : team_(team),
        lines_(lines),
        instructions_(instructions),
        first_(team.rank() == 0),
        words_(pgas::make_window<std::uint64_t>(team, bench::kib)),
        locked_(pgas::make_window<std::uint64_t>(team, bench::kib)) {}

  void all() {
    with_flush();
    with_lock();
    if (instructions_) together();
  }

 private:
  void with_flush() {
    pgas::lock_all epoch{words_};
    auto const there = epoch.to(1);
    std::uint64_t* const by_hand = words_.part(1).data();
    std::atomic_ref<std::uint64_t> const atomic(by_hand[0]);
    count("put_latency", 8, "", [=] {
      there.put(0, 7);
      there.flush();
    });
    count("put_latency", 8, "store", [=] {
      by_hand[0] = 7;
      bench::forget();
    });
    count("get_latency", 8, "", [=] {
      bench::keep(there.get(0));
      there.flush();
    });
    count("get_latency", 8, "load", [=] {
      bench::keep(by_hand[0]);
      bench::forget();
    });
    count("fop_latency", 8, "", [=] {
      bench::keep(there.fetch_add(0, 1));
      there.flush();
    });
    count("fop_latency", 8, "atomic", [=] { bench::keep(atomic.fetch_add(1, std::memory_order_acq_rel)); });
    count("flag", 0, "", [=] { there.atomic_store(0, 7); });
    count("flag", 0, "store", [=] { atomic.store(7, std::memory_order_release); });
    team_.barrier();
  }

  void with_lock() {
    auto const word = lines_.at(0);
    count("lock_exclusive", 0, "", [this] { pgas::lock epoch{locked_, 1, pgas::exclusive}; });
    count("lock_exclusive", 0, "compare-exchange, store", [=] {
      std::uint64_t seen = 0;
      bench::keep(word.compare_exchange_strong(seen, 1, std::memory_order_acquire));
      word.store(0, std::memory_order_release);
    });
    team_.barrier();
  }

  /// Operations of two ranks. Rank 0 counts after rank 1 has done its part, so that rank 0 never waits.
  void together() {
    {
      pgas::fence epoch{words_};
      after_other("fence", "", [&] { epoch.next(); });
    }
    bench::raw::pair_barrier pair{lines_.at(first_ ? 2 : 3), lines_.at(first_ ? 3 : 2)};
    after_other("fence", "spin on flags", [&] { pair.pass(); });

    for (std::size_t i = 0; i < settled; ++i) {
      if (first_) {
        wait_for_other();
        count_now("access", i, [this] {
          pgas::access epoch{words_, {1}};
          epoch.put(1, 0, 7);
        });
      } else {
        pgas::exposure epoch{words_, {0}};
        epoch.wait();
      }
      team_.barrier();
    }
  }

  template <class Step>
  void after_other(char const* row, char const* way, Step step) {
    for (std::size_t i = 0; i < settled; ++i) {
      if (first_) {
        wait_for_other();
        count_now(row, i, step, way);
      } else {
        step();
      }
      team_.barrier();
    }
  }

  template <class Step>
  void count(char const* row, std::size_t bytes, char const* way, Step step) {
    if (!first_) return;
    if (instructions_) {
      step();
      announce(row, bytes, way, repetitions);
      counted_region(step, repetitions);
      dump();
      return;
    }
    auto const calls = static_cast<double>(system_calls::of(step, repetitions)) / repetitions;
    std::printf(
        R"({"type":"sample","row":"%s","mode":"system calls","bytes":%zu,"unit":"calls","ranks":2,"way":"%s",)"
        R"("hand_over":[],"seconds":[%g]})"
        "\n",
        row, bytes, way, calls);
  }

  /// The first calls fill caches of look-ups.
  template <class Step>
  void count_now(char const* row, std::size_t i, Step step, char const* way = "") {
    if (i + 1 < settled) return step();
    announce(row, 0, way, 1);
    counted_region(step, 1);
    dump();
  }
  static void announce(char const* row, std::size_t bytes, char const* way, std::size_t n) {
    std::printf(
        R"({"type":"counted","row":"%s","mode":"instructions","bytes":%zu,"way":"%s","times":%zu,"pid":%d})"
        "\n",
        row, bytes, way, n, static_cast<int>(::getpid()));
    std::fflush(stdout);
  }

  /// Lasts until the other rank can only wait, even under valgrind.
  static void wait_for_other() { ::usleep(100'000); }

  static constexpr std::size_t settled = 4;

  Team& team_;
  bench::raw::lines lines_;
  bool instructions_;
  bool first_;
  decltype(pgas::make_window<std::uint64_t>(std::declval<Team&>(), 0)) words_;
  decltype(pgas::make_window<std::uint64_t>(std::declval<Team&>(), 0)) locked_;
};

}  // namespace

int main(int argc, char** argv) {
  bool const instructions = argc > 1 && std::string_view(argv[1]) == "--instructions";
  // By hand the other rank spins. A rank that sleeps would be woken, which is no part of the operation.
  if (instructions) ::setenv("PGAS_WAIT", "spin", 0);
  char const* const none[] = {argv[0]};
  bench::settings const settings(1, const_cast<char**>(none));
  bench::meeting_place const place(settings);
  pgas::run<pgas::backends::process_map>(
      2, [&](auto& team) { counts(team, place.free_lines(), instructions).all(); });
  return 0;
}
