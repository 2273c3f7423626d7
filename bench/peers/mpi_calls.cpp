// SPDX-License-Identifier: BSL-1.0
// Calls of functions by messages of MPI, as a program writes them by hand: a rank receives the number of a
// function and an argument, calls the function, and sends the result.
#include <array>

#include "mpi_support.hpp"

namespace {

class calls {
 public:
  explicit calls(bench::meter& m) : m_(m) {}

  void all() {
    m_.measure({.row = "call", .mode = "", .bytes = 8}, {bench::everybody("", [this] {
                 if (m_.rank() == 0) {
                   send(1);
                   bench::keep(receive());
                 } else if (m_.rank() == 1) {
                   MPI_Send(std::array{serve()}.data(), 1, MPI_UINT64_T, 0, 0, MPI_COMM_WORLD);
                 }
               })});
    m_.measure({.row = "call_one_way", .mode = "", .bytes = 8}, {{"", [this](std::size_t n) {
                                                                    for (std::size_t i = 0; i < n; ++i) {
                                                                      if (m_.rank() == 0) send(0);
                                                                      if (m_.rank() == 1) serve();
                                                                    }
                                                                    // The last answer: all have ended.
                                                                    if (m_.rank() == 0)
                                                                      bench::keep(receive());
                                                                    if (m_.rank() == 1) {
                                                                      MPI_Send(&sum_, 1, MPI_UINT64_T, 0, 0,
                                                                               MPI_COMM_WORLD);
                                                                    }
                                                                  }}});
  }

 private:
  using called = std::uint64_t (*)(calls&, std::uint64_t);

  static std::uint64_t keep(calls&, std::uint64_t x) {
    bench::keep(x);
    return 0;
  }
  static std::uint64_t add(calls& mine, std::uint64_t x) { return mine.sum_ += x; }

  static void send(std::uint64_t number) {
    std::array<std::uint64_t, 2> const message{number, 1};
    MPI_Send(message.data(), 2, MPI_UINT64_T, 1, 0, MPI_COMM_WORLD);
  }
  static std::uint64_t receive() {
    std::uint64_t value = 0;
    MPI_Recv(&value, 1, MPI_UINT64_T, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return value;
  }
  std::uint64_t serve() {
    std::array<std::uint64_t, 2> message{};
    MPI_Recv(message.data(), 2, MPI_UINT64_T, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return functions_[message[0] % functions_.size()](*this, message[1]);
  }

  bench::meter& m_;
  std::array<called, 2> functions_{&keep, &add};
  std::uint64_t sum_ = 0;
};

}  // namespace

int main(int argc, char** argv) { return bench::mpi::run<calls>(argc, argv); }
