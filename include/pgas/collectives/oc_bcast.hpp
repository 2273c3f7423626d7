// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <pgas/concepts/collective.hpp>
#include <pgas/detail/exchange/blocks.hpp>
#include <pgas/detail/exchange/steps.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <string_view>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::collectives {

/// How a rank's children learn that a chunk is there: down a tree of this degree over the rank and its
/// children. It bounds the number of flags that a rank sets for itself, and for its parent.
struct notification {
  std::size_t degree = 2;  ///< 0: the rank sets all its children's flags

  friend constexpr bool operator==(notification, notification) = default;
};
/// The rank sets two flags, and its children pass the notification on. OC-Bcast's choice.
inline constexpr notification binary_notification{2};
/// The rank sets the flags of all its children, one after the other.
inline constexpr notification sequential_notification{0};

/// The most children that `automatic_k` chooses: up to so many concurrent accesses, a buffer of the SCC is no
/// slower than with one.
/// Source: Shahmirzadi 2014, section 2.4.
inline constexpr std::size_t most_readers = 24;

/// The trees of OC-Bcast, on places: place 0 is the root's. They are the same for all roots.
///
/// The data tree has k children a place, and is full from the top. Each inner place has a notification tree
/// over itself and its children, filled in the same way. So each place can compute its neighbours, and
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
  /// The i-th place that fetches from a place, i < children(place).
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

/// The fewest children for which the tree of so many ranks is as flat as with `most_readers`: 7 for 48.
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
    /// Arranges `ranks` ranks with `root` first.
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
/// Each inner place gets the farthest rank that is left and those nearest to it. The one of them that is
/// nearest to its parent takes the place. A thread keeps the places of the last root.
/// Source    ours; the thesis leaves such trees to future work (Shahmirzadi 2014, chapter 4).
/// Costs     n^2 log n steps for a new root, n words of private memory.
template <class Distance>
struct near_first {
  /// The places of a team for one root.
  class places {
   public:
    /// Arranges `ranks` ranks with `root` first, in a tree of degree k.
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
      // After a thread's objects have been destroyed, destructors of static objects may still run jobs.
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

/// The first place of a chunk on a rank from which no other rank fetches.
enum class leaves {
  stage,    ///< into its own buffer, as all other ranks do
  straight  ///< into private memory
};

/// When a rank returns.
enum class returns {
  drained,  ///< when its children have fetched the last chunk, so that its buffer is free
  early     ///< when it has all chunks; it fills its buffer again when its children have fetched from there
};

/// How broadcasts whose roots differ follow one another.
enum class roots {
  change,       ///< the last root hands over to the next one
  never_change  ///< they do not: the algorithm as printed in the thesis, right if all broadcasts have one
                ///< root
};

/// Lets `oc_bcast` choose k by the number of ranks.
inline constexpr std::size_t automatic_children = 0;

/// OC-Bcast: chunks go down a tree whose ranks fetch them from their parents' message buffers, all children
/// of a parent at once, while the parent fills its next buffer.
///
/// Rounds    the depth of the data tree, ceil(log_k n), for the first chunk; one more for each further chunk.
/// Bytes     each rank fetches the data once, and writes it into its buffer once.
/// Memory    Buffers * Chunk bytes of a rank's buffer and k + 2 flags, however many ranks there are.
/// Source    OC-Bcast (Shahmirzadi 2014, algorithm 1 and section 2.4), step by step: a rank forwards the
///           notification to its siblings, fetches the chunk, says done, notifies its own children, and
///           copies the chunk to private memory last. It fills a buffer again when all children have fetched
///           the chunk before from there, and returns when they have fetched the last one.
/// States    Chunks have numbers that grow from one broadcast to the next. A rank's flag 0 has the number of
///           the last chunk that is in its parent's buffer; flag 1 the number up to which all ranks have
///           ended earlier broadcasts; flag 2 + i the number of the last chunk that child i has fetched.
/// Differs   As printed it is wrong when consecutive broadcasts have different roots. A rank that is ahead
///           then sets the flag of a rank that still waits for another notifier. That rank takes the number
///           for its own and fetches an old chunk; the notifier sets the flag back later, and a rank waits
///           for ever. Here one number more than a broadcast has chunks says that a rank and all ranks below
///           it have ended: each rank sets it in its parent when its children have set theirs. If the next
///           broadcast has another tree, the last root awaits that number of its children and hands over to
///           the new root, which then begins. All other ranks set flags only after they were notified of a
///           chunk of the new root. So a rank's flags have one setter at a time, which follows when the rank
///           has seen the last number. One flag for each possible setter would also do. That takes n flags of
///           a rank: 96 of the 256 lines of a buffer of the SCC, so that a chunk has 80 lines instead of 96.
///           The handover costs one flag of each inner rank and one of the old root, and nothing on the way
///           of a chunk while the root stays.
///
/// `K` is the number of children of a rank, `Chunk` the bytes of a chunk, `Buffers` the number of chunks in a
/// buffer. `Notify` is the tree of notifications, `Leaves` and `Places` are ours: see leaves, by_rank and
/// near_first. So is `returns::early`: a short broadcast does not wait for its children, and the next one
/// from the same root begins at once. For another root, all ranks must have begun the next broadcast before
/// the new root hands out its first chunk.
template <std::size_t K = automatic_children, std::size_t Chunk = std::size_t{96} * 32,
          std::size_t Buffers = 2, notification Notify = binary_notification, leaves Leaves = leaves::stage,
          class Places = by_rank, roots Roots = roots::change, returns Returns = returns::drained>
struct oc_bcast {
  static constexpr std::string_view name = "oc_bcast";
  static constexpr auto stands_on = collective_medium::buffers;
  static constexpr std::size_t chunk_bytes = Chunk;  ///< the most bytes that a rank hands out at a time
  static constexpr std::size_t buffers = Buffers;    ///< the chunks that lie in a rank's buffer
  /// The most ranks that fetch from one rank.
  static constexpr std::size_t most_children = K == automatic_children ? most_readers : K;
  /// The numbers of flags: `notified`, `turn`, and `done` of the first child.
  enum flag : std::size_t { notified, turn, done };

