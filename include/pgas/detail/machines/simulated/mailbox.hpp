// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <pgas/concepts/mailbox.hpp>
#include <pgas/detail/machines/simulated/machine.hpp>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Short messages into a box of each receiver, which has room for `home_boxes::room` of them, from all
/// senders together.
///
/// A message travels as a store does. The sender knows at once whether there is room, as if it had a credit;
/// it learns of new room after a latency. Memory: what has arrived.
class simulated_mailbox {
 public:
  static constexpr std::size_t max_message_bytes = simulated::letter::most;

  simulated_mailbox(std::shared_ptr<simulated::machine> m, std::shared_ptr<simulated::home_boxes> home,
                    team_ranks ranks)
      : machine_(std::move(m)), home_(std::move(home)), ranks_(std::move(ranks)) {}
  simulated_mailbox(simulated_mailbox&&) noexcept = default;
  simulated_mailbox& operator=(simulated_mailbox&& other) noexcept {
    if (machine_) serve(nullptr);
    machine_ = std::move(other.machine_);
    home_ = std::move(other.home_);
    ranks_ = std::move(other.ranks_);
    service_ = std::move(other.service_);
    return *this;
  }
  ~simulated_mailbox() {
    if (machine_) serve(nullptr);
  }

  /// Sends if the receiver's box has room. Throws errc::invalid_argument if the message is too long.
  [[nodiscard]] bool try_send(rank_t to, bytes_in message) {
    rank_t const self = ranks_.to_world(ranks_.self());
    if (message.size() > max_message_bytes) {
      throw error(errc::invalid_argument, self, "try_send",
                  text_of({message.size(), " bytes exceed the largest message, ", max_message_bytes}));
    }
    simulated::letter l{.home = home_, .to = to, .from = ranks_.self(), .size = message.size(), .bytes = {}};
    if (!message.empty()) std::memcpy(l.bytes.data(), message.data(), message.size());
    return machine_->send(self, ranks_.to_world(to), std::move(l));
  }

  /// Handles the messages that have arrived; returns their number.
  template <class Handler>
  std::size_t poll(Handler&& handler) {
    rank_t const self = ranks_.to_world(ranks_.self());
    auto& box = home_->of(ranks_.self());
    machine_->look(self);
    std::size_t const count = box.arrived.size();
    for (std::size_t i = 0; i < count; ++i) {
      simulated::letter const l = std::move(box.arrived.front());
      box.arrived.pop_front();
      machine_->make_room(self, box);
      handler(l.from, bytes_in(l.bytes).first(l.size));
    }
    return count;
  }

  /// Calls `what` while this rank waits.
  void serve(std::function<void()> what) {
    rank_t const self = ranks_.to_world(ranks_.self());
    if (service_) machine_->of(self).end_service(*service_);
    service_.reset();
    if (what == nullptr) return;
    service_ = std::make_unique<std::function<void()>>(std::move(what));
    machine_->of(self).begin_service(*service_);
  }

 private:
  std::shared_ptr<simulated::machine> machine_;
  std::shared_ptr<simulated::home_boxes> home_;
  team_ranks ranks_;
  std::unique_ptr<std::function<void()>> service_;
};
static_assert(mailbox<simulated_mailbox>);

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
