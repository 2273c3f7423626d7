// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <pgas/detail/machines/simulated/mapping.hpp>
#include <pgas/detail/machines/simulated/wait.hpp>
#include <pgas/detail/process/fiber.hpp>
#include <pgas/detail/process/stack_watch.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/machines/simulated/options.hpp>
#include <pgas/vocabulary/error.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace PGAS_NAMESPACE::detail::simulated {

/// The first failure of a run: its rank, its kind and its sentence.
class failure {
 public:
  [[nodiscard]] bool is_there() const noexcept { return rank_ >= 0; }

  /// Records that a rank cannot proceed. Only the first record counts.
  void note(rank_t rank, std::string_view what, errc code = errc::rank_failed) {
    if (is_there()) return;
    rank_ = rank;
    code_ = code;
    text_ = what;
  }
  /// Records that a rank's main ended early. Its reason replaces what a guard of this rank has recorded
  /// during unwinding, unless the error repeats that.
  void cause(rank_t rank, std::string_view what, errc code) {
    note(rank, what, code);
    if (rank != rank_ || has_cause_ || what.ends_with(as_cause(text_))) return;
    has_cause_ = true;
    code_ = code;
    text_ = what;
  }

  /// Throws the failure as an error of `rank` in an operation, if there is a failure.
  void check(rank_t rank, std::string_view operation) const {
    if (is_there()) [[unlikely]]
      throw error(code_, rank, operation, as_cause(text_));
  }
  /// Throws the failure, if there is one, as it is seen from outside.
  void rethrow() const {
    if (is_there()) throw error(code_, rank_, text_);
  }

  /// Runs a rank's main; its end by an exception is the run's failure.
  template <class Main>
  void watch(rank_t self, Main const& main) noexcept {
    try {
      main();
    } catch (error const& e) {
      cause(self, e.description(), static_cast<errc>(e.code().value()));
    } catch (std::exception const& e) {
      cause(self, text_of({"rank ", self, " threw: ", e.what()}), errc::rank_failed);
    } catch (...) {
      cause(self, text_of({"rank ", self, " threw something that is no std::exception"}), errc::rank_failed);
    }
  }

 private:
  rank_t rank_ = -1;
  bool has_cause_ = false;
  errc code_ = errc::rank_failed;
  std::string text_;
};

/// The stacks of all ranks, in one mapping.
///
/// Up to `most_with_guards` ranks each stack lies above memory that no access may reach; see fiber_stack. All
/// guards together have at most a GiB, and each at least a page. A guard is two mappings more, and the system
/// allows 65,530. More ranks have a mark at the end of each stack: a stack that overflows destroys the mark
/// of the next one, and is found when its fiber gives up its turn.
class stacks {
 public:
  static constexpr rank_t most_with_guards = 16384;

  stacks(rank_t ranks, std::size_t bytes)
      : ranks_(static_cast<std::size_t>(ranks)),
        guard_(ranks <= most_with_guards
                   ? std::min(fiber_stack::guard_bytes, in_pages(most_in_guards / ranks_))
                   : 0),
        step_(in_pages(bytes) + guard_),
        first_(guard_ != 0 ? guard_ : mapping::page),
        all_(first_ + step_ * ranks_ - guard_, -1, "run") {
    all_.guard(0, first_);
    for (std::size_t r = 1; guard_ != 0 && r < ranks_; ++r) all_.guard(r * step_, guard_);
  }

