// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <pgas/concepts/collective.hpp>
#include <pgas/concepts/control.hpp>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/exchange/links.hpp>
#include <pgas/detail/exchange/patience.hpp>
#include <pgas/detail/exchange/shared_area.hpp>
#include <pgas/detail/exchange/steps.hpp>
#include <pgas/detail/types/plain_list.hpp>
#include <type_traits>
#include <utility>

namespace PGAS_NAMESPACE::detail {

/// A message buffer of each rank in any segment, and its flags in control words: a buffering_medium.
///
/// Source    the message passing buffers of the SCC, and the flags that OC-Bcast keeps there (Shahmirzadi
///           2014, section 2.4).
/// Words     `flags` cells of a rank, however many ranks there are. Which rank sets a flag changes with the
///           tree, so no flag is a slot. It is only ever reset, never modified: one rank at a time may do so.
/// States    a flag has the number that was set last, and the hash of the call to which that belongs.
/// Memory    buffer_bytes a rank.
/// Differs   A get of a segment ends in private memory. So `fetch` fills private memory first, and copies to
///           the own buffer what other ranks will fetch from there; `drain` has nothing left to do.
template <control Control, segment Segment>
class message_buffers {
 public:
  static constexpr std::size_t buffer_bytes = std::size_t{64} << 10U;
  static constexpr std::size_t flags = 50;
  static constexpr std::size_t flag_bytes = 0;

  static constexpr control_words words() noexcept { return {.slots = 0, .cells = flags}; }

  explicit message_buffers(patience<Control>& waits) noexcept : waits_(&waits) {}

  /// Sets the memory of the buffers and the flags. Call it before the first broadcast.
  void lie_on(Segment& memory, Control& words) noexcept {
    memory_ = &memory;
    control_ = &words;
  }

  [[nodiscard]] rank_t rank() const noexcept { return control_->rank(); }
  [[nodiscard]] rank_t size() const noexcept { return control_->size(); }
  [[nodiscard]] buffer_tree& tree() noexcept { return tree_; }

  void fill(std::size_t first, bytes_in from) {
    memory_->put({rank(), first}, from);
    // The bytes are there before any flag that a later set_flag sets.
    memory_->flush(rank());
  }
  void fetch(rank_t of, std::size_t first, bytes_out into) {
    fetch_out(of, first, into);
    fill(first, into);
  }
  static void drain(std::size_t /*first*/, bytes_out /*into*/) noexcept {}
  void fetch_out(rank_t of, std::size_t first, bytes_out into) {
    memory_->get({of, first}, into);
    // The bytes have arrived before the rank that holds them learns that it may overwrite them.
    memory_->flush_local(of);
  }

  void set_flag(rank_t owner, std::size_t i, word number) {
    // release: pairs with the acquire of the owner's `flag`; carries the bytes of this rank's buffer, or its
    // loads from the owner's buffer. Only the owner reads the word.
    unconfirmed(control_->cell(owner, i))
        .reset_unshared(number << tag_bits | tag(), std::memory_order_release);
  }

  /// The result of `flag`. It compares the call of the rank that sets the flag with the call of this rank.
  class flag_awaiter
      : public patience<Control>::template word_awaiter<typename patience<Control>::cell_type> {
   public:
    using base = typename patience<Control>::template word_awaiter<typename patience<Control>::cell_type>;
    flag_awaiter(message_buffers& on, std::size_t i, word number, rank_t setter) noexcept
        : base(*on.waits_, on.own(i), number << tag_bits, setter),
          on_(&on),
          i_(i),
          number_(number),
          setter_(setter) {}
    void await_resume() const { on_->compare(i_, number_, setter_); }

   private:
    message_buffers* on_;
    std::size_t i_;
    word number_;
    rank_t setter_;
  };
  /// To be awaited: goes on when this rank's flag i has at least this number.
  [[nodiscard]] flag_awaiter flag(std::size_t i, word number, rank_t setter) noexcept {
    return {*this, i, number, setter};
  }

 private:
  static constexpr unsigned tag_bits = 20;

  [[nodiscard]] auto own(std::size_t i) const { return control_->cell(rank(), i); }
  [[nodiscard]] word tag() const noexcept {
    return assertions >= assertion_level::normal ? waits_->call().tag() % (word{1} << tag_bits) : 0;
  }
  /// Throws if the number in a flag belongs to another call than this rank's. Numbers up to `last` belong to
  /// earlier calls.
  void compare(std::size_t i, word number, rank_t setter) const {
    if constexpr (assertions >= assertion_level::normal) {
      if (number <= tree_.last) return;
      // relaxed: the wait has acquired this number. A later one may have come meanwhile, with its own tag.
      word const seen = own(i).load(std::memory_order_relaxed);
      if (seen >> tag_bits == number && seen % (word{1} << tag_bits) != tag()) [[unlikely]]
        waits_->refuse(setter, "something else");
    }
  }

