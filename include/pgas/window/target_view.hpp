// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/recorder.hpp>
#include <pgas/vocabulary/own_part.hpp>
#include <pgas/vocabulary/rows_of.hpp>
#include <pgas/window/element_operations.hpp>
#include <span>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS {

template <class State, hints Hints>
class global_ref;

/// One rank's part of a window, open for access: what `epoch.to(rank)` gives.
///
/// The epoch's protocol has already let this rank in, so a typed `put` here is the store itself wherever
/// memory is shared: take an opened target before a loop. Valid until its epoch closes. Belongs to one thread; a copy
/// for another one is cheap.
/// All members are one-sided. Indices and counts are in elements of the target's part. Two accesses to one element in
/// one epoch, at least one of them a put, are a race, unless both are atomic (accumulate and the like).
/// A value put or get is complete at this rank when it returns; a bulk put's source may be reused, and
/// a bulk get's destination holds the data, after flush_local or close. At the target, puts are complete after
/// flush or close. All throw errc::out_of_range with rank, index and bound (single elements: at
/// assertion level normal; bulk: at light).
template <class State, hints Hints>
class target_view : detail::element_operations<State, Hints> {
  using base = detail::element_operations<State, Hints>;

 public:
  using typename base::value_type;

  target_view(State& state, rank_t target) : base(state, target), size_(state.part_size(target)) {}

  /// For an epoch's short forms: the handle goes with one access.
  [[nodiscard]] target_view for_one_access() const noexcept {
    target_view passing = *this;
    passing.forget_afterwards();
    return passing;
  }

  [[nodiscard]] rank_t rank() const noexcept { return rank_; }
  /// How many elements the part has.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Puts one element. Costs a store on shared memory, else a message. MPI_Put, shmem_p.
  void put(std::size_t i, value_type const& value) const {
    check_writes();
    check(normal_level, "put", i, 1);
    if constexpr (State::is_direct) {
      base_[i] = value;
    } else {
      put_bytes(i, std::as_bytes(std::span(&value, 1)));
    }
  }

  /// Puts values.size() elements from private memory at `first`. Costs a memcpy or a message. MPI_Put, shmem_put.
  void put(std::size_t first, std::span<value_type const> values) const {
    check_writes();
    check(light_level, "put", first, values.size());
    put_bytes(first, std::as_bytes(values));
  }

  /// Puts a piece of this rank's own part, an own_part, read as this rank sees it.
  ///
  /// A template, so that `put(i, {a, b})` is one element of two members.
  template <std::same_as<own_part> Piece>
  void put(std::size_t first, Piece from) const {
    check_writes();
    check(light_level, "put", first, from.count);
    check_own("put", from);
    with_own_copy(from, [&](std::span<value_type const> values) { put_bytes(first, std::as_bytes(values)); });
  }

  /// Puts rows of private memory, `from_pitch` elements apart, into a block of rows. MPI_Put with vector types.
  void put(rows_of at, value_type const* from, std::size_t from_pitch) const {
    check_writes();
    check(light_level, "put", at.first, at.reach());
    move_rows(at, from_pitch, [&](location where, std::size_t pitch, row_shape shape) {
      auto const* const bytes = reinterpret_cast<std::byte const*>(from);
      if constexpr (strided_segment<segment_type> && !cache_controlled<segment_type>) {
        state_->segment.put_rows(where, pitch, bytes, from_pitch * sizeof(value_type), shape);
      } else {
        for (std::size_t row = 0; row < shape.rows; ++row) {
          Coherence::put(state_->segment, {where.rank, where.offset + row * pitch},
                         {bytes + row * from_pitch * sizeof(value_type), shape.row_bytes});
        }
      }
    });
  }
  /// Puts values that lie without gaps into a block of rows, or into strided elements.
  void put(rows_of at, std::span<value_type const> values) const {
    check_count("put", values.size(), at.size());
    put(at, values.data(), at.cols);
  }

