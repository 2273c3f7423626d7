// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <pgas/detail/backends/loopback/agent.hpp>
#include <pgas/detail/elements/atomic_element.hpp>
#include <pgas/detail/job/ranks.hpp>
#include <tuple>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail::loopback {

/// A question about payload that is under way, and the destination of the answer's rows.
///
/// The rank itself copies the rows when it asks for them. Its agent never writes to memory that an exception
/// may have freed.
class transfer {
 public:
  transfer(std::shared_ptr<reply> expected, rank_t owner, std::string_view operation,
           std::byte* into = nullptr, std::size_t pitch = 0, row_shape shape = {})
      : expected_(std::move(expected)),
        owner_(owner),
        operation_(operation),
        into_(into),
        pitch_(pitch),
        shape_(shape) {}

  [[nodiscard]] bool has_arrived() const noexcept { return !expected_ || agent::has_arrived(*expected_); }

  /// Waits for the answer and copies its rows to their destination. Later calls do nothing.
  void finish(agent const& mine) {
    if (!expected_) return;
    mine.check(operation_);  // after a failure the destination may be gone
    mine.await([&] { return has_arrived(); }, operation_);
    auto const answer = std::exchange(expected_, nullptr);  // a refusal, too, is reported only once
    mine.answer_to(*answer, owner_, operation_);
    copy_rows(into_, pitch_, answer->body().data(), shape_.row_bytes, shape_);
  }

 private:
  std::shared_ptr<reply> expected_;  ///< none: finished
  rank_t owner_;
  std::string_view operation_;
  std::byte* into_;
  std::size_t pitch_;
  row_shape shape_;
};

/// The request of an rput or rget: some transfers. An rput is done when its bytes have arrived at the target.
class transfer_request {
 public:
  transfer_request() = default;
  transfer_request(std::shared_ptr<agent> mine, std::vector<std::shared_ptr<transfer>> parts)
      : agent_(std::move(mine)), parts_(std::move(parts)) {}

  /// True if the request is done. Never blocks; throws if the job has failed.
  [[nodiscard]] bool test() {
    for (auto const& part : parts_) {
      if (part->has_arrived()) continue;
      agent_->check("test");
      return false;
    }
    wait();
    return true;
  }
  void wait() {
    for (auto const& part : parts_) part->finish(*agent_);
    parts_.clear();
  }

 private:
  std::shared_ptr<agent> agent_;
  std::vector<std::shared_ptr<transfer>> parts_;
};
static_assert(request<transfer_request>);

}  // namespace PGAS_NAMESPACE::detail::loopback

namespace PGAS_NAMESPACE::detail {

/// Payload that only its owner can reach: every access to another rank's part is a message to that rank's
/// agent.
///
/// A put copies its bytes at once and sends them in pieces; it waits while too many bytes are under way. The
/// bytes of a get reach the rank's agent first. A flush, test or wait then copies them to their destination.
/// Memory: the part, one bit for each rank, and the sizes of the parts that this rank has asked for.
class message_segment {
 public:
  using request_type = loopback::transfer_request;

  template <class T>
  static constexpr bool is_atomic = is_native_element<T>;

  message_segment(std::shared_ptr<loopback::agent> a, loopback::memory_id id, std::size_t own_bytes,
                  team_ranks ranks)
      : message_segment(std::move(a), id, std::make_shared<loopback::part>(own_bytes), std::move(ranks)) {}
  /// Wraps memory that this rank already has; its agent accesses that memory for other ranks.
  message_segment(std::shared_ptr<loopback::agent> a, loopback::memory_id id, bytes_out own, team_ranks ranks)
      : message_segment(std::move(a), id, std::make_shared<loopback::part>(own), std::move(ranks)) {}

  [[nodiscard]] rank_t rank() const noexcept { return ranks_.self(); }
  [[nodiscard]] rank_t size() const noexcept { return ranks_.size(); }
  [[nodiscard]] bytes_out local() const noexcept { return {own_->data(), own_->size()}; }

  /// Returns the size of a part; asks its owner the first time.
  [[nodiscard]] std::size_t part_bytes(rank_t rank) const {
    if (is_own(rank)) return own_->size();
    if (auto const known = sizes_.find(rank); known != sizes_.end()) return known->second;
    std::size_t const bytes = ask_now(message_for(kind::part_size, {rank, 0}), rank, "part_bytes").value;
    sizes_.emplace(rank, bytes);
    return bytes;
  }

  void put(location at, bytes_in from) { put_rows(at, 0, from.data(), 0, {1, from.size()}); }
  void get(location at, bytes_out into) { get_rows(at, 0, into.data(), 0, {1, into.size()}); }

