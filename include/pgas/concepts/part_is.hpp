// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/segment.hpp>

namespace PGAS_NAMESPACE {

/// How a rank reaches the part of a target, as far as a type says it.
enum class part_is {
  near,         ///< a plain array of this process: a put of an element is a store
  far,          ///< memory that only transfers reach
  near_or_far,  ///< near on this rank's node, far elsewhere: the rank is asked
};

namespace detail {

/// The facts about the parts of all ranks that a segment's type tells.
template <segment S>
inline constexpr part_is parts_of = cache_controlled<S>        ? part_is::far
                                    : shared_segment<S>        ? part_is::near
                                    : partly_shared_segment<S> ? part_is::near_or_far
                                                               : part_is::far;

}  // namespace detail

}  // namespace PGAS_NAMESPACE
