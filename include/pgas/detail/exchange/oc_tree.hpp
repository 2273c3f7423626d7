// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <memory>
#include <pgas/detail/types/algorithms.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::collectives {

/// How a rank's children learn that a chunk is there: down a tree of this degree over the rank and its
/// children. A rank sets at most so many flags for itself, and so many for its parent.
struct notification {
  std::size_t degree = 2;  ///< 0: the rank sets all its children's flags

  friend constexpr bool operator==(notification, notification) = default;
};
/// The rank sets two flags, and its children pass the notification on. OC-Bcast's choice.
inline constexpr notification binary_notification{2};
/// The rank sets the flags of all its children, one after the other.
inline constexpr notification sequential_notification{0};

/// The most children for which `automatic_k` asks: the accesses at which one buffer of the SCC is no slower
/// than for one. Source: Shahmirzadi 2014, section 2.4.
inline constexpr std::size_t most_readers = 24;

/// The trees of OC-Bcast, on places: place 0 is the root's. They are the same for all roots.
///
/// The data tree has k children a place, and is full from the top. Each inner place has a notification tree
/// over itself and its children, filled in the same way. So each place knows its neighbours by itself, and
/// nothing is stored.
/// Source: Shahmirzadi 2014, section 2.4 and figure 2.2. There the numbers of children wrap around; here they
/// end at the last place.
class oc_tree {
 public:
  /// The trees of that many places; a place has at most k children.
  constexpr oc_tree(std::size_t places, std::size_t k, notification how) noexcept
      : places_(places), k_(k), degree_(how.degree == 0 ? k : how.degree) {}

  /// The place from which a place, other than the root's, fetches.
  [[nodiscard]] constexpr std::size_t parent(std::size_t place) const noexcept { return (place - 1) / k_; }
  /// The number of the place among its parent's children.
  [[nodiscard]] constexpr std::size_t index(std::size_t place) const noexcept { return (place - 1) % k_; }
  /// The number of places that fetch from a place: `child(place, 0)` and so on.
  [[nodiscard]] constexpr std::size_t children(std::size_t place) const noexcept {
    std::size_t const first = child(place, 0);
    return first >= places_ ? 0 : std::min(k_, places_ - first);
  }
  [[nodiscard]] constexpr std::size_t child(std::size_t place, std::size_t i) const noexcept {
    return place * k_ + 1 + i;
  }

  /// The place that sets the notification flag of a place.
  [[nodiscard]] constexpr std::size_t notifier(std::size_t place) const noexcept {
    std::size_t const above = index(place) / degree_;
    return above == 0 ? parent(place) : child(parent(place), above - 1);
  }
  /// Calls use(place) for each child that a place notifies.
  template <class Use>
  constexpr void each_own(std::size_t place, Use&& use) const {
    for (std::size_t i = 0; i < std::min(degree_, children(place)); ++i) use(child(place, i));
  }
  /// Calls use(place) for each child of its parent to which a place forwards the parent's notification.
  template <class Use>
  constexpr void each_forwarded(std::size_t place, Use&& use) const {
    if (place == 0) return;
    std::size_t const above = parent(place);
    std::size_t const first = (index(place) + 1) * degree_;
    for (std::size_t i = first; i < std::min(first + degree_, children(above)); ++i) use(child(above, i));
  }

  /// The number of fetches on the way from the root to a place.
  [[nodiscard]] constexpr std::size_t depth(std::size_t place) const noexcept {
    std::size_t fetches = 0;
    for (; place != 0; place = parent(place)) ++fetches;
    return fetches;
  }
  /// The number of flags that are set one after the other until a place knows of a chunk.
  [[nodiscard]] constexpr std::size_t notifications(std::size_t place) const noexcept {
    std::size_t flags = 0;
    for (; place != 0; place = notifier(place)) ++flags;
    return flags;
  }
  /// The number of places of the part of the tree that begins at a place.
  [[nodiscard]] constexpr std::size_t below(std::size_t place) const noexcept {
    std::size_t all = 0;
    for (std::size_t first = place, count = 1; first < places_; first = child(first, 0), count *= k_)
      all += std::min(count, places_ - first);
    return all;
  }

 private:
  std::size_t places_;
  std::size_t k_;
  std::size_t degree_;
};

