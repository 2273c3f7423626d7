// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/control.hpp>
#include <pgas/platform/job/ranks.hpp>
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

  [[nodiscard]] std::string awaited() const {
    std::string text = "rank";
    char separator = ' ';
    for (rank_t rank : ranks->to_world(why->awaited))
      text += std::exchange(separator, ',') + std::to_string(rank);
    return text;
  }
  [[noreturn]] void throw_late(rank_t self) const {
    throw error(errc::timed_out, self, why->operation,
                "waited too long (" + std::string(label) + ") for " + awaited());
  }
};

/// The sentence of a deadlock: each core, and the ranks that it waits for.
[[nodiscard]] inline std::string describe(std::vector<blocked> const& all) {
  std::string sentence;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (!sentence.empty()) sentence += "; ";
    sentence += "rank " + std::to_string(rank);
    auto const& b = all[rank];
    if (b.why == nullptr) {
      sentence += " has returned";
    } else {
      sentence +=
          " waits in " + std::string(b.why->operation) + " (" + std::string(b.label) + ") for " + b.awaited();
    }
  }
  return sentence + "; none of them can go on";
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::emulation
