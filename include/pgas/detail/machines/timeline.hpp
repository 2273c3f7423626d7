// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <pgas/vocabulary/rank.hpp>

namespace PGAS_NAMESPACE::detail::emulation {

/// Virtual time, in units that the machine chooses.
using ticks = std::uint64_t;

/// The virtual time of each core, and the time of its next event. The earliest event is first; of two at one
/// time, that of the lower core.
class timeline {
 public:
  using cores = std::uint64_t;

  [[nodiscard]] ticks now(rank_t core) const noexcept { return now_[index(core)]; }
  void set(rank_t core, ticks at) noexcept { now_[index(core)] = at; }
  void spend(rank_t core, ticks time) noexcept { now_[index(core)] += time; }

  [[nodiscard]] ticks due(rank_t core) const noexcept { return due_[index(core)]; }
  void set_due(rank_t core, ticks at) noexcept { due_[index(core)] = at; }
  /// Moves the event of a core that is not running forward to `at`, or to the core's present if that is
  /// later.
  void bring_forward(rank_t core, ticks at) noexcept {
    ticks& due = due_[index(core)];
    due = std::min(due, std::max(at, now(core)));
    next_ = std::min(next_, due);
  }
  /// The tick before which nothing can happen any more.
  [[nodiscard]] ticks past() const noexcept { return past_; }

  /// True if the running core's event is certainly the first. Other cores' events may meanwhile move back,
  /// not forward.
  [[nodiscard]] bool is_first(rank_t running) noexcept {
    ticks const due = due_[index(running)];
    if (due >= next_) return false;
    past_ = std::max(past_, due);
    return true;
  }
  /// Returns which of these cores has the first event, and makes it the running core.
  [[nodiscard]] rank_t earliest(cores among) noexcept {
    // Finds the two smallest without a branch, since every change of turns does this.
    ticks best = never, second = never;
    auto const end = static_cast<std::size_t>(std::bit_width(among));
    for (std::size_t core = 0; core < end; ++core) {
      ticks const key = (among >> core & 1U) != 0 ? due_[core] << core_bits | core : never;
      second = std::min(second, std::max(best, key));
      best = std::min(best, key);
    }
    std::size_t const first = best & ((1U << core_bits) - 1);
    second >>= core_bits;
    best >>= core_bits;
    next_ = second;
    past_ = std::max(past_, best);
    return static_cast<rank_t>(first);
  }
  /// The time of the first event of these cores; `never` if there are none.
  [[nodiscard]] ticks first_due(cores among) const noexcept {
    ticks best = never;
    for (; among != 0; among &= among - 1)
      best = std::min(best, due_[static_cast<std::size_t>(std::countr_zero(among))]);
    return best;
  }
  /// Wakes sleeping cores. They resume at the present of `waker`, if there is one.
  void wake(cores which, rank_t waker) noexcept {
    ticks const at = waker < 0 ? past_ : std::max(past_, now(waker));
    for (; which != 0; which &= which - 1) {
      auto const core = static_cast<std::size_t>(std::countr_zero(which));
      now_[core] = std::max(now_[core], at);
      due_[core] = now_[core];
      next_ = std::min(next_, due_[core]);
    }
  }

 private:
  static constexpr ticks never = ~ticks{0};
  static constexpr unsigned core_bits = 6;
  static std::size_t index(rank_t core) noexcept { return static_cast<std::size_t>(core); }

  std::array<ticks, 64> now_{}, due_{};
  ticks next_ = 0;  ///< no event of another core is earlier
  ticks past_ = 0;
};

}  // namespace PGAS_NAMESPACE::detail::emulation
