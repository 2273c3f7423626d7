// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <pgas/array/shape.hpp>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS {

/// Which own indices of one dimension belong in whose ghost cells: computed once, from the distribution alone.
///
/// Each rank puts into the ghost cells of others, so a plan lists sends, those to itself (a torus with few ranks, a
/// mirror) too; of what it receives a rank knows only from whom. A periodic array is seen as itself repeated without
/// end, a reflecting one as itself and its mirror image in turn.
/// Costs time and memory in proportion to the number of ranks that share an edge, beyond a mirror to the width.
class halo_line {
 public:
  /// `count` own indices from `from` on, counted from the first own one, belong at `to` of rank `target`, counted from
  /// its first own one: below zero, or behind its last.
  struct run {
    rank_t target = 0;
    std::ptrdiff_t from = 0;
    std::ptrdiff_t to = 0;
    std::size_t count = 0;

    friend constexpr bool operator==(run const&, run const&) = default;
  };

  halo_line() = default;
  template <contiguous_distribution D>
  halo_line(D const& indices, halo const& h, rank_t self) {
    if ((h.width == 0 && h.after == 0) || indices.local_size(self) == 0) return;
    planner<D> const p(indices, h, self);
    p.sends([&](run const& r) { sends_.push_back(r); });
    std::stable_sort(sends_.begin(), sends_.end(), [](run const& a, run const& b) { return a.target < b.target; });
    p.sources([&](rank_t origin) { origins_.push_back(origin); });
    std::sort(origins_.begin(), origins_.end());
    origins_.erase(std::unique(origins_.begin(), origins_.end()), origins_.end());
  }

  /// What goes where, by target.
  [[nodiscard]] std::vector<run> const& sends() const noexcept { return sends_; }
  /// The ranks whose own indices are ghosts here, ascending.
  [[nodiscard]] std::vector<rank_t> const& origins() const noexcept { return origins_; }

 private:
  // Indices may lie beyond the array, on either side.
  using index = std::ptrdiff_t;

  template <class D>
  class planner {
   public:
    planner(D const& indices, halo const& h, rank_t self) noexcept
        : indices_(indices),
          before_(static_cast<index>(h.width)),
          after_(static_cast<index>(h.after)),
          extent_(static_cast<index>(indices.extent())),
          end_(indices.owner(indices.extent() - 1) + 1),
          self_(self),
          edges_(h.edges) {}

    /// Calls send(run) for each image of this rank's indices that lies in somebody's ghost cells.
    template <class Send>
    void sends(Send&& send) const {
      index const images = edges_ == edge::fixed ? 0 : (std::max(before_, after_) + extent_ - 1) / extent_;
      for (index image = -images; image <= images; ++image) {
        bool const mirrored = edges_ == edge::reflecting && image % 2 != 0;
        index const first = image * extent_ + (mirrored ? extent_ - end(self_) : begin(self_));
        index const last = first + end(self_) - begin(self_);
        auto const put = [&](rank_t target, index from, index to) {
          from = std::max(from, first);
          to = std::min(to, last);
          if (from >= to || indices_.local_size(target) == 0) return;
          if (!mirrored) {
            send(run{.target = target,
                     .from = from - first,
                     .to = from - begin(target),
                     .count = static_cast<std::size_t>(to - from)});
            return;
          }
          for (; from < to; ++from) {  // the other way round: one by one
            send(run{.target = target, .from = last - 1 - from, .to = from - begin(target), .count = 1});
          }
        };
        // Ghosts before a block: of those blocks that begin after `first`, until they begin too far behind.
        for (rank_t t = owner_at(first) + 1; t < end_ && begin(t) < last + before_; ++t) {
          put(t, begin(t) - before_, begin(t));
        }
        // Ghosts after a block: of those that end after first - after, until they end behind `last`.
        for (rank_t t = std::max(owner_at(first - after_), 0); t < end_ && end(t) < last; ++t) {
          put(t, end(t), end(t) + after_);
        }
      }
    }

    /// Calls receive(rank) for each rank that owns indices which are ghosts here, perhaps more than once.
    template <class Receive>
    void sources(Receive&& receive) const {
      auto const walk = [&](index from, index to) {
        if (edges_ == edge::fixed) {
          from = std::max<index>(from, 0);
          to = std::min(to, extent_);
        }
        while (from < to) {
          index const i = image_of(from);
          rank_t const owner = indices_.owner(static_cast<std::size_t>(i));
          receive(owner);
          bool const forwards = edges_ != edge::reflecting || (from >= 0 && from < extent_);
          from += forwards ? end(owner) - i : 1;
        }
      };
      walk(begin(self_) - before_, begin(self_));
      walk(end(self_), end(self_) + after_);
    }

   private:
    [[nodiscard]] index begin(rank_t rank) const noexcept { return static_cast<index>(indices_.first(rank)); }
    [[nodiscard]] index end(rank_t rank) const noexcept {
      return begin(rank) + static_cast<index>(indices_.local_size(rank));
    }
    /// The owner of an index; -1 for those before the first, end_ for those behind the last.
    [[nodiscard]] rank_t owner_at(index i) const noexcept {
      return i < 0 ? -1 : i >= extent_ ? end_ : indices_.owner(static_cast<std::size_t>(i));
    }
    /// The index that is seen at a place within or beyond the array.
    [[nodiscard]] index image_of(index i) const noexcept {
      if (edges_ != edge::reflecting) return ((i % extent_) + extent_) % extent_;
      index const in_both = ((i % (2 * extent_)) + 2 * extent_) % (2 * extent_);
      return in_both < extent_ ? in_both : 2 * extent_ - 1 - in_both;
    }

    D indices_;
    index before_;
    index after_;
    index extent_;
    rank_t end_;  ///< behind the last rank that owns some
    rank_t self_;
    edge edges_;
  };

  std::vector<run> sends_;
  std::vector<rank_t> origins_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS
