// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <map>
#include <pgas/detail/histories/order_search.hpp>
#include <pgas/detail/histories/value_text.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/histories/history.hpp>
#include <pgas/histories/sequential_object.hpp>
#include <pgas/histories/shortest.hpp>
#include <pgas/histories/verdict.hpp>
#include <pgas/vocabulary/expects.hpp>
#include <span>
#include <string>
#include <type_traits>

namespace PGAS_NAMESPACE::histories {

namespace detail {

inline constexpr std::size_t enough_for_a_reader = 6;  // operations

template <sequential_object S>
[[nodiscard]] verdict<S> linearizable_as_one(history<S> const& whole, effort const& within) {
  return searched(whole, order_of::real_time, "linearizable", within,
                  [&](history<S> const& wrong, auto const& is_wrong) {
                    auto few = shortened(earliest(wrong, is_wrong), is_wrong, within.most_checks);
                    if (few.size() > enough_for_a_reader) {  // pending operations may keep others
                      auto const others = shortened(wrong, is_wrong, within.most_checks);
                      if (others.size() < few.size()) few = others;
                    }
                    return earliest(few, is_wrong);
                  });
}

/// The history of each part, by the name of the part.
template <object_of_parts S>
[[nodiscard]] auto histories_of_parts(history<S> const& whole) {
  using name = std::remove_cvref_t<decltype(S::part_of(whole.records()[0].operation))>;
  std::map<name, history<typename S::part>> parts;
  for (auto const& r : whole.records()) {
    if (r.pending()) {
      parts[S::part_of(r.operation)].add_pending(r.rank, r.operation, r.begin);
    } else {
      parts[S::part_of(r.operation)].add(r.rank, r.operation, r.result, r.begin, r.end);
    }
  }
  return parts;
}

}  // namespace detail

/// Whether a history is linearizable: whether each operation may have taken effect at one moment between its
/// call and its return, so that all results are those of the sequential object `S`.
///
/// Objects of parts, such as maps, are checked part by part. A wrong history comes back as a short one, with
/// a table of it in the text. Requires that the records of each rank are in program order and do not overlap;
/// throws std::invalid_argument otherwise. Takes milliseconds for 1000 operations on a key by eight ranks;
/// where more operations overlap, or values repeat, the search may reach its bound.
/// Source: Herlihy and Wing 1990; Shahmirzadi 2014, figures 3.9 and 3.14, for the patterns to find in maps.
template <sequential_object S>
[[nodiscard]] verdict<S> check_linearizable(history<S> const& whole, effort const& within = {}) {
  detail::require_program_order(whole.records());
  if constexpr (object_of_parts<S>) {
    verdict<S> all;
    all.found = finding::right;
    std::string undecided;
    auto const parts = detail::histories_of_parts(whole);
    for (auto const& [name, part] : parts) {
      auto const one = detail::linearizable_as_one(part, within);
      all.states += one.states;
      if (one.right) continue;
      std::string const text = "part " + detail::value_text(name) + ": " + one.text;
      if (one.found == finding::wrong) {
        all.found = finding::wrong;
        all.text = text;
        for (auto const& r : one.shortest.records()) all.shortest.append(std::span(&r, 1));
        return all;
      }
      undecided = text;
    }
    all.right = undecided.empty();
    if (!all.right) all.found = finding::undecided;
    all.text = all.right ? pgas::detail::text_of({"linearizable: ", whole.size(), " operations on ",
                                                  parts.size(), " parts, ", all.states, " states"})
                         : undecided;
    return all;
  } else {
    return detail::linearizable_as_one(whole, within);
  }
}

}  // namespace PGAS_NAMESPACE::histories
