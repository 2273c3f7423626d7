// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <pgas/pgas.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "raw.hpp"

/// Rows that compare ours with baselines in one run.
///
/// All contenders of a row run in the same ranks on the same memory. They take turns, repetition by
/// repetition, so that disturbances by the machine hit all alike. The ratio is formed within a repetition. In
/// rows of two and more ranks, every repetition first measures a line hand-over. The host of a virtual
/// machine moves its cores every few seconds, near to each other or far apart. So only repetitions of one
/// placement are compared. A repetition is made again, up to a bound, if the system took the core from a
/// rank. Ranks that share cores lose them all the time, so their repetitions stand.
namespace bench {

struct options {
  bool quick = false;
  std::string json;  ///< lines are appended; empty: none
  int repetitions = 201;
  double sample_seconds = 0.5e-3;

  options(int argc, char** argv) {
    if (char const* path = std::getenv("PGAS_BENCH_JSON")) json = path;
    for (int i = 1; i < argc; ++i) {
      std::string_view const argument = argv[i];
      if (argument == "--quick") {
        quick = true;
        repetitions = 61;
        sample_seconds = 0.2e-3;
      } else if (argument == "--json" && i + 1 < argc) {
        json = argv[++i];
      } else {
        std::fprintf(stderr, "usage: %s [--quick] [--json FILE]\n", argv[0]);
        std::exit(2);
      }
    }
  }
};

/// The cores that this process may use, read before any rank is pinned.
inline std::vector<int> allowed_cores() {
  ::cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &set)) cores.push_back(core);
    }
  }
  return cores;
}

inline bool pin_to(int core) {
  ::cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  return ::sched_setaffinity(0, sizeof set, &set) == 0;
}

struct spread {
  double median = 0;
  double p10 = 0;
  double p90 = 0;

  explicit spread(std::vector<double> values = {}) {
    if (values.empty()) return;
    std::sort(values.begin(), values.end());
    auto const at = [&](double q) {
      return values[static_cast<std::size_t>(std::lround(q * static_cast<double>(values.size() - 1)))];
    };
    median = at(0.5);
    p10 = at(0.1);
    p90 = at(0.9);
  }
};

/// The description and the target of a row.
struct row {
  std::string name;
  double target = 0;          // largest ratio of ours to the best baseline; 0: reported without a verdict
  double per_call = 1;        ///< operations in one iteration, to print the time of one
  double baseline_times = 1;  // number of baseline operations that make a fair equal of one of ours
};

/// One way to do the work: called on every rank with the number of iterations, timed on rank 0.
struct contender {
  std::string name;
  std::function<void(std::size_t)> run;
};

namespace detail {

inline std::string machine() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown processor";
}

inline std::string compiler() {
#if defined(__clang__)
  return std::string("clang++ ") + __clang_version__;
#else
  return std::string("g++ ") + __VERSION__;
#endif
}

inline std::string date() {
  std::array<char, 32> text{};
  std::time_t const now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

inline std::string_view level() {
  constexpr std::array<std::string_view, 4> names{"none", "light", "normal", "heavy"};
  return names[static_cast<std::size_t>(pgas::assertions)];
}

inline std::string quoted(std::string_view text) {
  std::string all(1, '"');
  for (char c : text) {
    if (c == '"' || c == '\\') all += '\\';
    if (static_cast<unsigned char>(c) >= ' ') all += c;
  }
  all += '"';
  return all;
}

inline std::string json(spread const& s) {
  std::array<char, 128> text{};
  std::snprintf(text.data(), text.size(), R"({"median":%.4g,"p10":%.4g,"p90":%.4g})", s.median, s.p10, s.p90);
  return text.data();
}

inline void append(options const& o, std::string const& line) {
  if (o.json.empty()) return;
  if (std::FILE* const file = std::fopen(o.json.c_str(), "a")) {
    std::fprintf(file, "%s\n", line.c_str());
    std::fclose(file);
  } else {
    std::fprintf(stderr, "bench: %s cannot be written\n", o.json.c_str());
  }
}

}  // namespace detail

