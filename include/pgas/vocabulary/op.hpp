// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <pgas/vocabulary/transportable.hpp>
#include <type_traits>

namespace PGAS_NAMESPACE {

/// The name of an operation in a message, which cannot carry a type.
enum class op_kind : std::uint8_t {
  sum,      ///< op::sum
  product,  ///< op::product
  min,      ///< op::min
  max,      ///< op::max
  bit_and,  ///< op::bit_and
  bit_or,   ///< op::bit_or
  bit_xor,  ///< op::bit_xor
  replace,  ///< op::replace
  no_op,    ///< op::no_op
};

/// The operations by which accumulate combines an element with a value. MPI: MPI_Op.
///
/// op(old, value) is the new element. Integers wrap around. `replace` makes get_accumulate a swap, `no_op` an
/// atomic get.
namespace op {

/// old + value; integers wrap around. MPI_SUM.
struct sum {
  static constexpr op_kind kind = op_kind::sum;
  template <class T>
    requires requires(T old, T value) { static_cast<T>(old + value); }
  constexpr T operator()(T old, T value) const {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      using wrapping = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<wrapping>(static_cast<wrapping>(old) + static_cast<wrapping>(value)));
    } else {
      return static_cast<T>(old + value);
    }
  }
};
/// old * value; integers wrap around. MPI_PROD.
struct product {
  static constexpr op_kind kind = op_kind::product;
  template <class T>
    requires requires(T old, T value) { static_cast<T>(old * value); }
  constexpr T operator()(T old, T value) const {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      return static_cast<T>(static_cast<std::uintmax_t>(old) * static_cast<std::uintmax_t>(value));
    } else {
      return static_cast<T>(old * value);
    }
  }
};
/// The smaller one. MPI_MIN.
struct min {
  static constexpr op_kind kind = op_kind::min;
  template <class T>
    requires requires(T old, T value) { static_cast<bool>(value < old); }
  constexpr T operator()(T old, T value) const {
    return value < old ? value : old;
  }
};
/// The larger one. MPI_MAX.
struct max {
  static constexpr op_kind kind = op_kind::max;
  template <class T>
    requires requires(T old, T value) { static_cast<bool>(old < value); }
  constexpr T operator()(T old, T value) const {
    return old < value ? value : old;
  }
};
/// old & value, of integers. MPI_BAND.
struct bit_and {
  static constexpr op_kind kind = op_kind::bit_and;
  template <class T>
    requires requires(T old, T value) { static_cast<T>(old & value); }
  constexpr T operator()(T old, T value) const {
    return static_cast<T>(old & value);
  }
};
/// old | value, of integers. MPI_BOR.
struct bit_or {
  static constexpr op_kind kind = op_kind::bit_or;
  template <class T>
    requires requires(T old, T value) { static_cast<T>(old | value); }
  constexpr T operator()(T old, T value) const {
    return static_cast<T>(old | value);
  }
};
/// old ^ value, of integers. MPI_BXOR.
struct bit_xor {
  static constexpr op_kind kind = op_kind::bit_xor;
  template <class T>
    requires requires(T old, T value) { static_cast<T>(old ^ value); }
  constexpr T operator()(T old, T value) const {
    return static_cast<T>(old ^ value);
  }
};
/// The new value, whatever the old one is. MPI_REPLACE.
struct replace {
  static constexpr op_kind kind = op_kind::replace;
  template <class T>
  constexpr T operator()(T, T value) const {
    return value;
  }
};
/// The old value: an atomic get. MPI_NO_OP.
struct no_op {
  static constexpr op_kind kind = op_kind::no_op;
  template <class T>
  constexpr T operator()(T old, T) const {
    return old;
  }
};

}  // namespace op

namespace detail {

template <class Op>
inline constexpr bool is_standard_function = false;
template <class T>
inline constexpr bool is_standard_function<std::plus<T>> = true;
template <class T>
inline constexpr bool is_standard_function<std::multiplies<T>> = true;
template <class T>
inline constexpr bool is_standard_function<std::bit_and<T>> = true;
template <class T>
inline constexpr bool is_standard_function<std::bit_or<T>> = true;
template <class T>
inline constexpr bool is_standard_function<std::bit_xor<T>> = true;

template <class Op, class T>
concept named_operation_on =
    requires(Op op, T x) {
      { Op::kind } -> std::convertible_to<op_kind>;
      { op(x, x) } -> std::same_as<T>;
    } && (std::is_same_v<Op, op::replace> || std::is_same_v<Op, op::no_op> || !std::is_floating_point_v<T> ||
          Op::kind < op_kind::bit_and);

}  // namespace detail

/// A function of the program's own that combines an element of type T with a value: a lambda or a function
/// object, `[](T old, T value) { return ...; }`, which returns the new element as a T.
///
/// Its bytes can be copied, and it does not change itself. The rank that accumulates calls it, perhaps
/// several times for an element that other ranks modify, so it depends on its arguments alone. It does not
/// throw. The function objects of the standard library are none: `op::sum` is faster than `std::plus`. MPI
/// has no such operations for MPI_Accumulate.
template <class Op, class T>
concept user_operation_on =
    transportable<T> && !requires { Op::kind; } && !detail::is_standard_function<Op> && std::is_class_v<Op> &&
    std::is_trivially_copyable_v<Op> && requires(Op const op, T const x) {
      { op(x, x) } -> std::same_as<T>;
    };

/// An operation with which accumulate combines elements of type T: one of namespace op that is defined for T,
/// or one of the program's own.
///
/// `kind` of the former is its name in a message. `operator()(old, value)` returns the new element.
template <class Op, class T>
concept operation_on = transportable<T> && (detail::named_operation_on<Op, T> || user_operation_on<Op, T>);

namespace detail {

/// Refuses what is no operation on T, with a sentence that says why.
template <class Op, class T>
consteval void refuse_operation() {
  constexpr bool named = requires { Op::kind; };
  static_assert(
      !is_standard_function<Op>,
      "pgas: a message names the operation for its target, and std::plus has no such name; write "
      "pgas::op::sum, product, bit_and, bit_or or bit_xor instead of std::plus, multiplies, bit_and, "
      "bit_or or bit_xor");
  static_assert(!named || named_operation_on<Op, T>,
                "pgas: this operation is not defined for elements of this type; bit_and, bit_or and bit_xor "
                "need integers, sum and product the operators + and *, min and max the operator <");
  static_assert(named || is_standard_function<Op> || user_operation_on<Op, T>,
                "pgas: an operation of the program's own is a lambda or a function object that is called as "
                "op(old, value) with two elements and returns one of the same type; it is not mutable, and "
                "what it captures can be copied as bytes");
}

/// An argument in the place of an operation. The function refuses a wrong one by refuse_operation, so that
/// the compiler prints a sentence instead of a list of functions.
template <class Op>
concept operation_argument = !std::is_arithmetic_v<Op> && !requires(Op& op) { op.begin(); };

}  // namespace detail

}  // namespace PGAS_NAMESPACE
