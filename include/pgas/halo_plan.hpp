// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <pgas/array_shape.hpp>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS {

/// Which rows a rank puts where when ghost cells are exchanged, and with whom: made once for an array.
///
/// Ghost rows may come from several owners, since a halo may be wider than a neighbour's block, and from this rank
/// itself. Memory: the ranks that share an edge with this one.
class halo_plan {
 public:
  /// Elements [from, from + count) of the own part belong at `to` in the target's.
  struct transfer {
    rank_t target;
    std::size_t from;
    std::size_t to;
    std::size_t count;
  };

  template <std::size_t N>
  halo_plan(array_shape<N> const& shape, rank_t self) {
    if (shape.halo().width == 0 || shape.rows().local_size(self) == 0) return;
    for_each_ghost_row(shape, self, [&](rank_t owner, std::size_t, std::ptrdiff_t) {
      if (owner != self) origins_.push_back(owner);
    });
    unify(origins_);
    for (rank_t target = 0; target < shape.rows().ranks(); ++target) {
      for_each_ghost_row(shape, target, [&](rank_t owner, std::size_t row, std::ptrdiff_t ghost) {
        if (owner == self) add(shape, target, row, ghost);
      });
      if (target != self && !transfers_.empty() && transfers_.back().target == target) targets_.push_back(target);
    }
    auto const own = std::stable_partition(transfers_.begin(), transfers_.end(),
                                           [self](transfer const& t) { return t.target != self; });
    own_.assign(own, transfers_.end());
    transfers_.erase(own, transfers_.end());
  }

  /// Who puts ghost rows here, and where this rank puts: ascending, without this rank.
  [[nodiscard]] std::vector<rank_t> const& origins() const noexcept { return origins_; }
  [[nodiscard]] std::vector<rank_t> const& targets() const noexcept { return targets_; }
  /// What goes to others, by ascending target, and what stays with this rank.
  [[nodiscard]] std::vector<transfer> const& transfers() const noexcept { return transfers_; }
  [[nodiscard]] std::vector<transfer> const& own() const noexcept { return own_; }

 private:
  /// Calls use(owner, local row at the owner, ghost row here) for each ghost row of `rank` that copies a row.
  template <std::size_t N, class Use>
  static void for_each_ghost_row(array_shape<N> const& shape, rank_t rank, Use&& use) {
    block const& rows = shape.rows();
    auto const extent = static_cast<std::ptrdiff_t>(rows.extent());
    auto const first = static_cast<std::ptrdiff_t>(rows.first(rank));
    auto const size = static_cast<std::ptrdiff_t>(rows.local_size(rank));
    auto const width = static_cast<std::ptrdiff_t>(shape.halo().width);
    if (size == 0) return;
    auto const visit = [&](std::ptrdiff_t ghost) {
      std::ptrdiff_t row = first + ghost;
      if (shape.halo().edges == edge::periodic) {
        row = (row % extent + extent) % extent;
      } else if (row < 0 || row >= extent) {
        return;
      }
      auto const global = static_cast<std::size_t>(row);
      use(rows.owner(global), rows.local_index(global), ghost);
    };
    for (std::ptrdiff_t ghost = -width; ghost < 0; ++ghost) visit(ghost);
    for (std::ptrdiff_t ghost = size; ghost < size + width; ++ghost) visit(ghost);
  }

  /// Adds a row, to the last transfer if it goes on where that ends on both sides.
  template <std::size_t N>
  void add(array_shape<N> const& shape, rank_t target, std::size_t row, std::ptrdiff_t ghost) {
    std::size_t const from = shape.row_offset(static_cast<std::ptrdiff_t>(row));
    std::size_t const to = shape.row_offset(ghost);
    if (!transfers_.empty()) {
      transfer& last = transfers_.back();
      if (last.target == target && last.from + last.count == from && last.to + last.count == to) {
        last.count += shape.pitch();
        return;
      }
    }
    transfers_.push_back({.target = target, .from = from, .to = to, .count = shape.pitch()});
  }

  static void unify(std::vector<rank_t>& ranks) {
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  }

  std::vector<rank_t> origins_;
  std::vector<rank_t> targets_;
  std::vector<transfer> transfers_;
  std::vector<transfer> own_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS
