// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <pgas/access.hpp>
#include <pgas/array/halo_plan.hpp>
#include <pgas/detail/types/anything.hpp>
#include <pgas/exposure.hpp>
#include <pgas/global_array.hpp>
#include <pgas/stage.hpp>
#include <tuple>

namespace PGAS_NAMESPACE {

namespace detail {

/// Puts a box of own cells into the ghost cells of the target that show them.
template <class Array, class Target>
void put_move(Array const& a, typename halo_plan<Array::dimensions>::move const& box, Target const& target) {
  for_each_block<Array::dimensions>(box.count, {box.to, box.to_pitches}, {box.from, box.from_pitches},
                                    [&](rows_of block, std::size_t first, std::size_t pitch) {
                                      if constexpr (Array::is_contiguous) {
                                        if (block.rows > 1)
                                          return target.put(block, a.window().local().data() + first, pitch);
                                      }
                                      for (std::size_t row = 0; row < block.rows; ++row) {
                                        target.put(
                                            block.first + row * block.pitch,
                                            own_part{.first = first + row * pitch, .count = block.cols});
                                      }
                                    });
}

}  // namespace detail

/// A halo exchange that has begun: the result of begin_exchange.
///
/// While it is pending, this rank may read its own cells, and the ghost cells along dimensions that the grid
/// does not divide. It must not read other ghost cells, nor store to the array. The destructor finishes the
/// exchange, too; the rank's next call then throws its error.
template <class State>
class [[nodiscard]] pending_exchange {
 public:
  /// Begins the exchange; begin_exchange calls it.
  template <any_global_array Array>
  explicit pending_exchange(Array const& a)
      : exposure_(a, group(a.plan().origins())), access_(a, group(a.plan().targets()), write_only) {
    for (auto const& box : a.plan().puts()) {
      detail::put_move(a, box, access_.to(box.target));
    }
  }
  pending_exchange(pending_exchange&&) noexcept = default;

  /// Returns when each ghost cell has the value that its owner's cell had when the owner began. Throws what
  /// epochs throw.
  void finish() {
    access_.complete();
    exposure_.wait();
  }

  /// Completes this rank's puts, and returns whether those of its neighbours have come, so that the exchange
  /// has finished. Never waits for them. With wait() the exchange is a request.
  [[nodiscard]] bool test() {
    if (access_.is_open()) access_.complete();
    return exposure_.test();
  }
  /// Like finish; returns at once if the exchange has finished.
  void wait() {
    if (!test()) exposure_.wait();
  }