  static_assert(Chunk > 0 && Buffers > 0, "oc_bcast: a buffer has one chunk of one byte at least");

  /// Whether chunks and flags fit into a message buffer. A chosen k is at most the number that the ranks
  /// give.
  template <buffering_medium M>
  static constexpr bool fits = Buffers * Chunk + (done + most_children) * M::flag_bytes <= M::buffer_bytes;

  template <buffering_medium M>
  static detail::steps broadcast(M& m, bytes_out data, rank_t root) {
    static_assert(done + most_children <= M::flags,
                  "oc_bcast: a rank has too few flags for so many children; choose a smaller k");
    static_assert(fits<M>,
                  "oc_bcast: the chunks and flags of a rank do not fit into its message buffer; choose a "
                  "smaller chunk, fewer buffers or a smaller k");
    if (m.size() == 1 || data.empty()) co_return;
    std::size_t const k = K == automatic_children ? automatic_k(m.size()) : K;
    oc_tree const tree(static_cast<std::size_t>(m.size()), k, Notify);
    typename Places::places const ranks(m.size(), k, root);
    std::size_t const here = ranks.place(m.rank());
    buffer_tree& last = m.tree();
    if (Roots == roots::change && last.root >= 0 && (last.root != root || last.algorithm != &name_of))
      co_await hand_over(m, root);
    if (last.root != root || last.algorithm != &name_of) last.first = last.last;
    last.root = root;
    last.algorithm = &name_of;
    last.is_open = is_early;
    last.children.resize(0);
    for (std::size_t i = 0; i < tree.children(here); ++i)
      last.children.push_back(ranks.rank(tree.child(here, i)));
    bool const is_root = here == 0;
    bool const is_leaf = last.children.empty();
    bool const stages = !is_leaf || Leaves == leaves::stage;
    rank_t const parent = is_root ? root : ranks.rank(tree.parent(here));
    rank_t const notifier = is_root ? root : ranks.rank(tree.notifier(here));
    std::size_t const own_flag = is_root ? 0 : done + tree.index(here);
    last.parent = parent;
    last.own_flag = own_flag;
    std::size_t const chunks = detail::cut::pieces_of(data.size(), Chunk);
    word const first = last.last;
    // The number that says that all ranks below have ended.
    word const end = first + chunks + (is_early ? 0 : 1);

    for (std::size_t i = 0; i < chunks; ++i) {
      word const number = first + 1 + i;
      bytes_out const chunk = data.subspan(i * Chunk, std::min(Chunk, data.size() - i * Chunk));
      std::size_t const at = number % Buffers * Chunk;
      auto const notify = [&](std::size_t place) { m.set_flag(ranks.rank(place), notified, number); };
      // The last number of a leaf is the end as well, since no rank is below it.
      auto const say_done = [&] { m.set_flag(parent, own_flag, is_leaf && i + 1 == chunks ? end : number); };
      bool const is_filled = is_early ? number > last.first + Buffers : i >= Buffers;
      if (is_filled) {
        for (std::size_t c = 0; c < last.children.size(); ++c)
          co_await m.flag(done + c, number - Buffers, last.children[c]);
      }
      if (is_root) {
        m.fill(at, chunk);
      } else {
        co_await m.flag(notified, number, notifier);
        tree.each_forwarded(here, notify);
        announce(m);
        if (stages) {
          m.fetch(parent, at, chunk);
        } else {
          m.fetch_out(parent, at, chunk);
        }
        say_done();
      }
      tree.each_own(here, notify);
      announce(m);
      if (!is_root && stages) m.drain(at, chunk);
    }
    if constexpr (!is_early) {
      // The root returns when its children have fetched; `hand_over` awaits the end where the tree changes.
      word const enough = is_root || Roots == roots::never_change ? end - 1 : end;
      for (std::size_t c = 0; c < last.children.size(); ++c)
        co_await m.flag(done + c, enough, last.children[c]);
    }
    if (Roots == roots::change && !is_early && !is_root && !is_leaf) m.set_flag(parent, own_flag, end);
    announce(m);
    last.last = end;
  }

 private:
  static constexpr char name_of = 0;
  static constexpr bool is_early = Returns == returns::early;

  template <class M>
  static void announce(M& m) {
    if constexpr (announcing_medium<M>) m.announce();
  }

  /// Ends when this rank may use another tree than that of the last broadcast. That is at once, except on the
  /// old and the new root, which wait until the ranks have said that they ended.
  template <buffering_medium M>
  static detail::steps hand_over(M& m, rank_t root) {
    buffer_tree& last = m.tree();
    bool const was_root = m.rank() == last.root;
    word const end = last.last + (last.is_open ? 1 : 0);
    if (last.is_open || was_root) {
      for (std::size_t c = 0; c < last.children.size(); ++c) co_await m.flag(done + c, end, last.children[c]);
    }
    if (last.is_open && !was_root) m.set_flag(last.parent, last.own_flag, end);
    last.last = end;
    if (was_root && root != last.root) m.set_flag(root, turn, end);
    announce(m);
    if (!was_root && m.rank() == root) co_await m.flag(turn, end, last.root);
  }
};

}  // namespace PGAS_NAMESPACE::collectives
