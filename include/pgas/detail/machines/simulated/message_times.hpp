// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <pgas/detail/machines/simulated/event_queue.hpp>
#include <pgas/detail/machines/simulated/scheduler.hpp>
#include <pgas/machines/simulated/options.hpp>
#include <vector>

namespace PGAS_NAMESPACE::detail::simulated {

/// The interface of one node, which takes arriving messages one after another.
///
/// Messages that arrive in the order of the calls queue exactly: the interface takes each when it arrives, or
/// when it has finished the previous one. A relaxed load of a rank whose clock is ahead of the present
/// arrives too early in that order. Later calls with earlier times then find the room that it has left, in
/// steps of `slice`: the interface is never busier than it can be, and no message waits for one of the
/// future.
class interface {
 public:
  /// How far a call may be ahead of the present, in nanoseconds.
  static constexpr double longest_lead = 250'000;

  /// A message arrives at `at` and holds the interface for a while; returns when the interface takes it.
  ticks take(ticks at, ticks holds) {
    if (at < busy_since_) return fill(at, holds);
    if (at >= free_) busy_since_ = at;
    ticks const taken = std::max(at, free_);
    free_ = taken + holds;
    if (days_ != nullptr) book(taken, holds);
    return taken;
  }
  /// From now on, calls may come out of order.
  void expect_disorder() {
    if (days_ == nullptr) days_ = std::make_unique<calendar>();
  }

 private:
  static constexpr ticks slice = 1'000'000;   // a microsecond
  static constexpr std::size_t slices = 512;  // twice the longest lead
  struct booked {
    std::uint64_t slice = 0;  ///< its number; another one's: nothing is booked here
    ticks used = 0;
  };
  using calendar = std::array<booked, slices>;

  booked& of(std::uint64_t number) noexcept {
    booked& b = (*days_)[number % slices];
    if (b.slice != number) b = {number, 0};
    return b;
  }
  void book(ticks at, ticks holds) noexcept {
    for (std::uint64_t number = at / slice; holds > 0; ++number) {
      booked& b = of(number);
      ticks const more = std::min(holds, slice - b.used);
      b.used += more;
      holds -= more;
    }
  }
  ticks fill(ticks at, ticks holds) {
    if (days_ == nullptr) return at;
    std::uint64_t number = at / slice;
    while (of(number).used + std::min(holds, slice) > slice) ++number;
    book(number * slice, holds);
    return std::max(at, number * slice);
  }

  ticks busy_since_ = 0;  ///< of the latest time without a pause
  ticks free_ = 0;
  std::unique_ptr<calendar> days_;
};

using pgas::simulated::distance;

/// A time of the network's data, in nanoseconds, as ticks.
[[nodiscard]] constexpr ticks in_ticks(double nanoseconds) noexcept {
  // NOLINTNEXTLINE(bugprone-incorrect-roundings): times are positive, and lround is not constexpr
  return static_cast<ticks>(nanoseconds * 1000 + 0.5);
}

/// The times of the network's data, and what makes messages wait: the origin's gap, the interface of the
/// target's node, and the atomic unit of the target's memory.
class message_times {
 public:
  /// The times of one distance, as ticks.
  struct link {
    ticks overhead, latency, gap, read, atomic, atomic_gap;
    double put_byte, get_byte;  ///< nanoseconds

    [[nodiscard]] ticks put(std::size_t bytes) const noexcept { return spans(put_byte, bytes); }
    [[nodiscard]] ticks get(std::size_t bytes) const noexcept { return spans(get_byte, bytes); }

   private:
    static ticks spans(double byte, std::size_t bytes) noexcept {
      return in_ticks(byte * static_cast<double>(bytes));
    }
  };

  message_times(rank_t ranks, pgas::simulated::network const& net)
      : node_(std::max(1, net.node)),
        group_(std::max(1, net.group)),
        arrival_gap_(in_ticks(net.arrival_gap)),
        look_(in_ticks(net.look)),
        cycle_(net.cycle),
        ends_(static_cast<std::size_t>(ranks)),
        interfaces_(static_cast<std::size_t>((ranks - 1) / node_ + 1)) {
    for (std::size_t d = 0; d < links_.size(); ++d) {
      auto const& l = net.links[d];
      links_[d] = {in_ticks(l.overhead), in_ticks(l.latency),    in_ticks(l.gap), in_ticks(l.read),
                   in_ticks(l.atomic),   in_ticks(l.atomic_gap), l.put_byte,      l.get_byte};
    }
  }

  [[nodiscard]] rank_t node_of(rank_t r) const noexcept { return r / node_; }
  [[nodiscard]] distance between(rank_t a, rank_t b) const noexcept {
    if (a == b) return distance::self;
    rank_t const there = node_of(b), here = node_of(a);
    if (here == there) return distance::node;
    return here / group_ == there / group_ ? distance::group : distance::far;
  }
  /// True within a node, where the processor copies and there is no interface.
  [[nodiscard]] static constexpr bool is_near(distance d) noexcept { return d <= distance::node; }
  [[nodiscard]] link const& at(distance d) const noexcept { return links_[static_cast<std::size_t>(d)]; }
  /// The time of a poll that succeeds.
  [[nodiscard]] ticks look() const noexcept { return look_; }
  [[nodiscard]] ticks compute(std::uint64_t cycles) const noexcept {
    return in_ticks(cycle_ * static_cast<double>(cycles));
  }
  /// A way to the farthest rank and back: the unit of a pause.
  [[nodiscard]] ticks round_trip() const noexcept {
    auto const& far = at(distance::far);
    return far.overhead + 2 * far.latency + far.read;
  }

  /// A message leaves a rank whose clock is `clock`; returns when its first byte arrives. `holds` is the time
  /// that its bytes take; the next message leaves later by that or by the gap. The clock is then that at
  /// which the rank goes on. Within a node the processor reaches the memory itself.
  ticks leave(rank_t origin, ticks& clock, distance d, ticks holds) noexcept {
    link const& l = at(d);
    if (is_near(d)) {
      clock += l.overhead;
      return clock + l.latency;
    }
    ticks& next = ends_[static_cast<std::size_t>(origin)].leaves;
    ticks const begin = std::max(clock, next);
    clock = begin + l.overhead;
    next = begin + std::max(l.gap, holds);
    return clock + l.latency;
  }
  /// A message arrives at a rank's node; returns when the interface takes it. Within a node there is no
  /// interface. `is_early`: the message may arrive after later calls' messages.
  ticks arrive(rank_t target, distance d, ticks at, ticks holds, bool is_early = false) {
    if (is_near(d)) return at;
    interface& there = interfaces_[static_cast<std::size_t>(node_of(target))];
    if (is_early) there.expect_disorder();
    return there.take(at, std::max(arrival_gap_, holds));
  }
  /// A read-modify-write comes to a rank's memory; returns when it takes place.
  ticks modify(rank_t owner, link const& l, ticks at) noexcept {
    ticks& next = ends_[static_cast<std::size_t>(owner)].modifies;
    ticks const taken = std::max(at, next);
    next = taken + l.atomic_gap;
    return taken;
  }

 private:
  struct end {
    ticks leaves = 0;    ///< the earliest time of the next message of this rank
    ticks modifies = 0;  ///< that of the next read-modify-write in its memory
  };

  rank_t node_, group_;
  ticks arrival_gap_, look_;
  double cycle_;
  std::array<link, pgas::simulated::distances> links_;
  std::vector<end> ends_;
  std::vector<interface> interfaces_;  ///< of each node
};

}  // namespace PGAS_NAMESPACE::detail::simulated
