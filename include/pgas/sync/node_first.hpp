// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <bit>
#include <optional>
#include <pgas/concepts/protocol.hpp>
#include <vector>

namespace PGAS_NAMESPACE::sync {

/// In this fence the ranks of a node meet first, then one rank of each node meets the others, and releases
/// its node.
///
/// Source: the two parts are the centralized barrier and the dissemination barrier, Mellor-Crummey and Scott
/// 1991, figures 7 and 9; barriers that follow the machine's levels: Hensgen, Finkel and Manber 1988. The
/// leader of a node is its first rank.
///
/// Words     a cell, the leader's: in its lower half the arrivals of its node at this fence, in its upper
///           half the number of fences that are over. Slot k of a leader, written by the leader 2^k nodes
///           before it: the number of the last fence in which that one has reached round k.
/// States    A rank adds one to its leader's cell and waits for the upper half. The leader waits until the
///           lower half counts all others, meets the other leaders as in dissemination, and then adds one to
///           the upper half and takes the arrivals back. No rank arrives again before that.
/// Differs   from dissemination among all ranks: a node of q ranks sends log2(nodes) signals to other nodes,
///           where dissemination sends up to q log2(p).
/// Memory    ceil(log2 n) slots and a cell a rank; on a leader a list of its node.
/// Costs     a read-modify-write by each rank on its node; each leader stores and waits ceil(log2 nodes)
///           times. A control that knows no nodes is one node.
struct node_first {
  static constexpr std::string_view name = "node_first";
  static constexpr rmw needs = rmw::test_and_set;
  static constexpr control_words words(rank_t ranks) noexcept {
    return {.slots = static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(ranks - 1))), .cells = 1};
  }

  template <control Control>
  class on {
   public:
    on(Control& control, control_words first) : control_(&control), first_(first) {
      if constexpr (control_of_nodes<Control>) {
        leader_ = control.near_rank(0);
        for (rank_t i = 1; i < control.near_count(); ++i) others_.push_back(control.near_rank(i));
        group const leaders = control.leaders();
        leaders_.assign(leaders.begin(), leaders.end());
      } else {
        for (rank_t rank = 1; rank < control.size(); ++rank) others_.push_back(rank);
        leaders_.push_back(0);
      }
      if (control.rank() != leader_) others_.clear();
    }

    template <boundary Boundary>
    void fence(Boundary& b, std::string_view operation) {
      b.publish(everyone);
      ++over_;
      if (control_->rank() == leader_) {
        lead(operation);
      } else {
        // release: pairs with the acquire of the leader's wait_until; carries this rank's writes.
        detail::add(meeting(), 1, std::memory_order_release);
        control_->wait_until(
            meeting(), [over = over_](word seen) { return static_cast<std::uint32_t>(seen >> 32U) == over; },
            {.operation = operation, .awaited = group(&leader_, 1)});
      }
      b.refresh(everyone);
    }

   private:
    auto meeting() { return control_->cell(leader_, first_.cells); }

    void lead(std::string_view operation) {
      word const others = others_.size();
      if (others != 0) {
        control_->wait_until(meeting(),
                             [others](word seen) { return static_cast<std::uint32_t>(seen) == others; },
                             {.operation = operation, .awaited = others_});
      }
      std::size_t const nodes = leaders_.size();
      auto const self =
          static_cast<std::size_t>(std::find(leaders_.begin(), leaders_.end(), leader_) - leaders_.begin());
      std::size_t round = first_.slots;
      for (std::size_t distance = 1; distance < nodes; distance *= 2, ++round) {
        rank_t const to = leaders_[(self + distance) % nodes];
        rank_t const from = leaders_[(self + nodes - distance) % nodes];
        // release: pairs with the acquire load of wait_until in `to`; carries the writes of this node, and of
        // the nodes that this one has heard of in earlier rounds.
        detail::unconfirmed(control_->slot(to, round, leader_)).store(over_, std::memory_order_release);
        control_->wait_until(control_->slot(leader_, round, from),
                             [over = over_](word seen) {
                               // The other leader may be one fence ahead.
                               return static_cast<std::uint32_t>(seen) - over <= 1;
                             },
                             {.operation = operation, .awaited = group(&from, 1)});
      }
      if (others != 0) {
        // release: pairs with the acquire of wait_until in the ranks of this node.
        detail::add(meeting(), (word{1} << 32U) - others, std::memory_order_release);
      }
    }

    Control* control_;
    control_words first_;
    rank_t leader_ = 0;
    std::vector<rank_t> others_;   ///< of the leader: the other ranks of its node
    std::vector<rank_t> leaders_;  ///< of all nodes
    std::uint32_t over_ = 0;       ///< the number of the fence, modulo 2^32
  };
};
static_assert(fence_protocol<node_first>);

/// This fence is node_first between nodes, and `Else` on one node or where the control knows no nodes.
///
/// All ranks of a team know the same nodes, so they choose alike. Costs one predicted branch a fence.
template <fence_protocol Else>
struct by_nodes {
  static constexpr std::string_view name = Else::name;
  static constexpr rmw needs = Else::needs;
  static constexpr control_words words(rank_t ranks) noexcept {
    control_words const a = Else::words(ranks);
    control_words const b = node_first::words(ranks);
    return {std::max(a.slots, b.slots), std::max(a.cells, b.cells)};
  }

  template <control Control>
  class on : public Else::template on<Control> {
   public:
    using Else::template on<Control>::on;
  };
  template <control_of_nodes Control>
  class on<Control> {
   public:
    on(Control& control, control_words first) {
      if (control.leaders().size() == 1) {
        on_a_node_.emplace(control, first);
      } else {
        between_nodes_.emplace(control, first);
      }
    }

    template <boundary Boundary>
    void fence(Boundary& b, std::string_view operation) {
      if (on_a_node_) return on_a_node_->fence(b, operation);
      between_nodes_->fence(b, operation);
    }

   private:
    // One of the two; a std::variant would need another header.
    std::optional<typename Else::template on<Control>> on_a_node_;
    std::optional<node_first::on<Control>> between_nodes_;
  };
};

}  // namespace PGAS_NAMESPACE::sync
