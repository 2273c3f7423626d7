// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/backend.hpp>
#include <pgas/concepts/concurrent_map.hpp>
#include <pgas/containers/make_channel.hpp>
#include <pgas/containers/map_policy.hpp>
#include <pgas/team.hpp>
#include <pgas/vocabulary/transportable.hpp>
#include <utility>

namespace PGAS_NAMESPACE {

/// A map that ranks share. The policy chooses one of two forms: accesses (distributed_map.hpp) or messages
/// (message_map.hpp). Programs call make_map.
template <class Key, class Value, auto Policy, class Hash, class Equal, class Backend, class Coherence,
          class Protocols>
class distributed_map;

/// Makes an empty map. Collective; all ranks give the same options. Programs include distributed_map.hpp,
/// which has the maps.
///
/// The policy says how ranks share keys: `locking` (the default) and `counting` by one-sided accesses,
/// `pgas::part_caching` and the others of maps/ by messages. Each policy has options of its own, in braces:
/// `make_map<std::uint64_t, int>(team, {.capacity = 1'000'000})`,
/// `make_map<int, double, pgas::part_caching>(team, {.servers = {.number = 2}})`. Keys are hashed by
/// std::hash and compared by ==; others may follow the options. Throws on every rank errc::mismatch if
/// capacities differ, errc::invalid_argument if there is no room for the servers, and the errors of
/// make_window. Costs a channel for messages, else a window of 1.2 buckets for each 3 keys of capacity, of 64
/// bytes where key and value have 8 each.
template <transportable Key, transportable Value, auto Policy = locking,
          class Hash = typename detail::map_defaults<decltype(Policy), Key>::hash,
          class Equal = typename detail::map_defaults<decltype(Policy), Key>::equal, backend Backend,
          coherence_policy Coherence, protocol_bundle Protocols>
  requires policy_of_map<decltype(Policy)> && keys_by<Hash, Equal, Key> &&
           (policy_of_accesses<decltype(Policy)> || detail::has_channel<Backend>)
[[nodiscard]] auto make_map(team<Backend, Coherence, Protocols> const& team,
                            typename detail::map_defaults<decltype(Policy), Key>::options options = {},
                            Hash hash = {}, Equal equal = {}) {
  using map_type = distributed_map<Key, Value, Policy, Hash, Equal, Backend, Coherence, Protocols>;
  if constexpr (policy_of_messages<decltype(Policy)>) {
    return map_type(team, options, std::move(hash), std::move(equal));
  } else {
    static_assert(concurrent_map<map_type>);
    return map_type(team, map_type::make_table(team, options, "make_map"), std::move(hash), std::move(equal));
  }
}

/// Does not compile: says what a policy, a key or a backend lacks.
template <class Key, class Value, auto Policy = locking,
          class Hash = typename detail::map_defaults<decltype(Policy), Key>::hash,
          class Equal = typename detail::map_defaults<decltype(Policy), Key>::equal, backend Backend,
          coherence_policy Coherence, protocol_bundle Protocols>
  requires(!transportable<Key> || !transportable<Value> || !policy_of_map<decltype(Policy)> ||
           !keys_by<Hash, Equal, Key> ||
           (policy_of_messages<decltype(Policy)> && !detail::has_channel<Backend>))
auto make_map(team<Backend, Coherence, Protocols> const&,
              typename detail::map_defaults<decltype(Policy), Key>::options = {}) {
  detail::refuse_type<Key>();
  detail::refuse_type<Value>();
  static_assert(
      policy_of_map<decltype(Policy)>,
      "make_map: this is no policy of maps; take pgas::locking, pgas::counting, pgas::locked_parts from "
      "locked_parts.hpp or, with its header in maps/, pgas::part_simple, part_caching, rep_remote, "
      "rep_local, rep_2pc or rep_sc");
  static_assert(keys_by<Hash, Equal, Key>,
                "make_map: keys need a hash and an equality; specialize std::hash for the key and give it an "
                "operator ==, or give make_map a hash and an equality after the options");
  static_assert(policy_of_accesses<decltype(Policy)> || detail::has_channel<Backend>,
                "make_map: this policy needs messages, and the backend has neither a channel nor a mailbox; "
                "take pgas::locking, pgas::counting or another backend");
}

/// The type of a map on a team, as make_map returns it.
template <class Team, transportable Key, transportable Value, auto Policy = locking,
          class Hash = typename detail::map_defaults<decltype(Policy), Key>::hash,
          class Equal = typename detail::map_defaults<decltype(Policy), Key>::equal>
using map_on =
    distributed_map<Key, Value, Policy, Hash, Equal, typename std::remove_cvref_t<Team>::backend_type,
                    typename std::remove_cvref_t<Team>::coherence_type,
                    typename std::remove_cvref_t<Team>::protocols_type>;

}  // namespace PGAS_NAMESPACE
