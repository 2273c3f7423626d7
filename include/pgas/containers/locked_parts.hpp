// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <pgas/concepts/concurrent_map.hpp>
#include <pgas/containers/make_map.hpp>
#include <pgas/detail/containers/map_table.hpp>
#include <pgas/lock.hpp>
#include <pgas/team.hpp>
#include <pgas/vocabulary/error.hpp>
#include <pgas/window.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE {

/// The options of a map whose changes lock parts. All ranks give the same.
struct parts_options {
  std::size_t capacity = 1024;  ///< the keys that each rank's part has room for
};

/// A policy of make_map: a change locks the whole part of the key's owner, a lookup locks it shared.
/// `locked_parts` is its value.
struct parts_policy {
  using options = parts_options;
  template <class Key>
  using hash = std::hash<Key>;
  template <class Key>
  using equal = std::equal_to<Key>;
  static constexpr auto shared_by = map_shared_by::accesses;

  friend constexpr bool operator==(parts_policy const&, parts_policy const&) = default;
};

/// The policy for maps whose ranks seldom meet, on backends without atomic operations on payload: the lock of
/// the team's protocols guards each part.
inline constexpr parts_policy locked_parts{};

/// A policy whose maps lock parts.
template <class P>
concept policy_of_parts = policy_of_accesses<P> && std::same_as<std::remove_const_t<P>, parts_policy>;
static_assert(policy_of_parts<parts_policy>);

/// A hash map that the ranks of a team share, with a lock for each rank's part. Any rank looks up and changes
/// any key by one-sided accesses, without the owner's help.
///
/// States    A place is free, or has a key, or is erased. A key is in the first place behind its hash that
///           was not taken when it came. An erased place ends no search, and the next new key takes it.
/// Order     All accesses to a part lie in epochs of its lock: exclusive for changes, shared for lookups. So
///           each operation on one key is linearizable.
/// Source    the hash table of Christgau and Schnor 2019, section 5.
/// Differs   There a word whose place is taken replaces the other one. Here it goes to the next free place.
///           Keys and values are of any transportable type, and keys can be erased.
///
/// The object is one rank's handle; it moves. Make one with make_map. Members that are collective say so; all
/// others are one-sided. An operation costs the lock and a get for each place it looks at, usually one or
/// two, and a change a put. MPI: MPI_Win_lock, MPI_Get, MPI_Put, MPI_Win_unlock.
template <transportable Key, transportable Value, auto Policy, class Hash, class Equal, backend Backend,
          coherence_policy Coherence, protocol_bundle Protocols>
  requires policy_of_parts<decltype(Policy)> && keys_by<Hash, Equal, Key>
class distributed_map<Key, Value, Policy, Hash, Equal, Backend, Coherence, Protocols> {
  enum class place_is : std::uint64_t { free, taken, erased };
  struct place {
    place_is is = place_is::free;
    Key key{};
    Value value{};
  };
  using team_type = pgas::team<Backend, Coherence, Protocols>;
  using window_type = pgas::window<place, Backend, Coherence, Protocols>;

 public:
  using key_type = Key;
  using mapped_type = Value;
  using value_type = std::pair<Key, Value>;
  using hasher = Hash;      ///< the type of hash_function()
  using key_equal = Equal;  ///< the type of key_eq()
  /// The promise of operations that overlap.
  static constexpr consistency promises = consistency::linearizable;
  /// The map's name in messages and tables.
  static constexpr std::string_view name = "locked_parts";

  /// For make_map.
  distributed_map(team_type const& team, window_type places, Hash hash, Equal equal)
      : team_(team), places_(std::move(places)), hash_(std::move(hash)), equal_(std::move(equal)) {}

  /// Returns the value of a key, or nothing if the key is absent.
  [[nodiscard]] std::optional<Value> lookup(Key const& key) const {
    auto const [owner, first] = home_of(key);
    lock epoch{places_, owner, shared, read_only};
    found const at = find(epoch.to(), first, key);
    if (!at.is_present) return std::nullopt;
    return at.now.value;
  }
  /// Returns whether a key is present.
  [[nodiscard]] bool contains(Key const& key) const { return lookup(key).has_value(); }

