// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <pgas/concepts/collective.hpp>
#include <pgas/detail/copy/copy_bytes.hpp>
#include <pgas/detail/exchange/blocks.hpp>
#include <pgas/detail/exchange/single_copy.hpp>
#include <pgas/detail/exchange/steps.hpp>
#include <pgas/vocabulary/block_sizes.hpp>
#include <pgas/vocabulary/folding.hpp>
#include <pgas/vocabulary/node_ranges.hpp>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// Copies bytes of rank `from` to rank `to` by way of the former's shared area. All ranks pass the number of
/// bytes.
template <posting_medium M>
steps hand_over(M& m, bytes_in data, bytes_out into, std::size_t bytes, rank_t from, rank_t to) {
  m.begin(bytes);
  if (m.rank() != to) m.end();
  if constexpr (reaching_medium<M>) {
    if (is_offered<M>(bytes)) {
      if (m.rank() == from) co_await send_whole(m, data, to);
      if (m.rank() == to) co_await receive_whole(m, from, into);
      if (m.rank() == to) m.end();
      co_return;
    }
  }
  cut const pieces(bytes, 1, M::buffer_bytes);
  for (std::size_t i = 0; i < pieces.count(); ++i) {
    if (m.rank() == from) {
      if (!m.is_free(i)) co_await m.until_free(i);
      auto const piece = pieces.of(data, i);
      copy_bytes(m.own(i), piece.data(), piece.size());
      m.post(i);
    } else if (m.rank() == to) {
      co_await m.posted(from, i);
      auto const piece = pieces.of(into, i);
      copy_bytes(piece.data(), m.piece(from, i), piece.size());
      if (pieces.count() > M::buffers) m.done_to(i);
    }
  }
  if (m.rank() == to) m.end();
}

/// The same along one link for each bit of the distance. Ranks on the way keep a copy for that time.
template <linking_medium M>
steps hand_over(M& m, bytes_in data, bytes_out into, std::size_t bytes, rank_t from, rank_t to) {
  auto const ranks = static_cast<unsigned>(m.size());
  auto const place = [&](rank_t r) { return static_cast<unsigned>(r - from + m.size()) % ranks; };
  unsigned const self = place(m.rank());
  std::vector<std::byte> passing;
  bytes_in here = data;
  unsigned at = 0;
  for (unsigned k = 0; at != place(to); ++k) {
    if ((place(to) >> k & 1U) == 0) continue;
    link const up{k, false};
    if (self == at) co_await m.send(up, here);
    at += 1U << k;
    if (self != at) continue;
    if (at != place(to)) passing.resize(bytes);
    bytes_out const room = at == place(to) ? into : bytes_out(passing);
    co_await m.receive(up, room);
    here = room;
  }
}

}  // namespace PGAS_NAMESPACE::detail

namespace PGAS_NAMESPACE::collectives {

/// Collectives on two levels: the ranks of each node exchange by an algorithm on their node's medium, and the
/// first rank of each node, its leader, exchanges for them by an algorithm on links between nodes.
///
/// `OnSharedAreas` is the algorithm on shared areas, `OnLinks` the one on links, also on nodes whose ranks
/// have no shared areas.
///
/// Rounds    those of both algorithms; one more on the root's node if the root is no leader.
/// Bytes     between nodes those of `OnLinks` on as many ranks as there are nodes.
/// Memory    that of both media. A leader keeps the blocks of its node, and on the root's node all blocks,
///           if the root is another rank. Blocks of different sizes: a word a rank.
/// Order     Nodes have consecutive ranks. So a fold of each node, and then of the nodes, is in rank order.
/// Source    two levels by the network's: Karonis et al. 2000; leaders and shared memory: Graham and Shipman
///           2008.
template <class OnSharedAreas, class OnLinks>
struct node_first {
  static constexpr std::string_view name = "node_first";
  static constexpr auto stands_on = collective_medium::nodes;

  template <node_medium M>
  static detail::steps broadcast(M& m, bytes_out data, rank_t root) {
    place const at(m, root);
    if (at.is_home && !at.is_root_leader) co_await on_node<M>::broadcast(m.near(), data, at.root_on_node);
    if (at.leads) co_await OnLinks::broadcast(m.between(), data, at.home);
    if (!at.is_home || at.is_root_leader) co_await on_node<M>::broadcast(m.near(), data, 0);
  }

