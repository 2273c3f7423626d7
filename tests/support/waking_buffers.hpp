// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <deque>
#include <exception>
#include <functional>
#include <optional>
#include <pgas/concepts/collective.hpp>
#include <pgas/detail/exchange/patience.hpp>
#include <pgas/detail/exchange/steps.hpp>
#include <pgas/detail/types/scoped_value.hpp>
#include <pgas/machines/scc/interrupts.hpp>
#include <string_view>
#include <utility>
#include <vector>

namespace pgas_test {

using pgas::bytes_in;
using pgas::bytes_out;
using pgas::rank_t;
using pgas::word;
using pgas::detail::collective_call;
using pgas::detail::patience;
using pgas::detail::scoped_value;
using pgas::detail::steps;

/// Message buffers whose flags interrupt the cores that own them, so that a broadcast progresses while these
/// cores compute: a buffering_medium on top of another one.
///
/// A core sets a few flags, and then interrupts their owners with one access to the interrupt controller.
/// Source: the parallel interrupts of asynchronous OC-Bcast (Shahmirzadi 2014, section 2.6), which the thesis
/// names and does not describe.
template <pgas::buffering_medium Buffers>
class waking_buffers {
 public:
  static constexpr std::size_t buffer_bytes = Buffers::buffer_bytes;
  static constexpr std::size_t flag_bytes = Buffers::flag_bytes;
  static constexpr std::size_t flags = Buffers::flags;

  waking_buffers(Buffers& of, pgas::scc::interrupts pins) : of_(&of), pins_(std::move(pins)) {}

  [[nodiscard]] rank_t rank() const noexcept { return of_->rank(); }
  [[nodiscard]] rank_t size() const noexcept { return of_->size(); }
  [[nodiscard]] pgas::buffer_tree& tree() noexcept { return of_->tree(); }

  void fill(std::size_t first, bytes_in from) { of_->fill(first, from); }
  void fetch(rank_t rank, std::size_t first, bytes_out into) { of_->fetch(rank, first, into); }
  void drain(std::size_t first, bytes_out into) { of_->drain(first, into); }
  void fetch_out(rank_t rank, std::size_t first, bytes_out into) { of_->fetch_out(rank, first, into); }

  void set_flag(rank_t owner, std::size_t i, word number) {
    of_->set_flag(owner, i, number);
    woken_.push_back(owner);
  }
  void announce() {
    // The flags come first: an interrupt is taken at once.
    pins_.raise(woken_);
    woken_.clear();
  }
  [[nodiscard]] auto flag(std::size_t i, word number, rank_t setter) { return of_->flag(i, number, setter); }

 private:
  Buffers* of_;
  pgas::scc::interrupts pins_;
  std::vector<rank_t> woken_;  ///< the owners of flags that this core has set and not announced
};

/// The steps of collectives on a computing core: each interrupt carries them on. They run one after the
/// other, in the order in which they were started.
///
/// States    An interrupt during the steps, for example while they fetch, leaves a mark: steps that have
///           polled their flag before it was set poll again. So no flag is missed.
///
/// `LooksAgain` is false in a wrong variant, for tests.
template <pgas::control Control, bool LooksAgain = true>
class interrupted_steps {
 public:
  interrupted_steps(patience<Control>& waits, pgas::scc::interrupts pins)
      : waits_(&waits), pins_(std::move(pins)), handler_(pins_.on_interrupt([this] { advance(); })) {}

  /// Queues a collective, and carries it out as far as possible without waiting. `begin()` returns its steps.
  void start(std::string_view operation, collective_call const& call, std::function<steps()> begin) {
    queue_.push_back({operation, call, std::move(begin), std::nullopt});
    advance();
  }
  /// Sleeps until all collectives have ended. This core polls nothing meanwhile.
  void wait() {
    pins_.sleep_until([this] { return queue_.empty(); });
  }
  [[nodiscard]] bool have_ended() const noexcept { return queue_.empty(); }

 private:
  struct started {
    std::string_view operation;
    collective_call call;
    std::function<steps()> begin;
    std::optional<steps> run;
  };

  void advance() {
    has_come_ = true;  // read by the frame of this function that is interrupted
    if (is_at_work_) return;
    scoped_value const here(is_at_work_, true);
    do {
      has_come_ = false;
      go_on();
    } while (LooksAgain && has_come_);
  }
  void go_on() {
    while (!queue_.empty()) {
      started& first = queue_.front();
      if (!(first.run ? waits_->advance_if_ready() : begin(first))) return;
      steps ended = std::move(*first.run);
      queue_.pop_front();
      ended.conclude();
    }
  }
  bool begin(started& one) {
    waits_->begin(one.operation, one.call);
    one.run.emplace(one.begin());
    return one.run->begin();
  }

  patience<Control>* waits_;
  pgas::scc::interrupts pins_;
  std::deque<started> queue_;
  bool is_at_work_ = false;
  bool has_come_ = false;
  pgas::scc::interrupts::handler handler_;  // the last member: it calls the others
};

}  // namespace pgas_test
