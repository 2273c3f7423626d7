// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <concepts>
#include <cstring>
#include <pgas/concepts/mailbox.hpp>
#include <pgas/detail/job/bell.hpp>
#include <pgas/detail/job/held_extent.hpp>
#include <pgas/detail/job/job.hpp>
#include <pgas/detail/job/ranks.hpp>
#include <pgas/detail/job/service.hpp>
#include <pgas/detail/processor/prefetch_to_write.hpp>
#include <pgas/detail/types/local_shared_ptr.hpp>
#include <pgas/detail/types/plain_list.hpp>
#include <string>

namespace PGAS_NAMESPACE::detail {

/// A ring of messages in the job's arena, for each sender and receiver.
///
/// Source: the queue FastForward (Giacomoni, Moseley, Vachharajani 2008), whose places themselves say whether
/// they are full, combined with Lamport's counts of 1977. A place has a mark with the number and the length
/// of its message. Only the sender stores marks and `sent`, and only the receiver stores `taken`, each on
/// lines of its own. Both counts only grow, and sent - taken lies in [0, capacity]. Differs: places are freed
/// by a count, not by an empty mark, so the receiver stores to no line of a message. A short message is one
/// line, which moves once; the sender reads `taken` only when the ring seems full. A word lies in the mark
/// itself: a polling receiver could take the line between two stores. A close word is a mark in one of two
/// lines that only have such marks, at the same place of the ring. The receiver polls both marks of a place,
/// and the sender stores one of them. A message, or room that is free again, rings the bell of the rank that
/// may sleep until then. Memory: ranks * ranks rings of 16 messages, and a bell for each rank; a private word
/// for each rank.
class mapped_mailbox {
 public:
  static constexpr std::size_t max_message_bytes = 240;

  static std::uint64_t bytes(rank_t ranks) noexcept {
    return static_cast<std::uint64_t>(ranks) *
           (static_cast<std::uint64_t>(ranks) * sizeof(ring) + sizeof(own_bell));
  }

  mapped_mailbox(held_extent extent, team_ranks ranks)
      : extent_(std::move(extent)),
        ranks_(std::move(ranks)),
        rings_(reinterpret_cast<ring*>(extent_.data())),
        bells_(reinterpret_cast<own_bell*>(rings_ + static_cast<std::size_t>(ranks_.size()) *
                                                        static_cast<std::size_t>(ranks_.size()))),
        known_taken_(static_cast<std::size_t>(ranks_.size())) {}

  /// Sends unless the ring is full. Throws errc::invalid_argument if the message exceeds max_message_bytes.
  [[nodiscard]] bool try_send(rank_t to, bytes_in message) {
    return try_write(to, message.size(), [&](std::byte* place) {
      if (!message.empty()) std::memcpy(place, message.data(), message.size());
    });
  }
  /// The same for a message of so many bytes that write(place) writes where its receiver reads them. The
  /// place is on a boundary of 8 bytes.
  template <std::invocable<std::byte*> Write>
  [[nodiscard]] bool try_write(rank_t to, std::size_t bytes, Write&& write) {
    if (bytes > max_message_bytes) [[unlikely]]
      throw_too_long(ranks_.self(), bytes, max_message_bytes);
    return try_mark(to, [&](entry& e) {
      write(e.data);
      return static_cast<word>(bytes);
    });
  }

  /// See mailbox_of_words.
  static constexpr word most_word = (word{1} << 16U) - 1;
  [[nodiscard]] bool try_send_word(rank_t to, word w) {
    return try_mark(to, [w](entry&) { return w << length_bits | is_word; });
  }
  [[nodiscard]] bool try_send_close_word(rank_t to, word w) {
    return try_store(to, [w](ring& r, word sent) {
      // release: pairs with the acquire in take; carries what this rank did before.
      std::atomic_ref(r.words[sent % capacity])
          .store(round_of(sent) << text_bits | w, std::memory_order_release);
    });
  }
  void will_send(rank_t to) noexcept {
    ring& r = at(to, ranks_.self());
    word const sent = std::atomic_ref(r.sent).load(std::memory_order_relaxed);  // only this rank stores it
    word& known = known_taken_[static_cast<std::size_t>(to)];
    // acquire: as in try_store. It comes before the following wait, which hides its latency.
    if (sent - known >= capacity - 2) known = std::atomic_ref(r.taken).load(std::memory_order_acquire);
    prefetch_to_write(&r.entries[sent % capacity].mark);
    prefetch_to_write(&at(ranks_.self(), to).taken);  // `to` may have looked at it
  }

  /// Handles the messages that have arrived, in each sender's order; returns their number.
  template <class Handler>
  std::size_t poll(Handler&& handler) {
    std::size_t handled = 0;
    ring* const own = &at(ranks_.self(), 0);
    for (rank_t from = 0, ranks = ranks_.size(); from < ranks; ++from) {
      // Messages that arrive now wait for the next poll, so that one sender cannot keep this rank here.
      for (std::size_t left = capacity; left > 0 && take(own[from], from, 1, handler); --left) ++handled;
    }
    if (handled != 0) service::note_work();
    return handled;
  }
  /// See mailbox_of_words.
  template <class Handler>
  bool poll_from(rank_t from, int looks, Handler&& handler) {
    if (!take(at(ranks_.self(), from), from, looks, handler)) return false;
    service::note_work();
    return true;
  }

  /// Calls `what` while this rank waits.
  void serve(std::function<void()> what) {
    service_ = {};
    if (what == nullptr) return;
    service_ = local_shared_ptr<service>(std::in_place, extent_.owner().block(), bell_of(ranks_.self()),
                                         std::move(what));
  }

 private:
  static constexpr std::size_t capacity = 16;

  // A mark has, from its lowest bits: the length of the message, or `is_word`; that word; and the round of
  // the ring in which its message came, never 0. A close word has the word and the round. A round differs
  // from those of all older marks of its place until a rank has sent 16 trillion messages to another.
  static constexpr unsigned length_bits = 8;
  static constexpr unsigned text_bits = 16;
  static constexpr unsigned round_bits = 64 - length_bits - text_bits;
  static constexpr word length_mask = (word{1} << length_bits) - 1;
  static constexpr word text_mask = (word{1} << text_bits) - 1;
  static constexpr word is_word = length_mask;
  static_assert(max_message_bytes < is_word);

  /// The round of a ring's message number `i`.
  static constexpr word round_of(word i) noexcept {
    return (i / capacity + 1) & ((word{1} << round_bits) - 1);
  }

  struct alignas(64) entry {
    word mark;
    std::byte data[max_message_bytes];
  };
  struct ring {
    alignas(128) word sent;
    alignas(128) word taken;
    alignas(128) word words[capacity];
    alignas(128) entry entries[capacity];
  };

  struct alignas(128) own_bell {
    std::uint32_t bell;
  };

  /// Sends unless the ring is full: store(ring, number) stores the message of that number, and its mark.
  template <class Store>
  [[nodiscard, gnu::always_inline]] bool try_store(rank_t to, Store&& store) {
    ring& r = at(to, ranks_.self());
    word const sent = std::atomic_ref(r.sent).load(std::memory_order_relaxed);  // only this rank stores it
    word& known = known_taken_[static_cast<std::size_t>(to)];
    if (sent - known >= capacity) {  // more: before the first look of a mailbox that was attached again
      // acquire: pairs with the release of taken in take; the places are free for the next messages.
      known = std::atomic_ref(r.taken).load(std::memory_order_acquire);
      if (sent - known == capacity) return false;
    }
    std::atomic_ref(r.sent).store(sent + 1, std::memory_order_relaxed);  // nobody else reads it
    store(r, sent);
    bell::ring(bell_of(to));
    return true;
  }
  /// The same for a message in an entry: fill(place) returns the mark below its round.
  template <class Fill>
  [[nodiscard, gnu::always_inline]] bool try_mark(rank_t to, Fill&& fill) {
    return try_store(to, [&fill](ring& r, word sent) {
      entry& e = r.entries[sent % capacity];
      word const text = fill(e);
      // release: pairs with the acquire in take; carries the message.
      std::atomic_ref(e.mark).store(round_of(sent) << (length_bits + text_bits) | text,
                                    std::memory_order_release);
    });
  }
  /// Handles the next message of a ring, if one of that many polls finds it.
  template <class Handler>
  [[nodiscard, gnu::always_inline]] bool take(ring& r, rank_t from, int looks, Handler& handler) {
    word const taken = std::atomic_ref(r.taken).load(std::memory_order_relaxed);  // only this rank stores it
    entry& e = r.entries[taken % capacity];
    word const round = round_of(taken);
    for (;; --looks) {
      if (looks <= 0) return false;
      // acquire: pairs with the release in try_send_close_word.
      word const close = std::atomic_ref(r.words[taken % capacity]).load(std::memory_order_acquire);
      if (close >> text_bits == round) {
        give(from, close & text_mask, handler);
        break;
      }
      // acquire: pairs with the release in try_mark; carries the message.
      word const mark = std::atomic_ref(e.mark).load(std::memory_order_acquire);
      if (mark >> (length_bits + text_bits) != round) continue;
      word const length = mark & length_mask;
      if (length == is_word) {
        give(from, mark >> length_bits & text_mask, handler);
      } else {
        handler(from, bytes_in(e.data, length));
      }
      break;
    }
    // release: pairs with the acquire in try_store and will_send.
    std::atomic_ref(r.taken).store(taken + 1, std::memory_order_release);
    bell::ring(bell_of(from));
    return true;
  }
  /// Passes a word to a handler of words. Other handlers get none.
  template <class Handler>
  static void give(rank_t from, word text, Handler& handler) {
    if constexpr (std::invocable<Handler&, rank_t, word>) handler(from, text);
  }

  [[nodiscard]] std::uint32_t* bell_of(rank_t rank) const noexcept { return &bells_[rank].bell; }
  [[nodiscard]] ring& at(rank_t to, rank_t from) const noexcept {
    return rings_[static_cast<std::size_t>(to) * static_cast<std::size_t>(ranks_.size()) +
                  static_cast<std::size_t>(from)];
  }
  held_extent extent_;
  team_ranks ranks_;
  ring* rings_;                        ///< by receiver, then by sender
  own_bell* bells_;                    ///< by rank
  plain_list<word> known_taken_;       ///< this rank's messages that each rank has taken, at least
  local_shared_ptr<service> service_;  ///< ends before the extent
};
static_assert(mailbox_of_words<mapped_mailbox>);

}  // namespace PGAS_NAMESPACE::detail
