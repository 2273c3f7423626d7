// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/support/expects.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <pgas/vocabulary/rank_set.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The epochs that are open on a window and in which this rank accesses parts: none, one of any kind but a
/// lock, or locks.
///
/// One lock is the frequent case. So one number says which of these cases it is, and which part that lock is
/// on: the lock opens and ends with a comparison and a store each. More locks are in a table.
class open_accesses {
 public:
  explicit open_accesses(rank_t ranks) : locked_(ranks) {}
  open_accesses(open_accesses const&) = delete;
  /// An epoch that is no lock opens, or ends. Requires that no lock is open.
  open_accesses& operator=(bool open) noexcept {
    now_ = open ? no_lock : none;
    return *this;
  }

  [[nodiscard]] bool any() const noexcept { return now_ != none; }
  /// Returns whether a lock on this part is open.
  [[nodiscard]] bool has_lock(rank_t target) const noexcept {
    return now_ == target || (now_ == locks && locked_.contains(target));
  }

  /// A lock on this part opens. Returns false, and does nothing, if another epoch is open: then the same is
  /// asked of begin_one_more.
  [[nodiscard]] bool begin_lock(rank_t target) noexcept {
    if (now_ != none) [[unlikely]]
      return false;
    now_ = target;
    return true;
  }
  /// The same beside other locks. Returns false, and does nothing, if another epoch stands in its way.
  [[nodiscard]] bool begin_one_more(rank_t target) noexcept {
    if (now_ == no_lock || has_lock(target)) return false;
    if (now_ != locks) locked_.insert(now_);
    now_ = locks;
    locked_.insert(target);
    return true;
  }

  /// A lock on this part ends. Returns false, and does nothing, if it may not be the only one: then
  /// end_one_of_more does it.
  [[nodiscard]] bool end_lock(rank_t target) noexcept {
    if (now_ != target) [[unlikely]]
      return false;
    now_ = none;
    return true;
  }
  void end_one_of_more(rank_t target) noexcept {
    locked_.erase(target);
    if (locked_.empty()) now_ = none;
  }

 private:
  static constexpr rank_t none = -1;
  static constexpr rank_t no_lock = -2;  ///< an epoch that is no lock
  static constexpr rank_t locks = -3;    ///< more locks than one, or one that is left of them: see locked_

  rank_t now_ = none;  ///< one of these, or the rank whose part alone is locked
  rank_set locked_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
