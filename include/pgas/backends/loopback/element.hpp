// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <optional>
#include <pgas/backends/loopback/message.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail::loopback {

/// A type whose elements the owner, or its agent beside it, can modify in one step.
template <class T>
inline constexpr bool is_atomic_element = std::is_arithmetic_v<T> && !std::is_same_v<T, bool> &&
                                          sizeof(T) <= 8 && std::atomic_ref<T>::is_always_lock_free;

template <class T>
constexpr element_kind element_kind_of() noexcept {
  constexpr auto nth = [](element_kind first) {  // of 1, 2, 4 and 8 bytes, in this order
    return static_cast<element_kind>(static_cast<int>(first) + (sizeof(T) == 1   ? 0
                                                                : sizeof(T) == 2 ? 1
                                                                : sizeof(T) == 4 ? 2
                                                                                 : 3));
  };
  if constexpr (std::is_floating_point_v<T>) return sizeof(T) == 4 ? element_kind::f32 : element_kind::f64;
  return nth(std::is_signed_v<T> ? element_kind::i8 : element_kind::u8);
}
static_assert(element_kind_of<std::int64_t>() == element_kind::i64 &&
              element_kind_of<char16_t>() == element_kind::u16);

// acq_rel: each access to an element pairs with each other access to it, by the owner and by its agent. A
// program may therefore synchronize through elements.

/// Replaces the element by op(element, value) in one step; returns the old element.
template <class T, class Op>
T modify(T& at, T value, Op op) noexcept {
  std::atomic_ref<T> element(at);
  if constexpr (Op::kind == op_kind::sum && std::is_integral_v<T>) {
    return element.fetch_add(value, std::memory_order_acq_rel);
  } else if constexpr (Op::kind == op_kind::replace) {
    return element.exchange(value, std::memory_order_acq_rel);
  } else if constexpr (Op::kind == op_kind::no_op) {
    return element.load(std::memory_order_acquire);
  } else {
    T old = element.load(std::memory_order_relaxed);
    while (!element.compare_exchange_weak(old, op(old, value), std::memory_order_acq_rel,
                                          std::memory_order_relaxed)) {}
    return old;
  }
}

/// Replaces the element by `desired` if its bytes equal those of `expected`; returns the old element.
template <class T>
T compare_exchange(T& at, T expected, T desired) noexcept {
  std::atomic_ref<T>(at).compare_exchange_strong(expected, desired, std::memory_order_acq_rel);
  return expected;
}

template <class T>
T load(T& at) noexcept {
  return std::atomic_ref<T>(at).load(std::memory_order_acquire);
}
template <class T>
void store(T& at, T value) noexcept {
  std::atomic_ref<T>(at).store(value, std::memory_order_release);
}

/// Calls use(value) with a value of the type that `kind` names.
template <class Use>
auto with_element(element_kind kind, Use&& use) {
  switch (kind) {
    case element_kind::i8:
      return use(std::int8_t{});
    case element_kind::i16:
      return use(std::int16_t{});
    case element_kind::i32:
      return use(std::int32_t{});
    case element_kind::i64:
      return use(std::int64_t{});
    case element_kind::u8:
      return use(std::uint8_t{});
    case element_kind::u16:
      return use(std::uint16_t{});
    case element_kind::u32:
      return use(std::uint32_t{});
    case element_kind::f32:
      return use(float{});
    case element_kind::f64:
      return use(double{});
    case element_kind::u64:
    case element_kind::none:
      break;
  }
  return use(std::uint64_t{});
}

/// Calls use(operation) with the operation that `kind` names.
template <class Use>
auto with_operation(op_kind kind, Use&& use) {
  switch (kind) {
    case op_kind::sum:
      return use(op::sum{});
    case op_kind::product:
      return use(op::product{});
    case op_kind::min:
      return use(op::min{});
    case op_kind::max:
      return use(op::max{});
    case op_kind::bit_and:
      return use(op::bit_and{});
    case op_kind::bit_or:
      return use(op::bit_or{});
    case op_kind::bit_xor:
      return use(op::bit_xor{});
    case op_kind::replace:
      return use(op::replace{});
    case op_kind::no_op:
      break;
  }
  return use(op::no_op{});
}

/// Carries out an element_... message on the element at `at`; empty if the element has no such operation.
inline std::optional<std::uint64_t> carry_out(message const& m, std::byte* at) {
  return with_element(m.element, [&]<class T>(T) -> std::optional<std::uint64_t> {
    T& element = *reinterpret_cast<T*>(at);
    T const value = from_bits<T>(m.value);
    switch (m.kind) {
      case message_kind::element_load:
        return to_bits(load(element));
      case message_kind::element_store:
        store(element, value);
        return std::uint64_t{0};
      case message_kind::element_compare:
        return to_bits(compare_exchange(element, from_bits<T>(m.expected), value));
      default:
        return with_operation(m.op, [&]<class Op>(Op op) -> std::optional<std::uint64_t> {
          if constexpr (operation_on<Op, T>) {
            return to_bits(modify(element, value, op));
          } else {
            return std::nullopt;
          }
        });
    }
  });
}

/// Returns the size of an element in bytes.
inline std::size_t element_bytes(element_kind kind) {
  return with_element(kind, [](auto value) { return sizeof value; });
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::loopback
