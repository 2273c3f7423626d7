// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <concepts>
#include <functional>
#include <memory>
#include <pgas/detail/machines/blocked.hpp>
#include <pgas/detail/machines/timeline.hpp>
#include <pgas/detail/machines/turn_order.hpp>
#include <pgas/detail/process/fiber.hpp>
#include <pgas/detail/process/stack_watch.hpp>
#include <thread>
#include <vector>

namespace PGAS_NAMESPACE::detail::emulation {

/// Runs one fiber for each core, one at a time, in an order that the options and the seed determine.
///
/// A fiber gives up its turn at a scheduling point, or when it waits for a word. A change of the word wakes
/// it. If no fiber can proceed, the job fails at once, with a sentence that lists which rank waits for which.
/// No clock is needed for this.
///
/// If the options choose a clock, the core with the earliest event goes first, and a waiting core polls.
template <class Options>
class scheduler {
 public:
  /// The machine's bound; the sets of cores have 64 bits.
  static constexpr rank_t most_cores = Options::most_cores;
  static_assert(most_cores <= 64);

  /// `agent` is a step of the machine itself that takes turns with the cores, if there is no clock; null:
  /// none.
  scheduler(job const& j, Options const& o, std::function<void()> agent = nullptr)
      : job_(j),
        how_(o),
        agent_(std::move(agent)),
        dice_(o.seed),
        order_(how_, agent_ != nullptr ? j.size() + 1 : j.size(), dice_),
        blocked_(static_cast<std::size_t>(j.size())) {}
  scheduler(scheduler const&) = delete;
  scheduler& operator=(scheduler const&) = delete;

  /// Calls main(rank) on a fiber for each rank, and returns when all have returned.
  template <class Main>
  void run(Main const& main) {
    rank_t const size = job_.size();
    for (rank_t rank = 0; rank < size; ++rank)
      fibers_.push_back(
          std::make_unique<fiber>(fiber_stack::guarded(how_.stack_bytes), [&main, rank] { main(rank); }));
    auto const rank_at = [this](std::byte const* at) {
      for (std::size_t rank = 0; rank < fibers_.size(); ++rank) {
        if (fibers_[rank]->stack().is_guarded_at(at)) return static_cast<rank_t>(rank);
      }
      return rank_t{-1};
    };
    stack_watch const overflows(rank_at, how_.stack_bytes);
    runnable_ = size == 64 ? ~waiters{0} : (waiters{1} << static_cast<unsigned>(size)) - 1;
    unfinished_ = runnable_;
    budget_ = turn();
    while (unfinished_ != 0) {
      if (runnable_ == 0 && pausing_ != 0) end_earliest_pause();
      if ((runnable_ & ~idle_) == 0) nobody_can_go_on();
      if (current_ < 0 || (runnable_ & bit(current_)) == 0) {
        if (current_ >= 0) last_ = current_;
        current_ = -1;
        current_ = choose();
        if (!is_timed()) order_.record(last_, true, current_);
      }
      if (current_ == job_.size()) {
        order_.count(current_);
        agent_();
        last_ = std::exchange(current_, -1);
        continue;
      }
      fiber& f = *fibers_[static_cast<std::size_t>(current_)];
      f.resume();
      if (f.is_done()) {
        unfinished_ &= ~bit(current_);
        runnable_ &= ~bit(current_);
        if (job_.failed()) wake(unfinished_);
      }
    }
    current_ = -1;
  }

  [[nodiscard]] rank_t size() const noexcept { return job_.size(); }
  /// The lock holders of a rank.
  [[nodiscard]] held_locks& locks_of(rank_t rank) const noexcept { return job_.as(rank).locks(); }
  [[nodiscard]] rank_t current() const noexcept { return current_; }
  [[nodiscard]] std::uint64_t points() const noexcept { return points_; }
  [[nodiscard]] std::uint64_t switches() const noexcept { return switches_; }
  [[nodiscard]] Options const& how() const noexcept { return how_; }

  /// An access leaves the running core, so another core may go first.
  void point() {
    ++points_;
    order_.count(current_);
    if (pausing_ != 0) end_pauses();
    if (--budget_ > 0) return;
    change_turn();
  }

