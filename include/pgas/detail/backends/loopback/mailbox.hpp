// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <pgas/concepts/mailbox.hpp>
#include <pgas/detail/backends/loopback/held_memory.hpp>
#include <pgas/detail/job/ranks.hpp>
#include <pgas/detail/job/service.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Letters from agent to agent, at most 16 under way from each sender to each receiver. A receiver that takes
/// a letter returns room for one to its sender. Memory: a queue and a number for each rank, and the letters
/// that have arrived.
class message_mailbox {
 public:
  static constexpr std::size_t max_message_bytes = 240;

  message_mailbox(std::shared_ptr<loopback::agent> a, loopback::memory_id id, team_ranks const& ranks)
      : message_mailbox(std::move(a), id,
                        std::make_shared<loopback::letter_box>(static_cast<std::size_t>(ranks.size())),
                        ranks) {}

  /// Sends if the receiver has room. Throws errc::invalid_argument if the message exceeds max_message_bytes.
  [[nodiscard]] bool try_send(rank_t to, bytes_in message) {
    loopback::agent& mine = held_.owner();
    if (message.size() > max_message_bytes) {
      throw error(errc::invalid_argument, mine.rank(), "try_send",
                  std::to_string(message.size()) + " bytes exceed the largest message, " +
                      std::to_string(max_message_bytes));
    }
    mine.settle("try_send",
                ranks_.to_world(to));  // the receiver of the letter finds this rank's earlier stores
    if (!box_->take_room(static_cast<std::size_t>(to))) return false;
    if (to == ranks_.self()) {
      box_->add(static_cast<std::size_t>(to), message);
    } else {
      mine.notify(ranks_.to_world(to), head(loopback::message_kind::letter), message);
    }
    return true;
  }

  /// Handles the messages that have arrived, in each sender's order; returns their number.
  template <class Handler>
  std::size_t poll(Handler&& handler) {
    std::size_t handled = 0;
    for (rank_t from = 0; from < ranks_.size(); ++from) {
      auto const sender = static_cast<std::size_t>(from);
      for (std::size_t left = box_->count(sender); left > 0; --left, ++handled) {
        auto const letter = box_->take(sender);
        if (from == ranks_.self()) {
          box_->add_room(sender, 1);
        } else {
          auto m = head(loopback::message_kind::credit);
          m.value = 1;
          held_.owner().notify(ranks_.to_world(from), m);
        }
        handler(from, bytes_in(letter));
      }
    }
    return handled;
  }

  /// Calls `what` while this rank waits. The arrival of a letter wakes a rank that sleeps.
  void serve(std::function<void()> what) {
    service_.reset();
    if (what == nullptr) return;
    service_ = std::make_unique<service>(held_.owner().of_job().block(), held_.owner().bells().front(),
                                         std::move(what));
  }

 private:
  message_mailbox(std::shared_ptr<loopback::agent> a, loopback::memory_id id,
                  std::shared_ptr<loopback::letter_box> box, team_ranks const& ranks)
      : held_(std::move(a), id, box), ranks_(ranks), box_(std::move(box)) {}

  [[nodiscard]] loopback::message head(loopback::message_kind kind) const noexcept {
    loopback::message m;
    m.kind = kind;
    m.memory = held_.id();
    m.sender = ranks_.self();
    return m;
  }

  loopback::held_memory held_;
  team_ranks ranks_;
  std::shared_ptr<loopback::letter_box> box_;
  std::unique_ptr<service> service_;
};
static_assert(mailbox<message_mailbox>);

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
