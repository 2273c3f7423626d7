// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <pgas/vocabulary/expects.hpp>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE {

/// A started operation, made by a segment; its caller moves it, tests it and waits for it.
///
/// `test()` returns whether the operation is complete at the origin, and never blocks. A put is then done
/// with its source; a get has filled its destination. `wait()` returns once the operation is complete. Both
/// may be called again afterwards.
/// A request must end before the epoch that made it. Completion at the target still needs a flush or the end
/// of the epoch.
/// MPI: the request of MPI_Rput or MPI_Rget.
template <class R>
concept request = std::movable<R> && requires(R& r) {
  { r.test() } -> std::same_as<bool>;
  r.wait();
};

/// A request whose operation has a result. `value()` returns it, once, when `test()` has returned true or
/// `wait()` has returned. MPI: the request of MPI_Rget_accumulate; UPC++: future::result.
template <class R>
concept valued_request = request<R> && requires(R& r) { r.value(); };

/// An operation that can be looked at: each request, and whatever else `co_await` polls.
template <class R>
concept testable = requires(R& r) {
  R(std::move(r));
  { r.test() } -> std::same_as<bool>;
};

/// Such an operation uses no memory of the caller, so it may be destroyed at any time, and ends then. The
/// request of a transfer is not droppable: its source or destination is in use until it is done.
template <class R>
concept droppable = testable<R> && requires { requires R::is_droppable; };

/// The request of an operation that was complete when the call returned. It costs nothing.
struct done {
  /// Nothing is under way.
  static constexpr bool is_droppable = true;
  /// True.
  [[nodiscard]] static constexpr bool test() noexcept { return true; }
  /// Returns at once.
  static constexpr void wait() noexcept {}
};
static_assert(request<done> && droppable<done>);

/// The request of an operation that is several transfers: it is done when all of them are.
template <request R>
class joined_requests {
 public:
  /// Adds a transfer to those that must be done.
  void add(R one) { each_.push_back(std::move(one)); }
  /// Returns whether all are done. Never blocks.
  [[nodiscard]] bool test() {
    while (!each_.empty() && each_.back().test()) each_.pop_back();
    return each_.empty();
  }
  /// Returns when all are done.
  void wait() {
    for (R& one : each_) one.wait();
    each_.clear();
  }

 private:
  std::vector<R> each_;
};
/// Transfers that were complete when their calls returned need no memory.
template <>
class joined_requests<done> : public done {
 public:
  /// Adds a transfer, which needs no memory.
  static constexpr void add(done) noexcept {}
};
static_assert(request<joined_requests<done>>);

}  // namespace PGAS_NAMESPACE
