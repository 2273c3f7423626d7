// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <pgas/detail/histories/value_text.hpp>
#include <pgas/histories/history.hpp>
#include <pgas/histories/sequential_object.hpp>
#include <string>

namespace PGAS_NAMESPACE::histories {

/// The kinds of operations on a lock. The names are those of std::shared_mutex.
enum class lock_call {
  lock,             ///< waits until no rank holds the lock
  try_lock,         ///< its result is whether it has the lock
  unlock,           ///< of the rank that holds the lock
  lock_shared,      ///< waits until no rank holds the lock exclusively
  try_lock_shared,  ///< its result is whether it shares the lock
  unlock_shared,    ///< of a rank that shares the lock
};

/// A lock that one rank holds exclusively, or many ranks share. A try may fail although the lock is free, as
/// that of std::shared_mutex may.
struct spec_lock {
  using operation = lock_call;
  using result = bool;  ///< of a try: whether it has got the lock

  struct state {
    int holder = -1;  ///< -1: no rank holds the lock exclusively
    int sharers = 0;  ///< the number of ranks that share the lock

    friend bool operator==(state const&, state const&) = default;
  };

  static bool apply(state& now, record_of<spec_lock> const& r) {
    switch (r.operation) {
      case lock_call::try_lock:
        if (!r.pending() && !r.result) return true;
        [[fallthrough]];
      case lock_call::lock:
        if (now.holder >= 0 || now.sharers != 0) return false;
        now.holder = r.rank;
        return true;
      case lock_call::unlock:
        if (now.holder != r.rank) return false;
        now.holder = -1;
        return true;
      case lock_call::try_lock_shared:
        if (!r.pending() && !r.result) return true;
        [[fallthrough]];
      case lock_call::lock_shared:
        if (now.holder >= 0) return false;
        ++now.sharers;
        return true;
      case lock_call::unlock_shared:
        if (now.sharers == 0) return false;
        --now.sharers;
        return true;
    }
    return false;
  }

  static bool observes(record_of<spec_lock> const& r) {
    bool const tries = r.operation == lock_call::try_lock || r.operation == lock_call::try_lock_shared;
    return tries && !r.pending() && !r.result;
  }

  /// A lock and the unlock after it leave together.
  static bool drops_with(record_of<spec_lock> const& gone, record_of<spec_lock> const& other,
                         std::ptrdiff_t later) {
    if (observes(gone)) return false;
    return (later == 1 && !unlocks(gone) && unlocks(other)) ||
           (later == -1 && unlocks(gone) && !unlocks(other));
  }

  static std::size_t hash(state const& now) {
    return detail::hash_with(static_cast<std::size_t>(now.holder), static_cast<std::size_t>(now.sharers));
  }

  static std::string call_text(operation what) {
    switch (what) {
      case lock_call::lock:
        return "lock()";
      case lock_call::try_lock:
        return "try_lock()";
      case lock_call::unlock:
        return "unlock()";
      case lock_call::lock_shared:
        return "lock_shared()";
      case lock_call::try_lock_shared:
        return "try_lock_shared()";
      case lock_call::unlock_shared:
        return "unlock_shared()";
    }
    return "";
  }
  static std::string result_text(record_of<spec_lock> const& r) {
    bool const tries = r.operation == lock_call::try_lock || r.operation == lock_call::try_lock_shared;
    return tries ? detail::value_text(r.result) : "";
  }

 private:
  static bool unlocks(record_of<spec_lock> const& r) {
    return r.operation == lock_call::unlock || r.operation == lock_call::unlock_shared;
  }
};

static_assert(sequential_object<spec_lock>);

}  // namespace PGAS_NAMESPACE::histories
