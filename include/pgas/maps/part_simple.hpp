// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/detail/maps/map_member.hpp>

namespace PGAS_NAMESPACE::maps {

/// Keys are spread over servers, and each operation asks the server of its key.
///
/// Messages  a request and an answer for each operation.
/// Memory    each key once.
/// Waits     for the server. A colocated server answers in its own waits, and when a message interrupts it.
/// Source    PART_SIMPLE (Shahmirzadi 2014, algorithms 2 and 3). It is linearizable: a client waits for each
///           answer, and one server orders all operations on a key.
/// Differs   A request of a colocated server to itself needs no message.
///
/// Collective: all ranks of the channel make the map, with the same options, and destroy it after `serve()`.
/// They meet before the channel carries anything else.
template <transportable Key, transportable Value, channel C, class Traits = map_traits<Key>>
class part_simple : public detail::map_member<Key, Value, C, Traits> {
  using base = detail::map_member<Key, Value, C, Traits>;
  using kind = detail::map_kind;
  using typename base::buffer;
  using typename base::message;

 public:
  static constexpr std::string_view name = "part_simple";
  static constexpr consistency promises = consistency::linearizable;

  /// Collective: makes the map on a channel, which must outlive it.
  /// Throws errc::invalid_argument if the ranks have no room for the servers.
  explicit part_simple(C& channel, map_on_options options = {})
      : base(channel, options, map_model::map_kind::part_simple, name) {
    if (this->is_client() && this->servers_.is_server(this->self()))
      this->handle([this](rank_t from, detail::map_reader read) { on_request(from, read); });
  }
  ~part_simple() { this->end_handling(); }

  [[nodiscard]] std::optional<Value> lookup(Key const& key) {
    this->begin("lookup");
    rank_t const server = this->select_server(key);
    if (server == this->self()) return this->find_in(values_, key);
    this->send(server, detail::asynchronous, message(kind::lookup).add_value(key));
    buffer words;
    received const got = this->receive(detail::answers, words);
    return detail::map_answer<Value>::read(std::span<word const>(words).first(got.words));
  }
  void update(Key const& key, Value const& value) { change(key, value); }
  void erase(Key const& key) { change(key, std::nullopt); }

  /// Collective: ends a run. A server serves until all clients have called it.
  void serve() {
    auto const on_message = [this](rank_t from, detail::map_reader read) { on_request(from, read); };
    this->end_with_servers(on_message, [](rank_t, detail::map_reader) {});
  }

  /// Calls use(key, value) for each pair that this rank keeps for all. One-sided; a server keeps its keys.
  template <class Use>
  void for_each_kept(Use&& use) const {
    for (auto const& [key, value] : values_) use(key, value);
  }

 private:
  void change(Key const& key, std::optional<Value> const& value) {
    this->begin(value ? "update" : "erase");
    rank_t const server = this->select_server(key);
    if (server == this->self()) return this->store_in(values_, key, value);
    this->send(server, detail::asynchronous, message(kind::update).add_value(key).add_value(value));
    buffer words;
    this->receive(detail::answers, words);
  }

  /// A server's work for a message. It answers an update before it stores the value, since the next request
  /// waits for both.
  void on_request(rank_t from, detail::map_reader read) {
    if (read.kind() == kind::ended) return this->on_ended(from);
    Key const key = read.template value<Key>();
    if (read.kind() == kind::update) {
      this->send(from, detail::answers, message(kind::answer));
      this->store_in(values_, key, read.template last_value<Value>());
      return;
    }
    this->channel_->send(from, detail::answers, detail::map_answer<Value>(this->find_in(values_, key)));
  }

  typename base::table values_;  ///< of this server
};

}  // namespace PGAS_NAMESPACE::maps

namespace PGAS_NAMESPACE {

/// The policy of this algorithm: `make_map<Key, Value, pgas::part_simple>(team)`.
inline constexpr map_of_messages<maps::part_simple> part_simple{};

}  // namespace PGAS_NAMESPACE
