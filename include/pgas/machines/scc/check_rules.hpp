// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <pgas/concepts/order_scope.hpp>
#include <string_view>

namespace pgas::inline PGAS_ASSERTIONS::scc {

/// A rank's use of a control word, which may order it after other ranks.
struct word_use {
  std::string_view control;  ///< its label
  bool is_cell;              ///< true for a cell, false for a slot
  std::size_t number;        ///< among the slots, or among the cells
  order_scope scope;         ///< of the rank
};

/// The rules of the oracle, and the orders that the interface promises. Tests switch one off to show that it
/// is needed.
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

  // Orders of the interface
  bool flush = true;            ///< the flush of a target completes puts and gets
  bool flush_all = true;        ///< a flush of all targets, as at the end of an epoch, does so
  bool flush_local = true;      ///< flush_local of a target completes gets, and gives sources back
  bool flush_local_all = true;  ///< flush_local of all targets does so
  bool requests = true;         ///< a put by request gives its source back at return
  bool roots = true;            ///< a collective with a root orders in one direction
  bool messages = true;         ///< a message orders its receiver after its sender
  bool (*words)(word_use const&) = nullptr;  ///< true for words that order the ranks; null: all words do
};

}  // namespace pgas::inline PGAS_ASSERTIONS::scc
