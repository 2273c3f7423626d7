// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <memory>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/backends/cluster/wire.hpp>
#include <pgas/detail/control/target_list.hpp>
#include <pgas/detail/job/ranks.hpp>
#include <pgas/vocabulary/request.hpp>
#include <utility>

namespace PGAS_NAMESPACE::detail::cluster {

/// The request of an rput or rget. A transfer on this node is over at once. The destructor waits for another,
/// since MPI uses private memory until then.
class transfer_request {
 public:
  transfer_request() = default;
  transfer_request(std::shared_ptr<wire> w, std::shared_ptr<transfer> of, rank_t target) noexcept
      : wire_(std::move(w)), of_(std::move(of)), target_(target) {}
  transfer_request(transfer_request&&) noexcept = default;
  transfer_request& operator=(transfer_request&& other) noexcept {
    std::swap(wire_, other.wire_);
    std::swap(of_, other.of_);
    std::swap(target_, other.target_);
    return *this;
  }
  ~transfer_request() {
    if (of_ && of_->open != 0) {
      wire_->start(target_);
      wire_->outlast(*of_);
    }
  }

  /// Returns whether the transfer is complete at this rank. Never blocks; throws if the job has failed.
  [[nodiscard]] bool test() {
    if (!of_ || of_->open == 0) return true;
    wire_->start(target_);
    wire_->poll();
    wire_->owner().of_job().check("test");
    return of_->open == 0;
  }
  /// Returns when it is complete at this rank.
  void wait() {
    if (test()) return;
    wire_->await_transfer(*of_, target_, "wait");
  }

 private:
  std::shared_ptr<wire> wire_;
  std::shared_ptr<transfer> of_;
  rank_t target_ = -1;  ///< its number in the job
};
static_assert(request<transfer_request>);

/// The parts of a segment that only messages reach. `at.rank` is a number in the team, and never this rank's.
class far_parts {
 public:
  /// `home` is the number of the segment in all ranks' `homes`.
  far_parts(std::shared_ptr<wire> w, std::uint64_t home, team_ranks ranks) noexcept
      : wire_(std::move(w)), home_(home), ranks_(std::move(ranks)) {}

  void put(location at, bytes_in from) {
    if (from.empty()) return;
    under_way_.insert(at.rank);
    wire_->put(world(at), home_, at.offset, from);
  }
  void get(location at, bytes_out into) { static_cast<void>(start_get(at, into)); }
  [[nodiscard]] transfer_request rput(location at, bytes_in from) {
    if (from.empty()) return {};
    under_way_.insert(at.rank);
    auto const all = wire_->new_transfer();
    wire_->start_put(all, world(at), home_, at.offset, from);
    return {wire_, all, world(at)};
  }
  [[nodiscard]] transfer_request rget(location at, bytes_out into) {
    if (into.empty()) return {};
    return {wire_, start_get(at, into), world(at)};
  }

  void put_rows(location at, std::size_t pitch, std::byte const* from, std::size_t from_pitch,
                row_shape shape) {
    in_pieces(shape, [&](std::size_t row, row_shape piece) {
      location const there{at.rank, at.offset + row * pitch};
      std::byte const* const first = from + row * from_pitch;
      if (piece.rows == 1) return put(there, {first, piece.row_bytes});
      under_way_.insert(at.rank);
      wire_->put_rows(world(at), home_, there.offset, pitch, first, from_pitch, piece);
    });
  }
  void get_rows(location at, std::size_t pitch, std::byte* into, std::size_t into_pitch, row_shape shape) {
    static_cast<void>(start_get_rows(at, pitch, into, into_pitch, shape));
  }
  [[nodiscard]] transfer_request rput_rows(location at, std::size_t pitch, std::byte const* from,
                                           std::size_t from_pitch, row_shape shape) {
    return put_rows(at, pitch, from, from_pitch, shape), transfer_request{};
  }
  [[nodiscard]] transfer_request rget_rows(location at, std::size_t pitch, std::byte* into,
                                           std::size_t into_pitch, row_shape shape) {
    return {wire_, start_get_rows(at, pitch, into, into_pitch, shape), world(at)};
  }

