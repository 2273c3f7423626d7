// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <pgas/async/scheduler.hpp>
#include <pgas/detail/process/one_per_process.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace PGAS_NAMESPACE {

namespace detail {

/// The signature of a completion: an error or null, and the value if there is one.
template <class Value>
struct completion_of {
  using signature = void(std::exception_ptr, Value);
};
template <>
struct completion_of<void> {
  using signature = void(std::exception_ptr);
};
template <class R>
using completion_signature =
    typename completion_of<decltype(std::declval<request_awaiter<R>&>().await_resume())>::signature;

/// Calls a handler with the result of `get()`, which may throw.
template <class Handler, class Get>
void call_with_result(Handler& handler, Get const& get) {
  using value_type = std::invoke_result_t<Get const&>;
  std::exception_ptr error;
  if constexpr (std::is_void_v<value_type>) {
    try {
      get();
    } catch (...) {
      error = std::current_exception();
    }
    std::move(handler)(std::move(error));
  } else {
    value_type value{};
    try {
      value = get();
    } catch (...) {
      error = std::current_exception();
    }
    std::move(handler)(std::move(error), std::move(value));
  }
}

/// An operation that has ended, and its handler, to be called in the handler's executor.
template <class R, class Handler>
class completion {
 public:
  completion(R&& request, Handler&& handler, std::exception_ptr error)
      : request_(std::move(request)), handler_(std::move(handler)), error_(std::move(error)) {}
  void operator()() {
    call_with_result(handler_, [this] {
      if (error_) std::rethrow_exception(error_);
      if constexpr (requires { request_.value(); }) return request_.value();
    });
  }

  using allocator_type = boost::asio::associated_allocator_t<Handler>;
  [[nodiscard]] allocator_type get_allocator() const noexcept {
    return boost::asio::get_associated_allocator(handler_);
  }

 private:
  R request_;
  Handler handler_;
  std::exception_ptr error_;
};

/// Calls `call` later, in its executor. The io_context calls it there: an executor of threads, such as that
/// of use_future, then receives it in the thread of the rank.
template <class Context, class Executor, class Call>
void call_later(Context const& context, Executor const& executor, Call call) {
  boost::asio::post(context, [work = boost::asio::executor_work_guard<Executor>(executor),
                              call = std::move(call)]() mutable {
    boost::asio::dispatch(work.get_executor(), std::move(call));
  });
}

/// A pending operation with its handler, in memory of the handler's allocator.
template <class R, class Handler, class Executor>
class handled_operation final : public awaited {
  using allocator_type = typename std::allocator_traits<
      boost::asio::associated_allocator_t<Handler>>::template rebind_alloc<handled_operation>;
  using traits = std::allocator_traits<allocator_type>;

 public:
  handled_operation(R&& request, Handler&& handler, Executor executor)
      : request_(std::move(request)), handler_(std::move(handler)), work_(std::move(executor)) {}

  static void start(engine& by, R&& request, Handler&& handler, Executor executor) {
    allocator_type memory(boost::asio::get_associated_allocator(handler));
    auto* const made = traits::allocate(memory, 1);
    traits::construct(memory, made, std::move(request), std::move(handler), std::move(executor));
    by.add(*made);
  }

  bool test() override { return request_.test(); }
  bool wait() override { return false; }  // the io_context has other work, too
  void over() override {
    auto const work = std::move(work_);
    completion<R, Handler> rest(std::move(request_), std::move(handler_), take_error());
    destroy(rest.get_allocator());  // before the handler, which may start another operation in its place
    boost::asio::dispatch(work.get_executor(), std::move(rest));
  }
  void abandon() noexcept override {
    settle(request_);
    auto const handler = std::move(handler_);
    destroy(boost::asio::get_associated_allocator(handler));
  }
  [[nodiscard]] time_point due() const override {
    if constexpr (requires { request_.due(); }) return request_.due();
    return no_deadline;
  }

