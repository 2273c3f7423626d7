// SPDX-License-Identifier: BSL-1.0
// The rows of collectives.cpp that OpenSHMEM has: broadcasts, reductions to all, and exchanges.
#include "../collective_shapes.hpp"
#include "shmem_support.hpp"

namespace {

using bench::collective;

class library {
 public:
  static constexpr bool compares_forms = false;
  static constexpr bool has(collective) { return false; }  // it moves no private memory
  static constexpr bool starts(collective) { return false; }
  static constexpr bool has_symmetric(collective c) {
    return c == collective::bcast || c == collective::allreduce || c == collective::allgather ||
           c == collective::allgatherv || c == collective::alltoall;
  }
  static void use_symmetric(bool) {}

  explicit library(bench::meter& m)
      : ranks_(m.ranks()),
        mine_(bench::region),
        result_(bench::region),
        work_(many_works * work_bytes),
        words_(many * longest * sizeof(long)) {
    auto* const all = reinterpret_cast<long*>(words_.data());
    std::fill(all, all + many * longest, static_cast<long>(SHMEM_SYNC_VALUE));
    shmem_barrier_all();
  }

  static void barrier() { shmem_barrier_all(); }
  [[nodiscard]] double* source(collective) const { return reinterpret_cast<double*>(mine_.data()); }
  [[nodiscard]] double* result() const { return reinterpret_cast<double*>(result_.data()); }
  static std::vector<bench::way> by_hand(collective, std::size_t) { return {}; }

  template <collective C>
  void call(std::size_t bytes, int root) {
    auto const n = bytes / sizeof(double);
    if constexpr (C == collective::bcast) {
      shmem_broadcast64(result_.data(), mine_.data(), n, root, 0, 0, ranks_, sync());
    } else if constexpr (C == collective::allreduce) {
      shmem_double_sum_to_all(reinterpret_cast<double*>(result_.data()),
                              reinterpret_cast<double*>(mine_.data()), static_cast<int>(n), 0, 0, ranks_,
                              work(), sync());
    } else if constexpr (C == collective::allgather) {
      shmem_fcollect64(result_.data(), mine_.data(), n, 0, 0, ranks_, sync());
    } else if constexpr (C == collective::allgatherv) {
      shmem_collect64(result_.data(), mine_.data(), n, 0, 0, ranks_, sync());
    } else if constexpr (C == collective::alltoall) {
      shmem_alltoall64(result_.data(), mine_.data(), n, 0, 0, ranks_, sync());
    }
  }
  template <collective C>
  [[nodiscard]] int start(std::size_t, int) const {
    return 0;
  }
  static void wait(int) {}

 private:
  static constexpr std::size_t longest =
      std::max({std::size_t{SHMEM_BCAST_SYNC_SIZE}, std::size_t{SHMEM_REDUCE_SYNC_SIZE},
                std::size_t{SHMEM_COLLECT_SYNC_SIZE}, std::size_t{SHMEM_ALLTOALL_SYNC_SIZE}});
  static constexpr std::size_t many = 64;
  static constexpr std::size_t many_works = 2;
  static constexpr std::size_t work_bytes =
      bench::region / 4 + SHMEM_REDUCE_MIN_WRKDATA_SIZE * sizeof(double) + 64;

  /// Words that no rank uses any more: a call may return before others have ended it.
  long* sync() {
    used_ = (used_ + 1) % many;
    return reinterpret_cast<long*>(words_.data()) + used_ * longest;
  }

  /// A work array that no rank uses any more.
  double* work() { return reinterpret_cast<double*>(work_.data() + used_ % many_works * work_bytes); }

  int ranks_;
  bench::shmem::symmetric mine_;
  bench::shmem::symmetric result_;
  bench::shmem::symmetric work_;
  bench::shmem::symmetric words_;
  std::size_t used_ = 0;
};

}  // namespace

int main(int argc, char** argv) { return bench::shmem::run<bench::collective_rows<library>>(argc, argv); }
