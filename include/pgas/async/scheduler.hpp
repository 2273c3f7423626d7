// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <coroutine>
#include <exception>
#include <list>
#include <pgas/async/task.hpp>
#include <pgas/concepts/backend.hpp>
#include <pgas/team.hpp>
#include <thread>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE {

/// Runs the tasks of one rank, and polls what they await: `pgas::scheduler tasks{team};`.
///
/// Local; made on the team that has all ranks for which its tasks wait. It belongs to the thread that made
/// it: another thread gets errc::wrong_order at level normal. A rank may have several. Tasks go on in `run`,
/// `finish`, `progress` and `team.progress()`, never inside another call of the library. A call that blocks,
/// such as a barrier, holds up all tasks of its rank.
///
/// While no task can go on, the rank waits as in any call of the library: one request by its own wait,
/// several in a wait that polls them between its looks and sleeps for a millisecond at most. Both notice a
/// failed job, and ranks that wait for each other; each suspended task then gets the error. MPI: MPI_Waitsome
/// in a loop; UPC++: progress.
template <class Team>
class scheduler final : public detail::engine, detail::advanced_by_progress {
  using backend_type = typename Team::backend_type;
  using control_type = typename backend_type::control_type;

 public:
  /// Made on any team of the rank.
  explicit scheduler(Team const& of) : team_(of) {
    for (rank_t other = 0; other < team_.size(); ++other) {
      if (other != team_.rank()) others_.push_back(other);
    }
    team_.state()->deferred->by_progress.push_back(this);
  }
  ~scheduler() { team_.state()->deferred->by_progress.remove(this); }

  /// Runs a task to its end, and all spawned ones meanwhile. Returns its result, or throws its exception.
  /// Throws errc::deadlock if it waits for nothing that this scheduler polls.
  template <class T>
  T run(task<T> one) {
    check_not_nested("run");
    run_end outcome;
    {
      auto const now = at_work();
      detail::task_access::start(one, *this, outcome);
    }
    while (!outcome.is_over) turn("run");
    rethrow();
    return detail::task_access::result(one);
  }

  /// Starts a task beside others, and keeps it. Its exception is thrown by the next run, finish or progress.
  void spawn(task<> one) {
    check_thread("spawn");
    auto const at = roots_.emplace(roots_.end(), *this, std::move(one));
    at->self = at;
    bool const was_idle = is_idle();
    {
      auto const now = at_work();
      detail::task_access::start(at->of, *this, *at);
    }
    if (was_idle && !is_idle()) wake();
    if (!is_at_work()) sweep();
  }
  /// Runs until all spawned tasks have ended.
  void finish() {
    check_not_nested("finish");
    for (sweep(); !roots_.empty(); sweep()) turn("finish");
    rethrow();
  }

  /// Tests what is pending, and resumes the tasks that can go on. Returns the number of resumptions. Never
  /// blocks by itself. Also serves other ranks where messages need that, and notices a failed job.
  std::size_t progress() {
    std::size_t const resumed = advance();
    if (resumed == 0) serve();
    sweep();
    rethrow();
    return resumed;
  }

  /// The clock of the rank.
  [[nodiscard]] time_point now() const override { return team_.now(); }
  /// The number of the rank in the job.
  [[nodiscard]] rank_t rank() const noexcept override {
    auto const& backend = team_.state()->backend;
    return backend.world_rank(backend.rank());
  }

 private:
  /// The end of the task that `run` runs.
  struct run_end final : detail::joint {
    bool is_over = false;
    std::coroutine_handle<> ended() noexcept override {
      is_over = true;
      return std::noop_coroutine();
    }
  };
  /// A spawned task.
  struct root final : detail::joint {
    root(scheduler& by, task<> one) noexcept : of(std::move(one)), by_(&by) {}
    std::coroutine_handle<> ended() noexcept override {
      by_->ended_.splice(by_->ended_.end(), by_->roots_, self);
      return std::noop_coroutine();
    }
    task<> of;
    typename std::list<root>::iterator self;