 private:
  void destroy(allocator_type memory) noexcept {
    traits::destroy(memory, this);
    traits::deallocate(memory, this, 1);
  }

  R request_;
  Handler handler_;
  boost::asio::executor_work_guard<Executor> work_;
};

/// Runs a task that has been given a handler, and calls the handler in its executor.
template <class T, class Handler, class Executor>
task<> run_with_handler(task<T> one, Handler handler, boost::asio::io_context& context, Executor executor) {
  boost::asio::executor_work_guard<Executor> const work(executor);
  std::exception_ptr error;
  if constexpr (std::is_void_v<T>) {
    try {
      co_await std::move(one);
    } catch (...) {
      error = std::current_exception();
    }
    call_later(context.get_executor(), executor,
               [handler = std::move(handler), error = std::move(error)]() mutable {
                 std::move(handler)(std::move(error));
               });
  } else {
    T value{};
    try {
      value = co_await std::move(one);
    } catch (...) {
      error = std::current_exception();
    }
    call_later(context.get_executor(), executor,
               [handler = std::move(handler), error = std::move(error), value = std::move(value)]() mutable {
                 std::move(handler)(std::move(error), std::move(value));
               });
  }
}

/// The rank whose io_context runs in this thread. Ranks that are fibers share a thread, and Asio keeps one
/// stack of calls per thread, which would mix up theirs.
class only_rank_of_thread {
 public:
  explicit only_rank_of_thread(rank_t rank) {
    auto& [of, count] = one_per_thread<of_thread>();
    if (count != 0 && rank != of)
      throw error(errc::unsupported, rank, "progress_in",
                  "ranks are fibers of one thread here, and rank " + std::to_string(of) +
                      " has an io_context; let one rank have one, or take a backend of threads or processes");
    of = rank;
    ++count;
  }
  only_rank_of_thread(only_rank_of_thread const&) = delete;
  only_rank_of_thread& operator=(only_rank_of_thread const&) = delete;
  ~only_rank_of_thread() { --one_per_thread<of_thread>().count; }

 private:
  struct of_thread {
    static constexpr std::string_view shared_name = "rank with an io_context";
    rank_t of;
    int count;
  };
};

}  // namespace detail

/// When `progress_in` looks at a rank's operations.
enum class polls {
  while_pending,  ///< while operations are under way: the io_context's run returns when nothing else is
  always,         ///< at least each millisecond, so that the rank serves others and notices a failed job
};

/// Lets an io_context drive the progress of a rank: a rank serves sockets, timers and windows in one loop.
///
/// `pgas::progress_in loop{context, tasks}; ... context.run();`. While operations are under way, a handler of
/// the io_context polls them: at once while some end, then after pauses of up to a millisecond. The thread
/// that made the scheduler calls run; in another thread it throws errc::wrong_order at level normal. run also
/// throws what spawned tasks throw. The scheduler and the io_context outlive it. Where ranks are fibers, as
/// on scc, one rank may have it: another gets errc::unsupported.
template <class Team>
class progress_in {
 public:
  using executor_type = boost::asio::io_context::executor_type;

  /// Drives this scheduler. Local.
  progress_in(boost::asio::io_context& context, scheduler<Team>& tasks, polls when = polls::while_pending)
      : only_(tasks.rank()),
        context_(&context),
        tasks_(&tasks),
        when_(when),
        state_(std::make_shared<state>(*this, context)) {
    tasks.on_added([this] { tick_soon(); });
    if (when == polls::always || !tasks.is_idle()) tick_soon();
  }
  progress_in(progress_in const&) = delete;
  progress_in& operator=(progress_in const&) = delete;
  ~progress_in() {
    tasks_->on_added({});
    state_->of = nullptr;
    state_->timer.cancel();
  }

  /// The executor of the io_context, where handlers run that have no other.
  [[nodiscard]] executor_type get_executor() const noexcept { return context_->get_executor(); }
  /// The io_context that drives the progress.
  [[nodiscard]] boost::asio::io_context& context() const noexcept { return *context_; }
  /// The scheduler whose progress this is.
  [[nodiscard]] scheduler<Team>& tasks() const noexcept { return *tasks_; }

