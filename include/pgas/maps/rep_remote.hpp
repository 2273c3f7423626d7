// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/detail/maps/map_member.hpp>
#include <pgas/detail/maps/replicated_table.hpp>

namespace PGAS_NAMESPACE::maps {

/// Each client has a copy of the map. Sequencers number the updates, and a lookup asks how many there are.
///
/// Messages  a request and an answer for each operation; an update also sends one to each other client.
/// Memory    each key once on each client.
/// Waits     A lookup waits for the updates before it. An update returns when it is on its way.
/// Source    REP_REMOTE (Shahmirzadi 2014, algorithms 4 and 5). It is linearizable: a lookup waits for all
///           updates with numbers up to the last one that its sequencer had given.
/// Differs   as `atomic_broadcast` does.
///
/// Collective: all ranks of the channel make the map, with the same options, and destroy it after `serve()`.
/// They meet before the channel carries anything else.
template <transportable Key, transportable Value, channel C, class Traits = map_traits<Key>>
class rep_remote : public detail::replicated_table<Key, Value, C, Traits> {
  using base = detail::replicated_table<Key, Value, C, Traits>;

 public:
  static constexpr std::string_view name = "rep_remote";
  static constexpr consistency promises = consistency::linearizable;

  /// Collective: makes the map on a channel, which must outlive it.
  /// Throws errc::invalid_argument if the ranks have no room for the servers.
  explicit rep_remote(C& channel, map_on_options options = {})
      : base(channel, options, map_model::map_kind::rep_remote, name) {}

  [[nodiscard]] std::optional<Value> lookup(Key const& key) {
    this->begin("lookup");
    auto const sequencer = static_cast<std::size_t>(this->select_server(key));
    word const last = this->broadcast_.last_number(sequencer);
    this->wait_for(sequencer, last);
    return this->find_in(this->values_, key);
  }
  void update(Key const& key, Value const& value) { change(key, value); }
  void erase(Key const& key) { change(key, std::nullopt); }

 private:
  void change(Key const& key, std::optional<Value> const& value) {
    this->begin(value ? "update" : "erase");
    this->send_update(key, value);
  }
};

}  // namespace PGAS_NAMESPACE::maps

namespace PGAS_NAMESPACE {

/// The policy of this algorithm: `make_map<Key, Value, pgas::rep_remote>(team)`.
inline constexpr map_of_messages<maps::rep_remote> rep_remote{};

}  // namespace PGAS_NAMESPACE
