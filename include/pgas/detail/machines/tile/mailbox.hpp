// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <functional>
#include <memory>
#include <pgas/concepts/mailbox.hpp>
#include <pgas/detail/machines/tile/machine.hpp>
#include <pgas/detail/text/text_of.hpp>
#include <utility>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Letters in memory that the machine keeps coherent, for protocols that are mailed. A send and a look take
/// the time of an access to a control word. It uses no hardware queue, so a program has all four.
/// Memory: the letters that have arrived, at most 16 of each sender.
class tile_mailbox {
 public:
  static constexpr std::size_t max_message_bytes = 240;

  tile_mailbox(std::shared_ptr<tile_machine::machine> m, std::shared_ptr<tile_machine::home_letters> home,
               team_ranks ranks)
      : machine_(std::move(m)),
        home_(std::move(home)),
        ranks_(std::move(ranks)),
        self_(ranks_.to_world(ranks_.self())) {}

  /// Sends if the receiver has room. Throws errc::invalid_argument if the message is too long.
  [[nodiscard]] bool try_send(rank_t to, bytes_in message) {
    if (message.size() > max_message_bytes) {
      throw error(errc::invalid_argument, self_, "try_send",
                  text_of({message.size(), " bytes exceed the largest message, ", max_message_bytes}));
    }
    machine_->access(self_);
    std::size_t const number = home_->number(to, ranks_.self());
    auto& letters = home_->all[number];
    home_->room_is_wanted[number] = letters.size() < home_->room ? 0 : 1;
    if (letters.size() >= home_->room) return false;
    letters.emplace_back(message.begin(), message.end());
    machine_->call_services(ranks_.to_world(to));
    return true;
  }

  /// Handles the messages that have arrived, in each sender's order; returns their number.
  template <class Handler>
  std::size_t poll(Handler&& handler) {
    machine_->access(self_);
    std::size_t handled = 0;
    for (rank_t from = 0; from < ranks_.size(); ++from) {
      std::size_t const number = home_->number(ranks_.self(), from);
      for (std::size_t left = home_->all[number].size(); left > 0; --left, ++handled) {
        auto const letter = std::move(home_->all[number].front());
        home_->all[number].pop_front();
        if (std::exchange(home_->room_is_wanted[number], 0) != 0)
          machine_->call_services(ranks_.to_world(from));
        handler(from, bytes_in(letter));
      }
    }
    return handled;
  }

  /// Calls `what` while this rank waits.
  void serve(std::function<void()> what) {
    service_.reset();
    if (what != nullptr)
      service_ = std::make_unique<tile_machine::machine::service>(machine_, self_, std::move(what));
  }

 private:
  std::shared_ptr<tile_machine::machine> machine_;
  std::shared_ptr<tile_machine::home_letters> home_;
  team_ranks ranks_;
  rank_t self_;  ///< number in the job
  std::unique_ptr<tile_machine::machine::service> service_;
};
static_assert(mailbox<tile_mailbox>);

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
