// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <pgas/concepts/access_kind.hpp>
#include <pgas/concepts/backend.hpp>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/backends/checked/checker.hpp>
#include <pgas/detail/types/scoped_value.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// The places of a user window's parts in the shadow memory, in zeroed memory that all ranks share: the parts
/// themselves lie in no arena.
class shadow_places {
 public:
  shadow_places(std::byte* memory, std::size_t ranks) noexcept
      : first_(reinterpret_cast<std::uint64_t*>(memory), ranks) {}

  static constexpr std::uint64_t bytes(std::size_t ranks) noexcept { return ranks * sizeof(std::uint64_t); }

  /// Reserves a piece of the shadow for each part. One rank calls it, before others attach.
  void take(std::span<std::size_t const> sizes, checking::memory const& shared, job const& of) const {
    for (std::size_t r = 0; r < sizes.size(); ++r) first_[r] = shared.take_shadow(sizes[r], of);
  }
  [[nodiscard]] std::uint64_t of(location at) const noexcept {
    return first_[static_cast<std::size_t>(at.rank)] + at.offset;
  }

 private:
  std::span<std::uint64_t> first_;
};

/// Memory that the ranks allocated themselves. Each transfer is checked, but not a rank's own loads and
/// stores, which do not call this library.
template <segment Inner, class Rules = checking::every_rule>
class checked_user_segment : public Inner {
  using kind = checking::recorded;
  using called = access_kind;

 public:
  /// `in_job` has the numbers of the team's ranks.
  checked_user_segment(Inner inner, std::shared_ptr<checking::checker<Rules>> c, std::vector<rank_t> in_job,
                       std::byte* logs, shadow_places places)
      : Inner(std::move(inner)),
        checker_(std::move(c)),
        in_job_(std::move(in_job)),
        places_(places),
        ends_(std::make_shared<checking::completions>(logs, checker_->shared().ranks(),
                                                      checker_->of_job().rank())) {}

  using Inner::describe;
  using Inner::size;

  /// Sets the description of this memory for reports.
  void describe(std::string_view window, std::size_t element_bytes) {
    window_ = window;
    element_bytes_ = element_bytes;
  }
  /// Makes peers access copies, as Inner does.
  template <class Copies>
  void copy_through(Copies copies) {
    Inner::copy_through(std::move(copies).unchecked());
  }

  /// The program's access behind this rank's transfers, from construction to destruction.
  [[nodiscard]] scoped_value<called> access_as(called what, rank_t = 0) noexcept { return {now_, what}; }

  // Not inlined, so that the frame of an operation is its own, and its return address the caller's.
  [[gnu::noinline]] void put(location at, bytes_in from) {
    put_rows_from({at, from.size()}, from.data(), from.size(), {1, from.size()}, __builtin_frame_address(0));
  }
  [[gnu::noinline]] void get(location at, bytes_out into) {
    get_rows_to({at, into.size()}, into.data(), into.size(), {1, into.size()}, __builtin_frame_address(0));
  }
  [[gnu::noinline]] void put_rows(location at, std::size_t pitch, std::byte const* from,
                                  std::size_t from_pitch, row_shape shape) {
    put_rows_from({at, pitch}, from, from_pitch, shape, __builtin_frame_address(0));
  }
  [[gnu::noinline]] void get_rows(location at, std::size_t pitch, std::byte* into, std::size_t into_pitch,
                                  row_shape shape) {
    get_rows_to({at, pitch}, into, into_pitch, shape, __builtin_frame_address(0));
  }
  // A request is over when the transfer's call returns, as on Inner.
  [[gnu::noinline]] auto rput(location at, bytes_in from) {
    check(kind::put, at, from.size(), checker_->number_of_place(__builtin_frame_address(0)));
    return Inner::rput(at, from);
  }
  [[gnu::noinline]] auto rget(location at, bytes_out into) {
    check(kind::get, at, into.size(), checker_->number_of_place(__builtin_frame_address(0)));
    return Inner::rget(at, into);
  }

