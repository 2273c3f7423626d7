// SPDX-License-Identifier: BSL-1.0
// The rows of fft3d.cpp by FFTW's transform on MPI, in place, which leaves the result transposed as ours
// does.
#include <fftw3-mpi.h>

#include "../transform.hpp"
#include "mpi_support.hpp"

namespace {

class transforms {
 public:
  explicit transforms(bench::meter& m) : m_(m) { fftw_mpi_init(); }
  ~transforms() { fftw_mpi_cleanup(); }
  transforms(transforms const&) = delete;
  transforms& operator=(transforms const&) = delete;

  void all() {
    // Planning has no time limit: ranks that run out of time at different moments may plan different
    // exchanges.
    for (auto const& n : bench::transforms(m_.quick())) measure(n);
  }

 private:
  void measure(bench::extents_of_transform const& n) {
    std::array<std::ptrdiff_t, 3> const extents{static_cast<std::ptrdiff_t>(n[0]),
                                                static_cast<std::ptrdiff_t>(n[1]),
                                                static_cast<std::ptrdiff_t>(n[2])};
    std::array<std::ptrdiff_t, 4> own{};  // planes and the first of them, before and after
    std::ptrdiff_t const room = fftw_mpi_local_size_3d_transposed(
        extents[0], extents[1], extents[2], MPI_COMM_WORLD, &own[0], &own[1], &own[2], &own[3]);
    bench::fftw_cells const cells(static_cast<std::size_t>(room));
    fftw_plan const plan =
        fftw_mpi_plan_dft_3d(extents[0], extents[1], extents[2], cells.data(), cells.data(), MPI_COMM_WORLD,
                             FFTW_FORWARD, FFTW_MEASURE | FFTW_MPI_TRANSPOSED_OUT);
    m_.measure(bench::transform_key(n),
               {bench::transform_way(
                   m_, "", [&] { bench::fill(cells.all()); },
                   [&] {
                     fftw_execute(plan);
                     MPI_Barrier(MPI_COMM_WORLD);  // the time of the last rank counts
                   })});
    fftw_destroy_plan(plan);
  }

  bench::meter& m_;
};

}  // namespace

int main(int argc, char** argv) { return bench::mpi::run<transforms>(argc, argv); }
