// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <exception>
#include <pgas/concepts/recorder.hpp>
#include <pgas/support/algorithms.hpp>
#include <pgas/support/local_shared_ptr.hpp>
#include <pgas/support/uncaught_since.hpp>
#include <pgas/vocabulary/global_ptr.hpp>
#include <pgas/vocabulary/opened_piece.hpp>
#include <pgas/window/epoch_phase.hpp>
#include <pgas/window/global_ref.hpp>
#include <pgas/window/only_call.hpp>
#include <pgas/window/refused_temporaries.hpp>
#include <pgas/window/state.hpp>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The name of an operation as a template argument: errors tell it, and no call has to pass it.
template <std::size_t N>
struct operation_name {
  char text[N];  ///< the name and a 0

  /// Copies a string literal.
  consteval operation_name(char const (&name)[N]) { std::copy_n(name, N, text); }
  operator std::string_view() const noexcept { return {text, N - 1}; }
};

/// An epoch of any kind is open from construction until close() or destruction.
///
/// `Derived` has `finish()`, which ends the epoch and may throw, and `operation`, its name in messages. `Use`
/// keeps the state. It is a noted_use if the state has a note of each such epoch that is open. Then `Derived`
/// also has `abandon()`, which fails the job and takes the note away.
template <class Derived, class State, class Use = local_use<State>>
class epoch {
  static constexpr bool is_noted = std::same_as<Use, noted_use<State>>;

 public:
  /// Takes over an open epoch; `other` is closed then.
  epoch(epoch&& other) noexcept
      : state_(other.state_),  // not moved: a moved-from epoch says that it is closed, and on which rank
        span_(std::move(other.span_)),
        uncaught_(other.uncaught_),
        phase_(std::exchange(other.phase_, other.is_open() ? epoch_phase::moved : other.phase_)) {
    if constexpr (is_noted) other.state_.keep();
  }
  epoch& operator=(epoch&&) = delete;

  /// Ends the epoch now, and throws the errors of its end. A second close is an error.
  void close() {
    check_open("close");
    only_call const call(*state_, "close");
    phase_ = epoch_phase::closed;
    if constexpr (is_noted) state_.keep();
    static_cast<Derived&>(*this).finish();
    span_.end();
  }

  /// Returns whether the epoch is open: false after close(), and if it was moved from.
  [[nodiscard]] bool is_open() const noexcept { return phase_ == epoch_phase::open; }

  /// The state on which the epoch is open, for containers and for functions on epochs.
  [[nodiscard]] State& state() const noexcept { return *state_; }
  /// Throws errc::wrong_order unless the epoch is open.
  void check_open(std::string_view operation) const {
    PGAS_EXPECTS(light, is_open(), refuse_epoch(*state_, operation, phase_));
  }

 protected:
  /// Opens with `ranks`; an empty group means all ranks.
  explicit epoch(local_shared_ptr<State> const& state, group ranks = {}) noexcept
      : state_(state), span_(begin(ranks)) {}
  /// The same. Then the Derived calls settle_uncaught() unless it knows that uncaught().seen() is 0.
  epoch(local_shared_ptr<State> const& state, group ranks, uncaught_since::unsettled_t uncaught) noexcept
      : state_(state), span_(begin(ranks)), uncaught_(uncaught) {}
  [[nodiscard]] uncaught_since uncaught() const noexcept { return uncaught_; }
  void settle_uncaught() noexcept { uncaught_.settle(); }
  ~epoch() = default;

  /// The destructor of a Derived calls this. It closes the epoch, and keeps an error for the rank's next
  /// call. While an exception passes it does not synchronize, but fails the job, so that no rank waits for
  /// this one.
  ///
  /// Inlined also where an exception passes. A call there would keep the epoch's members in memory
  /// everywhere.
  [[gnu::always_inline]] void end() noexcept {
    if (!is_open()) return;
    phase_ = epoch_phase::closed;
    if (uncaught_.any()) [[unlikely]] {
      if constexpr (is_noted) {
        state_.keep();
        static_cast<Derived&>(*this).abandon();
      } else {
        state_->abandon(Derived::operation);
      }
      return;
    }
    try {
      only_call const call(*state_, Derived::operation);
      static_cast<Derived&>(*this).finish();
    } catch (...) {
      state_->team->deferred->record(std::current_exception());
    }
  }