 private:
  /// Outlives the object while a handler of the io_context refers to it.
  struct state {
    state(progress_in& which, boost::asio::io_context& context) : of(&which), timer(context) {}
    progress_in* of;  ///< null when that is gone
    boost::asio::steady_timer timer;
  };

  void tick_soon() {
    if (std::exchange(is_ticking_, true)) return;
    boost::asio::post(*context_, [held = state_] {
      if (held->of != nullptr) held->of->tick();
    });
  }
  void tick() {
    is_ticking_ = false;
    idle_ticks_ = tasks_->progress() != 0 ? 0 : idle_ticks_ + 1;
    if (when_ == polls::while_pending && tasks_->is_idle()) return;
    if (idle_ticks_ <= busy_ticks) return tick_soon();
    if (std::exchange(is_ticking_, true)) return;
    auto const pause = std::min<unsigned>(idle_ticks_ - busy_ticks, longest_pause_us);
    state_->timer.expires_after(std::chrono::microseconds(pause));
    state_->timer.async_wait([held = state_](boost::system::error_code) {
      if (held->of != nullptr) held->of->tick();
    });
  }

  static constexpr unsigned busy_ticks = 256;
  static constexpr unsigned longest_pause_us = 1000;

  detail::only_rank_of_thread only_;
  boost::asio::io_context* context_;
  scheduler<Team>* tasks_;
  polls when_;
  std::shared_ptr<state> state_;
  bool is_ticking_ = false;
  unsigned idle_ticks_ = 0;
};

/// Completes a request by any of Asio's completion tokens: `complete(loop, epoch.rget(r, i, values), token)`.
///
/// The token is a callback, `use_future`, `detached`, `use_awaitable`, or `deferred` where Boost has it. Its
/// signature is void(std::exception_ptr), or void(std::exception_ptr, V) for a request with a value. The
/// handler runs in its executor, or else in the io_context of `loop`, and never within this call. An
/// operation that has already ended costs a post; one under way also costs memory of the handler's allocator.
/// Called in the thread of the scheduler. A request that is dropped with its loop is settled as a destroyed
/// task settles it.
template <class Team, testable R, class Token>
auto complete(progress_in<Team>& loop, R request, Token&& token) {
  return boost::asio::async_initiate<Token, detail::completion_signature<R>>(
      [&loop](auto&& handler, R operation) {
        using handler_type = std::decay_t<decltype(handler)>;
        auto executor = boost::asio::get_associated_executor(handler, loop.get_executor());
        loop.tasks().check_thread("complete");
        handler_type mine(std::forward<decltype(handler)>(handler));
        std::exception_ptr error;
        bool is_over = true;
        try {
          is_over = operation.test();
        } catch (...) {
          error = std::current_exception();
        }
        if (is_over) {
          detail::call_later(
              loop.get_executor(), executor,
              detail::completion<R, handler_type>(std::move(operation), std::move(mine), std::move(error)));
        } else {
          detail::handled_operation<R, handler_type, decltype(executor)>::start(
              loop.tasks(), std::move(operation), std::move(mine), std::move(executor));
        }
      },
      token, std::move(request));
}

/// Runs a task and completes it by a token. The value of a task<T> is default constructible.
template <class Team, class T, class Token>
auto complete(progress_in<Team>& loop, task<T> one, Token&& token) {
  return boost::asio::async_initiate<Token, typename detail::completion_of<T>::signature>(
      [&loop](auto&& handler, task<T> work) {
        auto executor = boost::asio::get_associated_executor(handler, loop.get_executor());
        std::decay_t<decltype(handler)> mine(std::forward<decltype(handler)>(handler));
        loop.tasks().spawn(
            detail::run_with_handler(std::move(work), std::move(mine), loop.context(), std::move(executor)));
      },
      token, std::move(one));
}

}  // namespace PGAS_NAMESPACE
