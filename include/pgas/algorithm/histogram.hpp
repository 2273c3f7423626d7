// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <functional>
#include <pgas/algorithm/for_each.hpp>
#include <pgas/fence.hpp>
#include <span>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS {

/// Stores to cell k of `counts` of how many cells of an array bucket(cell) is k. What is in no bucket of `counts` is
/// not counted: `histogram(a, [](double x) { return static_cast<std::size_t>(x * 10); }, counts)`.
///
/// Collective over the team, which both arrays are made on; ranks may own nothing of either. bucket is called once for
/// each cell, on its owner, which counts in a private copy of `counts` and accumulates that. When it returns all counts
/// are in place. Requires no open epoch on `counts`, and that these are integers.
/// Throws errc::invalid_argument when the arrays have different numbers of ranks.
/// Costs two fences, and an accumulate for each rank and tile of `counts` in which this rank counted something.
/// MPI: a local loop and MPI_Reduce_scatter.
template <any_global_array Array, class Bucket, any_global_array Counts>
  requires(Counts::dimensions == 1 && std::integral<typename Counts::value_type> &&
           std::is_invocable_r_v<std::size_t, Bucket&, typename Array::value_type const&>)
void histogram(Array const& a, Bucket bucket, Counts const& counts) {
  using count_type = typename Counts::value_type;
  PGAS_EXPECTS(light, a.ranks() == counts.ranks(),
               throw error(errc::invalid_argument, a.state().job_rank(), "histogram",
                           "the array of " + detail::joined(a.extents(), " x ") + " is on " +
                               std::to_string(a.ranks()) + " ranks, that of " + std::to_string(counts.size()) +
                               " counts on " + std::to_string(counts.ranks()) + "; make both on one team"));
  std::vector<count_type> own(counts.size());
  detail::for_each_own_row(a, read_only, [&](auto const&, auto row) {
    for (auto const& cell : row) {
      std::size_t const k = std::invoke(bucket, cell);
      if (k < own.size()) ++own[k];
    }
  });
  fill(counts, count_type{0});
  fence epoch{counts};
  for_each_tile(counts.layout(), {{}, counts.extents()}, [&](tile<1> const& theirs, box<1> const& piece) {
    auto const mine = std::span<count_type const>(own).subspan(piece.first[0], piece.count[0]);
    if (std::all_of(mine.begin(), mine.end(), [](count_type n) { return n == 0; })) return;
    epoch.to(theirs.owner).accumulate(theirs.offset_of(piece.first), mine, op::sum{});
  });
  epoch.close();
}

/// The same with buckets between ascending edges: cells with edges[k] <= cell < edges[k + 1] are in bucket k.
/// Throws errc::invalid_argument, too, when there is not one edge more than there are counts, or edges descend.
/// NumPy: histogram, whose last bucket has its upper edge, too.
template <any_global_array Array, any_global_array Counts>
  requires(Counts::dimensions == 1 && std::integral<typename Counts::value_type>)
void histogram(Array const& a, std::span<typename Array::value_type const> edges, Counts const& counts) {
  PGAS_EXPECTS(light, edges.size() == counts.size() + 1,
               throw error(errc::invalid_argument, a.state().job_rank(), "histogram",
                           std::to_string(edges.size()) + " edges given for " + std::to_string(counts.size()) +
                               " counts; give one edge more than there are counts"));
  PGAS_EXPECTS(light, std::is_sorted(edges.begin(), edges.end()),
               throw error(errc::invalid_argument, a.state().job_rank(), "histogram",
                           "the " + std::to_string(edges.size()) + " edges do not ascend; sort them"));
  // Below the first edge this is the largest number, which is no bucket.
  histogram(
      a,
      [edges](typename Array::value_type const& cell) {
        return static_cast<std::size_t>(std::upper_bound(edges.begin(), edges.end(), cell) - edges.begin()) - 1;
      },
      counts);
}

}  // namespace pgas::inline PGAS_ASSERTIONS
