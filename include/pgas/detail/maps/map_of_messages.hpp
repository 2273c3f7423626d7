// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/policy_of_map.hpp>
#include <pgas/detail/maps/map_member.hpp>
#include <pgas/vocabulary/map_traits.hpp>

namespace pgas::inline PGAS_ASSERTIONS {

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

}  // namespace pgas::inline PGAS_ASSERTIONS
