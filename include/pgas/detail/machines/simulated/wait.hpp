// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <pgas/concepts/control.hpp>
#include <pgas/detail/job/held_locks.hpp>
#include <pgas/detail/job/ranks.hpp>
#include <pgas/detail/machines/simulated/event_queue.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/detail/types/function_ref.hpp>
#include <pgas/vocabulary/error.hpp>
#include <span>
#include <string>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail::simulated {

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
struct wait {
  rank_t self;
  waiting_for const* why;
  std::string_view label;
  team_ranks const* ranks;
  function_ref<bool(word)> predicate;
  std::span<watch> watches;
  bool is_over = false;       ///< the rank's resumption is planned
  bool looks_itself = false;  ///< the predicate may send, so only its rank may call it
  bool is_for_mail = false;   ///< only so that the rank serves its mail or looks itself
  bool is_late = false;       ///< by its deadline
  word seen = 0;              ///< the value that satisfied the predicate
  std::size_t found = 0;      ///< its place among the watches

  /// Ranks as text: the first eight, and how many more; or what is awaited if there are none.
  [[nodiscard]] std::string text_of_ranks(plain_list<rank_t> const& all) const {
    std::string text;
    std::size_t const shown = std::min<std::size_t>(all.size(), most_shown);
    for (std::size_t i = 0; i < shown; ++i)
      text.append(i == 0 ? "rank " : ",").append(std::to_string(all[i]));
    if (shown < all.size()) text.append(" and ").append(std::to_string(all.size() - shown)).append(" more");
    return text.empty() ? awaited_otherwise(reason().acquires) : text;
  }
  /// The reason, with the number of a part in the job.
  [[nodiscard]] waiting_for reason() const { return ranks->in_job(*why); }
  /// The sentence in a deadlock. `holders` hold the part whose lock is awaited.
  [[nodiscard]] std::string text(plain_list<rank_t> const& holders) const {
    return text_of({"rank ", self, " waits in ", why->operation, " (", label, ") for ",
                    holders.empty() ? text_of_ranks(ranks->awaited(*why)) : text_of_ranks(holders)});
  }
  [[noreturn]] void throw_late() const {
    throw error(
        errc::timed_out, self, why->operation,
        text_of({"waited too long (", label, ") for ", text_of_ranks(ranks->to_world(why->awaited))}));
  }

  static constexpr std::size_t most_shown = 8;
};

/// The sentence of a deadlock: the first eight ranks that wait, and how many more wait or have returned. A
/// rank that waits for an exclusive lock waits for those that hold the part.
[[nodiscard]] inline std::string describe(std::vector<wait const*> const& waits,
                                          std::vector<held_locks> const& locks) {
  auto const holders = [&](wait const& waiter) {
    plain_list<rank_t> found;
    waiting_for const why = waiter.reason();
    for (std::size_t other = 0; why.alone && other < waits.size(); ++other) {
      waiting_for const theirs = waits[other] != nullptr ? waits[other]->reason() : waiting_for{};
      if (waits[other] != &waiter && has_wanted(locks[other].during(theirs), why))
        found.push_back(static_cast<rank_t>(other));
    }
    return found;
  };
  std::string sentence;
  std::size_t shown = 0, waiting = 0, returned = 0;
  for (std::size_t rank = 0; rank < waits.size(); ++rank) {
    wait const* const w = waits[rank];
    if (w == nullptr) {
      ++returned;
      continue;
    }
    ++waiting;
    if (shown == wait::most_shown) continue;
    ++shown;
    sentence.append(sentence.empty() ? "" : "; ").append(w->text(holders(*w)));
  }
  if (waiting > shown) sentence += text_of({"; ", waiting - shown, " more ranks wait"});
  if (returned != 0) {
    sentence += "; ";
    if (returned == 1) {
      auto const at = std::find(waits.begin(), waits.end(), nullptr) - waits.begin();
      sentence += text_of({"rank ", static_cast<long>(at), " has returned"});
    } else {
      sentence += text_of({returned, " ranks have returned"});
    }
  }
  return sentence + "; none of them can go on";
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::simulated
