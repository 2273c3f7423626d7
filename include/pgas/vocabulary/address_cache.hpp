// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <pgas/vocabulary/expects.hpp>
#include <unordered_map>
#include <utility>

namespace PGAS_NAMESPACE {

/// The counters of an address_cache.
struct address_cache_counts {
  std::uint64_t hits = 0;           ///< values found and right
  std::uint64_t misses = 0;         ///< the key was absent, or its value no longer right
  std::uint64_t evictions = 0;      ///< removed to make room
  std::uint64_t invalidations = 0;  ///< removed because the value was no longer right

  friend bool operator==(address_cache_counts const&, address_cache_counts const&) = default;
};

/// A cache of the addresses of remote objects: the `capacity` most recently used ones, none with capacity 0.
/// It belongs to one thread.
///
/// Its user decides whether a cached address is still right; see heap.hpp. Ferreras 2008, section 6.3: the
/// remote address cache, whose limit of 100 is `usual_capacity`.
template <class Key, class Value, class Hash = std::hash<Key>>
class address_cache {
 public:
  static constexpr std::size_t usual_capacity = 100;  ///< in objects

  /// An empty cache.
  explicit address_cache(std::size_t capacity = usual_capacity) noexcept : capacity_(capacity) {}

  /// Returns the value inserted under the key if is_right(value), valid until the next insert. Otherwise
  /// removes the value and returns null.
  template <std::predicate<Value const&> Right>
  [[nodiscard]] Value const* find(Key const& key, Right&& is_right) {
    auto const at = places_.find(key);
    if (at == places_.end()) return ++counts_.misses, nullptr;
    if (!is_right(std::as_const(at->second->second))) {
      order_.erase(at->second);
      places_.erase(at);
      return ++counts_.misses, ++counts_.invalidations, nullptr;
    }
    order_.splice(order_.begin(), order_, at->second);
    return ++counts_.hits, &at->second->second;
  }

  /// Inserts a value, and removes the least recently used one if the cache is full. Requires that the key is
  /// absent.
  void insert(Key const& key, Value const& value) {
    if (capacity_ == 0) return;
    if (order_.size() == capacity_) {
      places_.erase(order_.back().first);
      order_.pop_back();
      ++counts_.evictions;
    }
    order_.emplace_front(key, value);
    places_.emplace(key, order_.begin());
  }

  /// The number of cached addresses.
  [[nodiscard]] std::size_t size() const noexcept { return order_.size(); }
  /// The counters.
  [[nodiscard]] address_cache_counts const& counts() const noexcept { return counts_; }

 private:
  using entries = std::list<std::pair<Key, Value>>;

  std::size_t capacity_;
  entries order_;  ///< the most recently used first
  std::unordered_map<Key, typename entries::iterator, Hash> places_;
  address_cache_counts counts_;
};

}  // namespace PGAS_NAMESPACE
