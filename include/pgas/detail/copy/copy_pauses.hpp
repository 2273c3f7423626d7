// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <pgas/vocabulary/expects.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Tells whether somebody can have read what copies brought to a place, from the pauses between them.
///
/// A reader must be done before the next copy to its place, so the copies pause meanwhile. Reading takes a
/// third of the time of a copy or more, and a part of that where several ranks share the work. So nobody has
/// read a place if all pauses took less than a sixteenth of the copies.
///
/// A processor reads the clock while some hundreds of instructions before it still wait for memory. With
/// registers of 64 bytes that is most of a copy of 16 KiB, so its pauses took a tenth of the time where
/// nobody read. Hence the first ticks of a pause inside of a run do not count. A third of such a copy is 900.
///
/// A pause is cut to the time of the copies before it, so that one long pause inside of a run of many copies
/// counts little. Those cannot all show their readers: a rank that follows from piece to piece holds nobody
/// up. There a read of lines in memory costs 3 to 8 % of the time of both. A source that is used again for
/// the next piece stays in the cache, and then it would cost a third: such a run counts as read.
class copy_pauses {
 public:
  /// A copy from `from` begins at the time `now`. It is the first of a run, or follows the one before.
  void begin(bool is_first, std::byte const* from, std::uint64_t now) noexcept {
    std::uint64_t const pause = now - load(end_);
    if (is_first) {
      std::uint64_t const copying = load(copying_);
      std::uint64_t const pausing = load(pausing_) + std::min(pause, copying);
      store(pauses_, 16 * pausing < copying ? 0 : std::min(load(pauses_) + 1, most_pauses));
      store(copying_, 0);
      store(pausing_, 0);
    } else {
      bool const goes_on = address(from) == load(from_end_);
      std::uint64_t const counted = pause - std::min(pause, not_counted);
      store(pausing_, load(pausing_) + (goes_on ? std::min(counted, load(last_)) : load(last_)));
    }
    store(begin_, now);
  }
  /// The copy ends, whose source ends at `from_end`.
  void end(std::byte const* from_end, std::uint64_t now) noexcept {
    std::uint64_t const copy = now - load(begin_);
    store(last_, copy);
    store(copying_, load(copying_) + copy);
    store(from_end_, address(from_end));
    store(end_, now);
  }

  /// Returns whether nobody seems to read what the copies bring.
  [[nodiscard]] bool is_unread() noexcept { return load(pauses_) < most_pauses; }

 private:
  static constexpr std::uint64_t most_pauses = 2;
  static constexpr std::uint64_t not_counted = 400;

  static std::uint64_t address(std::byte const* at) noexcept { return reinterpret_cast<std::uintptr_t>(at); }
  // relaxed: threads of one rank may copy at the same time. Then times are wrong, and the copies still right.
  static std::uint64_t load(std::uint64_t& word) noexcept {
    return std::atomic_ref(word).load(std::memory_order_relaxed);
  }
  static void store(std::uint64_t& word, std::uint64_t value) noexcept {
    std::atomic_ref(word).store(value, std::memory_order_relaxed);
  }

  std::uint64_t begin_ = 0;             ///< the time at which the last copy began
  std::uint64_t end_ = 0;               ///< and ended
  std::uint64_t last_ = 0;              ///< the time that it took
  std::uint64_t copying_ = 0;           ///< the time of all copies of the run
  std::uint64_t pausing_ = 0;           ///< the time between them
  std::uint64_t from_end_ = 0;          ///< the address at which the last copy's source ended
  std::uint64_t pauses_ = most_pauses;  ///< the last runs that all had a pause
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
