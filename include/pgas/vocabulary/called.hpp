// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <pgas/vocabulary/expects.hpp>
#include <source_location>
#include <string_view>
#include <type_traits>

namespace PGAS_NAMESPACE::detail {

/// The place in the program from which a function is called, for its errors: a last argument that is
/// `caller by = here()`. It costs nothing where no error is thrown. It is the address of what the compiler
/// knows of the place, the only member of a std::source_location: GCC 12 would keep an object of a class in
/// the frame of a coroutine that awaits the call.
enum class caller : std::uintptr_t { unknown = 0 };

/// The default value of such an argument.
#if defined(__clang__)
// Clang knows the type of its own builtin only in a unit that has parsed <source_location>, not in one that
// has it from a module or a precompiled header.
[[nodiscard, gnu::always_inline]] inline caller here(
    std::source_location at = std::source_location::current()) noexcept {
  return std::bit_cast<caller>(at);
}
#else
[[nodiscard, gnu::always_inline]] inline caller here(void const* at = __builtin_source_location()) noexcept {
  return static_cast<caller>(reinterpret_cast<std::uintptr_t>(at));
}
#endif

/// The place of a known caller.
inline std::source_location place_of(caller by) noexcept { return std::bit_cast<std::source_location>(by); }

/// A call as errors tell it: the operation, and its place if that is known.
///
/// A check that is inlined into loops passes its two members, and not the object, to a function out of line:
/// otherwise GCC 12 makes the object before the loop, and keeps it in registers there.
class called {
 public:
  constexpr called(char const* operation) noexcept : called(operation, caller::unknown) {}
  constexpr called(char const* operation, caller by) noexcept : operation_(operation), by_(by) {}
  [[nodiscard]] constexpr char const* operation() const noexcept { return operation_; }
  [[nodiscard]] constexpr caller by() const noexcept { return by_; }
  constexpr operator std::string_view() const noexcept { return operation_; }

 private:
  char const* operation_;
  caller by_;
};

/// An argument with the place of its call, where a list of other arguments of any number comes behind it, or
/// an operator takes no other. It converts from all that converts to T.
template <class T>
class with_caller {
 public:
  with_caller(T value, caller by = here()) noexcept : value_(value), by_(by) {}
  template <class Other>
    requires(std::is_class_v<Other> && !std::same_as<Other, T> && std::is_convertible_v<Other const&, T>)
  with_caller(Other const& value, caller by = here()) : value_(value), by_(by) {}
  constexpr operator T() const noexcept { return value_; }
  [[nodiscard]] constexpr caller by() const noexcept { return by_; }

 private:
  T value_;
  caller by_;
};

/// The rank and the index of a global pointer in braces, for an operator that takes a placed pointer.
struct placed_numbers {
  int rank = -1;
  std::int64_t index = 0;
  caller by = here();
};

}  // namespace PGAS_NAMESPACE::detail
