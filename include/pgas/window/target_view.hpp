// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/recorder.hpp>
#include <pgas/vocabulary/own_part.hpp>
#include <pgas/vocabulary/rows_of.hpp>
#include <pgas/window/element_operations.hpp>
#include <pgas/window/target_part.hpp>
#include <span>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS {

template <class State, hints Hints>
class global_ref;

/// One rank's part of a window, open for access; `epoch.to(rank)` returns it. Take it before a loop.
///
/// The epoch's protocol has already let this rank in, so on shared memory a `put` of one element is the store
/// itself. A view is valid until its epoch closes.
///
/// The threads of a rank may call the library one at a time, as README.md says under "Limits": a view, its
/// copies and its epoch share state that no lock guards.
///
/// Every member is one-sided. Indices and counts are in elements of the target's part. Two accesses to one
/// element in one epoch, at least one of them a put, are a race, unless both are atomic operations
/// (accumulate and those below).
///
/// Completion at this rank: operations on one element are complete when they return. The source of a bulk put
/// may be reused, and the destination of a bulk get may be read, after flush_local, flush or close.
/// Completion at the target: puts have arrived after flush or close; an atomic operation has happened when it
/// returns.
///
/// Throws errc::out_of_range with rank, index and bound: for one element at assertion level normal, for many
/// at light.
template <class State, hints Hints>
class target_view : detail::target_part<State, Hints> {
  using base = detail::target_part<State, Hints>;

 public:
  using typename base::value_type;

  /// For epochs.
  target_view(State& state, rank_t target) : base(state, target), size_(state.part_size(target)) {}

  /// The same view for an epoch's short forms, in which it goes after one access.
  [[nodiscard]] target_view for_one_access() const noexcept {
    target_view passing = *this;
    passing.memory_.never();
    return passing;
  }

  /// The rank of this part.
  using base::rank;
  /// The number of elements of the part.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Puts one element. `value` may be reused at return. Costs a store on shared memory, else a message.
  /// MPI_Put, shmem_p.
  void put(std::size_t i, value_type const& value) const {
    check_writes();
    check_element("put", i);
    base::put(i, value);
  }

  /// Puts values.size() elements from private memory at `first`. The source may be reused after flush_local
  /// or close. Costs a copy on shared memory, past the caches if it is long, else a message. MPI_Put,
  /// shmem_put.
  void put(std::size_t first, std::span<value_type const> values) const {
    check_writes();
    check_elements("put", first, values.size());
    base::put(first, values);
  }

  /// Puts a piece of this rank's own part, as this rank sees it. The piece may be stored to after flush_local
  /// or close.
  ///
  /// A template, so that `put(i, {a, b})` is one element of two members.
  template <std::same_as<own_part> Piece>
  void put(std::size_t first, Piece from) const {
    check_writes();
    check_elements("put", first, from.count);
    check_own("put", from);
    with_own_copy(from, [&](std::span<value_type const> values) { base::put(first, values); });
  }

  /// Puts rows of private memory, `from_pitch` elements apart, into a block of rows. The source may be reused
  /// after flush_local or close. MPI_Put with vector types.
  void put(rows_of at, value_type const* from, std::size_t from_pitch) const {
    check_writes();
    check_elements("put", at.first, at.reach());
    check_rows("put", at, from_pitch);
    if (at.size() == 0) return;
    base::put_rows(at.first, at.pitch * sizeof(value_type), reinterpret_cast<std::byte const*>(from),
                   from_pitch * sizeof(value_type), shape_of(at));
  }
  /// Puts values that lie without gaps into a block of rows, or into strided elements. The source may be
  /// reused after flush_local or close. shmem_iput.
  void put(rows_of at, std::span<value_type const> values) const {
    check_count("put", values.size(), at.size());
    put(at, values.data(), at.cols);
  }

  /// Returns one element; blocks until it has arrived. A loop that waits for a value is a race: see
  /// atomic_load. MPI_Get, shmem_g.
  [[nodiscard]] value_type get(std::size_t i) const {
    check_reads();
    check_element("get", i);
    return base::get(i);
  }

  /// Gets values.size() elements from `first` on into private memory. The destination may be read after
  /// flush_local or close. MPI_Get, shmem_get.
  void get(std::size_t first, std::span<value_type> values) const {
    check_reads();
    check_elements("get", first, values.size());
    base::get(first, values);
  }

