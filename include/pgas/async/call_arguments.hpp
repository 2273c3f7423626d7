// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstring>
#include <pgas/concepts/control.hpp>
#include <pgas/vocabulary/transportable.hpp>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

namespace PGAS_NAMESPACE {

/// The name of an object of each rank, the same on all ranks. As the argument of a call it is the object of
/// the rank where the function runs: the function takes a `T&`. Made by `calls.share`. UPC++: dist_object.
template <class T>
class shared_object {
 public:
  using object_type = T;

  /// For calls.
  shared_object(std::size_t number, T& mine) noexcept : number_(number), mine_(&mine) {}
  /// The object of this rank.
  [[nodiscard]] T& mine() const noexcept { return *mine_; }
  /// Its number on all ranks.
  [[nodiscard]] std::size_t number() const noexcept { return number_; }

 private:
  std::size_t number_;
  T* mine_;
};

namespace detail {

template <class A>
inline constexpr bool is_shared_object = false;
template <class T>
inline constexpr bool is_shared_object<shared_object<T>> = true;

/// The words that hold so many bytes.
constexpr std::size_t words_of_bytes(std::size_t bytes) noexcept {
  return (bytes + sizeof(word) - 1) / sizeof(word);
}

template <class A>
concept text_argument = std::convertible_to<A const&, std::string_view>;
template <class A>
concept range_argument =
    !transportable<A> && !text_argument<A> && std::ranges::contiguous_range<A const> &&
    std::ranges::sized_range<A const> && transportable<std::ranges::range_value_t<A const>>;

}  // namespace detail

/// An argument of a call: a transportable value, a text, memory with transportable elements, or a shared
/// object.
template <class A>
concept call_argument =
    transportable<A> || detail::text_argument<A> || detail::range_argument<A> || detail::is_shared_object<A>;

/// A function without state: a lambda that captures nothing, or a constant_function. All ranks have it.
template <class F>
concept stateless_function = std::is_empty_v<F> && std::default_initializable<F>;

/// A function of the program as an object without state: `constant_function<&f>{}`.
template <auto Function>
struct constant_function {
  /// Calls the function.
  template <class... Arguments>
    requires std::invocable<decltype(Function), Arguments...>
  constexpr decltype(auto) operator()(Arguments&&... arguments) const {
    return Function(std::forward<Arguments>(arguments)...);
  }
};

namespace detail {

/// The form of an argument in a record. A function sees `seen`. Memory of elements is its number, then the
/// elements, which the function sees where they lie.
template <call_argument A>
struct argument_form {
  using seen = A;
  static std::size_t words(A const&) noexcept { return words_of_bytes(sizeof(A)); }
  static word* write(word* at, A const& value) noexcept {
    std::memcpy(at, &value, sizeof value);
    return at + words_of_bytes(sizeof(A));
  }
  template <class State>
  static seen read(word const*& at, State const&) noexcept {
    A value{};
    std::memcpy(&value, at, sizeof value);
    at += words_of_bytes(sizeof(A));
    return value;
  }
};

template <class T>
word* write_elements(word* at, T const* first, std::size_t count) noexcept {
  *at++ = count;
  if (count != 0) std::memcpy(at, first, count * sizeof(T));
  return at + words_of_bytes(count * sizeof(T));
}

template <call_argument A>
  requires text_argument<A>
struct argument_form<A> {
  using seen = std::string_view;
  static std::size_t words(seen text) noexcept { return 1 + words_of_bytes(text.size()); }
  static word* write(word* at, seen text) noexcept { return write_elements(at, text.data(), text.size()); }
  template <class State>
  static seen read(word const*& at, State const&) noexcept {
    std::size_t const count = *at++;
    auto const* const first = reinterpret_cast<char const*>(at);
    at += words_of_bytes(count);
    return {first, count};
  }
};

template <call_argument A>
  requires range_argument<A>
struct argument_form<A> {
  using element = std::ranges::range_value_t<A const>;
  static_assert(alignof(element) <= alignof(word),
                "call: messages align elements to 8 bytes, and these need more; send them as an array "
                "of smaller numbers, or call with a global_ptr from which the function gets them");

  using seen = std::span<element const>;
  static std::size_t words(A const& range) noexcept {
    return 1 + words_of_bytes(std::ranges::size(range) * sizeof(element));
  }
  static word* write(word* at, A const& range) noexcept {
    return write_elements(at, std::ranges::data(range), std::ranges::size(range));
  }
  template <class State>
  static seen read(word const*& at, State const&) noexcept {
    std::size_t const count = *at++;
    auto const* const first = reinterpret_cast<element const*>(at);
    at += words_of_bytes(count * sizeof(element));
    return {first, count};
  }
};

template <class T>
struct argument_form<shared_object<T>> {
  using seen = T&;
  static std::size_t words(shared_object<T> const&) noexcept { return 1; }
  static word* write(word* at, shared_object<T> const& object) noexcept {
    *at = object.number();
    return at + 1;
  }
  template <class State>
  static seen read(word const*& at, State const& state) {
    return *static_cast<T*>(state.object(*at++));
  }
};

template <class A>
using seen_argument = typename argument_form<A>::seen;

/// Calls a function with the arguments alone, or, if it does not take these, with the site before them.
template <class F, class Site, class... Seen>
decltype(auto) invoke_at(F& function, Site& site, Seen&&... arguments) {
  if constexpr (std::invocable<F&, Seen...>) {
    return function(std::forward<Seen>(arguments)...);
  } else {
    return function(site, std::forward<Seen>(arguments)...);
  }
}

/// Calls a function that all ranks have shared.
struct run_shared {
  template <class F, class... Seen>
    requires std::invocable<F&, Seen...>
  decltype(auto) operator()(F& function, Seen... arguments) const {
    return function(std::forward<Seen>(arguments)...);
  }
  template <class Site, class F, class... Seen>
    requires(std::invocable<F&, Site&, Seen...> && !std::invocable<F&, Seen...>)
  decltype(auto) operator()(Site& site, F& function, Seen... arguments) const {
    return function(site, std::forward<Seen>(arguments)...);
  }
};

template <class F, class Site, class... A>
concept takes = std::invocable<F&, seen_argument<A>...> || std::invocable<F&, Site&, seen_argument<A>...>;

template <class F>
struct function_of {
  using type = F;
};
template <class T>
struct function_of<shared_object<T>> {
  using type = T;
};

/// A function that all ranks can name.
template <class F>
concept named_function = stateless_function<F> || is_shared_object<F>;

template <class F, class Site, class... A>
concept called_with =
    named_function<F> && (call_argument<A> && ...) && takes<typename function_of<F>::type, Site, A...>;

template <class F, class Site, class... A>
using call_result = std::remove_cvref_t<decltype(invoke_at(std::declval<F&>(), std::declval<Site&>(),
                                                           std::declval<seen_argument<A>>()...))>;

}  // namespace detail
}  // namespace PGAS_NAMESPACE
