// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>
#include <pgas/detail/maps/map_member.hpp>
#include <pgas/detail/maps/map_message.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// What a client asks a server for: the value of a key, or to change it.
template <class Key, class Value>
struct map_request {
  rank_t from;
  Key key;
  bool is_lookup;
  std::optional<Value> value;  ///< of an update; nothing erases
};

/// The keys of a server whose clients keep copies.
///
/// States    A key is free, or an update of it is pending until all clients with a copy have dropped it.
///           Requests for a key with a pending update wait in their order; those for other keys do not.
///           At most `most_under_way` updates invalidate copies at a time. A further one is held: its key is
///           blocked, but its invalidations wait until another update ends. So the messages under way to a
///           client have room in its queue, and this server never waits in a send.
/// Order     The set of clients with a copy is empty when an update has been applied. The next update needs
///           no message to a client that has not looked the key up since.
///
/// `Server` carries out what these steps ask for: `server.answer(request, value)` and
/// `server.invalidate(ranks, number, key)`. `server.keeps_copy(rank)` says whether a client keeps a copy of
/// what it looks up here. `server.take_time_to_read()` and `server.take_time_to_write()` charge for an
/// access.
template <class Key, class Value, class Traits>
class invalidating_server {
  using request = map_request<Key, Value>;

 public:
  /// The updates that may invalidate copies at a time, where queues have room for any number.
  static constexpr std::size_t any_number = ~std::size_t{0};

  explicit invalidating_server(std::size_t most_under_way = any_number) noexcept
      : most_under_way_(most_under_way) {}

  template <class Server>
  void on_request(request const& r, Server& server) {
    entry& e = entries_[r.key];
    if (e.pending != 0) {
      e.waiting.push_back(r);
      return;
    }
    carry_out(e, r, server);
  }

  /// A client has dropped its copy, as the pending update with this number asked it to.
  template <class Server>
  void on_invalidated(word number, Server& server) {
    auto const found = pending_.find(number);
    if (--found->second.missing > 0) return;
    pending const done = std::move(found->second);
    pending_.erase(found);
    entry& e = entries_.find(done.update.key)->second;
    e.pending = 0;
    apply(e, done.update, server);
    if (!held_.empty()) {
      word const next = held_.front();
      held_.pop_front();
      invalidate(next, server);
    }
    while (e.pending == 0 && !e.waiting.empty()) {
      request const next = e.waiting.front();
      e.waiting.pop_front();
      carry_out(e, next, server);
    }
    // An absent key whose copies are gone needs no memory.
    if (!e.value && e.copies.empty() && e.pending == 0) entries_.erase(done.update.key);
  }

  /// Calls use(key, value) for each key that is present.
  template <class Use>
  void for_each(Use&& use) const {
    for (auto const& [key, its] : entries_)
      if (its.value) use(key, *its.value);
  }

 private:
  struct entry {
    std::optional<Value> value;
    std::vector<rank_t> copies;   ///< the clients with a copy: the invalidation set
    word pending = 0;             ///< the number of the pending update, or 0
    std::deque<request> waiting;  ///< requests that came after it
  };
  struct pending {
    request update;
    std::size_t missing = 0;  ///< the clients that may still have a copy
  };

  template <class Server>
  void carry_out(entry& e, request const& r, Server& server) {
    if (r.is_lookup) {
      server.take_time_to_read();
      if (server.keeps_copy(r.from) && std::find(e.copies.begin(), e.copies.end(), r.from) == e.copies.end())
        e.copies.push_back(r.from);
      server.answer(r, e.value);
      return;
    }
    if (e.copies.empty()) return apply(e, r, server);
    e.pending = ++last_number_;
    pending_.emplace(e.pending, pending{r});
    if (pending_.size() - held_.size() > most_under_way_) {
      held_.push_back(e.pending);
      return;
    }
    invalidate(e.pending, server);
  }
  /// Asks the clients to drop their copies. They stay listed until they are gone: a send may wait, and an
  /// answer must not overtake it.
  template <class Server>
  void invalidate(word number, Server& server) {
    pending& what = pending_.find(number)->second;
    auto const& copies = entries_.find(what.update.key)->second.copies;
    what.missing = copies.size();
    server.invalidate(std::span<rank_t const>(copies), number, what.update.key);
  }
  template <class Server>
  void apply(entry& e, request const& r, Server& server) {
    e.copies.clear();
    server.take_time_to_write();
    e.value = r.value;
    server.answer(r, std::nullopt);
  }

  std::unordered_map<Key, entry, typename Traits::hash, typename Traits::equal> entries_;
  std::unordered_map<word, pending> pending_;  ///< by number
  std::deque<word> held_;                      ///< the numbers of pending updates that are held
  word last_number_ = 0;
  std::size_t most_under_way_;
};

}  // namespace PGAS_NAMESPACE::detail

namespace PGAS_NAMESPACE::maps {

/// Keys are spread over servers, and clients keep copies of what they look up. An update waits until all
/// clients have dropped their copies.
///
/// Messages  none for a lookup that finds a copy, else a request and an answer. An update is a request and an
///           answer, and for each copy an invalidation and its acknowledgment.
/// Memory    each key once, and once on each client that has looked it up since its last update.
/// Waits     A lookup without a copy waits for the server, and for a pending update of its key. An update
///           waits for all clients with a copy.
/// States    Of a copy: none, asked for, present. A copy of an absent key is present, too.
/// Source    PART_CACHING (Shahmirzadi 2014, algorithms 9 and 10, theorem 3.4.2). It is linearizable: while
///           an update of a key is pending its server gives no copies, so no old copy outlives the update.
/// Differs   The listing does not say that a key is blocked while its update is pending, nor that copies are
///           forgotten, and it marks a dropped copy as an absent key. On the thesis' machine invalidations
///           and answers use different queues, and an invalidation may overtake the answer with the copy.
///           Here both use the queue of answers. While a client waits there, it serves invalidations, its own
///           among them. The thesis does not treat full queues. Here an update waits at its server until its
///           invalidations and their acknowledgments have room, so no handler waits in a send.
///
/// A client's queue of answers must have room for an answer, and for an invalidation of each server. A queue
/// of a colocated server must have room for a word of each other client. Collective: all ranks of the channel
/// make the map, with the same options, and destroy it after `serve()`. They meet before the channel carries
/// anything else.
template <transportable Key, transportable Value, channel C, class Traits = map_traits<Key>>
class part_caching : public detail::map_member<Key, Value, C, Traits> {
  using base = detail::map_member<Key, Value, C, Traits>;
  using kind = detail::map_kind;
  using typename base::buffer;
  using typename base::message;

 public:
  static constexpr std::string_view name = "part_caching";
  static constexpr consistency promises = consistency::linearizable;

  /// Collective: makes the map on a channel, which must outlive it.
  /// Throws errc::invalid_argument if the ranks have no room for the servers.
  explicit part_caching(C& channel, map_on_options options = {})
      : base(channel, options, map_model::map_kind::part_caching, name),
        server_(detail::updates_under_way<Key, Value>(channel, this->servers_)),
        is_colocated_(this->is_client() && this->servers_.is_server(this->self())),
        acknowledgments_(this->servers_.are_colocated() ? detail::from_handlers : detail::asynchronous) {
    if (is_colocated_) this->handle(on_request());
    if (is_colocated_) this->handle(on_request(), detail::from_handlers);
    if (this->is_client()) handle_answers();
  }
  ~part_caching() {
    for (auto const queue : {detail::asynchronous, detail::answers, detail::from_handlers})
      this->channel_->handle(queue, {});
  }

  [[nodiscard]] std::optional<Value> lookup(Key const& key) {
    this->begin("lookup");
    this->channel_->charge(this->costs_.lookup);
    this->serve_arrived();
    ++lookups_;
    {
      [[maybe_unused]] auto const held = this->channel_->hold();
      if (auto const copy = copies_.find(key); copy != copies_.end()) {
        ++hits_;
        return copy->second;
      }
    }
    ask({this->self(), key, true, {}});
    return answer_;
  }
  void update(Key const& key, Value const& value) { change(key, value); }
  void erase(Key const& key) { change(key, std::nullopt); }

  /// Collective: ends a run. A server serves until all clients have called it. A client drops copies until
  /// then, as other clients need it.
  void serve() {
    listen([this] { this->end_with_servers(on_request(), on_answer()); });
  }

  /// Calls use(key, value) for each pair that this rank keeps for all. One-sided; a server keeps its keys.
  template <class Use>
  void for_each_kept(Use&& use) const {
    server_.for_each(use);
  }

  /// The lookups of this rank.
  [[nodiscard]] std::uint64_t lookups() const noexcept { return lookups_; }
  /// The lookups of this rank that found a copy.
  [[nodiscard]] std::uint64_t hits() const noexcept { return hits_; }
  /// The invalidations that this rank has received.
  [[nodiscard]] std::uint64_t invalidations() const noexcept { return invalidations_; }

 private:
  using request = detail::map_request<Key, Value>;
  using server_type = detail::invalidating_server<Key, Value, Traits>;
  friend server_type;

  // The client

