// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <pgas/concepts/control.hpp>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/vocabulary/error.hpp>
#include <pgas/vocabulary/rank.hpp>

namespace PGAS_NAMESPACE {

/// The executor of a one-sided operation at its target, and the reader of a protocol's message.
enum class progress {
  hardware,  ///< the memory system
  agent,     ///< a thread that the backend keeps for each rank
  polled,    ///< the target's next blocking call
};

namespace detail {

/// Throws errc::invalid_argument for a message that exceeds the longest one of a mailbox.
[[noreturn, gnu::cold, gnu::noinline]] inline void throw_too_long(rank_t self, std::size_t bytes,
                                                                  std::size_t longest) {
  throw error(errc::invalid_argument, self, "try_send",
              text_of({bytes, " bytes exceed the largest message, ", longest}));
}

}  // namespace detail

/// A mailbox carries short messages between the ranks of a team, for protocols that consist of messages.
///
/// Messages are bounded, never lost, and ordered from each sender to each receiver. `try_send(to, bytes)`
/// sends at most `max_message_bytes`. It returns false, and sends nothing, if the mailbox has no room.
/// `poll(handler)` calls handler(from, bytes) for messages that have arrived: at least one from each sender
/// that has sent any. It returns the number of calls. A handler may send; it must not poll.
/// `serve(service)` makes this rank progress while it waits, until the mailbox is destroyed. Each wait of
/// this rank's thread calls service() if a message may have arrived, or if room may have come back after a
/// try_send that returned false. The wait then looks at its condition again. Waits are those of every control
/// of the backend, `pause`, and the start and end of the job. A service may poll and send; it must not wait.
/// An empty service ends this.
template <class M>
concept mailbox =
    std::movable<M> && requires(M& m, rank_t to, bytes_in message, void (*handler)(rank_t, bytes_in),
                                std::function<void()> service) {
      { m.try_send(to, message) } -> std::same_as<bool>;
      { m.poll(handler) } -> std::same_as<std::size_t>;
      m.serve(service);
      { M::max_message_bytes } -> std::convertible_to<std::size_t>;
    };

/// A mailbox in whose memory a small word is a message of a single store.
///
/// `try_send_word(to, w)` is try_send of a word of at most `most_word`, in order with the other messages.
/// `try_send_close_word(to, w)` is the same for a word that often follows another one at once, as a request
/// follows the release before it. Such words lie in one line, so that they arrive together, and a receiver
/// that polls one has the line of the next. So will_send below serves only other words. A handler of this
/// mailbox takes (from, w) for these messages. `poll_from(from, looks, handler)` polls that many times for a
/// message of one sender, handles at most one, and returns whether there was one. It does not poll a later
/// message, whose line the sender may be writing already. `will_send(to)` says that the following wait ends
/// with a message to `to`; the mailbox then requests that message's line during the wait.
template <class M>
concept mailbox_of_words =
    mailbox<M> && requires(M& m, rank_t rank, word w, void (*handler)(rank_t, bytes_in)) {
      { M::most_word } -> std::convertible_to<word>;
      { m.try_send_word(rank, w) } -> std::same_as<bool>;
      { m.try_send_close_word(rank, w) } -> std::same_as<bool>;
      { m.poll_from(rank, 1, handler) } -> std::same_as<bool>;
      { m.will_send(rank) } noexcept;
    };

/// The receiver of one protocol's messages: a function, and the state that it is called with.
struct message_receiver {
  void (*receive)(void* state, rank_t from, word message) = nullptr;  ///< may send, must not wait
  void* state = nullptr;                                              ///< the first argument of `receive`
  bool is_close = false;  ///< its words often follow each other at once: see mailbox_of_words
};

/// A post office sorts the messages of one mailbox to the protocols of a window. A message is one word.
///
/// `open(receiver)` gives a protocol a line, numbered in the same order on every rank; `close(line)` ends it.
/// `try_send(to, line, message)` returns false if the mailbox has no room. `send_later(to, line, message)`
/// keeps a message that finds no room, and sends it in a later poll. `poll()` sends what was kept, and gives
/// the messages that have arrived to their receivers. While this rank waits, the mailbox's service polls.
/// `expect(from)` is a quick poll at the beginning of a wait for a message of one rank, and returns whether
/// it found one. `will_send(to)` is that of the mailbox. Where the mailbox has no such operation, both do
/// nothing.
template <class O>
concept post_office = requires(O& o, rank_t to, std::size_t line, word message, message_receiver receiver) {
  { o.open(receiver) } -> std::same_as<std::size_t>;
  o.close(line);
  { o.try_send(to, line, message) } -> std::same_as<bool>;
  o.send_later(to, line, message);
  o.poll();
  { o.expect(to, 1) } -> std::same_as<bool>;
  o.will_send(to);
};

/// A control beside which the same ranks have a post office: the control of a window whose protocols are
/// mailed. Its waits progress.
template <class C>
concept mailing_control = control<C> && requires(C& c) {
  { c.office() } -> post_office;
};

}  // namespace PGAS_NAMESPACE
