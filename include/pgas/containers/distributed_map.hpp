// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <pgas/concepts/concurrent_map.hpp>
#include <pgas/containers/make_map.hpp>
#include <pgas/containers/map_policy.hpp>
#include <pgas/containers/message_map.hpp>
#include <pgas/detail/containers/map_batches.hpp>
#include <pgas/detail/containers/map_chain.hpp>
#include <pgas/detail/containers/map_home_line.hpp>
#include <pgas/detail/containers/map_table.hpp>
#include <pgas/team.hpp>
#include <pgas/vocabulary/error.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace PGAS_NAMESPACE {

/// A hash map that the ranks of a team share. Each key has an owner, which its hash chooses; any rank looks
/// up and changes any key by one-sided accesses, without the owner's help.
///
/// The object is one rank's handle; it moves. Make one with make_map. Each operation on one key is
/// linearizable: it takes effect at one moment between its call and its return. Keys are compared by `Equal`
/// and hashed by `Hash`, so padding never matters. Members that are collective say so; all others are
/// one-sided, and any rank may call them at any time. The destructor is local.
///
/// A lookup takes no lock; it reads again if the bucket has changed meanwhile. A change locks the chain of
/// its key for a few accesses; with the policy `counting`, a change of a present key takes no lock.
/// containers/README.md compares the costs. Works on every backend. MPI has no equal; UPC++:
/// upcxx::dist_object of a std::unordered_map with a call to its owner; BCL: BCL::HashMap.
template <transportable Key, transportable Value, auto Policy, class Hash, class Equal, backend Backend,
          coherence_policy Coherence, protocol_bundle Protocols>
  requires policy_of_accesses<decltype(Policy)> && keys_by<Hash, Equal, Key>
class distributed_map<Key, Value, Policy, Hash, Equal, Backend, Coherence, Protocols> {
  using team_type = pgas::team<Backend, Coherence, Protocols>;
  using window_type = pgas::window<std::uint64_t, Backend, Coherence, Protocols>;
  using table_type = detail::map_table<window_type>;
  using layout = detail::bucket_layout<Key, Value>;
  static_assert(
      Policy.slots == erased_slots::reused || sizeof(Value) <= sizeof(std::uint64_t),
      "distributed_map: with the policy `counting` a value is one atomic element of 8 bytes at most; "
      "take a smaller value, or leave the policy out");

 public:
  using key_type = Key;
  using mapped_type = Value;
  using value_type = std::pair<Key, Value>;
  using hasher = Hash;      ///< the type of hash_function()
  using key_equal = Equal;  ///< the type of key_eq()
  /// The promise of operations that overlap.
  static constexpr consistency promises = consistency::linearizable;
  /// The map's name in messages and tables.
  static constexpr std::string_view name = "distributed_map";

  /// For make_map.
  distributed_map(team_type const& team, std::unique_ptr<table_type> table, Hash hash, Equal equal)
      : team_(team), table_(std::move(table)), hash_(std::move(hash)), equal_(std::move(equal)) {}

  /// Returns the value of a key, or nothing if the key is absent. Costs a cache miss where key and value have
  /// 8 bytes each, else two; in far memory two atomic loads and a get.
  [[nodiscard]] std::optional<Value> lookup(Key const& key) const { return lookup_at(place_of(key), key); }
  /// Returns whether a key is present.
  [[nodiscard]] bool contains(Key const& key) const { return lookup(key).has_value(); }

