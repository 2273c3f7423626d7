// SPDX-License-Identifier: BSL-1.0
// The rows of maps that each library has: YCSB's mixes on a million keys, and lookups, and additions.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "shapes.hpp"

namespace bench {

inline constexpr std::uint64_t map_keys = 1'000'000;

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

/// Numbers of keys by Zipf's law with exponent 0.99, or all with equal chance, and the steps of a mix, drawn
/// before the rows so that they cost no time.
class drawn_steps {
 public:
  explicit drawn_steps(int client) : dice_(static_cast<std::uint64_t>(client) + 1) {
    keys_.resize(count);
    steps_.resize(count);
  }
  void draw(mix const& of) {
    // By rejection, as in Hoermann and Derflinger 1996, for an exponent below 1.
    double const s = 0.99, n = static_cast<double>(map_keys);
    auto const integral = [&](double x) { return (std::pow(x, 1 - s) - 1) / (1 - s); };
    std::uniform_real_distribution<double> unit(0, 1);
    for (std::size_t i = 0; i < count; ++i) {
      double rank = 0;
      do {
        double const u = unit(dice_) * integral(n + 0.5);
        double const x = std::pow(1 + u * (1 - s), 1 / (1 - s));
        rank = std::floor(x);
        if (unit(dice_) * std::pow(std::max(x, 1.0), -s) <= std::pow(std::max(rank, 1.0), -s)) break;
      } while (true);
      keys_[i] = key_of(key_hash{}(static_cast<std::uint64_t>(rank)) % map_keys);  // scrambled
      steps_[i] = unit(dice_) < of.lookups ? map_step::look_up : of.other;
    }
    at_ = 0;
  }
  void draw_uniform() {
    std::uniform_int_distribution<std::uint64_t> number(0, map_keys - 1);
    for (std::uint64_t& key : keys_) key = key_of(number(dice_));
    at_ = 0;
  }
  [[nodiscard]] std::pair<std::uint64_t, map_step> next() noexcept {
    at_ = (at_ + 1) % count;
    return {keys_[at_], steps_[at_]};
  }

 private:
  static constexpr std::size_t count = std::size_t{1} << 18U;
  std::mt19937_64 dice_;
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

inline row_key map_key(char const* name, std::size_t value_bytes) {
  return {.row = name, .mode = "", .bytes = value_bytes};
}

/// The rows of a library. `Library<Value>` is a map of all keys, and `each(name, step)` the way in which all
/// clients do step(client).
template <class Value, class Map, class Each>
void map_rows(meter& m, Map& map, std::vector<drawn_steps>& clients, Each const& each) {
  for (mix const& of : mixes) {
    for (drawn_steps& steps : clients) steps.draw(of);
    m.measure(map_key(of.name, sizeof(Value)),
              {each([&](std::size_t client) { go<Value>(map, clients[client]); })});
  }
}

}  // namespace bench
