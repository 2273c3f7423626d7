// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <limits>
#include <pgas/vocabulary/expects.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <pgas/vocabulary/rank_set.hpp>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The epochs that are open on a window and in which this rank accesses parts: none, one of any kind but a
/// lock, or locks.
///
/// One lock is the frequent case. So one number says which of these cases it is, and which part that lock is
/// on: the lock opens and ends with a comparison and a store each. More locks are in a table.
///
/// The number of a frequent case is not in its place while the rank has a kept error. So a lock that opens
/// finds other epochs and the error by one comparison. A second number is 0 in the frequent cases alone. So a
/// lock that ends finds other locks, the error, and an exception in flight by one comparison, too.
class open_accesses {
 public:
  explicit open_accesses(rank_t ranks) : locked_(ranks) {}
  open_accesses(open_accesses const&) = delete;
  /// An epoch that is no lock opens, or ends. Requires that no lock is open.
  open_accesses& operator=(bool open) noexcept {
    set(open ? no_lock : none);
    return *this;
  }
  /// A lock_all opens. It ends like the others.
  void begin_lock_all() noexcept { set(lock_of_all); }

  [[nodiscard]] bool any() const noexcept { return now_ != none && number() != none; }
  /// Returns whether a lock is open. If so, it ends by end_one_of_more, even if it is the only one.
  [[nodiscard]] bool waits_for_locks() noexcept {
    rank_t& now = number();
    if (is_one_lock(now)) locked_.insert(part_of(std::exchange(now, locks)));
    bool const waits = now == locks;
    note_rare();
    return waits;
  }
  /// Returns whether a lock on this part is open.
  [[nodiscard]] bool has_lock(rank_t target) const noexcept {
    rank_t const now = number();
    return now == one_lock(target) || (now == locks && locked_.contains(target));
  }

  [[nodiscard]] bool is_lock_all() const noexcept { return number() == lock_of_all; }
  /// Calls use(part) for each part on which a lock is open, held or not yet.
  template <class Use>
  void for_each_lock(Use&& use) const {
    rank_t const now = number();
    if (is_one_lock(now)) return use(part_of(now));
    for (rank_t part = 0; now == locks && part < locked_.ranks(); ++part) {
      if (locked_.contains(part)) use(part);
    }
  }

  /// From now on begin_lock and end_lock return false, or they may return true again.
  void hinder(bool hindered) noexcept {
    if (hindered == (now_ == is_hindered)) return;
    if (hindered) {
      hindered_ = std::exchange(now_, is_hindered);
    } else {
      now_ = hindered_;
    }
    note_rare();
  }

  /// A lock on this part opens. Returns false, and does nothing, if another epoch is open, or `uncaught` is
  /// not 0: then the same is asked of begin_one_more. One comparison finds both, and whether this is
  /// hindered, since no epoch has the number 0 and none has a positive one.
  [[nodiscard]] bool begin_lock(rank_t target, rank_t uncaught) noexcept {
    if (now_ != uncaught) [[unlikely]]
      return false;
    now_ = one_lock(target);
    return true;
  }
  /// The same beside other locks. Returns false, and does nothing, if another epoch stands in its way.
  [[nodiscard]] bool begin_one_more(rank_t target) noexcept {
    rank_t& now = number();
    if (now == no_lock || now == lock_of_all || has_lock(target)) return false;
    if (now == none) {
      now = one_lock(target);
      return true;
    }
    if (now != locks) locked_.insert(part_of(now));
    now = locks;
    locked_.insert(target);
    note_rare();
    return true;
  }

  /// A lock on this part ends. Returns false, and does nothing, if it may not be the only one: then
  /// end_one_of_more does it.
  [[nodiscard]] bool end_lock(rank_t target) noexcept {
    if (now_ != one_lock(target)) [[unlikely]]
      return false;
    now_ = none;
    return true;
  }
  void end_one_of_more(rank_t target) noexcept {
    rank_t& now = number();
    if (now == locks) {
      locked_.erase(target);
      if (!locked_.empty()) return;
    }
    now = none;
    note_rare();
  }

  /// Returns whether a lock that is open is the only one, and this is not hindered, and `uncaught` is 0. Then
  /// end_only_lock ends the lock, if nothing else has opened or ended meanwhile.
  [[nodiscard]] bool has_only_lock(rank_t uncaught) const noexcept { return rare_ == uncaught; }
  void end_only_lock() noexcept { now_ = none; }

 private:
  static constexpr rank_t none = 0;
  static constexpr rank_t no_lock = std::numeric_limits<rank_t>::min();  ///< an epoch that is no lock
  static constexpr rank_t locks = no_lock + 1;  ///< more locks than one, or one that is left: see locked_
  static constexpr rank_t lock_of_all = no_lock + 2;
  static constexpr rank_t is_hindered = no_lock + 3;  ///< any of these: see hindered_
  /// The number of one lock, on this part.
  static constexpr rank_t one_lock(rank_t part) noexcept { return ~part; }
  static constexpr rank_t part_of(rank_t number) noexcept { return ~number; }
  static constexpr bool is_one_lock(rank_t number) noexcept { return number < none && number > is_hindered; }

  void set(rank_t now) noexcept {
    if (now_ == is_hindered) [[unlikely]] {
      hindered_ = now;
    } else {
      now_ = now;
    }
  }
  [[nodiscard]] rank_t& number() noexcept { return now_ == is_hindered ? hindered_ : now_; }
  [[nodiscard]] rank_t number() const noexcept { return now_ == is_hindered ? hindered_ : now_; }

  /// now_ has changed, and may have been, or may be, the number of a case that is not frequent.
  void note_rare() noexcept { rare_ = now_ == locks || now_ == is_hindered ? now_ : none; }

  rank_t now_ = none;       ///< one of these numbers
  rank_t rare_ = none;      ///< the same, if it is locks or is_hindered
  rank_t hindered_ = none;  ///< one of the others, while that one is is_hindered
  rank_set locked_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
