// SPDX-License-Identifier: BSL-1.0
// Shahmirzadi 2014, section 2.5 and Fig. 2.5: broadcasts of 1 to 32768 lines from core 0 to 48, from private
// memory to private memory. OC-Bcast is the library's own algorithm on the chip's buffers; its puts and gets
// are RCCE's, as those of the broadcasts beside it.
#pragma once

#include <pgas/collectives/oc_bcast.hpp>
#include <stdexcept>
#include <utility>

#include "message_buffer.hpp"
#include "rcce_comm.hpp"

namespace papers::broadcast {

inline constexpr rank_t cores = 48;
inline constexpr std::size_t most_lines = 32768;
inline constexpr std::size_t chunk_lines = 96;

/// The hops from one core to another.
struct hops_between {
  unsigned operator()(rank_t a, rank_t b) const noexcept {
    return pgas::detail::scc::hops(pgas::detail::scc::tile_of(a), pgas::detail::scc::tile_of(b));
  }
};

namespace collectives = pgas::collectives;
using collectives::leaves;
using collectives::returns;
using near_first = collectives::near_first<hops_between>;

/// With two chunks of 96 lines in a buffer, or more of fewer lines.
template <std::size_t K, leaves Leaves = leaves::stage, returns Returns = returns::drained,
          std::size_t Buffers = 2, class Places = collectives::by_rank,
          collectives::roots Roots = collectives::roots::change>
using oc_bcast = collectives::oc_bcast<K, 2 * chunk_lines / Buffers * machine::line_bytes, Buffers,
                                       collectives::binary_notification, Leaves, Places, Roots, Returns>;

/// A broadcast by one of the library's algorithms.
template <class Algorithm, flags_by Flags = flags_by::puts>
class by_buffers {
 public:
  explicit by_buffers(machine& m, double call_us = rcce_us) : buffer_(m, call_us) {}

  void operator()(std::uint32_t at, std::size_t lines) {
    // The algorithm passes on places in this memory; the chip's memory is at the same places.
    static std::vector<std::byte> all(most_lines * machine::line_bytes);
    std::span const bytes = std::span(all).first(lines * machine::line_bytes);
    buffer_.lie(bytes, at);
    auto steps = Algorithm::broadcast(buffer_, bytes, 0);
    steps.begin();
    steps.conclude();
  }

 private:
  message_buffer<Flags> buffer_;
};
/// The same if a put and a get take the time of their accesses alone.
template <class Algorithm>
struct without_library : by_buffers<Algorithm> {
  explicit without_library(machine& m) : by_buffers<Algorithm>(m, 0) {}
};

/// The memory of messages: each broadcast has other lines, which no cache has. After 4 MiB, much more than
/// the caches hold, the same memory comes again.
class fresh_messages {
 public:
  explicit fresh_messages(machine& m) : m_(m) {}

  /// The place of the next message, which core 0 has written.
  std::uint32_t next(std::size_t lines) {
    if (used_ + lines > all) used_ = 0;
    used_ += std::exchange(lines_, lines);
    if (used_ + lines > all) used_ = 0;
    ++number_;
    if (m_.rank() == 0) {
      // Stores past the caches. A word shows that its line has come.
      for (std::size_t l = 0; l < lines; l += step()) m_.store(page_type::ncm, word(l), pattern(l));
    }
    return word(0);
  }
  /// Checks that the last message has come.
  void check() const {
    for (std::size_t l = 0; l < lines_; l += step()) {
      if (m_.load(page_type::dcm, word(l)) != pattern(l))
        throw std::runtime_error("line " + std::to_string(l) + " of a broadcast has not come");
    }
  }

 private:
  static constexpr std::size_t all = std::size_t{4} * most_lines;

  [[nodiscard]] std::size_t step() const { return lines_ <= 256 ? 1 : 61; }
  [[nodiscard]] std::uint32_t word(std::size_t line) const {
    return machine::scratch((std::size_t{1} << 20U) + (used_ + line) * machine::line_bytes);
  }
  [[nodiscard]] std::uint32_t pattern(std::size_t line) const {
    return static_cast<std::uint32_t>((line + 1) * 2654435761U) + number_;
  }

  machine& m_;
  std::size_t used_ = 0, lines_ = 0;
  std::uint32_t number_ = 0;
};

struct figures {
  double latency = 0;     // us, from the source's call until the last core returns
  double throughput = 0;  // MB/s of 2^20 bytes, with one broadcast after the other
};

/// The figures for each number of lines. The thesis leaves out the first 1000 of 10000 broadcasts. Here the
/// first one is left out. It is as long as L2, so it leaves the caches as they are from then on.
template <class Broadcast>
std::vector<figures> measure(effort how, std::vector<std::size_t> const& sizes,
                             pgas::scc::timing const& with = default_timing()) {
  struct moments {
    pgas::time_point began, first, last;
  };
  std::vector<moments> at(sizes.size());
  std::size_t const lines_before = how == effort::small ? 1 : 8192;
  auto const times_for = [how](std::size_t lines) {
    if (how == effort::small || lines >= 2048) return 2;
    return lines > 192 ? 4 : lines > 64 ? 8 : 24;
  };
  on_chip(cores, with, [&](machine& m) {
    Broadcast broadcast(m);
    fresh_messages messages(m);
    broadcast(messages.next(lines_before), lines_before);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      std::vector<std::uint32_t> places;
      for (int t = 0; t < times_for(sizes[i]); ++t) places.push_back(messages.next(sizes[i]));
      m.team().barrier();
      if (m.rank() == 0) {
        m.work(20);  // all other cores wait by then
        at[i].began = m.team().now();
      }
      for (std::uint32_t const place : places) {
        broadcast(place, sizes[i]);
        if (place == places.front()) at[i].first = std::max(at[i].first, m.team().now());
      }
      at[i].last = std::max(at[i].last, m.team().now());
      m.team().barrier();
      messages.check();
    }
  });
  std::vector<figures> got;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    auto const us = [](auto time) { return std::chrono::duration<double, std::micro>(time).count(); };
    double const bytes = static_cast<double>(sizes[i] * machine::line_bytes) * (times_for(sizes[i]) - 1);
    got.push_back({us(at[i].first - at[i].began), bytes / us(at[i].last - at[i].first) * 1e6 / (1 << 20)});
  }
  return got;
}

