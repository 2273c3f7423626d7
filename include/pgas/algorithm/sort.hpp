// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <functional>
#include <pgas/algorithm/reduce.hpp>
#include <pgas/detail/types/anything.hpp>

namespace PGAS_NAMESPACE {

namespace detail {

/// A sorted cell with its rank and its position there, so that no two samples are equal even if all cells
/// are.
template <class T>
struct sort_sample {
  T value{};
  std::uint64_t rank = 0;
  std::uint64_t position = 0;
};

/// The distance between two samples of a rank. All ranks together offer at most ranks * ranks samples.
inline std::size_t sample_distance(std::size_t cells, std::size_t ranks) noexcept {
  std::size_t const most = ranks * ranks;
  return cells / most + (cells % most != 0 ? 1 : 0);
}

template <class T>
std::vector<sort_sample<T>> samples_of(std::span<T const> sorted, std::uint64_t rank, std::size_t distance) {
  std::vector<sort_sample<T>> samples;
  for (std::size_t i = distance; i <= sorted.size(); i += distance)
    samples.push_back({sorted[i - 1], rank, i - 1});
  return samples;
}

/// The samples that begin buckets 1 to ranks - 1.
template <class T, class Less>
std::vector<sort_sample<T>> splitters_of(std::vector<sort_sample<T>> samples, std::size_t ranks, Less& less) {
  std::sort(samples.begin(), samples.end(), [&](sort_sample<T> const& x, sort_sample<T> const& y) {
    if (std::invoke(less, x.value, y.value)) return true;
    if (std::invoke(less, y.value, x.value)) return false;
    return x.rank != y.rank ? x.rank < y.rank : x.position < y.position;
  });
  std::vector<sort_sample<T>> splitters;
  for (std::size_t b = 1; b < ranks; ++b) splitters.push_back(samples[b * samples.size() / ranks]);
  return splitters;
}

/// The positions at which a rank's sorted cells are cut into buckets: bucket b holds the cells from cut b to
/// cut b + 1.
template <class T, class Less>
std::vector<std::uint64_t> cuts_of(std::span<T const> sorted, std::uint64_t rank,
                                   std::vector<sort_sample<T>> const& splitters, Less& less) {
  std::vector<std::uint64_t> cuts{0};
  for (auto const& s : splitters) {
    // Among equal cells, those of lower ranks come first, then those before the sample.
    if (s.rank == rank) {
      cuts.push_back(s.position);
      continue;
    }
    auto const at = rank < s.rank ? std::upper_bound(sorted.begin(), sorted.end(), s.value, std::ref(less))
                                  : std::lower_bound(sorted.begin(), sorted.end(), s.value, std::ref(less));
    cuts.push_back(static_cast<std::uint64_t>(at - sorted.begin()));
  }
  cuts.push_back(sorted.size());
  return cuts;
}

/// Merges neighbouring sorted runs until one is left. Run k lies between `ends[k]` and `ends[k + 1]`.
template <class T, class Less>
void merge_runs(std::span<T> values, std::vector<std::size_t> ends, Less& less) {
  auto const at = [&](std::size_t i) { return values.begin() + static_cast<std::ptrdiff_t>(i); };
  while (ends.size() > 2) {
    std::vector<std::size_t> merged{0};
    for (std::size_t k = 0; k + 2 < ends.size(); k += 2) {
      std::inplace_merge(at(ends[k]), at(ends[k + 1]), at(ends[k + 2]), std::ref(less));
      merged.push_back(ends[k + 2]);
    }
    if (ends.size() % 2 == 0) merged.push_back(ends.back());
    ends = std::move(merged);
  }
}

/// The values of all ranks, in rank order.
template <class Team, class T>
std::vector<T> gather_all(Team& team, std::vector<T> const& mine) {
  auto const parts = make_window<T>(team, mine.size());
  {
    auto const own = stage(parts, write_only);
    std::copy(mine.begin(), mine.end(), own.begin());
  }
  std::size_t all = 0;
  for (rank_t r = 0; r < team.size(); ++r) all += parts.size(r);
  std::vector<T> gathered(all);
  fence epoch{parts, read_only};
  for (std::size_t r = 0, first = 0; r < static_cast<std::size_t>(team.size()); ++r) {
    auto const theirs = epoch.to(static_cast<rank_t>(r));
    theirs.get(0, std::span(gathered).subspan(first, theirs.size()));
    first += theirs.size();
  }
  epoch.close();
  return gathered;
}

}  // namespace detail

/// Sorts the cells of a one-dimensional array of any layout by less, so that cell 0 is the smallest. Equal
/// cells come in any order.
///
/// Collective over the team, which must be the array's; ranks may own nothing. Each rank sorts its own cells,
/// and all ranks agree on splitters. Each rank then gets one bucket from all ranks, merges it, and puts it in
/// place. A bucket has at most about twice the cells of an equal share, even if many cells are equal. All
/// cells are in place when the call returns.
/// Requires that no epoch is open on the array, and that less is a strict weak order.
/// Throws errc::invalid_argument if the team is not the array's, and errc::no_space if memory for a second
/// copy of own cells, which other ranks can read, is missing. The bucket is a third, private copy.
/// Costs two network transfers of each cell, samples in the square of the number of ranks to each rank, three
/// windows and four fence epochs.
/// DASH: dash::sort; the standard: std::sort.
/// Shi and Schaeffer 1992, "Parallel sorting by regular sampling". Here rank and position are part of a
/// sample's value, so that equal cells are divided too.
template <backend Backend, coherence_policy Coherence, protocol_bundle Protocols, any_global_array Array,
          class Less = std::less<>>
  requires(Array::dimensions == 1 &&
           std::predicate<Less&, typename Array::value_type const&, typename Array::value_type const&>)
void sort(team<Backend, Coherence, Protocols> team, Array const& a, Less less = {}) {
  using T = typename Array::value_type;
  detail::check_team(team, a, "sort");
  if (a.size() == 0) return;
  auto const ranks = static_cast<std::size_t>(team.size());
  auto const self = static_cast<std::size_t>(team.rank());

  std::size_t own = 0;
  for (std::size_t k = 0; k < a.layout().tiles(a.rank()); ++k)
    own += a.layout().tile_of(a.rank(), k).cells.count[0];
  auto const runs = make_window<T>(team, own);
  std::vector<detail::sort_sample<T>> samples;
  {
    auto const mine = stage(runs, write_only);
    auto* next = mine.begin();
    detail::for_each_own_row(a, read_only,
                             [&](auto const&, auto row) { next = std::copy(row.begin(), row.end(), next); });
    std::sort(mine.begin(), mine.end(), std::ref(less));
    samples = detail::samples_of<T>(mine.span(), self, detail::sample_distance(a.size(), ranks));
  }
  auto const splitters = detail::splitters_of(detail::gather_all(team, samples), ranks, less);
  auto const cuts =
      detail::gather_all(team, detail::cuts_of<T>(stage(runs, read_only).span(), self, splitters, less));

  // This rank's bucket consists of one sorted run from each rank.
  std::vector<std::size_t> ends{0};
  std::size_t first = 0;
  for (std::size_t r = 0; r < ranks; ++r) {
    std::uint64_t const* const theirs = &cuts[r * (ranks + 1) + self];
    first += static_cast<std::size_t>(theirs[0]);
    ends.push_back(ends.back() + static_cast<std::size_t>(theirs[1] - theirs[0]));
  }
  std::vector<T> bucket(ends.back());
  {
    fence epoch{runs, read_only};
    for (std::size_t r = 0; r < ranks; ++r) {
      epoch.to(static_cast<rank_t>(r))
          .get(static_cast<std::size_t>(cuts[r * (ranks + 1) + self]),
               std::span(bucket).subspan(ends[r], ends[r + 1] - ends[r]));
    }
    epoch.close();
  }
  detail::merge_runs<T>(bucket, std::move(ends), less);
  fence epoch{a, write_only};
  epoch.put(first, bucket);
  epoch.close();
}

/// Does not compile: says how an array is sorted.
template <class None = void>
auto sort(detail::anything = {}, detail::anything = {}, detail::anything = {}, detail::anything = {}) {
  static_assert(detail::always_false<None>,
                "sort: write `pgas::sort(team, array)` with the team, an array of one dimension, and perhaps "
                "a comparison");
}

}  // namespace PGAS_NAMESPACE
