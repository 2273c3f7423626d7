// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <concepts>
#include <pgas/backends/scc/options.hpp>
#include <string>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail::scc {

/// Calls fails(subset) for every subset of so many switches, in order, until one fails or `runs` are over.
template <class Fails>
bool some_subset_fails(std::vector<pgas::scc::switch_point> const& all, std::size_t count, std::size_t from,
                       std::vector<pgas::scc::switch_point>& chosen, std::size_t& runs, Fails const& fails) {
  if (count == 0) return runs > 0 && runs-- > 0 && fails(chosen);
  for (std::size_t i = from; i + count <= all.size() && runs > 0; ++i) {
    chosen.push_back(all[i]);
    if (some_subset_fails(all, count - 1, i + 1, chosen, runs, fails)) return true;
    chosen.pop_back();
  }
  return false;
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::scc

namespace pgas::inline PGAS_ASSERTIONS::scc {

/// The fewest changes of turns with which a program still fails, of those of a run that failed.
///
/// `fails(options)` runs the program as the options say and returns whether it failed. Every change that is left is
/// needed: without any one of them the program does not fail; and no smaller choice fails, as far as two thousand more
/// runs can tell. Those of a core that waits, after which somebody has to go on, are left out where the core of the
/// lowest number will do. Empty where the program fails without any, or does not fail at all. Costs: about as many runs
/// as changes, at worst their square. Source: Zeller and Hildebrandt, Simplifying and isolating failure-inducing input,
/// 2002 (ddmin); the search after it is ours, since what ddmin ends with need not be the smallest.
template <std::predicate<options const&> Fails>
std::vector<switch_point> fewest_switches(options how, Fails const& fails) {
  std::vector<switch_point> all;
  how.record = &all;
  if (!fails(how)) return {};
  how.record = nullptr;
  how.schedule = scheduling::replay;
  auto const fails_with = [&](std::vector<switch_point> const& switches) {
    how.switches = &switches;
    return fails(how);
  };
  if (fails_with({})) return {};
  if (!fails_with(all)) return all;  // the clock had a say

  std::vector<switch_point> needed = all;
  for (std::size_t pieces = 2; needed.size() >= 2;) {
    bool smaller = false;
    for (std::size_t piece = 0; piece < pieces && !smaller; ++piece) {
      auto const at = [&](std::size_t i) {
        return needed.begin() + static_cast<std::ptrdiff_t>(i * needed.size() / pieces);
      };
      std::vector<switch_point> rest(needed.begin(), at(piece));
      rest.insert(rest.end(), at(piece + 1), needed.end());
      if (fails_with(rest)) {
        needed = std::move(rest);
        smaller = true;
      }
    }
    if (smaller) {
      pieces = std::max<std::size_t>(2, pieces - 1);
    } else if (pieces == needed.size()) {
      break;
    } else {
      pieces = std::min(2 * pieces, needed.size());
    }
  }
  std::size_t runs = 2000;
  for (std::size_t count = 1; count < needed.size() && runs > 0; ++count) {
    std::vector<switch_point> chosen;
    if (detail::scc::some_subset_fails(all, count, 0, chosen, runs, fails_with)) return chosen;
  }
  return needed;
}

/// As a sentence: "core 1 gives way to core 0 at its point 17, ...".
inline std::string to_string(std::vector<switch_point> const& switches) {
  std::string text;
  for (auto const& s : switches) {
    if (!text.empty()) text += ", ";
    text += s.from < 0
                ? "core " + std::to_string(s.to) + " begins"
                : "core " + std::to_string(s.from) + (s.waits ? " leaves off for core " : " gives way to core ") +
                      std::to_string(s.to) + " at its point " + std::to_string(s.at);
  }
  return text.empty() ? "no change of turns" : text;
}

}  // namespace pgas::inline PGAS_ASSERTIONS::scc
