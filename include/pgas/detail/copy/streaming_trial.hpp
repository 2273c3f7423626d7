// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <pgas/detail/process/ticks.hpp>
#include <pgas/vocabulary/expects.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// A trial of the quicker copy to a place that is used again and that the second level cannot keep: to
/// memory, or to the third level. Takes a millisecond, as long as ten such copies.
///
/// Neither the size of a third level nor the number of its cores answers that. A third level near its cores
/// took 0.65 to 0.9 of the time of memory. One that all cores of a large processor share took 1.2 to 1.4 of
/// it, and the host of a virtual machine reported all of it as the share of two cores.
class streaming_trial {
 public:
  /// `streams(to, from, bytes)` copies past the caches, and `caches(to, from, bytes)` through them.
  template <class Streams, class Caches>
  streaming_trial(std::size_t bytes, Streams&& streams, Caches&& caches) noexcept {
    void* const memory =
        ::mmap(nullptr, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED) return;
    auto* const to = static_cast<std::byte*>(memory);
    auto const* const from = to + bytes;
    // A cache takes a place's lines more willingly from their second use on.
    for (int round = 0; round < rounds; ++round) caching_ = shorter(round, caching_, caches, to, from, bytes);
    for (int round = 0; round < rounds; ++round)
      streaming_ = shorter(round, streaming_, streams, to, from, bytes);
    ::munmap(memory, 2 * bytes);
  }

  /// Returns whether a copy past the caches is clearly quicker.
  [[nodiscard]] bool is_quicker() const noexcept { return streaming_ < caching_ / 10 * 9; }

 private:
  static constexpr int rounds = 3;

  template <class Copy>
  static std::uint64_t shorter(int round, std::uint64_t before, Copy& copy, std::byte* to,
                               std::byte const* from, std::size_t bytes) noexcept {
    std::uint64_t const began = ticks();
    copy(to, from, bytes);
    std::uint64_t const took = ticks() - began;
    return round == 0 ? before : std::min(before, took);
  }

  std::uint64_t streaming_ = UINT64_MAX;
  std::uint64_t caching_ = UINT64_MAX;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