  // The agent

  /// Gives the agent turns, or none.
  void set_agent(bool is_runnable) noexcept {
    waiters const agent = bit(job_.size());
    runnable_ = is_runnable ? runnable_ | agent : runnable_ & ~agent;
    if (is_runnable && how_.schedule == scheduling::priority) budget_ = 0;
  }
  /// Chooses one of `count` possible next events, as the schedule does with cores.
  [[nodiscard]] std::size_t pick(std::size_t count) { return order_.pick(count); }

  // With a clock

  [[nodiscard]] bool is_timed() const noexcept { return how_.is_timed(); }
  [[nodiscard]] timeline& time() noexcept { return time_; }
  /// The virtual time of a core as a time point; without a clock, the time of the world.
  [[nodiscard]] time_point now(rank_t core) const {
    if (!is_timed()) return clock::now();
    double const us = static_cast<double>(time_.now(core)) / Options::ticks_a_microsecond;
    return started_ +
           std::chrono::duration_cast<clock::duration>(std::chrono::duration<double, std::micro>(us));
  }
  /// The running core has its next event at `due`. Returns when no other core has an earlier one.
  void until(ticks due) {
    ++points_;
    time_.set_due(current_, due);
    if (time_.is_first(current_)) return;
    if (rank_t const next = time_.earliest(runnable_); next != current_) {
      ++switches_;
      next_ = next;
      switch_out();
    }
  }
  /// Like wait(), but the running core polls until look() is true. Each poll is an access.
  ///
  /// While all other cores poll or compute too, the polls repeat themselves. So polls that end before any
  /// core can change a word are skipped, and `skip(count)` receives their number.
  template <std::predicate Look, class Skip>
  void poll(std::span<waiters* const> waiting, Look&& look, Skip&& skip, waiting_for const& why,
            std::string_view label, team_ranks const& ranks) {
    rank_t const self = current_;
    auto& mine = blocked_[static_cast<std::size_t>(self)];
    mine = {&why, label, &ranks, deadline(why), false};
    woken_ |= bit(self);  // a word may have changed before this core was in its `waiting`
    bool late = false;
    for (;;) {
      for (waiters* w : waiting) *w |= bit(self);
      if ((woken_ & bit(self)) == 0) idle_ |= bit(self);
      woken_ &= ~bit(self);
      if ((runnable_ & ~idle_) == 0) nobody_can_go_on();
      late = mine.timed_out || (mine.deadline != no_deadline && now(self) >= mine.deadline);
      ticks const begin = time_.now(self);
      try {
        if (job_.failed() || late || look()) break;
      } catch (...) {  // of a service
        for (waiters* w : waiting) *w &= ~bit(self);
        idle_ &= ~bit(self);
        mine = {};
        throw;
      }
      if ((woken_ & bit(self)) != 0 || (idle_ & bit(self)) == 0 || how_.each_poll) continue;
      ticks const one = time_.now(self) - begin;
      ticks const end = std::min(time_.first_due(runnable_ & ~idle_), in_ticks(mine.deadline));
      if (end < time_.now(self) + fewest_skipped * one) continue;
      std::uint64_t const many = (end - time_.now(self)) / one - kept_before_a_change;
      time_.spend(self, many * one);
      skip(many);
    }
    for (waiters* w : waiting) *w &= ~bit(self);
    idle_ &= ~bit(self);
    if (late) time_.set(self, std::max(time_.now(self), in_ticks(mine.deadline)));
    blocked const waited = std::exchange(mine, {});
    check(self, why.operation);
    if (late) waited.throw_late(self, blocked_.size());
  }

  /// Suspends the running core until a word changes that has the core in its `waiting`. Throws like
  /// control::wait_until.
  template <std::predicate Condition>
  void wait(std::span<waiters* const> waiting, Condition&& condition, waiting_for const& why,
            std::string_view label, team_ranks const& ranks) {
    rank_t const self = current_;
    auto& mine = blocked_[static_cast<std::size_t>(self)];
    while (!condition()) {
      check(self, why.operation);
      for (waiters* w : waiting) *w |= bit(self);
      mine = {&why, label, &ranks, deadline(why), false};
      runnable_ &= ~bit(self);
      switch_out();
      for (waiters* w : waiting) *w &= ~bit(self);
      blocked const waited = std::exchange(mine, {});
      check(self, why.operation);
      if (waited.timed_out) waited.throw_late(self, blocked_.size());
    }
  }

