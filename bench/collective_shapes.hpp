// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "shapes.hpp"

/// The rows of collectives: OSU's names without osu_, and IMB's overlap. A library brings the calls.
///
/// Elements are doubles, and reductions add them. Each rank has one buffer for its elements and one for
/// results, in private memory, as in OSU. The root goes round from call to call, as in IMB, so a call begins
/// where the one before has ended. Calls follow each other without a barrier between them. Time ends when
/// all ranks have done all calls.
namespace bench {

enum class collective {
  bcast,
  reduce,
  allreduce,
  scatter,
  gather,
  allgather,
  alltoall,
  reduce_scatter_block,
  scan,
  exscan,
  scatterv,
  gatherv,
  allgatherv,
  alltoallv,
  reduce_scatter,
};
inline constexpr std::size_t collective_count = 15;

inline char const* name_of(collective c) {
  static constexpr std::array<char const*, collective_count> names{
      "bcast",      "reduce",    "allreduce",     "scatter",
      "gather",     "allgather", "alltoall",      "reduce_scatter_block",
      "scan",       "exscan",    "scatterv",      "gatherv",
      "allgatherv", "alltoallv", "reduce_scatter"};
  return names[static_cast<std::size_t>(c)];
}

/// A form in which each rank names counts.
constexpr bool has_counts(collective c) { return c >= collective::scatterv; }
/// The bytes of a row are those of a block, and a rank has a block for each rank.
constexpr bool has_blocks(collective c) {
  return c == collective::scatter || c == collective::gather || c == collective::allgather ||
         c == collective::alltoall || (has_counts(c) && c != collective::reduce_scatter);
}
constexpr bool splits_elements(collective c) {
  return c == collective::reduce_scatter_block || c == collective::reduce_scatter;
}

/// Whether a rank's memory holds so many bytes, and all ranks can share them.
inline bool fits(collective c, std::size_t bytes, int ranks) {
  auto const n = static_cast<std::size_t>(ranks);
  if (has_blocks(c)) return bytes * n <= region;
  return !splits_elements(c) || bytes % (n * sizeof(double)) == 0;
}
/// The sizes in the order of the rows, the most telling ones first. 128 bytes are the shortest that 16 ranks
/// can split.
inline std::vector<std::size_t> collective_sizes(bool quick) {
  if (quick) return {8, 128, 4 * kib, 256 * kib, 1 * mib, 2 * mib, 4 * mib, 8 * mib};
  return {8, 128, 4 * kib, 256 * kib, 1 * mib, 2 * mib, 4 * mib, 8 * mib, 32 * kib, 512};
}
/// Whether a row is measured: few sizes with counts, and of the largest sizes the one that fits.
inline bool is_shown(collective c, std::size_t bytes, int ranks, bool quick) {
  if (!fits(c, bytes, ranks)) return false;
  if (bytes == 128) return splits_elements(c) && (!quick || !has_counts(c));
  if (bytes == 8 && splits_elements(c)) return false;
  if (has_counts(c)) return !quick && (bytes == 8 || bytes == 4 * kib || bytes == 256 * kib);
  if (bytes < 1 * mib || (!quick && bytes == 2 * mib)) return true;
  return bytes == 8 * mib || !fits(c, 2 * bytes, ranks);
}
/// The sizes of the rows whose ranks write their elements before each call, and read the results after it.
inline bool is_shown_touched(collective c, std::size_t bytes, int ranks, bool quick) {
  return ranks == 2 && !has_counts(c) && (bytes == 256 * kib || (!quick && bytes == 8 * mib));
}
/// Bytes of a rank's elements, and of its result.
inline std::size_t bytes_in(collective c, std::size_t bytes, int ranks) {
  bool const is_block = c == collective::gather || c == collective::gatherv || c == collective::allgather ||
                        c == collective::allgatherv;
  return has_blocks(c) && !is_block ? bytes * static_cast<std::size_t>(ranks) : bytes;
}
inline std::size_t bytes_out(collective c, std::size_t bytes, int ranks) {
  if (splits_elements(c)) return bytes / static_cast<std::size_t>(ranks);
  bool const is_block = c == collective::scatter || c == collective::scatterv;
  return has_blocks(c) && !is_block ? bytes * static_cast<std::size_t>(ranks) : bytes;
}
/// Writes, or reads, a word of each line.
inline void write_lines(double* at, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes / sizeof(double); i += 8) at[i] += 1;
  forget();
}
inline void read_lines(double const* at, std::size_t bytes) {
  double sum = 0;
  for (std::size_t i = 0; i < bytes / sizeof(double); i += 8) sum += at[i];
  keep(sum);
}