  /// Returns one element; blocks until it is here. A loop on it is a race: see atomic_load. MPI_Get, shmem_g.
  [[nodiscard]] value_type get(std::size_t i) const {
    check_reads();
    check(normal_level, "get", i, 1);
    if constexpr (State::is_direct) {
      return base_[i];
    } else {
      value_type value;
      get_bytes(i, std::as_writable_bytes(std::span(&value, 1)));
      state_->segment.flush_local(rank_);
      return value;
    }
  }

  /// Gets values.size() elements from `first` on into private memory. MPI_Get, shmem_get.
  void get(std::size_t first, std::span<value_type> values) const {
    check_reads();
    check(light_level, "get", first, values.size());
    get_bytes(first, std::as_writable_bytes(values));
  }

  /// Gets into a piece of this rank's own part, which then holds it as if this rank had stored it.
  template <std::same_as<own_part> Piece>
  void get(std::size_t first, Piece into) const {
    check_reads();
    check(light_level, "get", first, into.count);
    check_own("get", into);
    if (into.count == 0) return;
    if constexpr (local_segment<segment_type> && !cache_controlled<segment_type>) {
      get_bytes(first,
                state_->segment.local().subspan(into.first * sizeof(value_type), into.count * sizeof(value_type)));
    } else {
      std::vector<value_type> copy(into.count);
      get_bytes(first, std::as_writable_bytes(std::span(copy)));
      state_->segment.flush_local(rank_);
      Coherence::store(state_->segment, {state_->rank(), into.first * sizeof(value_type)},
                       std::as_bytes(std::span(copy)));
    }
  }

  /// Gets a block of rows into private rows, `into_pitch` elements apart.
  void get(rows_of at, value_type* into, std::size_t into_pitch) const {
    check_reads();
    check(light_level, "get", at.first, at.reach());
    move_rows(at, into_pitch, [&](location where, std::size_t pitch, row_shape shape) {
      auto* const bytes = reinterpret_cast<std::byte*>(into);
      if constexpr (strided_segment<segment_type> && !cache_controlled<segment_type>) {
        state_->segment.get_rows(where, pitch, bytes, into_pitch * sizeof(value_type), shape);
      } else {
        for (std::size_t row = 0; row < shape.rows; ++row) {
          get_at({where.rank, where.offset + row * pitch},
                 {bytes + row * into_pitch * sizeof(value_type), shape.row_bytes});
        }
      }
    });
  }
  /// Gets a block of rows, or strided elements, into values that lie without gaps.
  void get(rows_of at, std::span<value_type> values) const {
    check_count("get", values.size(), at.size());
    get(at, values.data(), at.cols);
  }

  /// Starts a put and returns its request; the source may be reused once that is done. MPI_Rput.
  [[nodiscard]] auto rput(std::size_t first, std::span<value_type const> values) const {
    check_writes();
    check(light_level, "rput", first, values.size());
    if constexpr (State::is_direct) {
      put_bytes(first, std::as_bytes(values));
      return done{};
    } else {
      return state_->segment.rput(location_of(first), std::as_bytes(values));
    }
  }
  /// Starts a get and returns its request; the data are here once that is done. MPI_Rget.
  [[nodiscard]] auto rget(std::size_t first, std::span<value_type> values) const {
    check_reads();
    check(light_level, "rget", first, values.size());
    if constexpr (State::is_direct) {
      get_bytes(first, std::as_writable_bytes(values));
      return done{};
    } else if constexpr (cache_controlled<segment_type>) {
      get(first, values);
      state_->segment.flush_local(rank_);  // a policy may get past the copies, and then the bytes may be under way
      return done{};
    } else {
      return state_->segment.rget(location_of(first), std::as_writable_bytes(values));
    }
  }

