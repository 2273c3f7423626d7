// SPDX-License-Identifier: BSL-1.0
// The rows of maps that each library has: YCSB's mixes on a million keys, lookups, insertions and additions,
// and the memory of a key.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../examples/support/zipf.hpp"
#include "shapes.hpp"

namespace bench {

/// Key number i: keys follow each other in no order that a hash could use.
constexpr std::uint64_t key_of(std::uint64_t i) noexcept {
  std::uint64_t const mixed = (i + 1) * 0x9e3779b97f4a7c15U;
  return mixed ^ mixed >> 32U;
}
/// A hash that all tables of the comparison take.
struct key_hash {
  constexpr std::uint64_t operator()(std::uint64_t key) const noexcept {
    std::uint64_t const product = (key ^ key >> 33U) * 0xff51afd7ed558ccdU;
    return product ^ product >> 33U;
  }
};

/// Values of 8 and of 100 bytes.
using short_value = std::uint64_t;
using long_value = std::array<std::uint32_t, 25>;
template <class Value>
constexpr Value value_of(std::uint64_t number) noexcept {
  if constexpr (std::is_same_v<Value, short_value>) {
    return number;
  } else {
    Value value{};
    value.fill(static_cast<std::uint32_t>(number));
    return value;
  }
}

/// A step of a client on a key.
enum class map_step { look_up, update, read_and_update };

/// A mix of YCSB (Cooper et al. 2010): its letter, the share of lookups, and the other step.
struct mix {
  char const* name;
  double lookups;
  map_step other;
};
inline constexpr std::array mixes{mix{"ycsb_a", 0.5, map_step::update}, mix{"ycsb_b", 0.95, map_step::update},
                                  mix{"ycsb_c", 1, map_step::update},
                                  mix{"ycsb_f", 0.5, map_step::read_and_update}};

/// A client's keys and steps, drawn before the rows so that they cost no time. The keys of mixes follow
/// Zipf's law with exponent 0.99, as in YCSB; those of other rows have equal chances.
class drawn_steps {
 public:
  drawn_steps(int client, int clients, std::uint64_t keys)
      : dice_(static_cast<std::uint64_t>(client) + 1),
        all_(keys),
        new_(keys + static_cast<std::uint64_t>(client)),
        clients_(static_cast<std::uint64_t>(clients)) {
    keys_.resize(count);
    steps_.resize(count);
  }
  void draw(mix const& of) {
    static example::zipf const law(all_);  // the sum over all keys is formed once
    std::uniform_real_distribution<double> unit(0, 1);
    for (std::size_t i = 0; i < count; ++i) {
      keys_[i] = key_of(key_hash{}(law(unit(dice_))) % all_);  // scrambled
      steps_[i] = unit(dice_) < of.lookups ? map_step::look_up : of.other;
    }
    at_ = 0;
  }
  void draw_uniform() {
    std::uniform_int_distribution<std::uint64_t> number(0, all_ - 1);
    for (std::uint64_t& key : keys_) key = key_of(number(dice_));
    at_ = 0;
  }
  [[nodiscard]] std::pair<std::uint64_t, map_step> next() noexcept {
    at_ = (at_ + 1) % count;
    return {keys_[at_], steps_[at_]};
  }
  /// Calls use(key) for the next n keys. The place in the list stays in a register: a load of it from memory
  /// would wait for the store before it, and with that for a locked instruction of `use`.
  template <class Use>
  void for_each_next(std::size_t n, Use const& use) noexcept {
    std::uint64_t const* const keys = keys_.data();
    std::size_t at = at_;
    for (; n > 0; --n) {
      at = (at + 1) % count;
      use(keys[at]);
    }
    at_ = at;
  }
  /// A key that no map has yet. The keys of clients differ.
  [[nodiscard]] std::uint64_t next_new() noexcept {
    std::uint64_t const number = new_;
    new_ += clients_;
    return key_of(number);
  }

