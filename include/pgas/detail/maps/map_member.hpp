// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <pgas/concepts/channel.hpp>
#include <pgas/concepts/concurrent_map.hpp>
#include <pgas/concepts/policy_of_map.hpp>
#include <pgas/detail/maps/map_message.hpp>
#include <pgas/detail/process/one_per_process.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/maps/model.hpp>
#include <pgas/vocabulary/error.hpp>
#include <pgas/vocabulary/expects.hpp>
#include <pgas/vocabulary/map_servers.hpp>
#include <pgas/vocabulary/map_traits.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// Counts the clients that have ended a run of a map.
///
/// A client sends `ended` after its requests and updates, on their queue. So a rank that has received it from
/// all clients has received everything that they sent on that queue. A client may begin the next run as soon
/// as it knows that all have ended, and may end it before another rank knows that. So each rank counts the
/// runs of each client.
class map_end {
 public:
  map_end(std::span<rank_t const> clients, rank_t ranks)
      : clients_(clients.begin(), clients.end()),
        runs_(static_cast<std::size_t>(ranks)),
        missing_(clients_.size()) {}

  /// A client has ended its run.
  void ended(rank_t client) noexcept {
    if (++runs_[static_cast<std::size_t>(client)] == run_) --missing_;
  }
  [[nodiscard]] bool is_over() const noexcept { return missing_ == 0; }

  /// Begins the next run. Requires that the last one is over.
  void next_run() noexcept {
    ++run_;
    for (rank_t const client : clients_)
      if (runs_[static_cast<std::size_t>(client)] < run_) ++missing_;
  }

 private:
  std::vector<rank_t> clients_;
  std::vector<std::uint64_t> runs_;  ///< of each rank: the runs that it has ended
  std::uint64_t run_ = 1;
  std::size_t missing_;
};

/// Says that a channel carries a map, as long as the object lives. A second map on the channel would get
/// messages of the first one, so it is refused.
class map_on_channel {
 public:
  /// Throws errc::wrong_order if the channel carries another map.
  template <channel C>
  map_on_channel(C const& on, std::string_view map) : channel_(&on) {
    auto& [lock, carriers] = all();
    std::scoped_lock const held(lock);
    if (!carriers.insert(channel_).second)
      throw error(errc::wrong_order, on.rank(), map,
                  "the channel carries another map, and the messages of both would mix; destroy that map "
                  "first, or make a channel for each");
  }
  map_on_channel(map_on_channel const&) = delete;
  map_on_channel& operator=(map_on_channel const&) = delete;
  ~map_on_channel() {
    auto& [lock, carriers] = all();
    std::scoped_lock const held(lock);
    carriers.erase(channel_);
  }

 private:
  /// The channels of this process that carry maps. Ranks may be threads.
  struct registry {
    static constexpr std::string_view shared_name = "maps on channels";
    std::mutex lock;
    std::set<void const*> carriers;
  };
  static registry& all() { return one_per_process<registry>(); }

  void const* channel_;
};

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

}  // namespace PGAS_NAMESPACE::detail

namespace PGAS_NAMESPACE {

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
  /// updates only, and one is enough: the model chooses more there only to have fewer replicas.
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

/// The type of make_map's policies whose ranks share keys by messages. A header in maps/ has an algorithm,
/// and the policy of the same name: `maps::part_caching` is a class on a channel, and `part_caching` its
/// policy.
template <template <transportable, transportable, channel, class> class Algorithm>
struct map_of_messages {
  using options = map_on_options;  ///< the servers, and the costs of computations in virtual time
  template <class Key>
  using hash = key_hash<Key>;
  template <class Key>
  using equal = key_equal<Key>;
  static constexpr auto shared_by = map_shared_by::messages;
  /// The algorithm for a type of keys and values, on a channel.
  template <class Key, class Value, class Channel, class Traits>
  using on = Algorithm<Key, Value, Channel, Traits>;

  friend constexpr bool operator==(map_of_messages, map_of_messages) = default;
};

}  // namespace PGAS_NAMESPACE
