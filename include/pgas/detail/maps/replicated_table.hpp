// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <pgas/concepts/channel.hpp>
#include <pgas/detail/maps/map_member.hpp>
#include <pgas/detail/maps/map_message.hpp>
#include <pgas/vocabulary/map_servers.hpp>
#include <span>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// Delivers messages to all ranks in one order for each sequencer.
///
/// A sender asks the sequencer for a number, and sends the message with it to all others. Each rank keeps
/// messages back until it has delivered those with lower numbers. A rank that sends nothing delays nobody.
///
/// Messages  a request and an answer; then one to each other receiver.
/// Memory    messages whose predecessors have not arrived.
/// Source    the fixed-sequencer atomic broadcast of Shahmirzadi 2014, section 3.4.2, in which the sender
///           broadcasts.
/// Differs   The thesis has no hold-back queue, but messages of different senders arrive in any order. Each
///           sequencer has numbers of its own, and so each rank counts the deliveries of each sequencer.
///
/// `on_message` must get the messages of the asynchronous queue whose kinds it knows, on sequencers and
/// receivers. It calls `deliver(from, sequencer, number, payload)`, which may send but not broadcast.
template <channel C>
class atomic_broadcast {
 public:
  using deliver_function = std::function<void(rank_t, std::size_t, word, std::span<word const>)>;

  /// The ranks `sequencers` give numbers, and all `receivers` but this rank get messages of this rank. This
  /// rank's own ones need no message.
  atomic_broadcast(C& channel, std::span<rank_t const> sequencers, std::span<rank_t const> receivers,
                   deliver_function deliver)
      : channel_(&channel),
        sequencers_(sequencers.begin(), sequencers.end()),
        streams_(sequencers.size()),
        deliver_(std::move(deliver)) {
    for (rank_t const rank : receivers)
      if (rank != channel.rank()) others_.push_back(rank);
  }

  /// Asks a sequencer for the number of this rank's next message, 1 for the first of all.
  [[nodiscard]] word next_number(std::size_t sequencer) { return ask(sequencer, map_kind::next_number); }
  /// Asks a sequencer for the last number that it gave.
  [[nodiscard]] word last_number(std::size_t sequencer) { return ask(sequencer, map_kind::last_number); }

  /// Sends a message that has a number, and delivers it here as soon as its predecessors have been delivered.
  void broadcast(std::size_t sequencer, word number, std::span<word const> payload) {
    message_.clear();
    message_.push_back(static_cast<word>(map_kind::numbered) | static_cast<word>(sequencer) << 8U);
    message_.push_back(number);
    message_.insert(message_.end(), payload.begin(), payload.end());
    if (!others_.empty()) channel_->multicast(others_, asynchronous, message_);
    [[maybe_unused]] auto const held = channel_->hold();
    arrived(channel_->rank(), sequencer, number, payload);
  }

  /// The number up to which this rank has delivered all messages of a sequencer.
  [[nodiscard]] word delivered(std::size_t sequencer) const noexcept { return streams_[sequencer].delivered; }
  /// The messages that wait for others with lower numbers.
  [[nodiscard]] std::size_t held_back() const noexcept {
    std::size_t all = 0;
    for (stream const& s : streams_) all += s.held.size();
    return all;
  }

  /// Takes a message if it belongs to this broadcast, and returns whether it does.
  bool on_message(rank_t from, map_reader read) {
    switch (read.kind()) {
      case map_kind::next_number:
        answer(from, ++last_number_);
        return true;
      case map_kind::last_number:
        answer(from, last_number_);
        return true;
      case map_kind::numbered: {
        word const number = read.next();
        arrived(from, read.number(), number, read.rest());
        return true;
      }
      default:
        return false;
    }
  }

 private:
  struct message {
    rank_t from;
    std::vector<word> payload;
  };
  /// The messages of one sequencer.
  struct stream {
    word delivered = 0;
    std::map<word, message> held;  ///< by number
  };

  word ask(std::size_t sequencer, map_kind kind) {
    rank_t const to = sequencers_[sequencer];
    if (to == channel_->rank()) {
      [[maybe_unused]] auto const held = channel_->hold();
      return kind == map_kind::next_number ? ++last_number_ : last_number_;
    }
    channel_->send(to, asynchronous, map_message<1>(kind));
    std::array<word, 1> number{};
    channel_->receive(answers, number);
    return number[0];
  }
  void answer(rank_t to, word number) {
    std::array<word, 1> const words{number};
    channel_->send(to, answers, words);
  }

  void arrived(rank_t from, std::size_t sequencer, word number, std::span<word const> payload) {
    stream& s = streams_[sequencer];
    if (number != s.delivered + 1) {
      s.held.emplace(number, message{from, {payload.begin(), payload.end()}});
      return;
    }
    deliver(s, from, sequencer, number, payload);
    while (!s.held.empty() && s.held.begin()->first == s.delivered + 1) {
      auto const next = s.held.extract(s.held.begin());
      deliver(s, next.mapped().from, sequencer, next.key(), next.mapped().payload);
    }
  }
  void deliver(stream& s, rank_t from, std::size_t sequencer, word number, std::span<word const> payload) {
    deliver_(from, sequencer, number, payload);
    // The message counts only now: a rank may wait for its effect.
    ++s.delivered;
  }

  C* channel_;
  std::vector<rank_t> sequencers_;
  std::vector<rank_t> others_;
  std::vector<stream> streams_;  ///< of each sequencer
  word last_number_ = 0;         ///< the last number that this rank gave as a sequencer
  std::vector<word> message_;
  deliver_function deliver_;
};

/// A table on each client that changes by an atomic broadcast: what rep_remote and rep_sc have in common.
template <transportable Key, transportable Value, channel C, class Traits>
class replicated_table : public map_member<Key, Value, C, Traits> {
  using base = map_member<Key, Value, C, Traits>;

 public:
  ~replicated_table() { this->end_handling(); }

  /// Collective: ends a run. Each rank serves until all clients have called it, and then has all updates.
  void serve() { this->end_with_replicas(everyone_, receiver()); }

  /// Calls use(key, value) for each pair that this rank keeps for all. One-sided; the first client keeps all.
  template <class Use>
  void for_each_kept(Use&& use) const {
    if (this->is_first_client())
      for (auto const& [key, value] : values_) use(key, value);
  }

 protected:
  replicated_table(C& channel, map_on_options options, map_model::map_kind kind, std::string_view name)
      : base(channel, options, kind, name),
        broadcast_(channel, this->servers_.all(), this->servers_.clients(),
                   [this](rank_t, std::size_t, word, std::span<word const> payload) { apply(payload); }) {
    for (rank_t rank = 0; rank < channel.size(); ++rank) everyone_.push_back(rank);
    if (this->is_client()) this->handle(receiver());
  }

  /// Numbers an update and sends it to all clients. Returns the sequencer and the number.
  std::pair<std::size_t, word> send_update(Key const& key, std::optional<Value> const& value) {
    auto const sequencer = static_cast<std::size_t>(this->select_server(key));
    word const number = broadcast_.next_number(sequencer);
    std::array<word, message_words<Key> + message_words<Value>> payload;
    write_value(payload, key);
    if (value) write_value(std::span(payload).subspan(message_words<Key>), *value);
    std::size_t const words = message_words<Key> + (value ? message_words<Value> : 0);
    broadcast_.broadcast(sequencer, number, std::span<word const>(payload).first(words));
    return {sequencer, number};
  }
  /// Waits until this replica has applied all updates up to a number.
  void wait_for(std::size_t sequencer, word number) {
    this->serve_until([&] { return broadcast_.delivered(sequencer) >= number; }, receiver());
  }

  typename base::table values_;
  atomic_broadcast<C> broadcast_;

 private:
  auto receiver() {
    return [this](rank_t from, map_reader read) {
      if (!broadcast_.on_message(from, read)) this->end_.ended(from);
    };
  }
  void apply(std::span<word const> payload) {
    Key const key = read_value<Key>(payload);
    if (payload.size() == message_words<Key>) return this->store_in(values_, key, std::nullopt);
    this->store_in(values_, key, read_value<Value>(payload.subspan(message_words<Key>)));
  }

  std::vector<rank_t> everyone_;
};

}  // namespace PGAS_NAMESPACE::detail
