// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <coroutine>
#include <pgas/detail/async/engine.hpp>
#include <pgas/vocabulary/request.hpp>
#include <type_traits>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Awaits what was complete when its call returned: nothing is left to do, so compilers see through it.
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

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