  /// Gets into a piece of this rank's own part, as if this rank stored it. The piece may be read after
  /// flush_local or close.
  template <std::same_as<own_part> Piece>
  void get(std::size_t first, Piece into) const {
    check_reads();
    check_elements("get", first, into.count);
    check_own("get", into);
    get_into_own(first, into);
  }

  /// Gets a block of rows into private rows, `into_pitch` elements apart. The destination may be read after
  /// flush_local or close.
  void get(rows_of at, value_type* into, std::size_t into_pitch) const {
    check_reads();
    check_elements("get", at.first, at.reach());
    check_rows("get", at, into_pitch);
    if (at.size() == 0) return;
    base::get_rows(at.first, at.pitch * sizeof(value_type), reinterpret_cast<std::byte*>(into),
                   into_pitch * sizeof(value_type), shape_of(at));
  }
  /// Gets a block of rows, or strided elements, into values that lie without gaps. The destination may be
  /// read after flush_local or close. shmem_iget.
  void get(rows_of at, std::span<value_type> values) const {
    check_count("get", values.size(), at.size());
    get(at, values.data(), at.cols);
  }

  /// Starts a put of anything that `put` takes, and returns its request. The source may be reused once the
  /// request is done; the elements have arrived after flush or close. The request of one element is done at
  /// return, and so is that of a put to memory with private copies. MPI_Rput.
  [[nodiscard]] done rput(std::size_t i, value_type const& value) const {
    check_writes();
    check_element("rput", i);
    base::put(i, value);
    return {};
  }
  [[nodiscard]] auto rput(std::size_t first, std::span<value_type const> values) const {
    check_writes();
    check_elements("rput", first, values.size());
    if constexpr (cache_controlled<segment_type>) {
      base::put(first, values);
      return done{};
    } else {
      return segment().rput(location_of(first), std::as_bytes(values));
    }
  }
  template <std::same_as<own_part> Piece>
  [[nodiscard]] done rput(std::size_t first, Piece from) const {
    check_writes();
    check_elements("rput", first, from.count);
    check_own("rput", from);
    with_own_copy(from, [&](std::span<value_type const> values) { base::put(first, values); });
    return {};
  }
  [[nodiscard]] auto rput(rows_of at, value_type const* from, std::size_t from_pitch) const {
    check_writes();
    check_elements("rput", at.first, at.reach());
    check_rows("rput", at, from_pitch);
    return base::rput_rows(at.first, at.pitch * sizeof(value_type), reinterpret_cast<std::byte const*>(from),
                           from_pitch * sizeof(value_type), shape_of(at));
  }
  [[nodiscard]] auto rput(rows_of at, std::span<value_type const> values) const {
    check_count("rput", values.size(), at.size());
    return rput(at, values.data(), at.cols);
  }
  /// Starts a get of anything that `get` takes, and returns its request. The destination may be read once the
  /// request is done. The request of one element is done at return, and so is that of a get from memory with
  /// private copies. MPI_Rget.
  [[nodiscard]] done rget(std::size_t i, value_type& into) const {
    check_reads();
    check_element("rget", i);
    into = base::get(i);
    return {};
  }
  [[nodiscard]] auto rget(std::size_t first, std::span<value_type> values) const {
    check_reads();
    check_elements("rget", first, values.size());
    if constexpr (cache_controlled<segment_type>) {
      base::get(first, values);
      segment().flush_local(rank());  // a policy may get past the copies, and then the bytes may be under way
      return done{};
    } else {
      return segment().rget(location_of(first), std::as_writable_bytes(values));
    }
  }
  template <std::same_as<own_part> Piece>
  [[nodiscard]] done rget(std::size_t first, Piece into) const {
    check_reads();
    check_elements("rget", first, into.count);
    check_own("rget", into);
    get_into_own(first, into);
    segment().flush_local(rank());
    return {};
  }
  [[nodiscard]] auto rget(rows_of at, value_type* into, std::size_t into_pitch) const {
    check_reads();
    check_elements("rget", at.first, at.reach());
    check_rows("rget", at, into_pitch);
    return base::rget_rows(at.first, at.pitch * sizeof(value_type), reinterpret_cast<std::byte*>(into),
                           into_pitch * sizeof(value_type), shape_of(at));
  }
  [[nodiscard]] auto rget(rows_of at, std::span<value_type> values) const {
    check_count("rget", values.size(), at.size());
    return rget(at, values.data(), at.cols);
  }

  /// Combines `value` into element i: element = op(element, value), in one indivisible step that has happened
  /// at return. MPI_Accumulate.
  template <detail::operation_argument Op = op::sum>
  void accumulate(std::size_t i, value_type const& value, Op op = {}) const {
    static_cast<void>(modify_checked("accumulate", i, value, op));
  }
  /// Combines each value into its element; each element in one indivisible step, not all of them in one. All
  /// have happened at return, and `values` may be reused.
  ///
  /// On shared memory this costs a vector loop under a lock, or an atomic operation an element while other
  /// ranks' epochs modify single elements of the part.
  /// A step is indivisible among operations of epochs only. An owner that modifies the same elements through
  /// `local()` meanwhile loses updates, even by std::atomic_ref; `scc` reports that race. The owner instead
  /// accumulates to its own rank. Atomic operations would take 3 to 50 times as long as the vector loop.
  template <detail::operation_argument Op = op::sum>
  void accumulate(std::size_t first, std::span<value_type const> values, Op op = {}) const {
    modify_all_checked("accumulate", first, values, nullptr, op);
  }
  /// Like accumulate, and returns the element's value before. MPI_Get_accumulate.
  template <detail::operation_argument Op = op::sum>
  [[nodiscard]] value_type get_accumulate(std::size_t i, value_type const& value, Op op = {}) const {
    return modify_checked("get_accumulate", i, value, op);
  }
  /// Like accumulate; at return `before` holds the elements' values before. MPI_Get_accumulate.
  template <detail::operation_argument Op = op::sum>
  void get_accumulate(std::size_t first, std::span<value_type const> values, std::span<value_type> before,
                      Op op = {}) const {
    check_count("get_accumulate", before.size(), values.size());
    modify_all_checked("get_accumulate", first, values, before.data(), op);
  }

  /// Combines values that lie without gaps into a block of rows, or into strided elements; otherwise like
  /// accumulate of many. Costs an accumulate for each row. MPI_Accumulate with vector types.
  template <detail::operation_argument Op = op::sum>
  void accumulate(rows_of at, std::span<value_type const> values, Op op = {}) const {
    check_count("accumulate", values.size(), at.size());
    modify_rows_checked("accumulate", at, values, nullptr, op);
  }
  /// Like accumulate of rows; at return `before` holds the elements' values before. MPI_Get_accumulate with
  /// vector types.
  template <detail::operation_argument Op = op::sum>
  void get_accumulate(rows_of at, std::span<value_type const> values, std::span<value_type> before,
                      Op op = {}) const {
    check_count("get_accumulate", values.size(), at.size());
    check_count("get_accumulate", before.size(), at.size());
    modify_rows_checked("get_accumulate", at, values, before.data(), op);
  }

  /// Like accumulate and get_accumulate, and returns a request for programs that collect requests. It is done
  /// at return: `values` may be reused, and `before` may be read. MPI_Raccumulate, MPI_Rget_accumulate.
  template <detail::operation_argument Op = op::sum>
  [[nodiscard]] done raccumulate(std::size_t i, value_type const& value, Op op = {}) const {
    static_cast<void>(modify_checked("raccumulate", i, value, op));
    return {};
  }
  template <detail::operation_argument Op = op::sum>
  [[nodiscard]] done raccumulate(std::size_t first, std::span<value_type const> values, Op op = {}) const {
    modify_all_checked("raccumulate", first, values, nullptr, op);
    return {};
  }
  template <detail::operation_argument Op = op::sum>
  [[nodiscard]] done rget_accumulate(std::size_t first, std::span<value_type const> values,
                                     std::span<value_type> before, Op op = {}) const {
    check_count("rget_accumulate", before.size(), values.size());
    modify_all_checked("rget_accumulate", first, values, before.data(), op);
    return {};
  }
  template <detail::operation_argument Op = op::sum>
  [[nodiscard]] done rget_accumulate(std::size_t i, value_type const& value, value_type& before,
                                     Op op = {}) const {
    before = modify_checked("rget_accumulate", i, value, op);
    return {};
  }
  template <detail::operation_argument Op = op::sum>
  [[nodiscard]] done raccumulate(rows_of at, std::span<value_type const> values, Op op = {}) const {
    check_count("raccumulate", values.size(), at.size());
    modify_rows_checked("raccumulate", at, values, nullptr, op);
    return {};
  }
  template <detail::operation_argument Op = op::sum>
  [[nodiscard]] done rget_accumulate(rows_of at, std::span<value_type const> values,
                                     std::span<value_type> before, Op op = {}) const {
    check_count("rget_accumulate", values.size(), at.size());
    check_count("rget_accumulate", before.size(), at.size());
    modify_rows_checked("rget_accumulate", at, values, before.data(), op);
    return {};
  }

