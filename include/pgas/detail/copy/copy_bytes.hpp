// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstring>
#include <pgas/vocabulary/expects.hpp>

namespace PGAS_NAMESPACE::detail {

/// Copies bytes, also none, and also onto themselves.
inline void copy_bytes(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
  if (bytes != 0 && to != from) std::memcpy(to, from, bytes);
}

}  // namespace PGAS_NAMESPACE::detail
