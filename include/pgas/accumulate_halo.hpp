// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <exception>
#include <limits>
#include <pgas/array/part_box.hpp>
#include <pgas/exchange_halo.hpp>
#include <vector>

namespace PGAS_NAMESPACE {

namespace detail {

/// The neutral value of an operation: combined with it, every value stays the same.
template <class T>
constexpr T neutral(op::sum) noexcept {
  return T{};
}
template <class T>
  requires std::is_arithmetic_v<T>
constexpr T neutral(op::product) noexcept {
  return T{1};
}
template <class T>
  requires std::is_arithmetic_v<T>
constexpr T neutral(op::min) noexcept {
  using limits = std::numeric_limits<T>;
  return limits::has_infinity ? limits::infinity() : limits::max();
}
template <class T>
  requires std::is_arithmetic_v<T>
constexpr T neutral(op::max) noexcept {
  using limits = std::numeric_limits<T>;
  return limits::has_infinity ? -limits::infinity() : limits::lowest();
}
template <class T>
  requires std::is_integral_v<T>
constexpr T neutral(op::bit_and) noexcept {
  return static_cast<T>(~T{});
}
template <class T>
constexpr T neutral(op::bit_or) noexcept {
  return T{};
}
template <class T>
constexpr T neutral(op::bit_xor) noexcept {
  return T{};
}

template <any_global_array Array>
bool is_divided(Array const& a, std::size_t d) noexcept {
  return a.layout().places().extent(d) > 1;
}

/// The part of a move whose ghost cells have an owner. Along dimensions that are not divided, a move copies
/// whole rows, whose ends may be padding or ghost cells beyond a fixed edge.
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

/// Combines each cell of a box in `from` into the corresponding cell of a box in `to`.
template <std::size_t N, class T, class Op>
void combine_box(std::array<std::size_t, N> const& count, T* to, box_in<N> const& there, T const* from,
                 box_in<N> const& here, Op op) {
  for_each_block<N>(count, there, here, [&](rows_of block, std::size_t first, std::size_t pitch) {
    for (std::size_t row = 0; row < block.rows; ++row) {
      T* const sums = to + block.first + row * block.pitch;
      T const* const more = from + first + row * pitch;
      for (std::size_t i = 0; i < block.cols; ++i) sums[i] = op(sums[i], more[i]);
    }
  });
}

/// Stores a value to all ghost cells that have an owner.
template <any_global_array Array, class T>
void fill_ghosts(Array const& a, T* part, T const& value) {
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
                          std::fill_n(part + rows.first + row * rows.pitch, rows.cols, value);
                        }
                      });
  } while (advance(side, sides));
}

}  // namespace detail

/// An operation by which owners can combine ghost cells into their own. It has a neutral value, which the
/// ghost cells hold afterwards. These are all operations of namespace op but replace and no_op; for elements
/// that are not numbers, sum alone.
template <class Op, class T>
concept ghost_operation = operation_on<Op, T> && requires(Op op) { detail::neutral<T>(op); };

/// Ghost cells on their way to their owners: the result of begin_accumulate_halo.
///
/// While it is pending, this rank may read and store its own cells, and must leave its ghost cells alone. The
/// array must stay in place. The destructor finishes, too; the rank's next call then throws its error.
template <any_global_array Array, ghost_operation<typename Array::value_type> Op>
class [[nodiscard]] pending_accumulation {
  static constexpr std::size_t N = Array::dimensions;
  using value_type = typename Array::value_type;
  using state_type = typename Array::state_type;

 public:
  // The ranks are those of an exchange: a rank that puts there gets here. No rank stores to a ghost cell
  // until all have been got.
  /// Begins the accumulation; begin_accumulate_halo calls it.
  pending_accumulation(Array const& a, Op op)
      : array_(&a),
        op_(op),
        exposure_(a, group(a.plan().origins()), no_put),
        access_(a, group(a.plan().targets()), read_only) {
    std::size_t cells = 0;
    for (auto const& put : a.plan().puts())
      cells += moves_.emplace_back(detail::without_row_ends(a, put)).size();
    received_.resize(cells);
    std::size_t first = 0;
    for (auto const& m : moves_) {
      auto const target = access_.to(m.target);
      detail::for_each_block<N>(m.count, {m.to, m.to_pitches}, {first, detail::dense_pitches(m.count)},
                                [&](rows_of block, std::size_t at, std::size_t pitch) {
                                  target.get(block, received_.data() + at, pitch);
                                });
      first += m.size();
    }
  }
  pending_accumulation(pending_accumulation const&) = delete;
  pending_accumulation& operator=(pending_accumulation const&) = delete;
  ~pending_accumulation() {
    if (array_ == nullptr || uncaught_.any()) return;
    try {
      finish();
    } catch (...) {
      exposure_.state().team->deferred->record(std::current_exception());
    }
  }

