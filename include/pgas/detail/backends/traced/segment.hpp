// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/protocol.hpp>
#include <pgas/concepts/recorder.hpp>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/backends/traced/recorder.hpp>

namespace PGAS_NAMESPACE::detail {

/// Control words of another backend. Their waits are spans of a trace, and so are the library's spans on
/// them.
template <control Inner>
class traced_control : public Inner {
 public:
  traced_control(Inner inner, span_source source) : Inner(std::move(inner)), source_(std::move(source)) {}

  [[nodiscard]] recorded_span begin_span(span_kind what, std::string_view operation, group ranks,
                                         std::size_t bytes) const {
    return source_.begin(what, operation, ranks, bytes);
  }

  template <class Word, std::predicate<word> Predicate>
  word wait_until(Word w, Predicate&& predicate, waiting_for const& why) const {
    auto const span = waits(why);
    return Inner::wait_until(w, std::forward<Predicate>(predicate), why);
  }
  template <class Word, std::predicate<word> Predicate>
  std::size_t wait_any(std::span<Word> words, Predicate&& predicate, waiting_for const& why) const {
    auto const span = waits(why);
    return Inner::wait_any(words, std::forward<Predicate>(predicate), why);
  }
  void pause(unsigned attempt, waiting_for const& why) const {
    auto const span = waits(why);
    Inner::pause(attempt, why);
  }

 private:
  [[nodiscard]] recorded_span waits(waiting_for const& why) const {
    return source_.begin(span_kind::wait, why.operation, why.awaited, 0);
  }

  span_source source_;
};
static_assert(recording_control<traced_control<control_archetype>>);

/// Memory of another backend. Its transfers and cache operations are spans of a trace. A rank's loads and
/// stores in its own part are not.
template <segment Inner>
class traced_segment : public Inner {
 public:
  traced_segment(Inner inner, span_source source) : Inner(std::move(inner)), source_(std::move(source)) {}

  /// Deleted, since a put would be a store and leave no span.
  void part(rank_t) const = delete;
  void part_if_near(rank_t) const = delete;

  void put(location at, bytes_in from) {
    auto const span = transfers("put", at, from.size());
    Inner::put(at, from);
  }
  void get(location at, bytes_out into) {
    auto const span = transfers("get", at, into.size());
    Inner::get(at, into);
  }
  auto rput(location at, bytes_in from) {
    auto const span = transfers("rput", at, from.size());
    return Inner::rput(at, from);
  }
  auto rget(location at, bytes_out into) {
    auto const span = transfers("rget", at, into.size());
    return Inner::rget(at, into);
  }
  void put_rows(location at, std::size_t pitch, std::byte const* from, std::size_t from_pitch,
                row_shape shape)
    requires strided_segment<Inner>
  {
    auto const span = transfers("put", at, shape.rows * shape.row_bytes);
    Inner::put_rows(at, pitch, from, from_pitch, shape);
  }
  void get_rows(location at, std::size_t pitch, std::byte* into, std::size_t into_pitch, row_shape shape)
    requires strided_segment<Inner>
  {
    auto const span = transfers("get", at, shape.rows * shape.row_bytes);
    Inner::get_rows(at, pitch, into, into_pitch, shape);
  }

  auto rput_rows(location at, std::size_t pitch, std::byte const* from, std::size_t from_pitch,
                 row_shape shape)
    requires strided_request_segment<Inner>
  {
    auto const span = transfers("rput", at, shape.rows * shape.row_bytes);
    return Inner::rput_rows(at, pitch, from, from_pitch, shape);
  }
  auto rget_rows(location at, std::size_t pitch, std::byte* into, std::size_t into_pitch, row_shape shape)
    requires strided_request_segment<Inner>
  {
    auto const span = transfers("rget", at, shape.rows * shape.row_bytes);
    return Inner::rget_rows(at, pitch, into, into_pitch, shape);
  }

  void flush(rank_t target) {
    auto const span = flushes("flush", group(&target, 1));
    Inner::flush(target);
  }
  void flush_all() {
    auto const span = flushes("flush_all", {});
    Inner::flush_all();
  }
  void flush_local(rank_t target) {
    auto const span = flushes("flush_local", group(&target, 1));
    Inner::flush_local(target);
  }
  void flush_local_all() {
    auto const span = flushes("flush_local_all", {});
    Inner::flush_local_all();
  }

  // Operations of memory whose copies do not agree by themselves

  void load(location at, bytes_out into)
    requires cache_controlled<Inner>
  {
    auto const span = reaches("load", at, into.size());
    Inner::load(at, into);
  }
  void store(location at, bytes_in from)
    requires cache_controlled<Inner>
  {
    auto const span = reaches("store", at, from.size());
    Inner::store(at, from);
  }
  void clean(location at, std::size_t bytes)
    requires cache_controlled<Inner>
  {
    auto const span = maintains("clean", at, bytes);
    Inner::clean(at, bytes);
  }
  void drop(location at, std::size_t bytes)
    requires cache_controlled<Inner>
  {
    auto const span = maintains("drop", at, bytes);
    Inner::drop(at, bytes);
  }
  void drain_stores()
    requires cache_controlled<Inner>
  {
    auto const span = maintains("drain_stores");
    Inner::drain_stores();
  }
  void drain_all()
    requires cache_controlled<Inner>
  {
    auto const span = maintains("drain_all");
    Inner::drain_all();
  }
  void load_tagged(location at, bytes_out into)
    requires tagged_segment<Inner>
  {
    auto const span = reaches("load", at, into.size());
    Inner::load_tagged(at, into);
  }
  void store_through(location at, bytes_in from)
    requires tagged_segment<Inner>
  {
    auto const span = reaches("store", at, from.size());
    Inner::store_through(at, from);
  }
  void drop_tagged()
    requires tagged_segment<Inner>
  {
    auto const span = maintains("drop_tagged");
    Inner::drop_tagged();
  }
  void flush_copies()
    requires flushable_segment<Inner>
  {
    auto const span = maintains("flush_copies");
    Inner::flush_copies();
  }
  void put_and_drop(location at, bytes_in from)
    requires remote_drop_segment<Inner>
  {
    auto const span = transfers("put", at, from.size());
    Inner::put_and_drop(at, from);
  }

 private:
  [[nodiscard]] recorded_span transfers(std::string_view operation, location at, std::size_t bytes) const {
    return source_.begin(span_kind::transfer, operation, group(&at.rank, 1), bytes);
  }
  [[nodiscard]] recorded_span reaches(std::string_view operation, location at, std::size_t bytes) const {
    return at.rank == this->rank() ? recorded_span{} : transfers(operation, at, bytes);
  }
  [[nodiscard]] recorded_span maintains(std::string_view operation, location at, std::size_t bytes) const {
    return source_.begin(span_kind::memory, operation, group(&at.rank, 1), bytes);
  }
  [[nodiscard]] recorded_span maintains(std::string_view operation) const {
    return source_.begin(span_kind::memory, operation, {}, 0);
  }
  /// The span of a flush; none if puts are stores, which need no flush.
  [[nodiscard]] recorded_span flushes(std::string_view operation, group targets) const {
    if constexpr (shared_segment<Inner> && !cache_controlled<Inner>) {
      return {};
    } else {
      return source_.begin(span_kind::memory, operation, targets, 0);
    }
  }

  span_source source_;
};

}  // namespace PGAS_NAMESPACE::detail
