// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <pgas/concepts/collective.hpp>
#include <pgas/concepts/control.hpp>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/exchange/patience.hpp>
#include <pgas/detail/exchange/steps.hpp>
#include <pgas/detail/types/function_ref.hpp>
#include <pgas/detail/types/plain_list.hpp>
#include <utility>

namespace PGAS_NAMESPACE::detail {

/// Streams of pieces between the ranks of a team whose distance is a power of two, over any segment.
///
/// These distances serve binomial trees with any root, dissemination, recursive doubling and rings. So a rank
/// has 2 ceil(log2 n) links in each direction, however many ranks there are, and each of their words has one
/// writer, whatever the root.
///
/// Source    two-sided messages over one-sided accesses with two buffers, as iRCCE has them (Shahmirzadi
///           2014, section 2.4); pushed into the receiver's memory, so that payload and signal travel one
///           way.
/// Words     for each link and buffer a slot of the receiver for the number of the piece in it and a hash of
///           the sender's calls so far, written by the sender; and for each link a slot of the sender for the
///           number of pieces that have been read, written by the receiver.
/// States    A sender has at most `depth` pieces under way, and piece s lies in buffer s mod depth.
///           A piece of at most `short_bytes` travels in slots of the receiver, beside the number: it needs
///           no memory, and its sender waits for no arrival.
/// Memory    6 ceil(log2 n) slots, and 2 ceil(log2 n) * depth * piece_bytes bytes a rank; where ranks have no
///           shared areas, 8 ceil(log2 n) slots more for short pieces.
template <control Control, segment Segment>
class links {
 public:
  static constexpr std::size_t depth = 2;
  static constexpr std::size_t piece_bytes = std::size_t{8} << 10U;
  /// The longest piece that travels in slots. On ranks with shared areas it is shorter.
  static constexpr std::size_t short_bytes =
      shared_segment<Segment> && roomy_slot<typename patience<Control>::slot_type> ? 0 : 2 * sizeof(word);

  static constexpr control_words words(rank_t ranks) noexcept {
    return {.slots = (words_of_link + depth * short_words) * count(ranks), .cells = 0};
  }
  static constexpr std::size_t bytes(rank_t ranks) noexcept { return count(ranks) * depth * piece_bytes; }

  links(Control& control, control_words first, patience<Control>& waits, std::size_t first_byte)
      : links(control, first, waits, first_byte, {}) {}
  /// For some ranks of the team, in ascending order, which count as 0, 1, ... here. No other rank uses it.
  links(Control& control, control_words first, patience<Control>& waits, std::size_t first_byte, group among)
      : control_(&control),
        waits_(&waits),
        first_(first.slots),
        first_byte_(first_byte),
        among_(listed(among)),
        rank_(among_.empty() ? control.rank() : place_among(control.rank())),
        size_(among_.empty() ? control.size() : static_cast<rank_t>(among_.size())),
        sent_(count(size_)),
        received_(count(size_)) {}

  [[nodiscard]] rank_t rank() const noexcept { return rank_; }
  [[nodiscard]] rank_t size() const noexcept { return size_; }

  /// Sets the memory of the pieces. Call it before the first of them.
  void lie_on(Segment& memory) noexcept { memory_ = &memory; }

  /// Sends all bytes along a link that begins here.
  steps send(link l, bytes_in from) {
    for (std::size_t at = 0; at < from.size(); at += piece_bytes) {
      co_await room(l);
      push(l, from.subspan(at, std::min(piece_bytes, from.size() - at)));
    }
  }
  /// Fills these bytes from a link that ends here.
  steps receive(link l, bytes_out into) {
    for (std::size_t at = 0; at < into.size(); at += piece_bytes) {
      co_await arrival(l);
      pull(l, into.subspan(at, std::min(piece_bytes, into.size() - at)));
    }
  }
  /// Does both at once.
  steps exchange(link out, bytes_in from, link in, bytes_out into) {
    for (std::size_t at = 0; at < std::max(from.size(), into.size()); at += piece_bytes) {
      if (at < from.size()) {
        co_await room(out);
        push(out, from.subspan(at, std::min(piece_bytes, from.size() - at)));
      }
      if (at < into.size()) {
        co_await arrival(in);
        pull(in, into.subspan(at, std::min(piece_bytes, into.size() - at)));
      }
    }
  }
  /// Sends, and calls take(first byte, address, bytes) for each arriving piece of `count` bytes, elements of
  /// `unit` bytes each.
  steps exchange_and_take(link out, bytes_in from, link in, std::size_t count, std::size_t unit,
                          function_ref<void(std::size_t, std::byte const*, std::size_t)> take) {
    std::size_t const step = std::max(piece_bytes / unit, std::size_t{1}) * unit;
    for (std::size_t at = 0; at < std::max(from.size(), count); at += step) {
      if (at < from.size()) {
        co_await room(out);
        push(out, from.subspan(at, std::min(step, from.size() - at)));
      }
      if (at < count) {
        co_await arrival(in);
        std::size_t const here = std::min(step, count - at);
        if (scratch_.size() < here) scratch_ = plain_list<std::byte>(here);
        pull(in, bytes_out(scratch_.begin(), here));
        take(at, scratch_.begin(), here);
      }
    }
  }

  /// Ends when all ranks have begun it: a dissemination barrier on words alone.
  steps meet() {
    for (unsigned k = 0; std::size_t{1} << k < static_cast<std::size_t>(size()); ++k) {
      link const up{k, false};
      co_await room(up);
      push(up, {});
      co_await arrival(up);
      pull(up, {});
    }
  }

  /// See patience; the rank is one of the team.
  void compare_blocks(rank_t other, std::size_t theirs, std::size_t mine) const {
    waits_->compare_blocks(other, theirs, mine);
  }

  /// The rank of the team to which a link that begins here leads, and where one that ends here begins.
  [[nodiscard]] rank_t to(link l) const noexcept {
    return at_distance(l.goes_down ? -distance(l) : distance(l));
  }
  [[nodiscard]] rank_t from(link l) const noexcept {
    return at_distance(l.goes_down ? distance(l) : -distance(l));
  }

 private:
  static constexpr std::size_t exponents(rank_t ranks) noexcept {
    return static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(ranks - 1)));
  }
  static constexpr std::size_t count(rank_t ranks) noexcept { return 2 * exponents(ranks); }
  static constexpr std::size_t index(link l) noexcept { return 2 * l.exponent + (l.goes_down ? 1 : 0); }
  static constexpr rank_t distance(link l) noexcept { return static_cast<rank_t>(1U << l.exponent); }
  [[nodiscard]] rank_t at_distance(rank_t d) const noexcept {
    rank_t const there = (rank() + d + size()) % size();
    return among_.empty() ? there : among_[static_cast<std::size_t>(there)];
  }
  [[nodiscard]] static plain_list<rank_t> listed(group ranks) {
    plain_list<rank_t> list;
    for (rank_t const rank : ranks) list.push_back(rank);
    return list;
  }
  [[nodiscard]] rank_t place_among(rank_t rank) const noexcept {
    return static_cast<rank_t>(std::find(among_.begin(), among_.end(), rank) - among_.begin());
  }
  /// This rank's number in the team.
  [[nodiscard]] rank_t self() const noexcept { return control_->rank(); }

  /// To be awaited before push.
  auto room(link l) {
    std::size_t const i = index(l);
    word const needed = sent_[i] < depth ? 0 : sent_[i] + 1 - depth;
    // This rank's slot, written by the receiver.
    return waits_->until(control_->slot(self(), taken(i), to(l)), needed, to(l));
  }
  void push(link l, bytes_in piece) {
    std::size_t const i = index(l);
    rank_t const receiver = to(l);
    if (piece.size() <= short_bytes) {
      for (std::size_t k = 0; k * sizeof(word) < piece.size(); ++k) {
        word part = 0;
        auto const bytes = piece.subspan(k * sizeof(word));
        std::memcpy(&part, bytes.data(), std::min(bytes.size(), sizeof part));
        // relaxed: the release below carries it.
        unconfirmed(control_->slot(receiver, short_place(i, sent_[i]) + k, self()))
            .store(part, std::memory_order_relaxed);
      }
    } else {
      memory_->put({receiver, place(i, sent_[i])}, piece);
      if constexpr (ordered_segment<Segment>) {
        memory_->order_puts(receiver);
      } else {
        memory_->flush(receiver);
      }
    }
    // release: pairs with the acquire of the receiver's `until`; the piece has arrived, or arrives before it.
    // Only the receiver reads the word.
    unconfirmed(control_->slot(receiver, arrived(i, sent_[i]), self()))
        .store(word_of(sent_[i]), std::memory_order_release);
    ++sent_[i];
  }
  /// To be awaited before pull.
  auto arrival(link l) {
    std::size_t const i = index(l);
    return waits_->until(control_->slot(self(), arrived(i, received_[i]), from(l)),
                         (received_[i] + 1) << tag_bits, from(l));
  }
  void pull(link l, bytes_out piece) {
    std::size_t const i = index(l);
    word const number = received_[i]++;
    // relaxed: `until` has acquired this piece. The next piece of its buffer waits for this rank, so the
    // number is that of this piece; then the calls are compared.
    word const seen = control_->slot(self(), arrived(i, number), from(l)).load(std::memory_order_relaxed);
    word const mine = word_of(number);
    if (seen >> tag_bits == mine >> tag_bits && seen != mine) [[unlikely]]
      waits_->refuse(from(l), "something else, or it after other collectives");
    if (piece.size() <= short_bytes) {
      for (std::size_t k = 0; k * sizeof(word) < piece.size(); ++k) {
        // relaxed: as above.
        word const part =
            control_->slot(self(), short_place(i, number) + k, from(l)).load(std::memory_order_relaxed);
        auto const bytes = piece.subspan(k * sizeof(word));
        std::memcpy(bytes.data(), &part, std::min(bytes.size(), sizeof part));
      }
    } else {
      memory_->get({self(), place(i, number)}, piece);
      memory_->flush_local(self());
    }
    rank_t const sender = from(l);
    // release: pairs with the acquire in room of the sender, so that the piece is read before the next one
    // replaces it. Only the sender reads the word.
    unconfirmed(control_->slot(sender, taken(i), self())).store(received_[i], std::memory_order_release);
  }
  static constexpr std::size_t words_of_link = depth + 1;
  /// The receiver's slot for a piece with this number, and the sender's for the number of pieces read.
  [[nodiscard]] std::size_t arrived(std::size_t i, word number) const noexcept {
    return first_ + words_of_link * i + static_cast<std::size_t>(number % depth);
  }
  [[nodiscard]] std::size_t taken(std::size_t i) const noexcept { return first_ + words_of_link * i + depth; }
  static constexpr unsigned tag_bits = 20;
  /// The word for a piece of this call: the number of pieces so far, and part of the hash of all calls.
  [[nodiscard]] word word_of(word number) const noexcept {
    return (number + 1) << tag_bits | waits_->call().history() >> (32U - tag_bits);
  }

  static constexpr std::size_t short_words = short_bytes / sizeof(word);
  /// The slot of the receiver where a short piece with this number begins.
  [[nodiscard]] std::size_t short_place(std::size_t i, word number) const noexcept {
    return first_ + words_of_link * count(size()) +
           (i * depth + static_cast<std::size_t>(number % depth)) * short_words;
  }

  [[nodiscard]] std::size_t place(std::size_t i, word number) const noexcept {
    return first_byte_ + (i * depth + static_cast<std::size_t>(number % depth)) * piece_bytes;
  }

  Control* control_;
  patience<Control>* waits_;
  std::size_t first_;
  std::size_t first_byte_;
  plain_list<rank_t> among_;  ///< the ranks of the team that use it; empty: all
  rank_t rank_;
  rank_t size_;
  Segment* memory_ = nullptr;
  plain_list<word> sent_;      ///< pieces, for each link that begins here
  plain_list<word> received_;  ///< for each that ends here
  plain_list<std::byte> scratch_;
};

}  // namespace PGAS_NAMESPACE::detail
