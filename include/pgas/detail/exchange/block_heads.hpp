// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <pgas/detail/control/collective_call.hpp>
#include <pgas/detail/types/algorithms.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The bytes at the begin of a share of a piece that hold its block's length. There is such a head where
/// ranks compare calls, if not all ranks name the lengths of all blocks. It keeps elements aligned to 16.
constexpr std::size_t head_bytes(std::size_t share, bool are_equal) noexcept {
  constexpr std::size_t head = 16;
  return compares_calls && !are_equal && share >= 2 * head ? head : 0;
}
/// The pieces of such a block: at least one, so that another rank can compare its length.
constexpr std::size_t compared_pieces(std::size_t pieces, bool are_equal) noexcept {
  return compares_calls && !are_equal ? std::max(pieces, std::size_t{1}) : pieces;
}

inline void write_head(std::byte* share, std::size_t block) noexcept {
  std::uint64_t const bytes = block;
  std::memcpy(share, &bytes, sizeof bytes);
}
inline std::size_t read_head(std::byte const* share) noexcept {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, share, sizeof bytes);
  return static_cast<std::size_t>(bytes);
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
