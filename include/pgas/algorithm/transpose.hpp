// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <pgas/array/visit_box.hpp>
#include <pgas/concepts/epoch.hpp>
#include <pgas/detail/copy/transpose_plane.hpp>
#include <pgas/detail/team/same_ranks.hpp>
#include <pgas/fence.hpp>
#include <pgas/global_array.hpp>
#include <pgas/stage.hpp>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE {

/// An order of dimensions: dimension d of the result is dimension `axes[d]` of the source.
template <std::size_t N>
using permutation = std::array<std::size_t, N>;

namespace detail {

/// Reorders one value per dimension: `result[d]` is the value of dimension `axes[d]`.
template <std::size_t N>
constexpr std::array<std::size_t, N> permuted(std::array<std::size_t, N> const& of,
                                              permutation<N> const& axes) noexcept {
  std::array<std::size_t, N> other{};
  for (std::size_t d = 0; d < N; ++d) other[d] = of[axes[d]];
  return other;
}
/// The inverse of permuted.
template <std::size_t N>
constexpr std::array<std::size_t, N> permuted_back(std::array<std::size_t, N> const& of,
                                                   permutation<N> const& axes) noexcept {
  std::array<std::size_t, N> other{};
  for (std::size_t d = 0; d < N; ++d) other[axes[d]] = of[d];
  return other;
}

template <std::size_t N>
constexpr bool is_permutation(permutation<N> const& axes) noexcept {
  std::array<bool, N> seen{};
  for (std::size_t axis : axes) {
    if (axis >= N || seen[axis]) return false;
    seen[axis] = true;
  }
  return true;
}

/// Copies a box of `count` elements between two memories with these pitches; all three are in dimensions of
/// `to`. The last dimension is dense in `to`, dimension `dense` is dense in `from`. With `streams`,
/// end_streaming() must follow the last such copy. In a series `next` is the source of the next copy.
template <class T, std::size_t N>
void copy_permuted(std::array<std::size_t, N> const& count, T const* from,
                   std::array<std::size_t, N> const& from_pitches, std::size_t dense, T* to,
                   std::array<std::size_t, N> const& to_pitches, bool streams, T const* next = nullptr) {
  constexpr std::size_t last = N - 1;
  auto outer = count;
  outer[last] = outer[dense] = 1;
  std::array<std::size_t, N> index{};
  for (bool goes_on = true; goes_on;) {
    T const* const source = from + element_at(index, from_pitches);
    T* const target = to + element_at(index, to_pitches);
    goes_on = advance(index, outer);
    if (dense == last) {
      std::copy_n(source, count[last], target);
    } else {
      transpose_plane(source, from_pitches[last], target, to_pitches[dense], count[last], count[dense],
                      streams, goes_on ? from + element_at(index, from_pitches) : next);
    }
  }
}

/// The own tiles of `to` in the order in which their cells follow each other in the source. A page of the
/// source then serves the next tiles, too. In the order of `to`, each tile would need as many new pages as it
/// has columns.
template <class To>
std::vector<std::size_t> along_rows_of_source(To const& to, permutation<To::dimensions> const& axes) {
  using place = std::pair<typename To::index_type, std::size_t>;
  std::vector<place> places(to.layout().tiles(to.rank()));
  for (std::size_t k = 0; k < places.size(); ++k)
    places[k] = {permuted_back(to.layout().tile_of(to.rank(), k).cells.first, axes), k};
  std::sort(places.begin(), places.end());
  std::vector<std::size_t> order(places.size());
  std::transform(places.begin(), places.end(), order.begin(), [](place const& p) { return p.second; });
  return order;
}

/// Fills this rank's part of `to` by loads from the parts of `from`, which must be memory that this rank can
/// read. A piece waits until the next one is known: its first rows are prefetched meanwhile.
template <class From, class To>
void transpose_by_load(From const& from, To const& to, permutation<From::dimensions> const& axes,
                       std::size_t dense) {
  constexpr std::size_t dimensions = From::dimensions;
  using T = typename From::value_type;
  using sizes = std::array<std::size_t, dimensions>;
  struct waiting_piece {
    sizes count{};
    T const* source = nullptr;
    sizes source_pitches{};
    T* target = nullptr;
    sizes target_pitches{};
  };
  T* const own = to.window().local().data();
  bool const streams = to.window().size() * sizeof(T) > longest_cached_copy();
  waiting_piece waits;
  auto const copy_before = [&](T const* next) {
    if (waits.source == nullptr) return;
    copy_permuted<T, dimensions>(waits.count, waits.source, waits.source_pitches, dense, waits.target,
                                 waits.target_pitches, streams, next);
  };
  for (std::size_t const k : along_rows_of_source(to, axes)) {
    auto const mine = to.layout().tile_of(to.rank(), k);
    box<dimensions> const source{permuted_back(mine.cells.first, axes),
                                 permuted_back(mine.cells.count, axes)};
    for_each_tile(from.layout(), source, [&](tile<dimensions> const& theirs, box<dimensions> const& piece) {
      T const* const first = from.window().part(theirs.owner).data() + theirs.offset_of(piece.first);
      copy_before(first);
      waits = {permuted(piece.count, axes), first, permuted(theirs.pitches, axes),
               own + mine.offset_of(permuted(piece.first, axes)), mine.pitches};
    });
  }
  copy_before(nullptr);
  if (streams) end_streaming();
}

/// Fills this rank's part of `to` by gets: each piece is fetched and then transposed here.
template <array_epoch Epoch, class To>
void transpose_by_get(Epoch& from, To const& to, permutation<Epoch::dimensions> const& axes,
                      std::size_t dense) {
  constexpr std::size_t dimensions = Epoch::dimensions;
  using T = typename Epoch::value_type;
  std::vector<T> got;
  std::vector<T> ordered;
  for (std::size_t k = 0; k < to.layout().tiles(to.rank()); ++k) {
    auto const mine = to.layout().tile_of(to.rank(), k);
    for_each_piece(mine.cells, got_at_once<T>, [&](box<dimensions> const& piece) {
      box<dimensions> const source{permuted_back(piece.first, axes), permuted_back(piece.count, axes)};
      got.resize(piece.size());
      from.get(source, got);
      from.flush_local_all();
      auto const pitches = permuted(dense_pitches(source.count), axes);
      if constexpr (To::is_contiguous) {
        T* const own = to.window().local().data() + mine.offset_of(piece.first);
        copy_permuted<T, dimensions>(piece.count, got.data(), pitches, dense, own, mine.pitches, false);
      } else {
        ordered.resize(got.size());
        auto const dense_in_order = dense_pitches(piece.count);
        copy_permuted<T, dimensions>(piece.count, got.data(), pitches, dense, ordered.data(), dense_in_order,
                                     false);
        std::array<std::size_t, dimensions> row{};
        do {
          auto index = piece.first;
          for (std::size_t d = 0; d < dimensions; ++d) index[d] += row[d];
          auto const own = stage(to.window(), mine.offset_of(index), piece.count[dimensions - 1], write_only);
          std::copy_n(ordered.data() + element_at(row, dense_in_order), own.size(), own.begin());
        } while (advance(row, piece.count, dimensions - 1));
      }
    });
  }
}

}  // namespace detail

