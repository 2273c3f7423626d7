// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <pgas/concepts/channel.hpp>
#include <pgas/detail/machines/timeline.hpp>
#include <vector>

namespace PGAS_NAMESPACE::detail::tile_machine {

using emulation::ticks;

/// The time of an event that does not come by itself.
inline constexpr ticks never = ~ticks{0};

/// A message on its way, or in a queue.
struct packet {
  rank_t from = 0;    ///< number in the channel's team
  ticks arrives = 0;  ///< with a clock
  std::vector<word> words;
};

struct home_queues;

/// A message with its destination.
struct letter {
  std::shared_ptr<home_queues> home;
  rank_t to = 0;
  std::size_t number = 0;  ///< of the queue
  packet what;

  /// Returns whether both are from one sender to one queue.
  [[nodiscard]] bool has_way_of(letter const& other) const noexcept {
    return home == other.home && to == other.to && number == other.number && what.from == other.what.from;
  }
};

/// A send that waits for room. The core that makes room sends the letter.
struct blocked_send {
  rank_t core = 0;  ///< that waits
  letter what;
  bool* is_sent = nullptr;
};

/// One of a core's queues of incoming messages.
///
/// The words of a message occupy the queue from the end of its send until the core has read them. The sends
/// that find no room wait in the order in which they came.
struct queue {
  std::deque<packet> arrived;  ///< with a clock also those that arrive later
  std::size_t occupied = 0;    ///< words
  std::deque<blocked_send> blocked;

  [[nodiscard]] bool has_room(std::size_t words, std::size_t of) const noexcept {
    return blocked.empty() && occupied + words <= of;
  }
  /// The time at which the first message can be read; `never` if there is none.
  [[nodiscard]] ticks next_arrival() const noexcept {
    return arrived.empty() ? never : arrived.front().arrives;
  }
};

/// The queues of the ranks of one channel, and their numbers in the job.
struct home_queues {
  static constexpr std::size_t queues = 4;

  explicit home_queues(std::vector<rank_t> cores) : members(std::move(cores)), all(members.size()) {}

  [[nodiscard]] queue& destination(letter const& l) noexcept { return of(l.to)[l.number]; }
  [[nodiscard]] std::array<queue, queues>& of(rank_t rank) noexcept {
    return all[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] rank_t core_of(rank_t rank) const noexcept { return members[static_cast<std::size_t>(rank)]; }

  std::vector<rank_t> members;
  std::vector<std::array<queue, queues>> all;
};

}  // namespace PGAS_NAMESPACE::detail::tile_machine
