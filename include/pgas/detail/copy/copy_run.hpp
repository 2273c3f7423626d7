// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <pgas/detail/copy/cache_sizes.hpp>
#include <pgas/vocabulary/expects.hpp>
#include <type_traits>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Follows the copies to one memory, and tells which of them the caches could not keep.
///
/// A run is one copy, or several of which each begins where the one before ended. It passes the caches when
/// it is longer than half of a core's second level cache, since its source takes the other half. Through the
/// cache such a run would push out everything else, and each store would first read the line it overwrites. A
/// shorter run goes through the cache, where a reader, or the next copy to the same place, finds it.
///
/// A run that begins where the last one began goes to memory that the program uses again and again. Of such a
/// run the caches keep a quarter of this core's share of the third level: as much for the source, and half of
/// the share for other data. A copy to lines that stay there takes 0.65 to 0.9 of the time of one past the
/// caches. Where other data push them out between two copies, those data take much longer than the copy.
/// Where the third level is far, a copy to it takes longer than one past the caches: see streaming_trial.
class copy_run {
 public:
  copy_run() = default;
  /// `kept` is the longest run that the caches keep, and `kept_again` that to a place that is used again.
  copy_run(std::size_t kept, std::size_t kept_again) noexcept : kept_(kept), kept_again_(kept_again) {}

  /// Returns false if a copy is short and begins a run, and the last run was short: a quick answer for most
  /// copies. Then `begin` follows.
  [[nodiscard]] bool is_worth_a_look(std::byte const* to, std::size_t bytes) noexcept {
    // The length of a run to a place that is used again is larger than `kept_`, too.
    return address(to) == load(end_) || bytes > kept_ || load(length_) > kept_;
  }
  void begin(std::byte const* to, std::byte const* end, std::size_t bytes) noexcept {
    store(begin_, address(to));
    store(end_, address(end));
    store(length_, bytes);
  }

  /// Counts a copy of so many bytes to [to, end), and returns whether it is to pass the caches.
  ///
  /// A copy into a range that is still cached begins a short run. A copy elsewhere at most halves the run, so
  /// a sequential walk that restarts at its beginning keeps passing the caches.
  [[nodiscard]] bool passes_caches(std::byte const* to, std::byte const* end, std::size_t bytes) noexcept {
    bool is_again = load(length_) >= again;
    std::size_t before = load(length_) % again;
    if (address(to) != load(end_)) {
      std::size_t const last = load(end_) - load(begin_);
      if (load(end_) - address(to) <= kept_) {
        before = 0;
        is_again = false;
      } else if (address(to) == load(begin_) && last <= kept_again()) {
        before = 0;
        is_again = true;
      } else {
        before = is_again ? 0 : std::min(before, 2 * kept_) / 2;
        is_again = false;
      }
      store(begin_, address(to));
    }
    std::size_t const after = before + bytes;
    store(end_, address(end));
    store(length_, after + (is_again ? again : 0));
    return after > (is_again ? kept_again() : kept_);
  }

  /// Returns whether the last copy goes to a place that is used again, and that the caches keep.
  [[nodiscard]] bool is_again() noexcept { return load(length_) >= again; }
  /// Returns whether the last copy, of so many bytes, was the first of such a run.
  [[nodiscard]] bool is_first_again(std::size_t bytes) noexcept { return load(length_) == again + bytes; }

 private:
  static constexpr std::size_t again = std::size_t{1} << 62U;

  [[nodiscard]] std::size_t kept_again() const noexcept {
    static std::size_t const of_machine = share_of_third_level() / 4;
    return std::max(kept_again_ != 0 ? kept_again_ : of_machine, kept_);
  }

  static std::uintptr_t address(std::byte const* at) noexcept { return reinterpret_cast<std::uintptr_t>(at); }
  // relaxed: threads of one rank may copy at the same time. Then runs are not recognized, and the copies are
  // still right.
  static std::size_t load(std::size_t& word) noexcept {
    return std::atomic_ref(word).load(std::memory_order_relaxed);
  }
  static void store(std::size_t& word, std::size_t value) noexcept {
    std::atomic_ref(word).store(value, std::memory_order_relaxed);
  }
  static_assert(std::is_same_v<std::uintptr_t, std::size_t>);

  std::size_t begin_ = 0;   ///< the address at which the last run of long copies began
  std::size_t end_ = 0;     ///< the end of the last long copy
  std::size_t length_ = 0;  ///< the bytes of the run; more by `again` if its place is used again
  std::size_t kept_ = half_of_second_level();  ///< the longest run that caches keep, in bytes
  std::size_t kept_again_ = 0;                 ///< the same for a place that is used again; 0: ask the system
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