 private:
  // Destroyed in the right order: complete, then wait.
  exposure<State> exposure_;
  access<State, write_only.value> access_;
};

namespace detail {

/// Fills the ghost cells whose values come from this rank's own cells. They lie along dimensions that are not
/// divided and, at a mirror or on a torus with few ranks, along others too. The following post publishes
/// them.
template <class Array>
void fill_own_ghosts(Array const& a) {
  auto const copy_rows = [&](rows_of block, std::size_t first, std::size_t pitch) {
    for (std::size_t row = 0; row < block.rows; ++row) {
      std::size_t const from = first + row * pitch;
      std::size_t const to = block.first + row * block.pitch;
      if constexpr (Array::is_contiguous) {
        auto* const part = a.window().local().data();
        for (std::size_t i = 0; i < block.cols; ++i) part[to + i] = part[from + i];  // often one
      } else {
        auto const own = stage(a.window(), from, block.cols, read_only);
        auto const ghosts = stage(a.window(), to, block.cols, write_only);
        std::copy(own.begin(), own.end(), ghosts.begin());
      }
    }
  };
  for (auto const& box : a.plan().copies()) {
    for_each_block<Array::dimensions>(box.count, {box.to, box.to_pitches}, {box.from, box.from_pitches},
                                      copy_rows);
  }
}

/// Refuses an exchange that would do nothing.
template <class Array>
void check_halo(Array const& a) {
  PGAS_EXPECTS(light, a.shape().halos().any(),
               throw_error(errc::invalid_argument, a.state().job_rank(), "begin_exchange",
                           "the array has no ghost cells to fill; make it with a halo, for instance "
                           "make_array<double>(team, {rows, cols}, halo{.width = 1})"));
}

/// Like begin_exchange, but accepts an array without a halo, too: a stencil need not read any neighbour.
template <class Array>
[[nodiscard]] auto start_exchange(Array const& a) {
  a.state().enter("begin_exchange", !a.state().exposure_open && !a.state().is_accessing(),
                  "an epoch of this rank on the array is open; close it, or finish its last exchange, first");
  detail::fill_own_ghosts(a);
  return pending_exchange<typename Array::state_type>(a);
}

}  // namespace detail

/// Begins a halo exchange, which fills this rank's ghost cells with their owners' values, and its neighbours'
/// ghost cells with its own: `auto pending = begin_exchange(a); ...interior...; pending.finish();`.
///
/// Collective: all ranks call it equally often. A rank waits only for ranks with which it shares an edge or,
/// unless the array is made without corners, a corner. It waits until these have begun too, and puts;
/// finish() waits for their puts. Ghost cells beyond a fixed edge keep their values, except row ends along
/// dimensions that are not divided, which travel with their rows. Exchanges of one array must not overlap:
/// finish the first one.
/// Throws errc::invalid_argument for an array without a halo, errc::wrong_order if an epoch on the array is
/// open.
/// Costs a put for each neighbour and a post/start/complete/wait round. A put is of contiguous rows if
/// dimension 0 alone is divided, else strided.
/// MPI: neighbourhood collectives, by MPI_Put between MPI_Win_post and MPI_Win_wait.
template <any_global_array Array>
  requires box_layout<typename Array::layout_type>
[[nodiscard]] auto begin_exchange(Array const& a) {
  detail::check_halo(a);
  return detail::start_exchange(a);
}

/// Fills the ghost cells of this rank and its neighbours: begin_exchange and finish in one call. Otherwise
/// like begin_exchange. MPI: MPI_Neighbor_alltoallw; PETSc: DMGlobalToLocal.
template <any_global_array Array>
  requires box_layout<typename Array::layout_type>
void exchange_halo(Array const& a) {
  begin_exchange(a).finish();
}

/// Sets this rank's ghost cells beyond a fixed edge: each becomes value(i, j), or value(i), of its signed
/// global indices.
///
/// Local. Exchanges leave these cells unchanged. If the array is swapped with another one, set the edges of
/// both.
template <any_global_array Array, class Value>
  requires box_layout<typename Array::layout_type>
void set_edges(Array const& a, Value const& value) {
  using index = std::ptrdiff_t;
  constexpr std::size_t dimensions = Array::dimensions;
  constexpr std::size_t last = dimensions - 1;
  auto const own = a.own_box();
  if (own.size() == 0) return;
  std::array<index, dimensions> first;  // of the part, in global indices
  std::array<std::size_t, dimensions> all;
  for (std::size_t d = 0; d < dimensions; ++d) {
    first[d] = static_cast<index>(own.first[d]) - static_cast<index>(a.shape().halo(d).width);
    all[d] = own.count[d] + a.shape().halo(d).width + a.shape().halo(d).after;
  }
  auto const beyond = [&](std::size_t d, index i) {
    return a.shape().halo(d).edges == edge::fixed && (i < 0 || i >= static_cast<index>(a.extent(d)));
  };
  auto const cells = stage(a, read_write);
  std::array<std::size_t, dimensions> in_part{};
  do {
    std::array<index, dimensions> global;
    std::array<index, dimensions> local;
    bool outside = false;
    auto const place = [&](std::size_t d, std::size_t i) {
      global[d] = first[d] + static_cast<index>(i);
      local[d] = global[d] - static_cast<index>(own.first[d]);
    };
    for (std::size_t d = 0; d < last; ++d) {
      place(d, in_part[d]);
      outside = outside || beyond(d, global[d]);
    }
    for (std::size_t i = 0; i < all[last]; ++i) {
      place(last, i);
      if (outside || beyond(last, global[last])) {
        std::apply([&](auto... at) { std::apply(cells, local) = value(at...); }, global);
      }
    }
  } while (detail::advance(in_part, all, last));
}

/// Do not compile: say how ghost cells are exchanged.
template <class None = void>
auto exchange_halo(detail::anything = {}, detail::anything = {}, detail::anything = {},
                   detail::anything = {}) {
  static_assert(
      detail::always_false<None>,
      "exchange_halo: write `pgas::exchange_halo(array);` with one array, or several with "
      "pgas/exchange_halos.hpp; each is made with a halo and a layout in which a rank owns one box, "
      "not a cyclic one");
}
template <class None = void>
auto begin_exchange(detail::anything = {}, detail::anything = {}, detail::anything = {},
                    detail::anything = {}) {
  static_assert(
      detail::always_false<None>,
      "begin_exchange: write `auto edges = pgas::begin_exchange(array);` with one array, or several with "
      "pgas/exchange_halos.hpp; each is made with a halo and a layout in which a rank owns one box, "
      "not a cyclic one");
}

}  // namespace PGAS_NAMESPACE