/// One rank's side of a benchmark: measures rows. All ranks measure the same rows in the same order.
template <class Team>
class bencher {
 public:
  bencher(Team& team, options const& o, std::string_view program, std::vector<int> const& cores)
      : team_(&team),
        options_(&o),
        program_(program),
        cores_(cores.size()),
        shared_(pgas::make_window<std::uint64_t>(team, words)) {
    pinned_ = !cores.empty() && pin_to(cores[static_cast<std::size_t>(team.rank()) % cores.size()]);
    lines_ = raw::lines(shared_.part(0).data());
  }

  [[nodiscard]] Team& team() const noexcept { return *team_; }
  [[nodiscard]] bool quick() const noexcept { return options_->quick; }
  [[nodiscard]] bool oversubscribed() const noexcept {
    return static_cast<std::size_t>(team_->size()) > cores_;
  }

  /// Measures `ours` against the best of the baselines and prints the row on rank 0.
  void compare(row const& what, contender const& ours, std::initializer_list<contender> baselines) {
    std::vector<contender const*> all{&ours};
    for (auto const& b : baselines) all.push_back(&b);
    auto const iterations = choose_iterations(all);

    repetitions got;
    got.times.resize(all.size());
    std::vector<std::size_t> order(all.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    int const most = 4 * options_->repetitions;
    for (int attempt = 0, calm = 0; attempt < most && calm < options_->repetitions; ++attempt) {
      long const before = interruptions();
      if (has_pair()) got.hand_overs.push_back(hand_over());
      shuffle(order);
      for (std::size_t const who : order) {
        got.times[who].push_back(timed(*all[who], iterations[who]) / static_cast<double>(iterations[who]) /
                                 what.per_call);
      }
      bool const interrupted = any_rank(interruptions() != before) && !oversubscribed();
      got.interrupted.push_back(interrupted);
      if (!interrupted) ++calm;
    }
    if (team_->rank() == 0) tell(what, all, std::move(got));
  }

 private:
  static constexpr std::size_t words = 8 * raw::lines::stride;
  /// One way; longer hand-overs make a row far. On the machine of the first measurements, near was 30 to 60
  /// ns and far 170 to 250.
  static constexpr double far_from = 110e-9;

  struct repetitions {
    std::vector<std::vector<double>> times;  ///< of each contender
    std::vector<double> hand_overs;
    std::vector<bool> interrupted;
  };

  /// The number of times that the system has taken the core from this rank.
  static long interruptions() noexcept {
    ::rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nivcsw;
  }

  /// True if the flag is set on any rank. Collective.
  bool any_rank(bool mine) {
    auto const count = lines_.at(5);
    if (mine) count.fetch_add(1, std::memory_order_relaxed);
    align();
    bool const any = count.load(std::memory_order_relaxed) != 0;
    align();
    if (team_->rank() == 0) count.store(0, std::memory_order_relaxed);
    return any;
  }

  [[nodiscard]] bool has_pair() const noexcept { return team_->size() >= 2 && cores_ >= 2; }

  void align() {
    raw::central_barrier{lines_.at(0), lines_.at(1), static_cast<std::uint64_t>(team_->size())}.pass(
        oversubscribed() ? 40 : 2000);
  }

  /// Returns rank 0's value on every rank.
  double agree(double value) {
    if (team_->rank() == 0)
      lines_.at(2).store(std::bit_cast<std::uint64_t>(value), std::memory_order_relaxed);
    align();
    value = std::bit_cast<double>(lines_.at(2).load(std::memory_order_relaxed));
    align();
    return value;
  }

  /// A new order each time, the same on every rank: the cache contents that a contender leaves affect each of
  /// the others.
  void shuffle(std::vector<std::size_t>& order) {
    for (std::size_t k = order.size(); k > 1; --k) {
      random_ = random_ * 6364136223846793005U + 1442695040888963407U;
      std::swap(order[k - 1], order[(random_ >> 33U) % k]);
    }
  }

  double timed(contender const& c, std::size_t iterations) {
    c.run(1 + iterations / 8);  // finds the caches as it leaves them, not as another contender did
    align();
    auto const before = std::chrono::steady_clock::now();
    c.run(iterations);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
  }

  /// The number of iterations of each contender for which one sample lasts as long as wanted. Also warms up.
  std::vector<std::size_t> choose_iterations(std::vector<contender const*> const& all) {
    std::vector<std::size_t> chosen;
    for (auto const* c : all) {
      std::size_t n = 1;
      for (;;) {
        double best = timed(*c, n);
        for (int again = 0; again < 4; ++again) best = std::min(best, timed(*c, n));
        best = agree(best);
        if (best >= options_->sample_seconds) break;
        double const grow = std::clamp(options_->sample_seconds / std::max(best, 1e-9) * 1.1, 1.2, 16.0);
        n = static_cast<std::size_t>(std::ceil(static_cast<double>(n) * grow));
      }
      chosen.push_back(n);
    }
    return chosen;
  }

  /// Seconds that a line needs from core to core, one way.
  double hand_over() {
    constexpr std::uint64_t rounds = 200;
    auto const there = lines_.at(3);
    auto const back = lines_.at(4);
    there.store(0, std::memory_order_relaxed);
    back.store(0, std::memory_order_relaxed);
    align();
    auto const before = std::chrono::steady_clock::now();
    if (team_->rank() == 0) {
      for (std::uint64_t i = 1; i <= rounds; ++i) {
        there.store(i, std::memory_order_release);
        raw::spin_until(back, i);
      }
    } else if (team_->rank() == 1) {
      for (std::uint64_t i = 1; i <= rounds; ++i) {
        raw::spin_until(there, i);
        back.store(i, std::memory_order_release);
      }
    }
    double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
    align();
    return seconds / (2.0 * rounds);
  }

  void tell(row const& what, std::vector<contender const*> const& all, repetitions got) {
    // Keeps the calm repetitions of the most frequent placement, or all repetitions if hardly any is calm.
    std::size_t const made = got.interrupted.size();
    auto const calm =
        static_cast<std::size_t>(std::count(got.interrupted.begin(), got.interrupted.end(), false));
    bool const restless = calm < 8;
    double const usual = spread(got.hand_overs).median;
    auto const keeps = [&](std::size_t i) {
      bool const same =
          got.hand_overs.empty() || (got.hand_overs[i] > usual / 1.6 && got.hand_overs[i] < usual * 1.6);
      return same && (restless || !got.interrupted[i]);
    };
    std::string_view const placement = got.hand_overs.empty() ? "-" : usual > far_from ? "far" : "near";
    std::vector<std::vector<double>> times(all.size());
    for (std::size_t k = 0; k < all.size(); ++k) {
      for (std::size_t i = 0; i < made; ++i) {
        if (keeps(i)) times[k].push_back(got.times[k][i]);
      }
    }
    std::size_t const kept = times[0].size();
    auto const& hand_overs = got.hand_overs;
    for (std::size_t k = 1; k < times.size(); ++k) {
      for (double& t : times[k]) t *= what.baseline_times;
    }
    std::size_t best = 1;
    for (std::size_t k = 2; k < times.size(); ++k) {
      if (spread(times[k]).median < spread(times[best]).median) best = k;
    }
    std::vector<double> ratios;
    for (std::size_t i = 0; i < times[0].size(); ++i) ratios.push_back(times[0][i] / times[best][i]);
    spread const ours(times[0]);
    spread const base(times[best]);
    spread const ratio(ratios);
    spread const one_way(hand_overs);
    double const of_lows = ours.p10 / base.p10;
    // Noise only adds time, so the smaller of the two is nearer to the truth.
    double const judged = std::min(ratio.median, of_lows);
    std::string_view const verdict = what.target <= 0 ? "" : judged <= what.target ? "ok" : "BEHIND";

    double const unit = ours.median < 1e-6 ? 1e-9 : ours.median < 1e-3 ? 1e-6 : 1e-3;
    char const* const unit_name = unit < 5e-9 ? "ns" : unit < 5e-6 ? "us" : "ms";
    std::printf("%-34s %2d %8.3f [%8.3f..%8.3f] %8.3f [%8.3f..%8.3f] %s  %6.3f [%5.2f..%5.2f] %6.3f ",
                what.name.c_str(), team_->size(), ours.median / unit, ours.p10 / unit, ours.p90 / unit,
                base.median / unit, base.p10 / unit, base.p90 / unit, unit_name, ratio.median, ratio.p10,
                ratio.p90, of_lows);
    if (what.target > 0) {
      std::printf("%6.3f %-6s", what.target, verdict.data());
    } else {
      std::printf("%6s %-6s", "-", "");
    }
    if (hand_overs.empty()) {
      std::printf("  -");
    } else {
      std::printf("  %s %.0f ns", placement.data(), one_way.median * 1e9);
    }
    if (kept < made) std::printf(" (%zu of %zu)", kept, made);
    if (restless) std::printf(" restless");
    std::printf("  vs %s", all[best]->name.c_str());
    std::printf("\n");
    std::fflush(stdout);

    std::string line = R"({"type":"row","program":)" + detail::quoted(program_) + R"(,"row":)" +
                       detail::quoted(what.name) + R"(,"ranks":)" + std::to_string(team_->size()) +
                       R"(,"pinned":)" + (pinned_ ? "true" : "false") + R"(,"assertions":)" +
                       detail::quoted(detail::level()) + R"(,"repetitions":)" + std::to_string(kept) +
                       R"(,"placement":)" + detail::quoted(placement) + R"(,"hand_over_s":)" +
                       detail::json(one_way) + R"(,"ours_s":)" + detail::json(ours) + R"(,"baselines":{)";
    for (std::size_t k = 1; k < all.size(); ++k) {
      line +=
          std::string(k > 1 ? "," : "") + detail::quoted(all[k]->name) + ":" + detail::json(spread(times[k]));
    }
    line += R"(},"best":)" + detail::quoted(all[best]->name) + R"(,"ratio":)" + detail::json(ratio) +
            R"(,"ratio_of_p10":)" + std::to_string(of_lows) + R"(,"target":)" + std::to_string(what.target) +
            R"(,"verdict":)" + detail::quoted(verdict) + "}";
    detail::append(*options_, line);
  }

  Team* team_;
  options const* options_;
  std::string program_;
  std::size_t cores_;
  std::uint64_t random_ = 1;
  bool pinned_ = false;
  decltype(pgas::make_window<std::uint64_t>(std::declval<Team&>(), 0)) shared_;
  raw::lines lines_;
};

/// Prints the header and runs body(bencher) on `ranks` ranks, once per entry. Returns the exit code of main.
template <class Body>
int run(options const& o, std::string_view program, std::initializer_list<pgas::rank_t> rank_counts,
        Body const& body) {
  auto const cores = allowed_cores();
  std::printf("# %s: %s, %zu cores; %s; assertions %s; %s; ranks pinned to cores in turn; %d repetitions\n",
              std::string(program).c_str(), detail::machine().c_str(), cores.size(),
              detail::compiler().c_str(), std::string(detail::level()).c_str(), detail::date().c_str(),
              o.repetitions);
  std::printf("%-34s %2s %8s [%8s..%8s] %8s [%8s..%8s] %s  %6s [%5s..%5s] %6s %6s %-6s  %s\n", "row", "n",
              "ours", "p10", "p90", "baseline", "p10", "p90", "  ", "ratio", "p10", "p90", "of p10", "target",
              "", "one way");
  std::fflush(stdout);
  detail::append(o, R"({"type":"machine","program":)" + detail::quoted(program) + R"(,"cpu":)" +
                        detail::quoted(detail::machine()) + R"(,"cores":)" + std::to_string(cores.size()) +
                        R"(,"compiler":)" + detail::quoted(detail::compiler()) + R"(,"assertions":)" +
                        detail::quoted(detail::level()) + R"(,"date":)" + detail::quoted(detail::date()) +
                        R"(,"quick":)" + (o.quick ? "true" : "false") + "}");
  try {
    for (pgas::rank_t const ranks : rank_counts) {
      pgas::run<pgas::backends::process_map>(ranks, [&](auto& team) {
        bencher b(team, o, program, cores);
        body(b);
        team.barrier();
      });
    }
  } catch (std::exception const& e) {
    std::fprintf(stderr, "%s: %s\n", std::string(program).c_str(), e.what());
    return 1;
  }
  return 0;
}

/// Keeps the compiler from removing or merging unused results.
template <class T>
void keep(T const& value) {
  asm volatile("" : : "g"(&value) : "memory");
}
inline void forget() { asm volatile("" : : : "memory"); }

}  // namespace bench
