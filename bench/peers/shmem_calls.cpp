// SPDX-License-Identifier: BSL-1.0
// Calls of functions by words of OpenSHMEM, as a program writes them by hand: a rank waits for a word, calls
// the function whose number lies beside it, and puts the result and a word.
#include <array>

#include "shmem_support.hpp"

namespace {

class calls {
 public:
  explicit calls(bench::meter& m) : m_(m), memory_(bench::kib) {}

  void all() {
    m_.measure({.row = "call", .mode = "", .bytes = 8},
               {bench::everybody("", [this, n = std::uint64_t{0}]() mutable {
                 ++n;
                 if (m_.rank() == 0) {
                   send(std::array<std::uint64_t, 2>{1, 1}, 1, n);
                   bench::keep(receive(n)[0]);
                 } else if (m_.rank() == 1) {
                   std::uint64_t const* const message = receive(n);
                   auto const function = functions_[message[0] % functions_.size()];
                   send(std::array<std::uint64_t, 2>{function(*this, message[1]), 0}, 0, n);
                 }
               })});
  }

 private:
  using called = std::uint64_t (*)(calls&, std::uint64_t);

  static std::uint64_t keep(calls&, std::uint64_t x) {
    bench::keep(x);
    return 0;
  }
  static std::uint64_t add(calls& mine, std::uint64_t x) { return mine.sum_ += x; }

  /// Puts a message, and then the word for which the other rank waits.
  void send(std::array<std::uint64_t, 2> const& message, int to, std::uint64_t n) {
    shmem_putmem(memory_.words() + 1, message.data(), sizeof message, to);
    shmem_fence();
    shmem_uint64_p(memory_.words(), n, to);
  }
  std::uint64_t const* receive(std::uint64_t n) {
    shmem_uint64_wait_until(memory_.words(), SHMEM_CMP_GE, n);
    return memory_.words() + 1;
  }

  bench::meter& m_;
  bench::shmem::symmetric memory_;
  std::array<called, 2> functions_{&keep, &add};
  std::uint64_t sum_ = 0;
};

}  // namespace

int main(int argc, char** argv) { return bench::shmem::run<calls>(argc, argv); }
