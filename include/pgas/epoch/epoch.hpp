// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/detail/epoch/checked_epoch.hpp>
#include <pgas/detail/team/refused_temporaries.hpp>
#include <pgas/detail/types/anything.hpp>
#include <pgas/detail/window/only_call.hpp>
#include <pgas/detail/window/state.hpp>
#include <pgas/epoch/global_ref.hpp>
#include <pgas/vocabulary/global_ptr.hpp>
#include <utility>

namespace PGAS_NAMESPACE::detail {

/// The accesses of an epoch. Each is one access through the target view `to(rank)`, for code that accesses a
/// target once. In a loop, use one `to(rank)` before it.
template <class Derived, class State, hints Hints>
class accesses : public refuses_temporaries_of_epochs<typename State::value_type> {
  using refused = refuses_temporaries_of_epochs<typename State::value_type>;

 public:
  using value_type = typename State::value_type;
  using refused::get;
  using refused::put;
  using refused::rget;
  using refused::rput;
  /// The hints that the epoch was opened with.
  static constexpr hints opened_with = Hints;

  /// Opens `target`'s part, and returns use(view): see target_view::visit.
  template <class Use>
  decltype(auto) visit(rank_t target, Use&& use, caller by = here()) {
    return static_cast<Derived&>(*this).template to<"visit">(target, by).visit(std::forward<Use>(use));
  }

