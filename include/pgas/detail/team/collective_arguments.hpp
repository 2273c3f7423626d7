// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/types/range_concepts.hpp>
#include <pgas/vocabulary/transportable.hpp>
#include <span>
#include <type_traits>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Elements that lie side by side in private memory.
template <class R>
concept side_by_side = std::ranges::contiguous_range<R> && std::ranges::sized_range<R>;
/// The same, to be filled: not a temporary object that owns them.
template <class R>
concept fillable = side_by_side<R> && std::ranges::borrowed_range<R> &&
                   !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

/// An argument in the place of an algorithm: not counts, ranks or text.
template <class A>
concept algorithm_argument = std::is_class_v<A> && !requires(A& a) { a.begin(); };

template <class T>
inline constexpr bool is_array = std::is_array_v<T>;
template <class T, std::size_t N>
inline constexpr bool is_array<std::array<T, N>> = true;
/// A broadcast fills elements, and not a value of a type that holds them along with something else. An array
/// is filled if it has a name; a temporary one is a value.
template <class R>
concept filled_by_broadcast =
    fillable<R> && (!transportable<std::remove_cvref_t<R>> || is_array<std::remove_cvref_t<R>>);

/// The bytes of elements whose number is part of the type; 0 if it is not, or if elements must be aligned
/// better than a slot's room.
template <class R>
inline constexpr std::size_t fixed_bytes = 0;
template <class T, std::size_t N>
  requires(N != std::dynamic_extent)
inline constexpr std::size_t fixed_bytes<std::span<T, N>> = alignof(T) > 16 ? 0 : N * sizeof(T);
template <class T, std::size_t N>
inline constexpr std::size_t fixed_bytes<std::array<T, N>> = fixed_bytes<std::span<T, N>>;

/// Such elements as bytes.
template <class R>
bytes_in in_bytes(R const& range) noexcept {
  refuse_type<std::remove_cv_t<std::ranges::range_value_t<R>>>();
  return std::as_bytes(std::span(std::ranges::data(range), std::ranges::size(range)));
}
template <class R>
bytes_out out_bytes(R& range) noexcept {
  refuse_type<std::remove_cv_t<std::ranges::range_value_t<R>>>();
  return std::as_writable_bytes(std::span(std::ranges::data(range), std::ranges::size(range)));
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
