// SPDX-License-Identifier: BSL-1.0
// The private members of a class, for a search that must know whether two states are equal.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>

namespace pgas_test {

class fingerprint;

/// Adds the members of a `T` to a fingerprint, once `opened` has been instantiated for it.
template <class T>
inline void (*add_inside)(T const&, fingerprint&) = nullptr;

/// The hash of a state: of numbers, containers, structures of the maps, and classes that `opened` has opened.
/// The order of an unordered container does not matter.
class fingerprint {
 public:
  [[nodiscard]] std::uint64_t value() const noexcept { return all_; }

  template <class T>
  fingerprint& add(T const& what) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      mix(static_cast<std::uint64_t>(what));
    } else if constexpr (requires { what.first, what.second; }) {
      add(what.first).add(what.second);
    } else if constexpr (requires { what.has_value(), *what; }) {
      add(what.has_value());
      if (what) add(*what);
    } else if constexpr (requires { typename T::hasher; }) {
      std::uint64_t sum = 0;
      for (auto const& one : what) sum += fingerprint().add(one).value();
      add(what.size()).add(sum);
    } else if constexpr (std::ranges::range<T const>) {
      add(static_cast<std::size_t>(std::ranges::distance(what)));
      for (auto const& one : what) add(one);
    } else if constexpr (requires { what.delivered, what.held; }) {  // of atomic_broadcast
      add(what.delivered).add(what.held);
    } else if constexpr (requires { what.from, what.payload; }) {
      add(what.from).add(what.payload);
    } else if constexpr (requires { what.from, what.words; }) {  // of a machine
      add(what.from).add(what.words);
    } else if constexpr (requires { what.value, what.copies, what.pending, what.waiting; }) {  // of a server
      std::uint64_t copies = 0;  // in any order: each gets a message
      for (auto const& one : what.copies) copies += fingerprint().add(one).value();
      add(what.value).add(copies).add(what.pending).add(what.waiting);
    } else if constexpr (requires { what.update, what.missing; }) {
      add(what.update).add(what.missing);
    } else if constexpr (requires { what.from, what.key, what.is_lookup, what.value; }) {
      add(what.from).add(what.key).add(what.is_lookup).add(what.value);
    } else if constexpr (requires { what.from, what.key, what.value, what.is_overwritten; }) {
      add(what.from).add(what.key).add(what.value).add(what.is_overwritten);
    } else {
      add_inside<T>(what, *this);
    }
    return *this;
  }

 private:
  void mix(std::uint64_t x) noexcept {
    x += all_ + 0x9E3779B97F4A7C15U;
    x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
    all_ = x ^ (x >> 31U);
  }

  std::uint64_t all_ = 0;
};

/// Opens a class for fingerprints: an explicit instantiation may name private members.
template <class T, auto... Members>
struct opened {
  static void add(T const& what, fingerprint& to) { (to.add(what.*Members), ...); }
  static inline bool const is_done = (add_inside<T> = add, true);
};

}  // namespace pgas_test
