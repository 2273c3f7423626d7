// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <cstring>
#include <memory>
#include <pgas/concepts/mailbox.hpp>
#include <pgas/platform/job/bell.hpp>
#include <pgas/platform/job/held_extent.hpp>
#include <pgas/platform/job/job.hpp>
#include <pgas/platform/job/ranks.hpp>
#include <pgas/platform/job/service.hpp>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// A ring of messages in the job's arena, for each sender and receiver.
///
/// Source: the queue FastForward (Giacomoni, Moseley, Vachharajani 2008), whose places themselves say whether
/// they are full, on top of Lamport's counts of 1977. A place has a mark with the number and the length of
/// its message. Only the sender stores marks and `sent`, and only the receiver stores `taken`, each on lines
/// of its own. Both counts only grow, and sent - taken lies in [0, capacity]. Differs: places are freed by a
/// count, not by an empty mark, so the receiver stores to no line of a message. A short message is one line,
/// which moves once; the sender reads `taken` only when the ring seems full. A message, or room that comes
/// back, rings the bell of the rank that may sleep until then. Memory: ranks * ranks rings of 16 messages,
/// and a bell for each rank; a private word for each rank.
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
      refuse(bytes);
    ring& r = at(to, ranks_.self());
    word const sent = std::atomic_ref(r.sent).load(std::memory_order_relaxed);  // only this rank stores it
    word& known = known_taken_[static_cast<std::size_t>(to)];
    if (sent - known >= capacity) {  // more: before the first look of a mailbox that was attached again
      // acquire: pairs with the release of taken in poll; the places are free for the next messages.
      known = std::atomic_ref(r.taken).load(std::memory_order_acquire);
      if (sent - known == capacity) return false;
    }
    entry& e = r.entries[sent % capacity];
    write(e.data);
    std::atomic_ref(r.sent).store(sent + 1, std::memory_order_relaxed);  // nobody else reads it
    // release: pairs with the acquire in poll; carries the message.
    std::atomic_ref(e.mark).store(mark_of(sent) | bytes, std::memory_order_release);
    bell::ring(bell_of(to));
    return true;
  }

  /// Handles the messages that have arrived, in each sender's order; returns their number.
  template <class Handler>
  std::size_t poll(Handler&& handler) {
    std::size_t handled = 0;
    ring* const own = &at(ranks_.self(), 0);
    for (rank_t from = 0, ranks = ranks_.size(); from < ranks; ++from) {
      ring& r = own[from];
      word taken = std::atomic_ref(r.taken).load(std::memory_order_relaxed);  // only this rank stores it
      // Messages that come now wait for the next poll, so that one sender cannot keep this rank here.
      for (std::size_t left = capacity; left > 0; --left, ++handled) {
        entry& e = r.entries[taken % capacity];
        // acquire: pairs with the release in try_send; carries the message.
        word const mark = std::atomic_ref(e.mark).load(std::memory_order_acquire);
        if ((mark & ~length_mask) != mark_of(taken)) break;
        handler(from, bytes_in(e.data, mark & length_mask));
        std::atomic_ref(r.taken).store(++taken,
                                       std::memory_order_release);  // pairs with the acquire in try_send
        bell::ring(bell_of(from));
      }
    }
    if (handled != 0) service::note_work();
    return handled;
  }

  /// Calls `what` while this rank waits.
  void serve(std::function<void()> what) {
    service_.reset();
    if (what == nullptr) return;
    service_ = std::make_unique<service>(extent_.owner().block(), bell_of(ranks_.self()), std::move(what));
  }

 private:
  static constexpr std::size_t capacity = 16;
  static constexpr unsigned length_bits = 8;
  static constexpr word length_mask = (word{1} << length_bits) - 1;
  static_assert(max_message_bytes <= length_mask);

  /// The mark of a ring's message number `i`, without a length. It is never 0, the mark of an unused place.
  static constexpr word mark_of(word i) noexcept { return (i + 1) << length_bits; }

  struct alignas(64) entry {
    word mark;
    std::byte data[max_message_bytes];
  };
  struct ring {
    alignas(128) word sent;
    alignas(128) word taken;
    alignas(128) entry entries[capacity];
  };

  struct alignas(128) own_bell {
    std::uint32_t bell;
  };

  [[nodiscard]] std::uint32_t* bell_of(rank_t rank) const noexcept { return &bells_[rank].bell; }
  [[nodiscard]] ring& at(rank_t to, rank_t from) const noexcept {
    return rings_[static_cast<std::size_t>(to) * static_cast<std::size_t>(ranks_.size()) +
                  static_cast<std::size_t>(from)];
  }
  [[noreturn, gnu::cold, gnu::noinline]] void refuse(std::size_t bytes) const {
    throw error(
        errc::invalid_argument, ranks_.self(), "try_send",
        std::to_string(bytes) + " bytes exceed the largest message, " + std::to_string(max_message_bytes));
  }

  held_extent extent_;
  team_ranks ranks_;
  ring* rings_;                       ///< by receiver, then by sender
  own_bell* bells_;                   ///< by rank
  std::vector<word> known_taken_;     ///< this rank's messages that each rank has taken, at least
  std::unique_ptr<service> service_;  ///< ends before the extent
};
static_assert(mailbox<mapped_mailbox>);

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
