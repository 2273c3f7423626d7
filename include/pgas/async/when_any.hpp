// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <optional>
#include <pgas/async/when_all.hpp>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace PGAS_NAMESPACE {

namespace detail {

/// The tasks of which the first that ends is wanted.
template <class... T>
struct one_of_tasks : some_tasks<T...> {
  using variant_type = std::variant<shown_result<T>...>;

  [[nodiscard]] variant_type results() { return result_of<0>(); }

 private:
  template <std::size_t I>
  [[nodiscard]] variant_type result_of() {
    auto const& each = std::get<I>(this->all);
    if constexpr (I + 1 < sizeof...(T)) {
      if (!task_access::has_ended(each)) return result_of<I + 1>();
    }
    return variant_type(std::in_place_index<I>, shown_result_of(each));
  }
};

template <class T>
struct one_of_many_tasks : many_tasks<T> {
  [[nodiscard]] std::pair<std::size_t, shown_result<T>> results() {
    std::size_t i = 0;
    while (!task_access::has_ended(this->all[i])) ++i;
    return {i, shown_result_of(this->all[i])};
  }
};

}  // namespace detail

/// Runs tasks and requests beside each other until the first of them ends:
/// `auto first = co_await when_any(arrival(s, {1}), arrival(s, {2}));`.
///
/// Returns a std::variant whose index() names it, or throws its exception. The others are destroyed before
/// the awaiting coroutine's full expression ends: those that wait for a transfer or a collective wait for it,
/// the rest is dropped. MPI: MPI_Waitany; Go: select.
template <class... A>
  requires(sizeof...(A) > 0 && ((detail::is_task<A> || testable<A>)&&...))
[[nodiscard]] auto when_any(A... each) {
  return [&]<class... T>(task<T>... all) {
    return detail::joint_awaiter<detail::one_of_tasks<T...>>({{std::tuple<task<T>...>(std::move(all)...)}},
                                                             1);
  }(detail::as_task(std::move(each))...);
}

/// The same for any number of tasks of one type, at least one. Returns the index of the first that ends, and
/// its result.
template <class T>
[[nodiscard]] auto when_any(std::vector<task<T>> all) {
  return detail::joint_awaiter<detail::one_of_many_tasks<T>>({{std::move(all)}}, 1);
}

}  // namespace PGAS_NAMESPACE