/// The sizes of the rows of started forms.
inline bool is_shown_started(collective c, std::size_t bytes, bool quick) {
  if (has_counts(c) ||
      (quick && c != collective::bcast && c != collective::allreduce && c != collective::alltoall))
    return false;
  return bytes == 8 || bytes == 4 * kib || bytes == 256 * kib;
}

inline row_key collective_key(std::string name, std::size_t bytes) {
  return {.row = std::move(name), .mode = "", .bytes = bytes, .warm_up = bytes < 256 * kib ? 0U : 1U};
}

/// Computation without memory accesses, in steps of a few nanoseconds.
inline void compute_steps(std::size_t steps) {
  double x = 1;
  for (std::size_t i = 0; i < steps; ++i) {
    x = x * 0.999 + 0.5;
    keep(x);
  }
}

/// IMB's overlap of a started call with a computation of its own time, as the share in percent that is not
/// hidden: 100 - 100 (t_pure + t_CPU - t_overlapped) / min(t_pure, t_CPU). `call()` starts and waits,
/// `call(compute)` computes in between.
template <class Call>
way exposed(meter const& m, std::size_t bytes, Call call) {
  return {"", {}, [&m, bytes, call](std::size_t n) mutable {
            auto const seconds = [&](auto const& body) {
              m.align();
              auto const before = std::chrono::steady_clock::now();
              body();
              return std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
            };
            std::size_t const calls = bytes <= 4 * kib ? 256 : bytes < 1 * mib ? 16 : 4;
            constexpr std::size_t steps = 2000;
            double const a_step = seconds([] { compute_steps(steps); }) / steps;
            double const pure = seconds([&] {
              for (std::size_t i = 0; i < calls; ++i) call([] {});
            });
            auto const work = static_cast<std::size_t>(pure / static_cast<double>(calls) / a_step) + 1;
            double const cpu = seconds([&] {
              for (std::size_t i = 0; i < calls; ++i) compute_steps(work);
            });
            double const both = seconds([&] {
              for (std::size_t i = 0; i < calls; ++i) call([work] { compute_steps(work); });
            });
            double const hidden = std::clamp((pure + cpu - both) / std::min(pure, cpu), 0.0, 1.0);
            // A meter runs what takes no time again, so nothing is 0.1 %.
            return std::max(0.1, 100 * (1 - hidden)) * static_cast<double>(n);
          }};
}

/// All rows of a library: it has `call<C>(bytes, root)`, `start<C>(bytes, root)` which returns a request,
/// `wait(request)`, `barrier()`, `source(c)` and `result()`, its buffers, `has(c)`, `starts(c)`, and
/// `by_hand(c, bytes)`, the ways beside it. It may have `use_symmetric(bool)`, which says whether its buffers
/// lie in memory that all ranks load and store, and `has_symmetric(c)`. A library without private memory has
/// no rows but those.
template <class Library>
class collective_rows {
 public:
  explicit collective_rows(meter& m) : m_(m), library_(m) {}
  template <class Team>
  collective_rows(Team& team, meter& m) : m_(m), library_(team, m) {}

