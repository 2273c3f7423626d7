// SPDX-License-Identifier: BSL-1.0
// The locks of Christgau and Schnor 2019 to the letter of their paper, where ours differ from them: there a request
// that was turned away does not look until the way is free but tries again, and a reader always joins the queue.
#pragma once

#include <pgas/sync/policy.hpp>

#include "chip.hpp"

namespace papers {

using pgas::word;

/// What the papers' programs do not use, and a protocol must have.
struct locks_of_parts_only {
  template <pgas::boundary Boundary>
  [[noreturn]] bool try_lock(pgas::rank_t, pgas::lock_kind, Boundary&) {
    refuse("try_lock");
  }
  template <pgas::boundary Boundary>
  [[noreturn]] void lock_all(Boundary&) {
    refuse("lock_all");
  }
  template <pgas::boundary Boundary>
  [[noreturn]] void trigger(pgas::rank_t, Boundary&) {
    refuse("lock_all");
  }
  template <pgas::boundary Boundary>
  [[noreturn]] void unlock_all(Boundary&) {
    refuse("unlock_all");
  }

 private:
  [[noreturn]] static void refuse(std::string_view operation) {
    throw pgas::error(pgas::errc::unsupported, -1, operation,
                      "the papers' locks only lock and unlock single parts; take one of the library's");
  }
};

/// What a reader does that meets a writer. The paper says that it takes its count back, pauses and tries again. It also
/// says that readers hammer the counter at the writer, and its times are those of readers that stay and poll, as the
/// scheme's own authors have it.
enum class waiting_readers { poll, retry };

/// Two-level counters. `BackOff`: 1 us after the first attempt that failed, then twice as long each time, without
/// bound. For windows of the whole team.
template <bool BackOff, waiting_readers Waiting = waiting_readers::poll>
struct paper_gbh {
  static constexpr std::string_view name = BackOff ? "paper_gbh_backoff" : "paper_gbh";
  static constexpr pgas::rmw needs = pgas::rmw::test_and_set;
  static constexpr pgas::control_words words(pgas::rank_t) noexcept { return {.slots = 0, .cells = 2}; }

  template <pgas::control Control>
  class on : public locks_of_parts_only {
   public:
    on(Control& control, pgas::control_words first) : control_(&control), first_(first.cells) {}

    template <pgas::boundary Boundary>
    void lock(pgas::rank_t target, pgas::lock_kind kind, Boundary& b) {
      for (unsigned attempt = 0; !this->attempt(target, kind); ++attempt) {
        if (Waiting == waiting_readers::poll && kind == pgas::lock_kind::shared) {
          control_->wait_until(part(target), [](word now) { return (now & writer) == 0; }, {.operation = "lock"});
          break;  // it is counted
        }
        if constexpr (BackOff) machine::of(control_->rank()).work(static_cast<double>(1U << std::min(attempt, 20U)));
      }
      b.refresh(pgas::group(&target, 1));
    }
    template <pgas::boundary Boundary>
    void unlock(pgas::rank_t target, pgas::lock_kind kind, Boundary& b) {
      b.publish(pgas::group(&target, 1));
      if (kind == pgas::lock_kind::shared) {
        part(target).fetch_add(minus(reader), std::memory_order_release);
        return;
      }
      part(target).fetch_add(minus(writer), std::memory_order_release);
      all().fetch_add(minus(1), std::memory_order_release);
    }

   private:
    static constexpr word writer = 1;
    static constexpr word reader = 2;
    static constexpr word minus(word value) noexcept { return word{0} - value; }
    auto all() { return control_->cell(0, first_); }
    auto part(pgas::rank_t target) { return control_->cell(target, first_ + 1); }

    bool attempt(pgas::rank_t target, pgas::lock_kind kind) {
      if (kind == pgas::lock_kind::shared) {
        if ((part(target).fetch_add(reader, std::memory_order_acquire) & writer) == 0) return true;
        if (Waiting == waiting_readers::retry) part(target).fetch_add(minus(reader), std::memory_order_relaxed);
        return false;
      }
      all().fetch_add(1, std::memory_order_acquire);
      word seen = 0;
      if (part(target).compare_exchange(seen, writer, std::memory_order_acquire)) return true;
      all().fetch_add(minus(1), std::memory_order_relaxed);
      return false;
    }

    Control* control_;
    std::size_t first_;
  };
};

static_assert(pgas::target_lock_protocol<paper_gbh<true>>);

/// The queue lock with writer preference, as Mellor-Crummey and Scott have it: a reader without conflict takes 4
/// read-modify-writes to come in.
struct paper_mcs_wp {
  static constexpr std::string_view name = "paper_mcs_wp";
  static constexpr pgas::rmw needs = pgas::rmw::test_and_set;
  static constexpr pgas::control_words words(pgas::rank_t) noexcept { return {.slots = 0, .cells = 6}; }

