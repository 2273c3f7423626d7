// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <pgas/support/expects.hpp>
#include <type_traits>

namespace pgas::inline PGAS_ASSERTIONS {

/// A type whose bytes mean the same on every rank: it may be put, got and stored in a window.
///
/// A pointer is trivially copyable but means nothing on another rank, so it is refused; send a
/// `global_ptr`, a rank or an index instead. Not required: padding-free layout.
template <class T>
concept transportable = std::is_trivially_copyable_v<T> && std::is_object_v<T> && !std::is_pointer_v<T> &&
                        !std::is_member_pointer_v<T> && !std::is_const_v<T> && std::default_initializable<T>;

}  // namespace pgas::inline PGAS_ASSERTIONS
