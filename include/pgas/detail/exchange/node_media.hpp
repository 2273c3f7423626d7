// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <pgas/concepts/collective.hpp>
#include <pgas/concepts/control.hpp>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/exchange/board.hpp>
#include <pgas/detail/exchange/links.hpp>
#include <pgas/detail/exchange/patience.hpp>
#include <pgas/detail/types/plain_list.hpp>
#include <type_traits>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The media of a team whose ranks are on nodes: one for the ranks of each node, and links among the first
/// ranks of all nodes. Ranks that load and store each other's memory on a node have boards there, others
/// links.
///
/// Words     17 slots for boards, or those of links among all ranks; those of links among all ranks.
/// Memory    that of boards, or of links on the largest node; behind it that of links among the first ranks.
template <control Control, segment Segment, class Backend>
class node_media {
 public:
  static constexpr bool has_boards =
      partly_shared_segment<Segment> && roomy_slot<typename patience<Control>::slot_type>;
  using links_type = links<Control, Segment>;
  using near_type =
      typename std::conditional_t<has_boards,
                                  std::type_identity<board<Control, Segment, Backend, ranks_of_node>>,
                                  std::type_identity<links_type>>::type;

  static constexpr control_words words(rank_t ranks) noexcept {
    return near_type::words(ranks) + links_type::words(ranks);
  }

  node_media(Backend& backend, Control& control, control_words first, patience<Control>& waits,
             node_ranges nodes)
      : nodes_(std::move(nodes)),
        rank_(control.rank()),
        waits_(&waits),
        near_(near_of(backend, control, first, waits)),
        between_(control, first + near_type::words(control.size()), waits, near_bytes(), nodes_.leaders()) {}

  [[nodiscard]] rank_t rank() const noexcept { return rank_; }
  [[nodiscard]] rank_t size() const noexcept { return nodes_.ranks(); }
  [[nodiscard]] node_ranges const& nodes() const noexcept { return nodes_; }
  [[nodiscard]] near_type& near() noexcept { return near_; }
  [[nodiscard]] links_type& between() noexcept { return between_; }

  void compare_blocks(rank_t other, std::size_t theirs, std::size_t mine) const {
    waits_->compare_blocks(other, theirs, mine);
  }

  /// The bytes of each rank that pieces need which do not fit into slots.
  [[nodiscard]] std::size_t bytes() const noexcept {
    return near_bytes() + (nodes_.count() > 1 ? links_type::bytes(nodes_.count()) : 0);
  }
  /// The longest piece that fits.
  [[nodiscard]] std::size_t short_bytes() const noexcept {
    if constexpr (has_boards) {
      if (nodes_.count() == 1) return near_type::sure_bytes;
    }
    return links_type::short_bytes;
  }
  void lie_on(Segment& memory) noexcept {
    near_.lie_on(memory);
    between_.lie_on(memory);
  }

 private:
  [[nodiscard]] near_type near_of(Backend& backend, Control& control, control_words first,
                                  patience<Control>& waits) const {
    rank_t const node = nodes_.node_of(rank_);
    if constexpr (has_boards) {
      return near_type(backend, control, first, waits,
                       ranks_of_node(nodes_.first(node), nodes_.end(node), rank_));
    } else {
      plain_list<rank_t> neighbours;
      for (rank_t rank = nodes_.first(node); rank < nodes_.end(node); ++rank) neighbours.add(rank);
      return near_type(control, first, waits, 0, neighbours);
    }
  }
  [[nodiscard]] std::size_t near_bytes() const noexcept {
    rank_t largest = 1;
    for (rank_t node = 0; node < nodes_.count(); ++node) largest = std::max(largest, nodes_.size(node));
    return near_type::bytes(largest);
  }

  node_ranges nodes_;
  rank_t rank_;
  patience<Control>* waits_;
  near_type near_;
  links_type between_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
