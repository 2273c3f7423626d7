// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/support/expects.hpp>

namespace pgas::inline PGAS_ASSERTIONS::scc {

/// The rules of the oracle beside "control words order the ranks". Tests switch one off to show that it is
/// needed.
struct check_rules {
  bool earliest = true;     ///< a wait takes the earliest value that ends it, not the one that it reads
  bool holders = true;      ///< shared holders of a lock are in no order
  bool passed_on = true;    ///< a shared holder passes on the order that its lock has taught it
  bool elements = true;     ///< the lock of elements orders the operations on elements only
  bool atomics = true;      ///< an atomic operation does not race with another
  bool locations = true;    ///< an atomic store releases, and an atomic load of the element acquires
  bool completion = true;   ///< a put or a get happens between its call and its flush
  bool targets = true;      ///< the flush of one target completes nothing at another
  bool publication = true;  ///< a fence, a wait or a sync publishes the stores to the own part
  bool stages = true;       ///< stage reads what it hands out
  bool buffers = true;      ///< a buffer of a put or a get belongs to it until flush_local
};

}  // namespace pgas::inline PGAS_ASSERTIONS::scc
