// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <pgas/array_shape.hpp>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS {

/// Which of its rows a rank sends where when ghost rows are exchanged: computed once, from the shape alone.
///
/// Each rank puts into the ghost rows of others, so a plan lists sends; of what it receives a rank knows
/// only from whom. Rows are counted within parts, ghost rows included. Ghost rows that this rank's own rows
/// belong in (a torus with few ranks) are copies within its part.
/// Costs time and memory in proportion to the number of ranks that share an edge.
class halo_plan {
 public:
  /// `rows` rows of this rank's part, from row `from` on, belong at row `to` of rank `target`'s part.
  struct run {
    rank_t target = 0;
    std::size_t from = 0;
    std::size_t to = 0;
    std::size_t rows = 0;

    friend constexpr bool operator==(run const&, run const&) = default;
  };

  halo_plan() = default;
  halo_plan(block const& rows, halo const& h, rank_t self) {
    if (h.width == 0 || rows.local_size(self) == 0) return;
    planner const p(rows, h, self);
    p.sends([&](run const& r) { (r.target == self ? copies_ : puts_).push_back(r); });
    std::stable_sort(puts_.begin(), puts_.end(), [](run const& a, run const& b) { return a.target < b.target; });
    for (run const& put : puts_) targets_.push_back(put.target);
    p.sources([&](rank_t origin) {
      if (origin != self) origins_.push_back(origin);
    });
    for (auto* ranks : {&targets_, &origins_}) {
      std::sort(ranks->begin(), ranks->end());
      ranks->erase(std::unique(ranks->begin(), ranks->end()), ranks->end());
    }
  }

  /// What goes to others, by target.
  [[nodiscard]] std::vector<run> const& puts() const noexcept { return puts_; }
  /// What stays within this rank's part.
  [[nodiscard]] std::vector<run> const& copies() const noexcept { return copies_; }
  /// The ranks that this one puts to, and those that put here: ascending, without this one.
  [[nodiscard]] std::vector<rank_t> const& targets() const noexcept { return targets_; }
  [[nodiscard]] std::vector<rank_t> const& origins() const noexcept { return origins_; }

 private:
  // Indices may lie beyond the array, on either side. A periodic array is seen as itself repeated without end.
  using index = std::ptrdiff_t;

  class planner {
   public:
    planner(block const& rows, halo const& h, rank_t self) noexcept
        : rows_(rows),
          width_(static_cast<index>(h.width)),
          extent_(static_cast<index>(rows.extent())),
          owners_(static_cast<rank_t>(std::min<index>(extent_, rows.ranks()))),
          self_(self),
          periodic_(h.edges == edge::periodic) {}

    /// Calls send(run) for each image of this rank's rows that lies in somebody's ghost rows.
    template <class Send>
    void sends(Send&& send) const {
      index const images = periodic_ ? (width_ + extent_ - 1) / extent_ : 0;
      for (index image = -images; image <= images; ++image) {
        index const first = begin(self_) + image * extent_;
        index const last = end(self_) + image * extent_;
        auto const put = [&](rank_t target, index from, index to) {
          from = std::max(from, first);
          to = std::min(to, last);
          if (from >= to) return;
          send(run{.target = target,
                   .from = static_cast<std::size_t>(from - first + width_),
                   .to = static_cast<std::size_t>(from - begin(target) + width_),
                   .rows = static_cast<std::size_t>(to - from)});
        };
        // Ghost rows before a block: of those blocks that begin after `first`, until they begin too far behind.
        for (rank_t t = owner_at(first) + 1; t < owners_ && begin(t) < last + width_; ++t) {
          put(t, begin(t) - width_, begin(t));
        }
        // Ghost rows after a block: of those that end after first - width, until they end behind `last`.
        for (rank_t t = std::max(owner_at(first - width_), 0); t < owners_ && end(t) < last; ++t) {
          put(t, end(t), end(t) + width_);
        }
      }
    }

    /// Calls receive(rank) for each rank that owns rows which are ghost rows here, perhaps more than once.
    template <class Receive>
    void sources(Receive&& receive) const {
      auto const walk = [&](index from, index to) {
        if (!periodic_) {
          from = std::max<index>(from, 0);
          to = std::min(to, extent_);
        }
        while (from < to) {
          index const row = ((from % extent_) + extent_) % extent_;
          rank_t const owner = rows_.owner(static_cast<std::size_t>(row));
          receive(owner);
          from += end(owner) - row;
        }
      };
      walk(begin(self_) - width_, begin(self_));
      walk(end(self_), end(self_) + width_);
    }

   private:
    [[nodiscard]] index begin(rank_t rank) const noexcept { return static_cast<index>(rows_.first(rank)); }
    [[nodiscard]] index end(rank_t rank) const noexcept {
      return begin(rank) + static_cast<index>(rows_.local_size(rank));
    }
    /// The owner of a row; -1 for rows before the first, owners_ for rows behind the last.
    [[nodiscard]] rank_t owner_at(index row) const noexcept {
      return row < 0 ? -1 : row >= extent_ ? owners_ : rows_.owner(static_cast<std::size_t>(row));
    }

    block rows_;
    index width_;
    index extent_;
    rank_t owners_;  ///< only the first ranks own rows when there are more ranks than rows
    rank_t self_;
    bool periodic_;
  };

  std::vector<run> puts_;
  std::vector<run> copies_;
  std::vector<rank_t> targets_;
  std::vector<rank_t> origins_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS
