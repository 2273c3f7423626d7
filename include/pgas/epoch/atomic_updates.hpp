// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/recorder.hpp>
#include <pgas/detail/epoch/element_operations.hpp>
#include <pgas/epoch/puts_and_gets.hpp>
#include <span>
#include <string_view>

namespace PGAS_NAMESPACE::detail {

/// The operations of a target view that modify elements in indivisible steps.
template <class State, hints Hints, part_is Where = State::parts>
class atomic_updates : public puts_and_gets<State, Hints, Where> {
  using base = puts_and_gets<State, Hints, Where>;

 public:
  using base::base;
  /// For visit.
  template <part_is Asked>
    requires(Asked == part_is::near_or_far && Where != Asked)
  explicit atomic_updates(atomic_updates<State, Hints, Asked> const& asked) noexcept : base(asked) {}
  using typename base::value_type;

  /// Combines `value` into element i: element = op(element, value), in one indivisible step. It has happened
  /// by the next flush or the epoch's end, and on shared memory at return. MPI_Accumulate.
  template <operation_argument Op = op::sum>
  void accumulate(std::size_t i, value_type const& value, Op op = {}, caller by = here()) const {
    combine_checked({"accumulate", by}, i, value, op);
  }
  /// Combines each value into its element; each element in one indivisible step, not all of them in one. All
  /// have happened by the next flush, and `values` may be reused at return.
  ///
  /// On shared memory this costs a vector loop under a lock, or an atomic operation an element while other
  /// ranks' epochs modify single elements of the part.
  /// A step is indivisible among operations of epochs only. An owner that modifies the same elements through
  /// `local()` meanwhile loses updates, even by std::atomic_ref; `scc` reports that race. The owner instead
  /// accumulates to its own rank. Atomic operations would take 3 to 50 times as long as the vector loop.
  template <operation_argument Op = op::sum>
  void accumulate(std::size_t first, std::span<value_type const> values, Op op = {},
                  caller by = here()) const {
    modify_all_checked({"accumulate", by}, first, values, nullptr, op);
  }
  /// Like accumulate, and returns the element's value before. MPI_Get_accumulate.
  template <operation_argument Op = op::sum>
  [[nodiscard]] value_type get_accumulate(std::size_t i, value_type const& value, Op op = {},
                                          caller by = here()) const {
    return modify_checked({"get_accumulate", by}, i, value, op);
  }
  /// Like accumulate; at return `before` holds the elements' values before. Throws errc::invalid_argument if
  /// `values` and `before` overlap, which MPI-3 forbids, too. MPI_Get_accumulate.
  template <operation_argument Op = op::sum>
  void get_accumulate(std::size_t first, std::span<value_type const> values, std::span<value_type> before,
                      Op op = {}, caller by = here()) const {
    check_before({"get_accumulate", by}, values, before);
    modify_all_checked({"get_accumulate", by}, first, values, before.data(), op);
  }

  /// Combines values that lie without gaps into a block of rows, or into strided elements; otherwise like
  /// accumulate of many. Costs an accumulate for each row. MPI_Accumulate with vector types.
  template <operation_argument Op = op::sum>
  void accumulate(rows_of at, std::span<value_type const> values, Op op = {}, caller by = here()) const {
    check_count({"accumulate", by}, values.size(), at.size());
    modify_rows_checked({"accumulate", by}, at, values, nullptr, op);
  }
  /// Like accumulate of rows; at return `before` holds the elements' values before. MPI_Get_accumulate with
  /// vector types.
  template <operation_argument Op = op::sum>
  void get_accumulate(rows_of at, std::span<value_type const> values, std::span<value_type> before,
                      Op op = {}, caller by = here()) const {
    check_count({"get_accumulate", by}, values.size(), at.size());
    check_before({"get_accumulate", by}, values, before);
    modify_rows_checked({"get_accumulate", by}, at, values, before.data(), op);
  }

  /// Like accumulate, and returns a request for programs that collect requests. It is done at return, and
  /// `values` may be reused. MPI_Raccumulate.
  template <operation_argument Op = op::sum>
  [[nodiscard]] done raccumulate(std::size_t i, value_type const& value, Op op = {},
                                 caller by = here()) const {
    combine_checked({"raccumulate", by}, i, value, op);
    return {};
  }
  template <operation_argument Op = op::sum>
  [[nodiscard]] done raccumulate(std::size_t first, std::span<value_type const> values, Op op = {},
                                 caller by = here()) const {
    modify_all_checked({"raccumulate", by}, first, values, nullptr, op);
    return {};
  }
  /// Like get_accumulate, and returns a request. It is done at return: `values` may be reused, and `before`
  /// may be read. MPI_Rget_accumulate.
  template <operation_argument Op = op::sum>
  [[nodiscard]] done rget_accumulate(std::size_t first, std::span<value_type const> values,
                                     std::span<value_type> before, Op op = {}, caller by = here()) const {
    check_before({"rget_accumulate", by}, values, before);
    modify_all_checked({"rget_accumulate", by}, first, values, before.data(), op);
    return {};
  }
  template <operation_argument Op = op::sum>
  [[nodiscard]] done rget_accumulate(std::size_t i, value_type const& value, value_type& before, Op op = {},
                                     caller by = here()) const {
    before = modify_checked({"rget_accumulate", by}, i, value, op);
    return {};
  }
  template <operation_argument Op = op::sum>
  [[nodiscard]] done raccumulate(rows_of at, std::span<value_type const> values, Op op = {},
                                 caller by = here()) const {
    check_count({"raccumulate", by}, values.size(), at.size());
    modify_rows_checked({"raccumulate", by}, at, values, nullptr, op);
    return {};
  }
  template <operation_argument Op = op::sum>
  [[nodiscard]] done rget_accumulate(rows_of at, std::span<value_type const> values,
                                     std::span<value_type> before, Op op = {}, caller by = here()) const {
    check_count({"rget_accumulate", by}, values.size(), at.size());
    check_before({"rget_accumulate", by}, values, before);
    modify_rows_checked({"rget_accumulate", by}, at, values, before.data(), op);
    return {};
  }

