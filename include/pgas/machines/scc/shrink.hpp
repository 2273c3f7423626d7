// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <concepts>
#include <pgas/machines/scc/options.hpp>
#include <string>
#include <vector>

namespace PGAS_NAMESPACE::detail::scc {

/// Calls fails(subset) for the subsets of `count` switches, in order, until one fails or `runs` are used up.
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

}  // namespace PGAS_NAMESPACE::detail::scc

namespace PGAS_NAMESPACE::scc {

/// The fewest changes of turns with which a program still fails, taken from those of a failing run.
///
/// `fails(options)` runs the program with the options and returns whether it failed. Every change in the
/// result is needed: the program does not fail without it. No smaller choice fails either, as far as 2000
/// further runs can tell. A change from a waiting core is omitted if the core of the lowest number may
/// follow. The result is empty if the program fails without any change, or does not fail at all. Costs: about
/// one run for each change, at worst their square.
/// Source: Zeller and Hildebrandt, Simplifying and isolating failure-inducing input, 2002 (ddmin). The search
/// after it is ours, since a result of ddmin need not be the smallest.
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
  if (!fails_with(all)) return all;  // the world's clock had an influence

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

/// The changes as a sentence: "core 1 gives way to core 0 at its point 17, ...".
inline std::string to_string(std::vector<switch_point> const& switches) {
  std::string text;
  for (auto const& s : switches) {
    if (!text.empty()) text += ", ";
    text += s.from < 0 ? "core " + std::to_string(s.to) + " begins"
                       : "core " + std::to_string(s.from) +
                             (s.waits ? " waits and is followed by core " : " gives way to core ") +
                             std::to_string(s.to) + " at its point " + std::to_string(s.at);
  }
  return text.empty() ? "no change of turns" : text;
}

}  // namespace PGAS_NAMESPACE::scc