  /// Puts one element, many from private memory, a piece of the own part, or rows: see target_view::put.
  /// MPI_Put.
  [[gnu::always_inline]] void put(rank_t target, std::size_t i, value_type const& value, caller by = here()) {
    to<"put">(target, by).put(i, value, by);
  }
  void put(rank_t target, std::size_t first, std::span<value_type const> values, caller by = here()) {
    to<"put">(target, by).put(first, values, by);
  }
  template <std::same_as<own_part> Piece>
  void put(rank_t target, std::size_t first, Piece from, caller by = here()) {
    to<"put">(target, by).put(first, from, by);
  }
  void put(rank_t target, rows_of at, std::span<value_type const> values, caller by = here()) {
    to<"put">(target, by).put(at, values, by);
  }
  void put(rank_t target, rows_of at, value_type const* from, std::size_t from_pitch, caller by = here()) {
    to<"put">(target, by).put(at, from, from_pitch, by);
  }
  /// Returns one element, or gets many into private memory, the own part or rows: see target_view::get.
  /// MPI_Get.
  [[nodiscard, gnu::always_inline]] value_type get(rank_t target, std::size_t i, caller by = here()) {
    return to<"get">(target, by).get(i, by);
  }
  void get(rank_t target, std::size_t first, std::span<value_type> values, caller by = here()) {
    to<"get">(target, by).get(first, values, by);
  }
  template <std::same_as<own_part> Piece>
  void get(rank_t target, std::size_t first, Piece into, caller by = here()) {
    to<"get">(target, by).get(first, into, by);
  }
  void get(rank_t target, rows_of at, std::span<value_type> values, caller by = here()) {
    to<"get">(target, by).get(at, values, by);
  }
  void get(rank_t target, rows_of at, value_type* into, std::size_t into_pitch, caller by = here()) {
    to<"get">(target, by).get(at, into, into_pitch, by);
  }
  /// Starts a put and returns its request: see target_view::rput. MPI_Rput.
  [[nodiscard]] done rput(rank_t target, std::size_t i, value_type const& value, caller by = here()) {
    return to<"rput">(target, by).rput(i, value, by);
  }
  [[nodiscard]] auto rput(rank_t target, std::size_t first, std::span<value_type const> values,
                          caller by = here()) {
    return to<"rput">(target, by).rput(first, values, by);
  }
  template <std::same_as<own_part> Piece>
  [[nodiscard]] done rput(rank_t target, std::size_t first, Piece from, caller by = here()) {
    return to<"rput">(target, by).rput(first, from, by);
  }
  [[nodiscard]] auto rput(rank_t target, rows_of at, std::span<value_type const> values, caller by = here()) {
    return to<"rput">(target, by).rput(at, values, by);
  }
  [[nodiscard]] auto rput(rank_t target, rows_of at, value_type const* from, std::size_t from_pitch,
                          caller by = here()) {
    return to<"rput">(target, by).rput(at, from, from_pitch, by);
  }
  /// Starts a get and returns its request: see target_view::rget. MPI_Rget.
  [[nodiscard]] done rget(rank_t target, std::size_t i, value_type& into, caller by = here()) {
    return to<"rget">(target, by).rget(i, into, by);
  }
  [[nodiscard]] auto rget(rank_t target, std::size_t first, std::span<value_type> values,
                          caller by = here()) {
    return to<"rget">(target, by).rget(first, values, by);
  }
  template <std::same_as<own_part> Piece>
  [[nodiscard]] done rget(rank_t target, std::size_t first, Piece into, caller by = here()) {
    return to<"rget">(target, by).rget(first, into, by);
  }
  [[nodiscard]] auto rget(rank_t target, rows_of at, std::span<value_type> values, caller by = here()) {
    return to<"rget">(target, by).rget(at, values, by);
  }
  [[nodiscard]] auto rget(rank_t target, rows_of at, value_type* into, std::size_t into_pitch,
                          caller by = here()) {
    return to<"rget">(target, by).rget(at, into, into_pitch, by);
  }
  /// Combines one value, or many, with elements, each in one indivisible step: see target_view::accumulate.
  /// MPI_Accumulate.
  template <operation_argument Op = op::sum>
  void accumulate(rank_t target, std::size_t i, value_type const& value, Op op = {}, caller by = here()) {
    refuse_operation<Op, value_type>();  // here, so that few lines stand before its message
    to<"accumulate">(target, by).accumulate(i, value, op, by);
  }
  template <operation_argument Op = op::sum>
  void accumulate(rank_t target, std::size_t first, std::span<value_type const> values, Op op = {},
                  caller by = here()) {
    refuse_operation<Op, value_type>();
    to<"accumulate">(target, by).accumulate(first, values, op, by);
  }
  /// Like accumulate, and returns the value before, or fills `before`. MPI_Get_accumulate.
  template <operation_argument Op = op::sum>
  [[nodiscard]] value_type get_accumulate(rank_t target, std::size_t i, value_type const& value, Op op = {},
                                          caller by = here()) {
    return to<"get_accumulate">(target, by).get_accumulate(i, value, op, by);
  }
  template <operation_argument Op = op::sum>
  void get_accumulate(rank_t target, std::size_t first, std::span<value_type const> values,
                      std::span<value_type> before, Op op = {}, caller by = here()) {
    to<"get_accumulate">(target, by).get_accumulate(first, values, before, op, by);
  }
  /// Combine values into rows of the part: see target_view::accumulate. MPI_Accumulate and MPI_Get_accumulate
  /// with vector types.
  template <operation_argument Op = op::sum>
  void accumulate(rank_t target, rows_of at, std::span<value_type const> values, Op op = {},
                  caller by = here()) {
    to<"accumulate">(target, by).accumulate(at, values, op, by);
  }
  template <operation_argument Op = op::sum>
  void get_accumulate(rank_t target, rows_of at, std::span<value_type const> values,
                      std::span<value_type> before, Op op = {}, caller by = here()) {
    to<"get_accumulate">(target, by).get_accumulate(at, values, before, op, by);
  }
  /// Like accumulate, and returns a request: see target_view::raccumulate. MPI_Raccumulate.
  template <operation_argument Op = op::sum>
  [[nodiscard]] done raccumulate(rank_t target, std::size_t i, value_type const& value, Op op = {},
                                 caller by = here()) {
    return to<"raccumulate">(target, by).raccumulate(i, value, op, by);
  }
  template <operation_argument Op = op::sum>
  [[nodiscard]] done raccumulate(rank_t target, rows_of at, std::span<value_type const> values, Op op = {},
                                 caller by = here()) {
    return to<"raccumulate">(target, by).raccumulate(at, values, op, by);
  }
  /// Like get_accumulate, and returns a request: see target_view::rget_accumulate. MPI_Rget_accumulate.
  template <operation_argument Op = op::sum>
  [[nodiscard]] done rget_accumulate(rank_t target, std::size_t i, value_type const& value,
                                     value_type& before, Op op = {}, caller by = here()) {
    return to<"rget_accumulate">(target, by).rget_accumulate(i, value, before, op, by);
  }
  template <operation_argument Op = op::sum>
  [[nodiscard]] done rget_accumulate(rank_t target, rows_of at, std::span<value_type const> values,
                                     std::span<value_type> before, Op op = {}, caller by = here()) {
    return to<"rget_accumulate">(target, by).rget_accumulate(at, values, before, op, by);
  }
  template <operation_argument Op = op::sum>
  [[nodiscard]] done raccumulate(rank_t target, std::size_t first, std::span<value_type const> values,
                                 Op op = {}, caller by = here()) {
    return to<"raccumulate">(target, by).raccumulate(first, values, op, by);
  }
  template <operation_argument Op = op::sum>
  [[nodiscard]] done rget_accumulate(rank_t target, std::size_t first, std::span<value_type const> values,
                                     std::span<value_type> before, Op op = {}, caller by = here()) {
    return to<"rget_accumulate">(target, by).rget_accumulate(first, values, before, op, by);
  }
  /// Adds to an element and returns its value before. MPI_Fetch_and_op, shmem_atomic_fetch_add.
  [[nodiscard]] value_type fetch_add(rank_t target, std::size_t i, value_type const& value,
                                     caller by = here()) {
    refuse_operation<op::sum, value_type>();
    return to<"fetch_add">(target, by).fetch_add(i, value, by);
  }
  /// Replaces an element and returns its value before. MPI_Fetch_and_op with MPI_REPLACE, shmem_atomic_swap.
  [[nodiscard]] value_type exchange(rank_t target, std::size_t i, value_type const& value,
                                    caller by = here()) {
    return to<"exchange">(target, by).exchange(i, value, by);
  }
  /// Replaces an element that has the bytes of `expected` and returns true; else copies it to `expected`.
  /// MPI_Compare_and_swap.
  [[nodiscard]] bool compare_exchange(rank_t target, std::size_t i, value_type& expected,
                                      value_type const& desired, caller by = here()) {
    return to<"compare_exchange">(target, by).compare_exchange(i, expected, desired, by);
  }
  /// Returns an element with acquire order: a loop may wait for a value. shmem_atomic_fetch.
  [[nodiscard]] value_type atomic_load(rank_t target, std::size_t i, caller by = here()) {
    return to<"atomic_load">(target, by).atomic_load(i, by);
  }
  /// Replaces an element with release order. shmem_atomic_set.
  void atomic_store(rank_t target, std::size_t i, value_type const& value, caller by = here()) {
    to<"atomic_store">(target, by).atomic_store(i, value, by);
  }