  /// The root gets op over all ranks' elements, folded in rank order.
  template <node_medium M>
  static detail::steps reduce(M& m, bytes_in mine, bytes_out result, detail::folding fold, rank_t root) {
    place const at(m, root);
    std::vector<std::byte> kept(at.leads && m.rank() != root ? mine.size() : 0);
    bytes_out const partial = m.rank() == root ? result : bytes_out(kept);
    co_await on_node<M>::reduce(m.near(), mine, at.leads ? partial : bytes_out(), fold, 0);
    if (at.leads) co_await OnLinks::reduce(m.between(), partial, partial, fold, at.home);
    if (at.is_home && !at.is_root_leader)
      co_await detail::hand_over(m.near(), kept, result, mine.size(), 0, at.root_on_node);
  }
  /// Every rank gets op over all ranks' elements, folded in rank order.
  template <node_medium M>
  static detail::steps all_reduce(M& m, bytes_in mine, bytes_out result, detail::folding fold) {
    place const at(m, 0);
    co_await on_node<M>::reduce(m.near(), mine, result, fold, 0);
    if (at.leads) co_await OnLinks::all_reduce(m.between(), result, result, fold);
    co_await on_node<M>::broadcast(m.near(), result, 0);
  }

  /// Rank r gets op over the elements of ranks 0 to r, or to r - 1 if the scan is exclusive.
  template <node_medium M>
  static detail::steps scan(M& m, bytes_in mine, bytes_out result, detail::folding fold, bool is_exclusive) {
    place const at(m, 0);
    std::vector<std::byte> of_node(at.leads ? mine.size() : 0);
    std::vector<std::byte> before(mine.size());  // op over the elements of all earlier nodes
    co_await on_node<M>::reduce(m.near(), mine, of_node, fold, 0);
    co_await on_node<M>::scan(m.near(), mine, result, fold, is_exclusive);
    if (at.leads) co_await OnLinks::scan(m.between(), of_node, before, fold, true);
    if (at.first == 0) co_return;
    co_await on_node<M>::broadcast(m.near(), before, 0);
    if (is_exclusive && at.leads) {
      detail::copy_bytes(result.data(), before.data(), before.size());
    } else {
      fold(result.data(), before.data(), result.data(), result.size());
    }
  }

  /// The root gets all ranks' blocks, in rank order.
  template <node_medium M>
  static detail::steps gather(M& m, bytes_in mine, bytes_out all, detail::block_sizes const& sizes,
                              bool are_equal, rank_t root) {
    place const at(m, root);
    detail::block_sizes each = sizes;
    if (!are_equal) co_await tell(m, each, mine.size(), root);
    std::vector<std::byte> kept;
    bytes_out blocks;  // of this node
    bytes_out total;   // on the leader of the root's node
    if (at.leads) {
      bool const keeps_all = at.is_home && m.rank() != root;
      if (m.rank() != root) kept.resize(keeps_all ? each.first(m.size()) : at.bytes_of_node(each));
      if (at.is_home) total = keeps_all ? bytes_out(kept) : all;
      blocks = at.is_home ? at.blocks_of_node(total, each) : bytes_out(kept);
    }
    detail::block_sizes const near = at.sizes_on_node(each, are_equal);
    co_await on_node<M>::gather(m.near(), mine, blocks, near, are_equal || !has_shared_areas<M>, 0);
    if (at.leads) {
      detail::block_sizes const of_nodes = sizes_of_nodes(m, each);
      co_await OnLinks::gather(m.between(), blocks, total, of_nodes, true, at.home);
    }
    if (at.is_home && !at.is_root_leader)
      co_await detail::hand_over(m.near(), total, all, each.first(m.size()), 0, at.root_on_node);
  }

  /// Every rank gets all ranks' blocks, in rank order.
  template <node_medium M>
  static detail::steps all_gather(M& m, bytes_in mine, bytes_out all, detail::block_sizes const& sizes) {
    place const at(m, 0);
    bool are_equal = true;
    for (rank_t r = 1; r < m.size(); ++r) are_equal = are_equal && sizes.size(r) == sizes.size(0);
    bytes_out const blocks = at.blocks_of_node(all, sizes);
    detail::block_sizes const near = at.sizes_on_node(sizes, are_equal);
    co_await on_node<M>::gather(m.near(), mine, blocks, near, are_equal || !has_shared_areas<M>, 0);
    if (at.leads) {
      detail::block_sizes const of_nodes = sizes_of_nodes(m, sizes);
      co_await OnLinks::all_gather(m.between(), blocks, all, of_nodes);
    }
    co_await on_node<M>::broadcast(m.near(), all, 0);
  }

