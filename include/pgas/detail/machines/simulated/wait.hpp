// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <pgas/concepts/control.hpp>
#include <pgas/detail/machines/blocked.hpp>
#include <pgas/detail/machines/simulated/event_queue.hpp>
#include <pgas/detail/types/function_ref.hpp>
#include <span>

namespace PGAS_NAMESPACE::detail::simulated {

struct wait;

/// One word that a wait watches. Those of one owner's words are a list, which a change of a word searches.
struct watch {
  word const* at = nullptr;
  rank_t owner = -1;  ///< in the job; -1: a word of the bootstrap
  wait* of = nullptr;
  watch* next = nullptr;
  watch* before = nullptr;
};

/// The watches of words of one owner.
struct watch_list {
  watch* first = nullptr;

  void add(watch& w) noexcept {
    w.next = first;
    w.before = nullptr;
    if (first != nullptr) first->before = &w;
    first = &w;
  }
  void remove(watch& w) noexcept {
    (w.before != nullptr ? w.before->next : first) = w.next;
    if (w.next != nullptr) w.next->before = w.before;
  }
};

/// The wait of a suspended rank, on its stack.
struct wait : emulation::blocked {
  rank_t self;
  function_ref<bool(word)> predicate;
  std::span<watch> watches;
  bool is_over = false;       ///< the rank's resumption is planned
  bool looks_itself = false;  ///< the predicate may send, so only its rank may call it
  bool is_for_mail = false;   ///< only so that the rank serves its mail or looks itself
  word seen = 0;              ///< the value that satisfied the predicate
  std::size_t found = 0;      ///< its place among the watches

  /// A message names so many ranks at most.
  static constexpr std::size_t most_shown = 8;
};

}  // namespace PGAS_NAMESPACE::detail::simulated
