// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/backends/mpi/transfers.hpp>
#include <pgas/detail/control/target_list.hpp>
#include <pgas/detail/job/ranks.hpp>
#include <pgas/detail/mpi/rma_window.hpp>
#include <type_traits>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// Payload in a window of MPI. A transfer is a call of MPI, and a flush is MPI's flush.
///
/// A put of up to `small` bytes copies them to a ring, from which MPI sends. A longer one waits until MPI has
/// read its source. This rank's own part is plain memory, also for its own puts and gets. If all parts have
/// one size, no rank keeps a table of sizes.
class rma_segment {
 public:
  template <class T>
  static constexpr bool is_atomic = mpi::has_type<T>;

  /// Opens the window. Collective over the team.
  rma_segment(mpi::rma_window window, team_ranks ranks, MPI_Comm team)
      : window_(std::move(window)), ranks_(std::move(ranks)) {
    learn_sizes(team);
  }

  [[nodiscard]] rank_t rank() const noexcept { return ranks_.self(); }
  [[nodiscard]] rank_t size() const noexcept { return ranks_.size(); }
  [[nodiscard]] std::size_t part_bytes(rank_t rank) const noexcept {
    return sizes_.empty() ? size_of_all_ : sizes_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] bytes_out local() const noexcept { return window_.own(); }

  void put(location at, bytes_in from) {
    if (from.empty()) return;
    if (at.rank == rank()) return static_cast<void>(std::memcpy(own(at), from.data(), from.size()));
    begin(at.rank);
    if (from.size() <= small) {
      window_.put(copy_of(from), from.size(), at.rank, at.offset);
    } else {
      in_pieces(from.size(), [&](std::size_t first, std::size_t bytes) {
        window_.put(from.data() + first, bytes, at.rank, at.offset + first);
      });
      window_.flush_local(at.rank);
    }
  }
  void get(location at, bytes_out into) {
    if (into.empty()) return;
    if (at.rank == rank()) return static_cast<void>(std::memcpy(into.data(), own(at), into.size()));
    begin(at.rank);
    in_pieces(into.size(), [&](std::size_t first, std::size_t bytes) {
      window_.get(into.data() + first, bytes, at.rank, at.offset + first);
    });
  }
  [[nodiscard]] mpi::transfer_request rput(location at, bytes_in from) {
    mpi::transfer_request all(window_.shared_owner());
    start_put(all, at, from);
    return all;
  }
  [[nodiscard]] mpi::transfer_request rget(location at, bytes_out into) {
    mpi::transfer_request all(window_.shared_owner());
    start_get(all, at, into);
    return all;
  }

  // MPI's flushes of all targets are not used. On UCX 1.13, with Open MPI 4.1.4 and with MPICH 4.0.2, they
  // return before puts have left their sources (found by tests/window/window_test.cpp), and a flush of one
  // target does not.

  void flush(rank_t target) {
    if (under_way_.erase(target)) window_.flush(target);
  }
  void flush_all() {
    for (rank_t const target : under_way_.all()) window_.flush(target);
    under_way_.clear();
  }
  void flush_local(rank_t target) {
    if (under_way_.contains(target)) window_.flush_local(target);
  }
  void flush_local_all() {
    for (rank_t const target : under_way_.all()) window_.flush_local(target);
  }

  /// Called while an exception passes: the destinations of gets may be destroyed.
  void abandon() noexcept {
    for (rank_t const target : under_way_.all()) static_cast<void>(MPI_Win_flush(target, window_.get()));
    under_way_.clear();
  }

