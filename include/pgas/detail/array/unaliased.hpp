// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/vocabulary/expects.hpp>

namespace PGAS_NAMESPACE::detail {

/// Returns `p`. The compiler then knows that pointers from other calls reach other memory.
///
/// Staged cells are a rank's own copy until they are given up: on a backend that copies, and by contract on
/// all others. Compilers cannot see that from two pointers to windows. They compare addresses before each
/// row, and g++ gives up on a loop that needs more than ten comparisons; two fields of a stencil need
/// thirteen. The promise of `__restrict` holds for parameters only. The result of a function with the
/// attribute malloc keeps it in all loops of the program. The compiler must not see that the function returns
/// its argument.
template <class T>
[[gnu::noinline, gnu::malloc]] T* unaliased(T* p) noexcept {
  asm volatile("" : "+r"(p));
  return p;
}

/// Ends the promise: stores through `p` before this call come before all accesses after it.
template <class T>
[[gnu::always_inline]] inline void give_up_unaliased(T* p) noexcept {
  asm volatile("" : : "r"(p) : "memory");
}

}  // namespace PGAS_NAMESPACE::detail
