// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <pgas/concepts/control.hpp>
#include <pgas/concepts/order_scope.hpp>
#include <pgas/detail/machines/scc/memory.hpp>
#include <pgas/machines/scc/options.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail::scc {

/// One core's knowledge of the others: how many releases of each core happened before its present.
using vector_clock = std::array<std::uint32_t, 48>;

/// Adds the knowledge of `b` to `a`.
inline void join(vector_clock& a, vector_clock const& b) noexcept {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = std::max(a[i], b[i]);
}

/// The knowledge that releases of one control word left there, by the scopes of the releases.
class word_knowledge {
 public:
  /// The parts that not every acquire takes.
  struct scoped_parts {
    vector_clock shared{};   ///< of releases in scope shared_holder
    vector_clock element{};  ///< of releases in scope element
  };

  word_knowledge() = default;
  word_knowledge(word_knowledge const& other)
      : all(other.all), scoped_(other.scoped_ ? std::make_unique<scoped_parts>(*other.scoped_) : nullptr) {}
  word_knowledge& operator=(word_knowledge const& other) {
    if (this == &other) return *this;
    all = other.all;
    if (!other.scoped_) {
      scoped_.reset();
    } else if (scoped_) {
      *scoped_ = *other.scoped_;
    } else {
      scoped_ = std::make_unique<scoped_parts>(*other.scoped_);
    }
    return *this;
  }
  ~word_knowledge() = default;

  vector_clock all{};  ///< of releases in scope all

  /// Null until a release has another scope than `all`: few words have such parts.
  [[nodiscard]] scoped_parts const* scoped() const noexcept { return scoped_.get(); }
  [[nodiscard]] scoped_parts& make_scoped() {
    if (!scoped_) scoped_ = std::make_unique<scoped_parts>();
    return *scoped_;
  }

 private:
  std::unique_ptr<scoped_parts> scoped_;
};

/// The latest values of a control word, each with the knowledge that its releases left there, for the oracle.
///
/// A waiting core may be slow, and the word may have changed again meanwhile. A faster core would have seen
/// an earlier value. Only the knowledge at that value is promised to the program, so a wait ends at the
/// earliest value that satisfies it.
class word_history {
 public:
  struct told {
    word value = 0;
    std::uint64_t since = 0;     ///< the number of the access that stored it, among those of all cores
    word_knowledge knowledge{};  ///< of all releases to the word so far
  };

  /// The word's present value.
  [[nodiscard]] told const& latest() const noexcept { return all_[(stored_ - 1) % kept]; }

  /// Stores a new value. Its knowledge is that of the previous value, until the caller adds to it.
  told& store(word value, std::uint64_t since) {
    told const& before = latest();
    told& now = all_[stored_++ % kept];
    now.value = value;
    now.since = since;
    now.knowledge = before.knowledge;
    return now;
  }

  /// The earliest value that satisfies the predicate, among those that the word had after access `after`. The
  /// present value satisfies it.
  template <class Predicate>
  [[nodiscard]] told const& earliest(std::uint64_t after, Predicate&& predicate) const {
    for (std::uint64_t i = stored_ > kept ? stored_ - kept : 0; i + 1 < stored_; ++i) {
      told const& one = all_[i % kept];
      if (all_[(i + 1) % kept].since > after && predicate(one.value)) return one;
    }
    return latest();
  }

 private:
  static constexpr std::uint64_t kept = 8;  ///< with more, few waits would find an earlier value

  std::array<told, kept> all_{};
  std::uint64_t stored_ = 1;  ///< the zero that each word begins with, too
};

/// The order of the ranks, as control words promise it: which accesses of others came before the present?
///
/// A release leaves the rank's clock in the word; an acquire adds the word's clocks to the rank's. The scope
/// decides which of the word's parts is meant, see order_scope:
///
/// scope          a release adds to                       an acquire takes
/// all            all: the clock                          all, shared
/// shared_holder  all: passed; shared: clock, passed too  all, for clock, passed; shared, for passed_shared
/// element        element: clock, extra                   all and element, for extra, until the scope ends
///
/// A queue hands a shared lock from holder to holder. So a holder passes on what it learned from the lock,
/// but not its own accesses.
/// Source: vector clocks of release and acquire, as in FastTrack (Flanagan and Freund 2009). The scopes are
/// ours.
class rank_orders {
 public:
  rank_orders(rank_t cores, pgas::scc::check_rules const& rules)
      : rules_(rules), ranks_(static_cast<std::size_t>(cores)) {
    for (std::size_t r = 0; r < ranks_.size(); ++r) ranks_[r].clock[r] = 1;
  }

  [[nodiscard]] pgas::scc::check_rules const& rules() const noexcept { return rules_; }
  [[nodiscard]] order_scope scope_of(rank_t self) const noexcept { return of(self).scope; }
  /// The rank's acquires and releases have this scope from now on. Returns the scope before.
  order_scope enter(rank_t self, order_scope scope) noexcept {
    rank_state& me = of(self);
    if (scope == order_scope::element && me.scope != scope) me.extra = {};
    return std::exchange(me.scope, scope);
  }

  /// A release and an acquire by other means than a control word. They order all accesses.
  void release(rank_t self, vector_clock& left) {
    rank_state& me = of(self);
    join(left, me.clock);
    next(self);
  }
  void acquire(rank_t self, vector_clock const& left) {
    accessed(self);
    join(of(self).clock, left);
  }

