// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <pgas/array_stage.hpp>
#include <pgas/pgas.hpp>
#include <span>
#include <utility>

#include "fftw_plan.hpp"

namespace example {

/// How arrays that are transformed are shared out: a block of each dimension, on a grid of ranks.
using sharing = pgas::tiled<pgas::block, pgas::block, pgas::block>;

/// An array of such cells.
template <class Team>
using cell_array = decltype(pgas::make_array<cell>(std::declval<Team&>(), {1, 1, 1}, sharing{}));

/// Whether the second of two arrays has the first two dimensions of the first one swapped.
enum class order { same, swapped };

/// A transform of the planes of this rank's own cells; a plane is all of them with one index in dimension 0.
template <class Array>
plane_transform transform_of(Array const& a, lines which, plane_transform::direction way, effort how) {
  return {a.local_extents()[1], a.local_extents()[2], which, way, how};
}

/// Plane i of a rank's own cells, in the indices of the other array.
inline pgas::box<3> plane_of(pgas::box<3> own, std::size_t i, order dimensions) {
  own.first[0] += i;
  own.count[0] = 1;
  if (dimensions == order::swapped) {
    std::swap(own.first[0], own.first[1]);
    std::swap(own.count[0], own.count[1]);
  }
  return own;
}

/// Transforms each plane of `from`, hands all cells over to `to`, and transforms each plane there. `from` is used up.
///
/// Collective. Where memory is direct a rank gathers a plane from where its cells are, and transforms it while it is in
/// its cache. Elsewhere a plane is on its way as soon as it is transformed, while the next one is, and all have arrived
/// when the epoch closes (Gerstenberger 2014, 3-D FFT). Costs two fences.
template <class Array>
void exchange(Array const& from, plane_transform const& before, Array const& to, plane_transform const& after,
              order dimensions) {
  auto const each_plane = [](Array const& a, auto const& cells, auto const& use) {
    std::size_t const size = a.local_extents()[1] * a.local_extents()[2];
    for (std::size_t i = 0; size != 0 && i < a.local_rows(); ++i) use(i, std::span(cells.data() + i * size, size));
  };
  auto const transform = [&](Array const& a, plane_transform const& plan) {
    if (plan) each_plane(a, pgas::stage<pgas::update>(a), [&](std::size_t, auto plane) { plan(plane.data()); });
  };
  if constexpr (Array::state_type::is_direct) {
    transform(from, before);
    pgas::fence epoch{from, pgas::read_only};
    each_plane(to, pgas::stage<pgas::write>(to), [&](std::size_t i, auto plane) {
      from.get(epoch, plane_of(to.own_box(), i, dimensions), plane);
      after(plane.data());
    });
    epoch.close();
  } else {
    {
      auto const cells = pgas::stage<pgas::update>(from);  // there until all have arrived
      pgas::fence epoch{to, pgas::write_only};
      each_plane(from, cells, [&](std::size_t i, auto plane) {
        before(plane.data());
        to.put(epoch, plane_of(from.own_box(), i, dimensions), plane);
      });
      epoch.close();
    }
    transform(to, after);
  }
}

/// The Fourier transform of arrays of three dimensions, shared out in slabs or in pencils.
///
/// Cells (z, y, x) are on a grid of ranks over z and y. What is transformed is a spectrum (y, z, x), on the same grid
/// over y and x: a rank has all of the dimension that was transformed last. In slabs, on `grid{0, 1}`, that takes one
/// exchange; in pencils, `grid{0, 0}`, two, each among fewer ranks.
template <class Team>
class distributed_fft {
 public:
  using array = cell_array<Team>;

  /// Collective. `extents` are those of (z, y, x). Costs an array of pencils, and what `how` says.
  distributed_fft(Team& team, std::array<std::size_t, 3> const& extents, pgas::grid<2> const& asked = pgas::grid{0, 1},
                  effort how = effort::measure)
      : team_(&team), extents_(extents), grid_(asked.over(team.size())) {
    auto const [nz, ny, nx] = extents;
    auto const [p, q] = grid_.extents();
    bool const slabs = q == 1;
    if (!slabs) middle_.emplace(pgas::make_array<cell>(team, extents, sharing{}.on(pgas::grid{p, 1, q})));
    auto const at = grid_.place(team.rank());
    std::size_t const own_y = pgas::block{}.over(ny, q).local_size(at[1]);
    std::size_t const own_x = pgas::block{}.over(nx, q).local_size(at[1]);
    for (auto* some : {&forward_, &inverse_}) {
      auto const way = some == &forward_ ? plane_transform::forward : plane_transform::inverse;
      some->cells = {own_y, nx, slabs ? lines::both : lines::rows, way, how};
      if (!slabs) some->middle = {ny, own_x, lines::columns, way, how};
      some->spectrum = {nz, own_x, lines::columns, way, how};
    }
  }

  /// Arrays of the right shape. Collective.
  [[nodiscard]] array make_cells() const {
    return pgas::make_array<cell>(*team_, extents_, sharing{}.on(pgas::grid{grid_.extent(0), grid_.extent(1), 1}));
  }
  [[nodiscard]] array make_spectrum() const {
    return pgas::make_array<cell>(*team_, std::array{extents_[1], extents_[0], extents_[2]},
                                  sharing{}.on(pgas::grid{grid_.extent(0), 1, grid_.extent(1)}));
  }

  /// Collective; the cells are used up.
  void forward(array const& cells, array const& spectrum) const {
    if (middle_) {
      exchange(cells, forward_.cells, *middle_, forward_.middle, order::same);
      exchange(*middle_, {}, spectrum, forward_.spectrum, order::swapped);
    } else {
      exchange(cells, forward_.cells, spectrum, forward_.spectrum, order::swapped);
    }
  }
  /// Collective; the spectrum is used up. After forward it gives the cells, multiplied by their number.
  void inverse(array const& spectrum, array const& cells) const {
    if (middle_) {
      exchange(spectrum, inverse_.spectrum, *middle_, inverse_.middle, order::swapped);
      exchange(*middle_, {}, cells, inverse_.cells, order::same);
    } else {
      exchange(spectrum, inverse_.spectrum, cells, inverse_.cells, order::swapped);
    }
  }

 private:
  struct plans {
    plane_transform cells;
    plane_transform middle;
    plane_transform spectrum;
  };

  Team* team_;
  std::array<std::size_t, 3> extents_;
  pgas::grid<2> grid_;
  std::optional<array> middle_;  ///< (z, y, x) with all of y
  plans forward_;
  plans inverse_;
};

}  // namespace example
