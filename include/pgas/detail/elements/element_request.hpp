// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <pgas/detail/elements/atomic_element.hpp>
#include <pgas/vocabulary/op.hpp>
#include <type_traits>

namespace PGAS_NAMESPACE::detail {

/// The type of an element as a number, since a message carries no type.
enum class element_kind : std::uint8_t { none, i8, i16, i32, i64, u8, u16, u32, u64, f32, f64 };

/// The operation that a message requests from an element's owner.
enum class element_action : std::uint8_t {
  modify,   ///< replace it by op(element, value)
  compare,  ///< replace it by the value if it has the bytes of the expected one
  load,
  store,
};

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

/// Converts a number to the low bytes of a word, and back.
template <class T>
std::uint64_t to_bits(T value) noexcept {
  static_assert(sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}
template <class T>
T from_bits(std::uint64_t bits) noexcept {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
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

/// Returns the size of an element in bytes.
inline std::size_t element_bytes(element_kind kind) {
  return with_element(kind, [](auto value) { return sizeof value; });
}

/// A request for an element, as numbers.
struct element_request {
  element_action action{};
  element_kind element{};
  op_kind op{};
  std::uint64_t value = 0;     ///< an operand
  std::uint64_t expected = 0;  ///< of compare
};

/// Carries out a request on the element at `at`, in one step of the processor. Returns the old element, or
/// nothing if the element has no such operation.
inline std::optional<std::uint64_t> carry_out(element_request const& request, std::byte* at) {
  return with_element(request.element, [&]<class T>(T) -> std::optional<std::uint64_t> {
    atomic_element<T> const element(*reinterpret_cast<T*>(at));
    T const value = from_bits<T>(request.value);
    switch (request.action) {
      case element_action::load:
        return to_bits(element.load());
      case element_action::store:
        element.store(value);
        return std::uint64_t{0};
      case element_action::compare:
        return to_bits(element.compare_exchange(from_bits<T>(request.expected), value));
      case element_action::modify:
        break;
    }
    return with_operation(request.op, [&]<class Op>(Op op) -> std::optional<std::uint64_t> {
      if constexpr (operation_on<Op, T>) {
        return to_bits(element.fetch_op(value, op));
      } else {
        return std::nullopt;
      }
    });
  });
}

}  // namespace PGAS_NAMESPACE::detail