   private:
    scheduler* by_;
  };

  /// Called by `team.progress()`, even within a task of this scheduler or for another thread; it does nothing
  /// then.
  std::size_t go_on() override {
    if (is_at_work() || !is_of_this_thread()) return 0;
    std::size_t const resumed = advance();
    sweep();
    rethrow();
    return resumed;
  }
  void check_not_nested(std::string_view operation) {
    check_thread(operation);
    PGAS_EXPECTS(light, !is_at_work(),
                 detail::throw_error(errc::wrong_order, rank(), operation,
                                     "a task of this scheduler calls its scheduler; co_await the task"));
  }
  /// Frees the frames of spawned tasks that have ended, and keeps the first exception.
  void sweep() {
    while (!ended_.empty()) {
      try {
        detail::task_access::result(ended_.front().of);
      } catch (...) {
        if (!error_) error_ = std::current_exception();
      }
      ended_.pop_front();
    }
  }
  void rethrow() {
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

  /// Resumes all tasks that can continue; waits if none can.
  void turn(std::string_view operation) {
    if (advance() != 0) {
      pauses_ = 0;
      return sweep();
    }
    if (pending() == 0) {
      throw error(errc::deadlock, rank(), operation,
                  "the task waits for nothing that its scheduler polls, so it would never go on; co_await "
                  "requests and tasks only");
    }
    try {
      idle();
    } catch (...) {
      fail_all(std::current_exception());
    }
  }

  void idle() {
    auto const due = next_due();
    if (pending() == 1 && due == no_deadline && wait_for_first()) return;
    auto& state = *team_.state();
    waiting_for why{.operation = "co_await"};
    if (due == no_deadline) {
      // Some transfers end by time alone, which a wait notices only by polling.
      if (pauses_ < brief_pauses) return ++pauses_, state.control.pause(1, why);
      why.awaited = others_;
    } else if (team_.size() == 1) {
      std::this_thread::yield();
      return state.control.pause(0, why);
    } else {
      why.deadline = std::min(std::max(due, now() + shortest_nap), now() + longest_nap);
    }
    if constexpr (working_backend<backend_type>) {
      auto const looks_often = state.backend.while_waiting([] {});  // a store to any word may be the signal
      wait_for_any(state.control, why);
    } else if (team_.size() == 1) {
      wait_for_any(state.control, why);
    } else {
      state.control.pause(pauses_ = std::min(pauses_ + 1, brief_pauses), why);
    }
  }
  /// Waits on a word of this rank, whose value does not matter, and polls between its checks.
  void wait_for_any(control_type& control, waiting_for const& why) {
    try {
      control.wait_until(
          control.slot(control.rank(), 0, control.rank()), [this](word) { return poll(); }, why);
    } catch (error const& e) {
      if (e.code() != errc::timed_out || now() < why.deadline) throw;
    }
  }
  /// Lets other ranks proceed, and answers them where the backend is polled.
  void serve() {
    try {
      team_.state()->control.pause(0, {.operation = "co_await"});
    } catch (...) {
      if (pending() == 0) throw;
      fail_all(std::current_exception());
    }
  }

  static constexpr unsigned brief_pauses = 32;
  static constexpr std::chrono::milliseconds shortest_nap{1};  ///< polls follow sooner
  static constexpr std::chrono::milliseconds longest_nap{10};

  Team team_;
  std::vector<rank_t> others_;
  unsigned pauses_ = 0;
  std::list<root> roots_;  ///< destroyed first: frames settle what they await
  std::list<root> ended_;
  std::exception_ptr error_;
};

/// Runs one task on a rank, with a scheduler of its own: `pgas::sync_wait(team, work(team));`. Otherwise like
/// scheduler::run.
template <class Team, class T>
T sync_wait(Team const& team, task<T> one) {
  return scheduler<Team>(team).run(std::move(one));
}

}  // namespace PGAS_NAMESPACE
