// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <pgas/support/expects.hpp>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS {

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
concept transportable = std::is_trivially_copyable_v<T> && std::is_object_v<T> && !holds_address<T> &&
                        !std::is_const_v<T> && std::default_initializable<T>;

}  // namespace pgas::inline PGAS_ASSERTIONS
