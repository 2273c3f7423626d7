// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <pgas/containers/distributed_map.hpp>
#include <pgas/vocabulary/transportable.hpp>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE {

namespace detail {

/// A value outside of the map: a text of characters, else a vector.
template <class T>
using chunked_text = std::conditional_t<std::same_as<T, char>, std::string, std::vector<T>>;
/// A value that a caller gives.
template <class T>
using chunked_view = std::conditional_t<std::same_as<T, char>, std::string_view, std::span<T const>>;

/// The name of a chunk behind the first one of its value.
struct chunk_name {
  std::uint64_t version = 0;  ///< of the value
  std::uint64_t number = 0;

  friend constexpr bool operator==(chunk_name const&, chunk_name const&) = default;
};

/// The elements of a chunk; those behind the end of the value are zero.
template <transportable T, std::size_t elements>
struct value_chunk {
  std::array<T, elements> its{};
};

/// The beginning of a value, its length, and the version that names its further chunks.
template <transportable T, std::size_t bytes>
struct chunked_head {
  static constexpr std::size_t elements = std::max<std::size_t>(bytes / sizeof(T), 1);
  using chunk_type = value_chunk<T, elements>;

  std::uint64_t version = 0;
  std::uint64_t size = 0;
  chunk_type first;

  chunked_head() = default;
  chunked_head(std::uint64_t version_of_value, chunked_view<T> value)
      : version(version_of_value), size(value.size()), first(chunk_of(value, 0)) {}

  /// A chunk of a value, counted from its beginning.
  [[nodiscard]] static chunk_type chunk_of(chunked_view<T> value, std::size_t number) {
    chunk_type chunk;
    std::size_t const at = std::min(number * elements, value.size());
    std::copy_n(value.begin() + static_cast<std::ptrdiff_t>(at), std::min(elements, value.size() - at),
                chunk.its.begin());
    return chunk;
  }
  /// The number of chunks behind the first.
  [[nodiscard]] std::size_t further_chunks() const noexcept {
    return size <= elements ? 0 : (static_cast<std::size_t>(size) - 1) / elements;
  }
  /// The value. A chunk that is missing counts as zero.
  [[nodiscard]] chunked_text<T> join(std::span<std::optional<chunk_type> const> further) const {
    chunked_text<T> value;
    value.reserve(static_cast<std::size_t>(size));
    auto const add = [&](chunk_type const& chunk) {
      auto const count = std::min(elements, static_cast<std::size_t>(size) - value.size());
      value.insert(value.end(), chunk.its.begin(), chunk.its.begin() + static_cast<std::ptrdiff_t>(count));
    };
    add(first);
    for (auto const& chunk : further) add(chunk.value_or(chunk_type()));
    return value;
  }
};

}  // namespace detail

/// A policy of make_chunked_map.
struct chunked_policy {
  std::size_t chunk_bytes = 112;  ///< the bytes of a chunk; with its name it takes two cache lines

  friend constexpr bool operator==(chunked_policy const&, chunked_policy const&) = default;
};

}  // namespace PGAS_NAMESPACE

/// Hashes the name of a chunk: neighbours of a value go to different ranks.
template <>
struct std::hash<pgas::detail::chunk_name> {
  [[nodiscard]] std::size_t operator()(pgas::detail::chunk_name const& name) const noexcept {
    return static_cast<std::size_t>(name.version * 0x9e3779b97f4a7c15U + name.number * 0xd1342543de82ef95U);
  }
};

