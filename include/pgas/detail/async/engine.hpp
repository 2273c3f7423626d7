// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <functional>
#include <pgas/concepts/control.hpp>
#include <pgas/detail/types/scoped_value.hpp>
#include <pgas/vocabulary/error.hpp>
#include <pgas/vocabulary/expects.hpp>
#include <pgas/vocabulary/request.hpp>
#include <string_view>
#include <thread>
#include <utility>

namespace PGAS_NAMESPACE::detail {

class engine;

/// A link of a circular list.
struct async_link {
  async_link() = default;
  async_link(async_link const&) = delete;
  async_link& operator=(async_link const&) = delete;

  async_link* next = this;
  async_link* before = this;

  [[nodiscard]] bool is_alone() const noexcept { return next == this; }
  void leave() noexcept {
    next->before = before;
    before->next = next;
    next = before = this;
  }
  /// Puts `one` at the end of the list of which this is the head.
  void append(async_link& one) noexcept {
    one.before = before;
    one.next = this;
    before->next = &one;
    before = &one;
  }

 protected:
  ~async_link() = default;
};

/// An operation that a rank's engine tracks. It lies in the frame of a coroutine, or beside a handler.
///
/// States: idle; pending, in the first list of its engine; ready, in the second. `test` moves it from pending
/// to ready; `over` is called when it has left the second list. Its destructor removes it from either.
class awaited : public async_link {
 public:
  /// Returns whether the operation is over. Never blocks.
  virtual bool test() = 0;
  /// Blocks until it is over and returns true. Returns false, at once, if it can only be tested.
  virtual bool wait() = 0;
  /// Continues after the operation. The object may be destroyed at return.
  virtual void over() = 0;
  /// Ends the operation without continuing after it: its engine is being destroyed.
  virtual void abandon() noexcept = 0;
  /// Returns a time at which the operation must be tested even without a signal of a rank; no_deadline:
  /// never.
  [[nodiscard]] virtual time_point due() const { return no_deadline; }

 protected:
  awaited() = default;
  ~awaited() { unlink(); }

  [[nodiscard]] bool is_linked() const noexcept { return engine_ != nullptr; }
  inline void unlink() noexcept;
  /// Throws the error that ended the operation, if there was one.
  void rethrow() {
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }
  [[nodiscard]] std::exception_ptr take_error() noexcept { return std::exchange(error_, nullptr); }

 private:
  friend engine;
  engine* engine_ = nullptr;  ///< null: in no list
  bool is_pending_ = false;
  std::exception_ptr error_;
};

/// All that one rank has under way: the operations that it polls, and completed ones after which work is
/// ready. All of its functions belong to the thread that made it. An engine resumes nothing inside another
/// resume.
class engine {
 public:
  engine(engine const&) = delete;
  engine& operator=(engine const&) = delete;

  /// Tracks an operation that has not ended.
  void add(awaited& one) {
    check_thread("co_await");
    pending_.append(one);
    one.engine_ = this;
    one.is_pending_ = true;
    ++count_;
    if (!is_at_work_) wake();
  }

  /// The number of operations that have not ended.
  [[nodiscard]] std::size_t pending() const noexcept { return count_; }
  /// Returns whether nothing is under way and nothing is ready.
  [[nodiscard]] bool is_idle() const noexcept { return count_ == 0 && ready_.is_alone(); }
  /// Calls `wake()` when an operation is added from outside of progress; if empty, nothing.
  void on_added(std::function<void()> wake) { woken_ = std::move(wake); }

  /// Tests each pending operation once, and resumes the work after those that have ended. Returns the number
  /// of those. Never blocks, but the work may.
  std::size_t advance() {
    check_thread("progress");
    PGAS_EXPECTS(light, !is_at_work_,
                 throw_error(errc::wrong_order, rank(), "progress",
                             "a coroutine of this scheduler calls its scheduler; let it co_await instead"));
    auto const now = at_work();
    poll();
    std::size_t resumed = 0;
    for (; !ready_.is_alone(); ++resumed) {
      auto& one = static_cast<awaited&>(*ready_.next);
      one.leave();
      one.engine_ = nullptr;
      one.over();
    }
    return resumed;
  }

