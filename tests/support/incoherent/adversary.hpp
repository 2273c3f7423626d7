// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace pgas_test::incoherent {

/// The memory's unasked actions. A number n means: at one operation in n; 0 means never.
///
/// Hardware may do all of this, so a right program computes the same values against every seed.
struct adversary {
  std::uint64_t seed = 1;
  unsigned fill = 4;           ///< fetches a line of any part
  unsigned evict = 16;         ///< evicts a copy, and writes it back if it was modified
  unsigned deliver = 8;        ///< delivers a put before its flush
  unsigned drain = 8;          ///< carries out a clean or a drop before its drain
  unsigned discard = 2;        ///< forgets a modified copy at a drop, though it may write it back
  unsigned delay = 2;          ///< leaves a get open until flush_local; reports a request as not done yet
  unsigned masked = 2;         ///< writes back the modified bytes of a line, not all of it
  unsigned yield = 4;          ///< lets another rank run in a read-modify-write or before a store to a slot
  std::size_t line_bytes = 0;  ///< of a cache line; 0: the seed chooses 32, 64, 128 or 256

  [[nodiscard]] std::size_t line() const noexcept {
    return line_bytes != 0 ? line_bytes : std::size_t{32} << seed % 4;
  }
};

/// The longest possible line: programs must keep data of different writers this far apart.
inline constexpr std::size_t longest_line = 256;

/// Memory that completes each operation as late as it may.
inline constexpr adversary no_adversary{.seed = 0,
                                        .fill = 0,
                                        .evict = 0,
                                        .deliver = 0,
                                        .drain = 0,
                                        .discard = 0,
                                        .delay = 0,
                                        .masked = 0,
                                        .yield = 0,
                                        .line_bytes = 32};

/// Runs this thread's launches against the given adversary while it lives.
class against {
 public:
  explicit against(adversary a) noexcept : before_(std::exchange(chosen(), a)) {}
  against(against const&) = delete;
  against& operator=(against const&) = delete;
  ~against() { chosen() = before_; }

  static adversary& chosen() noexcept {
    static thread_local adversary instance;
    return instance;
  }

 private:
  adversary before_;
};

/// One rank's choices in one window: a stream of random numbers that the seed determines (splitmix64).
class dice {
 public:
  dice(std::uint64_t seed, std::uint64_t window, std::uint64_t rank) noexcept
      : state_(seed * 0xd1342543de82ef95U + window * 0xaf251af3b0f025b5U + rank * 0xb564ef22ec7aece5U) {}

  [[nodiscard]] bool one_in(unsigned n) noexcept { return n != 0 && next() % n == 0; }
  [[nodiscard]] std::size_t below(std::size_t n) noexcept { return static_cast<std::size_t>(next() % n); }

 private:
  std::uint64_t next() noexcept {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }

  std::uint64_t state_;
};

/// The counts of one rank's operations in one window, for tests of cost.
struct counters {
  std::uint64_t puts = 0, gets = 0, flushes = 0, local_flushes = 0;
  std::uint64_t loads = 0, stores = 0;
  std::uint64_t cleans = 0, drops = 0;              ///< calls, each for a range
  std::uint64_t store_drains = 0, full_drains = 0;  ///< drain_stores, drain_all
  std::uint64_t fills = 0, write_backs = 0;         ///< lines
  std::uint64_t speculative_fills = 0, evictions = 0;

  friend bool operator==(counters const&, counters const&) = default;
};

}  // namespace pgas_test::incoherent
