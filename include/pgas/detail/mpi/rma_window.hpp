// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <mpi.h>
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/elements/atomic_element.hpp>
#include <pgas/detail/elements/element_request.hpp>
#include <pgas/detail/mpi/member.hpp>
#include <pgas/vocabulary/op.hpp>
#include <type_traits>
#include <utility>

namespace PGAS_NAMESPACE::detail::mpi {

/// The types of which MPI modifies single elements: arithmetic ones of four and of eight bytes. Open MPI
/// 4.1.4 on UCX also accepts smaller ones, reports success, and does nothing.
template <class T>
inline constexpr bool has_type = std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8);

/// MPI's name of an element type.
template <class T>
  requires has_type<T>
[[nodiscard]] MPI_Datatype type_of() noexcept {
  constexpr bool is_short = sizeof(T) == 4;
  if constexpr (std::is_floating_point_v<T>) {
    return is_short ? MPI_FLOAT : MPI_DOUBLE;
  } else if constexpr (std::is_signed_v<T>) {
    return is_short ? MPI_INT32_T : MPI_INT64_T;
  } else {
    return is_short ? MPI_UINT32_T : MPI_UINT64_T;
  }
}

/// MPI's name of an operation.
[[nodiscard]] inline MPI_Op operation_of(op_kind kind) noexcept {
  switch (kind) {
    case op_kind::sum:
      return MPI_SUM;
    case op_kind::product:
      return MPI_PROD;
    case op_kind::min:
      return MPI_MIN;
    case op_kind::max:
      return MPI_MAX;
    case op_kind::bit_and:
      return MPI_BAND;
    case op_kind::bit_or:
      return MPI_BOR;
    case op_kind::bit_xor:
      return MPI_BXOR;
    case op_kind::replace:
      return MPI_REPLACE;
    case op_kind::no_op:
      break;
  }
  return MPI_NO_OP;
}

/// The unsigned number of the same size, whose bytes MPI compares.
template <class T>
using bits_of = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

/// Memory of each rank of a team that MPI reaches: a window of MPI in one passive epoch from its creation on.
///
/// Source: foMPI, Gerstenberger 2014, whose windows also use one long lock_all; MPI-3.1, chapter 11. The
/// memory model must be the unified one, in which a rank's own loads and stores, and the accesses of others,
/// reach the same copy. Displacements are in bytes. The destructor does not block, see communicator. A team
/// of one process has plain memory instead of a window of MPI: the component rdma of Open MPI 4.1 makes no
/// window for one process, and a program that calls MPI_Init itself has that component.
class rma_window {
 public:
  /// The most bytes of one call of MPI, whose counts are int.
  static constexpr std::size_t most = std::size_t{1} << 30U;

  /// Makes zeroed memory of `bytes` bytes on this rank. Collective over the team.
  rma_window(std::shared_ptr<member> mine, std::shared_ptr<communicator> team, std::size_t bytes)
      : member_(std::move(mine)), team_(std::move(team)) {
    member_->free_unused(*team_);
    // Not empty: some MPIs hang on windows without memory (issue 239 of dash-project/dash). Whole lines: if
    // the size is no multiple of 16, MPICH 4.0.2 gives the second rank of a node a base that is up to 8 bytes
    // off (found by tests/conformance/segment.hpp).
    std::size_t const taken = std::max((bytes + line - 1) / line * line, line);
    void* base = nullptr;
    MPI_Win made = MPI_WIN_NULL;
    if (team_->is_alone()) {
      auto memory = new_memory(taken);
      own_ = {static_cast<std::byte*>(memory.get()), bytes};
      kept_ = team_->keep(MPI_WIN_NULL);
      kept_->memory = std::move(memory);
      return;
    }
    hints const info;
#if defined(OPEN_MPI)
    // Open MPI 4.1.4 allocates at multiples of 8 bytes, and its allocation fails on some transports if a node
    // has several ranks (issue 14203 of open-mpi/ompi). Between nodes windows over other memory are as fast.
    // Within a node small accesses to them take 30 to 50 times as long; there `cluster` stores by itself.
    auto memory = new_memory(taken);
    base = memory.get();
    check_call(MPI_Win_create(base, static_cast<MPI_Aint>(taken), 1, info.get(), team_->get(), &made),
               "MPI_Win_create");
    open(made);
    kept_->memory = std::move(memory);
#else
    // MPICH reaches memory of other ranks on its node only if it has allocated that memory.
    check_call(MPI_Win_allocate(static_cast<MPI_Aint>(taken), 1, info.get(), team_->get(), &base, &made),
               "MPI_Win_allocate");
    open(made);
    std::memset(base, 0, taken);
#endif
    own_ = {static_cast<std::byte*>(base), bytes};
  }
  /// Opens memory that this rank already has. Collective over the team.
  rma_window(std::shared_ptr<member> mine, std::shared_ptr<communicator> team, bytes_out own)
      : member_(std::move(mine)), team_(std::move(team)), own_(own) {
    member_->free_unused(*team_);
    if (team_->is_alone()) {
      kept_ = team_->keep(MPI_WIN_NULL);
      return;
    }
    MPI_Win made = MPI_WIN_NULL;
    hints const info;
    check_call(
        MPI_Win_create(own.data(), static_cast<MPI_Aint>(own.size()), 1, info.get(), team_->get(), &made),
        "MPI_Win_create");
    open(made);
  }