namespace PGAS_NAMESPACE {

/// The options of a chunked_map. All ranks give the same.
struct chunked_options {
  map_options keys = {};                                  ///< the keys of each rank's part: see map_options
  map_options chunks = {.most = std::size_t{16} * 1024};  ///< the chunks of each rank's part
};

/// A hash map that the ranks of a team share, whose values are sequences of any length: texts if T is char.
///
/// The object is one rank's handle; it moves. Make one with make_chunked_map. Each operation on one key is
/// linearizable. Members that are collective say so; all others are one-sided.
///
/// States    The head of a value is in a distributed_map, with its key: a version, the length, and as many
///           elements as a chunk has. The rest is in chunks of a second map, each named by the version and a
///           number. No two values of a map ever have one version.
/// Change    A rank puts the chunks of the new value, then exchanges the head in one step, and then erases
///           the chunks of the old value. So the head decides, and chunks under a name never change.
/// Lookup    A reader finds the head, and then each chunk that it names. If one is missing, another rank has
///           replaced the value, and the reader begins again with the head. Otherwise the value was that of
///           the key when the reader found the head. No reader holds a lock or announces itself.
/// Source    Reads by versions are Lamport's (1977), and a value that one exchange publishes is that of
///           read-copy-update. Ours needs no grace period: a reader who comes late finds no chunk.
/// Costs     a lookup of a value of at most one chunk is that of distributed_map, and each further chunk is
///           one more; they are looked up in bulk. A change is one insertion for each chunk, one step for the
///           head, and one erasure for each chunk of the old value. A reader repeats when a value changes.
///
/// Works on every backend. UPC++: upcxx::dist_object of a std::unordered_map of std::string with calls.
template <transportable Key, transportable T, chunked_policy Policy, class Hash, class Equal, class Team>
  requires keys_by<Hash, Equal, Key>
class chunked_map {
  using head_type = detail::chunked_head<T, Policy.chunk_bytes>;
  using chunk_type = typename head_type::chunk_type;
  using name_type = detail::chunk_name;
  using heads_type = map_on<Team, Key, head_type, locking, Hash, Equal>;
  using chunks_type = map_on<Team, name_type, chunk_type>;

 public:
  using key_type = Key;
  using mapped_type = detail::chunked_text<T>;  ///< std::string if T is char, else std::vector
  using view_type = detail::chunked_view<T>;    ///< std::string_view, or std::span
  using value_type = std::pair<Key, mapped_type>;

  /// For make_chunked_map.
  chunked_map(Team const& team, chunked_options const& options, Hash hash, Equal equal)
      : heads_(make_map<Key, head_type, locking, Hash, Equal>(team, options.keys, hash, equal)),
        chunks_(make_map<name_type, chunk_type>(team, options.chunks)) {}

  /// Returns the value of a key, or nothing if the key is absent.
  [[nodiscard]] std::optional<mapped_type> lookup(Key const& key) const {
    std::optional<head_type> head;
    return look(key, head);
  }
  /// Returns whether a key is present. Costs a lookup in a distributed_map.
  [[nodiscard]] bool contains(Key const& key) const { return heads_.contains(key); }

  /// Inserts a key that is absent, and returns true. Returns false, and changes nothing, if it is present.
  /// Throws errc::no_space if a part is full, and then changes nothing.
  bool insert(Key const& key, view_type value) {
    if (heads_.contains(key)) return false;
    return publish(value, [&](head_type const& head) { return heads_.insert(key, head); });
  }
  /// Inserts a key, or gives it another value. Returns whether it was absent. Throws as insert does.
  bool insert_or_assign(Key const& key, view_type value) {
    std::optional<head_type> old;
    publish(value, [&](head_type const& head) {
      old = heads_.transform(key, [&](auto const&) { return std::optional(head); });
      return true;
    });
    free(old);
    return !old;
  }
  /// The same as insert_or_assign.
  void update(Key const& key, view_type value) { insert_or_assign(key, value); }
  /// Makes a key absent, and returns whether it was present.
  bool erase(Key const& key) {
    auto const old = heads_.transform(key, [](auto const&) { return std::optional<head_type>(); });
    free(old);
    return old.has_value();
  }
  /// Gives a key the value that change(its value, or nothing) returns, or makes it absent if that is nothing.
  /// One indivisible step: if another rank changes the key meanwhile, `change` is called again. Throws as
  /// insert does.
  template <std::invocable<std::optional<detail::chunked_text<T>> const&> Change>
  void transform(Key const& key, Change&& change) {
    for (unsigned attempt = 0;; pause(attempt++, "transform")) {
      std::optional<head_type> seen;
      std::optional<mapped_type> const before = look(key, seen);
      std::optional<mapped_type> const after = change(before);
      if (after ? replace(key, seen, view_type(*after)) : vanish(key, seen)) return;
    }
  }
  /// Inserts a key with `value` if it is absent, else appends `value` to its value, in one indivisible step.
  /// Throws as insert does.
  void append(Key const& key, view_type value) {
    transform(key, [&](std::optional<mapped_type> const& old) {
      mapped_type sum = old.value_or(mapped_type());
      sum.insert(sum.end(), value.begin(), value.end());
      return std::optional(std::move(sum));
    });
  }