  /// Calls an interrupt's handler on the running core. The handler may wait although the interrupted code
  /// waits too.
  template <std::invocable Handler>
  void interrupt(Handler const& handler) {
    rank_t const self = current_;
    blocked const interrupted = std::exchange(blocked_[static_cast<std::size_t>(self)], {});
    idle_ &= ~bit(self);
    handler();
    blocked_[static_cast<std::size_t>(self)] = interrupted;
    woken_ |= bit(self);
  }

  /// Gives up the turn until the other cores have passed up to 2^attempt points, or until none of them can
  /// proceed.
  void pause(unsigned attempt, waiting_for const& why) {
    rank_t const self = current_;
    check(self, why.operation);
    if (is_timed()) {
      auto const units = 1 + dice_.below(std::size_t{1} << std::min(attempt, longest_pause));
      time_.spend(self, units * how_.pause());
      until(time_.now(self));
      return;
    }
    pause_ends_[static_cast<std::size_t>(self)] =
        points_ + skipped_ + 1 + dice_.below(std::size_t{1} << std::min(attempt, longest_pause));
    pausing_ |= bit(self);
    runnable_ &= ~bit(self);
    switch_out();
    pausing_ &= ~bit(self);  // the job's failure wakes it, too
    check(self, why.operation);
  }

  /// Makes these cores runnable, so that they check their conditions again.
  void wake(waiters which) noexcept {
    which &= unfinished_;
    if (is_timed()) time_.wake(which & ~runnable_, current_);
    idle_ &= ~which;
    woken_ |= which;
    runnable_ |= which;
    // A core of higher priority proceeds at once.
    if (how_.schedule == scheduling::priority && which != 0) budget_ = 0;
  }
  void wake_all() noexcept { wake(unfinished_); }

  /// Records that a rank has failed, and lets all others look at that.
  void fail(rank_t rank, std::string_view what) noexcept {
    job_.as(rank).fail(what);
    wake_all();
  }
  /// Throws the job's failure, if there is one, as an error of this rank in an operation.
  void check(rank_t self, std::string_view operation) const {
    if (job_.failed()) [[unlikely]]
      job_.as(self).check(operation);
  }

 private:
  using clock = std::chrono::steady_clock;
  static constexpr unsigned longest_pause = 6;
  static constexpr std::uint64_t fewest_skipped = 8, kept_before_a_change = 2;
  static constexpr std::uint64_t turns_between_looks_at_the_clock = 4096;

  [[nodiscard]] std::int64_t turn() noexcept { return is_timed() ? 1 : order_.length(); }
  [[nodiscard]] rank_t choose() {
    return is_timed() ? time_.earliest(runnable_) : order_.next(runnable_, current_, last_, points_);
  }

  void end_pause(rank_t rank) noexcept {
    pausing_ &= ~bit(rank);
    runnable_ |= bit(rank);
  }
  void end_pauses() noexcept {
    for (rank_t rank = 0; rank < job_.size(); ++rank) {
      if ((pausing_ & bit(rank)) != 0 && pause_ends_[static_cast<std::size_t>(rank)] <= points_ + skipped_)
        end_pause(rank);
    }
  }
  /// If all cores pause, skips time to the end of the earliest pause. Otherwise short pauses would starve
  /// long ones.
  void end_earliest_pause() noexcept {
    std::uint64_t first = ~std::uint64_t{0};
    for (rank_t rank = 0; rank < job_.size(); ++rank) {
      if ((pausing_ & bit(rank)) != 0) first = std::min(first, pause_ends_[static_cast<std::size_t>(rank)]);
    }
    skipped_ = std::max(skipped_, first - points_);
    end_pauses();
  }

