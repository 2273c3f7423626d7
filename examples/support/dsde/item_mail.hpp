// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <pgas/containers/make_channel.hpp>
#include <thread>

#include "problem.hpp"

namespace example::dsde {

/// Items in messages, for the protocols that send them so. It counts the messages of a round that have come
/// to this rank, from any rank, and those of this rank that their receivers have acknowledged.
///
/// A rank may be one round ahead of another, so rounds take two queues in turn. Handlers take the messages: a
/// rank that waits for room to send receives meanwhile.
template <class Team>
class item_mail {
 public:
  /// Makes the channel. Collective.
  item_mail(Team const& team, bool acknowledges) : channel_(pgas::make_channel(team)) {
    for (std::size_t queue = 0; queue < 2; ++queue) {
      channel_.handle(queue, [this, queue, acknowledges](pgas::rank_t from, auto message) {
        come_[queue].insert(come_[queue].end(), message.begin(), message.end());
        ++messages_[queue];
        if (acknowledges) channel_.send(from, queue + 2, std::array<pgas::word, 1>{1});
      });
      channel_.handle(queue + 2, [this, queue](pgas::rank_t, auto) { ++acknowledged_[queue]; });
    }
  }
  item_mail(item_mail const&) = delete;
  item_mail& operator=(item_mail const&) = delete;

  /// The messages that a delivery takes.
  [[nodiscard]] static std::size_t messages_for(delivery const& d) noexcept {
    return (d.items.size() + most_words - 1) / most_words;
  }
  /// Sends a delivery of this round.
  void send(delivery const& d) {
    for (std::size_t i = 0; i < d.items.size(); i += most_words)
      channel_.send(d.to, queue_, std::span(d.items).subspan(i, std::min(most_words, d.items.size() - i)));
  }

  /// Receives what has come. Never waits.
  void poll() {
    if (channel_.poll() == 0) std::this_thread::yield();  // ranks may share a core
  }
  [[nodiscard]] std::size_t messages() const noexcept { return messages_[queue_]; }
  [[nodiscard]] std::size_t acknowledged() const noexcept { return acknowledged_[queue_]; }

  /// Ends this rank's round, and appends the items that have come to `in`.
  void end_round(std::vector<item>& in) {
    in.insert(in.end(), come_[queue_].begin(), come_[queue_].end());
    come_[queue_].clear();
    messages_[queue_] = acknowledged_[queue_] = 0;
    queue_ = 1 - queue_;
  }

 private:
  using channel_type = pgas::channel_on<typename Team::backend_type>;
  static constexpr std::size_t most_words = channel_type::most_words;

  channel_type channel_;
  std::size_t queue_ = 0;  ///< of this round's items; their acknowledgements take the queue after the next
  std::array<std::vector<item>, 2> come_;
  std::array<std::size_t, 2> messages_{};
  std::array<std::size_t, 2> acknowledged_{};
};

}  // namespace example::dsde
