// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/protocol.hpp>
#include <vector>

namespace PGAS_NAMESPACE::sync {

/// This lock protocol takes the lock on a part at the first access to the part, and not at all without an
/// access.
///
/// Source: deferred synchronization, MPICH's default (Christgau and Schnor 2019, section 4.4).
/// Words     those of `Lock`.
/// Differs   from MPICH, where operations wait in a queue until the epoch ends, and a single operation
///           travels with the request. Here the first operation waits for the lock, since a get returns its
///           value. As in MPICH, a lock on the own part is taken at once, since its owner loads and stores
///           without a call.
/// Bound     that of `Lock`, counted from the first access. A rank that holds several parts must make the
///           first accesses in the common order, not only the calls to lock.
/// Memory    that of `Lock`, and a byte for each rank of private state.
/// Costs     those of `Lock` if the part is accessed, else nothing.
template <target_lock_protocol Lock>
struct deferred {
 private:
  static constexpr auto joined = detail::name_after<Lock>("deferred_");

 public:
  static constexpr std::string_view name{joined.data(), joined.size()};
  static constexpr rmw needs = Lock::needs;
  static constexpr progress progress_by = detail::progress_of<Lock>();
  static constexpr control_words words(rank_t ranks) noexcept { return Lock::words(ranks); }

  template <control Control>
  class on : public Lock::template on<Control> {
    using base = typename Lock::template on<Control>;

   public:
    on(Control& control, control_words first)
        : base(control, first), self_(control.rank()), locks_(static_cast<std::size_t>(control.size())) {}

    template <boundary Boundary>
    void lock(rank_t target, lock_kind kind, Boundary& b) {
      of(target) = kind == lock_kind::shared ? state::wants_shared : state::wants_exclusive;
      if (target == self_) first_access(target, b);
    }
    template <boundary Boundary>
    [[nodiscard]] bool try_lock(rank_t target, lock_kind kind, Boundary& b) {
      if (!base::try_lock(target, kind, b)) return false;
      of(target) = state::holds;
      return true;
    }
    template <boundary Boundary>
    void first_access(rank_t target, Boundary& b) {
      if (of(target) == state::holds) return;
      base::lock(target, of(target) == state::wants_shared ? lock_kind::shared : lock_kind::exclusive, b);
      of(target) = state::holds;
    }
    template <boundary Boundary>
    void unlock(rank_t target, lock_kind kind, Boundary& b) {
      if (of(target) == state::holds) base::unlock(target, kind, b);
      of(target) = state::nothing;
    }

    /// Returns whether the lock on a part is held, and not only asked for.
    [[nodiscard]] bool is_taken(rank_t target) const noexcept {
      return locks_[static_cast<std::size_t>(target)] == state::holds;
    }

   private:
    enum class state : unsigned char { nothing, wants_shared, wants_exclusive, holds };

    state& of(rank_t target) noexcept { return locks_[static_cast<std::size_t>(target)]; }

    rank_t self_;
    std::vector<state> locks_;
  };
};

}  // namespace PGAS_NAMESPACE::sync