  /// Sets values[i] to the value of keys[i], or to nothing, for each i. Each lookup is one by itself; heads
  /// and chunks are looked up in bulk. Throws errc::invalid_argument if the spans differ in length.
  void lookup(std::span<Key const> keys, std::span<std::optional<mapped_type>> values) const {
    std::vector<std::optional<head_type>> heads(values.size());
    heads_.lookup(keys, heads);
    std::vector<name_type> names;
    for (auto const& head : heads)
      if (head) name_chunks(*head, names);
    std::vector<std::optional<chunk_type>> chunks(names.size());
    chunks_.lookup(names, chunks);
    std::span<std::optional<chunk_type> const> rest(chunks);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i].reset();
      if (!heads[i]) continue;
      auto const its = rest.first(heads[i]->further_chunks());
      rest = rest.subspan(its.size());
      values[i] = is_complete(its) ? heads[i]->join(its) : lookup(keys[i]);
    }
  }
  /// Calls update for each pair, as if one after the other.
  void update(std::span<value_type const> pairs) {
    for (auto const& [key, value] : pairs) update(key, value);
  }

  /// The rank that owns a key. Chunks beyond the first are spread over all ranks.
  [[nodiscard]] rank_t owner(Key const& key) const { return heads_.owner(key); }
  /// The number of keys that are present when all ranks have called it. Collective; a reduction.
  [[nodiscard]] std::size_t size() const { return heads_.size(); }
  /// The number of chunks beyond the first of each value, on all ranks. Collective; a reduction.
  [[nodiscard]] std::size_t chunks() const { return chunks_.size(); }
  /// Calls use(key, value) for each key of this rank's part. One-sided. A key that is present throughout is
  /// met exactly once, with a value that it had. `use` may call the map.
  template <std::invocable<Key const&, detail::chunked_text<T> const&> Use>
  void for_each_own(Use&& use) const {
    for_each_of(team().rank(), use);
  }
  /// The same for the part of any rank.
  template <std::invocable<Key const&, detail::chunked_text<T> const&> Use>
  void for_each_of(rank_t owner, Use&& use, detail::caller by = detail::here()) const {
    auto const each = [&](Key const& key, head_type const& head) {
      auto value = join(head);
      if (!value) value = lookup(key);
      if (value) use(key, *value);
    };
    heads_.for_each_of(owner, each, by);
  }
  /// Erases all keys. Collective.
  void clear() {
    heads_.clear();
    chunks_.clear();
  }
  /// Gives each rank's part room for more keys and chunks. Collective; all ranks give the same numbers.
  /// Throws as distributed_map::reserve does.
  void reserve(std::size_t keys, std::size_t chunks) {
    heads_.reserve(keys);
    chunks_.reserve(chunks);
  }
  /// The bytes of one rank's parts. Where they have room to grow, these are addresses: see map_options.
  [[nodiscard]] std::size_t part_bytes() const noexcept { return heads_.part_bytes() + chunks_.part_bytes(); }
  /// The team that made the map.
  [[nodiscard]] Team const& team() const noexcept { return heads_.team(); }

 private:
  /// Finds the value of a key, and its head.
  [[nodiscard]] std::optional<mapped_type> look(Key const& key, std::optional<head_type>& head) const {
    for (unsigned attempt = 0;; pause(attempt++, "lookup")) {
      head = heads_.lookup(key);
      if (!head) return std::nullopt;
      if (auto value = join(*head)) return value;
    }
  }
  /// The value of a head, or nothing if a chunk is gone.
  [[nodiscard]] std::optional<mapped_type> join(head_type const& head) const {
    std::vector<name_type> names;
    name_chunks(head, names);
    std::vector<std::optional<chunk_type>> chunks(names.size());
    if (!names.empty()) chunks_.lookup(names, chunks);
    if (!is_complete(chunks)) return std::nullopt;
    return head.join(chunks);
  }
  [[nodiscard]] static bool is_complete(std::span<std::optional<chunk_type> const> chunks) {
    return std::all_of(chunks.begin(), chunks.end(), [](auto const& chunk) { return chunk.has_value(); });
  }
  static void name_chunks(head_type const& head, std::vector<name_type>& names) {
    for (std::uint64_t i = 0; i < head.further_chunks(); ++i) names.push_back({head.version, i});
  }

  /// Puts the chunks of a value, and returns use(head). Erases the chunks if that is false, or throws.
  template <class Use>
  bool publish(view_type value, Use const& use) {
    head_type const head(next_version(), value);
    std::vector<std::pair<name_type, chunk_type>> chunks;
    for (std::uint64_t i = 0; i < head.further_chunks(); ++i)
      chunks.emplace_back(name_type{head.version, i}, head_type::chunk_of(value, i + 1));
    bool is_published = false;
    try {
      chunks_.update(chunks);
      is_published = use(head);
    } catch (error const&) {
      free(head);
      throw;
    }
    if (!is_published) free(head);
    return is_published;
  }
  [[nodiscard]] static bool is_same(std::optional<head_type> const& a, std::optional<head_type> const& b) {
    return a.has_value() == b.has_value() && (!a || a->version == b->version);
  }
  /// Replaces the value of a key whose head is still the one that was seen.
  bool replace(Key const& key, std::optional<head_type> const& seen, view_type value) {
    bool const is_made = publish(value, [&](head_type const& head) {
      auto const old = heads_.transform(
          key, [&](auto const& now) { return is_same(now, seen) ? std::optional(head) : now; });
      return is_same(old, seen);
    });
    if (is_made) free(seen);
    return is_made;
  }
  bool vanish(Key const& key, std::optional<head_type> const& seen) {
    auto const old = heads_.transform(
        key, [&](auto const& now) { return is_same(now, seen) ? std::optional<head_type>() : now; });
    if (!is_same(old, seen)) return false;
    free(seen);
    return true;
  }
  /// Erases the chunks of a value that no head names any more.
  void free(std::optional<head_type> const& head) {
    if (!head) return;
    for (std::uint64_t i = 0; i < head->further_chunks(); ++i) chunks_.erase({head->version, i});
  }

  /// A number that no other value of the map has.
  [[nodiscard]] std::uint64_t next_version() noexcept {
    return ++values_ * static_cast<std::uint64_t>(team().size()) + static_cast<std::uint64_t>(team().rank());
  }
  void pause(unsigned attempt, std::string_view operation) const {
    team().state()->control.pause(attempt, {.operation = operation});
  }

  heads_type heads_;
  chunks_type chunks_;
  std::uint64_t values_ = 0;  ///< those that this rank has made
};

