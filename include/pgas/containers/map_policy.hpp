// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <pgas/support/expects.hpp>

namespace pgas::inline PGAS_ASSERTIONS {

/// What becomes of the slot of an erased key.
enum class erased_slots {
  reused,  ///< another key takes it; a change of a value locks the bucket of its key
  kept,    ///< it waits for the same key; a change of a value is one access without a lock
};

namespace detail {

/// The steps of a map's protocol that a test may leave out, to see that it notices.
struct map_steps {
  bool locks = true;             ///< a rank that changes a chain takes the lock of its home bucket
  bool validates = true;         ///< a reader looks at the state of the bucket again
  bool counts_changes = true;    ///< a change leaves a new version
  bool marks_overflow = true;    ///< a bucket of the chain is marked while it changes
  bool waits_for_writer = true;  ///< a reader does not read a bucket that changes
  bool keeps_keys = true;        ///< where a change takes no lock, an erased key keeps its slot
  bool flushes = true;           ///< a slot has arrived before the state of its bucket says so

  friend constexpr bool operator==(map_steps const&, map_steps const&) = default;
};

}  // namespace detail

/// What the type of a distributed_map decides.
struct map_policy {
  erased_slots slots = erased_slots::reused;  ///< what becomes of the slot of an erased key
  detail::map_steps steps = {};               ///< all of them, except in tests

  friend constexpr bool operator==(map_policy const&, map_policy const&) = default;
};

/// The policy for maps that count: an update or accumulate of a present key is one atomic access, without a
/// lock. Values have at most 8 bytes. The slots of erased keys serve these keys alone, until `reserve`.
inline constexpr map_policy counting{.slots = erased_slots::kept};

/// What make_map is told. All ranks give the same.
struct map_options {
  std::size_t capacity = 1024;  ///< the keys that each rank's part surely has room for
};

}  // namespace pgas::inline PGAS_ASSERTIONS