  [[nodiscard]] member& owner() const noexcept { return *member_; }
  [[nodiscard]] std::shared_ptr<member> const& shared_owner() const noexcept { return member_; }
  [[nodiscard]] bytes_out own() const noexcept { return own_; }
  [[nodiscard]] MPI_Win get() const noexcept { return kept_->window; }

  // Transfers of at most `most` bytes. Their memory is in use until a flush.

  void put(void const* from, std::size_t bytes, rank_t target, std::size_t at) const {
    check_call(MPI_Put(from, static_cast<int>(bytes), MPI_BYTE, target, static_cast<MPI_Aint>(at),
                       static_cast<int>(bytes), MPI_BYTE, get()),
               "MPI_Put");
  }
  void get(void* into, std::size_t bytes, rank_t target, std::size_t at) const {
    check_call(MPI_Get(into, static_cast<int>(bytes), MPI_BYTE, target, static_cast<MPI_Aint>(at),
                       static_cast<int>(bytes), MPI_BYTE, get()),
               "MPI_Get");
  }

  [[nodiscard]] MPI_Request rput(void const* from, std::size_t bytes, rank_t target, std::size_t at) const {
    MPI_Request made = MPI_REQUEST_NULL;
    check_call(MPI_Rput(from, static_cast<int>(bytes), MPI_BYTE, target, static_cast<MPI_Aint>(at),
                        static_cast<int>(bytes), MPI_BYTE, get(), &made),
               "MPI_Rput");
    return made;
  }
  [[nodiscard]] MPI_Request rget(void* into, std::size_t bytes, rank_t target, std::size_t at) const {
    MPI_Request made = MPI_REQUEST_NULL;
    check_call(MPI_Rget(into, static_cast<int>(bytes), MPI_BYTE, target, static_cast<MPI_Aint>(at),
                        static_cast<int>(bytes), MPI_BYTE, get(), &made),
               "MPI_Rget");
    return made;
  }

  void flush(rank_t target) const {
    if (is_alone()) return;
    knock(target);
    check_call(MPI_Win_flush(target, get()), "MPI_Win_flush");
  }
  /// A local flush of MPICH 4.0.2 may return before a get has arrived (found by random programs), so every
  /// flush is a full one there.
  void flush_local(rank_t target) const {
#if defined(OPEN_MPI)
    if (!is_alone()) check_call(MPI_Win_flush_local(target, get()), "MPI_Win_flush_local");
#else
    flush(target);
#endif
  }

  // Atomic operations on one element, which are complete when the call returns.

  template <class T>
  T fetch_op(rank_t target, std::size_t at, T value, op_kind kind) const {
    if (is_alone()) {
      return with_operation(kind, [&]<class Op>(Op op) -> T {
        if constexpr (operation_on<Op, T>) return own_element<T>(at).fetch_op(value, op);
        return T{};  // refused before: no operation of its bits
      });
    }
    guard const hold(*this, target);
    return fetch_op_in(get(), target, at, value, kind, [&] { knock(target); });
  }
  template <class T>
  void store(rank_t target, std::size_t at, T value) const {
    if (is_alone()) return own_element<T>(at).store(value);
    guard const hold(*this, target);
    check_call(MPI_Accumulate(&value, 1, type_of<T>(), target, static_cast<MPI_Aint>(at), 1, type_of<T>(),
                              MPI_REPLACE, get()),
               "MPI_Accumulate");
    flush(target);
  }
  /// Compares the bytes of the element, and returns the element before.
  template <class T>
  T compare_exchange(rank_t target, std::size_t at, T expected, T desired) const {
    if (is_alone()) return own_element<T>(at).compare_exchange(expected, desired);
    T before{};
    if (!member_->has_compare_and_swap()) {
      guard const hold(*this, target);
      before = fetch_op_in(get(), target, at, T{}, op_kind::no_op);
      if (before == expected) fetch_op_in(get(), target, at, desired, op_kind::replace);
      return before;
    }
    check_call(MPI_Compare_and_swap(&desired, &expected, &before, type_of<T>(), target,
                                    static_cast<MPI_Aint>(at), get()),
               "MPI_Compare_and_swap");
    flush(target);
    return before;
  }

