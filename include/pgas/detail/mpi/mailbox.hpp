// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <functional>
#include <memory>
#include <pgas/concepts/mailbox.hpp>
#include <pgas/detail/job/ranks.hpp>
#include <pgas/detail/job/service.hpp>
#include <pgas/detail/mpi/letters.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/vocabulary/error.hpp>
#include <utility>

namespace PGAS_NAMESPACE::detail::mpi {

/// A mailbox of processes of MPI, whose letters a `Carrier` brings: `letters`, or the wire of `cluster`.
///
/// A rank has room for 16 letters at each other rank, and learns from messages of the receiver that there is
/// room again. No call waits. Memory: that of its letter_box, so it grows with the ranks that this one writes
/// to.
template <class Carrier>
class mailbox {
 public:
  static constexpr std::size_t max_message_bytes = letter_box::longest;

  mailbox(std::shared_ptr<Carrier> by, job const& mine, std::uint64_t number, team_ranks const& ranks)
      : here_(std::make_unique<place>(std::move(by), mine, number, ranks)) {}

  /// Sends if the receiver has room, and if no change by this rank of a third rank's word is under way, since
  /// the receiver must find such a change. Throws errc::invalid_argument if the message exceeds
  /// max_message_bytes.
  [[nodiscard]] bool try_send(rank_t to, bytes_in message) {
    if (message.size() > max_message_bytes)
      throw_too_long(here_->mine.rank(), message.size(), max_message_bytes);
    if (!here_->may_send(to)) {
      here_->by->poll();
      if (!here_->may_send(to)) return false;
    }
    letter_head const head = here_->head(here_->box.begin_letter(to));
    if (to == here_->ranks.self()) {
      here_->box.arrive(to, message);
      here_->box.regain_room(to, head.room);
    } else {
      here_->by->send(here_->ranks.to_world(to), head, message);
    }
    return true;
  }

  /// Handles the messages that have arrived, in each sender's order; returns their number.
  template <class Handler>
  std::size_t poll(Handler&& handler) {
    here_->by->poll();
    std::size_t const count = here_->box.count();
    for (std::size_t i = 0; i < count; ++i) {
      auto const letter = here_->box.take();
      if (std::uint64_t const room = here_->box.end_debt(letter.from); room != 0) {
        if (letter.from == here_->ranks.self()) {
          here_->box.regain_room(letter.from, room);
        } else {
          here_->by->send_room(here_->ranks.to_world(letter.from), here_->head(room));
        }
      }
      handler(letter.from, bytes_in(letter.bytes));
    }
    return count;
  }

  /// Calls `what` while this rank waits.
  void serve(std::function<void()> what) {
    service_.reset();
    if (what != nullptr) service_ = std::make_unique<service>(here_->mine.block(), nullptr, std::move(what));
  }

 private:
  /// This rank's side, which the carrier finds by its number.
  struct place {
    place(std::shared_ptr<Carrier> carrier, job const& j, std::uint64_t n, team_ranks const& team)
        : by(std::move(carrier)), mine(j), number(n), ranks(team) {
      by->add(number, box);
    }
    place(place const&) = delete;
    place& operator=(place const&) = delete;
    ~place() { by->remove(number); }

    [[nodiscard]] bool may_send(rank_t to) {
      return box.has_room(to) && (to == ranks.self() || by->is_settled(ranks.to_world(to)));
    }
    [[nodiscard]] letter_head head(std::uint64_t room) const noexcept {
      return {.box = number, .from = static_cast<std::uint64_t>(ranks.self()), .room = room};
    }

    std::shared_ptr<Carrier> by;
    job mine;
    std::uint64_t number;
    team_ranks ranks;
    letter_box box;
  };

  std::unique_ptr<place> here_;
  std::unique_ptr<service> service_;
};

}  // namespace PGAS_NAMESPACE::detail::mpi
