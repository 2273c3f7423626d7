// SPDX-License-Identifier: BSL-1.0
// The rows of collectives.cpp by MPI.
#include "../collective_shapes.hpp"
#include "mpi_support.hpp"

namespace {

using bench::collective;

class library {
 public:
  static constexpr bool compares_forms = false;
  static constexpr bool has(collective) { return true; }
  static constexpr bool starts(collective) { return true; }

  explicit library(bench::meter& m)
      : ranks_(m.ranks()), counts_(static_cast<std::size_t>(ranks_)), offsets_(counts_.size()) {}

  static void barrier() { MPI_Barrier(world); }
  [[nodiscard]] double* source(collective c) const { return c == collective::bcast ? result() : mine(); }
  [[nodiscard]] double* result() const { return reinterpret_cast<double*>(result_.data()); }
  static std::vector<bench::way> by_hand(collective, std::size_t) { return {}; }

  template <collective C>
  void call(std::size_t bytes, int root) {
    auto const n = static_cast<int>(bytes / sizeof(double));
    if constexpr (C == collective::bcast) {
      MPI_Bcast(result(), n, type, root, world);
    } else if constexpr (C == collective::reduce) {
      MPI_Reduce(mine(), result(), n, type, MPI_SUM, root, world);
    } else if constexpr (C == collective::allreduce) {
      MPI_Allreduce(mine(), result(), n, type, MPI_SUM, world);
    } else if constexpr (C == collective::scan) {
      MPI_Scan(mine(), result(), n, type, MPI_SUM, world);
    } else if constexpr (C == collective::exscan) {
      MPI_Exscan(mine(), result(), n, type, MPI_SUM, world);
    } else if constexpr (C == collective::scatter) {
      MPI_Scatter(mine(), n, type, result(), n, type, root, world);
    } else if constexpr (C == collective::gather) {
      MPI_Gather(mine(), n, type, result(), n, type, root, world);
    } else if constexpr (C == collective::allgather) {
      MPI_Allgather(mine(), n, type, result(), n, type, world);
    } else if constexpr (C == collective::alltoall) {
      MPI_Alltoall(mine(), n, type, result(), n, type, world);
    } else if constexpr (C == collective::reduce_scatter_block) {
      MPI_Reduce_scatter_block(mine(), result(), n / ranks_, type, MPI_SUM, world);
    } else if constexpr (C == collective::scatterv) {
      count(n);
      MPI_Scatterv(mine(), counts_.data(), offsets_.data(), type, result(), n, type, root, world);
    } else if constexpr (C == collective::gatherv) {
      count(n);
      MPI_Gatherv(mine(), n, type, result(), counts_.data(), offsets_.data(), type, root, world);
    } else if constexpr (C == collective::allgatherv) {
      count(n);
      MPI_Allgatherv(mine(), n, type, result(), counts_.data(), offsets_.data(), type, world);
    } else if constexpr (C == collective::alltoallv) {
      count(n);
      MPI_Alltoallv(mine(), counts_.data(), offsets_.data(), type, result(), counts_.data(), offsets_.data(),
                    type, world);
    } else {
      count(n / ranks_);
      MPI_Reduce_scatter(mine(), result(), counts_.data(), type, MPI_SUM, world);
    }
  }

  template <collective C>
  [[nodiscard]] MPI_Request start(std::size_t bytes, int root) const {
    auto const n = static_cast<int>(bytes / sizeof(double));
    MPI_Request r = MPI_REQUEST_NULL;
    if constexpr (C == collective::bcast) {
      MPI_Ibcast(result(), n, type, root, world, &r);
    } else if constexpr (C == collective::reduce) {
      MPI_Ireduce(mine(), result(), n, type, MPI_SUM, root, world, &r);
    } else if constexpr (C == collective::allreduce) {
      MPI_Iallreduce(mine(), result(), n, type, MPI_SUM, world, &r);
    } else if constexpr (C == collective::scan) {
      MPI_Iscan(mine(), result(), n, type, MPI_SUM, world, &r);
    } else if constexpr (C == collective::exscan) {
      MPI_Iexscan(mine(), result(), n, type, MPI_SUM, world, &r);
    } else if constexpr (C == collective::scatter) {
      MPI_Iscatter(mine(), n, type, result(), n, type, root, world, &r);
    } else if constexpr (C == collective::gather) {
      MPI_Igather(mine(), n, type, result(), n, type, root, world, &r);
    } else if constexpr (C == collective::allgather) {
      MPI_Iallgather(mine(), n, type, result(), n, type, world, &r);
    } else if constexpr (C == collective::alltoall) {
      MPI_Ialltoall(mine(), n, type, result(), n, type, world, &r);
    } else if constexpr (C == collective::reduce_scatter_block) {
      MPI_Ireduce_scatter_block(mine(), result(), n / ranks_, type, MPI_SUM, world, &r);
    }
    return r;
  }
  static void wait(MPI_Request& request) { MPI_Wait(&request, MPI_STATUS_IGNORE); }

 private:
  static inline MPI_Comm const world = MPI_COMM_WORLD;
  static inline MPI_Datatype const type = MPI_DOUBLE;

  [[nodiscard]] double* mine() const { return reinterpret_cast<double*>(mine_.data()); }
  void count(int n) {
    for (std::size_t r = 0; r < counts_.size(); ++r) {
      counts_[r] = n;
      offsets_[r] = n * static_cast<int>(r);
    }
  }

  int ranks_;
  std::vector<int> counts_;
  std::vector<int> offsets_;
  bench::buffer mine_;
  bench::buffer result_;
};

}  // namespace

int main(int argc, char** argv) { return bench::mpi::run<bench::collective_rows<library>>(argc, argv); }
