// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <pgas/concepts/backend.hpp>
#include <pgas/detail/job/service.hpp>
#include <pgas/detail/process/replacing_file.hpp>
#include <pgas/team.hpp>
#include <pgas/vocabulary/expects.hpp>
#include <stop_token>
#include <thread>
#include <utility>

#if !defined(__cpp_lib_jthread)
#error "pgas: this header needs std::stop_token; with libc++ 19 compile with -fexperimental-library"
#endif

namespace PGAS_NAMESPACE {

namespace detail {

/// A second thread may serve for a rank of such a backend: the rank is no fiber and calls no MPI.
template <class B>
concept served_by_any_thread = working_backend<B> && !file_backend<B> && requires(B& b) {
  { b.while_waiting(std::function<void()>{}) } -> std::same_as<std::unique_ptr<service>>;
};

}  // namespace detail

/// A thread that serves for a rank while the rank computes: `{ progress_thread helper{team}; compute(); }`.
///
/// While it lives, the thread that made it does not call the library, except while the result of `pause()`
/// lives. At level normal an epoch that is opened or closed meanwhile throws errc::wrong_order. The thread
/// does what a wait does: it carries on started collectives and messages, and it runs functions that other
/// ranks call. Tasks stay with the thread of their scheduler.
/// Local. An error, such as a rank that has failed, is thrown by the rank's next call after it. Costs a
/// thread, and a look after each nap. For process_map, thread_map, pool_map and loopback; elsewhere it does
/// not compile, and the rank calls `team.progress()`. MPI: an asynchronous progress thread, as MPICH has it.
template <class Team>
class progress_thread {
  using backend_type = typename Team::backend_type;

 public:
  /// Begins to serve, with a look after each `nap`.
  explicit progress_thread(Team const& of, std::chrono::microseconds nap = std::chrono::microseconds(100))
      : team_(of), nap_(nap), theirs_(&detail::service::of_this_thread()) {
    static_assert(detail::served_by_any_thread<backend_type>,
                  "progress_thread: ranks of this backend are fibers of one thread, or call MPI, so no "
                  "second thread can serve for them; call team.progress() now and then");
    mark(true);
    thread_ = std::jthread([this](std::stop_token const& stop) { serve(stop); });
  }
  progress_thread(progress_thread const&) = delete;
  progress_thread& operator=(progress_thread const&) = delete;
  /// Ends the thread. From then on the thread that made it may call the library.
  ~progress_thread() {
    thread_.request_stop();
    thread_.join();
    mark(false);
    if (error_) team_.state()->deferred->record(std::move(error_));
  }

  /// While an object lives, the maker of the thread calls the library, and the thread does nothing.
  class [[nodiscard]] paused {
   public:
    /// For `pause`.
    explicit paused(progress_thread& of) : of_(&of), held_(of.mutex_) { of_->mark(false); }
    paused(paused const&) = delete;
    paused& operator=(paused const&) = delete;
    ~paused() { of_->mark(true); }

   private:
    progress_thread* of_;
    std::unique_lock<std::mutex> held_;
  };
  /// Pauses the thread: `{ auto const mine = helper.pause(); epoch.put(...); }`. Waits until it has finished
  /// its current step.
  paused pause() { return paused(*this); }

 private:
  void serve(std::stop_token const& stop) {
    detail::uninterrupted const without_signals;  // the rank's own thread receives them
    std::unique_lock held(mutex_);
    try {
      while (!stop.stop_requested()) {
        mark(false);  // a function that another rank calls may open an epoch
        {
          detail::adopted_services const here(*theirs_);
          team_.state()->control.pause(0, {.operation = "progress_thread"});
        }
        mark(true);
        wake_.wait_for(held, stop, nap_, [] { return false; });
      }
    } catch (...) {
      error_ = std::current_exception();
      mark(true);
    }
  }
  /// Marks the library as in use by this thread, also while it naps: see only_call.
  void mark(bool in_use) const noexcept {
    // relaxed: the mark detects wrong programs, and orders nothing; the mutex orders the threads.
    team_.state()->deferred->is_in_call.store(in_use, std::memory_order_relaxed);
  }

  Team team_;
  std::chrono::microseconds nap_;
  detail::service** theirs_;  ///< the services of the thread that made this one
  std::mutex mutex_;          ///< held by the thread that calls the library
  std::condition_variable_any wake_;
  std::exception_ptr error_;
  std::jthread thread_;
};

}  // namespace PGAS_NAMESPACE