  /// Returns when this rank's own cells have all contributions. Throws what epochs throw.
  void finish() {
    Array const& a = *std::exchange(array_, nullptr);
    access_.complete();
    exposure_.wait();
    auto const staged = stage(a.window(), read_write);
    auto* const part = staged.data();
    // The order is that of an exchange, backwards: first the cells from other ranks, then this rank's own
    // ghost cells. A ghost cell that has been taken along is not read again, even if a later step combines
    // something into it.
    std::size_t first = 0;
    for (auto const& m : moves_) {
      detail::combine_box<N>(m.count, part, {m.from, m.from_pitches}, received_.data(),
                             {first, detail::dense_pitches(m.count)}, op_);
      first += m.size();
    }
    auto const& copies = a.plan().copies();
    for (std::size_t i = copies.size(); i-- > 0;) {
      auto const m = detail::without_row_ends(a, copies[i]);
      detail::combine_box<N>(m.count, part, {m.from, m.from_pitches}, part, {m.to, m.to_pitches}, op_);
    }
    detail::fill_ghosts(a, part, detail::neutral<value_type>(op_));
  }

 private:
  Array const* array_;  ///< null when it has finished
  [[no_unique_address]] Op op_;
  detail::uncaught_since uncaught_;
  std::vector<typename halo_plan<N>::move> moves_;
  std::vector<value_type> received_;
  // Destroyed in this order: complete, wait, and then the memory that was got into.
  exposure<state_type, no_put.value> exposure_;
  access<state_type, read_only.value> access_;
};

/// Begins to send ghost cells to their owners, as accumulate_halo does, and does not wait for those that
/// come: `auto pending = begin_accumulate_halo(a); ...own cells...; pending.finish();`.
///
/// For kernels that scatter: first from the cells near an edge, and then from the others, which reach own
/// cells only.
/// Waits until the neighbours have begun too. Otherwise like accumulate_halo.
template <any_global_array Array, ghost_operation<typename Array::value_type> Op = op::sum>
  requires box_layout<typename Array::layout_type>
[[nodiscard]] pending_accumulation<Array, Op> begin_accumulate_halo(Array const& a, Op op = {}) {
  a.state().enter("accumulate_halo", !a.state().exposure_open && !a.state().is_accessing(),
                  "an epoch of this rank on the array is open; close it, or finish its last exchange, first");
  return pending_accumulation<Array, Op>(a, op);
}

/// The adjoint of exchange_halo: adds each ghost cell to the cell that it shows, and zeroes the ghost cell.
/// With another operation it combines them, and leaves that operation's neutral value:
/// `accumulate_halo(a, op::max{})`.
///
/// For kernels that scatter: zero the ghost cells, store or add to own and ghost cells alike, then call this.
/// Each contribution counts once, also in corners, on a torus and at a mirror, where several ghost cells show
/// one cell. Ghost cells beyond a fixed edge have no owner and stay as they are, as do corners of an array
/// that is made without them.
///
/// Collective among ranks that share an edge or a corner, like begin_exchange. Own cells are complete when it
/// returns. The additions are made in the order of the plan: one layout and number of ranks gives the same
/// bits each time. The owner of a cell gets each contribution, so that no operation needs to be indivisible.
/// Throws what epochs throw. Costs a get of the ghost cells from each neighbour, memory for them, and a
/// post/start/complete/wait round.
/// PETSc: DMLocalToGlobal with ADD_VALUES or MAX_VALUES; DASH and MPI have no equal.
template <any_global_array Array, ghost_operation<typename Array::value_type> Op = op::sum>
  requires box_layout<typename Array::layout_type>
void accumulate_halo(Array const& a, Op op = {}) {
  begin_accumulate_halo(a, op).finish();
}

}  // namespace PGAS_NAMESPACE
