// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <pgas/vocabulary/expects.hpp>

namespace PGAS_NAMESPACE::detail {

/// A hash of two numbers. Two pairs have the same one with probability 2^-64.
[[nodiscard]] constexpr std::uint64_t number_of_pair(std::uint64_t of, std::int64_t and_of) noexcept {
  std::uint64_t number = (of ^ (static_cast<std::uint64_t>(and_of) * 0xd1342543de82ef95U)) + 1;
  number = (number ^ (number >> 30U)) * 0xbf58476d1ce4e5b9U;  // from splitmix64
  number = (number ^ (number >> 27U)) * 0x94d049bb133111ebU;
  return number ^ (number >> 31U);
}

}  // namespace PGAS_NAMESPACE::detail