  /// Inserts a key that is absent, and returns true. Returns false, and changes nothing, if it is present. Of
  /// several ranks that insert one key, exactly one gets true. Throws errc::no_space if the owner's part is
  /// full.
  bool insert(Key const& key, Value const& value) {
    auto const at = place_of(key);
    std::optional<bool> made;
    on_home_line(at, [&](auto const& line) { return (made = line.insert(key, at.tag, value)).has_value(); });
    if (!made) return insert_in_chain(key, value);
    balance_ += *made ? 1 : 0;
    return *made;
  }
  /// Inserts a key, or gives it another value. Returns whether it was absent. Throws as insert does.
  bool insert_or_assign(Key const& key, Value const& value) {
    return assign_at("insert_or_assign", place_of(key), key, value);
  }
  /// The same as insert_or_assign, by the name that concurrent_map has for it.
  void update(Key const& key, Value const& value) { assign_at("update", place_of(key), key, value); }
  /// Makes a key absent, and returns whether it was present.
  bool erase(Key const& key) {
    bool const erased = on_chain("erase", place_of(key), [&](auto const& chain) {
      return chain.erase(key) == detail::map_change::made;
    });
    balance_ -= erased ? 1 : 0;
    return erased;
  }
  /// Inserts a key with `value` if it is absent, else sets its value to op(old, value), in one indivisible
  /// step. Returns whether it was absent. `op` is one of pgas::op, or a function object as accumulate takes
  /// it. Throws as insert does.
  template <detail::operation_argument Op = op::sum>
  bool insert_or_accumulate(Key const& key, Value const& value, Op op = {}) {
    detail::refuse_operation<Op, Value>();
    return accumulate_at(place_of(key), key, value, op);
  }
  /// Calls change(value of the key, or nothing) and gives the key what it returns: a value, or nothing, which
  /// makes the key absent. Returns the value before. One indivisible step: other ranks wait meanwhile, so
  /// `change` is brief and calls no map. Costs as insert_or_accumulate, and throws as insert.
  template <std::invocable<std::optional<Value> const&> Change>
    requires(Policy.slots == erased_slots::reused)
  std::optional<Value> transform(Key const& key, Change&& change) {
    std::optional<Value> before;
    bool is_there = false;
    auto const at = place_of(key);
    detail::map_change const is = on_chain("transform", at, [&](auto const& chain) {
      return chain.transform(key, [&](std::optional<Value> const& old) -> std::optional<Value> {
        std::optional<Value> now = change(old);
        before = old;
        is_there = now.has_value();
        return now;
      });
    });
    if (is == detail::map_change::no_space) [[unlikely]]
      refuse_full("transform", at.owner);
    balance_ += (is_there ? 1 : 0) - (before ? 1 : 0);
    return before;
  }

  /// Sets values[i] to the value of keys[i], or to nothing, for each i. Each lookup is one by itself. The
  /// keys of one owner follow one another, and their lines come from memory while earlier keys are looked up.
  void lookup(std::span<Key const> keys, std::span<std::optional<Value>> values) const {
    if (keys.size() != values.size()) {
      refuse(errc::invalid_argument, "lookup",
             std::to_string(values.size()) + " results for " + std::to_string(keys.size()) +
                 " keys; give as many");
    }
    detail::in_batches<false>(
        *table_, keys.size(), [&](std::size_t i) { return place_of(keys[i]); },
        [&](std::size_t i, detail::key_place const& at) { values[i] = lookup_at(at, keys[i]); });
  }
  /// Calls update for each pair, as if one after the other.
  void update(std::span<value_type const> pairs) {
    detail::in_batches<true>(
        *table_, pairs.size(), [&](std::size_t i) { return place_of(pairs[i].first); },
        [&](std::size_t i, detail::key_place const& at) {
          assign_at("update", at, pairs[i].first, pairs[i].second);
        });
  }
  /// Calls insert_or_accumulate for each pair.
  template <detail::operation_argument Op = op::sum>
  void insert_or_accumulate(std::span<value_type const> pairs, Op op = {}) {
    detail::refuse_operation<Op, Value>();
    detail::in_batches<true>(
        *table_, pairs.size(), [&](std::size_t i) { return place_of(pairs[i].first); },
        [&](std::size_t i, detail::key_place const& at) {
          accumulate_at(at, pairs[i].first, pairs[i].second, op);
        });
  }

  /// The hash that make_map was given.
  [[nodiscard]] Hash hash_function() const { return hash_; }
  /// The equality that make_map was given.
  [[nodiscard]] Equal key_eq() const { return equal_; }

