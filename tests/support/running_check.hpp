// SPDX-License-Identifier: BSL-1.0
// A check of linearizability that goes along with a run, and whose state is small enough to compare.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/inside.hpp"

namespace pgas_test {

/// An operation on a map of the keys 0 and 1, with values from 1 to 13. The result 0 is an absent key.
struct small_call {
  enum kind : std::uint8_t { lookup, update, erase } what = lookup;
  int key = 0;
  int value = 0;  ///< of an update
};

/// Knows all orders of the operations so far that explain the results so far.
///
/// States    A possible state is the value of each key, and for each client: idle, called, or done with a
///           result that the client has not seen yet. An operation may take effect at any time after its
///           call. A return keeps the possible states with its result. Without one the history is wrong.
/// Source    the configurations of Wing and Gong 1993, all of them at once.
class running_check {
 public:
  static constexpr std::size_t most_clients = 4;

  void calls(std::size_t client, small_call const& what) {
    calls_[client] = what;
    for (std::uint32_t& one : possible_) one = with(one, client, called);
    close();
  }
  /// Returns false if no order explains the result.
  [[nodiscard]] bool returns(std::size_t client, int result) {
    return keep(client, done + static_cast<std::uint32_t>(result));
  }
  /// The operation has had no effect. Returns false if an order needs its effect.
  [[nodiscard]] bool gives_up(std::size_t client) { return keep(client, called); }

  void add_to(fingerprint& to) const { to.add(possible_); }

 private:
  static constexpr std::uint32_t idle = 0;
  static constexpr std::uint32_t called = 1;
  static constexpr std::uint32_t done = 2;  ///< and the result
  static constexpr std::size_t value_bits = 4;
  static constexpr std::size_t client_bits = 5;

  static std::uint32_t part(std::uint32_t all, std::size_t at, std::size_t bits) {
    return (all >> at) & ((1U << bits) - 1);
  }
  static std::uint32_t with_part(std::uint32_t all, std::size_t at, std::size_t bits, std::uint32_t value) {
    return (all & ~(((1U << bits) - 1) << at)) | (value << at);
  }
  static std::size_t place(std::size_t client) { return 2 * value_bits + client * client_bits; }
  static std::uint32_t of(std::uint32_t all, std::size_t client) {
    return part(all, place(client), client_bits);
  }
  static std::uint32_t with(std::uint32_t all, std::size_t client, std::uint32_t state) {
    return with_part(all, place(client), client_bits, state);
  }

  /// Adds the possible states in which called operations have taken effect.
  void close() {
    for (std::size_t i = 0; i < possible_.size(); ++i) {
      for (std::size_t client = 0; client < most_clients; ++client) {
        std::uint32_t one = possible_[i];
        if (of(one, client) != called) continue;
        small_call const& what = calls_[client];
        std::size_t const at = static_cast<std::size_t>(what.key) * value_bits;
        std::uint32_t const result = what.what == small_call::lookup ? part(one, at, value_bits) : 0;
        if (what.what == small_call::update)
          one = with_part(one, at, value_bits, static_cast<std::uint32_t>(what.value));
        if (what.what == small_call::erase) one = with_part(one, at, value_bits, 0);
        one = with(one, client, done + result);
        if (std::find(possible_.begin(), possible_.end(), one) == possible_.end()) possible_.push_back(one);
      }
    }
    std::sort(possible_.begin(), possible_.end());
  }
  bool keep(std::size_t client, std::uint32_t state) {
    std::erase_if(possible_, [&](std::uint32_t one) { return of(one, client) != state; });
    for (std::uint32_t& one : possible_) one = with(one, client, idle);
    return !possible_.empty();
  }

  std::vector<std::uint32_t> possible_{0};
  std::array<small_call, most_clients> calls_{};
};

}  // namespace pgas_test
