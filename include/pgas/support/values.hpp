// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <pgas/support/expects.hpp>
#include <type_traits>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The std::movable of C++20, as the compiler's own traits tell it. That one also looks for common references
/// and for ways to swap, which costs the compiler some milliseconds for each type.
template <class T>
concept movable = std::is_object_v<T> && std::is_move_constructible_v<T> && std::is_move_assignable_v<T>;

/// The std::copyable of C++20, likewise.
template <class T>
concept copyable = movable<T> && std::is_copy_constructible_v<T> && std::is_copy_assignable_v<T>;

/// The std::regular of C++20, likewise.
template <class T>
concept regular = copyable<T> && std::is_default_constructible_v<T> && requires(T const& a, T const& b) {
  { a == b } -> std::same_as<bool>;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
