// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <pgas/concepts/collective.hpp>
#include <pgas/concepts/control.hpp>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/exchange/patience.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

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
///
/// `Faulty` leaves steps out, for tests.
template <control Control, segment Segment, class Faulty = void>
class message_buffers {
 public:
  static constexpr std::size_t buffer_bytes = std::size_t{64} << 10U;
  static constexpr std::size_t flags = 50;
  static constexpr std::size_t flag_bytes = 0;

  static constexpr control_words words() noexcept { return {.slots = 0, .cells = flags}; }

  explicit message_buffers(patience<Control>& waits) noexcept : waits_(&waits) {}

  /// Names the memory of the buffers and the flags. Comes before the first broadcast.
  void lie_on(Segment& memory, Control& words) noexcept {
    memory_ = &memory;
    control_ = &words;
  }

  [[nodiscard]] rank_t rank() const noexcept { return control_->rank(); }
  [[nodiscard]] rank_t size() const noexcept { return control_->size(); }
  [[nodiscard]] buffer_tree& tree() noexcept { return tree_; }

  void fill(std::size_t first, bytes_in from) {
    memory_->put({rank(), first}, from);
    // The bytes are there before the flag that a later set_flag sets.
    if constexpr (!leaves_out_flush) memory_->flush(rank());
  }
  void fetch(rank_t of, std::size_t first, bytes_out into) {
    fetch_out(of, first, into);
    fill(first, into);
  }
  static void drain(std::size_t /*first*/, bytes_out /*into*/) noexcept {}
  void fetch_out(rank_t of, std::size_t first, bytes_out into) {
    memory_->get({of, first}, into);
    // The bytes have come before the rank that holds them learns that it may overwrite them.
    if constexpr (!leaves_out_flush_local) memory_->flush_local(of);
  }

  void set_flag(rank_t owner, std::size_t i, word number) {
    // release: pairs with the acquire of the owner's `flag`; carries the bytes of this rank's buffer, or its
    // loads from the owner's buffer. Only the owner looks at the word.
    uncovered(control_->cell(owner, i)).reset_unshared(number << tag_bits | tag(), std::memory_order_release);
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
  static constexpr bool leaves_out_flush = requires { Faulty::no_flush; };
  static constexpr bool leaves_out_flush_local = requires { Faulty::no_flush_local; };
  static constexpr unsigned tag_bits = 20;

  [[nodiscard]] auto own(std::size_t i) const { return control_->cell(rank(), i); }
  [[nodiscard]] word tag() const noexcept {
    return assertions >= assertion_level::normal ? waits_->call().tag() % (word{1} << tag_bits) : 0;
  }
  /// Throws if the number in a flag belongs to another call than this rank's. Numbers up to `last` belong to
  /// calls before.
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

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
