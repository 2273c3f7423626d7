// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <charconv>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include "in_quotes.hpp"

namespace example {

/// Argument i as a number, or `otherwise` if there are fewer arguments. Throws std::runtime_error if it is no
/// number or negative.
inline std::size_t number(std::span<std::string_view const> arguments, std::size_t i, std::size_t otherwise) {
  if (i >= arguments.size()) return otherwise;
  std::string_view const text = arguments[i];
  std::size_t value = 0;
  auto const [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (wrong != std::errc{} || end != text.data() + text.size()) {
    throw std::runtime_error(in_quotes(text) + " is not a number of 0 or more");
  }
  return value;
}

}  // namespace example
