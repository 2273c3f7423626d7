// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <pgas/vocabulary/expects.hpp>

namespace PGAS_NAMESPACE {

/// How the ranks of a map reach its keys.
enum class map_shared_by {
  accesses,  ///< any rank reads and writes the memory of a key's owner: `locking`, `counting`
  messages,  ///< ranks send messages to servers or to replicas: the algorithms in maps/
};

/// The type of a value that make_map takes as its policy: `make_map<Key, Value, policy>(team, options)`.
///
/// `options` is the type that make_map takes after the team. `hash<Key>` and `equal<Key>` treat keys where
/// the program names no others. `shared_by` says how ranks reach keys, and thereby which operations a map
/// has.
template <class P>
concept policy_of_map = requires {
  typename P::options;
  typename P::template hash<int>;
  typename P::template equal<int>;
  { P::shared_by } -> std::convertible_to<map_shared_by>;
} && std::default_initializable<typename P::options>;

/// A policy whose maps are one-sided accesses: all operations of distributed_map.
template <class P>
concept policy_of_accesses = policy_of_map<P> && P::shared_by == map_shared_by::accesses;

/// A policy whose maps are messages: the operations of concurrent_map.
template <class P>
concept policy_of_messages = policy_of_map<P> && P::shared_by == map_shared_by::messages;

}  // namespace PGAS_NAMESPACE