  /// Combines `value` into element i: element = op(element, value), in one indivisible step. MPI_Accumulate.
  template <operation_on<value_type> Op = op::sum>
  void accumulate(std::size_t i, value_type const& value, Op op = {}) const {
    static_cast<void>(modify_checked("accumulate", i, value, op));
  }
  /// Combines each value into its element; each element in one indivisible step, not all of them in one.
  /// On shared memory costs a vector loop under a lock, or an atomic operation an element while other ranks' epochs
  /// modify single elements of the part.
  template <operation_on<value_type> Op = op::sum>
  void accumulate(std::size_t first, std::span<value_type const> values, Op op = {}) const {
    modify_all_checked("accumulate", first, values, nullptr, op);
  }
  /// Like accumulate, and returns what was there before. MPI_Get_accumulate.
  template <operation_on<value_type> Op = op::sum>
  [[nodiscard]] value_type get_accumulate(std::size_t i, value_type const& value, Op op = {}) const {
    return modify_checked("get_accumulate", i, value, op);
  }
  /// Like accumulate, and leaves what was there before in `before`.
  template <operation_on<value_type> Op = op::sum>
  void get_accumulate(std::size_t first, std::span<value_type const> values, std::span<value_type> before,
                      Op op = {}) const {
    check_count("get_accumulate", before.size(), values.size());
    modify_all_checked("get_accumulate", first, values, before.data(), op);
  }

  /// Adds to element i and returns what it was. MPI_Fetch_and_op, shmem_atomic_fetch_add.
  [[nodiscard]] value_type fetch_add(std::size_t i, value_type const& value) const
    requires operation_on<op::sum, value_type>
  {
    return modify_checked("fetch_add", i, value, op::sum{});
  }
  /// Replaces element i and returns what it was. MPI_Fetch_and_op with MPI_REPLACE, shmem_atomic_swap.
  [[nodiscard]] value_type exchange(std::size_t i, value_type const& value) const {
    return modify_checked("exchange", i, value, op::replace{});
  }
  /// Replaces element i by `desired` if it has the bytes of `expected`, else copies it to `expected`; true
  /// if it replaced. MPI_Compare_and_swap.
  [[nodiscard]] bool compare_exchange(std::size_t i, value_type& expected, value_type const& desired) const {
    check_writes();
    check(normal_level, "compare_exchange", i, 1);
    [[maybe_unused]] auto const span = modifies("compare_exchange", 1);
    value_type const found = base::exchange_if_equal(i, expected, desired);
    bool const replaced = base::same_bytes(found, expected);
    if (!replaced) expected = found;
    return replaced;
  }
  /// Returns element i, indivisibly against the atomic operations above, with acquire order: may be looped on.
  [[nodiscard]] value_type atomic_load(std::size_t i) const {
    check_reads();
    check(normal_level, "atomic_load", i, 1);
    [[maybe_unused]] auto const span = modifies("atomic_load", 1);
    return base::read(i);
  }
  /// Replaces element i, indivisibly, with release order.
  void atomic_store(std::size_t i, value_type const& value) const {
    check_writes();
    check(normal_level, "atomic_store", i, 1);
    [[maybe_unused]] auto const span = modifies("atomic_store", 1);
    base::write(i, value);
  }

  /// A reference to element i: load and store are spelled out, since they may be messages.
  [[nodiscard]] global_ref<State, Hints> ref(std::size_t i) const {
    check(normal_level, "ref", i, 1);
    return global_ref<State, Hints>(for_one_access(), i);
  }
  [[nodiscard]] global_ref<State, Hints> operator[](std::size_t i) const { return ref(i); }