 private:
  static constexpr std::size_t line = part_alignment;

  static std::shared_ptr<void> new_memory(std::size_t bytes) {
    std::shared_ptr<void> memory(std::aligned_alloc(line, bytes), std::free);
    if (memory == nullptr) throw std::bad_alloc();
    std::memset(memory.get(), 0, bytes);
    return memory;
  }
  [[nodiscard]] bool is_alone() const noexcept { return kept_->window == MPI_WIN_NULL; }
  /// An element of this rank's memory, which no window of MPI serves.
  template <class T>
  [[nodiscard]] atomic_element<T> own_element(std::size_t at) const noexcept {
    return atomic_element<T>(*reinterpret_cast<T*>(own_.data() + at));
  }

  /// Hints to MPI.
  class hints {
   public:
    hints() {
      MPI_Info_create(&info_);
      MPI_Info_set(info_, "same_disp_unit", "true");
      MPI_Info_set(info_, "accumulate_ordering", "none");
      MPI_Info_set(info_, "alloc_shared_noncontig", "true");  // each part begins on a page
    }
    hints(hints const&) = delete;
    hints& operator=(hints const&) = delete;
    ~hints() { MPI_Info_free(&info_); }
    [[nodiscard]] MPI_Info get() const noexcept { return info_; }

   private:
    MPI_Info info_ = MPI_INFO_NULL;
  };

  /// Keeps other ranks' atomic operations out of a target where MPI cannot compare and swap; elsewhere it
  /// does nothing.
  class guard {
   public:
    guard(rma_window const& of, rank_t target) {
      if (of.member_->has_compare_and_swap()) return;
      target_ = of.world_rank(target);
      guards_ = of.member_->guards();
      of.member_->await([this] { return fetch_op_in<word>(guards_, target_, 0, 1, op_kind::replace) == 0; },
                        {.operation = "atomic operation"}, "the guard of a part");
    }
    guard(guard const&) = delete;
    guard& operator=(guard const&) = delete;
    ~guard() {
      if (guards_ == MPI_WIN_NULL) return;
      constexpr word is_free = 0;
      MPI_Accumulate(&is_free, 1, MPI_UINT64_T, target_, 0, 1, MPI_UINT64_T, MPI_REPLACE, guards_);
      MPI_Win_flush(target_, guards_);
    }

   private:
    MPI_Win guards_ = MPI_WIN_NULL;
    rank_t target_ = 0;
  };

  struct nothing {
    void operator()() const noexcept {}
  };
  template <class T, class Before = nothing>
  static T fetch_op_in(MPI_Win window, rank_t target, std::size_t at, T value, op_kind kind,
                       Before before_flush = {}) {
    T before{};
    check_call(MPI_Fetch_and_op(&value, &before, type_of<T>(), target, static_cast<MPI_Aint>(at),
                                operation_of(kind), window),
               "MPI_Fetch_and_op");
    before_flush();
    check_call(MPI_Win_flush(target, window), "MPI_Win_flush");
    return before;
  }
  void knock(rank_t target) const {
    if (member_->yields()) member_->knock(world_rank(target));
  }

  /// The number in the job of a rank of the team.
  [[nodiscard]] rank_t world_rank(rank_t rank) const {
    MPI_Group team = MPI_GROUP_NULL;
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Comm_group(team_->get(), &team);
    MPI_Comm_group(member_->world()->get(), &world);
    int in_world = 0;
    MPI_Group_translate_ranks(team, 1, &rank, world, &in_world);
    MPI_Group_free(&team);
    MPI_Group_free(&world);
    return in_world;
  }

  void open(MPI_Win made) {
    check_call(MPI_Win_set_errhandler(made, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler");
    kept_ = team_->keep(made);
    int* model = nullptr;
    int found = 0;
    MPI_Win_get_attr(made, MPI_WIN_MODEL, static_cast<void*>(&model), &found);
    if (found == 0 || *model != MPI_WIN_UNIFIED) {
      throw error(
          errc::unsupported, member_->of_job().rank(), "make_window",
          "this MPI keeps a second copy of a window's memory (MPI_WIN_SEPARATE); choose a transport of "
          "MPI whose windows are unified");
    }
    check_call(MPI_Win_lock_all(MPI_MODE_NOCHECK, made), "MPI_Win_lock_all");
  }

  std::shared_ptr<member> member_;
  std::shared_ptr<communicator> team_;
  std::shared_ptr<kept_window> kept_;
  bytes_out own_;
};

}  // namespace PGAS_NAMESPACE::detail::mpi