  /// Adds to element i and returns its value before. MPI_Fetch_and_op, shmem_atomic_fetch_add.
  [[nodiscard]] value_type fetch_add(std::size_t i, value_type const& value) const
    requires operation_on<op::sum, value_type>
  {
    return modify_checked("fetch_add", i, value, op::sum{});
  }
  /// Replaces element i and returns its value before. MPI_Fetch_and_op with MPI_REPLACE, shmem_atomic_swap.
  [[nodiscard]] value_type exchange(std::size_t i, value_type const& value) const {
    return modify_checked("exchange", i, value, op::replace{});
  }
  /// Replaces element i by `desired` and returns true if it has the bytes of `expected`; else copies it to
  /// `expected` and returns false. Does not compile for a type with padding: see has_no_padding. Zero and
  /// negative zero differ in their bytes. MPI_Compare_and_swap, shmem_atomic_compare_swap.
  [[nodiscard]] bool compare_exchange(std::size_t i, value_type& expected, value_type const& desired) const {
    static_assert(has_no_padding<value_type>,
                  "compare_exchange: it compares bytes, and equal values of this type may differ in padding "
                  "bytes; take double for long double, fill a struct's padding by members of its own, or, if "
                  "the struct has none, specialize pgas::has_no_padding for it");
    check_writes();
    check_element("compare_exchange", i);
    [[maybe_unused]] auto const span = modifies("compare_exchange", 1);
    value_type const found = atomically().exchange_if_equal(i, expected, desired);
    bool const replaced = operations::same_bytes(found, expected);
    if (!replaced) expected = found;
    return replaced;
  }
  /// Returns element i, indivisibly against the atomic operations above and with acquire order: a loop may
  /// wait for a value. shmem_atomic_fetch.
  [[nodiscard]] value_type atomic_load(std::size_t i) const {
    check_reads();
    check_element("atomic_load", i);
    [[maybe_unused]] auto const span = modifies("atomic_load", 1);
    return atomically().read(i);
  }
  /// Replaces element i, indivisibly, with release order. shmem_atomic_set.
  void atomic_store(std::size_t i, value_type const& value) const {
    check_writes();
    check_element("atomic_store", i);
    [[maybe_unused]] auto const span = modifies("atomic_store", 1);
    atomically().write(i, value);
  }

  /// A reference to element i. Its load and store are spelled out, since each may be a message.
  [[nodiscard]] global_ref<State, Hints> ref(std::size_t i) const {
    check_element("ref", i);
    return global_ref<State, Hints>(for_one_access(), i);
  }
  /// The same as ref(i).
  [[nodiscard]] global_ref<State, Hints> operator[](std::size_t i) const { return ref(i); }

