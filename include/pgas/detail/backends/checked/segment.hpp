// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <pgas/concepts/access_kind.hpp>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/backends/checked/checker.hpp>
#include <pgas/detail/types/scoped_value.hpp>
#include <string>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// Memory of another backend. Each access to it is checked, also those of a rank to its own part. So the part
/// is no span, as on memory with private copies, and each load and store is a call.
template <shared_segment Inner, class Rules = checking::every_rule>
class checked_segment : private Inner {
  using kind = checking::recorded;
  using called = access_kind;

 public:
  template <class T>
  static constexpr bool is_atomic = Inner::template is_atomic<T>;

  /// `in_job` has the numbers of the team's ranks.
  checked_segment(Inner inner, std::shared_ptr<checking::checker<Rules>> c, std::vector<rank_t> in_job,
                  std::byte* logs)
      : Inner(std::move(inner)),
        checker_(std::move(c)),
        in_job_(std::move(in_job)),
        ends_(std::make_shared<checking::completions>(logs, checker_->shared().ranks(),
                                                      checker_->of_job().rank())) {}

  /// The memory without the checks.
  [[nodiscard]] Inner unchecked() && noexcept { return static_cast<Inner&&>(*this); }

  using Inner::part_bytes;
  using Inner::rank;
  using Inner::size;

  /// Sets the description of this memory for reports.
  void describe(std::string_view window, std::size_t element_bytes) {
    window_ = window;
    element_bytes_ = element_bytes;
  }

  /// The program's access behind this rank's transfers, from construction to destruction.
  [[nodiscard]] auto access_as(called what) noexcept { return access_as(what, rank()); }
  [[nodiscard]] auto access_as(called what, rank_t target) noexcept {
    return scoped_value(now_, std::pair(what, target));
  }

  // Not inlined, so that the frame of an operation is its own, and its return address the caller's.
  [[gnu::noinline]] void put(location at, bytes_in from) {
    auto const where = place(__builtin_frame_address(0));
    checker_->reads_private(from, kind::put, where);
    if (checker_->is_at_element()) {
      check(of_element(kind::atomic_change), at, from.size(), where);
      if (releases()) checker_->release(clock_of(at));
    } else {
      check(kind::put, at, from.size(), where);
      if (now_.first == called::put) checker_->buffers().begin_put(number(), at.rank, from, where);
    }
    Inner::put(at, from);
  }
  [[gnu::noinline]] void get(location at, bytes_out into) {
    auto const where = place(__builtin_frame_address(0));
    if (checker_->is_at_element()) {
      check(kind::atomic_load, at, into.size(), where);
      Inner::get(at, into);
      if (acquires()) checker_->acquire(clock_of(at));
      return;
    }
    checker_->writes_private(into, kind::get, where);
    if (is_copying_) {
      get_hidden(at, into);
    } else {
      check(kind::get, at, into.size(), where);
      Inner::get(at, into);
    }
    if (now_.first == called::get) checker_->buffers().begin_get(number(), at.rank, into, where);
  }

  /// The request of a transfer, whose buffer belongs to it until the request is done.
  class transfer_request {
   public:
    transfer_request(std::shared_ptr<checking::checker<Rules>> c, std::uint64_t id,
                     std::shared_ptr<checking::completions> ends_of_get, rank_t target) noexcept
        : checker_(std::move(c)), ends_(std::move(ends_of_get)), id_(id), target_(target) {}
    [[nodiscard]] bool test() { return wait(), true; }
    void wait() {
      if (!checker_) return;
      auto const checker = std::exchange(checker_, nullptr);
      if (ends_) checker->flush(*ends_, target_, true);
      checker->end_request(id_);
    }

   private:
    std::shared_ptr<checking::checker<Rules>> checker_;  ///< null: the request is done
    std::shared_ptr<checking::completions> ends_;        ///< of a get; else null
    std::uint64_t id_;
    rank_t target_;  ///< in the job
  };
  [[gnu::noinline]] transfer_request rput(location at, bytes_in from) {
    auto const where = place(__builtin_frame_address(0));
    checker_->reads_private(from, kind::put, where);
    check(kind::put, at, from.size(), where);
    Inner::put(at, from);
    return {checker_, checker_->buffers().begin_put(number(), at.rank, from, where), nullptr, 0};
  }
  [[gnu::noinline]] transfer_request rget(location at, bytes_out into) {
    auto const where = place(__builtin_frame_address(0));
    checker_->writes_private(into, kind::get, where);
    check(kind::get, at, into.size(), where);
    Inner::get(at, into);
    return {checker_, checker_->buffers().begin_get(number(), at.rank, into, where), ends_, to_job(at.rank)};
  }
  [[gnu::noinline]] void put_rows(location at, std::size_t pitch, std::byte const* from,
                                  std::size_t from_pitch, row_shape shape) {
    auto const where = place(__builtin_frame_address(0));
    check_rows(kind::put, at, pitch, shape, where);
    for (std::size_t row = 0; row < shape.rows; ++row) {
      bytes_in const piece(from + row * from_pitch, shape.row_bytes);
      checker_->reads_private(piece, kind::put, where);
      if (now_.first == called::put) checker_->buffers().begin_put(number(), at.rank, piece, where);
    }
    Inner::put_rows(at, pitch, from, from_pitch, shape);
  }
  [[gnu::noinline]] void get_rows(location at, std::size_t pitch, std::byte* into, std::size_t into_pitch,
                                  row_shape shape) {
    auto const where = place(__builtin_frame_address(0));
    check_rows(kind::get, at, pitch, shape, where);
    for (std::size_t row = 0; row < shape.rows; ++row)
      checker_->writes_private({into + row * into_pitch, shape.row_bytes}, kind::get, where);
    Inner::get_rows(at, pitch, into, into_pitch, shape);
    if (now_.first != called::get) return;
    for (std::size_t row = 0; row < shape.rows; ++row) {
      checker_->buffers().begin_get(number(), at.rank, {into + row * into_pitch, shape.row_bytes}, where);
    }
  }