 private:
  static constexpr std::size_t count = std::size_t{1} << 18U;
  std::mt19937_64 dice_;
  std::uint64_t all_;
  std::uint64_t new_;
  std::uint64_t clients_;
  std::vector<std::uint64_t> keys_;
  std::vector<map_step> steps_;
  std::size_t at_ = 0;
};

/// One step of a client on a map with `lookup(key)` and `update(key, value)`.
template <class Value, class Map>
void go(Map& map, drawn_steps& steps) {
  auto const [key, step] = steps.next();
  if (step != map_step::update) keep(map.lookup(key));
  if (step != map_step::look_up) map.update(key, value_of<Value>(key));
}

/// The places for keys beside those that a map is filled with: insertions take fewer in their row.
constexpr std::uint64_t places_for(std::uint64_t keys) noexcept { return 2 * keys + 65'536; }

/// A sample has many steps: a rank that shares its core waits for it longer than a step takes.
inline constexpr double map_sample_seconds = 1e-3;

inline row_key map_key(char const* name, std::size_t value_bytes, double per_call = 1) {
  return {.row = name,
          .mode = "",
          .bytes = value_bytes,
          .per_call = per_call,
          .sample_seconds = map_sample_seconds};
}

/// All clients call run(n), from the moment when the last is ready until the last has finished. The clock of
/// rank 0 alone would leave steps out: where ranks share cores, others finish before rank 0 gets its core.
template <class Run>
way all_clients(meter const& m, std::string_view name, Run run) {
  return {name, {}, [&m, run](std::size_t n) mutable {
            double const began = m.aligned_at();
            run(n);
            m.align();
            return m.aligned_at() - began;
          }};
}

/// Calls use(key) for each of the keys that this rank puts into a map.
template <class Use>
void each_own_key(meter const& m, Use const& use) {
  auto const ranks = static_cast<std::uint64_t>(m.ranks());
  for (auto i = static_cast<std::uint64_t>(m.rank()); i < m.keys(); i += ranks) use(key_of(i));
}
/// Looks up one key of four, so that each page is mapped before the rows: a page fault is no part of a step.
template <class Map>
void touch(meter const& m, Map& map) {
  for (std::uint64_t i = 0; i < m.keys(); i += 4) keep(map.lookup(key_of(i)));
}

/// The bytes of a map over its keys, in the place of a time.
inline way memory_of(meter const& m, std::string_view name, double bytes) {
  return {name, {}, [a_key = bytes / static_cast<double>(m.keys())](std::size_t n) {
            return a_key * static_cast<double>(n);
          }};
}
template <class Value>
row_key memory_key() {
  return {.row = "map_memory", .mode = "", .bytes = sizeof(Value), .unit = "B a key"};
}

/// The mixes. `each(step)` is the way in which all clients do step(client).
template <class Value, class Map, class Each>
void mix_rows(meter& m, Map& map, std::vector<drawn_steps>& clients, Each const& each) {
  for (mix const& of : mixes) {
    for (drawn_steps& steps : clients) steps.draw(of);
    m.measure(map_key(of.name, sizeof(Value)),
              {each([&](std::size_t client) { go<Value>(map, clients[client]); })});
  }
}

/// All rows that peers have. `map` also has `add(key, number)` and `bytes()`.
template <class Value, class Map, class Each>
void map_rows(meter& m, Map& map, std::vector<drawn_steps>& clients, Each const& each) {
  m.measure(memory_key<Value>(), {memory_of(m, "", map.bytes())});
  mix_rows<Value>(m, map, clients, each);
  if constexpr (std::is_same_v<Value, short_value>) {
    for (drawn_steps& steps : clients) steps.draw_uniform();
    m.measure(map_key("map_lookup", 8),
              {each([&](std::size_t client) { keep(map.lookup(clients[client].next().first)); })});
    m.measure(map_key("map_accumulate", 8),
              {each([&](std::size_t client) { map.add(clients[client].next().first, 1); })});
    m.measure(map_key("map_insert", 8),
              {each([&](std::size_t client) { map.update(clients[client].next_new(), 1); })});
  }
}

}  // namespace bench