  /// Adds to element i and returns its value before. MPI_Fetch_and_op, shmem_atomic_fetch_add.
  [[nodiscard]] value_type fetch_add(std::size_t i, value_type const& value, caller by = here()) const
    requires operation_on<op::sum, value_type>
  {
    return modify_checked({"fetch_add", by}, i, value, op::sum{});
  }
  /// Replaces element i and returns its value before. MPI_Fetch_and_op with MPI_REPLACE, shmem_atomic_swap.
  [[nodiscard]] value_type exchange(std::size_t i, value_type const& value, caller by = here()) const {
    return modify_checked({"exchange", by}, i, value, op::replace{});
  }
  /// Replaces element i by `desired` and returns true if it has the bytes of `expected`; else copies it to
  /// `expected` and returns false. Does not compile for a type with padding: see has_no_padding. Zero and
  /// negative zero differ in their bytes. MPI_Compare_and_swap, shmem_atomic_compare_swap.
  [[nodiscard]] bool compare_exchange(std::size_t i, value_type& expected, value_type const& desired,
                                      caller by = here()) const {
    static_assert(has_no_padding<value_type>,
                  "compare_exchange: it compares bytes, and equal values of this type may differ in padding "
                  "bytes; take double for long double, fill a struct's padding by members of its own, or, if "
                  "the struct has none, specialize pgas::has_no_padding for it");
    check_writes();
    check_element({"compare_exchange", by}, i);
    [[maybe_unused]] auto const span = modifies("compare_exchange", 1);
    value_type const found = atomically().exchange_if_equal(i, expected, desired);
    bool const replaced = operations::same_bytes(found, expected);
    if (!replaced) expected = found;
    return replaced;
  }
  /// Returns element i, indivisibly against the atomic operations above and with acquire order: a loop may
  /// wait for a value. shmem_atomic_fetch.
  [[nodiscard]] value_type atomic_load(std::size_t i, caller by = here()) const {
    check_reads();
    check_element({"atomic_load", by}, i);
    [[maybe_unused]] auto const span = modifies("atomic_load", 1);
    return atomically().read(i);
  }
  /// Replaces element i, indivisibly, with release order. shmem_atomic_set.
  void atomic_store(std::size_t i, value_type const& value, caller by = here()) const {
    check_writes();
    check_element({"atomic_store", by}, i);
    [[maybe_unused]] auto const span = modifies("atomic_store", 1);
    atomically().write(i, value);
  }

 protected:
  using base::check_element;
  using base::memory_;

 private:
  using base::check_apart;
  using base::check_before;
  using base::check_count;
  using base::check_elements;
  using base::check_reach;
  using base::check_reads;
  using base::check_rows;
  using base::check_writes;
  using operations = element_operations<State, Hints, Where>;

  [[nodiscard]] operations atomically() const noexcept { return {*this, memory_, announced_}; }
  /// A span of a trace for the whole operation, which may be many calls of the segment, or none.
  [[nodiscard]] auto modifies(std::string_view operation, std::size_t count) const {
    rank_t const target = this->rank();
    return begin_span(base::state().control, span_kind::transfer, operation, group(&target, 1),
                      count * sizeof(value_type));
  }
  template <class Op>
  value_type modify_checked(called operation, std::size_t i, value_type const& value, Op op) const {
    refuse_operation<Op, value_type>();
    check_writes();
    check_element(operation, i);
    [[maybe_unused]] auto const span = modifies(operation, 1);
    return atomically().modify(i, value, op);
  }
  template <class Op>
  void combine_checked(called operation, std::size_t i, value_type const& value, Op op) const {
    refuse_operation<Op, value_type>();
    check_writes();
    check_element(operation, i);
    [[maybe_unused]] auto const span = modifies(operation, 1);
    atomically().combine(i, value, op);
  }
  template <class Op>
  void modify_all_checked(called operation, std::size_t first, std::span<value_type const> values,
                          value_type* before, Op op) const {
    refuse_operation<Op, value_type>();
    check_writes();
    check_elements(operation, first, values.size());
    check_apart(operation, first, values.data(), values.size());
    if (before != nullptr) check_apart(operation, first, before, values.size());
    modify_all(operation, first, values, before, op);
  }
  template <class Op>
  void modify_rows_checked(called operation, rows_of at, std::span<value_type const> values,
                           value_type* before, Op op) const {
    refuse_operation<Op, value_type>();
    check_writes();
    check_reach(operation, at);
    check_rows(operation, at, at.cols);
    check_apart(operation, at, values.data(), at.cols);
    if (before != nullptr) check_apart(operation, at, before, at.cols);
    if (at.cols == 0) return;  // where such a row begins is of no matter, and there may be very many
    for (std::size_t row = 0; row < at.rows; ++row) {
      std::size_t const done_before = row * at.cols;
      modify_all(operation, at.first + row * at.pitch, values.subspan(done_before, at.cols),
                 before == nullptr ? nullptr : before + done_before, op);
    }
  }
  template <class Op>
  void modify_all(std::string_view operation, std::size_t first, std::span<value_type const> values,
                  value_type* before, Op op) const {
    [[maybe_unused]] auto const span = modifies(operation, values.size());
    atomically().modify_all(first, values, before, op);
  }

  mutable typename operations::announced_type announced_{};  ///< set only while memory_ is
};

}  // namespace PGAS_NAMESPACE::detail