  void put_rows(location at, std::size_t pitch, std::byte const* from, std::size_t from_pitch,
                row_shape shape) {
    if (!fits_a_type(shape) || at.rank == rank()) {
      for (std::size_t row = 0; row < shape.rows; ++row)
        put({at.rank, at.offset + row * pitch}, {from + row * from_pitch, shape.row_bytes});
      return;
    }
    begin(at.rank);
    std::size_t const bytes = shape.rows * shape.row_bytes;
    bool const copies = bytes <= small;
    void const* source = from;
    MPI_Datatype source_type = MPI_BYTE;
    int source_count = static_cast<int>(bytes);
    if (copies) {
      std::byte* const packed = room_for(bytes);
      for (std::size_t row = 0; row < shape.rows; ++row)
        std::memcpy(packed + row * shape.row_bytes, from + row * from_pitch, shape.row_bytes);
      source = packed;
    } else {
      source_type = types_.of(shape, from_pitch);
      source_count = 1;
    }
    mpi::check_call(MPI_Put(source, source_count, source_type, at.rank, static_cast<MPI_Aint>(at.offset), 1,
                            types_.of(shape, pitch), window_.get()),
                    "MPI_Put");
    if (!copies) window_.flush_local(at.rank);
  }
  void get_rows(location at, std::size_t pitch, std::byte* into, std::size_t into_pitch, row_shape shape) {
    if (!fits_a_type(shape) || at.rank == rank()) {
      for (std::size_t row = 0; row < shape.rows; ++row)
        get({at.rank, at.offset + row * pitch}, {into + row * into_pitch, shape.row_bytes});
      return;
    }
    begin(at.rank);
    mpi::check_call(MPI_Get(into, 1, types_.of(shape, into_pitch), at.rank, static_cast<MPI_Aint>(at.offset),
                            1, types_.of(shape, pitch), window_.get()),
                    "MPI_Get");
  }
  [[nodiscard]] mpi::transfer_request rput_rows(location at, std::size_t pitch, std::byte const* from,
                                                std::size_t from_pitch, row_shape shape) {
    mpi::transfer_request one(window_.shared_owner());
    if (!requests_a_type(shape) || at.rank == rank()) {
      for (std::size_t row = 0; row < shape.rows; ++row)
        start_put(one, {at.rank, at.offset + row * pitch}, {from + row * from_pitch, shape.row_bytes});
      return one;
    }
    begin(at.rank);
    MPI_Request made = MPI_REQUEST_NULL;
    mpi::check_call(MPI_Rput(from, 1, types_.of(shape, from_pitch), at.rank, static_cast<MPI_Aint>(at.offset),
                             1, types_.of(shape, pitch), window_.get(), &made),
                    "MPI_Rput");
    one.add(made);
    return one;
  }
  [[nodiscard]] mpi::transfer_request rget_rows(location at, std::size_t pitch, std::byte* into,
                                                std::size_t into_pitch, row_shape shape) {
    mpi::transfer_request one(window_.shared_owner());
    if (!requests_a_type(shape) || at.rank == rank()) {
      for (std::size_t row = 0; row < shape.rows; ++row)
        start_get(one, {at.rank, at.offset + row * pitch}, {into + row * into_pitch, shape.row_bytes});
      return one;
    }
    begin(at.rank);
    MPI_Request made = MPI_REQUEST_NULL;
    mpi::check_call(MPI_Rget(into, 1, types_.of(shape, into_pitch), at.rank, static_cast<MPI_Aint>(at.offset),
                             1, types_.of(shape, pitch), window_.get(), &made),
                    "MPI_Rget");
    one.add(made);
    return one;
  }

  // Atomic operations are MPI's own, on this rank's part too, since those of the processor and of the network
  // need not agree (issue 14370 of open-mpi/ompi). MPI compares whole numbers only, so an element is
  // exchanged as its bits.

  template <class T, class Op>
  T fetch_op(location at, T value, Op op) const {
#if defined(OPEN_MPI)
    // On UCX, Open MPI 4.1.4 adds floating point numbers as whole ones (found by
    // tests/window/atomics_test.cpp).
    if constexpr (std::is_floating_point_v<T> && Op::kind != op_kind::replace && Op::kind != op_kind::no_op) {
      T old = atomic_load<T>(at);
      for (;;) {
        T const found = compare_exchange(at, old, op(old, value));
        if (std::bit_cast<mpi::bits_of<T>>(found) == std::bit_cast<mpi::bits_of<T>>(old)) return old;
        old = found;
      }
    }
#endif
    static_cast<void>(op);
    return window_.fetch_op(at.rank, at.offset, value, Op::kind);
  }
  template <class T>
  T compare_exchange(location at, T expected, T desired) const {
    using bits = mpi::bits_of<T>;
    return std::bit_cast<T>(window_.compare_exchange(at.rank, at.offset, std::bit_cast<bits>(expected),
                                                     std::bit_cast<bits>(desired)));
  }
  template <class T>
  T atomic_load(location at) const {
    return window_.fetch_op(at.rank, at.offset, T{}, op_kind::no_op);
  }
  template <class T>
  void atomic_store(location at, T value) const {
    window_.store(at.rank, at.offset, value);
  }

 private:
  static constexpr std::size_t small = 4096;
  static constexpr std::size_t ring_bytes = std::size_t{64} * 1024;

  [[nodiscard]] std::byte* own(location at) const noexcept { return window_.own().data() + at.offset; }

  /// Records that a transfer to the target is under way.
  void begin(rank_t target) { under_way_.insert(target); }

  /// Starts a transfer, and adds what is under way to a request.
  void start_put(mpi::transfer_request& to, location at, bytes_in from) {
    if (at.rank == rank()) return put(at, from);
    begin(at.rank);
    in_pieces(from.size(), [&](std::size_t first, std::size_t bytes) {
      to.add(window_.rput(from.data() + first, bytes, at.rank, at.offset + first));
    });
  }
  void start_get(mpi::transfer_request& to, location at, bytes_out into) {
    if (at.rank == rank()) return get(at, into);
    begin(at.rank);
    in_pieces(into.size(), [&](std::size_t first, std::size_t bytes) {
      to.add(window_.rget(into.data() + first, bytes, at.rank, at.offset + first));
    });
  }

  template <class Move>
  static void in_pieces(std::size_t bytes, Move&& move) {
    for (std::size_t first = 0; first < bytes; first += mpi::rma_window::most)
      move(first, std::min(bytes - first, mpi::rma_window::most));
  }
  /// Returns whether MPI moves the rows as one derived type.
  static bool fits_a_type(row_shape shape) noexcept {
    return shape.rows > 1 && shape.rows < mpi::rma_window::most && shape.row_bytes < mpi::rma_window::most;
  }
  /// The same for a request. On MPICH such a request completes before the data is there (issue 7896 of
  /// pmodels/mpich), so each row is a request.
  static bool requests_a_type(row_shape shape) noexcept {
#if defined(OPEN_MPI)
    return fits_a_type(shape);
#else
    static_cast<void>(shape);
    return false;
#endif
  }

  /// Room for bytes that MPI reads until the next local flush.
  std::byte* room_for(std::size_t bytes) {
    if (!ring_) ring_ = std::make_unique<std::array<std::byte, ring_bytes>>();
    if (taken_ + bytes > ring_bytes) {
      flush_local_all();
      taken_ = 0;
    }
    std::byte* const room = ring_->data() + taken_;
    taken_ += bytes;
    return room;
  }
  std::byte const* copy_of(bytes_in from) {
    std::byte* const room = room_for(from.size());
    std::memcpy(room, from.data(), from.size());
    return room;
  }

  void learn_sizes(MPI_Comm team) {
    std::uint64_t const mine = window_.own().size();
    std::array<std::uint64_t, 2> const extremes{mine, ~mine};
    std::array<std::uint64_t, 2> most{};
    mpi::check_call(MPI_Allreduce(extremes.data(), most.data(), 2, MPI_UINT64_T, MPI_MAX, team),
                    "MPI_Allreduce");
    size_of_all_ = most[0];
    if (most[0] == ~most[1]) return;
    sizes_.resize(static_cast<std::size_t>(size()));
    mpi::check_call(MPI_Allgather(&mine, 1, MPI_UINT64_T, sizes_.data(), 1, MPI_UINT64_T, team),
                    "MPI_Allgather");
  }

  mpi::rma_window window_;
  team_ranks ranks_;
  std::uint64_t size_of_all_ = 0;
  std::vector<std::uint64_t> sizes_;  ///< of each part, if they differ
  mpi::row_types types_;
  std::unique_ptr<std::array<std::byte, ring_bytes>> ring_;  ///< sources of small puts
  std::size_t taken_ = 0;                                    ///< bytes of the ring
  target_list under_way_;  ///< the targets of transfers that may be under way
};
static_assert(local_segment<rma_segment> && strided_request_segment<rma_segment>);
static_assert(atomic_segment<rma_segment, double, op::sum> && abandoned_segment<rma_segment>);

}  // namespace PGAS_NAMESPACE::detail
