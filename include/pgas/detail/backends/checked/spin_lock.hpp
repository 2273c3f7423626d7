// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <pgas/detail/checking/hidden_from_sanitizer.hpp>
#include <pgas/detail/job/job.hpp>
#include <pgas/detail/processor/processor.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail::checking {

/// Holds a lock in memory that all ranks share, hidden from the thread sanitizer. A rank may die while it
/// holds a lock, so a rank that waits for long looks whether the job has failed, and then throws.
///
/// States: 0 free, 1 held. A rank that finds 0 changes it to 1, and stores 0 at the end. Source: the
/// test-and-test-and-set lock of Rudolph and Segall 1984.
class spin_lock {
 public:
  spin_lock(std::uint32_t& word, job const& of) : word_(word) {
    // acquire: pairs with the release in the destructor of the last holder.
    while (word_.exchange(1, std::memory_order_acquire) != 0) wait(of);
  }
  spin_lock(spin_lock const&) = delete;
  spin_lock& operator=(spin_lock const&) = delete;
  ~spin_lock() { word_.store(0, std::memory_order_release); }  // pairs with the acquire above

 private:
  [[gnu::noinline]] void wait(job const& of) const {
    for (unsigned looks = 1; word_.load(std::memory_order_relaxed) != 0; ++looks) {
      if (looks % 64 == 0) ::sched_yield();
      if (looks % 65536 == 0) of.check("check");
    }
  }

  hidden_from_sanitizer hidden_;
  std::atomic_ref<std::uint32_t> word_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::checking