  void flush(rank_t target) {
    if (!under_way_.contains(target)) return;
    or_abandon([&] { wire_->flush(ranks_.to_world(target)); });
    under_way_.erase(target);
  }
  /// All targets work at the same time.
  void flush_all() {
    or_abandon([&] {
      for (rank_t const target : under_way_.all()) wire_->begin_flush(ranks_.to_world(target));
      for (rank_t const target : under_way_.all()) wire_->flush(ranks_.to_world(target));
    });
    under_way_.clear();
  }
  void flush_local(rank_t target) {
    if (under_way_.contains(target)) or_abandon([&] { wire_->flush_local(ranks_.to_world(target)); });
  }
  void flush_local_all() {
    or_abandon([&] {
      for (rank_t const target : under_way_.all()) wire_->start(ranks_.to_world(target));
      for (rank_t const target : under_way_.all()) wire_->flush_local(ranks_.to_world(target));
    });
  }
  void abandon() noexcept {
    for (rank_t const target : under_way_.all()) wire_->outlast_answers(ranks_.to_world(target));
  }

  template <class T, class Op>
  T fetch_op(location at, T value, Op) const {
    return ask<T>({.what = action::element_modify, .op = Op::kind, .value = to_bits(value)}, at);
  }
  template <class T, class Op>
  void combine(location at, std::span<T const> values, Op) {
    under_way_.insert(at.rank);
    constexpr std::size_t most = longest_body / sizeof(T);
    for (std::size_t first = 0; first < values.size(); first += most) {
      wire_->combine(world(at),
                     {.what = action::element_combine,
                      .element = element_kind_of<T>(),
                      .op = Op::kind,
                      .home = home_,
                      .offset = at.offset + first * sizeof(T)},
                     std::as_bytes(values.subspan(first, std::min(values.size() - first, most))));
    }
  }
  template <class T>
  T compare_exchange(location at, T expected, T desired) const {
    std::uint64_t const bits = to_bits(expected);
    return ask<T>({.what = action::element_compare, .value = to_bits(desired)}, at,
                  std::as_bytes(std::span(&bits, 1)));
  }
  template <class T>
  T atomic_load(location at) const {
    return ask<T>({.what = action::element_load}, at);
  }
  template <class T>
  void atomic_store(location at, T value) const {
    ask<T>({.what = action::element_store, .value = to_bits(value)}, at);
  }

 private:
  [[nodiscard]] rank_t world(location at) const noexcept { return ranks_.to_world(at.rank); }

  std::shared_ptr<transfer> start_get(location at, bytes_out into) {
    auto all = wire_->new_transfer();
    if (into.empty()) return all;
    under_way_.insert(at.rank);
    wire_->get(all, world(at), home_, at.offset, into);
    return all;
  }
  std::shared_ptr<transfer> start_get_rows(location at, std::size_t pitch, std::byte* into,
                                           std::size_t into_pitch, row_shape shape) {
    auto all = wire_->new_transfer();
    in_pieces(shape, [&](std::size_t row, row_shape piece) {
      under_way_.insert(at.rank);
      std::size_t const offset = at.offset + row * pitch;
      std::byte* const first = into + row * into_pitch;
      if (piece.rows == 1) return wire_->get(all, world(at), home_, offset, {first, piece.row_bytes});
      wire_->get_rows(all, world(at), home_, offset, pitch, first, into_pitch, piece);
    });
    return all;
  }
  /// If an exception ends the wait, the memory to which answers would go is gone, too.
  template <class Wait>
  void or_abandon(Wait&& wait) {
    try {
      wait();
    } catch (...) {
      abandon();
      throw;
    }
  }
  /// Calls move(first row, shape) for as many rows at a time as a packet holds.
  template <class Move>
  static void in_pieces(row_shape shape, Move&& move) {
    if (shape.row_bytes == 0) return;
    std::size_t const rows = std::max<std::size_t>(longest_body / shape.row_bytes, 1);
    for (std::size_t row = 0; row < shape.rows; row += rows)
      move(row, row_shape{std::min(rows, shape.rows - row), shape.row_bytes});
  }

  template <class T>
  T ask(request_head head, location at, bytes_in body = {}) const {
    head.element = element_kind_of<T>();
    head.home = home_;
    head.offset = at.offset;
    return from_bits<T>(wire_->ask(world(at), head, body, "atomic operation"));
  }

  std::shared_ptr<wire> wire_;
  std::uint64_t home_;
  team_ranks ranks_;
  target_list under_way_;  ///< the targets of transfers that may be under way
};

}  // namespace PGAS_NAMESPACE::detail::cluster
