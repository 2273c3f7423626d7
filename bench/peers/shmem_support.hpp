// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <shmem.h>

#include "../shapes.hpp"

/// The common parts of the programs on OpenSHMEM.
namespace bench::shmem {

/// Memory in every rank's symmetric heap. Construction and destruction are collective.
class symmetric {
 public:
  explicit symmetric(std::size_t bytes) : data_(static_cast<std::byte*>(shmem_align(4096, bytes))) {
    if (data_ == nullptr) {
      std::fprintf(stderr, "bench: the symmetric heap is too small; set SHMEM_SYMMETRIC_SIZE\n");
      shmem_global_exit(1);
    }
    std::memset(data_, 0, bytes);
    shmem_barrier_all();
  }
  symmetric(symmetric const&) = delete;
  symmetric& operator=(symmetric const&) = delete;
  ~symmetric() { shmem_free(data_); }

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::uint64_t* words() const noexcept { return reinterpret_cast<std::uint64_t*>(data_); }
  /// The address in this rank at which another rank's memory is mapped. Returns the own memory, which is of
  /// the same kind, if that one is not mapped.
  [[nodiscard]] std::byte* mapped(int rank) const noexcept {
    auto* const there = static_cast<std::byte*>(shmem_ptr(data_, rank));
    return there != nullptr ? there : data_;
  }

 private:
  std::byte* data_;
};

/// A whole main function: measures all rows of `Rows`, made from a meter.
template <class Rows>
int run(int argc, char** argv) {
  shmem_init();
  {
    settings const given(argc, argv);
    meeting_place const place(given);
    meter m(given, place, shmem_my_pe(), shmem_n_pes(), [] { shmem_barrier_all(); });
    Rows(m).all();
    m.end();
  }
  shmem_finalize();
  return 0;
}

}  // namespace bench::shmem
