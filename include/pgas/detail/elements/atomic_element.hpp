// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <pgas/vocabulary/op.hpp>
#include <type_traits>

namespace PGAS_NAMESPACE::detail {

/// The types whose elements the processor modifies atomically.
template <class T>
inline constexpr bool is_native_element = std::is_arithmetic_v<T> && !std::is_same_v<T, bool> &&
                                          sizeof(T) <= 8 && std::atomic_ref<T>::is_always_lock_free;

/// Modifies an element at a known address in one indivisible step of the processor.
///
/// acq_rel: pairs with `load` and the other operations on the same element, so that a program may synchronize
/// through elements.
template <class T>
class atomic_element {
  static_assert(is_native_element<T>);

 public:
  explicit atomic_element(T& at) noexcept : element_(at) {}

  template <class Op>
  T fetch_op(T value, Op op) const noexcept {
    constexpr bool has_bits = std::is_integral_v<T>;
    if constexpr (std::is_integral_v<T> && Op::kind == op_kind::sum) {
      return element_.fetch_add(value, std::memory_order_acq_rel);
    } else if constexpr (has_bits &&
                         Op::kind == op_kind::bit_and) {  // one instruction if the old value is unused
      return element_.fetch_and(value, std::memory_order_acq_rel);
    } else if constexpr (has_bits && Op::kind == op_kind::bit_or) {
      return element_.fetch_or(value, std::memory_order_acq_rel);
    } else if constexpr (has_bits && Op::kind == op_kind::bit_xor) {
      return element_.fetch_xor(value, std::memory_order_acq_rel);
    } else if constexpr (Op::kind == op_kind::replace) {
      return element_.exchange(value, std::memory_order_acq_rel);
    } else if constexpr (Op::kind == op_kind::no_op) {
      return element_.load(std::memory_order_acquire);
    } else {
      T old = element_.load(std::memory_order_relaxed);
      while (!element_.compare_exchange_weak(old, op(old, value), std::memory_order_acq_rel,
                                             std::memory_order_relaxed)) {}
      return old;
    }
  }
  /// Replaces the element by `desired` if its bytes equal those of `expected`; returns the old element.
  T compare_exchange(T expected, T desired) const noexcept {
    element_.compare_exchange_strong(expected, desired, std::memory_order_acq_rel);
    return expected;
  }
  [[nodiscard]] T load() const noexcept { return element_.load(std::memory_order_acquire); }
  void store(T value) const noexcept { element_.store(value, std::memory_order_release); }

 private:
  std::atomic_ref<T> element_;
};

}  // namespace PGAS_NAMESPACE::detail
