// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <pgas/detail/machines/simulated/event_queue.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail::simulated {

/// The interface of one node, which takes arriving messages one after another.
///
/// Messages that arrive in the order of the calls queue exactly: each is taken when it arrives, or when the
/// one before it is over. A relaxed load of a rank whose clock is ahead of the present arrives too early in
/// that order. Later calls with earlier times then find the room that it has left, in steps of `slice`: the
/// interface is never busier than it can be, and no message waits for one of the future.
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

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::simulated