  /// The same for a piece of a heap, `epoch.put(heap.open(handle), i, value)`. Indices count from the first
  /// element of the piece. Throws errc::out_of_range past its last one.
  void put(opened_piece const& piece, std::size_t i, value_type const& value, caller by = here()) {
    put(piece.rank, in(piece, {"put", by}, i, 1), value, by);
  }
  void put(opened_piece const& piece, std::size_t first, std::span<value_type const> values,
           caller by = here()) {
    put(piece.rank, in(piece, {"put", by}, first, values.size()), values, by);
  }
  [[nodiscard]] value_type get(opened_piece const& piece, std::size_t i, caller by = here()) {
    return get(piece.rank, in(piece, {"get", by}, i, 1), by);
  }
  void get(opened_piece const& piece, std::size_t first, std::span<value_type> values, caller by = here()) {
    get(piece.rank, in(piece, {"get", by}, first, values.size()), values, by);
  }
  [[nodiscard]] auto rput(opened_piece const& piece, std::size_t first, std::span<value_type const> values,
                          caller by = here()) {
    return rput(piece.rank, in(piece, {"rput", by}, first, values.size()), values, by);
  }
  [[nodiscard]] auto rget(opened_piece const& piece, std::size_t first, std::span<value_type> values,
                          caller by = here()) {
    return rget(piece.rank, in(piece, {"rget", by}, first, values.size()), values, by);
  }
  template <operation_argument Op = op::sum>
  [[nodiscard]] value_type get_accumulate(opened_piece const& piece, std::size_t i, value_type const& value,
                                          Op op = {}, caller by = here()) {
    return get_accumulate(piece.rank, in(piece, {"get_accumulate", by}, i, 1), value, op, by);
  }
  template <operation_argument Op = op::sum>
  void get_accumulate(opened_piece const& piece, std::size_t first, std::span<value_type const> values,
                      std::span<value_type> before, Op op = {}, caller by = here()) {
    get_accumulate(piece.rank, in(piece, {"get_accumulate", by}, first, values.size()), values, before, op,
                   by);
  }
  template <operation_argument Op = op::sum>
  void accumulate(opened_piece const& piece, std::size_t i, value_type const& value, Op op = {},
                  caller by = here()) {
    accumulate(piece.rank, in(piece, {"accumulate", by}, i, 1), value, op, by);
  }
  template <operation_argument Op = op::sum>
  void accumulate(opened_piece const& piece, std::size_t first, std::span<value_type const> values,
                  Op op = {}, caller by = here()) {
    accumulate(piece.rank, in(piece, {"accumulate", by}, first, values.size()), values, op, by);
  }

