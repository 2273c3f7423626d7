// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <coroutine>
#include <exception>
#include <optional>
#include <pgas/detail/async/engine.hpp>
#include <pgas/vocabulary/request.hpp>
#include <type_traits>
#include <utility>

namespace PGAS_NAMESPACE::detail {

/// Awaits an operation that was complete when its call returned, so compilers can optimize it away.
struct ready_awaiter {
  [[nodiscard]] static constexpr bool await_ready() noexcept { return true; }
  static constexpr void await_suspend(std::coroutine_handle<>) noexcept {}
  static constexpr void await_resume() noexcept {}
};

/// Awaits anything that has test(), and optionally wait() and value(). `R` is its type, or a reference to one
/// that lives elsewhere.
///
/// It lies in the frame of the coroutine, so an operation under way costs no allocation. A coroutine that is
/// destroyed meanwhile settles the operation: see `settle`.
template <class R>
class request_awaiter final : public awaited {
  using request_type = std::remove_reference_t<R>;

 public:
  explicit request_awaiter(R&& request) : request_(std::forward<R>(request)) {}
  request_awaiter(request_awaiter const&) = delete;
  request_awaiter& operator=(request_awaiter const&) = delete;
  ~request_awaiter() {
    if (!is_linked()) return;
    unlink();
    settle(request_);
  }

  [[nodiscard]] bool await_ready() { return request_.test(); }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> waiting) {
    waiting_ = waiting;
    waiting.promise().runner().add(*this);
  }
  auto await_resume() {
    rethrow();
    if constexpr (requires { request_.value(); }) return request_.value();
  }

  bool test() override { return request_.test(); }
  bool wait() override {
    if constexpr (requires { request_.wait(); }) {
      request_.wait();
      return true;
    } else {
      return false;
    }
  }
  void over() override { waiting_.resume(); }
  void abandon() noexcept override { settle(request_); }
  [[nodiscard]] time_point due() const override {
    if constexpr (requires { request_.due(); }) {
      return request_.due();
    } else {
      return no_deadline;
    }
  }

 private:
  R request_;
  std::coroutine_handle<> waiting_;
};

}  // namespace PGAS_NAMESPACE::detail

namespace PGAS_NAMESPACE {

template <class T = void>
class task;

namespace detail {

/// Is notified that a task has ended, where no coroutine awaits just that task.
class joint {
 public:
  /// Returns the coroutine to resume.
  virtual std::coroutine_handle<> ended() noexcept = 0;

 protected:
  joint() = default;
  ~joint() = default;
};

/// To be awaited in a task: the engine that runs it.
struct this_engine {};

/// The common part of all tasks' promises.
class task_promise {
 public:
  static std::suspend_always initial_suspend() noexcept { return {}; }

  struct final_awaiter {
    static bool await_ready() noexcept { return false; }
    template <class Promise>
    static std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) noexcept {
      task_promise const& mine = ended.promise();
      return mine.joint_ != nullptr ? mine.joint_->ended() : mine.continuation_;
    }
    static void await_resume() noexcept {}
  };
  static final_awaiter final_suspend() noexcept { return {}; }

  void unhandled_exception() noexcept { error_ = std::current_exception(); }

  /// A request, or anything else with test(). Most specialized first: what is done at its call's return.
  template <class R>
    requires std::derived_from<std::remove_cvref_t<R>, done>
  static ready_awaiter await_transform(R&&) noexcept {
    return {};
  }
  template <class R>
    requires(testable<std::remove_cvref_t<R>> && !std::derived_from<std::remove_cvref_t<R>, done>)
  static request_awaiter<R> await_transform(R&& request) {
    return request_awaiter<R>(std::forward<R>(request));
  }
  /// A task, or another awaitable of this folder.
  template <class A>
    requires(!testable<std::remove_cvref_t<A>>)
  static A&& await_transform(A&& other) noexcept {
    return std::forward<A>(other);
  }
  auto await_transform(this_engine) noexcept {
    struct awaiter {
      engine* of;
      static bool await_ready() noexcept { return true; }
      static void await_suspend(std::coroutine_handle<>) noexcept {}
      [[nodiscard]] engine& await_resume() const noexcept { return *of; }
    };
    return awaiter{engine_};
  }

