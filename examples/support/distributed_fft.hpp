// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <pgas/array/streamed_copy.hpp>
#include <pgas/pgas.hpp>
#include <pgas/stage.hpp>
#include <span>
#include <utility>

#include "fftw_plan.hpp"

namespace example {

/// The layout of transformed arrays: a block of each dimension, on a grid of ranks.
using sharing = pgas::tiled<pgas::block, pgas::block, pgas::block>;

/// An array of such cells.
template <class Team>
using cell_array = pgas::array_on<Team, cell, 3, sharing>;

/// The order of the first two dimensions of an array, compared with another array: the same or swapped.
enum class order { same, swapped };

/// A transform of the planes of this rank's own cells, a plane_transform or a line_transform. A plane is all
/// own cells with one index in dimension 0.
template <class Transform, class Array>
Transform transform_of(Array const& a, lines which, plane_transform::direction way, effort how) {
  return {a.local_extents()[1], a.local_extents()[2], which, way, how};
}

/// A box of plane i of a rank's own cells, in the indices of the other array.
inline pgas::box<3> box_of(pgas::box<3> own, std::size_t i, std::array<std::size_t, 2> const& first,
                           std::array<std::size_t, 2> const& count, order dimensions) {
  pgas::box<3> cells{{own.first[0] + i, own.first[1] + first[0], own.first[2] + first[1]},
                     {1, count[0], count[1]}};
  if (dimensions == order::swapped) {
    std::swap(cells.first[0], cells.first[1]);
    std::swap(cells.count[0], cells.count[1]);
  }
  return cells;
}

/// Transforms each plane of `from`, moves all cells to `to`, and transforms lines of each plane there.
/// Overwrites `from`.
///
/// Collective. On direct memory, a rank gets a few lines, transforms them while they are in its first cache,
/// and stores them past the caches. So each cell is moved twice, once before and once after. On other memory,
/// a plane is sent as soon as it is transformed, while the next one is computed; all have arrived when the
/// epoch closes (Gerstenberger 2014, 3-D FFT). Costs two fences.
template <class Array>
void exchange(Array const& from, plane_transform const& before, Array const& to, line_transform const& after,
              order dimensions) {
  using pair = std::array<std::size_t, 2>;
  auto const each_plane = [](Array const& a, auto const& cells, auto const& use) {
    auto const own = a.local_extents();
    std::size_t const size = own[1] * own[2];
    for (std::size_t i = 0; size != 0 && i < own[0]; ++i)
      use(i, pgas::matrix_view<cell>(cells.data() + i * size, own[1], own[2]));
  };
  auto const piece_of = [](pgas::matrix_view<cell> plane, pair first, pair count) {
    return plane.submatrix(first[0], first[1], count[0], count[1]);
  };
  auto const dense = [](std::span<cell> cells, pair count) {
    return pgas::matrix_view<cell>(cells.data(), count[0], count[1]);
  };
  if constexpr (Array::state_type::is_direct) {
    if (before) {
      each_plane(from, pgas::stage(from, pgas::read_write),
                 [&](std::size_t, auto plane) { before(plane.data_handle()); });
    }
    pgas::fence epoch{from, pgas::read_only};
    {
      pgas::streamed_copy const copy(to.own_box().size() * sizeof(cell));
      each_plane(to, pgas::stage(to, pgas::write_only), [&](std::size_t i, auto plane) {
        after(
            [&](pair first, pair count, std::span<cell> cells) {
              epoch.get(box_of(to.own_box(), i, first, count, dimensions), cells);
            },
            [&](pair first, pair count, std::span<cell> cells) {
              copy(dense(cells, count), piece_of(plane, first, count));
            });
      });
    }
    epoch.close();
  } else {
    {
      auto const cells =
          pgas::stage(from, pgas::read_write);  // the source must stay until all cells have arrived
      pgas::fence epoch{to, pgas::write_only};
      each_plane(from, cells, [&](std::size_t i, auto plane) {
        before(plane.data_handle());
        pair const all{plane.extent(0), plane.extent(1)};
        epoch.put(box_of(from.own_box(), i, {}, all, dimensions), {plane.data_handle(), plane.size()});
      });
      epoch.close();
    }
    auto const copy = [](pgas::matrix_view<cell> some, pgas::matrix_view<cell> place) {
      for (std::size_t row = 0; row < some.extent(0); ++row)
        std::ranges::copy(some.row(row), place.row(row).begin());
    };
    each_plane(to, pgas::stage(to, pgas::read_write), [&](std::size_t, auto plane) {
      after([&](pair first, pair count,
                std::span<cell> cells) { copy(piece_of(plane, first, count), dense(cells, count)); },
            [&](pair first, pair count, std::span<cell> cells) {
              copy(dense(cells, count), piece_of(plane, first, count));
            });
    });
  }
}

/// The Fourier transform of three-dimensional arrays, distributed in slabs or in pencils.
///
/// Cells (z, y, x) are on a grid of ranks over z and y. Their transform is a spectrum (y, z, x), on the same
/// grid over y and x: a rank has all of the dimension that was transformed last. Slabs, on `grid{0, 1}`, need
/// one exchange. Pencils, on `grid{0, 0}`, need two, each among fewer ranks.
template <class Team>
class distributed_fft {
 public:
  using array = cell_array<Team>;

