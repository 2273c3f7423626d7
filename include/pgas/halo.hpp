// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/access.hpp>
#include <pgas/array_stage.hpp>
#include <pgas/exposure.hpp>

namespace pgas::inline PGAS_ASSERTIONS {

/// A halo exchange that has begun: what begin_exchange returns.
///
/// While it is pending this rank may read its own cells, but not its ghost cells, and must not store to
/// the array. A destructor finishes, too; an error is then thrown by the rank's next call.
template <class State>
class [[nodiscard]] pending_exchange {
 public:
  template <any_global_array Array>
  explicit pending_exchange(Array const& a)
      : exposure_(a, group(a.plan().origins())), access_(a, group(a.plan().targets()), write_only) {
    std::size_t const pitch = a.shape().pitch();
    for (auto const& run : a.plan().puts()) {
      access_.to(run.target).put(run.to * pitch, own_part{.first = run.from * pitch, .count = run.rows * pitch});
    }
  }
  pending_exchange(pending_exchange&&) noexcept = default;

  /// Returns when all ghost cells hold what their owners had when they began. Throws what epochs throw.
  void finish() {
    access_.complete();
    exposure_.wait();
  }

 private:
  // Destroyed in the right order: complete, then wait.
  exposure<State> exposure_;
  access<State, write_only.value> access_;
};

namespace detail {

/// Ghost cells that come from this rank's own cells: the row ends of a periodic dimension 1, and on a
/// torus with few ranks whole rows. Stored before the post, which makes them agree with memory.
template <class Array>
void fill_own_ghosts(Array const& a) {
  std::size_t const pitch = a.shape().pitch();
  if constexpr (Array::dimensions == 2) {
    std::size_t const width = a.shape().halo(1).width;
    edge const edges = a.shape().halo(1).edges;
    std::size_t const cols = a.extent(1);
    std::size_t const rows = edges == edge::periodic && width != 0 ? a.shape().part_rows(a.rank()) : 0;
    for (std::size_t i = 0; i < rows; ++i) {
      // Outwards from the own cells, each from its image one extent further in: right also when the halo is wider than
      // the row.
      auto const row = stage<update>(a.window(), i * pitch, pitch);
      for (std::size_t j = width; j-- > 0;) row[j] = row[j + cols];
      for (std::size_t j = width + cols; j < pitch; ++j) row[j] = row[j - cols];
    }
  }
  for (auto const& run : a.plan().copies()) {
    auto const from = stage<read>(a.window(), run.from * pitch, run.rows * pitch);
    auto const to = stage<write>(a.window(), run.to * pitch, run.rows * pitch);
    std::copy(from.begin(), from.end(), to.begin());
  }
}

}  // namespace detail

/// Begins to fill this rank's ghost cells with their owners' values, and the others' with this rank's; ends with
/// `finish()` of what it returns: `auto pending = begin_exchange(a); ...interior...; pending.finish();`.
///
/// Collective among ranks that share an edge, and no others: all ranks call it as often, but none waits for
/// a rank it shares no edge with. Waits until the neighbours have begun too, puts, and does not wait for
/// what they put. Corners are included; row ends beyond a fixed edge travel with their rows; ghost cells beyond
/// a fixed edge are not touched. Two exchanges of one array do not overlap: finish the first.
/// Costs a put of contiguous rows for each neighbour and a post/start/complete/wait round.
/// MPI: neighbourhood collectives, by MPI_Put between MPI_Win_post and MPI_Win_wait.
template <any_global_array Array>
[[nodiscard]] auto begin_exchange(Array const& a) {
  a.state().enter("begin_exchange", !a.state().exposure_open && !a.state().is_accessing(),
                  "an epoch of this rank on the array is open; close it, or finish its last exchange, first");
  detail::fill_own_ghosts(a);
  return pending_exchange<typename Array::state_type>(a);
}

/// Fills the ghost cells: begin_exchange and finish in one.
template <any_global_array Array>
void exchange_halo(Array const& a) {
  begin_exchange(a).finish();
}

/// Sets this rank's ghost cells beyond a fixed edge: each to value(i, j), or value(i), of its signed global indices.
///
/// Local. Exchanges leave them as they are; an array that is swapped with another needs them set in both.
template <any_global_array Array, class Value>
void set_edges(Array const& a, Value const& value) {
  using index = std::ptrdiff_t;
  constexpr std::size_t dimensions = Array::dimensions;
  auto const own = a.own_box();
  if (own.size() == 0) return;
  auto const beyond = [&](std::size_t d, index i) {
    return a.shape().halo(d).edges == edge::fixed && (i < 0 || i >= static_cast<index>(a.extent(d)));
  };
  auto const width = [&](std::size_t d) { return static_cast<index>(a.shape().halo(d).width); };
  auto const first = static_cast<index>(own.first[0]);
  auto const rows = static_cast<index>(own.count[0]);
  auto const cells = stage<update>(a);
  for (index i = -width(0); i < rows + width(0); ++i) {
    if constexpr (dimensions == 1) {
      if (beyond(0, first + i)) cells(i) = value(first + i);
    } else {
      auto const cols = static_cast<index>(own.count[1]);
      for (index j = -width(1); j < cols + width(1); ++j) {
        if (beyond(0, first + i) || beyond(1, j)) cells(i, j) = value(first + i, j);
      }
    }
  }
}

}  // namespace pgas::inline PGAS_ASSERTIONS
