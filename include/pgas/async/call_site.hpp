// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <pgas/async/call_arguments.hpp>
#include <pgas/async/call_request.hpp>
#include <pgas/detail/async/call_record.hpp>
#include <pgas/detail/async/call_table.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <tuple>
#include <type_traits>
#include <utility>

namespace PGAS_NAMESPACE {

template <class State>
class call_site;

namespace detail {

/// A function with these types of arguments, in the table of each shared object that calls it.
template <class State, class F, class... A>
struct [[gnu::visibility("hidden")]] called_function {
  using site = call_site<State>;
  using result = call_result<F, site, A...>;
  using value = typename value_of<result>::type;
  static_assert(
      std::is_void_v<value> || transportable<value>,
      "call: the result of a function travels as bytes; return a transportable value, or a request");

  static void run(void* calls, rank_t from, std::span<word const> record) {
    auto& state = *static_cast<State*>(calls);
    state.template carry_out<result>(from, record, [&]() -> decltype(auto) {
      [[maybe_unused]] word const* at = record.data() + call_head::of(record[0]).arguments();
      site here(state, from);
      // The braces read the arguments in their order.
      std::tuple<seen_argument<A>...> arguments{argument_form<A>::read(at, state)...};
      return std::apply(
          [&here](auto&... each) -> decltype(auto) {
            F function{};
            return invoke_at(function, here, static_cast<seen_argument<A>&&>(each)...);
          },
          arguments);
    });
  }

  static constexpr std::size_t answer_words =
      std::is_void_v<value> ? 0
                            : words_of_bytes(sizeof(std::conditional_t<std::is_void_v<value>, char, value>));

  inline static std::uint32_t const number =
      functions_of_object.add({&run, answer_words, type_hash<State, F, A...>()});
};

template <class State, class F, class... A>
auto start_named(State& state, with_caller<rank_t> to, A const&... arguments) {
  using function = called_function<State, F, A...>;
  using value = typename function::value;
  std::size_t const count = (std::size_t{0} + ... + argument_form<A>::words(arguments));
  local_shared_ptr<valued_call<value>> made(std::in_place, &state);
  local_shared_ptr<call_state> const plain = made;
  state.start(to, called_entry{&functions_of_object, function::number}, count, &plain, function::answer_words,
              {"call", to.by()}, [&](std::span<word> into) {
                [[maybe_unused]] word* at = into.data();
                ((at = argument_form<A>::write(at, arguments)), ...);
              });
  return call_request<value>(std::move(made));
}
template <class State, class F, class... A>
void send_named(State& state, with_caller<rank_t> to, A const&... arguments) {
  using function = called_function<State, F, A...>;
  std::size_t const count = (std::size_t{0} + ... + argument_form<A>::words(arguments));
  state.start(to, called_entry{&functions_of_object, function::number}, count, nullptr, 0, {"send", to.by()},
              [&](std::span<word> into) {
                [[maybe_unused]] word* at = into.data();
                ((at = argument_form<A>::write(at, arguments)), ...);
              });
}

template <class State, class F, class... A>
auto start_call(State& state, with_caller<rank_t> to, F const& function, A const&... arguments) {
  if constexpr (is_shared_object<F>) {
    return start_named<State, run_shared>(state, to, function, arguments...);
  } else {
    return start_named<State, F>(state, to, arguments...);
  }
}
template <class State, class F, class... A>
void start_send(State& state, with_caller<rank_t> to, F const& function, A const&... arguments) {
  if constexpr (is_shared_object<F>) {
    send_named<State, run_shared>(state, to, function, arguments...);
  } else {
    send_named<State, F>(state, to, arguments...);
  }
}

}  // namespace detail

/// The rank where a function runs, as the function sees it, for its own calls.
template <class State>
class call_site {
 public:
  /// For the library.
  call_site(State& state, rank_t from) noexcept : state_(&state), from_(from) {}

  /// The rank that has called.
  [[nodiscard]] rank_t from() const noexcept { return from_; }
  /// The rank where the function runs.
  [[nodiscard]] rank_t rank() const noexcept { return state_->rank(); }
  /// The number of ranks.
  [[nodiscard]] rank_t size() const noexcept { return state_->size(); }

  /// As `call` of calls. Does not wait: throws errc::no_space if the functions' memory is used.
  template <class F, class... Arguments>
    requires detail::called_with<F, call_site, Arguments...>
  auto call(rank_t to, F const& function, Arguments const&... arguments) {
    return detail::start_call(*state_, to, function, arguments...);
  }
  /// As `send` of calls. Does not wait: throws errc::no_space if the functions' memory is used.
  template <class F, class... Arguments>
    requires detail::called_with<F, call_site, Arguments...>
  void send(rank_t to, F const& function, Arguments const&... arguments) {
    detail::start_send(*state_, to, function, arguments...);
  }

 private:
  State* state_;
  rank_t from_;
};

}  // namespace PGAS_NAMESPACE