  void put_rows(location at, std::size_t pitch, std::byte const* from, std::size_t from_pitch,
                row_shape shape) {
    if (is_own(at.rank)) return loopback::copy_rows(own_->data() + at.offset, pitch, from, from_pitch, shape);
    in_pieces(shape, [&](std::size_t row, std::size_t skip, row_shape piece) {
      auto m = message_for(kind::put, {at.rank, at.offset + row * pitch + skip}, pitch, piece);
      agent().tell(world(at.rank), m, from + row * from_pitch + skip, from_pitch, piece);
    });
    is_unflushed_[index(at.rank)] = true;
  }
  void get_rows(location at, std::size_t pitch, std::byte* into, std::size_t into_pitch, row_shape shape) {
    if (is_own(at.rank)) return loopback::copy_rows(into, into_pitch, own_->data() + at.offset, pitch, shape);
    std::ignore = start_get(at, pitch, into, into_pitch, shape, "get");
  }

  [[nodiscard]] request_type rput(location at, bytes_in from) {
    return rput_rows(at, 0, from.data(), 0, {1, from.size()});
  }
  [[nodiscard]] request_type rget(location at, bytes_out into) {
    return rget_rows(at, 0, into.data(), 0, {1, into.size()});
  }
  [[nodiscard]] request_type rput_rows(location at, std::size_t pitch, std::byte const* from,
                                       std::size_t from_pitch, row_shape shape) {
    put_rows(at, pitch, from, from_pitch, shape);
    if (is_own(at.rank) || shape.rows * shape.row_bytes == 0) return {};
    return {held_.shared_owner(),
            {std::make_shared<loopback::transfer>(ask_flush(at.rank), world(at.rank), "rput")}};
  }
  [[nodiscard]] request_type rget_rows(location at, std::size_t pitch, std::byte* into,
                                       std::size_t into_pitch, row_shape shape) {
    if (is_own(at.rank)) return get_rows(at, pitch, into, into_pitch, shape), request_type{};
    return {held_.shared_owner(), start_get(at, pitch, into, into_pitch, shape, "rget")};
  }

  /// Waits until rank `rank` has acknowledged this rank's puts to this segment.
  void flush(rank_t rank) {
    if (is_unflushed_[index(rank)]) {
      auto const expected = ask_flush(rank);
      is_unflushed_[index(rank)] = false;
      agent().answer_to(*expected, world(rank), "flush");
    }
    finish_flush(rank);
    flush_local(rank);
  }
  /// Asks for the acknowledgement for which `flush` waits. Later puts need another one.
  [[nodiscard]] request_type rflush(rank_t rank) {
    if (is_unflushed_[index(rank)]) {
      flushes_[rank] = std::make_shared<loopback::transfer>(ask_flush(rank), world(rank), "flush");
      is_unflushed_[index(rank)] = false;
    }
    auto const found = flushes_.find(rank);
    if (found == flushes_.end()) return {};
    return {held_.shared_owner(), {found->second}};
  }
  void flush_all() {
    std::vector<std::pair<rank_t, std::shared_ptr<loopback::reply>>> asked;
    for (rank_t rank = 0; rank < size(); ++rank) {
      if (is_unflushed_[index(rank)]) asked.emplace_back(rank, ask_flush(rank));
      is_unflushed_[index(rank)] = false;
    }
    for (auto const& [rank, expected] : asked) agent().answer_to(*expected, world(rank), "flush");
    while (!flushes_.empty()) finish_flush(flushes_.begin()->first);
    flush_local_all();
  }
  void flush_local(rank_t rank) {
    if (gets_.empty()) return;
    if (auto const found = gets_.find(rank); found != gets_.end()) {
      finish(found->second);
      gets_.erase(found);
    }
  }
  void flush_local_all() {
    for (auto& [rank, open] : gets_) finish(open);
    gets_.clear();
  }

  template <class T, class Op>
  T fetch_op(location at, T value, Op op) {
    if (is_own(at.rank)) return settled(at.rank), atomic_element<T>(element<T>(at)).fetch_op(value, op);
    auto m = message_for(kind::element_modify, at);
    m.op = Op::kind;
    return on_element<T>(m, at.rank, value, {}, "fetch_op");
  }
  /// Replaces the element by `desired` if its bytes equal those of `expected`; returns the old element.
  template <class T>
  T compare_exchange(location at, T expected, T desired) {
    if (is_own(at.rank))
      return settled(at.rank), atomic_element<T>(element<T>(at)).compare_exchange(expected, desired);
    return on_element<T>(message_for(kind::element_compare, at), at.rank, desired, expected,
                         "compare_exchange");
  }
  template <class T>
  T atomic_load(location at) {
    if (is_own(at.rank)) return atomic_element<T>(element<T>(at)).load();
    return on_element<T>(message_for(kind::element_load, at), at.rank, {}, {}, "atomic_load");
  }
  template <class T>
  void atomic_store(location at, T value) {
    if (is_own(at.rank)) return settled(at.rank), atomic_element<T>(element<T>(at)).store(value);
    on_element<T>(message_for(kind::element_store, at), at.rank, value, {}, "atomic_store");
  }

 private:
  using kind = loopback::message_kind;
  using queue = std::deque<std::shared_ptr<loopback::transfer>>;

  /// The most bytes of a put or get in one message, so that other messages can come between two pieces.
  static constexpr std::size_t piece_bytes = std::size_t{1} << 20U;

