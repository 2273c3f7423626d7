// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <optional>
#include <pgas/detail/histories/value_text.hpp>
#include <pgas/histories/history.hpp>
#include <pgas/histories/necessary_order.hpp>
#include <pgas/histories/sequential_object.hpp>
#include <string>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::histories {

/// The kinds of operations on a map.
enum class map_call {
  lookup,      ///< its result is the value of the key, or nothing
  update,      ///< inserts or overwrites
  erase,       ///< makes the key absent
  insert,      ///< writes only if the key is absent; its result is whether it was
  remove,      ///< makes the key absent; its result is whether it was present
  accumulate,  ///< adds to the value of the key, or inserts if the key is absent
};

/// A call of a map with its arguments.
template <class K, class V>
struct map_operation {
  map_call kind = map_call::lookup;  ///< what was called
  K key{};                           ///< of each call
  V value{};                         ///< of update, insert and accumulate

  friend bool operator==(map_operation const&, map_operation const&) = default;
};

/// What a call of a map has returned: the value of a lookup, or whether an insert or a remove did something.
template <class V>
struct map_result {
  std::optional<V> value;  ///< of a lookup: nothing if the key was absent
  bool done = false;       ///< of insert and remove

  map_result() = default;
  /// What a lookup has found.
  map_result(std::optional<V> found) : value(std::move(found)) {}
  /// Whether an insert or a remove did something.
  template <std::same_as<bool> Bool>  // no conversion from a value
  map_result(Bool was_done) : done(was_done) {}

  friend bool operator==(map_result const&, map_result const&) = default;
};

namespace detail {

template <class V>
concept summable = requires(V all, V const& more) { all += more; };

}  // namespace detail

/// One key of a map: the specification of a map's parts.
template <class K, class V>
struct spec_key {
  using operation = map_operation<K, V>;
  using result = map_result<V>;    ///< as a map's
  using state = std::optional<V>;  ///< nothing if the key is absent

  static bool apply(state& now, record_of<spec_key> const& r) {
    bool const was_present = now.has_value();
    switch (r.operation.kind) {
      case map_call::lookup:
        return r.pending() || r.result.value == now;
      case map_call::update:
        now = r.operation.value;
        return true;
      case map_call::erase:
        now.reset();
        return true;
      case map_call::insert:
        if (!was_present) now = r.operation.value;
        return r.pending() || r.result.done == !was_present;
      case map_call::remove:
        now.reset();
        return r.pending() || r.result.done == was_present;
      case map_call::accumulate:
        if constexpr (detail::summable<V>) {
          if (was_present) {
            *now += r.operation.value;
          } else {
            now = r.operation.value;
          }
          return true;
        } else {
          return false;
        }
    }
    return false;
  }

  static bool observes(record_of<spec_key> const& r) {
    if (r.operation.kind == map_call::lookup) return true;
    bool const tries = r.operation.kind == map_call::insert || r.operation.kind == map_call::remove;
    return tries && !r.pending() && !r.result.done;
  }

  /// A lookup leaves with the operation that may have written its value or made the key absent. Operations
  /// that depend on what they find leave with each other one that writes.
  static bool drops_with(record_of<spec_key> const& gone, record_of<spec_key> const& other,
                         std::ptrdiff_t /*later*/) {
    if (gone.operation.key != other.operation.key || observes(gone)) return false;
    switch (other.operation.kind) {
      case map_call::update:
      case map_call::erase:
        return false;
      case map_call::lookup:
        if (other.pending()) return false;
        if (gone.operation.kind == map_call::accumulate) return true;  // the value may be a sum
        if (gone.operation.kind == map_call::erase || gone.operation.kind == map_call::remove)
          return !other.result.value;
        return other.result.value == gone.operation.value;
      default:
        return true;
    }
  }

  static std::size_t hash(state const& now) { return now ? detail::value_hash(*now) + 1 : 0; }

