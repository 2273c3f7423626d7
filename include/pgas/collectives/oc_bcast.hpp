// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/collective.hpp>
#include <pgas/detail/exchange/cut.hpp>
#include <pgas/detail/exchange/oc_tree.hpp>
#include <pgas/detail/exchange/steps.hpp>
#include <pgas/detail/types/algorithms.hpp>
#include <string_view>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS::collectives {

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

/// The step that a wrong variant of oc_bcast leaves out or does too early, for tests.
enum class oc_fault {
  none,                 ///< the right algorithm
  as_printed,           ///< no handover: the algorithm of the thesis, right if all broadcasts have one root
  done_before_fetch,    ///< tells the parent that it may overwrite a chunk before the chunk has come
  notify_before_chunk,  ///< tells the children of a chunk before the chunk is in the buffer
  no_guard,             ///< fills a buffer again before all children have fetched from it
  no_final_wait,        ///< returns before all children have fetched the last chunks
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
///           the new root, which begins then. All other ranks set flags after they were notified of a chunk
///           of the new root. So the flags of a rank have one setter at a time, and its last number has been
///           seen.
///           One flag for each possible setter would also do. That takes n flags of a rank: 96 of the 256
///           lines of a buffer of the SCC, so that a chunk has 80 lines instead of 96. The handover
///           costs one flag of each inner rank and one of the old root, and nothing on the way of a chunk
///           while the root stays.
///
/// `K` is the number of children of a rank, `Chunk` the bytes of a chunk, `Buffers` the number of chunks in a
/// buffer. `Notify` is the tree of notifications, `Leaves` and `Places` are ours: see leaves, by_rank and
/// near_first. So is `returns::early`: a short broadcast does not wait for its children, and the next one
/// from the same root begins at once. For another root, all ranks must have begun the next broadcast before
/// the new root hands out its first chunk.
template <std::size_t K = automatic_children, std::size_t Chunk = std::size_t{96} * 32,
          std::size_t Buffers = 2, notification Notify = binary_notification, leaves Leaves = leaves::stage,
          class Places = by_rank, oc_fault Fault = oc_fault::none, returns Returns = returns::drained>
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
    if (Fault != oc_fault::as_printed && last.root >= 0 && (last.root != root || last.algorithm != &name_of))
      co_await hand_over(m, root);
    if (last.root != root || last.algorithm != &name_of) last.first = last.last;
    last.root = root;
    last.algorithm = &name_of;
    last.is_open = is_early;
    last.children.cut(0);
    for (std::size_t i = 0; i < tree.children(here); ++i) last.children.add(ranks.rank(tree.child(here, i)));
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
      // The last number of a leaf is the end, too: nothing is below it.
      auto const say_done = [&] { m.set_flag(parent, own_flag, is_leaf && i + 1 == chunks ? end : number); };
      bool const is_filled = is_early ? number > last.first + Buffers : i >= Buffers;
      if (Fault != oc_fault::no_guard && is_filled) {
        for (std::size_t c = 0; c < last.children.size(); ++c)
          co_await m.flag(done + c, number - Buffers, last.children[c]);
      }
      if (Fault == oc_fault::notify_before_chunk && is_root) tree.each_own(here, notify);
      if (is_root) {
        m.fill(at, chunk);
      } else {
        co_await m.flag(notified, number, notifier);
        tree.each_forwarded(here, notify);
        announce(m);
        if constexpr (Fault == oc_fault::done_before_fetch) say_done();
        if constexpr (Fault == oc_fault::notify_before_chunk) tree.each_own(here, notify);
        if (stages) {
          m.fetch(parent, at, chunk);
        } else {
          m.fetch_out(parent, at, chunk);
        }
        if constexpr (Fault != oc_fault::done_before_fetch) say_done();
      }
      if constexpr (Fault != oc_fault::notify_before_chunk) tree.each_own(here, notify);
      announce(m);
      if (!is_root && stages) m.drain(at, chunk);
    }
    if constexpr (Fault != oc_fault::no_final_wait && !is_early) {
      // The root returns when its children have fetched; `hand_over` awaits the end where the tree changes.
      word const enough = is_root || Fault == oc_fault::as_printed ? end - 1 : end;
      for (std::size_t c = 0; c < last.children.size(); ++c)
        co_await m.flag(done + c, enough, last.children[c]);
    }
    if (Fault != oc_fault::as_printed && !is_early && !is_root && !is_leaf) m.set_flag(parent, own_flag, end);
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

  /// Ends when this rank may use another tree than that of the last broadcast: at once but on both roots, if
  /// the ranks have said that they ended.
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

}  // namespace pgas::inline PGAS_ASSERTIONS::collectives
