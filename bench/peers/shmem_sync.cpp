// SPDX-License-Identifier: BSL-1.0
// The rows of sync.cpp that OpenSHMEM has: it has no epochs.
#include "shmem_support.hpp"

namespace {

class meetings {
 public:
  explicit meetings(bench::meter& m) : m_(m), memory_(bench::mib) {}

  void all() {
    m_.measure({.row = "barrier", .mode = ""}, {bench::everybody("", [] { shmem_barrier_all(); })});
    if (m_.ranks() != 2) return;
    m_.measure({.row = "barrier_late", .mode = ""}, {bench::late(m_, "", [] { shmem_barrier_all(); })});
    message(bench::there_and_back("flag", 0));
    for (std::size_t const bytes : bench::message_sizes) message(bench::there_and_back("pingpong", bytes));
  }

 private:
  /// Bytes, if any, and then a word that signals their arrival.
  void message(bench::row_key const& key) {
    bool const first = m_.rank() == 0;
    int const other = 1 - m_.rank();
    std::uint64_t* const flag = memory_.words() + 512 + key.bytes / 8;
    std::byte* const data = memory_.data() + 512 * bench::kib;
    auto const send = [=, this, bytes = key.bytes](std::uint64_t n) {
      if (bytes != 0) {
        shmem_putmem(data, private_.data(), bytes, other);
        shmem_fence();
      }
      shmem_uint64_p(flag, n, other);
    };
    m_.measure(key, {bench::everybody("", [=, n = std::uint64_t{0}]() mutable {
                 ++n;
                 if (first) send(n);
                 shmem_uint64_wait_until(flag, SHMEM_CMP_GE, n);
                 if (!first) send(n);
               })});
  }

  bench::meter& m_;
  bench::shmem::symmetric memory_;
  bench::buffer private_;
};

}  // namespace

int main(int argc, char** argv) { return bench::shmem::run<meetings>(argc, argv); }
