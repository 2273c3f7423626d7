// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <pgas/detail/containers/map_bucket.hpp>
#include <pgas/vocabulary/op.hpp>
#include <type_traits>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Whether the words of two values of T combine as the values do, so that a message can name the operation.
template <class Op, class T>
inline constexpr bool combines_words = false;
template <class T>
  requires std::is_integral_v<T>
inline constexpr bool combines_words<op::sum, T> = true;
template <class T>
  requires std::is_integral_v<T>
inline constexpr bool combines_words<op::bit_and, T> = true;
template <class T>
  requires std::is_integral_v<T>
inline constexpr bool combines_words<op::bit_or, T> = true;
template <class T>
  requires std::is_integral_v<T>
inline constexpr bool combines_words<op::bit_xor, T> = true;

/// An operation on values as an operation on their words.
template <class T, class Op>
struct op_on_words {
  Op op;
  std::uint64_t operator()(std::uint64_t old, std::uint64_t value) const {
    return to_words<T>(op(from_words<T>(&old), from_words<T>(&value)))[0];
  }
};

/// Combines the value in a word with another, in one indivisible step.
template <class Words, class Value, class Op>
void combine(Words const& words, std::size_t at, Value const& value, Op op) {
  if constexpr (combines_words<Op, Value>) {
    words.accumulate(at, to_words(value)[0], op);
  } else {
    words.accumulate(at, to_words(value)[0], op_on_words<Value, Op>{op});
  }
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
