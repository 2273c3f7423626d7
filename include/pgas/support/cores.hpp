// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sched.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>

#include <cerrno>
#include <cstdint>
#include <ctime>
#include <pgas/support/expects.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

// The part of <thread> that platform code needs. That header costs a program as much compile time as
// <vector>.

/// The number of cores on which this process may run: std::thread::hardware_concurrency().
[[nodiscard]] inline int available_cores() noexcept { return ::get_nprocs(); }

/// Lets another thread have this core: std::this_thread::yield().
///
/// The system call stands here. One through the C library touches three more pages: the call's table, its
/// addresses, and the library. After a switch between processes none of them is in the core's cache of
/// addresses, so a switch between ranks took up to 5 % longer.
inline void give_up_core() noexcept {
#if defined(__x86_64__)
  long result = SYS_sched_yield;
  // SYSCALL leaves an address in rcx and the flags in r11. Source: AMD's manual, volume 3.
  asm volatile("syscall" : "+a"(result) : : "rcx", "r11", "cc", "memory");
#else
  ::sched_yield();
#endif
}

/// Sleeps for so many nanoseconds: std::this_thread::sleep_for(). A signal's handler does not shorten it.
inline void sleep_nanoseconds(std::int64_t longest) noexcept {
  constexpr std::int64_t second = 1'000'000'000;
  ::timespec left{.tv_sec = static_cast<std::time_t>(longest / second),
                  .tv_nsec = static_cast<long>(longest % second)};
  while (::nanosleep(&left, &left) != 0 && errno == EINTR) {}
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