  void change_turn() {
    if (is_timed()) {  // this was no access, but a loop over it must end
      time_.spend(current_, how_.cycle());
      until(time_.now(current_));
      return;
    }
    budget_ = turn();
    last_ = current_;
    if (++turns_ % turns_between_looks_at_the_clock == 0) end_late_waits();
    if ((runnable_ & ~bit(current_)) == 0) return;
    if (rank_t const next = choose(); next != current_) {
      ++switches_;
      order_.record(current_, false, next);
      next_ = next;
      switch_out();
    }
  }

  void switch_out() {
    rank_t const self = current_;
    last_ = self;
    current_ = std::exchange(next_, -1);
    fibers_[static_cast<std::size_t>(self)]->suspend();
    budget_ = turn();
  }

  [[nodiscard]] time_point deadline(waiting_for const& why) const {
    double const seconds = job_.block().timeout_seconds;
    if (seconds <= 0) return why.deadline;
    return std::min(why.deadline, now(current_) + std::chrono::duration_cast<clock::duration>(
                                                      std::chrono::duration<double>(seconds)));
  }

  [[nodiscard]] ticks in_ticks(time_point at) const noexcept {
    if (at == no_deadline) return ~ticks{0};
    std::chrono::duration<double, std::micro> const after = at - started_;
    return static_cast<ticks>(std::max(0.0, after.count()) * Options::ticks_a_microsecond) + 1;
  }

  /// Ends waits past their deadline. Deadlines use the world's clock, the one input that the seed does not
  /// decide.
  void end_late_waits() {
    for (auto& b : blocked_) {
      if (b.why == nullptr || b.deadline == no_deadline || b.timed_out || b.deadline > clock::now()) continue;
      b.timed_out = true;
      wake(bit(static_cast<rank_t>(&b - blocked_.data())));
    }
  }

  void nobody_can_go_on() {
    // A deadline may still end a wait.
    auto first = blocked_.end();
    for (auto it = blocked_.begin(); it != blocked_.end(); ++it) {
      if (it->why == nullptr || it->deadline == no_deadline) continue;
      if (first == blocked_.end() || it->deadline < first->deadline) first = it;
    }
    if (first != blocked_.end() && !job_.failed()) {
      auto const late = static_cast<rank_t>(first - blocked_.begin());
      if (!is_timed()) std::this_thread::sleep_until(first->deadline);
      first->timed_out = true;
      wake(bit(late));
      return;
    }
    if (!job_.failed()) {
      rank_t const who = static_cast<rank_t>(std::countr_zero(unfinished_));
      auto const wait_of = [this](rank_t r) -> blocked const& {
        return blocked_[static_cast<std::size_t>(r)];
      };
      auto const locks_of = [this](rank_t r) -> held_locks const& { return this->locks_of(r); };
      job_.mark_failed(who, describe(size(), wait_of, locks_of, blocked_.size()), errc::deadlock);
    }
    wake(unfinished_);
  }

  job job_;
  Options how_;
  std::function<void()> agent_;
  dice dice_;  ///< for the order and for pauses
  turn_order<Options> order_;
  std::vector<std::unique_ptr<fiber>> fibers_;
  std::vector<blocked> blocked_;
  waiters runnable_ = 0;
  waiters unfinished_ = 0;
  waiters idle_ = 0;     ///< with a clock: cores whose last poll was in vain
  waiters woken_ = 0;    ///< cores with a word that has changed since that poll
  waiters pausing_ = 0;  ///< cores that gave up their turn for a while
  std::array<std::uint64_t, most_cores> pause_ends_{};  ///< on the clock of points_ + skipped_
  std::uint64_t skipped_ = 0;                           ///< time that passed while all paused
  rank_t current_ = -1;
  rank_t next_ = -1;
  rank_t last_ = -1;  ///< the core of the previous turn
  std::int64_t budget_ = 1;
  std::uint64_t points_ = 0;
  std::uint64_t turns_ = 0;
  std::uint64_t switches_ = 0;
  timeline time_;
  time_point started_ = clock::now();
};

}  // namespace PGAS_NAMESPACE::detail::emulation