  /// Marks an end that was found instead of waited for.
  void mark_closed() {
    phase_ = epoch_phase::closed;
    span_.end();
  }
  /// Returns whether the epoch goes on in another object.
  [[nodiscard]] bool is_moved_from() const noexcept { return phase_ == epoch_phase::moved; }
  /// Marks an epoch that could not be opened.
  void mark_never_open() noexcept {
    phase_ = epoch_phase::closed;
    span_.forget();
  }
  /// Marks the end of one epoch and the beginning of the next.
  void mark_next() {
    span_.end();
    span_ = begin({});
  }

  Use state_;  ///< shared, so that the window may move, or go, before the epoch

 private:
  [[nodiscard]] auto begin(group ranks) const {
    return begin_span(state_->control, span_kind::epoch, Derived::operation, ranks);
  }

  [[no_unique_address]] span_on<typename State::control_type> span_;
  uncaught_since uncaught_;
  epoch_phase phase_ = epoch_phase::open;
};

/// The accesses of an epoch. Each is one access through the target view `to(rank)`, for code that touches a
/// target once. In a loop, take `to(rank)` before it.
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
  decltype(auto) visit(rank_t target, Use&& use) {
    return static_cast<Derived&>(*this).template to<"visit">(target).visit(std::forward<Use>(use));
  }

  /// Puts one element, many from private memory, a piece of the own part, or rows: see target_view::put.
  /// MPI_Put.
  [[gnu::always_inline]] void put(rank_t target, std::size_t i, value_type const& value) {
    to<"put">(target).put(i, value);
  }
  void put(rank_t target, std::size_t first, std::span<value_type const> values) {
    to<"put">(target).put(first, values);
  }
  template <std::same_as<own_part> Piece>
  void put(rank_t target, std::size_t first, Piece from) {
    to<"put">(target).put(first, from);
  }
  void put(rank_t target, rows_of at, std::span<value_type const> values) {
    to<"put">(target).put(at, values);
  }
  void put(rank_t target, rows_of at, value_type const* from, std::size_t from_pitch) {
    to<"put">(target).put(at, from, from_pitch);
  }
  /// Returns one element, or gets many into private memory, the own part or rows: see target_view::get.
  /// MPI_Get.
  [[nodiscard, gnu::always_inline]] value_type get(rank_t target, std::size_t i) {
    return to<"get">(target).get(i);
  }
  void get(rank_t target, std::size_t first, std::span<value_type> values) {
    to<"get">(target).get(first, values);
  }
  template <std::same_as<own_part> Piece>
  void get(rank_t target, std::size_t first, Piece into) {
    to<"get">(target).get(first, into);
  }
  void get(rank_t target, rows_of at, std::span<value_type> values) { to<"get">(target).get(at, values); }
  void get(rank_t target, rows_of at, value_type* into, std::size_t into_pitch) {
    to<"get">(target).get(at, into, into_pitch);
  }
  /// Starts a put and returns its request: see target_view::rput. MPI_Rput.
  [[nodiscard]] done rput(rank_t target, std::size_t i, value_type const& value) {
    return to<"rput">(target).rput(i, value);
  }
  [[nodiscard]] auto rput(rank_t target, std::size_t first, std::span<value_type const> values) {
    return to<"rput">(target).rput(first, values);
  }
  template <std::same_as<own_part> Piece>
  [[nodiscard]] done rput(rank_t target, std::size_t first, Piece from) {
    return to<"rput">(target).rput(first, from);
  }
  [[nodiscard]] auto rput(rank_t target, rows_of at, std::span<value_type const> values) {
    return to<"rput">(target).rput(at, values);
  }
  [[nodiscard]] auto rput(rank_t target, rows_of at, value_type const* from, std::size_t from_pitch) {
    return to<"rput">(target).rput(at, from, from_pitch);
  }
  /// Starts a get and returns its request: see target_view::rget. MPI_Rget.
  [[nodiscard]] done rget(rank_t target, std::size_t i, value_type& into) {
    return to<"rget">(target).rget(i, into);
  }
  [[nodiscard]] auto rget(rank_t target, std::size_t first, std::span<value_type> values) {
    return to<"rget">(target).rget(first, values);
  }
  template <std::same_as<own_part> Piece>
  [[nodiscard]] done rget(rank_t target, std::size_t first, Piece into) {
    return to<"rget">(target).rget(first, into);
  }
  [[nodiscard]] auto rget(rank_t target, rows_of at, std::span<value_type> values) {
    return to<"rget">(target).rget(at, values);
  }
  [[nodiscard]] auto rget(rank_t target, rows_of at, value_type* into, std::size_t into_pitch) {
    return to<"rget">(target).rget(at, into, into_pitch);
  }
  /// Combines one value, or many, with elements, each in one indivisible step: see target_view::accumulate.
  /// MPI_Accumulate.
  template <operation_argument Op = op::sum>
  void accumulate(rank_t target, std::size_t i, value_type const& value, Op op = {}) {
    to<"accumulate">(target).accumulate(i, value, op);
  }
  template <operation_argument Op = op::sum>
  void accumulate(rank_t target, std::size_t first, std::span<value_type const> values, Op op = {}) {
    to<"accumulate">(target).accumulate(first, values, op);
  }
  /// Like accumulate, and returns the value before, or fills `before`. MPI_Get_accumulate.
  template <operation_argument Op = op::sum>
  [[nodiscard]] value_type get_accumulate(rank_t target, std::size_t i, value_type const& value, Op op = {}) {
    return to<"get_accumulate">(target).get_accumulate(i, value, op);
  }
  template <operation_argument Op = op::sum>
  void get_accumulate(rank_t target, std::size_t first, std::span<value_type const> values,
                      std::span<value_type> before, Op op = {}) {
    to<"get_accumulate">(target).get_accumulate(first, values, before, op);
  }
  /// Combine values into rows of the part: see target_view::accumulate. MPI_Accumulate and MPI_Get_accumulate
  /// with vector types.
  template <operation_argument Op = op::sum>
  void accumulate(rank_t target, rows_of at, std::span<value_type const> values, Op op = {}) {
    to<"accumulate">(target).accumulate(at, values, op);
  }
  template <operation_argument Op = op::sum>
  void get_accumulate(rank_t target, rows_of at, std::span<value_type const> values,
                      std::span<value_type> before, Op op = {}) {
    to<"get_accumulate">(target).get_accumulate(at, values, before, op);
  }
  /// Like accumulate, and returns a request: see target_view::raccumulate. MPI_Raccumulate.
  template <operation_argument Op = op::sum>
  [[nodiscard]] done raccumulate(rank_t target, std::size_t i, value_type const& value, Op op = {}) {
    return to<"raccumulate">(target).raccumulate(i, value, op);
  }
  template <operation_argument Op = op::sum>
  [[nodiscard]] done raccumulate(rank_t target, rows_of at, std::span<value_type const> values, Op op = {}) {
    return to<"raccumulate">(target).raccumulate(at, values, op);
  }
  /// Like get_accumulate, and returns a request: see target_view::rget_accumulate. MPI_Rget_accumulate.
  template <operation_argument Op = op::sum>
  [[nodiscard]] done rget_accumulate(rank_t target, std::size_t i, value_type const& value,
                                     value_type& before, Op op = {}) {
    return to<"rget_accumulate">(target).rget_accumulate(i, value, before, op);
  }
  template <operation_argument Op = op::sum>
  [[nodiscard]] done rget_accumulate(rank_t target, rows_of at, std::span<value_type const> values,
                                     std::span<value_type> before, Op op = {}) {
    return to<"rget_accumulate">(target).rget_accumulate(at, values, before, op);
  }
  template <operation_argument Op = op::sum>
  [[nodiscard]] done raccumulate(rank_t target, std::size_t first, std::span<value_type const> values,
                                 Op op = {}) {
    return to<"raccumulate">(target).raccumulate(first, values, op);
  }
  template <operation_argument Op = op::sum>
  [[nodiscard]] done rget_accumulate(rank_t target, std::size_t first, std::span<value_type const> values,
                                     std::span<value_type> before, Op op = {}) {
    return to<"rget_accumulate">(target).rget_accumulate(first, values, before, op);
  }
  /// Adds to an element and returns its value before. MPI_Fetch_and_op, shmem_atomic_fetch_add.
  [[nodiscard]] value_type fetch_add(rank_t target, std::size_t i, value_type const& value) {
    return to<"fetch_add">(target).fetch_add(i, value);
  }
  /// Replaces an element and returns its value before. MPI_Fetch_and_op with MPI_REPLACE, shmem_atomic_swap.
  [[nodiscard]] value_type exchange(rank_t target, std::size_t i, value_type const& value) {
    return to<"exchange">(target).exchange(i, value);
  }
  /// Replaces an element that has the bytes of `expected` and returns true; else copies it to `expected`.
  /// MPI_Compare_and_swap.
  [[nodiscard]] bool compare_exchange(rank_t target, std::size_t i, value_type& expected,
                                      value_type const& desired) {
    return to<"compare_exchange">(target).compare_exchange(i, expected, desired);
  }
  /// Returns an element with acquire order: a loop may wait for a value. shmem_atomic_fetch.
  [[nodiscard]] value_type atomic_load(rank_t target, std::size_t i) {
    return to<"atomic_load">(target).atomic_load(i);
  }
  /// Replaces an element with release order. shmem_atomic_set.
  void atomic_store(rank_t target, std::size_t i, value_type const& value) {
    to<"atomic_store">(target).atomic_store(i, value);
  }

  /// The same for a piece of a heap, `epoch.put(heap.open(handle), i, value)`. Indices count from the first
  /// element of the piece. Throws errc::out_of_range past its last one.
  void put(opened_piece const& piece, std::size_t i, value_type const& value) {
    put(piece.rank, in(piece, "put", i, 1), value);
  }
  void put(opened_piece const& piece, std::size_t first, std::span<value_type const> values) {
    put(piece.rank, in(piece, "put", first, values.size()), values);
  }
  [[nodiscard]] value_type get(opened_piece const& piece, std::size_t i) {
    return get(piece.rank, in(piece, "get", i, 1));
  }
  void get(opened_piece const& piece, std::size_t first, std::span<value_type> values) {
    get(piece.rank, in(piece, "get", first, values.size()), values);
  }
  [[nodiscard]] auto rput(opened_piece const& piece, std::size_t first, std::span<value_type const> values) {
    return rput(piece.rank, in(piece, "rput", first, values.size()), values);
  }
  [[nodiscard]] auto rget(opened_piece const& piece, std::size_t first, std::span<value_type> values) {
    return rget(piece.rank, in(piece, "rget", first, values.size()), values);
  }
  template <operation_argument Op = op::sum>
  [[nodiscard]] value_type get_accumulate(opened_piece const& piece, std::size_t i, value_type const& value,
                                          Op op = {}) {
    return get_accumulate(piece.rank, in(piece, "get_accumulate", i, 1), value, op);
  }
  template <operation_argument Op = op::sum>
  void get_accumulate(opened_piece const& piece, std::size_t first, std::span<value_type const> values,
                      std::span<value_type> before, Op op = {}) {
    get_accumulate(piece.rank, in(piece, "get_accumulate", first, values.size()), values, before, op);
  }
  template <operation_argument Op = op::sum>
  void accumulate(opened_piece const& piece, std::size_t i, value_type const& value, Op op = {}) {
    accumulate(piece.rank, in(piece, "accumulate", i, 1), value, op);
  }
  template <operation_argument Op = op::sum>
  void accumulate(opened_piece const& piece, std::size_t first, std::span<value_type const> values,
                  Op op = {}) {
    accumulate(piece.rank, in(piece, "accumulate", first, values.size()), values, op);
  }

  /// The element that a global pointer names.
  [[nodiscard]] global_ref<typename State::memory_state, Hints> operator[](global_ptr<value_type> p) {
    return to<"operator[]">(p.rank).ref(static_cast<std::size_t>(p.index));
  }

  /// Returns when this rank's puts to `target` have arrived. Later gets see the elements that are there at
  /// return. MPI_Win_flush.
  void flush(rank_t target) { to<"flush">(target).flush(); }
  /// Returns when bulk sources may be reused and bulk destinations hold their data. MPI_Win_flush_local.
  void flush_local(rank_t target) { to<"flush_local">(target).flush_local(); }
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
  Derived& opened(std::string_view operation) {
    auto& self = static_cast<Derived&>(*this);
    self.check_open(operation);
    return self;
  }
  template <operation_name What>
  auto to(rank_t target) {
    only_call<State>::check_none(static_cast<Derived&>(*this).state(), What);
    return static_cast<Derived&>(*this).template to<What>(target).for_one_access();
  }
  /// The position of a piece's elements in their rank's part.
  [[nodiscard]] std::size_t in(opened_piece const& piece, std::string_view operation, std::size_t first,
                               std::size_t count) const {
    PGAS_EXPECTS(
        light, fits(first, count, piece.count),
        throw_error(errc::out_of_range, static_cast<Derived const&>(*this).state().job_rank(), operation,
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

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
