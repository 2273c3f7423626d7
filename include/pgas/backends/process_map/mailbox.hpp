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

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// A ring of messages in the job's arena, for each sender and receiver.
///
/// Source: Lamport's single-producer single-consumer queue, 1977. Only the sender stores `sent` and only the
/// receiver stores `taken`, each on lines of its own. Both only grow, and sent - taken lies in [0, capacity].
/// A message, or room that comes back, rings the bell of the rank that may sleep until then.
/// Memory: ranks * ranks rings of 16 messages, and a bell for each rank.
class mapped_mailbox {
 public:
  static constexpr std::size_t max_message_bytes = 240;

  static std::uint64_t bytes(rank_t ranks) noexcept {
    return static_cast<std::uint64_t>(ranks) *
           (static_cast<std::uint64_t>(ranks) * sizeof(ring) + sizeof(own_bell));
  }

  mapped_mailbox(held_extent extent, team_ranks ranks)
      : extent_(std::move(extent)), ranks_(std::move(ranks)) {}

  /// Sends unless the ring is full. Throws errc::invalid_argument if the message exceeds max_message_bytes.
  [[nodiscard]] bool try_send(rank_t to, bytes_in message) {
    if (message.size() > max_message_bytes) {
      throw error(errc::invalid_argument, ranks_.self(), "try_send",
                  std::to_string(message.size()) + " bytes exceed the largest message, " +
                      std::to_string(max_message_bytes));
    }
    ring& r = at(to, ranks_.self());
    word const sent = std::atomic_ref(r.sent).load(std::memory_order_relaxed);  // only this rank stores it
    // acquire: pairs with the release of taken in poll; the slot is free for the next message.
    if (sent - std::atomic_ref(r.taken).load(std::memory_order_acquire) == capacity) return false;
    entry& e = r.entries[sent % capacity];
    e.bytes = message.size();
    if (!message.empty()) std::memcpy(e.data, message.data(), message.size());
    std::atomic_ref(r.sent).store(sent + 1, std::memory_order_release);  // pairs with the acquire in poll
    bell::ring(bell_of(to));
    return true;
  }

  /// Handles the messages that have arrived, in each sender's order; returns their number.
  template <class Handler>
  std::size_t poll(Handler&& handler) {
    std::size_t handled = 0;
    for (rank_t from = 0; from < ranks_.size(); ++from) {
      ring& r = at(ranks_.self(), from);
      word taken = std::atomic_ref(r.taken).load(std::memory_order_relaxed);  // only this rank stores it
      // acquire: pairs with the release of sent in try_send; carries the message.
      word const sent = std::atomic_ref(r.sent).load(std::memory_order_acquire);
      for (; taken != sent; ++handled) {
        entry const& e = r.entries[taken % capacity];
        handler(from, bytes_in(e.data, e.bytes));
        std::atomic_ref(r.taken).store(++taken,
                                       std::memory_order_release);  // pairs with the acquire in try_send
        bell::ring(bell_of(from));
      }
    }
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

  struct entry {
    std::size_t bytes;
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

  [[nodiscard]] std::uint32_t* bell_of(rank_t rank) const noexcept {
    auto const all = static_cast<std::size_t>(ranks_.size());
    return &reinterpret_cast<own_bell*>(extent_.data() + all * all * sizeof(ring))[rank].bell;
  }
  [[nodiscard]] ring& at(rank_t to, rank_t from) const noexcept {
    return reinterpret_cast<ring*>(
        extent_.data())[static_cast<std::size_t>(to) * static_cast<std::size_t>(ranks_.size()) +
                        static_cast<std::size_t>(from)];
  }

  held_extent extent_;
  team_ranks ranks_;
  std::unique_ptr<service> service_;  ///< ends before the extent
};
static_assert(mailbox<mapped_mailbox>);

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