/// Measures and prints each broadcast once.
class measured {
 public:
  /// `more`: numbers of lines beside `few`.
  measured(effort how, std::vector<std::size_t> few, std::vector<std::size_t> more)
      : how_(how), few_(std::move(few)), all_(few_) {
    all_.insert(all_.end(), more.begin(), more.end());
  }

  /// A series of the figure with all numbers of lines.
  template <class Broadcast>
  std::vector<figures> of(std::string_view series) const {
    auto const got = measure<Broadcast>(how_, all_);
    print(all_tell_, series, all_, got);
    return got;
  }
  /// The same with few of them.
  template <class Broadcast>
  void few_of(std::string_view series) const {
    print(all_tell_, series, few_, measure<Broadcast>(how_, few_));
  }
  /// A series of the figure that shows which part does what.
  template <class Broadcast>
  void part(std::string_view series, pgas::scc::timing const& with = default_timing()) const {
    print(parts_tell_, series, few_, measure<Broadcast>(how_, few_, with));
  }
  /// Prints a series of the first figure in the second one, too.
  void beside(std::string_view series, std::vector<figures> const& got) const {
    print(parts_tell_, series, few_, got);
  }

 private:
  static void print(teller const& tell, std::string_view series, std::vector<std::size_t> const& sizes,
                    std::vector<figures> const& got) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      tell(series, sizes[i], "latency", got[i].latency);
      tell(series, sizes[i], "throughput", got[i].throughput, "MB/s");
    }
  }

  teller all_tell_{"broadcast", default_timing()}, parts_tell_{"broadcast_parts", default_timing()};
  effort how_;
  std::vector<std::size_t> few_, all_;
};

/// The chip if a buffer served all cores at once.
inline constexpr pgas::scc::timing without_contention = [] {
  pgas::scc::timing t = pgas::scc::formulas_533;
  t.buffer_holds = {};
  return t;
}();

inline void run(effort how) {
  using enum leaves;
  using enum returns;
  using collectives::by_rank;
  // To 192 lines as in Fig. 2.5(a), then powers of two as far as 1 MiB.
  std::vector<std::size_t> few{1, 2, 4, 8, 16, 32, 48, 64, 96, 97, 128, 160, 192, 193, 256, 512, 1024, 2048};
  std::vector<std::size_t> more{4096, 8192, most_lines};
  if (how == effort::quick) few = {1, 4, 16, 96, 97, 192, 193, 512, 2048};
  if (how == effort::small) few = {1, 97};
  if (how != effort::whole) more.clear();

  measured const run(how, few, more);
  run.of<binomial<rcce_messages>>("binomial");
  run.of<scatter_allgather<rcce_messages>>("scatter-allgather");
  run.of<by_buffers<oc_bcast<2>>>("OC-Bcast, k = 2");
  auto const oc_7 = run.of<by_buffers<oc_bcast<7>>>("OC-Bcast, k = 7");
  auto const oc_47 = run.of<by_buffers<oc_bcast<47>>>("OC-Bcast, k = 47");
  run.few_of<without_library<oc_bcast<7>>>("OC-Bcast, k = 7, accesses alone");
  run.of<by_buffers<oc_bcast<7, straight, early>, flags_by::stores>>("ours: k = 7");
  run.of<by_buffers<oc_bcast<47, straight, early, 4>, flags_by::stores>>("ours: k = 47");

  run.beside("OC-Bcast, k = 7", oc_7);
  run.beside("OC-Bcast, k = 47", oc_47);
  using as_printed = oc_bcast<7, stage, drained, 2, by_rank, collectives::roots::never_change>;
  run.part<by_buffers<as_printed>>("OC-Bcast, k = 7, as printed");
  run.part<by_buffers<oc_bcast<47>>>("OC-Bcast, k = 47, no contention", without_contention);
  run.part<binomial<ircce_messages>>("binomial, two buffers");
  run.part<scatter_allgather<ircce_messages>>("scatter-allgather, two buffers");
  run.part<by_buffers<oc_bcast<7, straight>>>("ours: straight leaves, k = 7");
  run.part<by_buffers<oc_bcast<47, straight>>>("ours: straight leaves, k = 47");
  run.part<by_buffers<oc_bcast<7>, flags_by::stores>>("ours: flags by stores, k = 7");
  run.part<by_buffers<oc_bcast<7, stage, early>>>("ours: early returns, k = 7");
  run.part<by_buffers<oc_bcast<7, stage, drained, 2, near_first>>>("ours: near first, k = 7");
}

}  // namespace papers::broadcast