  template <pgas::control Control>
  class on : public locks_of_parts_only {
   public:
    on(Control& control, pgas::control_words first) : control_(&control), first_(first.cells) {}

    template <pgas::boundary Boundary>
    void lock(pgas::rank_t target, pgas::lock_kind kind, Boundary& b) {
      if (kind == pgas::lock_kind::exclusive) {
        start_write(target);
      } else {
        start_read(target);
      }
      b.refresh(pgas::group(&target, 1));
    }
    template <pgas::boundary Boundary>
    void unlock(pgas::rank_t target, pgas::lock_kind kind, Boundary& b) {
      b.publish(pgas::group(&target, 1));
      if (kind == pgas::lock_kind::exclusive) {
        end_write(target);
      } else {
        end_read(target);
      }
    }

   private:
    static constexpr word interested = 1;
    static constexpr word closed = 2;
    static constexpr word listed = 4;
    static constexpr word one_reader = 8;
    static constexpr word minus(word value) noexcept { return word{0} - value; }

    [[nodiscard]] word me() const noexcept { return static_cast<word>(control_->rank()) + 1; }
    static pgas::rank_t rank_of(word who) noexcept { return static_cast<pgas::rank_t>(who - 1); }
    auto state(pgas::rank_t target) { return control_->cell(target, first_); }
    auto readers(pgas::rank_t target) { return control_->cell(target, first_ + 1); }
    auto writers(pgas::rank_t target) { return control_->cell(target, first_ + 2); }
    auto head(pgas::rank_t target) { return control_->cell(target, first_ + 3); }
    auto blocked(word who) { return control_->cell(rank_of(who), first_ + 4); }
    auto next(word who) { return control_->cell(rank_of(who), first_ + 5); }

    void wake(word who) { blocked(who).reset_unshared(0, std::memory_order_release); }
    void wait() {
      control_->wait_until(blocked(me()), [](word now) { return now == 0; }, {.operation = "lock"});
    }

    void start_write(pgas::rank_t target) {
      next(me()).reset_unshared(0, std::memory_order_relaxed);
      blocked(me()).reset_unshared(1, std::memory_order_relaxed);
      word const before = writers(target).exchange(me(), std::memory_order_acq_rel);
      if (before == 0) {
        announce(target, me());
      } else {
        next(before).reset_unshared(me(), std::memory_order_release);
      }
      wait();
    }
    void announce(pgas::rank_t target, word who) {
      head(target).reset_unshared(who, std::memory_order_relaxed);
      if ((state(target).fetch_add(interested, std::memory_order_acq_rel) & listed) != 0) return;
      if (state(target).fetch_add(closed, std::memory_order_acq_rel) >= one_reader) return;
      wake(who);
    }
    void end_write(pgas::rank_t target) {
      if (word const after = next(me()).load(std::memory_order_acquire); after != 0) {
        head(target).reset_unshared(after, std::memory_order_relaxed);
        wake(after);
        return;
      }
      if ((state(target).fetch_add(minus(interested + closed), std::memory_order_acq_rel) & listed) != 0) admit(target);
      word last = me();
      if (writers(target).compare_exchange(last, 0, std::memory_order_acq_rel)) return;
      word const after = control_->wait_until(next(me()), [](word now) { return now != 0; }, {.operation = "unlock"});
      announce(target, after);
    }

    void start_read(pgas::rank_t target) {
      blocked(me()).reset_unshared(1, std::memory_order_relaxed);
      word const before = readers(target).exchange(me(), std::memory_order_acq_rel);
      if (before == 0 && (state(target).fetch_add(listed, std::memory_order_acq_rel) & (interested | closed)) == 0)
        admit(target);
      wait();
      if (before == 0) return;
      state(target).fetch_add(one_reader, std::memory_order_acq_rel);
      wake(before);
    }
    void admit(pgas::rank_t target) {
      word const old = state(target).fetch_add(one_reader - listed, std::memory_order_acq_rel);
      if ((old & interested) != 0 && (old & closed) == 0) state(target).fetch_add(closed, std::memory_order_acq_rel);
      wake(readers(target).exchange(0, std::memory_order_acq_rel));
    }
    void end_read(pgas::rank_t target) {
      word const old = state(target).fetch_add(minus(one_reader), std::memory_order_acq_rel);
      if ((old & ~listed) == one_reader + interested + closed) wake(head(target).load(std::memory_order_relaxed));
    }

    Control* control_;
    std::size_t first_;
  };
};
static_assert(pgas::target_lock_protocol<paper_mcs_wp>);

}  // namespace papers
