// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/protocol.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Such a lock finds the words of a part once for each epoch: `place(target)` is where they are. `lock` and
/// `unlock` take that place as they take the rank. A lock that has been taken would else load its addresses
/// again to be released, since other ranks may have stored to memory meanwhile.
template <class Lock>
concept placing_lock =
    requires(Lock& lock, decltype(lock.place(rank_t{})) at, rank_t target, lock_kind kind, no_boundary& b) {
      lock.place(target);
      lock.lock(at, kind, b);
      lock.unlock(at, kind, b);
    };

/// A release of such a lock changes words and does nothing else: it does not wait, so nothing of the program
/// runs meanwhile.
template <class Lock>
concept at_once_released_lock = requires { requires Lock::releases_at_once; };

/// The part of a rank, as `lock` and `unlock` take it: its place, or the rank.
template <class Lock>
[[nodiscard]] auto lock_place(Lock& lock, rank_t target) {
  if constexpr (placing_lock<Lock>) {
    return lock.place(target);
  } else {
    return target;
  }
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
