// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <pgas/detail/copy/short_copy.hpp>
#include <pgas/vocabulary/expects.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The number of elements combined as one block. GCC 12 at -O2 makes vector code only of a loop of constant
/// length.
inline constexpr std::size_t combined_at_once = 16;

template <std::size_t AtOnce, class T, class Op>
[[gnu::always_inline]] inline void combine_blocks(T* __restrict to, T const* __restrict from,
                                                  std::size_t count, Op op) noexcept {
  std::size_t i = 0;
  for (; count - i >= AtOnce; i += AtOnce) {
    for (std::size_t k = 0; k < AtOnce; ++k) to[i + k] = op(to[i + k], from[i + k]);
  }
  for (; i < count; ++i) to[i] = op(to[i], from[i]);
}

#if defined(__x86_64__)
template <class T, class Op>
[[gnu::target("avx2"), gnu::noinline]] void combine_wide(T* to, T const* from, std::size_t count,
                                                         Op op) noexcept {
  combine_blocks<combined_at_once>(to, from, count, op);
}
/// In registers of 64 bytes, and in blocks of twice the length, so that four of them are under way.
template <class T, class Op>
[[gnu::target("avx512f"), gnu::noinline]] void combine_in_lines(T* to, T const* from, std::size_t count,
                                                                Op op) noexcept {
  combine_blocks<2 * combined_at_once>(to, from, count, op);
}
#endif

/// Combines each of `count` values into its element: to[i] = op(to[i], from[i]). Takes the widest registers
/// that this processor has. Requires that the two arrays do not overlap.
template <class T, class Op>
void combine(T* to, T const* from, std::size_t count, Op op) noexcept {
#if defined(__x86_64__)
  if (count >= 2 * combined_at_once) {
    // Registers of 64 bytes come with fused multiplication and addition, which the compiler would put into an
    // operation of the program's own. Such an element would differ from one that another path combines.
    if constexpr (requires { Op::kind; }) {
      if (moves_whole_lines) return combine_in_lines(to, from, count, op);
    }
    if (__builtin_cpu_supports("avx2")) return combine_wide(to, from, count, op);
  }
#endif
  combine_blocks<combined_at_once>(to, from, count, op);
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
