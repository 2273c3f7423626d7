// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/access.hpp>
#include <pgas/exposure.hpp>
#include <pgas/global_array.hpp>

namespace pgas::inline PGAS_ASSERTIONS {

/// An exchange of ghost cells under way: each rank puts its edge rows into the ghost rows of those who need them.
///
/// Made by begin_exchange. Until `finish` (or destruction) has returned, ghost cells hold nothing certain and this rank
/// must not store to the array; it may read its own cells, so the interior can be computed meanwhile.
template <class Array>
class [[nodiscard]] halo_exchange {
 public:
  explicit halo_exchange(Array const& a)
      : exposure_(a.window(), group(a.plan().origins())), access_(a.window(), group(a.plan().targets()), write_only) {
    for (auto const& t : a.plan().transfers()) access_.put(t.target, t.to, own_part{.first = t.from, .count = t.count});
  }

  /// Returns when this rank's ghost cells are there, and what it had to give is on its way.
  void finish() {
    access_.complete();
    exposure_.wait();
  }

 private:
  using state_type = typename Array::window_type::state_type;
  // In this order: this rank's access ends before it waits for those of others.
  exposure<state_type> exposure_;
  access<state_type, hints{.write_only = true}> access_;
};

namespace detail {

/// Copies within the own part: from the other edge where the array is periodic, and rows that this rank needs from
/// itself.
template <class Array>
void copy_own_ghosts(Array const& a) {
  auto const& shape = a.shape();
  bool const wraps =
      shape.halo().edges == edge::periodic && Array::dimensions == 2 && a.extent(Array::dimensions - 1) != 0;
  if (!wraps && a.plan().own().empty()) return;
  auto const part = a.window().local();
  if (wraps) {
    auto const width = static_cast<std::ptrdiff_t>(shape.halo().width);
    auto const cols = static_cast<std::ptrdiff_t>(a.extent(Array::dimensions - 1));
    for (std::size_t row = 0; row < a.local_rows(); ++row) {
      auto const first =
          static_cast<std::ptrdiff_t>(shape.row_offset(static_cast<std::ptrdiff_t>(row)) + shape.margin());
      auto const copy = [&](std::ptrdiff_t col) {
        part[static_cast<std::size_t>(first + col)] =
            part[static_cast<std::size_t>(first + (col % cols + cols) % cols)];
      };
      for (std::ptrdiff_t col = -width; col < 0; ++col) copy(col);
      for (std::ptrdiff_t col = cols; col < cols + width; ++col) copy(col);
    }
  }
  for (auto const& t : a.plan().own()) {
    for (std::size_t i = 0; i < t.count; ++i) part[t.to + i] = part[t.from + i];
  }
}

}  // namespace detail

/// Starts filling the ghost cells of every rank that calls it: `auto pending = begin_exchange(u); ...;
/// pending.finish();`.
///
/// To be called by all ranks that share an edge, in the same order for each array; no barrier. Own cells stored before
/// are what the others get. Waits until the neighbours have begun theirs, not until they have finished. Costs a put for
/// each neighbour and edge. MPI: post, start, put.
template <class Array>
  requires detail::is_global_array<Array>
[[nodiscard]] auto begin_exchange(Array const& a) {
  detail::copy_own_ghosts(a);
  return halo_exchange<Array>(a);
}

/// Fills the ghost cells, and returns when they are there. begin_exchange and finish in one.
template <class Array>
  requires detail::is_global_array<Array>
void exchange(Array const& a) {
  begin_exchange(a).finish();
}

}  // namespace pgas::inline PGAS_ASSERTIONS
