// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstdint>
#include <pgas/machines/schedule.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <thread>

namespace pgas::inline PGAS_ASSERTIONS::detail::checking {

/// Random pauses of one rank at its accesses and control words, so that ranks meet in other orders.
///
/// A seed chooses the pauses of each rank: the same seed pauses at the same calls. The machine still
/// schedules the ranks, so the same seed makes the same order likely, and not sure. Seed 0 makes no pause.
/// Source: pauses at synchronizations by chance, ConTest (Edelstein and others 2002).
class delays {
 public:
  delays(std::uint64_t seed, rank_t rank) noexcept
      : dice_(seed * 64 + static_cast<std::uint64_t>(rank)), is_on_(seed != 0) {}

  void pause() noexcept {
    if (is_on_) [[unlikely]]
      pause_by_chance();
  }

 private:
  [[gnu::noinline]] void pause_by_chance() noexcept {
    if (!dice_.one_in(8)) return;
    if (dice_.one_in(2)) return std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(1 + dice_.below(200)));
  }

  emulation::dice dice_;
  bool is_on_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::checking