  /// Returns when every put of this rank to this part has arrived. Later gets see the elements that are there
  /// at return. MPI_Win_flush.
  void flush() const {
    typename State::template boundary_type<boundary_of::remote, Hints> b(segment());
    rank_t const target =
        rank();  // a local: through `this` the compiler keeps a test of the group's end in a loop
    b.publish(group(&target, 1));
    b.refresh(group(&target, 1));
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  /// Returns when sources of bulk puts may be reused and destinations of bulk gets may be read.
  /// MPI_Win_flush_local.
  void flush_local() const {
    segment().flush_local(rank());
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }

 private:
  using base::location_of;
  using base::segment;
  using typename base::segment_type;
  using Coherence = typename base::coherence_type;
  using operations = detail::element_operations<State, Hints>;

  static constexpr void check_writes() noexcept {
    static_assert(
        !Hints.read_only,
        "put: this epoch was opened read_only; open it without that hint to put, accumulate or store");
  }
  static constexpr void check_reads() noexcept {
    static_assert(!Hints.write_only,
                  "get: this epoch was opened write_only; open it without that hint to get or load");
  }

  void check_element(std::string_view operation, std::size_t i) const {
    PGAS_EXPECTS(normal, i < size_, base::state().refuse_elements(operation, rank(), i, 1));
  }
  void check_elements(std::string_view operation, std::size_t first, std::size_t count) const {
    PGAS_EXPECTS(light, detail::fits(first, count, size_),
                 base::state().refuse_elements(operation, rank(), first, count));
  }
  void check_own(std::string_view operation, own_part part) const {
    State const& s = base::state();
    PGAS_EXPECTS(light, detail::fits(part.first, part.count, s.size),
                 s.refuse_elements(operation, s.rank(), part.first, part.count));
  }
  void check_count(std::string_view operation, std::size_t given, std::size_t needed) const {
    PGAS_EXPECTS(
        light, given == needed,
        throw error(errc::invalid_argument, base::state().job_rank(), operation,
                    std::to_string(given) + " values given for " + std::to_string(needed) + " elements"));
  }
  void check_rows(std::string_view operation, rows_of block, std::size_t private_pitch) const {
    PGAS_EXPECTS(light, block.rows < 2 || (block.pitch >= block.cols && private_pitch >= block.cols),
                 detail::throw_error(errc::invalid_argument, base::state().job_rank(), operation,
                                     "rows overlap: a pitch is less than the length of a row"));
  }
  static row_shape shape_of(rows_of block) noexcept {
    return {.rows = block.rows, .row_bytes = block.cols * sizeof(value_type)};
  }

  template <class Use>
  void with_own_copy(own_part from, Use&& use) const {
    if constexpr (local_segment<segment_type> && !cache_controlled<segment_type>) {
      auto const* own = reinterpret_cast<value_type const*>(segment().local().data());
      use(std::span<value_type const>(own + from.first, from.count));
    } else {
      std::vector<value_type> copy(from.count);
      if (from.count != 0) {
        Coherence::load(segment(), {base::state().rank(), from.first * sizeof(value_type)},
                        std::as_writable_bytes(std::span(copy)));
      }
      use(std::span<value_type const>(copy));
    }
  }

  void get_into_own(std::size_t first, own_part into) const {
    if (into.count == 0) return;
    if constexpr (local_segment<segment_type> && !cache_controlled<segment_type>) {
      auto* const own = reinterpret_cast<value_type*>(segment().local().data());
      base::get(first, std::span(own + into.first, into.count));
    } else {
      std::vector<value_type> copy(into.count);
      base::get(first, std::span(copy));
      segment().flush_local(rank());
      Coherence::store(segment(), {base::state().rank(), into.first * sizeof(value_type)},
                       std::as_bytes(std::span(copy)));
    }
  }

  [[nodiscard]] operations atomically() const noexcept { return {*this, memory_}; }
  /// A span of a trace for the whole operation, which may be many calls of the segment, or none.
  [[nodiscard]] auto modifies(std::string_view operation, std::size_t count) const {
    rank_t const target = rank();
    return detail::begin_span(base::state().control, span_kind::transfer, operation, group(&target, 1),
                              count * sizeof(value_type));
  }
  template <class Op>
  value_type modify_checked(std::string_view operation, std::size_t i, value_type const& value, Op op) const {
    detail::refuse_operation<Op, value_type>();
    check_writes();
    check_element(operation, i);
    [[maybe_unused]] auto const span = modifies(operation, 1);
    return atomically().modify(i, value, op);
  }
  template <class Op>
  void modify_all_checked(std::string_view operation, std::size_t first, std::span<value_type const> values,
                          value_type* before, Op op) const {
    detail::refuse_operation<Op, value_type>();
    check_writes();
    check_elements(operation, first, values.size());
    [[maybe_unused]] auto const span = modifies(operation, values.size());
    atomically().modify_all(first, values, before, op);
  }

  template <class Op>
  void modify_rows_checked(std::string_view operation, rows_of at, std::span<value_type const> values,
                           value_type* before, Op op) const {
    check_elements(operation, at.first, at.reach());
    check_rows(operation, at, at.cols);
    for (std::size_t row = 0; row < at.rows; ++row) {
      std::size_t const done_before = row * at.cols;
      modify_all_checked(operation, at.first + row * at.pitch, values.subspan(done_before, at.cols),
                         before == nullptr ? nullptr : before + done_before, op);
    }
  }

  /// Knows whether this view has announced that it modifies single elements.
  [[no_unique_address]] mutable typename operations::memory_type memory_{};
  std::size_t size_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS
