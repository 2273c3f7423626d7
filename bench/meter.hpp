// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sched.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cinttypes>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "meeting_place.hpp"
#include "raw.hpp"
#include "settings.hpp"

/// Rows that several programs measure in the same way: one program of ours, and one for each library it is
/// compared with.
///
/// A meter uses no library. It tells the other ranks when to start and how often through words of a file that
/// all ranks map, so a row costs every library the same: nothing. While rank 0 is timed, idle ranks wait in
/// `rest`, the library's own barrier, since some libraries complete an operation only when the target calls
/// them. `poll` lets the library work while a rank waits outside of it. Time ends a row, not a count: the
/// slowest barrier is 100,000 times slower than the quickest.
///
/// Each row is lines of JSON on rank 0's output: first that it begins, then each way's times, with the time
/// of a line hand-over before and after. The row that began last is the one in which a program crashed or
/// hangs. tools/bench runs the programs in turns, continues after such a row, and compares.
namespace bench {

/// A row's name, the same in each program, and the data to print it.
struct row_key {
  std::string row;            ///< OSU's name without osu_, or IMB's
  std::string mode;           // how it synchronizes: flush, lock, fence, post; empty: irrelevant
  std::size_t bytes = 0;      // of one operation
  double per_call = 1;        ///< operations in one iteration
  char const* unit = "s";     // the unit of the result: s an operation, B/s, op/s
  std::size_t warm_up = 0;    ///< iterations before each timed run, at least
  double sample_seconds = 0;  ///< time of a timed run, if longer than that of the settings

  [[nodiscard]] std::string name() const {
    std::string all = row;
    if (!mode.empty()) all.append("/").append(mode);
    if (bytes != 0) all.append("/").append(std::to_string(bytes));
    return all;
  }
};

/// One way to do the work, called on every rank with the number of iterations. Without a name: the program's
/// own.
struct way {
  std::string_view name;
  std::function<void(std::size_t)> run;
  std::function<double(std::size_t)> timed = {};  // replaces run if only a part counts: returns seconds
  bool is_of_all = false;                         ///< every rank does the whole work
};

class meter {
 public:
  meter(settings const& s, meeting_place const& place, int rank, int ranks, std::function<void()> rest,
        std::function<void()> poll = {})
      : settings_(&s),
        place_(&place),
        rank_(rank),
        ranks_(ranks),
        rest_(std::move(rest)),
        poll_(std::move(poll)) {
    ::cpu_set_t set;
    CPU_ZERO(&set);
    std::vector<int> cores;
    if (::sched_getaffinity(0, sizeof set, &set) == 0) {
      for (int core = 0; core < CPU_SETSIZE; ++core) {
        if (CPU_ISSET(core, &set)) cores.push_back(core);
      }
    }
    cores_ = static_cast<int>(cores.size());
    if (cores.empty()) return;
    CPU_ZERO(&set);
    CPU_SET(cores[static_cast<std::size_t>(rank) % cores.size()], &set);
    ::sched_setaffinity(0, sizeof set, &set);
  }

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int ranks() const noexcept { return ranks_; }
  [[nodiscard]] std::uint64_t keys() const noexcept { return settings_->keys; }
  [[nodiscard]] bool quick() const noexcept { return settings_->quick; }
  [[nodiscard]] bool large() const noexcept { return settings_->large; }
  [[nodiscard]] bool oversubscribed() const noexcept { return ranks_ > cores_; }
  [[nodiscard]] raw::lines free_lines() const noexcept { return place_->free_lines(); }
  /// A word for a row that must tell the other rank something outside of its library.
  [[nodiscard]] raw::word_ref word() const noexcept { return place_->at(6); }

  /// Lets the library work, for ranks that wait outside of it.
  void poll() const {
    if (poll_) poll_();
  }

  /// Returns when all ranks have called it. A rank that waits long polls the library now and then: a message
  /// that a barrier has half sent would else never arrive.
  void align() const {
    auto const arrived = place_->at(0);
    auto const generation = place_->at(1);
    std::uint64_t const before = generation.load(std::memory_order_relaxed);
    if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<std::uint64_t>(ranks_)) {
      arrived.store(0, std::memory_order_relaxed);
      place_->at(7).store(std::bit_cast<std::uint64_t>(now()), std::memory_order_relaxed);
      generation.store(before + 1, std::memory_order_release);
      return;
    }
    int const spins = oversubscribed() ? 40 : 2000;
    for (int i = 0; generation.load(std::memory_order_acquire) == before; ++i) {
      if (i < spins) continue;
      poll();
      ::sched_yield();
    }
  }

  /// The time at which the last rank called align, which has returned.
  [[nodiscard]] double aligned_at() const noexcept {
    // relaxed: written before the release of align's generation. The next call writes it again, and needs
    // this rank.
    return std::bit_cast<double>(place_->at(7).load(std::memory_order_relaxed));
  }

  /// Measures the ways of one row in turn, again and again until the row's time is over. Collective.
  void measure(row_key const& key, std::vector<way> const& ways) {
    if (!wanted(key.name())) return;
    if (settings_->seconds > 0 && agree(now() - began_ < settings_->seconds) == 0) {
      return leave_out(key, "the time of this program was over");
    }
    if (rank_ == 0) begin(key);
    double const before = hand_over();
    auto [iterations, blocks] = cut(key, ways);
    std::vector<std::size_t> order(ways.size() * blocks);
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i % ways.size();
    std::vector<std::vector<double>> times(ways.size());
    std::vector<std::vector<double>> turn(ways.size());
    auto const deadline = now() + settings_->row_seconds;
    for (int repetition = 0; agree(repetition < fewest || (repetition < most && now() < deadline)) != 0;
         ++repetition) {
      shuffle(order);
      for (std::size_t const who : order) {
        auto const& w = ways[who];
        run(w, std::max(key.warm_up, 1 + iterations[who] / 8));
        turn[who].push_back(run(w, iterations[who]) / static_cast<double>(iterations[who]) / key.per_call);
      }
      for (std::size_t who = 0; who < ways.size(); ++who) {
        times[who].push_back(middle(turn[who]));
        turn[who].clear();
      }
    }
    double const after = hand_over();
    if (rank_ == 0) {
      for (std::size_t i = 0; i < ways.size(); ++i) tell(key, ways[i].name, times[i], before, after);
    }
  }

  /// True if all ranks together can have that much more memory; if not, the row reports it. All ranks get the
  /// same answer.
  [[nodiscard]] bool has_memory(row_key const& key, std::size_t bytes) const {
    bool const enough = agree(memory_left() > bytes + bytes / 8) != 0;
    if (!enough) leave_out(key, "the machine has too little free memory");
    return enough;
  }

  /// Reports a row that this program cannot measure, and the reason.
  void leave_out(row_key const& key, std::string_view why) const {
    if (rank_ != 0) return;
    std::printf(R"({"type":"absent","row":"%s","mode":"%s","bytes":%zu,"ranks":%d,"why":"%s"})"
                "\n",
                key.row.c_str(), key.mode.c_str(), key.bytes, ranks_, std::string(why).c_str());
    std::fflush(stdout);
  }

  /// Reports the end: all rows are complete, and a later failure concerns the library's end only.
  void end() const {
    if (rank_ != 0) return;
    std::printf("{\"type\":\"end\"}\n");
    std::fflush(stdout);
  }

 private:
  static constexpr int fewest = 3;
  static constexpr int most = 63;
  static constexpr std::size_t many_blocks = 9;         ///< of each way in a repetition, if they are short
  static constexpr double block_seconds = 0.025e-3;     ///< time of a short one
  static constexpr std::size_t many_iterations = 1000;  ///< of a short one, at least
  /// Time of a run of all ranks where they share cores: its two ends take a turn of each rank.
  static constexpr double shared_seconds = 1e-3;

  /// A row's work in pieces: the iterations of each way's block, and the blocks of each way in a repetition.
  struct pieces {
    std::vector<std::size_t> iterations;
    std::size_t blocks;
  };

  /// Cuts a row into blocks. Where a block of 25 us has a thousand iterations, a repetition has nine of each
  /// way, in an order that is drawn, and the median of nine counts: drift of the clock's rate and single
  /// interrupts meet all ways alike. Blocks are longer where an iteration takes longer, since the first ones
  /// of a block wait for ranks that come late. They are longer, too, where they need a warm-up and where
  /// ranks share cores.
  pieces cut(row_key const& key, std::vector<way> const& ways) const {
    bool is_short = !oversubscribed() && key.warm_up == 0 && ways.size() > 1;
    std::vector<std::size_t> iterations;
    for (auto const& w : ways) {
      if (is_short) iterations.push_back(choose(w, block_seconds));
      is_short = is_short && iterations.back() >= many_iterations;
    }
    if (is_short) return {std::move(iterations), many_blocks};
    iterations.clear();
    for (auto const& w : ways) {
      double const least = w.is_of_all && oversubscribed() ? shared_seconds : settings_->sample_seconds;
      iterations.push_back(choose(w, std::max(key.sample_seconds, least)));
    }
    return {std::move(iterations), 1};
  }

