// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <pgas/vocabulary/expects.hpp>
#include <string>
#include <string_view>
#include <type_traits>

namespace PGAS_NAMESPACE::histories::detail {

/// A key or a value as a text: numbers and texts as such, values of other types as "..." unless a function
/// `to_string` beside their type writes them.
template <class T>
[[nodiscard]] std::string value_text(T const& value) {
  using std::to_string;
  if constexpr (std::same_as<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::convertible_to<T const&, std::string_view>) {
    return '"' + std::string(std::string_view(value)) + '"';
  } else if constexpr (std::is_enum_v<T>) {
    return to_string(static_cast<std::underlying_type_t<T>>(value));
  } else if constexpr (requires { to_string(value); }) {
    return to_string(value);
  } else {
    return "...";
  }
}

/// 0 for a type without std::hash.
template <class T>
[[nodiscard]] std::size_t value_hash(T const& value) {
  if constexpr (requires { std::hash<T>{}(value); }) return std::hash<T>{}(value);
  return 0;
}

/// The hash of a sequence so far, and of its next element.
[[nodiscard]] constexpr std::size_t hash_with(std::size_t all, std::size_t next) noexcept {
  all ^= next + 0x9e3779b97f4a7c15U + (all << 6U) + (all >> 2U);
  return all * 0xff51afd7ed558ccdU;
}

}  // namespace PGAS_NAMESPACE::histories::detail
