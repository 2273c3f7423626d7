// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <pgas/array/shape.hpp>
#include <pgas/detail/array/blocks.hpp>
#include <pgas/detail/types/plain_list.hpp>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE {

namespace detail {

/// Adds a rank to an ascending list unless it is there. A std::sort would cost every program with halos the
/// compilation of eight functions.
inline void unite(std::vector<rank_t>& ranks, rank_t with) {
  auto const at = std::lower_bound(ranks.begin(), ranks.end(), with);
  if (at == ranks.end() || *at != with) ranks.insert(at, with);
}

/// Sorts moves by target. Moves to one target keep their order.
///
/// There are few targets, and the moves are often in order. A std::stable_sort would cost every program with
/// halos the compilation of forty functions.
template <class Move>
void order_by_target(plain_list<Move>& moves) {
  std::vector<rank_t> targets;
  bool in_order = true;
  for (Move const& m : moves) {
    in_order = in_order && (targets.empty() || targets.back() <= m.target);
    unite(targets, m.target);
  }
  if (in_order) return;
  plain_list<Move> ordered;
  for (rank_t const target : targets) {
    for (Move const& m : moves) {
      if (m.target == target) ordered.push_back(m);
    }
  }
  moves = std::move(ordered);
}

}  // namespace detail

/// The plan of a halo exchange along one dimension: the own indices that are ghost cells of other ranks. It
/// is computed once, from the distribution alone.
///
/// Each rank puts into the ghost cells of other ranks, so the plan lists sends. They include sends to this
/// rank itself, on a torus with few ranks or at a mirror. Of its receives a rank knows only the origins. A
/// periodic array repeats without end; a reflecting array alternates with its mirror image.
/// Costs time and memory in proportion to the number of ranks that share an edge; beyond a mirror, to the
/// width.
class halo_line {
 public:
  /// `count` own indices from `from` on become ghost cells of rank `target` from `to` on. Both count from the
  /// rank's first own index, so `to` is negative or behind the last own index.
  struct run {
    rank_t target = 0;        ///< the rank with the ghost cells
    std::ptrdiff_t from = 0;  ///< the first own index
    std::ptrdiff_t to = 0;    ///< the first ghost index at the target
    std::size_t count = 0;    ///< in indices

    friend constexpr bool operator==(run const&, run const&) = default;
  };

  halo_line() = default;
  /// The line of rank `self` in one dimension with halo `h`.
  template <contiguous_distribution D>
  halo_line(D const& indices, halo const& h, rank_t self) {
    if ((h.width == 0 && h.after == 0) || indices.local_size(self) == 0) return;
    planner<D> const p(indices, h, self);
    p.sends([&](run const& r) { sends_.push_back(r); });
    detail::order_by_target(sends_);
    p.sources([&](rank_t origin) { detail::unite(origins_, origin); });
  }

  /// The sends of this rank, sorted by target.
  [[nodiscard]] detail::plain_list<run> const& sends() const noexcept { return sends_; }
  /// The ranks whose own indices are ghost cells here, ascending.
  [[nodiscard]] std::vector<rank_t> const& origins() const noexcept { return origins_; }

 private:
  // Indices may lie beyond the array on either side.
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

    /// Calls send(run) for each image of this rank's indices in the ghost cells of a rank.
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
          for (; from < to; ++from) {  // mirrored indices descend, so they are sent one by one
            send(run{.target = target, .from = last - 1 - from, .to = from - begin(target), .count = 1});
          }
        };
        // Ghost cells before a block: targets begin after `first`, up to the last block whose ghost cells
        // reach back to it.
        for (rank_t t = owner_at(first) + 1; t < end_ && begin(t) < last + before_; ++t) {
          put(t, begin(t) - before_, begin(t));
        }
        // Ghost cells behind a block: targets end after first - after, up to the last block that ends before
        // `last`.
        for (rank_t t = std::max(owner_at(first - after_), 0); t < end_ && end(t) < last; ++t) {
          put(t, end(t), end(t) + after_);
        }
      }
    }

    /// Calls receive(rank) for each rank that owns indices which are ghost cells here, possibly more than
    /// once for a rank.
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
    /// The owner of an index; -1 before the first index, end_ behind the last.
    [[nodiscard]] rank_t owner_at(index i) const noexcept {
      return i < 0 ? -1 : i >= extent_ ? end_ : indices_.owner(static_cast<std::size_t>(i));
    }
    /// The index of the cell that is seen at a place within or beyond the array.
    [[nodiscard]] index image_of(index i) const noexcept {
      if (edges_ != edge::reflecting) return ((i % extent_) + extent_) % extent_;
      index const in_both = ((i % (2 * extent_)) + 2 * extent_) % (2 * extent_);
      return in_both < extent_ ? in_both : 2 * extent_ - 1 - in_both;
    }

    D indices_;
    index before_;
    index after_;
    index extent_;
    rank_t end_;  ///< one past the last rank that owns an index
    rank_t self_;
    edge edges_;
  };

  detail::plain_list<run> sends_;
  std::vector<rank_t> origins_;
};

