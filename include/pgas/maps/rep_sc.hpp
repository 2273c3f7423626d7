// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/detail/maps/map_member.hpp>
#include <pgas/detail/maps/replicated_table.hpp>

namespace PGAS_NAMESPACE::maps {

/// Each client has a copy of the map, and looks up there at once. A sequencer numbers the updates.
///
/// Messages  none for a lookup; a request, an answer and one message to each other client for an update.
/// Memory    each key once on each client.
/// Waits     An update waits until this replica has applied it, and so all updates before it. A lookup never
///           waits. It may return an old value for as long as this rank does not serve.
/// Source    REP_SC (Shahmirzadi 2014, algorithms 11 and 12). It is sequentially consistent: all replicas
///           apply all updates in one order, and a client's lookups see its own updates.
/// Differs   The printed algorithm has several sequencers. Their updates have no common order, so two
///           clients may see two updates in opposite orders. This map refuses more than one.
///
/// Collective: all ranks of the channel make the map, with the same options, and destroy it after `serve()`.
/// They meet before the channel carries anything else.
template <transportable Key, transportable Value, channel C, class Traits = map_traits<Key>>
class rep_sc : public detail::replicated_table<Key, Value, C, Traits> {
  using base = detail::replicated_table<Key, Value, C, Traits>;

 public:
  static constexpr std::string_view name = "rep_sc";
  static constexpr consistency promises = consistency::sequential;

  /// Collective: makes the map on a channel, which must outlive it.
  /// Throws errc::invalid_argument if the ranks have no room for the server, or if there are several.
  explicit rep_sc(C& channel, map_on_options options = {})
      : base(channel, options, map_model::map_kind::rep_sc, name) {
    if (this->number_of_servers() != 1)
      throw error(errc::invalid_argument, this->self(), name,
                  detail::text_of({"updates of ", this->number_of_servers(),
                                   " sequencers have no common order; take one, or another map"}));
  }

  [[nodiscard]] std::optional<Value> lookup(Key const& key) {
    this->begin("lookup");
    this->serve_arrived();
    return this->find_in(this->values_, key);
  }
  void update(Key const& key, Value const& value) { change(key, value); }
  void erase(Key const& key) { change(key, std::nullopt); }

 private:
  void change(Key const& key, std::optional<Value> const& value) {
    this->begin(value ? "update" : "erase");
    auto const [sequencer, number] = this->send_update(key, value);
    this->wait_for(sequencer, number);
  }
};

}  // namespace PGAS_NAMESPACE::maps

namespace PGAS_NAMESPACE {

/// The policy of this algorithm: `make_map<Key, Value, pgas::rep_sc>(team)`.
inline constexpr map_of_messages<maps::rep_sc> rep_sc{};

}  // namespace PGAS_NAMESPACE
