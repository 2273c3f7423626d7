// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <memory>
#include <pgas/detail/machines/scc/chip.hpp>
#include <vector>

namespace PGAS_NAMESPACE::scc {

/// Interrupts between the cores of a team, for one of its ranks: it raises any core's pin, and handles its
/// own.
///
/// An interrupt reaches a core that computes without polls, or that sleeps; the mesh is idle until then. It
/// is a signal and no flush. The program must clean before it and drop after it. The interrupt overtakes the
/// bytes that are still in its raiser's write-combining buffer.
/// Source: Barrelfish technical note 5, whose interconnect announces messages by it.
class interrupts {
 public:
  /// For scc::interrupts_of.
  interrupts(std::shared_ptr<detail::scc::chip> c, detail::team_ranks ranks)
      : chip_(std::move(c)), ranks_(std::move(ranks)), self_(ranks_.to_world(ranks_.self())) {}

  /// Installs a handler for its lifetime; its destructor restores the handler before. Without any, interrupts
  /// stay pending.
  class handler {
   public:
    handler(handler const&) = delete;
    handler& operator=(handler const&) = delete;
    ~handler() { chip_->pin_of(self_).handle_by(before_); }

   private:
    friend class interrupts;
    handler(std::shared_ptr<detail::scc::chip> c, rank_t self, std::function<void()> what)
        : chip_(std::move(c)),
          self_(self),
          what_(std::move(what)),
          before_(chip_->pin_of(self_).handle_by(&what_)) {}

    std::shared_ptr<detail::scc::chip> chip_;
    rank_t self_;
    std::function<void()> what_;
    std::function<void()> const* before_;
  };

  /// Interrupts a rank's core; `to` may be the calling rank. One-sided: a store to that core's configuration
  /// register, complete when the core can see it. Raises before the core takes the first are one interrupt.
  /// Throws errc::out_of_range.
  void raise(rank_t to) const {
    if (to < 0 || to >= ranks_.size()) detail::throw_bad_rank(self_, "raise", to, ranks_.size());
    rank_t const target = ranks_.to_world(to);
    chip_->reach(self_, detail::scc::station::registers_of(target), detail::scc::asks::write_word);
    ++chip_->at(self_).count().interrupts;
    chip_->pin_of(target).raise(self_);
  }

  /// The same for several ranks at once, by one store to the interrupt controller in the system interface.
  /// Costs one access there, however many ranks there are. Source: Shahmirzadi 2014, section 2.6, which names
  /// such parallel interrupts without a time; here the time is that of the interface's other registers.
  void raise(group to) const {
    for (rank_t const each : to) {
      if (each < 0 || each >= ranks_.size()) detail::throw_bad_rank(self_, "raise", each, ranks_.size());
    }
    if (to.empty()) return;
    chip_->reach(self_, detail::scc::station::at(detail::scc::station::interface, 0),
                 detail::scc::asks::write_word);
    for (rank_t const each : to) {
      ++chip_->at(self_).count().interrupts;
      chip_->pin_of(ranks_.to_world(each)).raise(self_);
    }
  }

  /// Calls `what` on this core at each interrupt, between two instructions of its program, and counts the
  /// interrupt.
  ///
  /// The handler may do all that a program may, and is not itself interrupted. A wait in the handler must not
  /// depend on the interrupted code. The interrupted code throws the handler's exceptions.
  [[nodiscard]] handler on_interrupt(std::function<void()> what) const {
    return {chip_, self_, std::move(what)};
  }

  /// Sleeps until the condition holds. It is checked first and after each interrupt, with interrupts masked,
  /// so none is missed. The core does not poll, and the mesh stays idle. Requires a handler, since without
  /// one no interrupt is taken. A report of a deadlock names a sleeping core as waiting for `from`, or for
  /// all others if `from` is empty.
  template <std::predicate Condition>
  void sleep_until(Condition&& condition, group from = {}) const {
    std::vector<rank_t> others(from.begin(), from.end());
    for (rank_t r = 0; from.empty() && r < ranks_.size(); ++r) {
      if (r != ranks_.self()) others.push_back(r);
    }
    chip_->pin_of(self_).sleep_until(condition, {.operation = "sleep", .awaited = others}, ranks_);
  }

  /// The number of interrupts that this core has taken.
  [[nodiscard]] std::uint64_t taken() const noexcept { return chip_->pin_of(self_).taken(); }

 private:
  std::shared_ptr<detail::scc::chip> chip_;
  detail::team_ranks ranks_;
  rank_t self_;  ///< number in the job
};

}  // namespace PGAS_NAMESPACE::scc
