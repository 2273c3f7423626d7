// SPDX-License-Identifier: BSL-1.0
// The row gups and the stencils of kernels.cpp by MPI's one-sided operations, as the standard's text
// describes them. Built with each MPI.
#include "mpi_stencil.hpp"

namespace {

namespace kernel = bench::gups;

class gups {
 public:
  explicit gups(bench::meter& m)
      : m_(m),
        part_(kernel::words / static_cast<std::size_t>(m.ranks())),
        window_(part_ * 8),
        values_(kernel::under_way),
        x_(kernel::first_of(m.rank())) {
    window_.clear(part_ * 8);
  }

  void all() {
    MPI_Win const win = window_.get();
    MPI_Win_lock_all(0, win);
    m_.measure(kernel::key(m_.ranks()), {bench::all_of(m_, "", [this, win] {
                 for (auto& value : values_) {
                   value = x_ = kernel::next(x_);
                   std::size_t const i = value % kernel::words;
                   MPI_Accumulate(&value, 1, MPI_UINT64_T, static_cast<int>(i / part_),
                                  static_cast<MPI_Aint>(i % part_ * 8), 1, MPI_UINT64_T, MPI_BXOR, win);
                 }
                 MPI_Win_flush_all(win);
               })});
    MPI_Win_unlock_all(win);
  }

 private:
  bench::meter& m_;
  std::size_t part_;
  bench::mpi::allocated_window window_;
  std::vector<std::uint64_t> values_;  // each keeps its value until the flush
  std::uint64_t x_;
};

class rows {
 public:
  explicit rows(bench::meter& m) : m_(m) {}
  void all() {
    gups(m_).all();
    bench::mpi::stencil_rows<bench::mpi::put_and_fence>(m_).all();
  }

 private:
  bench::meter& m_;
};

}  // namespace

int main(int argc, char** argv) { return bench::mpi::run<rows>(argc, argv); }
