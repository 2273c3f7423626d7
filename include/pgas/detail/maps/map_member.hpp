// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <pgas/concepts/channel.hpp>
#include <pgas/concepts/concurrent_map.hpp>
#include <pgas/detail/maps/map_end.hpp>
#include <pgas/detail/maps/map_message.hpp>
#include <pgas/detail/maps/map_on_channel.hpp>
#include <pgas/detail/maps/room_of_answers.hpp>
#include <pgas/maps/model.hpp>
#include <pgas/vocabulary/map_costs.hpp>
#include <pgas/vocabulary/map_servers.hpp>
#include <pgas/vocabulary/map_traits.hpp>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS {

/// What a program may choose about a map on a channel.
struct map_on_options {
  map_servers servers{};
  map_costs costs = no_map_costs;
};

namespace detail {

/// What all maps on a channel have: the channel, its servers, their keys' hash, and the end of a run.
///
/// A map gives the messages of the asynchronous queue to a handler. The handler runs in each wait of the
/// rank, so every wait serves other ranks, and on some channels it also interrupts the client's code.
/// `serve_until` waits for what such a message changes: it holds the handler and receives the messages
/// itself, since a message that the handler has had would not end a `receive`.
template <transportable Key, transportable Value, channel C, class Traits>
class map_member {
 public:
  using key_type = Key;
  using mapped_type = Value;

  map_member(map_member const&) = delete;
  map_member& operator=(map_member const&) = delete;

  /// Whether this rank may look up and update. The others only serve.
  [[nodiscard]] bool is_client() const noexcept { return servers_.is_client(); }
  /// The number of servers of this map.
  [[nodiscard]] std::size_t number_of_servers() const noexcept { return servers_.number(); }

 protected:
  /// The words of the longest message: a first word, a number, a key and a value.
  static constexpr std::size_t most = 2 + message_words<Key> + message_words<Value>;
  static_assert(C::queues >= map_queues, "map: a map needs three queues; take a channel that has them");
  static_assert(C::most_words >= most,
                "map: a message of this channel has no room for such a key and value; take smaller types");

  using message = map_message<most>;
  using buffer = std::array<word, most>;
  using table = std::unordered_map<Key, Value, typename Traits::hash, typename Traits::equal>;

  map_member(C& channel, map_on_options options, map_model::map_kind kind, std::string_view name)
      : channel_(&channel),
        servers_(options.servers, channel.rank(), channel.size(), chosen_servers(channel, options, kind),
                 name),
        costs_(options.costs),
        end_(servers_.clients(), channel.size()),
        carried_(channel, name) {
    require_room_for_answers(channel, words_of_answers::of<Key, Value>(kind, servers_), name);
  }
  ~map_member() = default;

  /// The number of servers with which a map reaches most, by its model. A sequencer of rep_local serves
  /// updates only, and one is enough: the model takes more there only to have fewer replicas.
  static rank_t chosen_servers(C& channel, map_on_options const& options, map_model::map_kind kind) {
    if (options.servers.number != map_servers::chosen) return options.servers.number;
    if (kind == map_model::map_kind::rep_local) return 1;
    map_model::machine const machine{
        .words = lengths_of_messages<Key, Value>(kind != map_model::map_kind::part_caching)};
    map_model::workload const workload{.prepare = static_cast<double>(options.costs.pre),
                                       .access = static_cast<double>(options.costs.update)};
    return std::max(map_model::best_servers(kind, machine, workload, channel.size()).servers, 1);
  }

  /// Whether this rank's replica stands for all where one is enough.
  [[nodiscard]] bool is_first_client() const noexcept { return servers_.clients().front() == self(); }
  [[nodiscard]] rank_t self() const noexcept { return channel_->rank(); }

  /// Begins an operation on a key: refuses a rank that is no client, and takes the time of a hash.
  void begin(std::string_view operation) {
    if (!is_client())
      throw error(errc::wrong_order, self(), operation,
                  "this rank is a dedicated server of the map; call serve(), or take colocated servers");
    channel_->charge(costs_.pre);
  }
  /// Chooses the server of a key, and takes the time for that.
  [[nodiscard]] rank_t select_server(Key const& key) {
    channel_->charge(servers_.is_power_of_two() ? costs_.select_power_of_two : costs_.select_other);
    return servers_.of(typename Traits::hash{}(key));
  }

  void send(rank_t to, map_queue queue, message const& what) { channel_->send(to, queue, what); }
  received receive(map_queue queue, buffer& into) { return channel_->receive(queue, into); }

  /// Gives the messages of a queue to `on_message(from, reader)` from now on.
  template <class OnMessage>
  void handle(OnMessage on_message, map_queue queue = asynchronous) {
    channel_->handle(queue, [on_message](rank_t from, std::span<word const> words) {
      on_message(from, map_reader(words));
    });
  }
  void end_handling() { channel_->handle(asynchronous, {}); }

  /// Receives asynchronous messages, and gives them to `on_message`, until `is_done()` is true.
  template <class Condition, class OnMessage>
  void serve_until(Condition is_done, OnMessage on_message) {
    [[maybe_unused]] auto const held = channel_->hold();
    buffer words;
    while (!is_done()) {
      received const got = receive(asynchronous, words);
      on_message(got.from, map_reader(std::span<word const>(words).first(got.words)));
    }
  }

  /// Serves what has arrived, where messages do not interrupt: a client may do nothing but local lookups.
  void serve_arrived() {
    if constexpr (!C::interrupts) channel_->poll();
  }

  /// The value of a key in a table, after the time of a lookup.
  [[nodiscard]] std::optional<Value> find_in(table const& values, Key const& key) {
    channel_->charge(costs_.lookup);
    [[maybe_unused]] auto const held = channel_->hold();
    auto const found = values.find(key);
    if (found == values.end()) return std::nullopt;
    return found->second;
  }
  /// Takes the time of an update, and inserts, overwrites or erases.
  void store_in(table& values, Key const& key, std::optional<Value> const& value) {
    channel_->charge(costs_.update);
    [[maybe_unused]] auto const held = channel_->hold();
    if (value)
      values.insert_or_assign(key, *value);
    else
      values.erase(key);
  }

  /// Sends a message to many ranks, but not to this one.
  void send_to_others(std::span<rank_t const> ranks, map_queue queue, message const& what) {
    others_.clear();
    for (rank_t const rank : ranks)
      if (rank != self()) others_.push_back(rank);
    if (!others_.empty()) channel_->multicast(others_, queue, what);
  }

  /// A server's work when a client has ended its run: after the last one, it tells all clients.
  void on_ended(rank_t client) {
    end_.ended(client);
    if (!end_.is_over()) return;
    end_.next_run();
    ++runs_;
    channel_->multicast(servers_.clients(), answers, message(map_kind::ended));
  }
  /// Ends a run of a map whose clients have no replicas. A client tells the servers, and waits until each has
  /// said that all clients have ended. Requests of others go on to be served, by `on_request` on a dedicated
  /// server, and by the handler on a colocated one. Other messages on the queue of answers go to `on_answer`.
  template <class OnRequest, class OnAnswer>
  void end_with_servers(OnRequest on_request, OnAnswer on_answer) {
    if (!is_client()) {
      serve_until([this, before = runs_] { return runs_ != before; }, on_request);
      return;
    }
    send_to_others(servers_.all(), asynchronous, message(map_kind::ended));
    if (servers_.is_server(self())) {
      [[maybe_unused]] auto const held = channel_->hold();
      on_ended(self());
    }
    buffer words;
    for (std::size_t missing = number_of_servers(); missing > 0;) {
      received const got = receive(answers, words);
      map_reader const read(std::span<word const>(words).first(got.words));
      if (read.kind() == map_kind::ended)
        --missing;
      else
        on_answer(got.from, read);
    }
  }
  /// Ends a run of a map whose clients have replicas. Each waits until it has had all updates.
  template <class OnMessage>
  void end_with_replicas(std::span<rank_t const> all, OnMessage on_message) {
    if (is_client()) {
      send_to_others(all, asynchronous, message(map_kind::ended));
      [[maybe_unused]] auto const held = channel_->hold();
      end_.ended(self());
    }
    serve_until([this] { return end_.is_over(); }, on_message);
    end_.next_run();
  }

  C* channel_;
  placed_servers servers_;
  map_costs costs_;
  map_end end_;

 private:
  map_on_channel carried_;
  std::uint64_t runs_ = 0;      ///< the runs that all clients have ended, as this server knows
  std::vector<rank_t> others_;  ///< receivers of a message, in memory that is used again
};

}  // namespace detail
}  // namespace pgas::inline PGAS_ASSERTIONS
