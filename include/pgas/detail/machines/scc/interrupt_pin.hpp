// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <concepts>
#include <functional>
#include <memory>
#include <pgas/detail/machines/scc/clock.hpp>
#include <pgas/detail/machines/scc/turns.hpp>
#include <pgas/detail/types/scoped_value.hpp>
#include <utility>

namespace PGAS_NAMESPACE::detail::scc {

/// A core's interrupt pin. Any core raises it, by a write to the core's configuration register. Its own core
/// takes the interrupt: it lowers the pin and calls the handler.
///
/// States: down and up. Any number of raises before a take are one interrupt. A core takes an interrupt
/// between two instructions, never during an access. While it handles or masks interrupts the pin stays up.
///
/// With a clock, the core takes it at the first instruction that begins after the raise, or amid a
/// computation that charge() stands for. Without a clock, it takes it at its first instruction after the
/// raise; an adversary may choose any later one. The interrupt controller of later boards is not emulated.
/// Source: Barrelfish technical note 5, which raises the INTR line by a bit of the status word.
class interrupt_pin {
 public:
  using handler = std::function<void()>;

  /// `time` and `oracle` are null for an emulator without them.
  interrupt_pin(rank_t core, scheduler& turns, clock* time, checker* oracle)
      : core_(core),
        turns_(&turns),
        time_(time),
        oracle_(oracle),
        dice_(~(turns.how().seed * 64 + static_cast<std::uint64_t>(core))) {}

  /// A write of `by` to the register takes place now.
  void raise(rank_t by) {
    if (oracle_ != nullptr) oracle_->release(by, known_);
    if (!is_up_) since_ = turns_->time().past();
    is_up_ = true;
    if (!may_take()) return;
    turns_->wake(waiters{1} << static_cast<unsigned>(core_));
    if (computes_) turns_->time().bring_forward(core_, since_);
  }

  // Called by its own core

  /// Called between two instructions: takes a pending interrupt, unless the adversary defers it.
  void look() {
    if (!may_take()) return;
    if (time_ != nullptr) {
      turns_->until(turns_->time().now(core_));  // the pin is up only if the raise is in the core's past
    } else if (is_up_ && !dice_.one_in(std::max(1U, turns_->how().against.defer))) {
      return;
    }
    take();
  }
  /// Takes a pending interrupt at once: called by a core that waits and makes no accesses.
  void take() {
    while (is_up_ && may_take() && (time_ == nullptr || since_ <= turns_->time().now(core_))) {
      is_up_ = false;
      ++taken_;
      if (oracle_ != nullptr) oracle_->acquire(core_, known_);
      auto const one_at_a_time = mask();
      // The handler is no part of what it interrupts.
      checker_scope const any_order(oracle_, core_, order_scope::all);
      checker_scope const any_access(oracle_, core_, access_kind::own);
      if (time_ != nullptr) time_->spend(core_, time_->how().in_ticks(time_->how().interrupt));
      turns_->interrupt(*handler_);
    }
  }
  /// Computes for `left` ticks. Interrupts that are raised meanwhile are taken at the time of their raise.
  void compute(ticks left) {
    if (time_ == nullptr) return look();
    auto& time = turns_->time();
    while (may_take() && left != 0) {
      look();
      ticks const begin = time.now(core_);
      computes_ = true;
      turns_->until(is_up_ ? std::min(begin + left, since_)
                           : begin + left);  // the raise may be later than now
      computes_ = false;
      ticks const passed = time.due(core_) - begin;
      time_->spend(core_, passed);
      left -= passed;
    }
    time_->spend(core_, left);
  }
  /// Halts until the condition holds. The core checks it first and after each interrupt, with interrupts
  /// masked; like sti followed by hlt, this misses no interrupt. The core makes no access meanwhile.
  template <std::predicate Condition>
  void sleep_until(Condition&& condition, waiting_for const& why, team_ranks const& ranks) {
    for (;;) {
      {
        auto const decide = mask();
        if (condition()) return;
      }
      auto const before = taken_;
      turns_->wait(
          {}, [&] { return (is_up_ && may_take()) || taken_ != before; }, why, "interrupt", ranks);
      if (time_ != nullptr) turns_->time().set(core_, std::max(turns_->time().now(core_), since_));
      take();
    }
  }

  /// Masks interrupts while it lives: the pin stays up.
  [[nodiscard]] scoped_value<bool> mask() noexcept { return {masked_, true}; }

  /// Sets the handler of interrupts; with null, the pin stays up. Returns the handler before.
  handler const* handle_by(handler const* h) noexcept { return std::exchange(handler_, h); }
  [[nodiscard]] std::uint64_t taken() const noexcept { return taken_; }

 private:
  [[nodiscard]] bool may_take() const noexcept { return handler_ != nullptr && !masked_; }

  rank_t core_;
  scheduler* turns_;
  clock* time_;
  checker* oracle_;
  pgas::scc::dice dice_;
  handler const* handler_ = nullptr;
  bool is_up_ = false;
  bool masked_ = false;
  bool computes_ = false;
  ticks since_ = 0;  ///< the time of the raise
  std::uint64_t taken_ = 0;
  vector_clock known_{};  ///< the knowledge of the raising cores: an interrupt is a signal
};

}  // namespace PGAS_NAMESPACE::detail::scc
