// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/control.hpp>
#include <pgas/detail/job/held_locks.hpp>
#include <pgas/detail/job/ranks.hpp>
#include <pgas/vocabulary/error.hpp>
#include <string>
#include <utility>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail::emulation {

/// The wait of one core of an emulated machine; none if `why` is null.
struct blocked {
  waiting_for const* why = nullptr;
  std::string_view label;
  team_ranks const* ranks = nullptr;
  time_point deadline = no_deadline;
  bool timed_out = false;

  /// The ranks as text, or what is awaited if there are none.
  template <class Ranks>
  [[nodiscard]] std::string text_of_ranks(Ranks const& all) const {
    std::string text;
    for (rank_t rank : all) text += (text.empty() ? "rank " : ",") + std::to_string(rank);
    return text.empty() ? awaited_otherwise(reason().acquires) : text;
  }
  [[noreturn]] void throw_late(rank_t self) const {
    throw error(errc::timed_out, self, why->operation,
                "this rank waited too long (" + std::string(label) + ") for " +
                    text_of_ranks(ranks->to_world(why->awaited)));
  }
  /// The reason of the wait, with the number of a part in the job.
  [[nodiscard]] waiting_for reason() const { return why == nullptr ? waiting_for{} : ranks->in_job(*why); }
};

/// The sentence of a deadlock: each core, and the ranks that it waits for. A core that waits for an exclusive
/// lock waits for those that hold the part.
[[nodiscard]] inline std::string describe(std::vector<blocked> const& all, job const& of) {
  auto const holders = [&](std::size_t waiter) {
    std::vector<rank_t> found;
    waiting_for const why = all[waiter].reason();
    for (std::size_t other = 0; why.alone && other < all.size(); ++other) {
      auto const who = static_cast<rank_t>(other);
      if (other != waiter && has_wanted(of.as(who).locks().during(all[other].reason()), why))
        found.push_back(who);
    }
    return found;
  };
  std::string sentence;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (!sentence.empty()) sentence += "; ";
    sentence += "rank " + std::to_string(rank);
    auto const& b = all[rank];
    if (b.why == nullptr) {
      sentence += " has returned";
    } else {
      auto const named = holders(rank);
      sentence += " waits in " + std::string(b.why->operation) + " (" + std::string(b.label) + ") for " +
                  (named.empty() ? b.text_of_ranks(b.ranks->awaited(*b.why)) : b.text_of_ranks(named));
    }
  }
  return sentence + "; none of them can go on";
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::emulation
