// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <coroutine>
#include <pgas/async/task.hpp>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace PGAS_NAMESPACE {

namespace detail {

/// The result of a task beside others: a void one gives std::monostate.
template <class T>
using shown_result = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

template <class T>
shown_result<T> shown_result_of(task<T> const& ended) {
  if constexpr (std::is_void_v<T>) {
    task_access::result(ended);
    return {};
  } else {
    return task_access::result(ended);
  }
}

/// Anything that can be awaited, as a task.
template <testable R>
auto as_task(R request) -> task<decltype(std::declval<request_awaiter<R>&>().await_resume())> {
  co_return co_await std::move(request);
}
template <class T>
task<T> as_task(task<T> one) noexcept {
  return one;
}
template <class A>
using task_of = decltype(as_task(std::declval<A>()));

/// Starts several tasks, and goes on when `needed` of them have ended.
///
/// `Tasks` has for_each(start) and size(). The awaiting coroutine is not resumed while tasks are started, so
/// that tasks that end at once use no stack of each other.
template <class Tasks>
class joint_awaiter : joint {
 public:
  joint_awaiter(Tasks tasks, std::size_t needed) : tasks_(std::move(tasks)), needed_(needed) {}
  joint_awaiter(joint_awaiter&&) noexcept = default;  // before it is awaited: g++ 12 moves it into the frame

  [[nodiscard]] bool await_ready() const noexcept { return needed_ == 0; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> waiting) {
    engine& by = waiting.promise().runner();
    waiting_ = waiting;
    tasks_.for_each([&](auto const& each) {
      if (needed_ != 0) task_access::start(each, by, *this);
    });
    is_starting_ = false;
    return needed_ != 0;
  }
  auto await_resume() { return tasks_.results(); }

 private:
  std::coroutine_handle<> ended() noexcept override {
    if (needed_ == 0 || --needed_ != 0 || is_starting_) return std::noop_coroutine();
    return waiting_;
  }

  Tasks tasks_;
  std::size_t needed_;
  bool is_starting_ = true;
  std::coroutine_handle<> waiting_;
};

template <class... T>
struct some_tasks {
  std::tuple<task<T>...> all;

  template <class Use>
  void for_each(Use const& use) const {
    std::apply([&](auto const&... each) { (use(each), ...); }, all);
  }
  [[nodiscard]] auto results() const {
    return std::apply(
        [](auto const&... each) {
          return std::tuple<shown_result<T>...>{shown_result_of(each)...};  // braces: in this order
        },
        all);
  }
};

template <class T>
struct many_tasks {
  std::vector<task<T>> all;

  template <class Use>
  void for_each(Use const& use) const {
    for (task<T> const& each : all) use(each);
  }
  [[nodiscard]] auto results() const {
    if constexpr (std::is_void_v<T>) {
      for (task<T> const& each : all) task_access::result(each);
    } else {
      std::vector<T> values;
      values.reserve(all.size());
      for (task<T> const& each : all) values.push_back(task_access::result(each));
      return values;
    }
  }
};

}  // namespace detail

/// Several requests as one, which is done when all of them are: `when_all(r, s).wait()` needs no coroutine.
template <request... R>
class all_requests {
 public:
  /// Nothing is under way if nothing is in each of them.
  static constexpr bool is_droppable = (droppable<R> && ...);

  /// when_all calls it.
  explicit all_requests(R... each) : each_(std::move(each)...) {}

  /// Returns whether all are done. Never blocks.
  [[nodiscard]] bool test() {
    bool all = true;  // each of them is tested, since a test may let its operation go on
    std::apply([&](R&... each) { ((all = each.test() && all), ...); }, each_);
    return all;
  }
  /// Returns when all are done.
  void wait() {
    std::apply([](R&... each) { (each.wait(), ...); }, each_);
  }

 private:
  std::tuple<R...> each_;
};

/// One request for several, all of one rank. Awaiting it allocates nothing. MPI: MPI_Waitall.
template <request... R>
  requires(sizeof...(R) > 0 && (!valued_request<R> && ...))
[[nodiscard]] auto when_all(R... each) {
  if constexpr ((std::derived_from<R, done> && ...)) {
    return done{};
  } else {
    return all_requests<R...>(std::move(each)...);
  }
}

/// Runs tasks beside each other, and requests that have values: `auto [a, b] = co_await when_all(f(), g());`.
///
/// Returns their results as a tuple when all have ended; a void one gives std::monostate. If some have
/// thrown, then throws the exception of the first of them. Costs nothing beyond the tasks. UPC++: when_all.
template <class... A>
  requires(sizeof...(A) > 0 && ((detail::is_task<A> || valued_request<A>) || ...) &&
           ((detail::is_task<A> || testable<A>)&&...))
[[nodiscard]] auto when_all(A... each) {
  return [&]<class... T>(task<T>... all) {
    return detail::joint_awaiter<detail::some_tasks<T...>>({std::tuple<task<T>...>(std::move(all)...)},
                                                           sizeof...(T));
  }(detail::as_task(std::move(each))...);
}

/// The same for any number of tasks of one type. Returns a vector of results, or nothing.
template <class T>
[[nodiscard]] auto when_all(std::vector<task<T>> all) {
  std::size_t const size = all.size();
  return detail::joint_awaiter<detail::many_tasks<T>>({std::move(all)}, size);
}

}  // namespace PGAS_NAMESPACE
