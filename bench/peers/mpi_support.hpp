// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <mpi.h>

#include <array>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "../shapes.hpp"

/// The common parts of the programs on MPI.
namespace bench::mpi {

/// A window that MPI allocates, so that it can use shared memory, with the info keys that make atomics cheap.
class allocated_window {
 public:
  explicit allocated_window(std::size_t bytes, MPI_Comm ranks = MPI_COMM_WORLD) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "accumulate_ordering", "none");
    MPI_Info_set(info, "acc_single_intrinsic", "true");
    MPI_Info_set(info, "same_disp_unit", "true");
    MPI_Win_allocate(static_cast<MPI_Aint>(bytes), 1, info, ranks, &base_, &win_);
    MPI_Info_free(&info);
  }
  allocated_window(allocated_window const&) = delete;
  allocated_window& operator=(allocated_window const&) = delete;
  ~allocated_window() { MPI_Win_free(&win_); }

  [[nodiscard]] MPI_Win get() const noexcept { return win_; }
  [[nodiscard]] std::byte* data() const noexcept { return static_cast<std::byte*>(base_); }

  /// Sets all bytes to zero, on all ranks.
  void clear(std::size_t bytes, MPI_Comm ranks = MPI_COMM_WORLD) const {
    std::memset(base_, 0, bytes);
    MPI_Barrier(ranks);
  }

  /// The address in this rank at which the other one of two ranks' part is mapped. MPI does not tell it for
  /// such a window. So the parts are marked, and the mapping with the own part is searched for the mark.
  /// Returns the own part, which is memory of the same kind, if the mark is not there. Leaves zeros in both.
  [[nodiscard]] std::byte* mapped(std::size_t bytes, int rank) const {
    auto const mark_of = [](int of) {
      std::array<std::uint64_t, 8> mark;
      mark.fill(0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(of));
      return mark;
    };
    auto const own = mark_of(rank);
    auto const others = mark_of(1 - rank);
    std::memcpy(data(), own.data(), sizeof own);
    MPI_Barrier(MPI_COMM_WORLD);
    std::byte* found = data();
    auto const [begin, end] = mapping_of(data());
    for (std::byte* at = begin; end - at >= static_cast<std::ptrdiff_t>(bytes) && found == data(); at += 8) {
      if (std::memcmp(at, others.data(), sizeof others) == 0) found = at;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    clear(bytes);
    return found;
  }

 private:
  /// The mapping that contains an address.
  static std::pair<std::byte*, std::byte*> mapping_of(std::byte* address) {
    auto const place = reinterpret_cast<std::uintptr_t>(address);
    std::pair<std::byte*, std::byte*> found{address, address};
    if (std::FILE* const maps = std::fopen("/proc/self/maps", "r")) {
      char line[512];
      std::uintptr_t begin = 0;
      std::uintptr_t end = 0;
      while (std::fgets(line, sizeof line, maps) != nullptr) {
        if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &begin, &end) == 2 && begin <= place && place < end)
          found = {reinterpret_cast<std::byte*>(begin), reinterpret_cast<std::byte*>(end)};
      }
      std::fclose(maps);
    }
    return found;
  }

  void* base_ = nullptr;
  MPI_Win win_ = MPI_WIN_NULL;
};

/// A window over the program's own memory.
class created_window {
 public:
  explicit created_window(std::size_t bytes) : memory_(bytes / sizeof(std::uint64_t)) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "accumulate_ordering", "none");
    MPI_Info_set(info, "acc_single_intrinsic", "true");
    MPI_Info_set(info, "same_disp_unit", "true");
    MPI_Win_create(memory_.data(), static_cast<MPI_Aint>(bytes), 1, info, MPI_COMM_WORLD, &win_);
    MPI_Info_free(&info);
  }
  created_window(created_window const&) = delete;
  created_window& operator=(created_window const&) = delete;
  ~created_window() { MPI_Win_free(&win_); }

  [[nodiscard]] MPI_Win get() const noexcept { return win_; }

 private:
  std::vector<std::uint64_t> memory_;
  MPI_Win win_ = MPI_WIN_NULL;
};

/// The ranks of an epoch.
class rank_group {
 public:
  explicit rank_group(std::vector<int> const& ranks) {
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, static_cast<int>(ranks.size()), ranks.data(), &group_);
    MPI_Group_free(&world);
  }
  rank_group(rank_group const&) = delete;
  rank_group& operator=(rank_group const&) = delete;
  ~rank_group() { MPI_Group_free(&group_); }

  [[nodiscard]] MPI_Group get() const noexcept { return group_; }

 private:
  MPI_Group group_ = MPI_GROUP_NULL;
};

/// Lets MPI work.
inline void poll() {
  int there = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
}

/// Ends a program of several transports, on all processes. Over TCP, MPI_Finalize of MPICH 4.0.2 hangs now
/// and then, since processes that have closed UCX's endpoints wait for others that have not.
inline void end() {
  MPI_Barrier(MPI_COMM_WORLD);
#if !defined(OPEN_MPI)
  std::_Exit(0);
#endif
  MPI_Finalize();
}

/// A whole main function: measures all rows of `Rows`, made from a meter.
template <class Rows>
int run(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    settings const given(argc, argv);
    meeting_place const place(given);
    int rank = 0;
    int ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    meter m(
        given, place, rank, ranks, [] { MPI_Barrier(MPI_COMM_WORLD); }, poll);
    Rows(m).all();
    m.end();
  }
  MPI_Finalize();
  return 0;
}

}  // namespace bench::mpi