  /// The rank's clock, and its number in the job.
  [[nodiscard]] virtual time_point now() const = 0;
  [[nodiscard]] virtual rank_t rank() const noexcept = 0;

  /// Returns whether this thread made the engine.
  [[nodiscard]] bool is_of_this_thread() const noexcept { return std::this_thread::get_id() == thread_; }
  /// Throws errc::wrong_order in any thread but the one that made the engine, at level normal.
  void check_thread(std::string_view operation) const {
    PGAS_EXPECTS(normal, is_of_this_thread(),
                 throw_error(errc::wrong_order, rank(), operation,
                             "another thread than the one that made the scheduler calls it; hand the work to "
                             "that thread, for example by a post to its io_context"));
  }

 protected:
  engine() = default;
  ~engine() {
    for (async_link* list : {&pending_, &ready_}) {
      while (!list->is_alone()) {
        auto& one = static_cast<awaited&>(*list->next);
        one.unlink();
        one.abandon();
      }
    }
  }

  /// While the result lives, the engine is resuming work.
  [[nodiscard]] scoped_value<bool> at_work() noexcept { return {is_at_work_, true}; }
  [[nodiscard]] bool is_at_work() const noexcept { return is_at_work_; }
  /// Tells the driver of this engine that there is something to poll.
  void wake() const {
    if (woken_) woken_();
  }

  /// Tests each pending operation once. Returns whether one has ended.
  bool poll() {
    for (async_link* at = pending_.next; at != &pending_;) {
      auto& one = static_cast<awaited&>(*at);
      at = at->next;
      bool is_over = true;
      try {
        is_over = one.test();
      } catch (...) {
        one.error_ = std::current_exception();
      }
      if (is_over) make_ready(one);
    }
    return !ready_.is_alone();
  }
  /// Waits for the one pending operation, if it can be waited for. Returns whether it has ended.
  bool wait_for_first() {
    auto& one = static_cast<awaited&>(*pending_.next);
    bool is_over = true;
    try {
      is_over = one.wait();
    } catch (...) {
      one.error_ = std::current_exception();
    }
    if (is_over) make_ready(one);
    return is_over;
  }
  /// Ends all pending operations by this error: the job has failed, or its ranks wait for each other.
  void fail_all(std::exception_ptr const& why) {
    while (!pending_.is_alone()) {
      auto& one = static_cast<awaited&>(*pending_.next);
      one.error_ = why;
      make_ready(one);
    }
  }
  /// The earliest time at which an operation must be tested.
  [[nodiscard]] time_point next_due() const {
    time_point first = no_deadline;
    for (async_link const* at = pending_.next; at != &pending_; at = at->next)
      first = std::min(first, static_cast<awaited const&>(*at).due());
    return first;
  }

 private:
  friend awaited;

  struct head : async_link {};

  void make_ready(awaited& one) noexcept {
    one.leave();
    one.is_pending_ = false;
    --count_;
    ready_.append(one);
  }
  void left(awaited const& one) noexcept {
    if (one.is_pending_) --count_;
  }

  head pending_;
  head ready_;
  std::size_t count_ = 0;
  bool is_at_work_ = false;
  std::function<void()> woken_;
  std::thread::id thread_ = std::this_thread::get_id();
};

inline void awaited::unlink() noexcept {
  if (engine_ == nullptr) return;
  leave();
  engine_->left(*this);
  engine_ = nullptr;
  is_pending_ = false;
}

/// Ends an operation whose result is not needed, so that its memory is free at return. Waits for a transfer
/// and for a collective; drops anything else.
template <class R>
void settle(R& request) noexcept {
  if constexpr (!droppable<R> && requires { request.wait(); }) {
    try {
      request.wait();
    } catch (...) {  // the job has failed, and the next wait reports it
    }
  }
}

}  // namespace PGAS_NAMESPACE::detail