  static std::string call_text(operation const& what) {
    std::string const key = "(" + detail::value_text(what.key);
    std::string const both = key + ", " + detail::value_text(what.value) + ")";
    switch (what.kind) {
      case map_call::lookup:
        return "lookup" + key + ")";
      case map_call::update:
        return "update" + both;
      case map_call::erase:
        return "erase" + key + ")";
      case map_call::insert:
        return "insert" + both;
      case map_call::remove:
        return "remove" + key + ")";
      case map_call::accumulate:
        return "accumulate" + both;
    }
    return "";
  }
  static std::string result_text(record_of<spec_key> const& r) {
    map_call const kind = r.operation.kind;
    if (kind == map_call::insert || kind == map_call::remove) return detail::value_text(r.result.done);
    if (kind != map_call::lookup) return "";
    return r.result.value ? detail::value_text(*r.result.value) : "absent";
  }
};

/// A map from keys to values.
///
/// A checker of linearizability checks it key by key. `K` needs an order, and `V` equality.
template <std::totally_ordered K, std::equality_comparable V>
struct spec_map {
  using operation = map_operation<K, V>;
  using result = map_result<V>;                ///< a value, or whether something was done
  using state = std::vector<std::pair<K, V>>;  ///< sorted by keys
  using part = spec_key<K, V>;

  /// A call that looks for a key.
  static operation lookup(K key) { return {map_call::lookup, std::move(key), {}}; }
  /// A call that inserts or overwrites.
  static operation update(K key, V value) { return {map_call::update, std::move(key), std::move(value)}; }
  /// A call that makes a key absent.
  static operation erase(K key) { return {map_call::erase, std::move(key), {}}; }
  /// A call that writes if the key is absent.
  static operation insert(K key, V value) { return {map_call::insert, std::move(key), std::move(value)}; }
  /// A call that makes a key absent and returns whether it was present.
  static operation remove(K key) { return {map_call::remove, std::move(key), {}}; }
  /// A call that adds to a value.
  static operation accumulate(K key, V value) {
    return {map_call::accumulate, std::move(key), std::move(value)};
  }

  static K const& part_of(operation const& what) { return what.key; }

  static bool apply(state& now, record_of<spec_map> const& r) {
    auto const at = std::lower_bound(now.begin(), now.end(), r.operation.key,
                                     [](auto const& entry, K const& key) { return entry.first < key; });
    bool const is_there = at != now.end() && at->first == r.operation.key;
    std::optional<V> value = is_there ? std::optional<V>(at->second) : std::nullopt;
    if (!part::apply(value, r)) return false;
    if (is_there && value) {
      at->second = *std::move(value);
    } else if (is_there) {
      now.erase(at);
    } else if (value) {
      now.emplace(at, r.operation.key, *std::move(value));
    }
    return true;
  }
  static bool observes(record_of<spec_map> const& r) { return part::observes(r); }
  static bool drops_with(record_of<spec_map> const& gone, record_of<spec_map> const& other,
                         std::ptrdiff_t later) {
    return part::drops_with(gone, other, later);
  }

  // A map is an object of registers: a value or an absence comes from one of the writes of its key.
  static bool reads(record_of<spec_map> const& r) {
    map_call const kind = r.operation.kind;
    return kind == map_call::lookup || (kind == map_call::insert && r.result.done) ||
           (kind == map_call::remove && !r.result.done);
  }
  static bool writes(record_of<spec_map> const& r) {
    return !part::observes(r) && r.operation.kind != map_call::accumulate;
  }
  static bool adds(record_of<spec_map> const& r) { return r.operation.kind == map_call::accumulate; }
  static bool gives(record_of<spec_map> const& write, record_of<spec_map> const& read) {
    map_call const kind = write.operation.kind;
    if (kind == map_call::erase || kind == map_call::remove) return gives_at_first(read);
    return read.operation.kind == map_call::lookup && read.result.value == write.operation.value;
  }
  static bool gives_at_first(record_of<spec_map> const& read) {
    return read.operation.kind != map_call::lookup || !read.result.value;
  }

  static std::size_t hash(state const& now) {
    std::size_t all = 0;
    for (auto const& [key, value] : now)
      all = detail::hash_with(all, detail::value_hash(key) ^ (detail::value_hash(value) << 1U));
    return all;
  }
  static std::string call_text(operation const& what) { return part::call_text(what); }
  static std::string result_text(record_of<spec_map> const& r) { return part::result_text(r); }
};

static_assert(object_of_registers<spec_map<int, int>>);

}  // namespace PGAS_NAMESPACE::histories
