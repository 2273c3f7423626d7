// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/halo.hpp>
#include <pgas/part_box.hpp>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS {

namespace detail {

template <any_global_array Array>
bool is_divided(Array const& a, std::size_t d) noexcept {
  return a.layout().places().extent(d) > 1;
}

/// What of a move is ghost cells that have an owner. Along dimensions that are not divided a move goes with whole rows,
/// and at their ends may be padding, or ghost cells beyond a fixed edge.
template <any_global_array Array>
auto without_row_ends(Array const& a, typename halo_plan<Array::dimensions>::move m) noexcept {
  auto const kept = cells_of_array(a);
  std::size_t rest = m.from;
  for (std::size_t d = 0; d < Array::dimensions; ++d) {
    auto const first = static_cast<std::ptrdiff_t>(rest / m.from_pitches[d]) -
                       static_cast<std::ptrdiff_t>(a.layout().room().before[d]);
    rest %= m.from_pitches[d];
    if (is_divided(a, d)) continue;
    auto const end = std::min(first + static_cast<std::ptrdiff_t>(m.count[d]), kept.end[d]);
    auto const skipped = static_cast<std::size_t>(std::max<std::ptrdiff_t>(kept.first[d] - first, 0));
    m.from += skipped * m.from_pitches[d];
    m.to += skipped * m.to_pitches[d];
    m.count[d] = static_cast<std::size_t>(end - first) - skipped;
  }
  return m;
}

/// Adds a box of cells that lie in `from` to one in `to`.
template <std::size_t N, class T>
void add_box(std::array<std::size_t, N> const& count, T* to, box_in<N> const& there, T const* from,
             box_in<N> const& here) {
  constexpr op::sum add;
  for_each_block<N>(count, there, here, [&](rows_of block, std::size_t first, std::size_t pitch) {
    for (std::size_t row = 0; row < block.rows; ++row) {
      T* const sums = to + block.first + row * block.pitch;
      T const* const more = from + first + row * pitch;
      for (std::size_t i = 0; i < block.cols; ++i) sums[i] = add(sums[i], more[i]);
    }
  });
}

/// Zeroes the ghost cells that have an owner.
template <any_global_array Array, class T>
void zero_ghosts(Array const& a, T* part) {
  constexpr std::size_t N = Array::dimensions;
  auto const own = own_cells(a);
  auto const all = cells_of_array(a);
  std::array<std::size_t, N> sides;
  sides.fill(3);
  std::array<std::size_t, N> side{};
  do {
    part_box<N> box = own;
    std::size_t ghosts = 0;
    std::size_t divided = 0;
    for (std::size_t d = 0; d < N; ++d) {
      if (side[d] == 0) continue;
      ++ghosts;
      divided += is_divided(a, d) ? 1 : 0;
      box.first[d] = side[d] == 1 ? all.first[d] : own.end[d];
      box.end[d] = side[d] == 1 ? own.first[d] : all.end[d];
    }
    if (ghosts == 0 || box.empty() || (divided > 1 && !a.shape().halos().corners())) continue;
    auto const pitches = a.local_place().pitches;
    auto first = static_cast<std::ptrdiff_t>(a.local_place().first);
    for (std::size_t d = 0; d < N; ++d) first += box.first[d] * static_cast<std::ptrdiff_t>(pitches[d]);
    for_each_block<N>(box.counts(), {static_cast<std::size_t>(first), pitches}, {0, pitches},
                      [&](rows_of rows, std::size_t, std::size_t) {
                        for (std::size_t row = 0; row < rows.rows; ++row) {
                          std::fill_n(part + rows.first + row * rows.pitch, rows.cols, T{});
                        }
                      });
  } while (advance(side, sides));
}

}  // namespace detail

/// The adjoint of exchange_halo: adds what is in ghost cells to the cells they are ghosts of, and zeroes them.
///
/// For kernels that scatter: zero the ghost cells, store or add to own and ghost cells alike, then call this; each
/// contribution counts once, in corners, on a torus and at a mirror too, where several ghosts are one cell. Ghost cells
/// beyond a fixed edge belong to nobody and stay as they are, as do corners of an array made without.
/// Collective among ranks that share an edge or a corner, as begin_exchange. Own cells are complete when it returns.
/// The order of additions is that of the plan: for one layout and number of ranks the same bits each time. Each
/// contribution is got by the cell's owner, so that nothing needs to be indivisible.
/// Throws what epochs throw. Costs a get of the ghost cells from each neighbour, memory for them, and a
/// post/start/complete/wait round. PETSc: DMLocalToGlobal with ADD_VALUES; DASH and MPI have none.
template <any_global_array Array>
  requires box_layout<typename Array::layout_type> && operation_on<op::sum, typename Array::value_type>
void accumulate_halo(Array const& a) {
  using value_type = typename Array::value_type;
  constexpr std::size_t N = Array::dimensions;
  a.state().enter("accumulate_halo", !a.state().exposure_open && !a.state().is_accessing(),
                  "an epoch of this rank on the array is open; close it, or finish its last exchange, first");
  auto const& puts = a.plan().puts();
  std::vector<typename halo_plan<N>::move> moves;
  std::vector<value_type> received;
  {
    std::size_t cells = 0;
    for (auto const& put : puts) cells += moves.emplace_back(detail::without_row_ends(a, put)).size();
    received.resize(cells);
  }
  {
    // The same ranks as in an exchange: who puts there gets here. Nobody stores to a part until all have got.
    exposure exposed{a, group(a.plan().origins()), no_put};
    access epoch{a, group(a.plan().targets()), read_only};
    std::size_t first = 0;
    for (auto const& m : moves) {
      auto const target = epoch.to(m.target);
      detail::for_each_block<N>(
          m.count, {m.to, m.to_pitches}, {first, detail::dense_pitches(m.count)},
          [&](rows_of block, std::size_t at, std::size_t pitch) { target.get(block, received.data() + at, pitch); });
      first += m.size();
    }
    epoch.complete();
    exposed.wait();
  }
  auto const staged = stage<update>(a.window());
  auto* const part = staged.data();
  // Backwards, what an exchange does forwards: first what came from others, then what this rank's own ghosts hold. A
  // ghost that something is added to when it has been taken along already is not looked at again: it is zeroed below.
  std::size_t first = 0;
  for (auto const& m : moves) {
    detail::add_box<N>(m.count, part, {m.from, m.from_pitches}, received.data(),
                       {first, detail::dense_pitches(m.count)});
    first += m.size();
  }
  auto const& copies = a.plan().copies();
  for (auto copy = copies.rbegin(); copy != copies.rend(); ++copy) {
    auto const m = detail::without_row_ends(a, *copy);
    detail::add_box<N>(m.count, part, {m.from, m.from_pitches}, part, {m.to, m.to_pitches});
  }
  detail::zero_ghosts(a, part);
}

}  // namespace pgas::inline PGAS_ASSERTIONS
