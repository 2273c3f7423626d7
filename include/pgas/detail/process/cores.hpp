// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sched.h>
#include <sys/syscall.h>
#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <pgas/vocabulary/expects.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

// The part of <thread> that platform code needs. That header takes a program as long to compile as <vector>.

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

/// Tells on which core this thread runs, by a load from the thread's own memory.
///
/// Source: the area for restartable sequences, rseq(2). Linux writes the number of the core into it before a
/// thread runs there, and the C library registers one for each thread. glibc has done so since version 2.35.
class core_number {
 public:
  core_number() noexcept {
#if __has_include(<sys/rseq.h>)
    // Looked up once: the library's words are on two more pages.
    if (__rseq_size != 0) at_ = __rseq_offset + static_cast<std::ptrdiff_t>(offsetof(::rseq, cpu_id));
#endif
  }
  /// Returns a negative number if the system does not tell.
  [[nodiscard]] std::int32_t operator()() const noexcept {
#if __has_include(<sys/rseq.h>)
    if (at_ != 0) {
      auto const* const self = static_cast<std::byte const*>(__builtin_thread_pointer());
      return *reinterpret_cast<std::int32_t const volatile*>(self + at_);
    }
#endif
    return -1;
  }

 private:
  std::ptrdiff_t at_ = 0;  ///< from the thread's pointer; 0: nobody tells
};

/// Sleeps for so many nanoseconds: std::this_thread::sleep_for(). A signal's handler does not shorten it.
inline void sleep_nanoseconds(std::int64_t longest) noexcept {
  constexpr std::int64_t second = 1'000'000'000;
  ::timespec left{.tv_sec = static_cast<std::time_t>(longest / second),
                  .tv_nsec = static_cast<long>(longest % second)};
  while (::nanosleep(&left, &left) != 0 && errno == EINTR) {}
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
