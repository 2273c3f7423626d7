// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <pgas/vocabulary/expects.hpp>
#include <type_traits>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The std::movable of C++20, told by expressions alone. That one also looks for common references and for
/// ways to swap, and asks traits, each of which is a class to the compiler. That costs milliseconds for each
/// type.
template <class T>
concept movable = std::same_as<T, std::remove_reference_t<T>> && requires(T& to, T& from) {
  T(static_cast<T&&>(from));
  to = static_cast<T&&>(from);
};

/// The std::copyable of C++20, likewise.
template <class T>
concept copyable = movable<T> && requires(T& to, T const& from) {
  T(from);
  to = from;
};

/// The std::regular of C++20, likewise.
template <class T>
concept regular = copyable<T> && requires(T const& a, T const& b) {
  T();
  { a == b } -> std::same_as<bool>;
};

/// The std::constructible_from of C++20 for classes, likewise.
template <class T, class... Arguments>
concept constructible_from =
    requires(Arguments&&... arguments) { T(static_cast<Arguments&&>(arguments)...); };

/// The std::convertible_to of C++20, likewise, of values that a function takes.
template <class From, class To>
concept convertible_to = requires(void (*take)(To), From&& from) { take(static_cast<From&&>(from)); };

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
