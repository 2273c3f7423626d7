// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <optional>
#include <pgas/concepts/channel.hpp>
#include <pgas/platform/map_model.hpp>
#include <pgas/platform/maps/map_message.hpp>
#include <pgas/support/expects.hpp>
#include <pgas/support/text_of.hpp>
#include <pgas/vocabulary/error.hpp>
#include <string_view>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The words that a map may have under way to one client's queue of answers: those of all ranks, and those of
/// one of them. A client waits for one operation at a time, so each other client has one update under way.
struct words_of_answers {
  std::size_t of_all = 0;
  std::size_t of_one = 0;

  template <transportable Key, transportable Value>
  [[nodiscard]] static constexpr words_of_answers of(map_model::map_kind kind, std::size_t clients) noexcept {
    std::size_t const others = clients == 0 ? 0 : clients - 1;
    std::size_t const answer = 1 + message_words<Value>;
    switch (kind) {
      case map_model::map_kind::part_simple:
        return {answer, answer};
      case map_model::map_kind::part_caching: {
        std::size_t const all = answer + others * (1 + message_words<Key>);
        return {all, all};  // one server may have all keys with pending updates
      }
      case map_model::map_kind::rep_local:
      case map_model::map_kind::rep_2pc:
        return {others, 1};
      default:
        return {1, 1};
    }
  }
};

/// Refuses a map whose clients' queues of answers have no room for all that may be under way to them: ranks
/// would wait for each other's full queues, and the program would hang.
///
/// A channel says how much room its queues have: `usual_room` words for each sender, or `queue_words` for all
/// senders together. A channel that says nothing is not checked.
template <channel C>
void require_room_for_answers(C const& on, words_of_answers need, std::string_view map) {
  std::optional<std::size_t> room;
  std::size_t words = need.of_all;
  if constexpr (requires { C::usual_room; }) {
    room = C::usual_room;
    words = need.of_one;
  } else if constexpr (requires { C::queue_words; }) {
    room = C::queue_words;
  }
  if (room && words > *room)
    throw error(
        errc::invalid_argument, on.rank(), map,
        text_of({"up to ", words, " words may be under way to a client's queue of answers, which has ",
                 "room for ", *room, "; take fewer clients, or shorter keys"}));
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