/// The fewest children with which the tree of so many ranks is as flat as `most_readers` allow: 7 for 48.
constexpr std::size_t automatic_k(rank_t ranks) noexcept {
  auto const last = static_cast<std::size_t>(std::max(ranks, 2) - 1);
  std::size_t const depth = oc_tree(last + 1, most_readers, {}).depth(last);
  std::size_t k = 1;
  while (oc_tree(last + 1, k, {}).depth(last) > depth) ++k;
  return k;
}

/// Ranks take the tree's places in their order, from the root on. OC-Bcast's choice.
struct by_rank {
  /// The places of a team for one root.
  class places {
   public:
    constexpr places(rank_t ranks, std::size_t /*k*/, rank_t root) noexcept : ranks_(ranks), root_(root) {}
    [[nodiscard]] constexpr rank_t rank(std::size_t place) const noexcept {
      return static_cast<rank_t>((place + static_cast<std::size_t>(root_)) %
                                 static_cast<std::size_t>(ranks_));
    }
    [[nodiscard]] constexpr std::size_t place(rank_t rank) const noexcept {
      return static_cast<std::size_t>((rank - root_ + ranks_) % ranks_);
    }

   private:
    rank_t ranks_;
    rank_t root_;
  };
};

/// Ranks take places so that near ones become parent and child. `Distance` is a function of two ranks, the
/// same on all ranks, whose objects have no state: `Distance{}(a, b)`.
///
/// Each inner place gets the farthest rank that is left and those nearest to it, and is taken by the one that
/// is nearest to its parent. A thread keeps the places of the last root.
/// Source    ours; the thesis leaves such trees to future work (Shahmirzadi 2014, chapter 4).
/// Costs     n^2 log n steps for a new root, n words of private memory.
template <class Distance>
struct near_first {
  /// The places of a team for one root.
  class places {
   public:
    places(rank_t ranks, std::size_t k, rank_t root) : made_(of(ranks, k, root)) {}
    [[nodiscard]] rank_t rank(std::size_t place) const noexcept { return made_->ranks[place]; }
    [[nodiscard]] std::size_t place(rank_t rank) const noexcept {
      return made_->places[static_cast<std::size_t>(rank)];
    }

   private:
    struct table {
      std::size_t k = 0;
      rank_t root = -1;
      std::vector<rank_t> ranks;
      std::vector<std::size_t> places;
    };

    static std::shared_ptr<table const> of(rank_t ranks, std::size_t k, rank_t root) {
      // After the end of a thread's objects, destructors of static ones may still run jobs.
      static constinit thread_local bool is_over = false;
      struct until_over {
        std::shared_ptr<table const> made;
        ~until_over() { is_over = true; }
      };
      static thread_local until_over kept;
      auto& last = kept.made;
      auto const count = static_cast<std::size_t>(ranks);
      if (!is_over && last && last->k == k && last->root == root && last->ranks.size() == count) return last;
      auto made = std::make_shared<table>();
      made->k = k;
      made->root = root;
      made->ranks.resize(count);
      made->places.resize(count);
      std::vector<rank_t> others;
      for (rank_t r = 0; r < ranks; ++r) {
        if (r != root) others.push_back(r);
      }
      settle(*made, oc_tree(count, k, {}), 0, root, std::move(others));
      if (is_over) return made;
      return last = std::move(made);
    }
    /// Gives a place to a rank, and the places below it to others.
    static void settle(table& t, oc_tree const& tree, std::size_t place, rank_t head,
                       std::vector<rank_t> others) {
      t.ranks[place] = head;
      t.places[static_cast<std::size_t>(head)] = place;
      auto const nearest_first = [&others](rank_t to) {
        std::stable_sort(others.begin(), others.end(),
                         [to](rank_t a, rank_t b) { return Distance{}(to, a) < Distance{}(to, b); });
      };
      for (std::size_t i = 0; i < tree.children(place); ++i) {
        nearest_first(head);
        nearest_first(others.back());
        auto const end = others.begin() + static_cast<std::ptrdiff_t>(tree.below(tree.child(place, i)));
        auto const child = std::min_element(others.begin(), end, [head](rank_t a, rank_t b) {
          return Distance{}(head, a) < Distance{}(head, b);
        });
        rank_t const next = *child;
        *child = others.front();
        std::vector<rank_t> below(others.begin() + 1, end);
        others.erase(others.begin(), end);
        settle(t, tree, tree.child(place, i), next, std::move(below));
      }
    }

    std::shared_ptr<table const> made_;
  };
};

}  // namespace pgas::inline PGAS_ASSERTIONS::collectives
