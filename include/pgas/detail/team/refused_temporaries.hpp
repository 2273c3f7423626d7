// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <initializer_list>
#include <pgas/concepts/control.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <pgas/vocabulary/request.hpp>
#include <pgas/vocabulary/rows_of.hpp>
#include <ranges>
#include <span>
#include <type_traits>

namespace PGAS_NAMESPACE::detail {

template <class R>
inline constexpr bool has_elements_inside = false;
template <class T, std::size_t N>
inline constexpr bool has_elements_inside<std::array<T, N>> = true;
template <class T>
inline constexpr bool has_elements_inside<std::initializer_list<T>> = true;

/// A temporary object that owns its elements, such as `std::vector{1, 2}`, so that they are gone at the end
/// of the statement. A span does not own them. An object that is copied byte by byte, of a type that the
/// library does not know, is assumed to be a kind of span.
template <class R>
concept owning_temporary =
    !std::is_lvalue_reference_v<R> && std::ranges::contiguous_range<R> && !std::ranges::borrowed_range<R> &&
    !std::ranges::view<std::remove_cv_t<R>> &&
    (has_elements_inside<std::remove_cv_t<R>> || !std::is_trivially_copyable_v<std::remove_cv_t<R>>);

/// The same among the arguments of a transfer of elements of T: it is not one such element itself.
template <class R, class T>
concept owning_temporary_of = owning_temporary<R> && std::is_convertible_v<R, std::span<T const>> &&
                              !std::is_convertible_v<R, T const&>;

/// Refuse a temporary object at compile time, where the forms of a transfer that take a span would accept it.
template <class R>
constexpr void refuse_temporary_source() noexcept {
  static_assert(always_false<R>,
                "put: the source is a temporary object, which goes at the end of this statement; the put may "
                "read it until flush_local, flush, close or the end of its request, so give it a name");
}
template <class R>
constexpr void refuse_temporary_destination() noexcept {
  static_assert(
      always_false<R>,
      "get: the destination is a temporary object, which goes at the end of this statement, and the "
      "elements with it; give it a name");
}

/// Do not compile: they say why a transfer of a view takes no temporary object. Here and below, a first
/// argument in braces is of the type that is named first.
template <class T>
struct refuses_temporaries_of_views {
  template <class At = rows_of, owning_temporary_of<T> R>
  static void put(At const&, R&&) {
    refuse_temporary_source<R>();
  }
  template <class At = rows_of, owning_temporary_of<T> R>
  static done rput(At const&, R&&) {
    return refuse_temporary_source<R>(), done{};
  }
  template <class At = rows_of, owning_temporary_of<T> R>
  static void get(At const&, R&&) {
    refuse_temporary_destination<R>();
  }
  template <class At = rows_of, owning_temporary_of<T> R>
  static done rget(At const&, R&&) {
    return refuse_temporary_destination<R>(), done{};
  }
};

/// The same for transfers of epochs, to a rank or to a piece of a heap.
template <class T>
struct refuses_temporaries_of_epochs {
  template <class Target = rank_t, class At = rows_of, owning_temporary_of<T> R>
    requires(!std::ranges::range<At>)
  static void put(Target const&, At const&, R&&) {
    refuse_temporary_source<R>();
  }
  template <class Target = rank_t, class At = rows_of, owning_temporary_of<T> R>
    requires(!std::ranges::range<At>)
  static done rput(Target const&, At const&, R&&) {
    return refuse_temporary_source<R>(), done{};
  }
  template <class Target = rank_t, class At = rows_of, owning_temporary_of<T> R>
    requires(!std::ranges::range<At>)
  static void get(Target const&, At const&, R&&) {
    refuse_temporary_destination<R>();
  }
  template <class Target = rank_t, class At = rows_of, owning_temporary_of<T> R>
    requires(!std::ranges::range<At>)
  static done rget(Target const&, At const&, R&&) {
    return refuse_temporary_destination<R>(), done{};
  }
};

/// The same for transfers of an array's cells. A request of a list or of a mask has read its source at
/// return.
template <class T, class Box>
struct refuses_temporaries_of_arrays {
  template <class At = Box, owning_temporary_of<T> R>
  static void put(At const&, R&&) {
    refuse_temporary_source<R>();
  }
  template <class At = Box, owning_temporary_of<T> R>
    requires(!std::ranges::range<At>)
  static done rput(At const&, R&&) {
    return refuse_temporary_source<R>(), done{};
  }
  template <class At = Box, owning_temporary_of<T> R>
  static void get(At const&, R&&) {
    refuse_temporary_destination<R>();
  }
  template <class At = Box, owning_temporary_of<T> R>
  static done rget(At const&, R&&) {
    return refuse_temporary_destination<R>(), done{};
  }
  template <std::ranges::range Mask, owning_temporary_of<T> R>
  static void put(Box const&, Mask const&, R&&) {
    refuse_temporary_source<R>();
  }
  template <std::ranges::range Mask, owning_temporary_of<T> R>
  static void get(Box const&, Mask const&, R&&) {
    refuse_temporary_destination<R>();
  }
};

}  // namespace PGAS_NAMESPACE::detail