  void flush(rank_t target) {
    Inner::flush(target);
    complete(target, false);
    checker_->end_buffers(number(), target);
  }
  void flush_all() {
    for (rank_t r = 0; r < size(); ++r) flush(r);
  }
  void flush_local(rank_t target) {
    Inner::flush_local(target);
    complete(target, Rules::puts_last());
    checker_->end_buffers(number(), target);
  }
  void flush_local_all() {
    for (rank_t r = 0; r < size(); ++r) flush_local(r);
  }
  /// For an exception that has ended an epoch, and perhaps the memory of its buffers.
  void abandon() noexcept { checker_->buffers().forget(number()); }

  // This rank's loads and stores in its own part

  [[gnu::noinline]] void load(location at, bytes_out into) {
    if (is_copying_) return get_hidden(at, into);
    auto const where = place(__builtin_frame_address(0));
    checker_->reads_private(own(at, into.size()), kind::load, where);
    if (Rules::stages()) check(kind::load, at, into.size(), where);
    if (now_.first == called::piece_read)
      checker_->buffers().begin_put(number(), now_.second, own(at, into.size()), where);
    Inner::get(at, into);
  }
  [[gnu::noinline]] void store(location at, bytes_in from) {
    auto const where = place(__builtin_frame_address(0));
    checker_->reads_private(from, kind::store, where);
    checker_->writes_private(own(at, from.size()), kind::store, where);
    check(kind::store, at, from.size(), where);
    if (now_.first == called::piece_filled)
      checker_->buffers().begin_fill(number(), now_.second, own(at, from.size()), where);
    Inner::put(at, from);
  }

  // The same for accesses that the program makes itself, see recording_segment.

  [[nodiscard]] std::byte* own_memory(std::size_t byte) const noexcept { return Inner::part(rank()) + byte; }
  [[gnu::noinline]] void record_load(std::size_t byte, std::size_t pitch, row_shape shape) {
    if (is_copying_) return;
    auto const where = place(__builtin_frame_address(0));
    for_each_row(byte, pitch, shape, [&](location at, std::size_t bytes) {
      checker_->reads_private(own(at, bytes), kind::load, where);
      if (Rules::stages()) check(kind::load, at, bytes, where);
    });
  }
  [[gnu::noinline]] void record_store(std::size_t byte, std::size_t pitch, row_shape shape) {
    auto const where = place(__builtin_frame_address(0));
    for_each_row(byte, pitch, shape, [&](location at, std::size_t bytes) {
      checker_->writes_private(own(at, bytes), kind::store, where);
      checker_->reads_private(own(at, bytes), kind::store, where);
      check(kind::store, at, bytes, where);
    });
  }

  /// A boundary of an epoch has published this rank's stores in its own part.
  void published_own() { checker_->publish(*ends_); }

  /// While the guard lives, loads and gets copy elements that the program may never use, so they are no
  /// accesses.
  [[nodiscard]] scoped_value<bool> copying() noexcept { return {is_copying_, true}; }

  // Atomic operations. A location has a clock, with which a store of the program releases, and a load
  // acquires. An accumulate orders nothing, but is no race with other atomic operations.

