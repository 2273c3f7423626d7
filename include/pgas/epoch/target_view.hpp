// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <pgas/detail/processor/prefetch_to_write.hpp>
#include <pgas/epoch/atomic_updates.hpp>
#include <utility>

namespace PGAS_NAMESPACE {

template <class State, hints Hints, part_is Where = State::parts>
class global_ref;

/// One rank's part of a window, open for access; `epoch.to(rank)` returns it. Call that before a loop.
///
/// The epoch's protocol has already let this rank in, so on shared memory a `put` of one element is the store
/// itself. A view is valid until its epoch closes.
///
/// The threads of a rank may call the library one at a time, as include/pgas/README.md says under "Limits": a
/// view, its copies and its epoch share state that no lock guards.
///
/// Every member is one-sided. Indices and counts are in elements of the target's part. Two accesses to one
/// element in one epoch, at least one of them a put, are a race, unless both are atomic operations
/// (accumulate and those below).
///
/// Completion at this rank: operations on one element are complete when they return. The source of a bulk put
/// may be reused, and the destination of a bulk get may be read, after flush_local, flush or close. So a
/// temporary object that owns its elements, as in put(0, std::vector{1, 2}), does not compile there.
/// Completion at the target: puts have arrived after flush or close; an atomic operation has happened when it
/// returns.
///
/// Throws errc::out_of_range with rank, index and bound: for one element at assertion level normal, for many
/// at light. Throws errc::invalid_argument at light where source and destination of many elements overlap, as
/// far as this rank can see it: both lie in its own part, or in that of a near target. Such a transfer is
/// undefined in MPI-3 and in OpenSHMEM, too.
///
/// If ranks of a node share memory and nodes do not, the part is near or far. An access to one element
/// then tests that; `visit` tests it once.
template <class State, hints Hints, part_is Where = State::parts>
class target_view : public detail::atomic_updates<State, Hints, Where> {
  using base = detail::atomic_updates<State, Hints, Where>;

 public:
  /// For epochs.
  target_view(State& state, rank_t target) : base(state, target) {}
  /// For visit.
  template <part_is Asked>
    requires(Asked == part_is::near_or_far && Where != Asked)
  explicit target_view(target_view<State, Hints, Asked> const& asked) noexcept : base(asked) {}

  /// Returns use(view) with a view of this part whose type says whether the part is near. Use it around a
  /// loop: the compiler makes two loops, and a put in the near one is a store and nothing else. Where all
  /// parts are near, or all are far, it makes one. OpenSHMEM: shmem_ptr.
  template <class Use>
  decltype(auto) visit(Use&& use) const {
    if constexpr (Where != part_is::near_or_far) {
      return std::forward<Use>(use)(*this);
    } else if (this->is_near()) {
      return std::forward<Use>(use)(target_view<State, Hints, part_is::near>(*this));
    } else {
      return std::forward<Use>(use)(target_view<State, Hints, part_is::far>(*this));
    }
  }

  /// The same view for an epoch's short forms, which use it for one access only.
  [[nodiscard]] target_view for_one_access() const noexcept {
    target_view passing = *this;
    passing.memory_.disable();
    return passing;
  }

  /// Asks for the line of element i, which this rank is about to modify: `part.prefetch(place[k + 32])`
  /// before `part.accumulate(place[k], value)`. Never waits, and changes nothing that a program can see.
  ///
  /// An atomic operation waits for its line, and few of them are under way at a time. Costs one instruction
  /// if the part is near, and nothing if it is far.
  void prefetch(std::size_t i, detail::caller by = detail::here()) const {
    this->check_element({"prefetch", by}, i);
    if constexpr (Where != part_is::far) {
      if (this->is_near()) detail::prefetch_to_write(this->elements() + i);
    }
  }

  /// A reference to element i. Its load and store are spelled out, since each may be a message.
  [[nodiscard]] global_ref<State, Hints, Where> ref(std::size_t i, detail::caller by = detail::here()) const {
    this->check_element({"ref", by}, i);
    return global_ref<State, Hints, Where>(for_one_access(), i);
  }
  /// The same as ref(i).
  [[nodiscard]] global_ref<State, Hints, Where> operator[](detail::with_caller<std::size_t> i) const {
    return ref(i, i.by());
  }

  /// Returns when every put of this rank to this part has arrived. Later gets see the elements that are there
  /// at return. MPI_Win_flush.
  void flush() const {
    if constexpr (Where == part_is::near && State::parts == part_is::near_or_far) {
      std::atomic_signal_fence(std::memory_order_seq_cst);  // stores are complete when they are issued
      return;
    }
    typename State::template boundary_type<boundary_of::remote, Hints> b(this->segment());
    rank_t const target =
        this->rank();  // a local: through `this` the compiler keeps a test of the group's end in a loop
    b.publish(group(&target, 1));
    b.refresh(group(&target, 1));
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  /// Returns when sources of bulk puts may be reused and destinations of bulk gets may be read.
  /// MPI_Win_flush_local.
  void flush_local() const {
    if constexpr (Where == part_is::near && State::parts == part_is::near_or_far) {
      std::atomic_signal_fence(std::memory_order_seq_cst);
      return;
    }
    this->segment().flush_local(this->rank());
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
};

}  // namespace PGAS_NAMESPACE
