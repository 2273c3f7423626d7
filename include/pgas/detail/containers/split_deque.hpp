// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <pgas/concepts/control.hpp>
#include <span>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// One rank's deque of tasks. A part of it is private; the other part is offered to thieves.
///
/// Private   tasks are in memory of the owner alone: it pushes and pops at one end without any control word.
/// Words     of each rank: `offer` has two indices of 32 bits, top and split; `copied` counts tasks.
/// States    Task i of [top, split) is offered, and lies in cell i mod cells of the owner's part. Indices
///           wrap.
///
///             offer      by the owner, while top = split: put its oldest tasks behind split, await their
///                        arrival, and store split + n (release). Nobody else may modify the word then.
///             steal      by a thief: load the word; claim half by a compare_exchange of top with top + n
///                        (acquire); get the tasks; add n to `copied` (release).
///             take back  by the owner, when it has no private task: a compare_exchange of split with
///                        split - n; its own puts are there.
///
///           A cell below top is free when all claimed tasks have been copied: `copied` = top (acquire).
/// One word  decides every race, so no order between two words is needed. In that, ours differs from Chase
///           and Lev 2005 and from the THE protocol of Cilk (Frigo, Leiserson, Randall 1998): their owner
///           stores one index and then loads the other, with a sequentially consistent fence between the two.
///           Memory that ranks reach by messages, or past caches, has no such fence.
/// Source    split queues: Dinan, Larkins, Sadayappan, Krishnamoorthy, Nieplocha 2009, "Scalable work
///           stealing", whose thieves hold a lock; one word for a steal: Cartier, Dinan, Larkins 2021,
///           "Optimizing work stealing communication with structured atomic operations". Ours differs from
///           the second. A thief claims by compare_exchange, so it never claims what is not there; the
///           private part is unbounded memory of the owner; and the word needs no validity bit.
/// ABA       The owner may take tasks back and offer others, so that a word returns to an older value. A
///           thief that then succeeds with its old value claims the tasks that are there now, and gets them
///           afterwards. Nothing it knew of the older ones is used.
/// Costs     a push or pop of the owner: none. An offer: two loads of own words, a put and a store. A steal:
///           a load, a compare_exchange, a get and an addition at the victim, for half of its offer.
template <class Control, class Memory>
class split_deque {
 public:
  using value_type = typename Memory::value_type;
  static constexpr std::size_t words_each = 2;

  split_deque(Control& words, Memory memory, std::size_t cells)
      : words_(&words), memory_(std::move(memory)), cells_(static_cast<std::uint32_t>(cells)) {}

  void push(value_type const& task) { private_.push_back(task); }
  /// The private tasks.
  [[nodiscard]] std::size_t size() const noexcept { return private_.size(); }

  /// Removes the newest task: a private one, or one of those that this rank offers. Returns false if it has
  /// none.
  bool pop(value_type& task) {
    if (private_.empty() && !take_back()) return false;
    task = private_.back();
    private_.pop_back();
    return true;
  }

  /// Offers half of the private tasks, the oldest ones, unless this rank still offers some. Local.
  void offer() {
    if (private_.empty()) return;
    // relaxed: the rank's own word; what thieves have done matters by `copied`.
    word const seen = offer_of(words_->rank()).load(std::memory_order_relaxed);
    if (top_of(seen) != split_of(seen)) return;
    if (copied_to_ != top_of(seen)) {
      // acquire: pairs with the release in steal(), whose rank has then read these cells.
      word const copied = copied_of(words_->rank()).load(std::memory_order_acquire);
      if (static_cast<std::uint32_t>(copied) == top_of(seen)) copied_to_ = top_of(seen);
    }
    std::uint32_t const used = top_of(seen) - copied_to_;
    auto const n = static_cast<std::uint32_t>(
        std::min<std::size_t>((private_.size() + 1) / 2, used < cells_ ? cells_ - used : 0));
    if (n == 0) return;
    std::vector<value_type> tasks(private_.begin(), private_.begin() + n);
    private_.erase(private_.begin(), private_.begin() + n);
    for_each_run(split_of(seen), n, [&](std::size_t at, std::size_t first, std::size_t run) {
      memory_.put(words_->rank(), at, std::span<value_type const>(tasks).subspan(first, run));
    });
    memory_.arrive(words_->rank());
    store_offer(word_of(top_of(seen), split_of(seen) + n));
  }