/// The plan of a halo exchange: the cells that a rank sends, and the ghost cells that they become. It is
/// computed once, from the shape alone.
///
/// The plan is the product of the lines of all dimensions. A box of own cells goes directly from its owner to
/// each rank that has it as ghost cells, corners included. A rank fills the ghost cells of undivided
/// dimensions itself, before it sends. Those ghost cells then travel with the cells beside them, so that rows
/// sent to a neighbour are one run of memory.
/// Costs time and memory in proportion to the number of ranks that share an edge or a corner.
template <std::size_t N>
class halo_plan {
 public:
  /// `count` cells of this rank's part, from element `from` on, become those of rank `target`'s part from
  /// element `to` on.
  struct move {
    rank_t target = 0;                          ///< the rank with the ghost cells
    std::size_t from = 0;                       ///< the first element of this rank's part
    std::size_t to = 0;                         ///< the first element of the target's part
    std::array<std::size_t, N> count{};         ///< the cells in each dimension
    std::array<std::size_t, N> from_pitches{};  ///< the elements between neighbours in this rank's part
    std::array<std::size_t, N> to_pitches{};    ///< the same in the target's part

    /// The number of cells that this move copies.
    [[nodiscard]] constexpr std::size_t size() const noexcept { return box<N>{{}, count}.size(); }
    friend constexpr bool operator==(move const&, move const&) = default;
  };

  halo_plan() = default;
  /// The plan of rank `self` of an array of this shape.
  template <box_layout L>
  halo_plan(array_shape<N, L> const& shape, rank_t self) {
    if (!shape.halos().any() || shape.part_size(self) == 0) return;
    planner const p(shape, self);
    p.fills(copies_);
    p.sends([&](move const& m) { (m.target == self ? copies_ : puts_).push_back(m); });
    detail::order_by_target(puts_);
    for (move const& put : puts_) detail::unite(targets_, put.target);
    p.sources([&](rank_t origin) {
      if (origin != self) detail::unite(origins_, origin);
    });
  }

  /// The moves to other ranks, sorted by target.
  [[nodiscard]] detail::plain_list<move> const& puts() const noexcept { return puts_; }
  /// The moves within this rank's part, to be made in this order.
  [[nodiscard]] detail::plain_list<move> const& copies() const noexcept { return copies_; }
  /// The ranks to which this rank puts, ascending, without this rank.
  [[nodiscard]] std::vector<rank_t> const& targets() const noexcept { return targets_; }
  /// The ranks that put to this rank, ascending, without this rank.
  [[nodiscard]] std::vector<rank_t> const& origins() const noexcept { return origins_; }

 private:
  template <class L>
  class planner {
   public:
    planner(array_shape<N, L> const& shape, rank_t self)
        : layout_(shape.layout()),
          corners_(shape.halos().corners()),
          ghosts_(shape.halos().around()),
          self_(self),
          place_(layout_.places().place(self)),
          own_(layout_.local_extents(self)),
          all_(layout_.part_extents(self)) {
      [&]<std::size_t... d>(std::index_sequence<d...>) {
        ((lines_[d] = halo_line(layout_.template along<d>(), shape.halo(d), place_[d])), ...);
      }(std::make_index_sequence<N>{});
    }

    /// Adds the moves that fill ghost cells of undivided dimensions: one dimension after the other, each
    /// along the full extent of the others.
    void fills(detail::plain_list<move>& into) const {
      for (std::size_t d = 0; d < N; ++d) {
        if (is_divided(d)) continue;
        for (auto const& run : lines_[d].sends()) {
          std::array<entry, N> box;
          for (std::size_t other = 0; other < N; ++other) box[other] = everything(other);
          box[d] = {run, true};
          into.push_back(as_move(box));
        }
      }
    }

    /// Calls send(move) for each box of own cells that are ghost cells of a rank.
    template <class Send>
    void sends(Send&& send) const {
      std::array<detail::plain_list<entry>, N> choices;
      for (std::size_t d = 0; d < N; ++d) {
        if (!is_divided(d)) {
          choices[d].push_back(everything(d));
          continue;
        }
        choices[d].push_back({{.target = place_[d], .from = 0, .to = 0, .count = own_[d]}, false});
        for (auto const& run : lines_[d].sends()) choices[d].push_back({run, true});
      }
      for_each_choice(choices, [&](std::array<entry, N> const& box) { send(as_move(box)); });
    }