/// Copies all cells of `from` to an array whose dimensions are in another order: cell i of `to` becomes cell
/// j of `from`, where `j[axes[d]] == i[d]`. Layouts, halos and policies of the two arrays may differ.
///
/// Collective over the team on which both arrays were made, or their teams of the same ranks; ranks may own
/// nothing. Each rank fills its own cells of `to`, from mapped memory of other ranks if there is any, in
/// blocks that fit a cache. Own cells are in place when the call returns, and `from` may be changed. The next
/// epoch on `to` shows the cells to other ranks. Requires that no epoch is open on either array. Throws
/// errc::invalid_argument if axes is no permutation, if the extents do not fit, if both arrays are one, or if
/// they are on teams of different ranks. Costs two fences, and each cell travels once. Without mapped memory,
/// a rank issues one get for each tile of `from` that meets an own tile of `to`, or each MiB of that tile.
/// Small tiles in `to` are therefore slow there. MPI: MPI_Alltoallw with vector types; NumPy:
/// transpose(axes).
template <any_global_array From, any_global_array To>
  requires(From::dimensions == To::dimensions && From::dimensions >= 2 &&
           std::same_as<typename From::value_type, typename To::value_type>)
void transpose(From const& from, To const& to, permutation<From::dimensions> const& axes) {
  constexpr std::string_view operation = "transpose";
  PGAS_EXPECTS(light, detail::is_permutation(axes),
               throw error(errc::invalid_argument, from.state().job_rank(), operation,
                           "(" + detail::joined(axes, ", ") + ") is no order of " +
                               std::to_string(From::dimensions) + " dimensions; name each dimension once"));
  PGAS_EXPECTS(light, detail::permuted(from.extents(), axes) == to.extents(),
               throw error(errc::invalid_argument, from.state().job_rank(), operation,
                           "an array of " + detail::joined(from.extents(), " x ") +
                               " with its dimensions in order (" + detail::joined(axes, ", ") + ") has " +
                               detail::joined(detail::permuted(from.extents(), axes), " x ") +
                               " cells and does not fit one of " + detail::joined(to.extents(), " x ")));
  PGAS_EXPECTS(light, static_cast<void const*>(&from.state()) != static_cast<void const*>(&to.state()),
               detail::throw_error(errc::invalid_argument, from.state().job_rank(), operation,
                                   "both arrays are one, and ranks would overwrite cells that others still "
                                   "read; make a second array"));
  detail::check_same_ranks(from.state(), to.state(), operation);
  std::size_t dense = 0;  // the dimension of `to` that is dense in `from`
  while (axes[dense] != From::dimensions - 1) ++dense;
  fence epoch{from, read_only};
  if constexpr (From::state_type::is_direct && To::is_contiguous) {
    detail::transpose_by_load(from, to, axes, dense);
  } else {
    detail::transpose_by_get(epoch, to, axes, dense);
  }
  epoch.close();
}

/// Copies with two dimensions swapped: `transpose(a, b)` transposes a matrix, `transpose<0, 2>(a, b)` swaps
/// any two. Otherwise like transpose with axes.
template <std::size_t Axis1 = 0, std::size_t Axis2 = 1, any_global_array From, any_global_array To>
  requires(From::dimensions == To::dimensions && Axis1 < From::dimensions && Axis2 < From::dimensions &&
           (Axis1 != Axis2) && std::same_as<typename From::value_type, typename To::value_type>)
void transpose(From const& from, To const& to) {
  permutation<From::dimensions> axes{};
  for (std::size_t d = 0; d < axes.size(); ++d) axes[d] = d;
  std::swap(axes[Axis1], axes[Axis2]);
  transpose(from, to, axes);
}

}  // namespace PGAS_NAMESPACE