  /// Collective. `extents` are those of (z, y, x). Costs an array of pencils, and the planning time by `how`.
  distributed_fft(Team& team, std::array<std::size_t, 3> const& extents,
                  pgas::grid<2> const& asked = pgas::grid{0, 1}, effort how = effort::measure)
      : team_(&team), extents_(extents), grid_(asked.over(team.size())) {
    auto const [nz, ny, nx] = extents;
    auto const [p, q] = grid_.extents();
    bool const slabs = q == 1;
    if (!slabs) middle_.emplace(pgas::make_array<cell>(team, extents, sharing{}.on(pgas::grid{p, 1, q})));
    auto const at = grid_.place(team.rank());
    std::size_t const own_y = pgas::block{}.over(ny, q).local_size(at[1]);
    std::size_t const own_x = pgas::block{}.over(nx, q).local_size(at[1]);
    // In slabs a rank has two whole dimensions before either exchange, and transforms both there, in whole
    // planes.
    auto const forward = plane_transform::forward;
    forward_.before = {own_y, nx, slabs ? lines::both : lines::rows, forward, how};
    if (!slabs) forward_.middle = {ny, own_x, lines::columns, forward, how};
    forward_.after = {nz, own_x, lines::columns, forward, how};
    auto const inverse = plane_transform::inverse;
    inverse_.before = {nz, own_x, slabs ? lines::both : lines::columns, inverse, how};
    if (!slabs) inverse_.middle = {ny, own_x, lines::columns, inverse, how};
    inverse_.after = {own_y, nx, slabs ? lines::columns : lines::rows, inverse, how};
  }

  /// Makes an array of the right shape. Collective.
  [[nodiscard]] array make_cells() const {
    return pgas::make_array<cell>(*team_, extents_,
                                  sharing{}.on(pgas::grid{grid_.extent(0), grid_.extent(1), 1}));
  }
  [[nodiscard]] array make_spectrum() const {
    return pgas::make_array<cell>(*team_, std::array{extents_[1], extents_[0], extents_[2]},
                                  sharing{}.on(pgas::grid{grid_.extent(0), 1, grid_.extent(1)}));
  }

  /// Collective; overwrites the cells.
  void forward(array const& cells, array const& spectrum) const {
    if (middle_) {
      exchange(cells, forward_.before, *middle_, forward_.middle, order::same);
      exchange(*middle_, {}, spectrum, forward_.after, order::swapped);
    } else {
      exchange(cells, forward_.before, spectrum, forward_.after, order::swapped);
    }
  }
  /// Collective; overwrites the spectrum. After forward it gives the cells, multiplied by their number.
  void inverse(array const& spectrum, array const& cells) const {
    if (middle_) {
      exchange(spectrum, inverse_.before, *middle_, inverse_.middle, order::swapped);
      exchange(*middle_, {}, cells, inverse_.after, order::same);
    } else {
      exchange(spectrum, inverse_.before, cells, inverse_.after, order::swapped);
    }
  }

 private:
  struct plans {
    plane_transform before;
    line_transform middle;
    line_transform after;
  };

  Team* team_;
  std::array<std::size_t, 3> extents_;
  pgas::grid<2> grid_;
  std::optional<array> middle_;  ///< (z, y, x) with all of y
  plans forward_;
  plans inverse_;
};

}  // namespace example
