// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <memory>
#include <pgas/backends/scc/chip.hpp>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::scc {

/// Interrupts between the cores of a team, as one of its cores sees them: it raises any core's, and handles its own.
///
/// For who computes and need not poll, or sleeps: nothing is on the mesh until the interrupt comes. It is a signal and
/// no flush: coherence is what its user does before and after it, and it overtakes what its raiser still has in the
/// write-combining buffer.
/// Source: Barrelfish technical note 5, whose interconnect announces messages by it.
class interrupts {
 public:
  interrupts(std::shared_ptr<detail::scc::chip> c, detail::team_ranks ranks)
      : chip_(std::move(c)), ranks_(std::move(ranks)), self_(ranks_.to_world(ranks_.self())) {}

  /// A handler that is in place while this lives; then the one before it is again. Without any, interrupts wait.
  class handler {
   public:
    handler(handler const&) = delete;
    handler& operator=(handler const&) = delete;
    ~handler() { chip_->pin_of(self_).handle_by(before_); }

   private:
    friend class interrupts;
    handler(std::shared_ptr<detail::scc::chip> c, rank_t self, std::function<void()> what)
        : chip_(std::move(c)), self_(self), what_(std::move(what)), before_(chip_->pin_of(self_).handle_by(&what_)) {}

    std::shared_ptr<detail::scc::chip> chip_;
    rank_t self_;
    std::function<void()> what_;
    std::function<void()> const* before_;
  };

  /// Interrupts a rank's core, or this one. One-sided: a store to its configuration register, complete when that core
  /// can see it; those that come before it takes the first are one. Throws errc::out_of_range.
  void raise(rank_t to) const {
    if (to < 0 || to >= ranks_.size()) detail::throw_bad_rank(self_, "raise", to, ranks_.size());
    rank_t const target = ranks_.to_world(to);
    chip_->reach(self_, detail::scc::station::registers_of(target), detail::scc::asks::write_word);
    ++chip_->at(self_).count().interrupts;
    chip_->pin_of(target).raise(self_);
  }

  /// Calls `what` on this core at each interrupt, between two instructions of whatever it does, and counts it.
  ///
  /// It may do all that a program may, and is not itself interrupted; what it waits for must come without the code that
  /// it has interrupted. What it throws comes out of that code.
  [[nodiscard]] handler on_interrupt(std::function<void()> what) const { return {chip_, self_, std::move(what)}; }

  /// Sleeps until the condition holds, which is looked at first and after each interrupt, with interrupts masked: none
  /// is missed. No poll, nothing on the mesh. Requires a handler: without any no interrupt is taken. Who sleeps for
  /// ever is named in the report of a deadlock, as waiting for `from`: all others, if it is empty.
  template <std::predicate Condition>
  void sleep_until(Condition&& condition, group from = {}) const {
    std::vector<rank_t> others(from.begin(), from.end());
    for (rank_t r = 0; from.empty() && r < ranks_.size(); ++r) {
      if (r != ranks_.self()) others.push_back(r);
    }
    chip_->pin_of(self_).sleep_until(condition, {.operation = "sleep", .awaited = others}, ranks_);
  }

  /// How many this core has taken.
  [[nodiscard]] std::uint64_t taken() const noexcept { return chip_->pin_of(self_).taken(); }

 private:
  std::shared_ptr<detail::scc::chip> chip_;
  detail::team_ranks ranks_;
  rank_t self_;  ///< number of the job
};

}  // namespace pgas::inline PGAS_ASSERTIONS::scc