  /// The rank that owns a key.
  [[nodiscard]] rank_t owner(Key const& key) const { return place_of(key).owner; }
  /// The number of keys that are present when all ranks have called it. Collective; a reduction.
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(team_.all_reduce(balance_)); }
  /// Calls use(key, value) for each key of this rank's part. One-sided. A key that is present throughout is
  /// met exactly once, with a value that it had; changes meanwhile may be met or not. `use` may call the map.
  template <std::invocable<Key const&, Value const&> Use>
  void for_each_own(Use&& use) const {
    for_each_of(team_.rank(), use);
  }
  /// The same for the part of any rank. Where that part is far, it costs three accesses a bucket.
  template <std::invocable<Key const&, Value const&> Use>
  void for_each_of(rank_t owner, Use&& use, detail::caller by = detail::here()) const {
    table_->state().check_rank(owner, {"for_each_of", by});
    table_->visit(owner, [&](auto const& words) {
      auto const& shape = table_->shape();
      auto const overflow =
          std::min<std::size_t>(words.load(detail::map_shape::used), shape.overflow_buckets);
      std::size_t const end = shape.buckets(words.load(detail::map_shape::grown));
      for (std::size_t bucket = 0; bucket < shape.home_buckets + overflow; ++bucket)
        for_each_in(words, shape.at(bucket), use);
      for (std::size_t bucket = shape.buckets(0); bucket < end; ++bucket)
        for_each_in(words, shape.at(bucket), use);
    });
  }
  /// Erases all keys. Collective.
  void clear() {
    team_.barrier();
    clear_own();
    balance_ = 0;
    team_.barrier();
  }
  /// Gives each rank's part room for `capacity` keys, and drops the slots that erased keys keep. Collective;
  /// all ranks give the same number. Each rank moves its own keys. Throws errc::invalid_argument on every
  /// rank if one has more keys, and the errors of make_map; the map is then as before.
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
    std::size_t const bound = table_->shape().most;
    std::size_t const limit = bound > table_->shape().capacity ? std::max(bound, capacity) : 0;
    distributed_map larger(team_, make_table(team_, {capacity, limit}, "reserve"), hash_, equal_);
    for_each_own([&](Key const& key, Value const& value) { larger.insert(key, value); });
    table_ = std::move(larger.table_);
    team_.barrier();
  }
  /// The keys that each rank's part surely has room for.
  [[nodiscard]] std::size_t capacity() const noexcept { return table_->shape().capacity; }
  /// The keys that each rank's part surely has room for once it has grown by itself.
  [[nodiscard]] std::size_t most() const noexcept { return table_->shape().most; }
  /// The bytes of one rank's part. Where it has room to grow, these are addresses: see map_options.
  [[nodiscard]] std::size_t part_bytes() const noexcept {
    return table_->shape().words() * sizeof(std::uint64_t);
  }

  /// True: any rank may call the map. See concurrent_map.
  [[nodiscard]] static constexpr bool is_client() noexcept { return true; }
  /// Returns when all ranks have called it: no rank serves. Collective. See concurrent_map.
  void serve() const { team_.barrier(); }

  /// The team that made the map.
  [[nodiscard]] team_type const& team() const noexcept { return team_; }

  /// For make_map.
  static std::unique_ptr<table_type> make_table(team_type const& team, map_options const& options,
                                                std::string_view operation) {
    auto const [capacity, bound] = options;
    detail::handshake shake(*team.state(), operation);
    shake.require_natural(capacity, "keys of capacity");
    shake.require_natural(bound, "keys at most");
    shake.require_same(capacity, "keys of capacity");
    shake.require_same(bound, "keys at most");
    if (bound != 0 && bound < capacity) {
      shake.refuse(errc::invalid_argument, "a part with room for " + std::to_string(capacity) +
                                               " keys cannot grow to " + std::to_string(bound) +
                                               "; give a larger `most`, or none");
    }
    constexpr std::size_t most = std::size_t{1} << 32U;
    if (std::size_t const asked = std::max(capacity, bound); asked > most) {
      shake.refuse(errc::invalid_argument, "a part has room for 2^32 keys at most, and " +
                                               std::to_string(asked) + " were asked for; take more ranks");
    }
    shake.conclude();
    auto const shape = detail::map_shape::of(capacity, layout::words, bound);
    return std::make_unique<table_type>(make_window<std::uint64_t>(team, shape.words()), shape);
  }

 private:
  template <class Words>
  using chain_on = detail::map_chain<typename table_type::state_type, Words, Key, Value, Policy, Equal>;

  [[nodiscard]] detail::key_place place_of(Key const& key) const {
    return table_->place_of(static_cast<std::uint64_t>(hash_(key)));
  }
  /// Returns use(chain of a place).
  template <class Use>
  decltype(auto) on_chain(std::string_view operation, detail::key_place const& at, Use&& use) const {
    return table_->visit(at.owner, [&](auto const& words) {
      return use(chain_on<std::remove_cvref_t<decltype(words)>>(table_->state(), words, table_->shape(),
                                                                at.home, at.tag, equal_, operation, at.hash));
    });
  }
  [[nodiscard]] std::optional<Value> lookup_at(detail::key_place const& at, Key const& key) const {
    std::optional<Value> value;
    if constexpr (layout::words > layout::line_words) table_->template prefetch_bucket<false>(at);
    if (!on_home_line(at, [&](auto const& line) { return line.lookup(key, value); })) [[unlikely]]
      look_in_chain(key, value);
    return value;
  }
  [[gnu::noinline]] void look_in_chain(Key key, std::optional<Value>& value) const {
    on_chain("lookup", place_of(key), [&](auto const& chain) { chain.lookup(key, value); });
  }
  [[gnu::noinline]] bool insert_in_chain(Key key, Value value) {
    return count("insert", place_of(key), [&](auto const& chain) { return chain.insert(key, value); });
  }
  bool assign_at(std::string_view operation, detail::key_place const& at, Key const& key,
                 Value const& value) {
    if constexpr (layout::words > layout::line_words) table_->template prefetch_bucket<true>(at);
    if (on_home_line(at, [&](auto const& line) { return line.assign(key, value); })) return false;
    return count(operation, at, [&](auto const& chain) { return chain.assign(key, value); });
  }
  template <class Op>
  bool accumulate_at(detail::key_place const& at, Key const& key, Value const& value, Op op) {
    if (on_home_line(at, [&](auto const& line) { return line.accumulate(key, value, op); })) return false;
    return accumulate_in_chain(key, value, op);
  }
  template <class Op>
  [[gnu::noinline]] bool accumulate_in_chain(Key key, Value value, Op op) {
    return count("insert_or_accumulate", place_of(key),
                 [&](auto const& chain) { return chain.accumulate(key, value, op); });
  }
  /// Returns use(line) if near memory has the line, else false: map_chain does the whole then.
  template <class Use>
  bool on_home_line(detail::key_place const& at, Use&& use) const {
    if constexpr (detail::has_home_line<Key, Value, Equal>) {
      return table_->visit(at.owner, [&](auto const& words) {
        using words_type = std::remove_cvref_t<decltype(words)>;
        if constexpr (words_type::by_single_words) {
          return use(detail::map_home_line<words_type, Key, Value, Policy>(words, at.home));
        } else {
          return false;
        }
      });
    } else {
      return false;
    }
  }
  /// Makes a change that may insert a key, and returns whether it has.
  template <class Change>
  bool count(std::string_view operation, detail::key_place const& at, Change&& change) {
    detail::map_change const is = on_chain(operation, at, change);
    if (is == detail::map_change::no_space) [[unlikely]]
      refuse_full(operation, at.owner);
    bool const made = is == detail::map_change::made;
    balance_ += made ? 1 : 0;
    return made;
  }

  template <class Words, class Use>
  void for_each_in(Words const& words, std::size_t bucket, Use&& use) const {
    std::array<std::optional<value_type>, detail::bucket_state::slots> found;
    for (unsigned attempt = 0;; table_->state().control.pause(attempt++, {.operation = "for_each_of"})) {
      detail::bucket_state const state(words.load(bucket));
      if (state.is_locked()) continue;
      for (std::size_t slot = 0; slot < found.size(); ++slot) {
        found[slot].reset();
        if (!state.is_present(slot)) continue;
        auto its = words.template read<layout::slot_words>(bucket + layout::key(slot));
        if constexpr (Policy.slots == erased_slots::kept)  // other ranks change it without the lock
          its[layout::key_words] = words.load(bucket + layout::value(slot));
        found[slot].emplace(detail::from_words<Key>(its.data()),
                            detail::from_words<Value>(its.data() + layout::key_words));
      }
      if (words.load(bucket) == state.bits()) break;
    }
    for (auto const& pair : found) {
      if (pair) use(pair->first, pair->second);
    }
  }
  void clear_own() {
    auto const& shape = table_->shape();
    table_->visit(team_.rank(), [&](auto const& words) {
      std::size_t const all = shape.at(shape.buckets(words.load(detail::map_shape::grown)));
      std::array<std::uint64_t, 512> const zeros{};
      for (std::size_t first = 0; first < all; first += zeros.size())
        words.write(first, std::span(zeros).first(std::min(zeros.size(), all - first)));
    });
  }

  [[noreturn]] void refuse(errc code, std::string_view operation, std::string const& sentence) const {
    throw error(code, table_->state().job_rank(), operation, sentence);
  }
  [[noreturn, gnu::cold, gnu::noinline]] void refuse_full(std::string_view operation, rank_t owner) const {
    refuse(errc::no_space, operation,
           "rank " + std::to_string(owner) + "'s part is full: it was made for " + std::to_string(most()) +
               " keys; give make_map a larger capacity or `most`, or let all ranks call reserve before");
  }

  team_type team_;
  std::unique_ptr<table_type> table_;
  [[no_unique_address]] Hash hash_;
  [[no_unique_address]] Equal equal_;
  std::int64_t balance_ = 0;  ///< the keys that this rank has inserted, less those that it has erased
};

}  // namespace PGAS_NAMESPACE