  /// Inserts a key that is absent, and returns true. Returns false, and changes nothing, if it is present.
  /// Throws errc::no_space if the owner's part is full.
  bool insert(Key const& key, Value const& value) {
    return change("insert", key, [&](std::optional<Value> const& old) { return old ? *old : value; });
  }
  /// Inserts a key, or gives it another value. Returns whether it was absent. Throws as insert does.
  bool insert_or_assign(Key const& key, Value const& value) {
    return change("insert_or_assign", key, [&](std::optional<Value> const&) { return value; });
  }
  /// The same as insert_or_assign, by the name that concurrent_map has for it.
  void update(Key const& key, Value const& value) {
    change("update", key, [&](std::optional<Value> const&) { return value; });
  }
  /// Inserts a key with `value` if it is absent, else sets its value to op(old, value), in one indivisible
  /// step. Returns whether it was absent. Throws as insert does.
  template <detail::operation_argument Op = op::sum>
  bool insert_or_accumulate(Key const& key, Value const& value, Op op = {}) {
    detail::refuse_operation<Op, Value>();
    return change("insert_or_accumulate", key, [&](std::optional<Value> const& old) {
      return old ? static_cast<Value>(op(*old, value)) : value;
    });
  }
  /// Makes a key absent, and returns whether it was present.
  bool erase(Key const& key) {
    auto const [owner, first] = home_of(key);
    lock epoch{places_, owner, exclusive};
    auto const part = epoch.to();
    found const at = find(part, first, key);
    if (!at.is_present) return false;
    part.put(at.index, place{.is = place_is::erased});
    --balance_;
    return true;
  }

  /// Sets values[i] to the value of keys[i], or to nothing, for each i. Each lookup is one by itself.
  void lookup(std::span<Key const> keys, std::span<std::optional<Value>> values) const {
    if (keys.size() != values.size()) {
      refuse(errc::invalid_argument, "lookup",
             std::to_string(values.size()) + " results for " + std::to_string(keys.size()) +
                 " keys; give as many");
    }
    for (std::size_t i = 0; i < keys.size(); ++i) values[i] = lookup(keys[i]);
  }
  /// Calls update for each pair, one after the other.
  void update(std::span<value_type const> pairs) {
    for (auto const& [key, value] : pairs) update(key, value);
  }
  /// Calls insert_or_accumulate for each pair, one after the other.
  template <detail::operation_argument Op = op::sum>
  void insert_or_accumulate(std::span<value_type const> pairs, Op op = {}) {
    for (auto const& [key, value] : pairs) insert_or_accumulate(key, value, op);
  }

  /// The hash that make_map was given.
  [[nodiscard]] Hash hash_function() const { return hash_; }
  /// The equality that make_map was given.
  [[nodiscard]] Equal key_eq() const { return equal_; }