  message_segment(std::shared_ptr<loopback::agent> a, loopback::memory_id id,
                  std::shared_ptr<loopback::part> own, team_ranks ranks)
      : held_(std::move(a), id, own),
        ranks_(std::move(ranks)),
        own_(std::move(own)),
        is_unflushed_(static_cast<std::size_t>(ranks_.size())) {}

  static std::size_t index(rank_t rank) noexcept { return static_cast<std::size_t>(rank); }
  [[nodiscard]] bool is_own(rank_t rank) const noexcept { return rank == ranks_.self(); }
  [[nodiscard]] rank_t world(rank_t rank) const noexcept { return ranks_.to_world(rank); }
  [[nodiscard]] loopback::agent& agent() const noexcept { return held_.owner(); }
  template <class T>
  [[nodiscard]] T& element(location at) const noexcept {
    return *reinterpret_cast<T*>(own_->data() + at.offset);
  }

  [[nodiscard]] loopback::message message_for(kind what, location at, std::size_t pitch = 0,
                                              row_shape shape = {}) const noexcept {
    loopback::message m;
    m.kind = what;
    m.memory = held_.id();
    m.offset = at.offset;
    m.rows = shape.rows;
    m.row_bytes = shape.row_bytes;
    m.pitch = pitch;
    return m;
  }
  loopback::message ask_now(loopback::message const& m, rank_t rank, std::string_view operation) const {
    return agent().ask_now(world(rank), m, operation);
  }
  [[nodiscard]] std::shared_ptr<loopback::reply> ask_flush(rank_t rank) const {
    return agent().ask(world(rank), message_for(kind::flush, {rank, 0}));
  }

  /// Completes this rank's messages to other ranks before its next access to an element at `rank`.
  void settled(rank_t rank) const { agent().settle("atomic access", world(rank)); }

  template <class T>
  T on_element(loopback::message m, rank_t rank, T value, T expected, std::string_view operation) const {
    if (m.kind != kind::element_load) settled(rank);
    m.element = element_kind_of<T>();
    m.value = to_bits(value);
    m.expected = to_bits(expected);
    return from_bits<T>(ask_now(m, rank, operation).value);
  }

  /// Calls use(first row, bytes of the row to skip, shape) for pieces of a bounded size.
  template <class Use>
  static void in_pieces(row_shape shape, Use&& use) {
    if (shape.rows == 0 || shape.row_bytes == 0) return;
    std::size_t const rows = std::max<std::size_t>(piece_bytes / shape.row_bytes, 1);
    for (std::size_t row = 0; row < shape.rows; row += rows) {
      row_shape const piece{std::min(rows, shape.rows - row), shape.row_bytes};
      for (std::size_t skip = 0; skip < shape.row_bytes; skip += piece_bytes) {
        use(row, skip, row_shape{piece.rows, std::min(piece_bytes, shape.row_bytes - skip)});
      }
    }
  }

  std::vector<std::shared_ptr<loopback::transfer>> start_get(location at, std::size_t pitch, std::byte* into,
                                                             std::size_t into_pitch, row_shape shape,
                                                             std::string_view operation) {
    std::vector<std::shared_ptr<loopback::transfer>> started;
    in_pieces(shape, [&](std::size_t row, std::size_t skip, row_shape piece) {
      auto const m = message_for(kind::get, {at.rank, at.offset + row * pitch + skip}, pitch, piece);
      queue& open = gets_[at.rank];
      while (!open.empty() &&
             open.front()->has_arrived()) {  // a finished get would keep its bytes until the flush
        open.front()->finish(agent());
        open.pop_front();
      }
      open.push_back(std::make_shared<loopback::transfer>(agent().ask(world(at.rank), m), world(at.rank),
                                                          operation, into + row * into_pitch + skip,
                                                          into_pitch, piece));
      started.push_back(open.back());
    });
    return started;
  }
  /// Waits for a flush that was started. A later one of the same rank is acknowledged after it.
  void finish_flush(rank_t rank) {
    auto const found = flushes_.find(rank);
    if (found == flushes_.end()) return;
    auto const started = std::move(found->second);
    flushes_.erase(found);
    started->finish(agent());
  }
  void finish(queue& open) {
    for (; !open.empty(); open.pop_front()) open.front()->finish(agent());
  }

  loopback::held_memory held_;
  team_ranks ranks_;
  std::shared_ptr<loopback::part> own_;
  std::vector<bool> is_unflushed_;  ///< the ranks to which this one has put since it last flushed them
  std::map<rank_t, std::shared_ptr<loopback::transfer>> flushes_;  ///< the last that was started, if any
  std::map<rank_t, queue> gets_;
  mutable std::map<rank_t, std::size_t> sizes_;
};
static_assert(local_segment<message_segment> && !shared_segment<message_segment> &&
              strided_segment<message_segment> && started_flush_segment<message_segment>);
static_assert(atomic_segment<message_segment, double, op::sum> &&
              atomic_segment<message_segment, char, op::bit_xor>);

}  // namespace PGAS_NAMESPACE::detail
