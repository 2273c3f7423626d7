// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <coroutine>
#include <exception>
#include <pgas/vocabulary/expects.hpp>
#include <utility>

namespace PGAS_NAMESPACE::detail {

/// The steps of a collective on one rank, as a coroutine. It serves both forms of a collective: the blocking
/// one, which waits for each word in place, and the one that returns a request.
///
/// The steps begin when they are awaited or resumed. A step that awaits other steps runs them at once; it is
/// suspended only if they must wait for a word. `advance(innermost)` resumes a suspended chain of steps.
class [[nodiscard]] steps {
 public:
  struct promise_type {
    std::coroutine_handle<promise_type> caller;  ///< the steps that await these, suspended; or none
    std::exception_ptr error;

    steps get_return_object() noexcept {
      return steps(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    static std::suspend_always initial_suspend() noexcept { return {}; }
    static std::suspend_always final_suspend() noexcept { return {}; }
    static void return_void() noexcept {}
    void unhandled_exception() noexcept { error = std::current_exception(); }
  };
  using handle = std::coroutine_handle<promise_type>;

  /// No steps.
  steps() noexcept = default;
  steps(steps&& other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
  steps& operator=(steps&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~steps() {
    if (handle_) handle_.destroy();
  }

  /// Returns whether there are steps, ended or not.
  explicit operator bool() const noexcept { return static_cast<bool>(handle_); }

  /// Runs the steps until they end or have to wait. Returns whether they have ended.
  bool begin() {
    handle_.resume();
    return handle_.done();
  }
  /// Rethrows the exception that ended the steps, if there was one.
  void conclude() {
    auto& error = handle_.promise().error;
    if (!error) return;
    auto const thrown = error;
    error = nullptr;
    std::rethrow_exception(thrown);
  }

  // Other steps may await these.
  bool await_ready() { return begin(); }
  void await_suspend(handle caller) noexcept { handle_.promise().caller = caller; }
  void await_resume() { conclude(); }

  /// Resumes the innermost steps of a chain, whose word has arrived, and then those that awaited it. Returns
  /// whether the whole chain has ended.
  static bool advance(handle innermost) {
    for (handle each = innermost; each; each = each.promise().caller) {
      each.resume();
      if (!each.done()) return false;
    }
    return true;
  }

 private:
  explicit steps(handle h) noexcept : handle_(h) {}

  handle handle_;
};

}  // namespace PGAS_NAMESPACE::detail