  /// The stack of a rank, to which nothing has been written.
  [[nodiscard]] fiber_stack stack_of(rank_t rank) {
    std::byte* const end = end_of(rank);
    std::size_t const usable = step_ - guard_ - mark_bytes;
    std::memcpy(end - mark_bytes, &mark, sizeof mark);
    return fiber_stack::part_of({end - mark_bytes - usable, usable});
  }
  /// False if the stack of a rank has overflowed.
  [[nodiscard]] bool is_sound(rank_t rank) const noexcept {
    if (guard_ != 0 || rank == 0) return true;
    return std::memcmp(end_of(rank - 1) - mark_bytes, &mark, sizeof mark) == 0;
  }
  /// The rank in whose guard an address lies, or -1.
  [[nodiscard]] rank_t rank_below(std::byte const* at) const noexcept {
    if (at < all_.data() || at >= all_.data() + all_.size()) return -1;
    auto const offset = static_cast<std::size_t>(at - all_.data());
    if (guard_ == 0) return offset < first_ ? 0 : -1;
    return offset % step_ < guard_ ? static_cast<rank_t>(offset / step_) : -1;
  }
  /// The bytes of a stack that were touched, on average.
  [[nodiscard]] std::size_t touched() const { return all_.touched() / ranks_; }

 private:
  static constexpr std::size_t mark_bytes = 64;
  static constexpr std::uint64_t mark = 0x5ac4'6a5d'0b0e'9d1f;
  static constexpr std::size_t most_in_guards = std::size_t{1} << 30U;

  static constexpr std::size_t in_pages(std::size_t bytes) noexcept {
    return (bytes + mapping::page - 1) / mapping::page * mapping::page;
  }
  [[nodiscard]] std::byte* end_of(rank_t rank) const noexcept {
    return all_.data() + first_ + (static_cast<std::size_t>(rank) + 1) * step_ - guard_;
  }

  std::size_t ranks_;
  std::size_t guard_;  ///< the bytes of the guard below each stack; 0: only the first one has a guard
  std::size_t step_;
  std::size_t first_;  ///< the bytes below the first stack
  mapping all_;
};

/// The fibers of all ranks in virtual time: one thread runs events in the order of their times.
/// Each rank has a clock, which may be ahead of the present, the time of the latest event. `until(t)`
/// suspends the running rank unless its next step, at t, is the first event. A rank that waits for a word
/// does not poll: the step that changes the word checks the predicates of the waits for it, and plans the
/// resumption. If no event is left, the ranks that have not returned wait for each other.
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
  /// The lock holders of a rank.
  [[nodiscard]] held_locks& locks_of(rank_t rank) noexcept { return locks_[static_cast<std::size_t>(rank)]; }

  /// The clock of a rank.
  [[nodiscard]] ticks& clock(rank_t rank) noexcept { return of(rank).clock; }
  [[nodiscard]] time_point now(rank_t rank) {
    return started_ + std::chrono::nanoseconds(clock(rank) / ticks_a_nanosecond);
  }

  /// Returns when all events before the running rank's next step, at `at`, have been handled.
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
  /// Suspends the running rank until another one plans its resumption.
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
    if (w.timed_out) w.throw_late(self, wait::most_shown);
  }

  /// A word of an owner has changed. Calls wake(rank) for each rank whose wait this ends; it returns the time
  /// at which that rank resumes.
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

  /// Records that a rank has failed, and lets all others look at that.
  void fail(rank_t rank, std::string_view what) {
    failed_.note(rank, what);
    wake_all();
  }
  /// Throws the failure, if there is one, as an error of this rank in an operation.
  void check(rank_t self, std::string_view operation) const { failed_.check(self, operation); }

 private:
  void wake_all() {
    for (rank_state& r : ranks_) {
      if (r.waits != nullptr) end(*r.waits);
    }
  }

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
    late.waits->timed_out = true;
    end(*late.waits);
  }
  void nobody_can_go_on() {
    auto const first =
        std::find_if(ranks_.begin(), ranks_.end(), [](auto const& r) { return r.waits != nullptr; });
    auto const wait_of = [this, none = emulation::blocked{}](rank_t r) -> emulation::blocked const& {
      return of(r).waits == nullptr ? none : *of(r).waits;
    };
    auto const locks_of = [this](rank_t r) -> held_locks const& { return this->locks_of(r); };
    failed_.note(static_cast<rank_t>(first - ranks_.begin()),
                 emulation::describe(size(), wait_of, locks_of, wait::most_shown), errc::deadlock);
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

}  // namespace PGAS_NAMESPACE::detail::simulated
