// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <pgas/concepts/policy_of_map.hpp>
#include <pgas/vocabulary/expects.hpp>
#include <type_traits>

namespace PGAS_NAMESPACE {

/// The fate of an erased key's slot.
enum class erased_slots {
  reused,  ///< another key takes it; a change of a value locks the bucket of its key
  kept,    ///< it waits for the same key; a change of a value is one access without a lock
};

/// The options of a map of accesses. All ranks give the same.
struct map_options {
  std::size_t capacity = 1024;  ///< the keys that each rank's part surely has room for
  /// The keys that a part grows to by itself; 0: it does not grow. The map reserves addresses for them, and
  /// touches memory when keys come. A lookup reads one more bucket each time the part has grown fourfold.
  std::size_t most = 0;
};

/// A policy of make_map: any rank looks up and changes keys by one-sided accesses. `locking` and `counting`
/// are its values.
struct map_policy {
  using options = map_options;
  template <class Key>
  using hash = std::hash<Key>;
  template <class Key>
  using equal = std::equal_to<Key>;
  static constexpr auto shared_by = map_shared_by::accesses;

  erased_slots slots = erased_slots::reused;  ///< whether the slot of an erased key is reused

  friend constexpr bool operator==(map_policy const&, map_policy const&) = default;
};
static_assert(policy_of_accesses<map_policy>);

/// The policy that make_map uses if none is named: a change locks the bucket of its key for a few accesses.
inline constexpr map_policy locking{};

/// The policy for maps that count: an update or accumulate of a present key is one atomic access, without a
/// lock. Values have at most 8 bytes. The slots of erased keys serve these keys alone, until `reserve`.
inline constexpr map_policy counting{.slots = erased_slots::kept};

/// A hash and an equality of keys: equal keys have one hash, on every rank. Neither throws.
template <class Hash, class Equal, class Key>
concept keys_by = std::copyable<Hash> && std::copyable<Equal> &&
                  requires(Hash const& hash, Equal const& equal, Key const& key) {
                    { hash(key) } -> std::convertible_to<std::uint64_t>;
                    { equal(key, key) } -> std::convertible_to<bool>;
                  };

namespace detail {

/// The types that a policy chooses for keys of a type. A value that is no policy has those of `locking`, so
/// that the compiler reaches the message that refuses it.
template <class Policy, class Key>
struct map_defaults {
  using policy = std::conditional_t<policy_of_map<Policy>, Policy, map_policy>;
  using options = typename policy::options;
  using hash = typename policy::template hash<Key>;
  using equal = typename policy::template equal<Key>;
};

}  // namespace detail
}  // namespace PGAS_NAMESPACE
