// SPDX-License-Identifier: BSL-1.0
// Puts and gets of memory that the ranks had before, in place, compared with the system calls that they
// consist of.
#include <sys/uio.h>
#include <unistd.h>

#include "harness.hpp"

namespace {

/// One piece, in the kernel's format.
::iovec piece(void const* at, std::size_t bytes) { return {const_cast<void*>(at), bytes}; }

}  // namespace

int main(int argc, char** argv) {
  bench::options const options(argc, argv);
  return bench::run(options, "user_memory", {2}, [](auto& b) {
    constexpr std::size_t kib = 1024;
    constexpr std::size_t all = 1024 * kib;
    auto& team = b.team();
    bool const works = team.rank() == 0;
    std::vector<std::byte> mine(all, std::byte{1});
    auto window = pgas::make_window<std::byte>(team, mine);
    auto const last = static_cast<std::size_t>(team.size() - 1);
    ::pid_t const process = team.all_gather(::getpid())[last];
    auto* const there = reinterpret_cast<std::byte*>(
        team.all_gather(static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(mine.data())))[last]);
    pgas::lock_all epoch{window};
    auto const target = epoch.to(team.size() - 1);

    auto const repeated = [&](char const* name, auto work) {
      return bench::contender{name, [works, work](std::size_t n) {
                                for (; works && n > 0; --n) {
                                  work();
                                  bench::forget();
                                }
                              }};
    };
    for (std::size_t const bytes : {std::size_t{8}, 4 * kib, 64 * kib, all}) {
      std::string const size = bytes < kib ? "8 B" : std::to_string(bytes / kib) + " KiB";
      b.compare(
          {.name = "put " + size, .target = 1.1},
          repeated("put", [&, bytes] { target.put(0, std::span<std::byte const>(mine.data(), bytes)); }),
          {repeated("process_vm_writev", [&, bytes] {
            auto const from = piece(mine.data(), bytes);
            auto const to = piece(there, bytes);
            bench::keep(::process_vm_writev(process, &from, 1, &to, 1, 0));
          })});
      b.compare({.name = "get " + size, .target = 1.1},
                repeated("get", [&, bytes] { target.get(0, std::span<std::byte>(mine.data(), bytes)); }),
                {repeated("process_vm_readv", [&, bytes] {
                  auto const into = piece(mine.data(), bytes);
                  auto const from = piece(there, bytes);
                  bench::keep(::process_vm_readv(process, &into, 1, &from, 1, 0));
                })});
    }
    constexpr std::size_t rows = 1024;
    constexpr std::size_t pitch = kib;
    b.compare({.name = "put 1024 rows of 64 B"},
              repeated("put",
                       [&] {
                         target.put(pgas::rows_of{0, rows, 64, pitch}, mine.data(), pitch);
                       }),
              {repeated("a call for each row", [&] {
                for (std::size_t i = 0; i < rows; ++i) {
                  auto const from = piece(mine.data() + i * pitch, 64);
                  auto const to = piece(there + i * pitch, 64);
                  bench::keep(::process_vm_writev(process, &from, 1, &to, 1, 0));
                }
              })});
    team.barrier();
  });
}