  [[nodiscard]] engine& runner() const noexcept { return *engine_; }
  void run_by(engine& e, std::coroutine_handle<> next) noexcept {
    engine_ = &e;
    continuation_ = next;
  }
  void run_by(engine& e, joint& next) noexcept {
    engine_ = &e;
    joint_ = &next;
  }
  void rethrow() {
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  engine* engine_ = nullptr;
  std::coroutine_handle<> continuation_ = std::noop_coroutine();
  joint* joint_ = nullptr;
  std::exception_ptr error_;
};

template <class T>
class promise_of : public task_promise {
 public:
  task<T> get_return_object() noexcept;
  template <class U>
    requires std::convertible_to<U, T>
  void return_value(U&& value) {
    value_.emplace(std::forward<U>(value));
  }
  T result() {
    rethrow();
    return std::move(*value_);
  }

 private:
  std::optional<T> value_;
};
template <>
class promise_of<void> : public task_promise {
 public:
  inline task<void> get_return_object() noexcept;
  static void return_void() noexcept {}
  void result() { rethrow(); }
};

/// Gives the headers of this folder access to a task's coroutine.
struct task_access;

}  // namespace detail

/// A coroutine of one rank that `co_await`s requests and other tasks, and returns a T or throws.
///
/// Lazy: it starts when it is awaited, or given to a scheduler. Whatever awaits it goes on when it ends, by a
/// symmetric transfer, and gets its result or its exception. A task that is destroyed while it is suspended
/// settles the operation that it awaits, so that no rank writes to its frame afterwards: it waits for a
/// transfer or a collective, and drops anything else. Its own thread runs it; one frame is allocated.
/// UPC++: a chain of future::then.
template <class T>
class [[nodiscard]] task {
 public:
  using promise_type = detail::promise_of<T>;
  using value_type = T;

  /// Moves the coroutine; `other` has none afterwards.
  task(task&& other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
  /// Exchanges the coroutines of both.
  task& operator=(task&& other) noexcept {
    std::swap(coroutine_, other.coroutine_);
    return *this;
  }
  ~task() {
    if (coroutine_) coroutine_.destroy();
  }

  /// Starts the task when it is awaited.
  auto operator co_await() && noexcept { return awaiter{coroutine_}; }

 private:
  friend promise_type;
  friend detail::task_access;
  struct awaiter {
    std::coroutine_handle<promise_type> of;
    static bool await_ready() noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> waiting) const noexcept {
      of.promise().run_by(waiting.promise().runner(), waiting);
      return of;
    }
    T await_resume() const { return of.promise().result(); }
  };
  explicit task(std::coroutine_handle<promise_type> coroutine) noexcept : coroutine_(coroutine) {}

  std::coroutine_handle<promise_type> coroutine_;
};

namespace detail {

template <class T>
task<T> promise_of<T>::get_return_object() noexcept {
  return task<T>(std::coroutine_handle<promise_of>::from_promise(*this));
}
inline task<void> promise_of<void>::get_return_object() noexcept {
  return task<void>(std::coroutine_handle<promise_of>::from_promise(*this));
}

struct task_access {
  /// Starts a task beside others; `next` is notified of its end.
  template <class T>
  static void start(task<T> const& of, engine& by, joint& next) {
    of.coroutine_.promise().run_by(by, next);
    of.coroutine_.resume();
  }
  template <class T>
  [[nodiscard]] static bool has_ended(task<T> const& of) noexcept {
    return of.coroutine_.done();
  }
  template <class T>
  static T result(task<T> const& of) {
    return of.coroutine_.promise().result();
  }
};

template <class T>
inline constexpr bool is_task = false;
template <class T>
inline constexpr bool is_task<task<T>> = true;

}  // namespace detail
}  // namespace PGAS_NAMESPACE