  void flush(rank_t target) { complete(target, false), Inner::flush(target); }
  void flush_all() {
    for (rank_t r = 0; r < size(); ++r) flush(r);
  }
  void flush_local(rank_t target) { complete(target, Rules::puts_last()), Inner::flush_local(target); }
  void flush_local_all() {
    for (rank_t r = 0; r < size(); ++r) flush_local(r);
  }
  /// For an exception that has ended an epoch, and perhaps the memory of its buffers.
  void abandon() noexcept { checker_->buffers().forget(number()); }

 private:
  /// The first row of a transfer in a part, and the distance of the rows.
  struct rows_at {
    location first;
    std::size_t pitch;

    [[nodiscard]] location row(std::size_t i) const noexcept {
      return {first.rank, first.offset + i * pitch};
    }
  };

  void put_rows_from(rows_at to, std::byte const* from, std::size_t from_pitch, row_shape shape,
                     void* frame) {
    auto const where = checker_->number_of_place(frame);
    for (std::size_t row = 0; row < shape.rows; ++row) {
      bytes_in const piece(from + row * from_pitch, shape.row_bytes);
      checker_->reads_private(piece, kind::put, where);
      check(checker_->is_at_element() ? of_element(kind::atomic_change) : kind::put, to.row(row),
            piece.size(), where);
      if (now_ == called::put && !checker_->is_at_element())
        checker_->buffers().begin_put(number(), to.first.rank, piece, where);
    }
    Inner::put_rows(to.first, to.pitch, from, from_pitch, shape);
  }
  void get_rows_to(rows_at of, std::byte* into, std::size_t into_pitch, row_shape shape, void* frame) {
    auto const where = checker_->number_of_place(frame);
    for (std::size_t row = 0; row < shape.rows; ++row) {
      checker_->writes_private({into + row * into_pitch, shape.row_bytes}, kind::get, where);
      check(checker_->is_at_element() ? kind::atomic_load : kind::get, of.row(row), shape.row_bytes, where);
    }
    Inner::get_rows(of.first, of.pitch, into, into_pitch, shape);
    if (now_ != called::get || checker_->is_at_element()) return;
    for (std::size_t row = 0; row < shape.rows; ++row) {
      checker_->buffers().begin_get(number(), of.first.rank, {into + row * into_pitch, shape.row_bytes},
                                    where);
    }
  }
  void complete(rank_t target, bool gets_alone) {
    checker_->flush(*ends_, to_job(target), gets_alone);
    checker_->end_buffers(number(), target);
  }
  [[nodiscard]] rank_t to_job(rank_t r) const noexcept { return in_job_[static_cast<std::size_t>(r)]; }
  /// Names the buffers of this window; it stays when the segment moves.
  [[nodiscard]] void const* number() const noexcept { return in_job_.data(); }
  [[nodiscard]] kind of_element(kind other) const noexcept {
    return now_ == called::accumulate ? kind::accumulate : other;
  }
  void check(kind what, location at, std::size_t bytes, std::uint32_t where) {
    checker_->access(what,
                     {.window = window_,
                      .owner = at.rank,
                      .owner_in_job = to_job(at.rank),
                      .first = at.offset,
                      .element_bytes = element_bytes_,
                      .ends = ends_.get()},
                     places_.of(at), bytes, where);
  }

  std::shared_ptr<checking::checker<Rules>> checker_;
  std::vector<rank_t> in_job_;
  shadow_places places_;
  std::shared_ptr<checking::completions> ends_;
  std::string window_ = "memory of the library";
  std::size_t element_bytes_ = 0;
  called now_ = called::own;  ///< the program's access
};

/// The type of memory that a checked backend's ranks allocated themselves; void if the inner backend cannot
/// access it.
template <class Inner, class Rules>
struct checked_user_memory {
  using segment_type = void;
};
template <user_memory_backend Inner, class Rules>
struct checked_user_memory<Inner, Rules> {
  using segment_type = checked_user_segment<typename Inner::user_segment_type, Rules>;
};

}  // namespace PGAS_NAMESPACE::detail