  static double middle(std::vector<double>& values) {
    auto const at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), at, values.end());
    return *at;
  }

  /// True if the row is to be measured. All ranks meet the same rows, so the answer is the same on each.
  bool wanted(std::string const& name) {
    bool const early = !reached_;
    reached_ = reached_ || settings_->after.empty() || settings_->after == name;
    if (early && !settings_->after.empty()) return false;
    return !settings_->skip.contains(name) && (settings_->only.empty() || settings_->only.contains(name));
  }

  void begin(row_key const& key) const {
    std::printf(R"({"type":"begin","row":"%s","mode":"%s","bytes":%zu})"
                "\n",
                key.row.c_str(), key.mode.c_str(), key.bytes);
    std::fflush(stdout);
  }

  /// The bytes that are left to the machine and to the control group of this process.
  static std::uint64_t memory_left() {
    std::uint64_t left = UINT64_MAX;
    std::uint64_t kib = 0;
    char line[128];
    if (std::FILE* const file = std::fopen("/proc/meminfo", "r")) {
      while (std::fgets(line, sizeof line, file) != nullptr) {
        if (std::sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1) left = kib * 1024;
      }
      std::fclose(file);
    }
    std::uint64_t const limit = number_in("/sys/fs/cgroup/memory.max");
    std::uint64_t const used = number_in("/sys/fs/cgroup/memory.current");
    return limit == 0 ? left : std::min(left, limit - std::min(limit, used));
  }
  static std::uint64_t number_in(char const* path) {
    std::uint64_t number = 0;
    if (std::FILE* const file = std::fopen(path, "r")) {
      if (std::fscanf(file, "%" SCNu64, &number) != 1) number = 0;  // "max"
      std::fclose(file);
    }
    return number;
  }

  static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

  /// Returns rank 0's value on every rank.
  std::uint64_t agree(std::uint64_t value) const {
    if (rank_ == 0) place_->at(2).store(value, std::memory_order_relaxed);
    align();
    value = place_->at(2).load(std::memory_order_relaxed);
    align();
    return value;
  }

  /// A new order each time, the same on every rank: the cache contents that a way leaves affect each of the
  /// others.
  void shuffle(std::vector<std::size_t>& order) {
    for (std::size_t k = order.size(); k > 1; --k) {
      random_ = random_ * 6364136223846793005U + 1442695040888963407U;
      std::swap(order[k - 1], order[(random_ >> 33U) % k]);
    }
  }

  double run(way const& w, std::size_t iterations) const {
    align();
    // The time runs from the start of the last rank to the end of the last one: on shared cores, other ranks
    // work before rank 0 has its core, and after its end.
    bool const until_last = w.is_of_all && oversubscribed();
    double const before = until_last ? aligned_at() : now();
    double seconds = 0;
    if (w.timed) {
      seconds = w.timed(iterations);
    } else {
      w.run(iterations);
      if (until_last) align();
      seconds = (until_last ? aligned_at() : now()) - before;
    }
    rest_();
    return seconds;
  }

  /// The number of iterations for which a sample lasts as long as wanted. Also warms up.
  std::size_t choose(way const& w, double length) const {
    std::uint64_t n = 1;
    for (;;) {
      double best = run(w, n);
      // A system call or an interrupt makes one run of a few iterations ten times slower, so the best of
      // three counts. Rank 0 decides whether a run is that short, since only rank 0 measures.
      bool const short_of_it = best > length / 8 && best < length * 8;
      if (agree(short_of_it) != 0) best = std::min({best, run(w, n), run(w, n)});
      double const grow = std::clamp(length / std::max(best, 1e-8) * 1.1, 1.2, 100.0);
      bool const enough = best >= length * 0.8;
      auto const next = enough ? n : static_cast<std::uint64_t>(std::ceil(static_cast<double>(n) * grow));
      auto const agreed = agree(enough ? 0 : next);
      if (agreed == 0) return n;
      n = agreed;
    }
  }

  /// Seconds that a line needs from core to core, one way; 0 if ranks do not have a core each.
  double hand_over() const {
    if (ranks_ < 2 || oversubscribed()) return 0;
    constexpr std::uint64_t rounds = 100;
    auto const there = place_->at(3);
    auto const back = place_->at(4);
    double best = 1;
    for (int again = 0; again < 4; ++again) {  // an interrupt in one of them does not move the cores
      if (rank_ == 0) {
        there.store(0, std::memory_order_relaxed);
        back.store(0, std::memory_order_relaxed);
      }
      align();
      double const before = now();
      for (std::uint64_t i = 1; i <= rounds && rank_ < 2; ++i) {
        if (rank_ == 0) {
          there.store(i, std::memory_order_release);
          raw::spin_until(back, i);
        } else {
          raw::spin_until(there, i);
          back.store(i, std::memory_order_release);
        }
      }
      best = std::min(best, (now() - before) / (2.0 * rounds));
      align();
    }
    return best;
  }

  void tell(row_key const& key, std::string_view way_name, std::vector<double> const& times, double before,
            double after) const {
    std::printf(R"({"type":"sample","row":"%s","mode":"%s","bytes":%zu,"unit":"%s","ranks":%d,"way":"%s",)",
                key.row.c_str(), key.mode.c_str(), key.bytes, key.unit, ranks_,
                std::string(way_name).c_str());
    std::printf(R"("hand_over":[%.4g,%.4g],"seconds":[)", before, after);
    for (std::size_t i = 0; i < times.size(); ++i) std::printf("%s%.5g", i == 0 ? "" : ",", times[i]);
    std::printf("]}\n");
    std::fflush(stdout);
  }

  settings const* settings_;
  meeting_place const* place_;
  int rank_;
  int ranks_;
  int cores_ = 1;
  double began_ = now();
  bool reached_ = false;  ///< the row after which to begin
  std::uint64_t random_ = 1;
  std::function<void()> rest_;
  std::function<void()> poll_;
};

/// The main function of a program whose ranks are the threads of one process: measure(meter, number of
/// ranks).
template <class Measure>
void measure_alone(int argc, char** argv, Measure const& measure) {
  settings const given(argc, argv);
  meeting_place const place(given);
  meter m(given, place, 0, 1, [] {});
  measure(m, given.ranks);
  m.end();
}

/// Keeps the compiler from removing or merging unused results.
template <class T>
void keep(T const& value) {
  asm volatile("" : : "g"(&value) : "memory");
}
inline void forget() { asm volatile("" : : : "memory"); }

}  // namespace bench
