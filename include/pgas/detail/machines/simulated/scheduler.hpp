// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <pgas/detail/machines/simulated/failure.hpp>
#include <pgas/detail/machines/simulated/stacks.hpp>
#include <pgas/detail/machines/simulated/wait.hpp>
#include <pgas/detail/process/stack_watch.hpp>
#include <pgas/detail/types/durations.hpp>
#include <pgas/machines/simulated/options.hpp>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail::simulated {

/// The fibers of all ranks in virtual time: one thread runs events in the order of their times.
///
/// Each rank has a clock, which may be ahead of the present, the time of the latest event. `until(t)`
/// suspends the running rank unless its next step, at t, is the first event. A rank that waits for a word
/// polls nothing: the step that changes the word looks at the predicates of the waits for it, and plans the
/// resumption. If no event is left, the ranks that have not returned wait for each other.
///
/// Events at one time follow each other in the order in which they were planned, so a run repeats itself.
/// Memory: a fiber, its stack and about 200 bytes a rank. Costs O(log p) a step.
class scheduler {
 public:
  scheduler(rank_t size, pgas::simulated::options const& how)
      : how_(how), ranks_(static_cast<std::size_t>(size)), locks_(ranks_.size()) {}
  scheduler(scheduler const&) = delete;
  scheduler& operator=(scheduler const&) = delete;

  /// Calls main(rank) on a fiber for each rank, and step(event) for each event of a message. Returns when all
  /// ranks have returned.
  void run(function_ref<void(rank_t)> main, function_ref<void(event const&)> step) {
    main_ = &main;
    step_ = &step;
    stacks all(size(), stack_bytes());
    std::deque<fiber> fibers;
    for (rank_t r = 0; r < size(); ++r) {
      fibers.emplace_back(all.stack_of(r), [this, r] { failed_.watch(r, [&] { (*main_)(r); }); });
      of(r).runs = &fibers.back();
      plan_resume(r, 0);
    }
    auto const rank_at = [&all](std::byte const* at) { return all.rank_below(at); };
    stack_watch const overflows(rank_at, stack_bytes());
    for (rank_t unfinished = size(); unfinished > 0;) {
      if (events_.is_empty()) nobody_can_go_on();
      event const next = events_.take();
      present_ = next.at;
      if (next.what != event::resume) {
        take(next);
        continue;
      }
      current_ = static_cast<rank_t>(next.which);
      ++switches_;
      rank_state& r = of(current_);
      r.runs->resume();
      if (!all.is_sound(current_)) overflowed();
      if (r.runs->is_done()) {
        --unfinished;
        r.is_done = true;
        last_ = std::max(last_, r.clock);
        if (failed_.is_there()) wake_all();
      }
    }
    current_ = -1;
    touched_ = all.touched();
  }

  [[nodiscard]] rank_t size() const noexcept { return static_cast<rank_t>(ranks_.size()); }
  [[nodiscard]] rank_t current() const noexcept { return current_; }
  [[nodiscard]] ticks present() const noexcept { return present_; }
  /// The end of the rank that has returned last.
  [[nodiscard]] ticks last() const noexcept { return last_; }
  [[nodiscard]] std::uint64_t events() const noexcept { return events_.planned(); }
  [[nodiscard]] std::uint64_t switches() const noexcept { return switches_; }
  /// The bytes of a stack that were touched, on average.
  [[nodiscard]] std::size_t touched() const noexcept { return touched_; }
  [[nodiscard]] failure& failed() noexcept { return failed_; }
  /// What holds the locks of a rank.
  [[nodiscard]] held_locks& locks_of(rank_t rank) noexcept { return locks_[static_cast<std::size_t>(rank)]; }

  /// The clock of a rank.
  [[nodiscard]] ticks& clock(rank_t rank) noexcept { return of(rank).clock; }
  [[nodiscard]] time_point now(rank_t rank) {
    return started_ + std::chrono::nanoseconds(clock(rank) / ticks_a_nanosecond);
  }

  /// Returns when all events before the running rank's next step, at `at`, are over.
  void until(ticks at) {
    while (!events_.is_empty() && at >= events_.first().at) {
      if (events_.first().what == event::resume) {
        plan_resume(current_, at);
        suspend();
        return;
      }
      event const next = events_.take();
      present_ = next.at;
      take(next);
    }
    present_ = std::max(present_, at);
  }
  void plan(ticks at, event::kind what, std::uint32_t which, std::uint32_t serial = 0) {
    events_.plan(std::max(at, present_), what, which, serial);
  }
  void plan_resume(rank_t rank, ticks at) { plan(at, event::resume, static_cast<std::uint32_t>(rank)); }
  /// Suspends the running rank until someone plans its resumption.
  void suspend() { of(current_).runs->suspend(); }

