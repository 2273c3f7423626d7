// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <functional>
#include <pgas/algorithm/for_each.hpp>
#include <pgas/detail/team/same_ranks.hpp>
#include <pgas/fence.hpp>
#include <span>
#include <vector>

namespace PGAS_NAMESPACE {

/// Stores in cell k of `counts` the number of cells of an array for which bucket(cell) is k:
/// `histogram(a, [](double x) { return static_cast<std::size_t>(x * 10); }, counts)`. Cells whose bucket lies
/// outside `counts` are not counted.
///
/// Collective over the team on which both arrays were made; ranks may own nothing of either. bucket is called
/// once per cell, on the cell's owner. Each owner counts in a private copy and then accumulates that copy
/// into `counts`. All counts are in place when the call returns.
/// Requires that no epoch is open on `counts`, and that the counts are integers.
/// Throws errc::invalid_argument if the arrays have different ranks.
/// Costs two fences, and one accumulate for each pair of rank and tile of `counts` in which that rank counted
/// a cell.
/// MPI: a local loop and MPI_Reduce_scatter.
template <any_global_array Array, class Bucket, any_global_array Counts>
  requires(Counts::dimensions == 1 && std::integral<typename Counts::value_type> &&
           std::is_invocable_r_v<std::size_t, Bucket&, typename Array::value_type const&>)
void histogram(Array const& a, Bucket bucket, Counts const& counts) {
  using count_type = typename Counts::value_type;
  detail::check_same_ranks(a.state(), counts.state(), "histogram");
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

/// Counts cells between ascending edges: cell k of `counts` becomes the number of cells with edges[k] <= cell
/// < edges[k + 1]. Otherwise like histogram with a function.
///
/// Throws errc::invalid_argument also if there is not exactly one edge more than there are counts, or if the
/// edges descend.
/// NumPy: histogram, whose last bucket also includes its upper edge.
template <any_global_array Array, any_global_array Counts>
  requires(Counts::dimensions == 1 && std::integral<typename Counts::value_type>)
void histogram(Array const& a, std::span<typename Array::value_type const> edges, Counts const& counts) {
  PGAS_EXPECTS(
      light, edges.size() == counts.size() + 1,
      throw error(errc::invalid_argument, a.state().job_rank(), "histogram",
                  std::to_string(edges.size()) + " edges given for " + std::to_string(counts.size()) +
                      " counts; give one edge more than there are counts"));
  PGAS_EXPECTS(light, std::is_sorted(edges.begin(), edges.end()),
               throw error(errc::invalid_argument, a.state().job_rank(), "histogram",
                           "the " + std::to_string(edges.size()) + " edges do not ascend; sort them"));
  // Cells below the first edge get the largest number, which is no bucket.
  histogram(
      a,
      [edges](typename Array::value_type const& cell) {
        return static_cast<std::size_t>(std::upper_bound(edges.begin(), edges.end(), cell) - edges.begin()) -
               1;
      },
      counts);
}

}  // namespace PGAS_NAMESPACE
