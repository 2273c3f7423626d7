// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <initializer_list>
#include <pgas/vocabulary/expects.hpp>

namespace PGAS_NAMESPACE::detail {

template <class...>
inline constexpr bool always_false = false;

/// The parameter of a function that says, by a static_assert, how its other forms are called. It accepts what
/// they do not, since a conversion by a constructor is a worse match than any other. `Braces`: also a list in
/// braces. Such a function must not be overloaded with templates whose arguments may all be in braces, since
/// that is ambiguous.
template <bool Braces>
struct any_argument {
  constexpr any_argument() = default;
  template <class T>
  constexpr any_argument(T const&) noexcept {}  // not explicit: it stands for every type
  constexpr any_argument(std::initializer_list<any_argument>) noexcept
    requires Braces
  {}
};
using anything = any_argument<true>;
using anything_but_braces = any_argument<false>;

/// Stands for the window of an epoch that is opened by wrong arguments. Its specialization of each epoch says
/// how the epoch is opened.
template <class None>
struct misused {};

}  // namespace PGAS_NAMESPACE::detail
