// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <optional>
#include <pgas/async/when_any.hpp>
#include <stop_token>
#include <type_traits>
#include <utility>

#if !defined(__cpp_lib_jthread)
#error "pgas: this header needs std::stop_token; with libc++ 19 compile with -fexperimental-library"
#endif

namespace PGAS_NAMESPACE {

namespace detail {

/// Done at a time on the rank's clock.
class time_request {
 public:
  static constexpr bool is_droppable = true;

  time_request(engine const& by, std::chrono::nanoseconds after) : by_(&by), at_(by.now() + after) {}
  [[nodiscard]] bool test() const { return by_->now() >= at_; }
  [[nodiscard]] time_point due() const noexcept { return at_; }

 private:
  engine const* by_;
  time_point at_;
};

/// Done when a stop is requested, by whichever thread.
class stop_request {
 public:
  static constexpr bool is_droppable = true;

  explicit stop_request(std::stop_token of) noexcept : of_(std::move(of)) {}
  [[nodiscard]] bool test() const noexcept { return of_.stop_requested(); }
  /// No signal of a rank announces it, so waits must poll often.
  [[nodiscard]] static time_point due() noexcept { return time_point::min(); }

 private:
  std::stop_token of_;
};

/// The result of a task that may be canceled: its value, or whether it ended.
template <class T>
using if_ended = std::conditional_t<std::is_void_v<T>, bool, std::optional<T>>;

template <class T, class End>
task<if_ended<T>> unless(task<T> one, End end) {
  auto first = co_await when_any(std::move(one), std::move(end));
  if constexpr (std::is_void_v<T>) {
    co_return first.index() == 0;
  } else {
    if (first.index() != 0) co_return std::nullopt;
    co_return std::optional<T>(std::get<0>(std::move(first)));
  }
}

}  // namespace detail

/// Ends after this time on the rank's clock, which begins when the task is awaited.
inline task<> sleep_for(std::chrono::nanoseconds time) {
  detail::engine& by = co_await detail::this_engine{};
  detail::time_request at(by, time);
  co_await at;
}

/// Runs a task until its end, or until this time has passed: then the task is destroyed where it is.
///
/// Returns the task's result, or nothing if it was canceled; for a task<> whether it ended. Memory is in a
/// defined state: a put that the task has started is complete at this rank, and a get has filled its
/// destination. A collective that it has started has ended, for which the call waits beyond its time. Locks
/// and epochs that the task holds are closed. A signal that it awaits stays for the next wait.
template <class T>
task<detail::if_ended<T>> cancel_after(task<T> one, std::chrono::nanoseconds time) {
  return detail::unless(std::move(one), sleep_for(time));
}

/// Runs a task until its end, or until a stop is requested. Any thread may request it. Otherwise like
/// cancel_after.
template <class T>
task<detail::if_ended<T>> cancel_when(task<T> one, std::stop_token stop) {
  return detail::unless(std::move(one), detail::stop_request(std::move(stop)));
}

}  // namespace PGAS_NAMESPACE
