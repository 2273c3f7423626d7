// SPDX-License-Identifier: BSL-1.0
#pragma once

#if __cplusplus < 202002L
#error "pgas needs C++20: compile with -std=c++20 (Meson: cpp_std=c++20; CMake: cxx_std_20 as a feature)"
#include <pgas-needs-C++20>  // no such file: the compiler stops here instead of refusing each later line
#endif
#if defined(__clang__)
#if __clang_major__ < 16 && !defined(__apple_build_version__)  // Apple counts otherwise
#error "pgas needs clang 16 or later, or g++ 12 or later: older compilers do not know enough of C++20"
#include <pgas-needs-clang-16>
#endif
#elif defined(__GNUC__) && __GNUC__ < 12
#error "pgas needs g++ 12 or later, or clang 16 or later: older compilers do not know enough of C++20"
#include <pgas-needs-g++-12>
#endif
#if !defined(__cpp_exceptions)
#error "pgas reports errors by exceptions: compile without -fno-exceptions"
#include <pgas-needs-exceptions>
#endif
#include <version>
#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 190000
#error "pgas needs libc++ 19 or later, or libstdc++: older ones have no std::atomic_ref"
#include <pgas-needs-libc++-19>
#endif

/// The level of the checks at run time: `none`, `light`, `normal` (the default) or `heavy`.
///
/// `none` trusts the caller. `light` checks everything that happens once per epoch or per bulk operation.
/// `normal` also checks every element access. `heavy` may communicate to check. The macro's value is the word
/// itself.
#ifndef PGAS_ASSERTIONS
#define PGAS_ASSERTIONS normal
#endif

/// The namespace of everything in this library, as its headers open it.
///
/// Each level but `normal` has an inline namespace. Two units compiled at different levels then do not link,
/// instead of sharing one half-checked template. `normal` has none, because g++ prints the names of inline
/// namespaces in every message.
#define PGAS_NAMESPACE PGAS_NAMESPACE_AT(PGAS_ASSERTIONS)
#define PGAS_NAMESPACE_AT(level) PGAS_NAMESPACE_AT_LEVEL(level)
#define PGAS_NAMESPACE_AT_LEVEL(level) PGAS_NAMESPACE_AT_##level
#define PGAS_NAMESPACE_AT_none pgas::inline none
#define PGAS_NAMESPACE_AT_light pgas::inline light
#define PGAS_NAMESPACE_AT_normal pgas
#define PGAS_NAMESPACE_AT_heavy pgas::inline heavy

namespace PGAS_NAMESPACE {

/// A level of checks at run time: `none`, `light`, `normal` or `heavy`, see PGAS_ASSERTIONS.
enum class assertion_level { none, light, normal, heavy };

/// The level of this unit: PGAS_ASSERTIONS.
inline constexpr assertion_level assertions = assertion_level::PGAS_ASSERTIONS;

}  // namespace PGAS_NAMESPACE

/// Checks a precondition at `level` and above; `otherwise` is an expression that throws.
#define PGAS_EXPECTS(level, condition, otherwise)                         \
  do {                                                                    \
    if constexpr (::pgas::assertions >= ::pgas::assertion_level::level) { \
      if (!(condition)) [[unlikely]] {                                    \
        otherwise;                                                        \
      }                                                                   \
    }                                                                     \
  } while (false)