  /// Does not compile: says how put is called.
  template <class None = void>
  auto put(anything = {}, anything = {}, anything = {}, anything = {}, anything = {}) {
    static_assert(
        always_false<None>,
        "put: write `epoch.put(rank, index, value)`, or `epoch.put(rank, index, values)` with a std::vector "
        "or std::span of elements side by side, which is no std::vector<bool>; the elements have the type of "
        "the window, so copy elements of another type to a vector of that type first");
  }
  /// Does not compile: says how get is called.
  template <class None = void>
  auto get(anything = {}, anything = {}, anything = {}, anything = {}, anything = {}) {
    static_assert(
        always_false<None>,
        "get: write `epoch.get(rank, index)`, or `epoch.get(rank, index, values)` with a std::vector or "
        "std::span to fill, which has a name, is not const and is no std::vector<bool>; the elements have "
        "the type of the window, so copy elements of another type to a vector of that type first");
  }
  /// Does not compile: says how accumulate is called.
  template <class None = void>
  auto accumulate(anything_but_braces = {}, anything_but_braces = {}, anything_but_braces = {},
                  anything_but_braces = {}, anything_but_braces = {}) {
    static_assert(
        always_false<None>,
        "accumulate: write `epoch.accumulate(rank, index, value)` or `epoch.accumulate(rank, index, "
        "values)`, perhaps with an operation behind it, such as `pgas::op::max{}`; the elements have the "
        "type of the window, so copy elements of another type to a vector of that type first");
  }
  /// Does not compile: says how fetch_add is called.
  template <class None = void>
  auto fetch_add(anything = {}, anything = {}, anything = {}, anything = {}) {
    static_assert(always_false<None>, "fetch_add: write `epoch.fetch_add(rank, index, value)`");
  }
  /// Does not compile: says how compare_exchange is called.
  template <class None = void>
  auto compare_exchange(anything = {}, anything = {}, anything = {}, anything = {}, anything = {}) {
    static_assert(always_false<None>,
                  "compare_exchange: write `epoch.compare_exchange(rank, index, expected, desired)`, where "
                  "expected is a variable of the type of the elements");
  }

  /// The element that a global pointer names.
  [[nodiscard]] global_ref<typename State::memory_state, Hints> operator[](
      with_caller<global_ptr<value_type>> at) {
    global_ptr<value_type> const p = at;
    return to<"operator[]">(p.rank, at.by()).ref(static_cast<std::size_t>(p.index), at.by());
  }
  [[nodiscard]] global_ref<typename State::memory_state, Hints> operator[](placed_numbers at) {
    return (*this)[with_caller(global_ptr<value_type>{at.rank, at.index}, at.by)];
  }

  /// Does not compile: says how an element is named.
  template <class Index>
    requires(!std::is_convertible_v<Index const&, global_ptr<value_type>>)
  auto operator[](Index const&) {
    static_assert(
        always_false<Index>,
        "operator[]: write `epoch[array.at(i, j)]` for a cell, or `epoch[window.pointer(rank, i)]` for an "
        "element, and then `.load()` or `.store(value)`");
  }

  /// Returns when this rank's puts to `target` have arrived. Later gets see the elements that are there at
  /// return. MPI_Win_flush.
  void flush(rank_t target, caller by = here()) { to<"flush">(target, by).flush(); }
  /// Returns when bulk sources may be reused and bulk destinations hold their data. MPI_Win_flush_local.
  void flush_local(rank_t target, caller by = here()) { to<"flush_local">(target, by).flush_local(); }
  /// Returns when this rank's puts to every rank that the epoch is open to have arrived, like flush of each.
  /// Waits for no exposure. MPI_Win_flush_all, which MPI allows under locks only.
  void flush_all() {
    auto& self = opened("flush_all");
    typename State::template boundary_type<boundary_of::remote, Hints> b(self.state().segment);
    b.publish(self.open_to());
    b.refresh(self.open_to());
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  /// Returns when all bulk sources may be reused and all bulk destinations hold their data.
  /// MPI_Win_flush_local_all.
  void flush_local_all() {
    opened("flush_local_all").state().segment.flush_local_all();
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }

 private:
  Derived& opened(called operation) {
    auto& self = static_cast<Derived&>(*this);
    self.check_open(operation);
    return self;
  }
  template <operation_name What>
  auto to(rank_t target, caller by) {
    only_call<State>::check_none(static_cast<Derived&>(*this).state(), What);
    return static_cast<Derived&>(*this).template to<What>(target, by).for_one_access();
  }
  /// The position of a piece's elements in their rank's part.
  [[nodiscard]] std::size_t in(opened_piece const& piece, called operation, std::size_t first,
                               std::size_t count) const {
    PGAS_EXPECTS(
        light, fits(first, count, piece.count),
        throw_error_at(errc::out_of_range, static_cast<Derived const&>(*this).state().job_rank(), operation,
                       {count, " elements do not fit at ", first, " in a piece of ", piece.count}));
    return piece.first + first;
  }
};

/// The accesses of an epoch that is open to every rank.
template <class Derived, class State, hints Hints>
class accesses_to_all : public State::template accesses_type<Derived, Hints> {
 public:
  /// The ranks whose parts may be accessed: everyone.
  [[nodiscard]] static constexpr everyone_t open_to() noexcept { return everyone; }
};

}  // namespace PGAS_NAMESPACE::detail
