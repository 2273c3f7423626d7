// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/detail/containers/split_deque.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Ranks that take tasks from their deques or from each other's, until no task is anywhere.
///
/// Words     `active` of the home: the number of ranks that may have tasks. `done` of each rank: not 0 when
/// no
///           task is anywhere.
/// States    A rank is active, or rests. It rests only when its deque, the offered part included, is empty
/// and
///           it runs no task. A thief becomes active before it claims tasks, and rests again if it got none.
///           So a rank that has tasks, or has claimed them, is active. Only a rank with tasks makes new ones.
///
///             rest    active - 1 (acquire, release); the rank that makes it 0 adds to `done` of each rank
///                     (release)
///             steal   a look at a victim; if it offers tasks, active + 1, then the claim
///
/// Never early: `active` = 0 means that no rank has tasks, and then none can get any. Never late: ranks
/// without
///           tasks rest after each failed steal, so the last one makes it 0. A thief that looked too late
///           makes it 1 for a moment, fails, and makes it 0 again.
/// Source    a count of active ranks, as in the detectors of Mattern 1987, "Algorithms for distributed
///           termination detection"; ours is one word, since ranks reach it without help, and is touched only
///           when a rank runs out of tasks.
/// Costs     a rank that rests looks at its own `done` and at a random victim in turn, and pauses longer and
///           longer. The end costs an addition at each rank.
template <class Control, class Memory, stealing_fault Fault = stealing_fault::none>
class stealing_ranks {
 public:
  using deque_type = split_deque<Control, Memory, Fault>;
  using value_type = typename Memory::value_type;
  static constexpr std::size_t words_each = deque_type::words_each + 2;

  stealing_ranks(Control& words, Memory memory, std::size_t cells, rank_t home)
      : words_(&words),
        deque_(words, std::move(memory), cells),
        home_(home),
        choice_(static_cast<std::uint64_t>(words.rank()) + 1) {
    begin();
  }

  /// Makes all ranks active. Comes before a barrier of all ranks, and after one if they have had tasks.
  void begin() {
    // relaxed: the barriers order it.
    if (words_->rank() == home_)
      active().reset_unshared(static_cast<word>(words_->size()), std::memory_order_relaxed);
    done_of(words_->rank()).reset_unshared(0, std::memory_order_relaxed);
    has_ended_ = false;
  }

  [[nodiscard]] deque_type& deque() noexcept { return deque_; }
  /// The tasks of this rank that it does not offer.
  [[nodiscard]] std::size_t size() const noexcept { return deque_.size(); }
  [[nodiscard]] bool has_ended() const noexcept { return has_ended_; }
  /// The tasks that this rank has taken from others.
  [[nodiscard]] std::uint64_t stolen() const noexcept { return stolen_; }

  /// Gets the next task: this rank's newest, or another rank's oldest. Returns false when none is anywhere.
  bool next(value_type& task) {
    if (has_ended_) return false;
    if (Fault == stealing_fault::rest_with_tasks ? deque_.pop_private(task) : deque_.pop(task)) {
      deque_.offer();
      return true;
    }
    rest();
    for (unsigned attempt = 0;; ++attempt) {
      // acquire: pairs with the release in rest() of the rank that rested last, and so with all that rested.
      if (done_of(words_->rank()).load(std::memory_order_acquire) != 0) {
        has_ended_ = true;
        return false;
      }
      if (rank_t const victim = random_other(); deque_.may_have(victim)) {
        if constexpr (Fault != stealing_fault::active_after_claim) become_active();
        stolen_ += deque_.steal(victim, [&] {
          if constexpr (Fault == stealing_fault::active_after_claim) become_active();
        });
        if (deque_.pop(task)) {
          deque_.offer();
          return true;
        }
        if constexpr (Fault != stealing_fault::active_after_claim) rest();
      }
      words_->pause(std::min(attempt, most_patience), {.operation = "next"});
    }
  }

 private:
  static constexpr unsigned most_patience = 10;

  [[nodiscard]] auto done_of(rank_t rank) { return words_->cell(rank, deque_type::words_each); }
  [[nodiscard]] auto active() { return words_->cell(home_, deque_type::words_each + 1); }

  void become_active() {
    // relaxed: the claim that follows has release order, and the victim acquires it before it rests. So the
    // victim's subtraction comes after this addition.
    active().fetch_add(1, std::memory_order_relaxed);
  }
  void rest() {
    // release: what this rank has done comes before the end. acquire: the rank that rests last passes on what
    // all others have done.
    if (active().fetch_add(~word{0}, std::memory_order_acq_rel) != 1) return;
    for (rank_t rank = 0; rank < words_->size(); ++rank)
      detail::add(done_of(rank), 1, std::memory_order_release);  // release: pairs with the acquire in next()
  }
  /// A random rank, but this one if it is not alone (splitmix64).
  [[nodiscard]] rank_t random_other() noexcept {
    auto const others = static_cast<std::uint64_t>(words_->size() - 1);
    if (others == 0) return words_->rank();
    std::uint64_t z = (choice_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    auto const other = static_cast<rank_t>((z ^ (z >> 31U)) % others);
    return other + (other >= words_->rank() ? 1 : 0);
  }

  Control* words_;
  deque_type deque_;
  rank_t home_;
  std::uint64_t choice_;
  std::uint64_t stolen_ = 0;
  bool has_ended_ = false;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