  void change(Key const& key, std::optional<Value> const& value) {
    this->begin(value ? "update" : "erase");
    ask({this->self(), key, false, value});
  }
  /// Sends a request to the server of its key, and waits for the answer.
  void ask(request const& r) {
    rank_t const server = this->select_server(r.key);
    asked_ = &r;
    is_answered_ = false;
    if (server == this->self()) {
      [[maybe_unused]] auto const held = this->channel_->hold();
      is_asking_itself_ = true;
      server_.on_request(r, *this);
      is_asking_itself_ = false;
    } else {
      this->send(server, detail::asynchronous,
                 message(r.is_lookup ? kind::lookup : kind::update).add_value(r.key).add_value(r.value));
    }
    if (!is_answered_) listen([this] { wait_for_answer(); });
    asked_ = nullptr;
  }
  void wait_for_answer() {
    buffer words;
    while (!is_answered_) {
      received const got = this->receive(detail::answers, words);
      on_answer()(got.from, detail::map_reader(std::span<word const>(words).first(got.words)));
    }
  }
  void accept(std::optional<Value> const& value, bool keeps_copy) {
    if (asked_->is_lookup && keeps_copy) {
      this->channel_->charge(this->costs_.update);
      copies_.insert_or_assign(asked_->key, value);
    }
    answer_ = value;
    is_answered_ = true;
  }
  void drop_copy(rank_t server, Key const& key, word number) {
    this->channel_->charge(this->costs_.update);
    ++invalidations_;
    copies_.erase(key);
    this->send(server, acknowledgments_, message(kind::invalidated, number));
  }
  auto on_answer() {
    return [this](rank_t from, detail::map_reader read) {
      if (read.kind() == kind::answer) {
        bool const keeps = keeps_copy(from);  // not from this rank itself
        return accept(read.template last_value<Value>(), keeps);
      }
      word const number = read.number();
      drop_copy(from, read.template value<Key>(), number);
    };
  }
  /// Lets a handler have the messages on the queue of answers, outside of the waits for an answer.
  void handle_answers() {
    this->channel_->handle(detail::answers, [this](rank_t from, std::span<word const> words) {
      on_answer()(from, detail::map_reader(words));
    });
  }
  /// Waits in a function that receives answers, which the handler must therefore leave in their queue. A
  /// colocated server goes on to handle requests meanwhile.
  template <class Wait>
  void listen(Wait wait) {
    if (is_colocated_) {
      this->channel_->handle(detail::answers, {});
      wait();
      handle_answers();
    } else {
      [[maybe_unused]] auto const held = this->channel_->hold();
      wait();
    }
  }

  // The server

  auto on_request() {
    return [this](rank_t from, detail::map_reader read) {
      word const number = read.number();
      switch (read.kind()) {
        case kind::ended:
          return this->on_ended(from);
        case kind::invalidated:
          return server_.on_invalidated(number, *this);
        default: {
          bool const is_lookup = read.kind() == kind::lookup;
          Key const key = read.template value<Key>();
          return server_.on_request({from, key, is_lookup, read.template last_value<Value>()}, *this);
        }
      }
    };
  }
  [[nodiscard]] bool keeps_copy(rank_t client) const noexcept { return client != this->self(); }
  void answer(request const& r, std::optional<Value> const& value) {
    if (is_asking_itself_ && r.from == this->self()) return accept(value, false);
    this->send(r.from, detail::answers, message(kind::answer).add_value(value));
  }
  void invalidate(std::span<rank_t const> clients, word number, Key const& key) {
    this->channel_->multicast(clients, detail::answers, message(kind::invalidate, number).add_value(key));
  }
  void take_time_to_read() { this->channel_->charge(this->costs_.lookup); }
  void take_time_to_write() { this->channel_->charge(this->costs_.update); }

  server_type server_;
  bool is_colocated_;
  detail::map_queue acknowledgments_;  ///< a dedicated server receives from one queue only

  std::unordered_map<Key, std::optional<Value>, typename Traits::hash, typename Traits::equal> copies_;
  request const* asked_ = nullptr;  ///< this client's request
  bool is_answered_ = false;
  bool is_asking_itself_ = false;  ///< this client's request is before this rank's server
  std::optional<Value> answer_;
  std::uint64_t lookups_ = 0;
  std::uint64_t hits_ = 0;
  std::uint64_t invalidations_ = 0;
};

}  // namespace PGAS_NAMESPACE::maps

namespace PGAS_NAMESPACE {

/// The policy of this algorithm: `make_map<Key, Value, pgas::part_caching>(team)`.
inline constexpr map_of_messages<maps::part_caching> part_caching{};

}  // namespace PGAS_NAMESPACE