  /// Returns when all this rank has put here has arrived, and what it gets from here on is no older than now.
  /// MPI_Win_flush.
  void flush() const {
    typename State::template boundary_type<boundary_of::remote, Hints> b(state_->segment);
    rank_t const target = rank_;  // a local: through `this` the compiler keeps a test of the group's end in a loop
    b.publish(group(&target, 1));
    b.refresh(group(&target, 1));
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  /// Returns when sources of bulk puts may be reused and destinations of bulk gets hold the data. MPI_Win_flush_local.
  void flush_local() const {
    state_->segment.flush_local(rank_);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }

 private:
  using base::base_;
  using base::location_of;
  using base::rank_;
  using base::state_;
  using typename base::Coherence;
  using typename base::segment_type;
  static constexpr auto normal_level = assertion_level::normal;
  static constexpr auto light_level = assertion_level::light;

  static constexpr void check_writes() noexcept {
    static_assert(!Hints.read_only,
                  "put: this epoch was opened read_only; open it without that hint to put, accumulate or store");
  }
  static constexpr void check_reads() noexcept {
    static_assert(!Hints.write_only, "get: this epoch was opened write_only; open it without that hint to get or load");
  }

  void check(assertion_level level, std::string_view operation, std::size_t first, std::size_t count) const {
    if (assertions >= level && !detail::fits(first, count, size_)) [[unlikely]] {
      detail::throw_out_of_range(state_->job_rank(), operation, rank_, first, count, size_);
    }
  }
  void check_own(std::string_view operation, own_part part) const {
    PGAS_EXPECTS(light, detail::fits(part.first, part.count, state_->size),
                 detail::throw_out_of_range(state_->job_rank(), operation, state_->rank(), part.first, part.count,
                                            state_->size));
  }
  void check_count(std::string_view operation, std::size_t given, std::size_t needed) const {
    PGAS_EXPECTS(light, given == needed,
                 throw error(errc::invalid_argument, state_->job_rank(), operation,
                             std::to_string(given) + " values given for " + std::to_string(needed) + " elements"));
  }

  void put_bytes(std::size_t first, bytes_in bytes) const {
    if constexpr (State::is_direct) {
      state_->copy_out(reinterpret_cast<std::byte*>(base_ + first), bytes.data(), bytes.size());
    } else if (!bytes.empty()) {
      Coherence::put(state_->segment, location_of(first), bytes);
    }
  }
  void get_bytes(std::size_t first, bytes_out bytes) const {
    if constexpr (State::is_direct) {
      state_->copy_in(bytes.data(), reinterpret_cast<std::byte const*>(base_ + first), bytes.size());
    } else if (!bytes.empty()) {
      get_at(location_of(first), bytes);
    }
  }
  void get_at(location where, bytes_out bytes) const {
    if constexpr (Hints.passive) {
      Coherence::get_now(state_->segment, where, bytes);
    } else {
      Coherence::get(state_->segment, where, bytes);
    }
  }

  template <class Move>
  void move_rows(rows_of block, std::size_t private_pitch, Move&& move) const {
    PGAS_EXPECTS(light, block.rows < 2 || (block.pitch >= block.cols && private_pitch >= block.cols),
                 detail::throw_error(errc::invalid_argument, state_->job_rank(), "put or get of rows",
                                     "rows overlap: a pitch is less than the length of a row"));
    if (block.size() == 0) return;
    move(location_of(block.first), block.pitch * sizeof(value_type),
         row_shape{.rows = block.rows, .row_bytes = block.cols * sizeof(value_type)});
  }

  template <class Use>
  void with_own_copy(own_part from, Use&& use) const {
    if constexpr (local_segment<segment_type> && !cache_controlled<segment_type>) {
      auto const* own = reinterpret_cast<value_type const*>(state_->segment.local().data());
      use(std::span<value_type const>(own + from.first, from.count));
    } else {
      std::vector<value_type> copy(from.count);
      if (from.count != 0) {
        Coherence::load(state_->segment, {state_->rank(), from.first * sizeof(value_type)},
                        std::as_writable_bytes(std::span(copy)));
      }
      use(std::span<value_type const>(copy));
    }
  }

  /// A span of a trace: how elements are modified is many calls, or none.
  [[nodiscard]] auto modifies(std::string_view operation, std::size_t count) const {
    return detail::begin_span(state_->control, span_kind::transfer, operation, group(&rank_, 1),
                              count * sizeof(value_type));
  }
  template <class Op>
  value_type modify_checked(std::string_view operation, std::size_t i, value_type const& value, Op op) const {
    check_writes();
    check(normal_level, operation, i, 1);
    [[maybe_unused]] auto const span = modifies(operation, 1);
    return base::modify(i, value, op);
  }
  template <class Op>
  void modify_all_checked(std::string_view operation, std::size_t first, std::span<value_type const> values,
                          value_type* before, Op op) const {
    check_writes();
    check(light_level, operation, first, values.size());
    [[maybe_unused]] auto const span = modifies(operation, values.size());
    base::modify_all(first, values, before, op);
  }

  std::size_t size_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS
