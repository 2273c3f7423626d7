// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>
#include <pgas/histories/history.hpp>
#include <pgas/histories/sequential_object.hpp>
#include <span>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::histories {

/// The part of a history until a moment: later operations are left out, and those that had not returned are
/// pending. It is linearizable if the whole history is.
template <sequential_object S>
[[nodiscard]] history<S> until(history<S> const& whole, moment last) {
  history<S> part;
  for (auto const& r : whole.records()) {
    if (r.begin > last) continue;
    if (r.end <= last) {
      part.add(r.rank, r.operation, r.result, r.begin, r.end);
    } else {
      part.add_pending(r.rank, r.operation, r.begin);
    }
  }
  return part;
}

namespace detail {

/// True if `other` must leave a history with `gone`. Without a word from the specification, all operations
/// depend on each one that may change the state.
template <sequential_object S>
[[nodiscard]] bool drops_with(record_of<S> const& gone, record_of<S> const& other, std::ptrdiff_t later) {
  if constexpr (requires { S::drops_with(gone, other, later); }) return S::drops_with(gone, other, later);
  return !observes<S>(gone);
}

/// The operations of a history that leave it with each one.
template <sequential_object S>
class companions {
 public:
  explicit companions(std::span<record_of<S> const> records)
      : leave_with_(records.size()), needed_by_(records.size()) {
    std::vector<std::ptrdiff_t> place(records.size());
    std::map<int, std::ptrdiff_t> changes;  // of each rank: the number of operations that do not observe
    for (std::size_t i = 0; i < records.size(); ++i)
      place[i] = observes<S>(records[i]) ? changes[records[i].rank] : changes[records[i].rank]++;
    for (std::size_t i = 0; i < records.size(); ++i) {
      for (std::size_t k = 0; k < records.size(); ++k) {
        std::ptrdiff_t const later = records[i].rank == records[k].rank ? place[k] - place[i] : 0;
        if (i == k || !drops_with<S>(records[i], records[k], later)) continue;
        leave_with_[i].push_back(k);
        needed_by_[k].push_back(i);
      }
    }
  }

  /// Marks operation i as kept, and all operations with which it would have to leave.
  void keep(std::size_t i, std::vector<bool>& kept) const { mark(needed_by_, i, true, kept); }

  /// Marks operation i and all that leave with it as not kept.
  void drop(std::size_t i, std::vector<bool>& kept) const { mark(leave_with_, i, false, kept); }

 private:
  using lists = std::vector<std::vector<std::size_t>>;

  static void mark(lists const& next, std::size_t i, bool as, std::vector<bool>& kept) {
    std::vector<std::size_t> open{i};
    while (!open.empty()) {
      std::size_t const one = open.back();
      open.pop_back();
      if (kept[one] == as) continue;
      kept[one] = as;
      open.insert(open.end(), next[one].begin(), next[one].end());
    }
  }

  lists leave_with_;
  lists needed_by_;
};

/// The chosen operations of a history.
template <sequential_object S>
[[nodiscard]] history<S> chosen_of(history<S> const& whole, std::vector<bool> const& chosen) {
  history<S> part;
  for (std::size_t i = 0; i < chosen.size(); ++i)
    if (chosen[i]) part.append(whole.records().subspan(i, 1));
  return part;
}

/// The shortest wrong history of the operation that ended last, another one, and those that they need. In the
/// earliest wrong part of a history, the last one takes part in what is wrong. Empty if none is wrong.
template <sequential_object S, class Wrong>
[[nodiscard]] history<S> shortest_with_last(history<S> const& wrong, companions<S> const& with,
                                            Wrong const& is_wrong, std::size_t most_checks) {
  auto const all = wrong.records();
  auto const end_of = [](auto const& r) { return r.pending() ? std::numeric_limits<moment>::min() : r.end; };
  auto const last = std::max_element(all.begin(), all.end(),
                                     [&](auto const& a, auto const& b) { return end_of(a) < end_of(b); });
  history<S> best;
  for (std::size_t i = 0; i < std::min(all.size(), most_checks); ++i) {
    std::vector<bool> kept(all.size());
    with.keep(i, kept);
    with.keep(static_cast<std::size_t>(last - all.begin()), kept);
    history<S> part = chosen_of(wrong, kept);
    if ((best.size() == 0 || part.size() < best.size()) && is_wrong(part)) best = std::move(part);
  }
  return best;
}

/// Drops operations while the rest stays wrong, first those that come first in `order`.
template <sequential_object S, class Wrong>
[[nodiscard]] history<S> shortened_in_order(history<S> const& wrong, std::vector<std::size_t> const& order,
                                            companions<S> const& with, Wrong const& is_wrong,
                                            std::size_t most_checks) {
  auto const all = wrong.records();
  std::vector<bool> kept(all.size(), true);
  std::size_t checks = 0;
  for (std::size_t size = std::max<std::size_t>(all.size() / 2, 1); checks < most_checks;) {
    bool is_shorter = false;
    for (std::size_t first = 0; first < order.size() && checks < most_checks; first += size) {
      std::vector<bool> fewer = kept;
      for (std::size_t i = first; i < std::min(first + size, order.size()); ++i)
        if (kept[order[i]]) with.drop(order[i], fewer);
      if (fewer == kept) continue;
      ++checks;
      if (!is_wrong(chosen_of(wrong, fewer))) continue;
      kept = std::move(fewer);
      is_shorter = true;
    }
    if (size == 1 && !is_shorter) break;
    size = std::max<std::size_t>(size / 2, 1);
  }
  return chosen_of(wrong, kept);
}

}  // namespace detail

/// A wrong history of few operations from a wrong history, for a reader. `is_wrong(history)` is called at
/// most `most_checks` times.
///
/// It first looks at the operation that ended last, together with each other one. It also drops operations
/// while the rest stays wrong, first many at once: once from the begin of the history and once from its end.
/// The shortest of these histories is the result. An operation leaves only together with those whose
/// results may come from it: `S::drops_with(gone, other, later)` says which, where `other` is the later-th
/// operation of the same rank after `gone`, without those that observe, and 0 for other ranks. So a history
/// that stays wrong shows a fault of the object, and not a lookup whose update was dropped.
template <sequential_object S, std::predicate<history<S> const&> Wrong>
[[nodiscard]] history<S> shortened(history<S> const& wrong, Wrong const& is_wrong, std::size_t most_checks) {
  auto const all = wrong.records();
  std::vector<std::size_t> order(all.size());  // by the calls: neighbours in time leave together
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return all[a].begin < all[b].begin; });
  detail::companions<S> const with(all);
  history<S> best = detail::shortest_with_last(wrong, with, is_wrong, most_checks / 3);
  if (best.size() == 0) best = wrong;
  for (int turn = 0; turn < 2; ++turn) {
    history<S> const rest = detail::shortened_in_order(wrong, order, with, is_wrong, most_checks / 3);
    if (rest.size() < best.size()) best = rest;
    std::reverse(order.begin(), order.end());
  }
  return best;
}

/// The earliest part of a history that is not right, where `is_wrong` is true of all later parts as well.
template <sequential_object S, std::predicate<history<S> const&> Wrong>
[[nodiscard]] history<S> earliest(history<S> const& wrong, Wrong const& is_wrong) {
  std::vector<moment> ends;
  for (auto const& r : wrong.records())
    if (!r.pending()) ends.push_back(r.end);
  std::sort(ends.begin(), ends.end());
  auto const first = std::partition_point(ends.begin(), ends.end(),
                                          [&](moment end) { return !is_wrong(until(wrong, end)); });
  return first == ends.end() ? wrong : until(wrong, *first);
}

}  // namespace PGAS_NAMESPACE::histories
