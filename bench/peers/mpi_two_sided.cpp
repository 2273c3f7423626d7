// SPDX-License-Identifier: BSL-1.0
// Messages of MPI, sent and received: the choice of a program without one-sided operations.
#include "mpi_support.hpp"

namespace {

class two_sided {
 public:
  explicit two_sided(bench::meter& m) : m_(m) {}

  void all() {
    message(bench::there_and_back("flag", 0));
    for (std::size_t const bytes : bench::message_sizes) message(bench::there_and_back("pingpong", bytes));
  }

 private:
  void message(bench::row_key const& key) {
    bool const first = m_.rank() == 0;
    int const other = 1 - m_.rank();
    int const bytes = key.bytes == 0 ? 8 : static_cast<int>(key.bytes);
    m_.measure(key, {bench::everybody("", [=, this] {
                 if (first) MPI_Send(from_.data(), bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD);
                 MPI_Recv(into_.data(), bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                 if (!first) MPI_Send(from_.data(), bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD);
               })});
  }

  bench::meter& m_;
  bench::buffer from_;
  bench::buffer into_;
};

}  // namespace

int main(int argc, char** argv) { return bench::mpi::run<two_sided>(argc, argv); }
