// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <concepts>
#include <functional>
#include <memory>
#include <pgas/backends/scc/checker.hpp>
#include <pgas/backends/scc/clock.hpp>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS::detail::scc {

/// A core's interrupt pin. Any core raises it, by a write to the core's configuration register; its own core takes it,
/// which lowers it and calls the handler.
///
/// States: down, and up, whoever has raised it and however often: what comes before it is taken is one interrupt. It is
/// taken between two instructions, not while the core handles one or masks them, and stays up meanwhile; nor while an
/// access is under way. With a clock, at the first instruction that begins after it was raised, and amid a computation
/// that charge() stands for. Without one, at the first instruction after it, or, against an adversary, at any later
/// one. Source: Barrelfish technical note 5, which raises the INTR line by a bit of the status word. The controller of
/// interrupts that later boards have behind their system interface is not emulated.
class interrupt_pin {
 public:
  using handler = std::function<void()>;

  /// `time`, `oracle`: none for an emulator without them.
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

  // Its own core

  /// Between two instructions: takes the interrupt if there is one, now or, so the adversary likes, later.
  void look() {
    if (!may_take()) return;
    if (time_ != nullptr) {
      turns_->until(turns_->time().now(core_));  // it is up if what has happened by now has raised it
    } else if (is_up_ && !dice_.one_in(std::max(1U, turns_->how().against.defer))) {
      return;
    }
    take();
  }
  /// The same for a core that does nothing else any more: now.
  void take() {
    while (is_up_ && may_take() && (time_ == nullptr || since_ <= turns_->time().now(core_))) {
      is_up_ = false;
      ++taken_;
      if (oracle_ != nullptr) oracle_->acquire(core_, known_);
      mask const one_at_a_time(*this);
      if (time_ != nullptr) time_->spend(core_, time_->how().in_ticks(time_->how().interrupt));
      turns_->interrupt(*handler_);
    }
  }
  /// Computes for so long, and takes what comes meanwhile when it comes.
  void compute(ticks left) {
    if (time_ == nullptr) return look();
    auto& time = turns_->time();
    while (may_take() && left != 0) {
      look();
      ticks const begin = time.now(core_);
      computes_ = true;
      turns_->until(is_up_ ? std::min(begin + left, since_) : begin + left);  // it may be up, but later than now
      computes_ = false;
      ticks const passed = time.due(core_) - begin;
      time_->spend(core_, passed);
      left -= passed;
    }
    time_->spend(core_, left);
  }
  /// Halts until the condition holds, which is looked at first and after each interrupt, and not amid one: as with hlt
  /// right after sti, none is missed. No access is made meanwhile.
  template <std::predicate Condition>
  void sleep_until(Condition&& condition, waiting_for const& why, team_ranks const& ranks) {
    for (;;) {
      {
        mask const decide(*this);
        if (condition()) return;
      }
      auto const before = taken_;
      turns_->wait(
          {}, [&] { return (is_up_ && may_take()) || taken_ != before; }, why, "interrupt", ranks);
      if (time_ != nullptr) turns_->time().set(core_, std::max(turns_->time().now(core_), since_));
      take();
    }
  }

  /// While it lives, interrupts stay where they are.
  class mask {
   public:
    explicit mask(interrupt_pin& p) noexcept : pin_(&p), before_(std::exchange(p.masked_, true)) {}
    mask(mask const&) = delete;
    mask& operator=(mask const&) = delete;
    ~mask() { pin_->masked_ = before_; }

   private:
    interrupt_pin* pin_;
    bool before_;
  };

  /// What happens at an interrupt; null: they wait until there is something. Returns what it was before.
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
  ticks since_ = 0;  ///< when it was raised
  std::uint64_t taken_ = 0;
  vector_clock known_{};  ///< to those who raised it: an interrupt is a signal
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::scc