  /// Each rank gets its block of the root's memory.
  template <node_medium M>
  static detail::steps scatter(M& m, bytes_in all, detail::block_sizes const& sizes, bytes_out mine,
                               bool are_equal, rank_t root) {
    place const at(m, root);
    detail::block_sizes each = sizes;
    if (!are_equal) co_await tell(m, each, mine.size(), root);
    std::vector<std::byte> kept;
    bytes_in total = all;  // on the leader of the root's node
    if (at.is_home && !at.is_root_leader) {
      std::size_t const bytes = each.first(m.size());
      if (at.leads) kept.resize(bytes);
      co_await detail::hand_over(m.near(), all, kept, bytes, at.root_on_node, 0);
      if (at.leads) total = kept;
    }
    bytes_in blocks;  // of this node
    if (at.leads) {
      if (!at.is_home) kept.resize(at.bytes_of_node(each));
      detail::block_sizes const of_nodes = sizes_of_nodes(m, each);
      // The leader of the root's node finds its blocks in place.
      bytes_out const room = at.is_home ? bytes_out() : bytes_out(kept);
      co_await OnLinks::scatter(m.between(), total, of_nodes, room, true, at.home);
      blocks = at.is_home ? at.blocks_of_node(total, each) : bytes_in(kept);
    }
    detail::block_sizes const near = at.sizes_on_node(each, are_equal);
    co_await on_node<M>::scatter(m.near(), blocks, near, mine, are_equal || !has_shared_areas<M>, 0);
  }

 private:
  template <class M>
  using near_medium = std::remove_reference_t<decltype(std::declval<M&>().near())>;
  template <class M>
  static constexpr bool has_shared_areas = posting_medium<near_medium<M>>;
  /// The algorithm of the ranks of a node.
  template <class M>
  using on_node = std::conditional_t<has_shared_areas<M>, OnSharedAreas, OnLinks>;

  /// The places of this rank and a root.
  struct place {
    template <class M>
    place(M const& m, rank_t root) {
      node_ranges const& nodes = m.nodes();
      rank_t const node = nodes.node_of(m.rank());
      home = nodes.node_of(root);
      first = nodes.first(node);
      end = nodes.end(node);
      root_on_node = root - nodes.first(home);
      is_home = node == home;
      is_root_leader = root_on_node == 0;
      leads = m.rank() == first;
    }

    rank_t home;          ///< the node of the root
    rank_t first;         ///< the first rank of this rank's node
    rank_t end;           ///< the rank after its last
    rank_t root_on_node;  ///< the root's number there
    bool is_home;         ///< this rank is on that node
    bool is_root_leader;  ///< the root leads its node
    bool leads;           ///< this rank leads its node

    [[nodiscard]] std::size_t bytes_of_node(detail::block_sizes const& sizes) const noexcept {
      return sizes.first(end) - sizes.first(first);
    }
    /// The blocks of this rank's node among those of all ranks.
    template <class Byte>
    [[nodiscard]] std::span<Byte> blocks_of_node(std::span<Byte> all,
                                                 detail::block_sizes const& sizes) const noexcept {
      return all.subspan(sizes.first(first), bytes_of_node(sizes));
    }
    [[nodiscard]] detail::block_sizes sizes_on_node(detail::block_sizes const& sizes, bool are_equal) const {
      if (are_equal) return detail::block_sizes(sizes.size(0));
      std::vector<std::size_t> each;
      for (rank_t r = first; r < end; ++r) each.push_back(sizes.size(r));
      return {each, 1};
    }
  };

  template <class M>
  static detail::block_sizes sizes_of_nodes(M const& m, detail::block_sizes const& sizes) {
    std::vector<std::size_t> each;
    for (rank_t node = 0; node < m.nodes().count(); ++node)
      each.push_back(sizes.first(m.nodes().end(node)) - sizes.first(m.nodes().first(node)));
    return {each, 1};
  }
  /// Gives all ranks the sizes that the root knows.
  template <class M>
  static detail::steps tell(M& m, detail::block_sizes& sizes, std::size_t mine, rank_t root) {
    std::vector<std::size_t> each(static_cast<std::size_t>(m.size()));
    for (rank_t r = 0; r < m.size() && m.rank() == root; ++r)
      each[static_cast<std::size_t>(r)] = sizes.size(r);
    co_await broadcast(m, std::as_writable_bytes(std::span(each)), root);
    sizes = detail::block_sizes(each, 1);
    m.compare_blocks(root, sizes.size(m.rank()), mine);
  }
};

}  // namespace PGAS_NAMESPACE::collectives
