// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <pgas/vocabulary/transportable.hpp>
#include <type_traits>

namespace PGAS_NAMESPACE {

namespace detail {

/// Spreads the bits of a number over all of its bits: the finalizer of Steele, Lea and Flood 2014.
constexpr std::uint64_t mixed(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31U);
}

template <class Key>
concept has_std_hash = requires(Key const& key) {
  { std::hash<Key>{}(key) } -> std::convertible_to<std::size_t>;
};

}  // namespace detail

/// The hash of keys by default: std::hash, or the bytes of the key where equal keys have equal bytes.
///
/// All ranks of a map get the same hash. Its low bits depend on all bits of the key, so the remainder by a
/// power of two spreads keys over servers.
template <class Key>
struct key_hash {
  /// The hash of a key.
  [[nodiscard]] std::size_t operator()(Key const& key) const {
    if constexpr (detail::has_std_hash<Key>) {
      return detail::mixed(std::hash<Key>{}(key));
    } else {
      static_assert(std::has_unique_object_representations_v<Key>,
                    "map: equal keys of this type may differ in bytes; give the map traits with a hash");
      std::array<std::uint64_t, (sizeof(Key) + 7) / 8> words{};
      std::memcpy(words.data(), &key, sizeof key);
      std::uint64_t hash = sizeof key;
      for (std::uint64_t const w : words) hash = detail::mixed(hash ^ w) * 0x9E3779B97F4A7C15U;
      return hash;
    }
  }
};

/// The equality of keys by default: operator==, or their bytes where they have none.
template <class Key>
struct key_equal {
  /// Whether two keys are equal.
  [[nodiscard]] bool operator()(Key const& a, Key const& b) const {
    if constexpr (std::equality_comparable<Key>) {
      return a == b;
    } else {
      static_assert(std::has_unique_object_representations_v<Key>,
                    "map: keys of this type cannot be compared; give the type an operator==");
      return std::memcmp(&a, &b, sizeof(Key)) == 0;
    }
  }
};

/// How a map treats its keys. A type with members of these names takes its place, so that a program gives a
/// hash of its own: `struct by_name : map_traits<person> { using hash = name_hash; };`. Equal keys must have
/// equal hashes, and a hash must be the same on all ranks.
template <class Key>
struct map_traits {
  using hash = key_hash<Key>;    ///< a function object from a key to a std::size_t
  using equal = key_equal<Key>;  ///< a function object from two keys to a bool
};

}  // namespace PGAS_NAMESPACE
