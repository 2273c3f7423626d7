// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <pgas/backends/checked/checker.hpp>
#include <pgas/concepts/segment.hpp>
#include <string>
#include <utility>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Memory of another backend. Each access to it is checked, also those of a rank to its own part: that is
/// why the part is no span, as on memory with private copies, and each load and store is a call.
template <shared_segment Inner>
class checked_segment : private Inner {
  using kind = checking::access_kind;

 public:
  template <class T>
  static constexpr bool is_atomic = Inner::template is_atomic<T>;

  /// `in_job` has the numbers of the team's ranks.
  checked_segment(Inner inner, std::shared_ptr<checking::checker> c, std::vector<rank_t> in_job)
      : Inner(std::move(inner)), checker_(std::move(c)), in_job_(std::move(in_job)) {}

  using Inner::part_bytes;
  using Inner::rank;
  using Inner::size;

  /// Tells what a report says of this memory.
  void name(std::string_view window, std::size_t element_bytes) {
    window_ = window;
    element_bytes_ = element_bytes;
  }

  // Not inlined, so that the frame of an operation is its own, and its return address the caller's.
  [[gnu::noinline]] void put(location at, bytes_in from) {
    check(checker_->is_at_element() ? kind::atomic_change : kind::put, at, from.size(),
          __builtin_frame_address(0));
    if (checker_->is_at_element()) checker_->release(clock_of(at));
    Inner::put(at, from);
  }
  [[gnu::noinline]] void get(location at, bytes_out into) {
    check(checker_->is_at_element() ? kind::atomic_load : kind::get, at, into.size(),
          __builtin_frame_address(0));
    Inner::get(at, into);
    if (checker_->is_at_element()) checker_->acquire(clock_of(at));
  }
  [[gnu::noinline]] auto rput(location at, bytes_in from) {
    check(kind::put, at, from.size(), __builtin_frame_address(0));
    return Inner::rput(at, from);
  }

  /// The request of a get. The get is complete when the request is done.
  class get_request {
   public:
    get_request(std::shared_ptr<checking::checker> c, rank_t target) noexcept
        : checker_(std::move(c)), target_(target) {}
    [[nodiscard]] bool test() { return wait(), true; }
    void wait() {
      if (checker_) std::exchange(checker_, nullptr)->flush_local(target_);
    }

   private:
    std::shared_ptr<checking::checker> checker_;  ///< null: the request is done
    rank_t target_;                               ///< in the job
  };
  [[gnu::noinline]] get_request rget(location at, bytes_out into) {
    check(kind::get, at, into.size(), __builtin_frame_address(0));
    Inner::get(at, into);
    return {checker_, to_job(at.rank)};
  }
  [[gnu::noinline]] void put_rows(location at, std::size_t pitch, std::byte const* from,
                                  std::size_t from_pitch, row_shape shape) {
    check_rows(kind::put, at, pitch, shape, __builtin_frame_address(0));
    Inner::put_rows(at, pitch, from, from_pitch, shape);
  }
  [[gnu::noinline]] void get_rows(location at, std::size_t pitch, std::byte* into, std::size_t into_pitch,
                                  row_shape shape) {
    check_rows(kind::get, at, pitch, shape, __builtin_frame_address(0));
    Inner::get_rows(at, pitch, into, into_pitch, shape);
  }

  void flush(rank_t target) {
    Inner::flush(target);
    checker_->flush(to_job(target));
  }
  void flush_all() {
    for (rank_t r = 0; r < size(); ++r) flush(r);
  }
  void flush_local(rank_t target) {
    Inner::flush_local(target);
    checker_->flush_local(to_job(target));
  }
  void flush_local_all() {
    for (rank_t r = 0; r < size(); ++r) flush_local(r);
  }

  // This rank's loads and stores in its own part

  [[gnu::noinline]] void load(location at, bytes_out into) {
    check(kind::load, at, into.size(), __builtin_frame_address(0));
    Inner::get(at, into);
  }
  [[gnu::noinline]] void store(location at, bytes_in from) {
    check(kind::store, at, from.size(), __builtin_frame_address(0));
    Inner::put(at, from);
  }

  // Atomic operations. A location has a clock, with which its changes release and acquire. An accumulate
  // orders nothing: it only is no race with other atomic operations.

  template <class T, class Op>
  [[gnu::noinline]] T fetch_op(location at, T value, Op op) {
    check(kind::atomic_change, at, sizeof(T), __builtin_frame_address(0));
    checker_->release(clock_of(at));
    T const before = Inner::template fetch_op<T>(at, value, op);
    checker_->acquire(clock_of(at));
    return before;
  }
  template <class T, class Op>
  [[gnu::noinline]] void combine(location at, std::span<T const> values, Op op) {
    check(kind::accumulate, at, values.size_bytes(), __builtin_frame_address(0));
    for (std::size_t i = 0; i < values.size(); ++i)
      Inner::template fetch_op<T>({at.rank, at.offset + i * sizeof(T)}, values[i], op);
  }
  template <class T>
  [[gnu::noinline]] T compare_exchange(location at, T expected, T desired) {
    check(kind::atomic_change, at, sizeof(T), __builtin_frame_address(0));
    checker_->release(clock_of(at));
    T const before = Inner::template compare_exchange<T>(at, expected, desired);
    checker_->acquire(clock_of(at));
    return before;
  }
  template <class T>
  [[gnu::noinline]] T atomic_load(location at) {
    check(kind::atomic_load, at, sizeof(T), __builtin_frame_address(0));
    T const now = Inner::template atomic_load<T>(at);
    checker_->acquire(clock_of(at));
    return now;
  }
  template <class T>
  [[gnu::noinline]] void atomic_store(location at, T value) {
    check(kind::atomic_change, at, sizeof(T), __builtin_frame_address(0));
    checker_->release(clock_of(at));
    Inner::template atomic_store<T>(at, value);
  }

 private:
  [[nodiscard]] rank_t to_job(rank_t rank) const noexcept { return in_job_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] std::uint64_t offset_of(location at) const noexcept {
    return static_cast<std::uint64_t>(Inner::part(at.rank) + at.offset - checker_->of_job().arena());
  }
  [[nodiscard]] checking::memory::locked_clock clock_of(location at) const noexcept {
    return checker_->shared().clock_of_location(offset_of(at));
  }
  void check(kind what, location at, std::size_t bytes, void* frame) {
    checker_->access(what,
                     {.window = window_,
                      .owner = at.rank,
                      .owner_in_job = to_job(at.rank),
                      .first = at.offset,
                      .element_bytes = element_bytes_},
                     offset_of(at), bytes, frame);
  }
  void check_rows(kind what, location at, std::size_t pitch, row_shape shape, void* frame) {
    if (pitch == shape.row_bytes) return check(what, at, shape.rows * shape.row_bytes, frame);
    for (std::size_t row = 0; row < shape.rows; ++row)
      check(what, {at.rank, at.offset + row * pitch}, shape.row_bytes, frame);
  }

  std::shared_ptr<checking::checker> checker_;
  std::vector<rank_t> in_job_;
  std::string window_ = "a window";
  std::size_t element_bytes_ = 1;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