  template <class T, class Op>
  [[gnu::noinline]] T fetch_op(location at, T value, Op op) {
    change(at, std::as_bytes(std::span(&value, 1)), place(__builtin_frame_address(0)));
    T const before = unsynchronized([&] { return Inner::template fetch_op<T>(at, value, op); });
    if (acquires()) checker_->acquire(clock_of(at));
    return before;
  }
  template <class T, class Op>
  [[gnu::noinline]] void combine(location at, std::span<T const> values, Op op) {
    auto const where = place(__builtin_frame_address(0));
    checker_->reads_private(std::as_bytes(values), kind::accumulate, where);
    check(kind::accumulate, at, values.size_bytes(), where);
    unsynchronized([&] {
      for (std::size_t i = 0; i < values.size(); ++i)
        Inner::template fetch_op<T>({at.rank, at.offset + i * sizeof(T)}, values[i], op);
    });
  }
  template <class T>
  [[gnu::noinline]] T compare_exchange(location at, T expected, T desired) {
    change(at, std::as_bytes(std::span(&desired, 1)), place(__builtin_frame_address(0)));
    T const before =
        unsynchronized([&] { return Inner::template compare_exchange<T>(at, expected, desired); });
    if (acquires()) checker_->acquire(clock_of(at));
    return before;
  }
  template <class T>
  [[gnu::noinline]] T atomic_load(location at) {
    check(kind::atomic_load, at, sizeof(T), place(__builtin_frame_address(0)));
    T const now = unsynchronized([&] { return Inner::template atomic_load<T>(at); });
    if (acquires()) checker_->acquire(clock_of(at));
    return now;
  }
  template <class T>
  [[gnu::noinline]] void atomic_store(location at, T value) {
    change(at, std::as_bytes(std::span(&value, 1)), place(__builtin_frame_address(0)));
    unsynchronized([&] { Inner::template atomic_store<T>(at, value); });
  }

 private:
  /// Returns make(), whose atomic operations report no order to the thread sanitizer: the checker does that.
  template <class Make>
  static auto unsynchronized(Make const& make) {
    hidden_from_sanitizer const hidden(hidden_from_sanitizer::what::synchronization);
    return make();
  }
  /// Gets elements that the program uses only if they have not changed meanwhile.
  void get_hidden(location at, bytes_out into) {
    hidden_from_sanitizer const hidden;
    Inner::get(at, into);
  }
  void complete(rank_t target, bool gets_alone) {
    if (Rules::targets()) return checker_->flush(*ends_, to_job(target), gets_alone);
    for (rank_t const any : in_job_) checker_->flush(*ends_, any, gets_alone);
  }
  [[nodiscard]] rank_t to_job(rank_t r) const noexcept { return in_job_[static_cast<std::size_t>(r)]; }
  [[nodiscard]] std::uint64_t offset_of(location at) const noexcept {
    return static_cast<std::uint64_t>(Inner::part(at.rank) + at.offset - checker_->of_job().arena());
  }
  [[nodiscard]] checking::memory::locked_clock clock_of(location at) const noexcept {
    return checker_->shared().clock_of_location(offset_of(at));
  }
  /// Names the buffers of this window; it stays when the segment moves.
  [[nodiscard]] void const* number() const noexcept { return in_job_.data(); }
  [[nodiscard]] bytes_in own(location at, std::size_t bytes) const noexcept {
    return {Inner::part(at.rank) + at.offset, bytes};
  }
  [[nodiscard]] std::uint32_t place(void* frame) { return checker_->number_of_place(frame); }
  [[nodiscard]] bool releases() const noexcept {
    if (!Rules::locations()) return false;
    return now_.first == called::own || now_.first == called::exchange || now_.first == called::atomic_store;
  }
  [[nodiscard]] bool acquires() const noexcept {
    if (!Rules::locations()) return false;
    return now_.first == called::own || now_.first == called::exchange || now_.first == called::atomic_load;
  }
  [[nodiscard]] kind of_element(kind other) const noexcept {
    return now_.first == called::accumulate ? kind::accumulate : other;
  }
  void change(location at, bytes_in value, std::uint32_t where) {
    checker_->reads_private(value, kind::atomic_change, where);
    check(of_element(kind::atomic_change), at, value.size(), where);
    if (releases()) checker_->release(clock_of(at));
  }
  void check(kind what, location at, std::size_t bytes, std::uint32_t where) {
    checker_->access(what,
                     {.window = window_,
                      .owner = at.rank,
                      .owner_in_job = to_job(at.rank),
                      .first = at.offset,
                      .element_bytes = element_bytes_,
                      .ends = ends_.get()},
                     offset_of(at), bytes, where);
  }
  void check_rows(kind what, location at, std::size_t pitch, row_shape shape, std::uint32_t where) {
    if (pitch == shape.row_bytes) return check(what, at, shape.rows * shape.row_bytes, where);
    for (std::size_t row = 0; row < shape.rows; ++row)
      check(what, {at.rank, at.offset + row * pitch}, shape.row_bytes, where);
  }

  /// Calls use(location, bytes) for the rows of the own part.
  template <class Use>
  void for_each_row(std::size_t byte, std::size_t pitch, row_shape shape, Use const& use) const {
    if (pitch == shape.row_bytes) return use(location{rank(), byte}, shape.rows * shape.row_bytes);
    for (std::size_t row = 0; row < shape.rows; ++row)
      use(location{rank(), byte + row * pitch}, shape.row_bytes);
  }

  std::shared_ptr<checking::checker<Rules>> checker_;
  std::vector<rank_t> in_job_;
  std::shared_ptr<checking::completions> ends_;
  std::string window_ = "memory of the library";
  std::size_t element_bytes_ = 0;
  std::pair<called, rank_t> now_{called::own, 0};  ///< the program's access, and the target that ends it
  bool is_copying_ = false;                        ///< loads and gets are no accesses of the program
};

}  // namespace PGAS_NAMESPACE::detail