  patience<Control>* waits_;
  Segment* memory_ = nullptr;
  Control* control_ = nullptr;
  buffer_tree tree_;
};

/// A pull area of each rank in any segment: all ranks write pieces to it, synchronize, and fetch what is
/// meant for them.
///
/// Two buffers alternate, so that one synchronization per round is enough. When a rank writes to a buffer
/// again, a synchronization has passed since its readers fetched from it.
///
/// Source    pulling from the sender's memory (Shahmirzadi 2014, section 2.4), with a barrier in place of
///           flags.
/// Words     those of the links.
/// Memory    2 * buffer_bytes a rank.
template <control Control, segment Segment>
class pull_area {
 public:
  static constexpr std::size_t buffer_bytes = std::size_t{16} << 10U;
  static constexpr std::size_t bytes(rank_t /*ranks*/) noexcept { return 2 * buffer_bytes; }

  pull_area(links<Control, Segment>& of, std::size_t first_byte) : links_(&of), first_byte_(first_byte) {}

  [[nodiscard]] rank_t rank() const noexcept { return links_->rank(); }
  [[nodiscard]] rank_t size() const noexcept { return links_->size(); }
  void lie_on(Segment& memory) noexcept { memory_ = &memory; }

  /// Writes bytes into this round's buffer of this rank.
  void lay(std::size_t first, bytes_in from) {
    if (!from.empty()) memory_->put({rank(), place(first)}, from);
  }
  /// Ends when all ranks have written their pieces, and begins the fetches of this round.
  steps meet() {
    memory_->flush(rank());
    co_await links_->meet();
  }
  /// Reads bytes of this round's buffer of a rank; they are complete after `settle`.
  void fetch(rank_t of, std::size_t first, bytes_out into) {
    if (!into.empty()) memory_->get({of, place(first)}, into);
  }
  /// Returns when all fetches are complete, and ends the round.
  void settle() {
    memory_->flush_local_all();
    ++round_;
  }

  void compare_blocks(rank_t other, std::size_t theirs, std::size_t mine) const {
    links_->compare_blocks(other, theirs, mine);
  }

  /// Replaces a number by the largest one of all ranks.
  steps agree_on_largest(std::size_t& number) {
    for (unsigned k = 0; std::size_t{1} << k < static_cast<std::size_t>(size()); ++k) {
      std::size_t const mine = number;
      std::size_t other = 0;
      link const up{k, false};
      co_await links_->exchange(up, std::as_bytes(std::span(&mine, 1)), up,
                                std::as_writable_bytes(std::span(&other, 1)));
      number = std::max(number, other);
    }
  }

 private:
  [[nodiscard]] std::size_t place(std::size_t first) const noexcept {
    return first_byte_ + round_ % 2 * buffer_bytes + first;
  }

  links<Control, Segment>* links_;
  std::size_t first_byte_;
  Segment* memory_ = nullptr;
  std::size_t round_ = 0;
};

/// The media of a team whose ranks are on nodes: one for the ranks of each node, and links among the first
/// ranks of all nodes. Ranks that load and store each other's memory on a node have shared areas there,
/// others links.
///
/// Words     17 slots for shared areas, or those of links among all ranks; those of links among all ranks.
/// Memory    that of shared areas, or of links on the largest node; behind it that of links among the first
///           ranks.
template <control Control, segment Segment, class Backend>
class node_media {
 public:
  static constexpr bool has_shared_areas =
      partly_shared_segment<Segment> && roomy_slot<typename patience<Control>::slot_type>;
  using links_type = links<Control, Segment>;
  using near_type =
      typename std::conditional_t<has_shared_areas,
                                  std::type_identity<shared_area<Control, Segment, Backend, ranks_of_node>>,
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

  /// The bytes per rank for pieces that do not fit into slots.
  [[nodiscard]] std::size_t bytes() const noexcept {
    return near_bytes() + (nodes_.count() > 1 ? links_type::bytes(nodes_.count()) : 0);
  }
  /// The longest piece that fits.
  [[nodiscard]] std::size_t short_bytes() const noexcept {
    if constexpr (has_shared_areas) {
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
    if constexpr (has_shared_areas) {
      return near_type(backend, control, first, waits,
                       ranks_of_node(nodes_.first(node), nodes_.end(node), rank_));
    } else {
      plain_list<rank_t> neighbours;
      for (rank_t rank = nodes_.first(node); rank < nodes_.end(node); ++rank) neighbours.push_back(rank);
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

}  // namespace PGAS_NAMESPACE::detail