  /// The rank that owns a key.
  [[nodiscard]] rank_t owner(Key const& key) const { return home_of(key).first; }
  /// The number of keys that are present when all ranks have called it. Collective; a reduction.
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(team_.all_reduce(balance_)); }
  /// Calls use(key, value) for each key of this rank's part, as it was at one moment. `use` may call the map.
  template <std::invocable<Key const&, Value const&> Use>
  void for_each_own(Use&& use) const {
    for_each_of(team_.rank(), use);
  }
  /// The same for the part of any rank. Costs one get, and memory for the part.
  template <std::invocable<Key const&, Value const&> Use>
  void for_each_of(rank_t owner, Use&& use, detail::caller by = detail::here()) const {
    std::vector<value_type> pairs;
    {
      lock epoch{places_, detail::with_caller<rank_t>(owner, by), shared, read_only};
      auto const part = epoch.to();
      std::vector<place> all(part.size());
      part.get(0, std::span(all));
      part.flush_local();
      for (place const& one : all)
        if (one.is == place_is::taken) pairs.emplace_back(one.key, one.value);
    }
    for (auto const& [key, value] : pairs) use(key, value);
  }
  /// Erases all keys. Collective.
  void clear() {
    team_.barrier();
    {
      std::vector<place> const all(places_.size());
      lock epoch{places_, team_.rank(), exclusive};
      epoch.to().put(0, std::span(all));
    }
    balance_ = 0;
    team_.barrier();
  }
  /// Gives each rank's part room for `capacity` keys. Collective; all ranks give the same number. Throws
  /// errc::invalid_argument on every rank if one has more keys; the map is then as before.
  void reserve(std::size_t capacity) {
    team_.barrier();
    std::size_t own = 0;
    for_each_own([&](Key const&, Value const&) { ++own; });
    std::size_t const most = team_.all_reduce(own, op::max{});
    if (most > capacity) {
      refuse(errc::invalid_argument, "reserve",
             "a rank has " + std::to_string(most) + " keys, more than " + std::to_string(capacity) +
                 "; reserve at least as many");
    }
    distributed_map larger(team_, make_table(team_, {capacity}, "reserve"), hash_, equal_);
    for_each_own([&](Key const& key, Value const& value) { larger.insert(key, value); });
    places_ = std::move(larger.places_);
    team_.barrier();
  }
  /// The keys that each rank's part surely has room for.
  [[nodiscard]] std::size_t capacity() const noexcept { return places_.size() / 2; }
  /// The bytes of one rank's part.
  [[nodiscard]] std::size_t part_bytes() const noexcept { return 2 * capacity() * sizeof(place); }

  /// True: any rank may call the map. See concurrent_map.
  [[nodiscard]] static constexpr bool is_client() noexcept { return true; }
  /// Returns when all ranks have called it: no rank serves. Collective. See concurrent_map.
  void serve() const { team_.barrier(); }

  /// The team that made the map.
  [[nodiscard]] team_type const& team() const noexcept { return team_; }

  /// For make_map.
  static window_type make_table(team_type const& team, parts_options const& options,
                                std::string_view operation) {
    detail::handshake shake(*team.state(), operation);
    shake.require_natural(options.capacity, "keys of capacity");
    shake.require_same(options.capacity, "keys of capacity");
    shake.conclude();
    return make_window<place>(team, 2 * std::max<std::size_t>(options.capacity, 1));
  }

 private:
  /// The place of a key, or the place for it: `index` is behind the part if all places are taken.
  struct found {
    std::size_t index = 0;
    bool is_present = false;
    place now{};  ///< of a present key
  };

  [[nodiscard]] std::pair<rank_t, std::size_t> home_of(Key const& key) const {
    std::uint64_t const hash = detail::spread(static_cast<std::uint64_t>(hash_(key)));
    auto const ranks = static_cast<std::uint64_t>(team_.size());
    return {static_cast<rank_t>(hash % ranks), hash / ranks % places_.size()};
  }
  template <class Part>
  [[nodiscard]] found find(Part const& part, std::size_t first, Key const& key) const {
    std::size_t const places = part.size();
    std::size_t room = places;
    for (std::size_t i = 0; i < places; ++i) {
      std::size_t const index = (first + i) % places;
      place const now = part.get(index);
      if (now.is == place_is::taken && equal_(now.key, key)) return {index, true, now};
      if (now.is != place_is::taken && room == places) room = index;
      if (now.is == place_is::free) break;
    }
    return {room, false, {}};
  }
  /// Gives a key the value new_value(old). Returns whether it was absent.
  template <class NewValue>
  bool change(std::string_view operation, Key const& key, NewValue const& new_value) {
    auto const [owner, first] = home_of(key);
    std::optional<bool> const made = try_change(owner, first, key, new_value);
    if (!made) {
      refuse(errc::no_space, operation,
             "rank " + std::to_string(owner) + "'s part is full: it was made for " +
                 std::to_string(capacity()) +
                 " keys; give make_map a larger capacity, or let all ranks call reserve before");
    }
    return *made;
  }
  /// The same, or nothing if the part is full. An exception would leave the part locked, so the lock is
  /// released before one leaves.
  template <class NewValue>
  std::optional<bool> try_change(rank_t owner, std::size_t first, Key const& key, NewValue const& new_value) {
    lock epoch{places_, owner, exclusive};
    auto const part = epoch.to();
    found const at = find(part, first, key);
    if (at.index == part.size()) return std::nullopt;
    std::optional<Value> const old = at.is_present ? std::optional(at.now.value) : std::nullopt;
    place next{place_is::taken, key, {}};
    try {
      next.value = new_value(old);
    } catch (...) {
      epoch.close();
      throw;
    }
    part.put(at.index, next);
    balance_ += at.is_present ? 0 : 1;
    return !at.is_present;
  }
  [[noreturn]] void refuse(errc code, std::string_view operation, std::string const& sentence) const {
    throw error(code, places_.state().job_rank(), operation, sentence);
  }

  team_type team_;
  window_type places_;
  [[no_unique_address]] Hash hash_;
  [[no_unique_address]] Equal equal_;
  std::int64_t balance_ = 0;  ///< the keys that this rank has inserted, less those that it has erased
};

}  // namespace PGAS_NAMESPACE
