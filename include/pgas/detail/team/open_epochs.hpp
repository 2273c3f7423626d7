// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstring>
#include <pgas/detail/types/plain_list.hpp>
#include <pgas/vocabulary/rank.hpp>

namespace PGAS_NAMESPACE::detail {

/// The epochs that are open on a window and in which this rank accesses parts: none, one of any kind but a
/// lock, or locks.
///
/// A lock opens and ends by a store each. To count the locks would take a quarter of the time of a free lock,
/// so other epochs look at the bytes of all parts when they open.
class open_epochs {
 public:
  explicit open_epochs(rank_t ranks) : has_lock_(static_cast<std::size_t>(ranks)) {}

  /// An epoch that is no lock opens, or ends.
  open_epochs& operator=(bool open) noexcept {
    other_ = open ? other::one_epoch : other::none;
    return *this;
  }
  /// A lock_all opens. It ends like the others.
  void begin_lock_all() noexcept { other_ = other::lock_all; }
  /// A lock on a part opens. Requires that it may_lock.
  void begin_lock(rank_t part) noexcept { has_lock_[index(part)] = 1; }
  void end_lock(rank_t part) noexcept { has_lock_[index(part)] = 0; }

  [[nodiscard]] bool any() const noexcept {
    return other_ != other::none || std::memchr(has_lock_.begin(), 1, has_lock_.size()) != nullptr;
  }
  [[nodiscard]] bool is_lock_all() const noexcept { return other_ == other::lock_all; }
  [[nodiscard]] bool has_lock(rank_t part) const noexcept { return has_lock_[index(part)] != 0; }
  /// Returns whether a lock on a part may open: beside locks on other parts.
  [[nodiscard]] bool may_lock(rank_t part) const noexcept { return other_ == other::none && !has_lock(part); }
  /// Calls use(part) for each part on which a lock is open, held or not yet.
  template <class Use>
  void for_each_lock(Use&& use) const {
    for (std::size_t i = 0; i < has_lock_.size(); ++i) {
      if (has_lock_[i] != 0) use(static_cast<rank_t>(i));
    }
  }

 private:
  enum class other : unsigned char { none, one_epoch, lock_all };
  static std::size_t index(rank_t part) noexcept { return static_cast<std::size_t>(part); }

  other other_ = other::none;
  plain_list<unsigned char> has_lock_;  ///< of each part
};

}  // namespace PGAS_NAMESPACE::detail
