// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/vocabulary/expects.hpp>
#include <type_traits>

namespace PGAS_NAMESPACE {

/// True for every global_array, whose header specializes it.
template <class A>
inline constexpr bool is_global_array = false;

/// A global_array of any element type, dimensions and policies: the argument of functions on arrays.
template <class A>
concept any_global_array = is_global_array<std::remove_cvref_t<A>>;

}  // namespace PGAS_NAMESPACE