  void acquire(rank_t self, word_knowledge const& left) {
    accessed(self);
    rank_state& me = of(self);
    auto const* const scoped = left.scoped();
    order_scope const as = effective(me.scope);
    if (as == order_scope::element) {
      join(me.extra, left.all);
      if (scoped != nullptr) join(me.extra, scoped->element);
      return;
    }
    join(me.clock, left.all);
    if (as == order_scope::all) {
      if (scoped != nullptr) join(me.clock, scoped->shared);
      return;
    }
    join(me.passed, left.all);
    if (scoped != nullptr) join(me.passed_shared, scoped->shared);
  }
  /// The rank has accessed a control word, and neither acquires nor releases.
  void accessed(rank_t self) noexcept { of(self).last_access = ++accesses_; }
  /// The rank stores a value to a control word.
  void stored(rank_t self, word_history& where, word value, bool releases) {
    accessed(self);
    auto& now = where.store(value, accesses_);
    if (releases) release(self, now.knowledge);
  }
  /// A wait of the rank ends, as the word's value allows. Returns the value that ends the wait: the earliest
  /// one since the rank's previous access that does.
  template <class Predicate>
  word ended_wait(rank_t self, word_history const& where, Predicate&& predicate) {
    auto const& taken = rules_.earliest ? where.earliest(of(self).last_access, predicate) : where.latest();
    acquire(self, taken.knowledge);
    return taken.value;
  }

  /// The rank has stored atomically to the element at `place`: a later atomic load of it knows this.
  void release_at(rank_t self, system_address place) {
    if (rules_.locations) release(self, elements_[place]);
  }
  void acquire_at(rank_t self, system_address place) {
    if (!rules_.locations) return;
    auto const it = elements_.find(place);
    if (it != elements_.end()) join(of(self).clock, it->second);
  }
  /// The rank begins a collective, inside which it may rely on all that earlier collectives have ordered.
  /// Returns what the program may rely on.
  [[nodiscard]] vector_clock begin_collective(rank_t self) {
    rank_state& me = of(self);
    vector_clock const promised = me.clock;
    join(me.clock, me.of_collectives);
    next(self);
    return promised;
  }
  /// The rank ends it. It keeps this knowledge, and that of its own accesses.
  void end_collective(rank_t self, vector_clock const& promised) {
    rank_state& me = of(self);
    me.of_collectives = me.clock;
    me.clock = promised;
    me.clock[static_cast<std::size_t>(self)] = me.of_collectives[static_cast<std::size_t>(self)];
  }

  /// All ranks have synchronized, by other means than control words.
  void all_met() {
    vector_clock all{};
    for (auto const& r : ranks_) join(all, r.clock);
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      ranks_[r].clock = all;
      ++ranks_[r].clock[r];
    }
  }

 protected:
  /// The rank's later accesses are after its present time.
  void next(rank_t self) noexcept { ++of(self).clock[static_cast<std::size_t>(self)]; }
  [[nodiscard]] std::uint32_t clock_of(rank_t self) const noexcept {
    return of(self).clock[static_cast<std::size_t>(self)];
  }
  /// True if what `rank` did at its time `when` is before the present of `self`.
  [[nodiscard]] bool knows(rank_t self, rank_t rank, std::uint32_t when) const noexcept {
    return of(self).clock[static_cast<std::size_t>(rank)] >= when;
  }
  /// The same for two operations on elements. Requires that `self` is in scope element.
  [[nodiscard]] bool knows_of_element(rank_t self, rank_t rank, std::uint32_t when) const noexcept {
    return knows(self, rank, when) || of(self).extra[static_cast<std::size_t>(rank)] >= when;
  }
  /// True if `self` has learned of that time as a shared holder only.
  [[nodiscard]] bool knows_as_holder(rank_t self, rank_t rank, std::uint32_t when) const noexcept {
    return of(self).passed_shared[static_cast<std::size_t>(rank)] >= when;
  }
  /// Forgets the atomic stores to a range that belongs to no window any more.
  void forget_elements(system_address first, std::uint64_t bytes) {
    std::erase_if(elements_,
                  [&](auto const& one) { return one.first >= first && one.first - first < bytes; });
  }

 private:
  struct rank_state {
    vector_clock clock{};
    vector_clock extra{};           ///< of scope element
    vector_clock of_collectives{};  ///< acquired inside collectives, and not promised to the program
    vector_clock passed{};          ///< learned from locks, and so passed on by a shared holder
    vector_clock passed_shared{};   ///< left there by shared holders: passed on to exclusive ones
    std::uint64_t last_access = 0;  ///< to a control word, among those of all ranks
    order_scope scope = order_scope::all;
  };

  void release(rank_t self, word_knowledge& left) {
    rank_state& me = of(self);
    switch (effective(me.scope)) {
      case order_scope::all:
        join(left.all, me.clock);
        break;
      case order_scope::shared_holder: {
        auto& scoped = left.make_scoped();
        if (rules_.passed_on) join(left.all, me.passed);
        join(scoped.shared, me.clock);
        join(scoped.shared, me.passed_shared);
        break;
      }
      case order_scope::element: {
        auto& scoped = left.make_scoped();
        join(scoped.element, me.clock);
        join(scoped.element, me.extra);
        break;
      }
    }
    next(self);
  }
  [[nodiscard]] order_scope effective(order_scope scope) const noexcept {
    if (scope == order_scope::shared_holder && !rules_.holders) return order_scope::all;
    if (scope == order_scope::element && !rules_.elements) return order_scope::all;
    return scope;
  }
  [[nodiscard]] rank_state& of(rank_t rank) noexcept { return ranks_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] rank_state const& of(rank_t rank) const noexcept {
    return ranks_[static_cast<std::size_t>(rank)];
  }

  pgas::scc::check_rules rules_;
  std::vector<rank_state> ranks_;
  std::uint64_t accesses_ = 0;
  std::unordered_map<system_address, vector_clock> elements_;  ///< that were stored to atomically
};

}  // namespace PGAS_NAMESPACE::detail::scc
