// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <pgas/concepts/concurrent_map.hpp>
#include <pgas/containers/make_channel.hpp>
#include <pgas/containers/make_map.hpp>
#include <pgas/team.hpp>
#include <pgas/vocabulary/error.hpp>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace PGAS_NAMESPACE {

namespace detail {

/// A hash and an equality as the algorithms in maps/ take them.
template <class Hash, class Equal>
struct traits_by {
  using hash = Hash;
  using equal = Equal;
};

template <class...>
inline constexpr bool map_has_it = false;

/// The operations of distributed_map that a map of messages does not have. Their calls do not compile, and
/// the message says which operations it has.
struct no_operations_of_accesses {
  /// Does not compile: no server tells whether a key was absent.
  template <class... A>
  bool insert(A const&...) {
    static_assert(map_has_it<A...>,
                  "insert: a map of messages does not tell whether a key was absent; call update, or give "
                  "make_map the policy locking");
    return false;
  }
  /// Does not compile: no server tells whether a key was absent.
  template <class... A>
  bool insert_or_assign(A const&...) {
    static_assert(
        map_has_it<A...>,
        "insert_or_assign: a map of messages does not tell whether a key was absent; call update, or "
        "give make_map the policy locking");
    return false;
  }
  /// Does not compile: a lookup and an update are two operations, and another rank may come between.
  template <class... A>
  bool insert_or_accumulate(A const&...) {
    static_assert(
        map_has_it<A...>,
        "insert_or_accumulate: a map of messages has no operation that reads and writes in one step; "
        "give make_map the policy counting or locking");
    return false;
  }
  /// Does not compile: no rank knows the keys of the others.
  template <class... A>
  void for_each_own(A const&...) const {
    static_assert(map_has_it<A...>,
                  "for_each_own: keys of a map of messages are at its servers or on all ranks; give make_map "
                  "the policy locking or counting to iterate");
  }
  /// Does not compile: tables of messages grow by themselves.
  template <class... A>
  void reserve(A const&...) {
    static_assert(
        map_has_it<A...>,
        "reserve: a map of messages grows by itself; leave the call out, or give make_map the policy "
        "locking or counting");
  }
};

}  // namespace detail

/// A map that the ranks of a team share by messages. It is made by make_map with a policy of maps/:
/// `make_map<Key, Value, pgas::part_caching>(team, {.servers = {.number = 2}})`.
///
/// It has the operations of concurrent_map, which means what the algorithm's header says. Each rank calls
/// `serve()` before it destroys the map. The object stays where it was made, since its channel knows its
/// handlers by address. Source: Shahmirzadi 2014, chapter 3.
template <transportable Key, transportable Value, auto Policy, class Hash, class Equal, backend Backend,
          coherence_policy Coherence, protocol_bundle Protocols>
  requires policy_of_messages<decltype(Policy)> && keys_by<Hash, Equal, Key>
class distributed_map<Key, Value, Policy, Hash, Equal, Backend, Coherence, Protocols>
    : public detail::no_operations_of_accesses {
  using team_type = pgas::team<Backend, Coherence, Protocols>;
  using channel_type = channel_on<Backend>;
  using policy_type = decltype(Policy);
  using algorithm_type =
      typename policy_type::template on<Key, Value, channel_type, detail::traits_by<Hash, Equal>>;
  static_assert(concurrent_map<algorithm_type>);
  static_assert(std::is_empty_v<Hash> && std::is_empty_v<Equal> && std::default_initializable<Hash> &&
                    std::default_initializable<Equal>,
                "make_map: each part of a map of messages makes its own hash and equality; give types that "
                "have no members");

 public:
  using key_type = Key;
  using mapped_type = Value;
  using value_type = std::pair<Key, Value>;
  using hasher = Hash;                                               ///< the type of hash_function()
  using key_equal = Equal;                                           ///< the type of key_eq()
  static constexpr std::string_view name = algorithm_type::name;     ///< of the algorithm
  static constexpr consistency promises = algorithm_type::promises;  ///< of the algorithm

  /// For make_map. Collective: makes the channel and the map.
  distributed_map(team_type const& team, typename policy_type::options const& options, Hash = {}, Equal = {})
      : team_(team), channel_(make_channel(team)), algorithm_(channel_, options) {}
  distributed_map(distributed_map const&) = delete;
  distributed_map& operator=(distributed_map const&) = delete;

  /// Returns the value of a key, or nothing. One-sided for the caller; it waits as the algorithm says. Throws
  /// errc::wrong_order on a dedicated server, as all operations on keys do.
  [[nodiscard]] std::optional<Value> lookup(Key const& key) { return algorithm_.lookup(key); }
  /// Returns whether a key is present.
  [[nodiscard]] bool contains(Key const& key) { return lookup(key).has_value(); }
  /// Inserts or overwrites. Returns when later lookups return the value, as far as `promises` says.
  void update(Key const& key, Value const& value) { algorithm_.update(key, value); }
  /// Makes a key absent.
  void erase(Key const& key) { algorithm_.erase(key); }

  /// Sets values[i] to the value of keys[i], or to nothing, for each i. Each lookup is one by itself.
  void lookup(std::span<Key const> keys, std::span<std::optional<Value>> values) {
    if (keys.size() != values.size()) {
      throw error(errc::invalid_argument, team_.world_rank(team_.rank()), "lookup",
                  std::to_string(values.size()) + " results for " + std::to_string(keys.size()) +
                      " keys; give as many");
    }
    for (std::size_t i = 0; i < keys.size(); ++i) values[i] = lookup(keys[i]);
  }
  /// Calls update for each pair, one after the other.
  void update(std::span<value_type const> pairs) {
    for (auto const& [key, value] : pairs) update(key, value);
  }

  /// The hash of keys.
  [[nodiscard]] Hash hash_function() const { return {}; }
  /// The equality of keys.
  [[nodiscard]] Equal key_eq() const { return {}; }

  /// Collective: ends a run. Servers serve until all clients have called it, and all ranks return together.
  void serve() {
    algorithm_.serve();
    team_.barrier();
  }
  /// Whether this rank may look up and change keys. The others only serve.
  [[nodiscard]] bool is_client() const noexcept { return algorithm_.is_client(); }
  /// The number of ranks that serve, as the program or the algorithm's model chose.
  [[nodiscard]] std::size_t number_of_servers() const noexcept { return algorithm_.number_of_servers(); }

  /// The algorithm, for what it adds: `hits()` of part_caching, `try_update` of rep_2pc.
  [[nodiscard]] algorithm_type& algorithm() noexcept { return algorithm_; }
  [[nodiscard]] algorithm_type const& algorithm() const noexcept { return algorithm_; }

  /// The team that made the map.
  [[nodiscard]] team_type const& team() const noexcept { return team_; }

 private:
  team_type team_;
  channel_type channel_;
  algorithm_type algorithm_;
};

}  // namespace PGAS_NAMESPACE
