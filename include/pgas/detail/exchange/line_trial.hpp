// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/types/plain_list.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Measures how near the caches of two ranks are, in a quarter of a millisecond.
///
/// A rank stores to the lines of a piece that the other rank has read, as posting does, and copies as many
/// bytes within its own cache. The shortest of a few times counts, so it does not matter if a rank loses its
/// core for a while.
class line_trial {
 public:
  static constexpr std::size_t bytes = std::size_t{64} << 10U;

  /// Both ranks call it. `own` and `theirs` are shared areas of at least `bytes`, and `barrier()`
  /// synchronizes both.
  template <class Barrier>
  line_trial(std::byte* own, std::byte const* theirs, Barrier&& barrier) {
    plain_list<std::byte> from(bytes);
    plain_list<std::byte> to(bytes);
    for (int round = 0; round < rounds; ++round) {
      barrier();
      auto const posting = timed([&] { std::memcpy(own, from.begin(), bytes); });
      barrier();
      std::memcpy(from.begin(), theirs, bytes);
      auto const copying = timed([&] { std::memcpy(to.begin(), from.begin(), bytes); });
      if (round == 0) continue;  // the first touch of some pages
      posting_ = std::min(posting_, posting);
      copying_ = std::min(copying_, copying);
    }
    barrier();
  }

  /// Returns whether lines move quickly from one rank to the other.
  [[nodiscard]] bool is_near() const noexcept { return posting_ < 9 * copying_; }

 private:
  using duration = std::chrono::steady_clock::duration;
  static constexpr int rounds = 6;

  template <class Body>
  static duration timed(Body&& body) {
    auto const before = std::chrono::steady_clock::now();
    body();
    return std::chrono::steady_clock::now() - before;
  }

  duration posting_ = duration::max();
  duration copying_ = duration::max();
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
