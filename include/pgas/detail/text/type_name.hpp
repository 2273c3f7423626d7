// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <pgas/vocabulary/expects.hpp>
#include <string_view>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// A text that differs between any two lists of types, template parameters included. All processes of one
/// program have the same text.
template <class... Types>
constexpr std::string_view type_names() noexcept {
  return static_cast<char const*>(__PRETTY_FUNCTION__);
}

/// The 64-bit FNV-1a hash of that text, for messages that have no room for the text.
template <class... Types>
constexpr std::uint64_t type_hash() noexcept {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (char const c : type_names<Types...>()) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