/// Makes an empty map whose values are sequences of T, of any length: `make_chunked_map<int>(team)` has texts
/// as values. Collective; all ranks give the same options. Throws on every rank as make_map does. Costs two
/// maps; the chunks of a value take 16 bytes each beside their elements, and the room of buckets.
template <transportable Key, transportable T = char, chunked_policy Policy = chunked_policy{},
          class Hash = std::hash<Key>, class Equal = std::equal_to<Key>, backend Backend,
          coherence_policy Coherence, protocol_bundle Protocols>
  requires keys_by<Hash, Equal, Key>
[[nodiscard]] auto make_chunked_map(team<Backend, Coherence, Protocols> const& team,
                                    chunked_options const& options = {}, Hash hash = {}, Equal equal = {}) {
  using team_type = pgas::team<Backend, Coherence, Protocols>;
  return chunked_map<Key, T, Policy, Hash, Equal, team_type>(team, options, std::move(hash),
                                                             std::move(equal));
}

/// The type of a chunked map on a team, as make_chunked_map returns it.
template <class Team, transportable Key, transportable T = char, chunked_policy Policy = chunked_policy{},
          class Hash = std::hash<Key>, class Equal = std::equal_to<Key>>
using chunked_map_on = chunked_map<Key, T, Policy, Hash, Equal, std::remove_cvref_t<Team>>;

}  // namespace PGAS_NAMESPACE