  /// Returns whether a rank seems to offer tasks.
  [[nodiscard]] bool may_have(rank_t victim) {
    word const seen = offer_of(victim).load(std::memory_order_relaxed);  // relaxed: steal() decides
    return top_of(seen) != split_of(seen);
  }

  /// Steals half of what the victim offers, at least one task, into the private part. Returns their number.
  std::size_t steal(rank_t victim) {
    // relaxed: the compare_exchange acquires.
    word seen = offer_of(victim).load(std::memory_order_relaxed);
    std::vector<value_type> tasks;
    std::uint32_t n = 0;
    for (;;) {
      std::uint32_t const offered = split_of(seen) - top_of(seen);
      if (offered == 0) return 0;
      n = (offered + 1) / 2;
      tasks.resize(n);
      // acquire: pairs with the release in store_offer() of the victim; thieves between the two continue its
      // release sequence. release: pairs with the acquire in take_back() of the victim, see stealing_ranks.
      if (offer_of(victim).compare_exchange(seen, word_of(top_of(seen) + n, split_of(seen)),
                                            std::memory_order_acq_rel))
        break;
    }
    copy(victim, top_of(seen), tasks);
    // release: pairs with the acquire in offer().
    detail::add(copied_of(victim), n, std::memory_order_release);
    private_.insert(private_.end(), tasks.begin(), tasks.end());
    return n;
  }

 private:
  static constexpr std::uint32_t top_of(word w) noexcept { return static_cast<std::uint32_t>(w); }
  static constexpr std::uint32_t split_of(word w) noexcept { return static_cast<std::uint32_t>(w >> 32U); }
  static constexpr word word_of(std::uint32_t top, std::uint32_t split) noexcept {
    return word{split} << 32U | top;
  }
  [[nodiscard]] auto offer_of(rank_t rank) { return words_->cell(rank, 0); }
  [[nodiscard]] auto copied_of(rank_t rank) { return words_->cell(rank, 1); }

  void store_offer(word offered) {
    // release: pairs with the acquire in steal(). No other rank may modify the word while nothing is offered.
    offer_of(words_->rank()).reset_unshared(offered, std::memory_order_release);
  }

  /// Makes half of the offered tasks private again, the newest ones. Returns whether there were any.
  bool take_back() {
    rank_t const self = words_->rank();
    // acquire, here and below: a rank that finds nothing left rests after its thieves became active.
    word seen = offer_of(self).load(std::memory_order_acquire);
    std::uint32_t n = 0;
    for (;;) {
      std::uint32_t const offered = split_of(seen) - top_of(seen);
      if (offered == 0) return false;
      n = (offered + 1) / 2;
      word const left = word_of(top_of(seen), split_of(seen) - n);
      if (offer_of(self).compare_exchange(seen, left, std::memory_order_acquire)) break;
    }
    std::vector<value_type> tasks(n);
    copy(self, split_of(seen) - n, tasks);
    private_.assign(tasks.begin(), tasks.end());
    return true;
  }

  void copy(rank_t rank, std::uint32_t first, std::span<value_type> into) {
    for_each_run(first, into.size(), [&](std::size_t at, std::size_t from, std::size_t run) {
      memory_.get(rank, at, into.subspan(from, run));
    });
  }
  /// Calls use(cell, first task, number) for each run of adjacent cells. The number of cells is a power of
  /// two, since indices wrap.
  template <class Use>
  void for_each_run(std::uint32_t index, std::size_t number, Use const& use) const {
    for (std::size_t done = 0; done < number;) {
      std::size_t const cell = (index + done) & (cells_ - 1);
      std::size_t const run = std::min<std::size_t>(number - done, cells_ - cell);
      use(cell, done, run);
      done += run;
    }
  }

  Control* words_;
  Memory memory_;
  std::uint32_t cells_;
  std::uint32_t copied_to_ = 0;  ///< all tasks below it, as far as this rank knows, have been copied
  std::deque<value_type> private_;
};

}  // namespace PGAS_NAMESPACE::detail
