// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <pgas/concepts/channel.hpp>
#include <pgas/detail/maps/map_message.hpp>
#include <pgas/detail/text/text_of.hpp>
#include <pgas/maps/model.hpp>
#include <pgas/vocabulary/error.hpp>
#include <pgas/vocabulary/expects.hpp>
#include <pgas/vocabulary/map_servers.hpp>
#include <string_view>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The room of a queue of a channel, in words: for all senders together, or for each of them.
struct room_of_queue {
  std::size_t words = 0;
  bool is_of_each_sender = false;
};

/// The room of each queue of a channel, or nothing where the channel does not say. `usual_room` is the room
/// for each sender, and `queue_words()` that for all senders together.
template <channel C>
[[nodiscard]] std::optional<room_of_queue> room_of_queues([[maybe_unused]] C const& on) noexcept {
  if constexpr (requires { C::usual_room; }) {
    return room_of_queue{C::usual_room, true};
  } else if constexpr (requires { on.queue_words(); }) {
    return room_of_queue{on.queue_words(), false};
  } else {
    return std::nullopt;
  }
}

/// The words that a map may have under way to one client's queue of answers: those of all ranks, and those of
/// one of them. A client waits for one operation at a time, so each other client has one update under way.
struct words_of_answers {
  std::size_t of_all = 0;
  std::size_t of_one = 0;

  template <transportable Key, transportable Value>
  [[nodiscard]] static constexpr words_of_answers of(map_model::map_kind kind,
                                                     placed_servers const& servers) noexcept {
    std::size_t const clients = servers.clients().size();
    std::size_t const others = clients == 0 ? 0 : clients - 1;
    std::size_t const answer = 1 + message_words<Value>;
    std::size_t const invalidation = 1 + message_words<Key>;
    switch (kind) {
      case map_model::map_kind::part_simple:
        return {answer, answer};
      case map_model::map_kind::part_caching: {  // a server holds updates whose invalidations have no room
        std::size_t const acknowledgments = servers.are_colocated() ? others : 0;
        return {std::max(answer + servers.number() * invalidation, acknowledgments), answer + invalidation};
      }
      case map_model::map_kind::rep_local:
      case map_model::map_kind::rep_2pc:
        return {others, 1};
      default:
        return {1, 1};
    }
  }
};

/// The updates that a server of part_caching may have under way at a time. Any number, where the channel says
/// nothing.
///
/// Their invalidations have room in each client's queue of answers, beside an answer. At a colocated server
/// their acknowledgments, a word from each client, have room in the queue `from_handlers`.
/// Requires what require_room_for_answers requires.
template <transportable Key, transportable Value, channel C>
[[nodiscard]] std::size_t updates_under_way(C const& on, placed_servers const& servers) noexcept {
  auto const room = room_of_queues(on);
  if (!room) return ~std::size_t{0};
  std::size_t const invalidations = (room->words - 1 - message_words<Value>) / (1 + message_words<Key>);
  if (room->is_of_each_sender) return std::min(invalidations, room->words);
  std::size_t const updates = invalidations / servers.number();
  if (!servers.are_colocated()) return updates;
  return std::min(updates, room->words / std::max<std::size_t>(servers.clients().size() - 1, 1));
}

/// Refuses a map whose clients' queues of answers have no room for all that may be under way to them: ranks
/// would wait for each other's full queues, and the program would hang.
template <channel C>
void require_room_for_answers(C const& on, words_of_answers need, std::string_view map) {
  auto const room = room_of_queues(on);
  if (!room) return;
  std::size_t const words = room->is_of_each_sender ? need.of_one : need.of_all;
  if (words > room->words)
    throw error(
        errc::invalid_argument, on.rank(), map,
        text_of({"up to ", words, " words may be under way to a client's queue of answers, which has ",
                 "room for ", room->words, "; take fewer ranks, or shorter keys and values"}));
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
