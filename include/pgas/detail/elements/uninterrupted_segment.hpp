// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstring>
#include <pgas/concepts/segment.hpp>
#include <span>
#include <type_traits>

namespace PGAS_NAMESPACE::detail {

/// The operations of a segment whose put and get no other rank interrupts: they are complete when they
/// return, and a read followed by a write is atomic.
template <class Segment>
class uninterrupted_segment {
 public:
  done rput(location at, bytes_in from) noexcept { return self().put(at, from), done{}; }
  done rget(location at, bytes_out into) noexcept { return self().get(at, into), done{}; }
  static void flush(rank_t) noexcept {}
  static void flush_all() noexcept {}
  static void flush_local(rank_t) noexcept {}
  static void flush_local_all() noexcept {}

  template <class T>
  static constexpr bool is_atomic = std::is_arithmetic_v<T> && sizeof(T) <= 8;
  template <class T, class Op>
  T fetch_op(location at, T value, Op op) noexcept {
    T const old = atomic_load<T>(at);
    atomic_store(at, static_cast<T>(op(old, value)));
    return old;
  }
  template <class T>
  T compare_exchange(location at, T expected, T desired) noexcept {
    T const old = atomic_load<T>(at);
    if (std::memcmp(&old, &expected, sizeof(T)) == 0) atomic_store(at, desired);
    return old;
  }
  template <class T>
  T atomic_load(location at) noexcept {
    T value;
    self().get(at, std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  template <class T>
  void atomic_store(location at, T value) noexcept {
    self().put(at, std::as_bytes(std::span(&value, 1)));
  }

 private:
  [[nodiscard]] Segment& self() noexcept { return static_cast<Segment&>(*this); }
};

}  // namespace PGAS_NAMESPACE::detail
