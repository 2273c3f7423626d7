// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <pgas/concepts/control.hpp>
#include <pgas/detail/job/job_wide_number.hpp>
#include <pgas/detail/types/plain_list.hpp>
#include <string>
#include <string_view>

namespace PGAS_NAMESPACE::detail {

/// The lock on one part of a window as a number that all ranks of a job share; never 0.
using lock_key = std::uint64_t;

/// Stands for the part in the key of a lock_all that holds all parts of its window.
inline constexpr rank_t whole_window = -3;

/// The key of the lock on rank `part`'s part. `window` is the number of a window's locks; `part` is a number
/// in the job, all_parts or whole_window.
[[nodiscard]] constexpr lock_key key_of_lock(std::uint64_t window, rank_t part) noexcept {
  return number_of_pair(window, part) | 1U;
}

/// Returns whether a wait for an exclusive lock wants one that another rank holds. `why.acquires` is a number
/// in the job.
[[nodiscard]] inline bool has_wanted(plain_list<lock_key> const& held, waiting_for const& why) noexcept {
  if (why.acquires == waiting_for::no_part || !why.alone) return false;
  lock_key const part = key_of_lock(why.window, why.acquires);
  lock_key const all = why.acquires >= 0 ? key_of_lock(why.window, whole_window) : part;
  for (lock_key const one : held) {
    if (one == part || one == all) return true;
  }
  return false;
}

/// Holds locks for a rank: a window.
class lock_holder {
 public:
  /// Adds the keys of the locks that the rank holds while it waits for `why`, whose `acquires` is a number in
  /// the job. The lock that it waits for is open, but not held yet.
  virtual void add_held(waiting_for const& why, plain_list<lock_key>& to) const = 0;

 protected:
  ~lock_holder() = default;
};

/// All lock_holders of one rank. Its waits ask them only once they are long, so taking and releasing a lock
/// costs nothing here.
class held_locks {
 public:
  void add(lock_holder& one) { holders_.push_back(&one); }
  void remove(lock_holder& one) noexcept { holders_.remove(&one); }

  /// The keys of all locks that the rank holds while it waits for `why`.
  [[nodiscard]] plain_list<lock_key> during(waiting_for const& why) const {
    plain_list<lock_key> keys;
    for (lock_holder const* const one : holders_) one->add_held(why, keys);
    return keys;
  }

 private:
  plain_list<lock_holder*> holders_;
};

/// A control whose waits tell which lock they acquire: it knows the number of its window's locks.
class control_of_locks {
 public:
  void number_locks(std::uint64_t window) noexcept { window_ = window; }

 protected:
  [[nodiscard]] waiting_for in_window(waiting_for why) const noexcept {
    why.window = window_;
    return why;
  }

 private:
  std::uint64_t window_ = 0;
};

/// The words for what a wait awaits if no rank is known: "another rank", or the lock. `part` is a number in
/// the job.
[[nodiscard]] inline std::string awaited_otherwise(rank_t part) {
  if (part == waiting_for::all_parts) return "the exclusive locks on its parts";
  if (part < 0) return "another rank";
  return "the lock on rank " + std::to_string(part) + "'s part";
}

}  // namespace PGAS_NAMESPACE::detail