  /// Suspends the running rank until a watched word satisfies the predicate. Throws like control::wait_until.
  void await(wait& w) {
    rank_t const self = current_;
    failed_.check(self, w.why->operation);
    rank_state& mine = of(self);
    for (watch& each : w.watches) {
      each.of = &w;
      watched(each.owner).add(each);
    }
    mine.waits = &w;
    ++mine.serial;
    if (time_point const late = deadline(self, *w.why); late != no_deadline)
      plan(in_ticks(late), event::deadline, static_cast<std::uint32_t>(self), mine.serial);
    suspend();
    mine.waits = nullptr;
    for (watch& each : w.watches) watched(each.owner).remove(each);
    mine.clock = std::max(mine.clock, present_);
    failed_.check(self, w.why->operation);
    if (w.is_late) w.throw_late();
  }

  /// A word of an owner has changed. Calls wake(rank) for each rank whose wait this ends; it returns the time
  /// at which that rank goes on.
  template <class Wake>
  void changed(rank_t owner, word const* at, Wake&& wake) {
    for (watch* each = watched(owner).first; each != nullptr; each = each->next) {
      wait& w = *each->of;
      if (each->at != at || w.is_over || (!w.looks_itself && !w.predicate(*at))) continue;
      w.is_over = true;
      w.is_for_mail = w.looks_itself;
      w.seen = *at;
      w.found = static_cast<std::size_t>(each - w.watches.data());
      plan_resume(w.self, std::max(clock(w.self), wake(w.self)));
    }
  }

  /// Interrupts the wait of a rank, if it waits, so that it serves its mail at `at`.
  void interrupt(rank_t r, ticks at) {
    wait* const w = of(r).waits;
    if (w == nullptr || w->is_over) return;
    w->is_over = w->is_for_mail = true;
    plan_resume(r, std::max(at, clock(r)));
  }

  /// Lets each rank that waits look at the failure.
  void wake_all() {
    for (rank_state& r : ranks_) {
      if (r.waits != nullptr) end(*r.waits);
    }
  }

 private:
  using world_clock = std::chrono::steady_clock;
  static constexpr ticks ticks_a_nanosecond = 1000;
  static constexpr std::size_t large_stack = std::size_t{256} << 10U, small_stack = std::size_t{64} << 10U;
  static constexpr rank_t most_with_large_stacks = 4096;

  struct rank_state {
    ticks clock = 0;
    wait* waits = nullptr;
    watch_list watched;        ///< of this rank's words
    std::uint32_t serial = 0;  ///< the number of its waits
    bool is_done = false;
    fiber* runs = nullptr;
  };

  [[nodiscard]] rank_state& of(rank_t r) noexcept { return ranks_[static_cast<std::size_t>(r)]; }
  [[nodiscard]] watch_list& watched(rank_t owner) noexcept {
    return owner < 0 ? bootstrap_ : of(owner).watched;
  }
  [[nodiscard]] std::size_t stack_bytes() const noexcept {
    if (how_.stack_bytes != 0) return how_.stack_bytes;
    return size() <= most_with_large_stacks ? large_stack : small_stack;
  }

  [[nodiscard]] time_point deadline(rank_t self, waiting_for const& why) {
    if (how_.timeout <= 0) return why.deadline;
    return std::min(why.deadline, now(self) + std::chrono::duration_cast<world_clock::duration>(
                                                  std::chrono::duration<double>(how_.timeout)));
  }
  [[nodiscard]] ticks in_ticks(time_point at) const noexcept {
    auto const after = std::chrono::duration_cast<std::chrono::nanoseconds>(at - started_).count();
    constexpr std::int64_t farthest = std::int64_t{1} << 53U;  // a hundred days; as ticks it still fits
    return static_cast<ticks>(std::clamp<std::int64_t>(after, 0, farthest)) * ticks_a_nanosecond;
  }

  void end(wait& w) {
    if (w.is_over) return;
    w.is_over = true;
    plan_resume(w.self, std::max(present_, clock(w.self)));
  }
  void take(event const& e) {
    if (e.what != event::deadline) return (*step_)(e);
    rank_state& late = ranks_[e.which];
    if (late.waits == nullptr || late.serial != e.serial || late.waits->is_over) return;
    late.waits->is_late = true;
    end(*late.waits);
  }
  void nobody_can_go_on() {
    std::vector<wait const*> waits;
    waits.reserve(ranks_.size());
    for (rank_state const& r : ranks_) waits.push_back(r.waits);
    auto const first = std::find_if(waits.begin(), waits.end(), [](wait const* w) { return w != nullptr; });
    failed_.note(static_cast<rank_t>(first - waits.begin()), describe(waits, locks_), errc::deadlock);
    wake_all();
  }
  [[noreturn]] void overflowed() const {
    // The next stack's frames are destroyed, so nothing else can be done.
    stack_watch::tell(current_, stack_bytes());
    std::abort();
  }

  pgas::simulated::options how_;
  std::vector<rank_state> ranks_;
  std::vector<held_locks> locks_;  ///< of each rank
  watch_list bootstrap_;           ///< of the words of the bootstrap
  event_queue events_;
  failure failed_;
  function_ref<void(rank_t)>* main_ = nullptr;
  function_ref<void(event const&)>* step_ = nullptr;
  rank_t current_ = -1;
  ticks present_ = 0;
  ticks last_ = 0;
  std::uint64_t switches_ = 0;
  std::size_t touched_ = 0;
  time_point started_ = world_clock::now();
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::simulated