    /// Calls receive(rank) for each rank that owns cells which are ghost cells here, possibly more than once
    /// for a rank.
    template <class Receive>
    void sources(Receive&& receive) const {
      std::array<detail::plain_list<entry>, N> choices;
      for (std::size_t d = 0; d < N; ++d) {
        choices[d].push_back({{.target = place_[d], .from = 0, .to = 0, .count = 0}, false});
        if (!is_divided(d)) continue;
        for (rank_t origin : lines_[d].origins()) choices[d].push_back({{.target = origin}, true});
      }
      for_each_choice(choices, [&](std::array<entry, N> const& box) { receive(rank_of(box)); });
    }

   private:
    /// The part of a box along one dimension, and whether it lies in ghost cells there.
    struct entry {
      halo_line::run run;
      bool in_ghosts = false;
    };

    [[nodiscard]] bool is_divided(std::size_t d) const noexcept { return layout_.places().extent(d) > 1; }
    [[nodiscard]] entry everything(std::size_t d) const noexcept {
      auto const first = -static_cast<std::ptrdiff_t>(layout_.room().before[d]);
      if (is_divided(d)) return {{.target = place_[d], .from = 0, .to = 0, .count = own_[d]}, false};
      return {{.target = place_[d], .from = first, .to = first, .count = all_[d]}, false};
    }

    /// Calls use(one entry of each dimension) for all combinations that lie in ghost cells of a rank.
    template <class Use>
    void for_each_choice(std::array<detail::plain_list<entry>, N> const& choices, Use&& use) const {
      std::array<std::size_t, N> counts{};
      for (std::size_t d = 0; d < N; ++d) counts[d] = choices[d].size();
      std::array<std::size_t, N> which{};
      do {
        std::array<entry, N> box;
        int ghosts = 0;
        for (std::size_t d = 0; d < N; ++d) {
          box[d] = choices[d][which[d]];
          ghosts += box[d].in_ghosts ? 1 : 0;
        }
        if (ghosts == 1 || (ghosts > 1 && corners_)) use(box);
      } while (detail::advance(which, counts));
    }

    [[nodiscard]] rank_t rank_of(std::array<entry, N> const& box) const noexcept {
      std::array<rank_t, N> place{};
      for (std::size_t d = 0; d < N; ++d) place[d] = box[d].run.target;
      return layout_.places().rank(place);
    }
    /// Leaves out the padding beside a row that travels alone. Several rows are one block with their padding.
    void trim(std::array<entry, N>& box) const noexcept {
      constexpr std::size_t last = N - 1;
      for (std::size_t d = 0; d < last; ++d) {
        if (box[d].run.count != 1) return;
      }
      entry const whole = everything(last);
      if (is_divided(last) || box[last].in_ghosts || box[last].run.from != whole.run.from) return;
      auto const first = -static_cast<std::ptrdiff_t>(ghosts_.before[last]);
      box[last].run.from = first;
      box[last].run.to = first;
      box[last].run.count = ghosts_.before[last] + own_[last] + ghosts_.after[last];
    }
    [[nodiscard]] move as_move(std::array<entry, N> box) const noexcept {
      trim(box);
      move m;
      m.target = rank_of(box);
      m.from_pitches = layout_.pitches(self_);
      m.to_pitches = layout_.pitches(m.target);
      auto from = static_cast<std::ptrdiff_t>(layout_.origin(self_));
      auto to = static_cast<std::ptrdiff_t>(layout_.origin(m.target));
      for (std::size_t d = 0; d < N; ++d) {
        m.count[d] = box[d].run.count;
        from += box[d].run.from * static_cast<std::ptrdiff_t>(m.from_pitches[d]);
        to += box[d].run.to * static_cast<std::ptrdiff_t>(m.to_pitches[d]);
      }
      m.from = static_cast<std::size_t>(from);
      m.to = static_cast<std::size_t>(to);
      return m;
    }

    L const& layout_;
    bool corners_;
    margins<N> ghosts_;
    rank_t self_;
    std::array<rank_t, N> place_;
    std::array<std::size_t, N> own_;
    std::array<std::size_t, N> all_;
    std::array<halo_line, N> lines_;
  };
  template <class L>
  planner(array_shape<N, L> const&, rank_t) -> planner<L>;

  detail::plain_list<move> puts_;
  detail::plain_list<move> copies_;
  std::vector<rank_t> targets_;
  std::vector<rank_t> origins_;
};

}  // namespace PGAS_NAMESPACE
