// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <pgas/concepts/control.hpp>
#include <pgas/detail/job/held_locks.hpp>
#include <pgas/detail/job/ranks.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/vocabulary/error.hpp>
#include <string>
#include <vector>

namespace PGAS_NAMESPACE::detail::emulation {

/// Ranks as text: the first `most`, and how many more.
template <class Ranks>
[[nodiscard]] std::string text_of_ranks(Ranks const& all, std::size_t most) {
  std::string text;
  std::size_t const shown = std::min<std::size_t>(all.size(), most);
  for (std::size_t i = 0; i < shown; ++i) text += (i == 0 ? "rank " : ",") + std::to_string(all[i]);
  if (shown < all.size()) text += text_of({" and ", all.size() - shown, " more"});
  return text;
}

/// The wait of one rank of an emulated machine; none if `why` is null.
struct blocked {
  waiting_for const* why = nullptr;
  std::string_view label = {};
  team_ranks const* ranks = nullptr;
  time_point deadline = no_deadline;
  bool timed_out = false;

  /// What the wait is for: these ranks, or else what the reason names.
  template <class Ranks>
  [[nodiscard]] std::string awaited_text(Ranks const& all, std::size_t most) const {
    return all.size() == 0 ? std::string(awaited_otherwise(reason().acquires)) : text_of_ranks(all, most);
  }
  [[noreturn]] void throw_late(rank_t self, std::size_t most) const {
    throw error(errc::timed_out, self, why->operation,
                text_of({"this rank waited too long (", label, ") for ",
                         awaited_text(ranks->to_world(why->awaited), most)}));
  }
  /// The reason of the wait, with the number of a part in the job.
  [[nodiscard]] waiting_for reason() const { return why == nullptr ? waiting_for{} : ranks->in_job(*why); }
};

/// The sentence of a deadlock: the ranks that wait, and those that they wait for. It names the first `most`
/// of each. `wait_of(rank)` is the wait of a rank, and `locks_of(rank)` what it holds: a rank that waits for
/// an exclusive lock waits for those that hold the part.
template <class WaitOf, class LocksOf>
[[nodiscard]] std::string describe(rank_t ranks, WaitOf const& wait_of, LocksOf const& locks_of,
                                   std::size_t most) {
  auto const holders = [&](rank_t waiter) {
    std::vector<rank_t> found;
    waiting_for const why = wait_of(waiter).reason();
    for (rank_t other = 0; why.alone && other < ranks; ++other) {
      if (other != waiter && has_wanted(locks_of(other).during(wait_of(other).reason()), why))
        found.push_back(other);
    }
    return found;
  };
  std::string sentence;
  std::size_t waiting = 0;
  std::vector<rank_t> returned;
  for (rank_t rank = 0; rank < ranks; ++rank) {
    blocked const& b = wait_of(rank);
    if (b.why == nullptr) {
      returned.push_back(rank);
    } else if (++waiting <= most) {
      auto const named = holders(rank);
      sentence += text_of(
          {waiting == 1 ? "" : "; ", "rank ", rank, " waits in ", b.why->operation, " (", b.label, ") for ",
           named.empty() ? b.awaited_text(b.ranks->awaited(*b.why), most) : b.awaited_text(named, most)});
    }
  }
  if (waiting > most) sentence += text_of({"; ", waiting - most, " more ranks wait"});
  if (!returned.empty())
    sentence +=
        "; " + text_of_ranks(returned, most) + (returned.size() == 1 ? " has returned" : " have returned");
  return sentence + "; none of them can go on";
}

}  // namespace PGAS_NAMESPACE::detail::emulation
