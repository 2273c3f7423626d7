// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sched.h>

#include <cerrno>
#include <cstdint>
#include <ctime>
#include <pgas/vocabulary/expects.hpp>

namespace PGAS_NAMESPACE::detail {

// The part of <thread> that platform code needs. That header takes a program as long to compile as <vector>.

/// Lets another thread have this core: std::this_thread::yield().
inline void give_up_core() noexcept { ::sched_yield(); }

/// Sleeps for so many nanoseconds: std::this_thread::sleep_for(). A signal's handler does not shorten it.
inline void sleep_nanoseconds(std::int64_t longest) noexcept {
  constexpr std::int64_t second = 1'000'000'000;
  ::timespec left{.tv_sec = static_cast<std::time_t>(longest / second),
                  .tv_nsec = static_cast<long>(longest % second)};
  while (::nanosleep(&left, &left) != 0 && errno == EINTR) {}
}

}  // namespace PGAS_NAMESPACE::detail
