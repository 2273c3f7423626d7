// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <pgas/detail/text/text_of.hpp>
#include <pgas/detail/types/algorithms.hpp>
#include <pgas/vocabulary/op.hpp>
#include <string>
#include <string_view>
#include <type_traits>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// By which operation a collective folds, and elements of which kind and length, in 32 bits that other ranks
/// can read. 0: it folds nothing.
///
/// Functions of the program are one operation here, and so are those of the standard library: their types
/// have no names that all ranks know.
class folded_kind {
 public:
  constexpr folded_kind() noexcept = default;
  /// The kind that another rank wrote.
  constexpr explicit folded_kind(std::uint32_t bits) noexcept : bits_(bits) {}
  template <class T, class Op>
  static constexpr folded_kind of() noexcept {
    std::uint32_t op = is_standard_function<Op> ? of_standard : of_program;
    if constexpr (requires { Op::kind; }) op = static_cast<std::uint32_t>(Op::kind) + 1;
    std::uint32_t const element = std::is_floating_point_v<T> ? 2 : std::is_integral_v<T> ? 1 : 0;
    constexpr std::size_t most = (std::size_t{1} << 24U) - 1;
    return folded_kind(op | element << 4U | static_cast<std::uint32_t>(std::min(sizeof(T), most)) << 8U);
  }

  [[nodiscard]] constexpr std::uint32_t bits() const noexcept { return bits_; }
  friend constexpr bool operator==(folded_kind, folded_kind) = default;

  /// Such as " by op::sum of integers of 4 bytes"; empty if nothing is folded.
  [[nodiscard]] std::string text() const {
    if (bits_ == 0) return "";
    static constexpr std::array<std::string_view, 9> names{"sum",    "product", "min",     "max",  "bit_and",
                                                           "bit_or", "bit_xor", "replace", "no_op"};
    std::uint32_t const op = bits_ & 15U;
    bool const is_named = op <= names.size();
    std::uint32_t const element = bits_ >> 4U & 15U;
    return text_of({" by ",
                    is_named            ? "op::"
                    : op == of_standard ? "a function of the standard library"
                                        : "a function of the program",
                    is_named ? names[op - 1] : "",
                    element == 2   ? " of floating-point numbers"
                    : element == 1 ? " of integers"
                                   : " of elements",
                    " of ", bits_ >> 8U, " bytes"});
  }

 private:
  static constexpr std::uint32_t of_program = 15;
  static constexpr std::uint32_t of_standard = 14;

  std::uint32_t bits_ = 0;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
