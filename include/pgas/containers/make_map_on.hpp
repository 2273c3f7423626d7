// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <optional>
#include <pgas/concepts/concurrent_map.hpp>
#include <pgas/containers/make_channel.hpp>
#include <pgas/platform/maps/map_member.hpp>
#include <string_view>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS {

/// A map of messages with its channel, as `make_map_on` makes it. It stays where it was made, since the
/// channel knows its handlers by address.
template <class Team, class Channel, concurrent_map Map>
class map_on {
 public:
  using key_type = typename Map::key_type;
  using mapped_type = typename Map::mapped_type;
  static constexpr std::string_view name = Map::name;     ///< of the algorithm
  static constexpr consistency promises = Map::promises;  ///< of the algorithm

  /// Collective: makes the channel and the map. Programs call make_map_on.
  map_on(Team const& team, map_on_options options)
      : team_(team), channel_(make_channel(team)), map_(channel_, options) {}
  map_on(map_on const&) = delete;
  map_on& operator=(map_on const&) = delete;

  /// The value of a key, or nothing. One-sided for the caller; it waits as the algorithm says.
  [[nodiscard]] std::optional<mapped_type> lookup(key_type const& key) { return map_.lookup(key); }
  /// Inserts or overwrites. Returns when later lookups return the value, as far as `promises` says.
  void update(key_type const& key, mapped_type const& value) { map_.update(key, value); }
  /// Makes a key absent.
  void erase(key_type const& key) { map_.erase(key); }

  /// Collective: ends a run. Servers serve until all clients have called it, and all ranks return together.
  void serve() {
    map_.serve();
    team_.barrier();
  }
  /// Whether this rank may look up and update. The others only serve.
  [[nodiscard]] bool is_client() const noexcept { return map_.is_client(); }

  /// The map itself, for what the algorithm adds: `hits()` of part_caching, `try_update` of rep_2pc.
  [[nodiscard]] Map& algorithm() noexcept { return map_; }
  [[nodiscard]] Map const& algorithm() const noexcept { return map_; }

 private:
  Team team_;
  Channel channel_;
  Map map_;
};

/// Makes a map of messages on a team: `auto map = make_map_on<maps::part_caching, int, double>(team)`.
///
/// Collective over the team, as is its `serve()`, which each rank calls before it destroys the map. `options`
/// must be the same on all ranks. Throws errc::invalid_argument if the team has no room for the servers that
/// they name. Costs a channel. Source: Shahmirzadi 2014, chapter 3.
template <template <transportable, transportable, channel, class> class Algorithm, transportable Key,
          transportable Value, class Traits = map_traits<Key>, backend Backend, coherence_policy Coherence,
          protocol_bundle Protocols>
[[nodiscard]] auto make_map_on(team<Backend, Coherence, Protocols> const& on, map_on_options options = {}) {
  using channel_type = channel_on<Backend>;
  using map_type = Algorithm<Key, Value, channel_type, Traits>;
  return map_on<team<Backend, Coherence, Protocols>, channel_type, map_type>(on, options);
}

}  // namespace pgas::inline PGAS_ASSERTIONS