  void all() {
    m_.measure({.row = "barrier", .mode = ""}, {all_of(m_, "", [this] { library_.barrier(); })});
    each_size([&]<collective C>(std::size_t bytes) {
      if (Library::has(C)) blocking<C>(bytes);
    });
    each_size([&]<collective C>(std::size_t bytes) {
      if (Library::has(C) && is_shown_touched(C, bytes, m_.ranks(), rows_are_few())) touched<C>(bytes);
    });
    if constexpr (requires { library_.use_symmetric(true); }) {
      each_size([&]<collective C>(std::size_t bytes) {
        if (Library::has_symmetric(C)) symmetric<C>(bytes);
      });
    }
    each_size([&]<collective C>(std::size_t bytes) {
      if (Library::starts(C) && is_shown_started(C, bytes, rows_are_few())) started<C>(bytes);
    });
  }

 private:
  /// Ranks that share cores take long, so the more of them there are, the fewer rows.
  [[nodiscard]] bool rows_are_few() const { return m_.quick() || m_.ranks() > 4; }

  /// One size of all collectives after the other: a program that is ended has rows of each.
  template <class Row>
  void each_size(Row const& row) {
    for (std::size_t const bytes : collective_sizes(rows_are_few())) {
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        (..., (is_shown(static_cast<collective>(I), bytes, m_.ranks(), rows_are_few())
                   ? row.template operator()<static_cast<collective>(I)>(bytes)
                   : void()));
      }(std::make_index_sequence<collective_count>());
    }
  }

  /// The rank after the root of the call before.
  [[nodiscard]] auto roots() const {
    return [root = 0, ranks = m_.ranks()]() mutable {
      root = root + 1 == ranks ? 0 : root + 1;
      return root;
    };
  }

  template <collective C>
  [[nodiscard]] way calls(std::string_view name, std::size_t bytes) {
    return all_of(m_, name,
                  [this, bytes, root = roots()]() mutable { library_.template call<C>(bytes, root()); });
  }

  template <collective C>
  void blocking(std::size_t bytes) {
    std::vector<way> ways{calls<C>("", bytes)};
    for (way& w : library_.by_hand(C, bytes)) ways.push_back(std::move(w));
    m_.measure(collective_key(name_of(C), bytes), ways);
  }

  template <collective C>
  void touched(std::size_t bytes) {
    auto const in = bytes_in(C, bytes, m_.ranks());
    auto const out = bytes_out(C, bytes, m_.ranks());
    m_.measure(collective_key(std::string(name_of(C)) + "_touched", bytes),
               {all_of(m_, "", [this, bytes, in, out, root = roots()]() mutable {
                 write_lines(library_.source(C), in);
                 library_.template call<C>(bytes, root());
                 read_lines(library_.result(), out);
               })});
  }

  template <collective C>
  void symmetric(std::size_t bytes) {
    library_.use_symmetric(true);
    m_.measure(collective_key(std::string(name_of(C)) + "_symmetric", bytes), {calls<C>("", bytes)});
    library_.use_symmetric(false);
  }

  template <collective C>
  void started(std::size_t bytes) {
    std::string const name = std::string("i") + name_of(C);
    std::vector<way> ways{all_of(m_, "", [this, bytes, root = roots()]() mutable {
      auto request = library_.template start<C>(bytes, root());
      library_.wait(request);
    })};
    if constexpr (Library::compares_forms) ways.push_back(calls<C>("blocking", bytes));
    m_.measure(collective_key(name, bytes), ways);
    if (m_.oversubscribed()) return;  // no core is free
    m_.measure({.row = name + "_exposed", .mode = "", .bytes = bytes, .unit = "%"},
               {exposed(m_, bytes, [this, bytes, root = roots()](auto const& compute) mutable {
                 auto request = library_.template start<C>(bytes, root());
                 compute();
                 library_.wait(request);
               })});
  }

  meter& m_;
  Library library_;
};

}  // namespace bench
