// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <pgas/vocabulary/expects.hpp>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

namespace PGAS_NAMESPACE {

/// True if a value holds an address, which means nothing on another rank: pointers, views, and arrays of
/// such.
///
/// The members of a struct are not known to the library. A struct that holds an address says so itself:
/// `template <> inline constexpr bool pgas::holds_address<my_view> = true;`.
template <class T>
inline constexpr bool holds_address =
    std::is_pointer_v<T> || std::is_member_pointer_v<T> || std::is_null_pointer_v<T>;
template <class T>
inline constexpr bool holds_address<T const> = holds_address<T>;
template <class T, std::size_t N>
inline constexpr bool holds_address<T[N]> = holds_address<T>;
template <class T, std::size_t N>
inline constexpr bool holds_address<std::array<T, N>> = holds_address<T>;
template <class T>
inline constexpr bool holds_address<std::optional<T>> = holds_address<T>;
template <class First, class Second>
inline constexpr bool holds_address<std::pair<First, Second>> = holds_address<First> || holds_address<Second>;
template <class Character, class Traits>
inline constexpr bool holds_address<std::basic_string_view<Character, Traits>> = true;
template <class T, std::size_t N>
inline constexpr bool holds_address<std::span<T, N>> = true;
template <class T>
inline constexpr bool holds_address<std::reference_wrapper<T>> = true;

/// A transportable type has bytes that mean the same on every rank: it may be put, got and stored in a
/// window.
///
/// An address is trivially copyable but means nothing on another rank, so a type that holds an address is
/// refused. Send a `global_ptr`, a rank or an index instead; send the characters of a text. Padding is
/// allowed.
template <class T>
concept transportable = std::is_trivially_copyable_v<T> && std::is_object_v<T> && !std::is_array_v<T> &&
                        !holds_address<T> && !std::is_const_v<T> && std::default_initializable<T>;

namespace detail {

/// Refuses a type that is not transportable, with a sentence that says why.
template <class T>
consteval void refuse_type() {
  static_assert(!holds_address<std::remove_const_t<T>>,
                "pgas: this type holds an address, which means nothing on another rank; send a global_ptr, a "
                "rank or an index instead, or the characters of a text");
  static_assert(
      holds_address<std::remove_const_t<T>> || (std::is_object_v<T> && std::is_trivially_copyable_v<T>),
      "pgas: ranks exchange elements as bytes, and this type keeps values elsewhere or has a copy "
      "constructor of its own; take numbers, std::array, or structs of such");
  static_assert(!std::is_array_v<T>,
                "pgas: arrays of the language cannot be returned and assigned; take std::array");
  static_assert(!std::is_const_v<T>, "pgas: ranks cannot put to constant memory; take a type without const");
  static_assert(std::is_const_v<T> || holds_address<T> || !std::is_trivially_copyable_v<T> ||
                    std::default_initializable<T>,
                "pgas: elements are made before they have values; give this type a default constructor");
}

}  // namespace detail

namespace detail {

/// True if the compiler finds no byte without a value: it does not evaluate a padding byte at compile time.
/// A struct aligned like long double may hold one, whose padding g++ evaluates.
template <class T>
concept evaluates_each_byte = alignof(T) <= alignof(std::uint64_t) && requires {
  typename std::bool_constant<(static_cast<void>(std::bit_cast<std::array<signed char, sizeof(T)>>(T{})),
                               true)>;
};

}  // namespace detail

/// True if no byte of T is padding, so that a copy has the bytes of its original: compare_exchange needs it.
///
/// Padding has no value, and a copy may change it. It is in `long double`, and in many structs with members
/// of different sizes. Where the compiler cannot tell, a struct says so itself:
/// `template <> inline constexpr bool pgas::has_no_padding<my_pair> = true;`.
template <class T>
inline constexpr bool has_no_padding =
    std::is_floating_point_v<T>
        ? std::numeric_limits<T>::digits != 64  // the processor's 10 bytes, in 12 or 16
        : std::has_unique_object_representations_v<T> || detail::evaluates_each_byte<T>;
/// A complex number: two values of a type and nothing else.
template <template <class> class Complex, class T>
  requires(sizeof(Complex<T>) == 2 * sizeof(T) && std::is_floating_point_v<T> &&
           requires(Complex<T> const z) {
             { z.real() } -> std::same_as<T>;
             { z.imag() } -> std::same_as<T>;
           })
inline constexpr bool has_no_padding<Complex<T>> = has_no_padding<T>;
template <class T, std::size_t N>
inline constexpr bool has_no_padding<std::array<T, N>> = N != 0 && has_no_padding<T>;

}  // namespace PGAS_NAMESPACE
