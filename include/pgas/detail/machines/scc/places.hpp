// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <pgas/concepts/access_kind.hpp>
#include <pgas/detail/machines/scc/cache.hpp>
#include <pgas/detail/machines/scc/memory.hpp>
#include <pgas/vocabulary/expects.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <unordered_map>
#include <vector>

namespace PGAS_NAMESPACE::detail::scc {

/// An access as the oracle remembers it.
struct checked_access {
  rank_t rank = 0;
  std::uint32_t where = 0;  ///< in the oracle's places
  access_kind kind = access_kind::own;
  bool is_read = false;
};

/// The faults that the oracle reports, see checker.
enum class check_fault { none, stale, race, unflushed, false_sharing };

/// The call that would have ordered the accesses of a race.
enum class missing_order { order, flush, sync, exclusive_lock, atomicity };

/// The oracle's answer to an access.
struct check_verdict {
  check_fault what = check_fault::none;
  checked_access last;
  std::size_t byte = 0;  ///< in the line: the first wrong byte
  std::byte expected{};
  missing_order lacks = missing_order::order;
};

/// The times at which one rank has published the stores to its own part, by its own clock.
class publications {
 public:
  /// The rank has stored to its own part.
  void stored() noexcept { is_due_ = true; }
  /// The rank publishes its stores at time `now`. Returns whether there were any.
  bool publish(std::uint32_t now) noexcept {
    if (!is_due_) return false;
    is_due_ = false;
    times_[count_++ % kept] = now;
    return true;
  }
  /// The time at which a store of time `when` was published; the largest number if it was not. A store that
  /// is older than the times that are kept counts as published at once.
  [[nodiscard]] std::uint32_t time_of(std::uint32_t when) const noexcept {
    std::uint32_t found = ~std::uint32_t{0};
    for (std::uint64_t i = count_; i-- > 0;) {
      if (count_ - i > kept) return when;
      if (times_[i % kept] < when) break;
      found = times_[i % kept];
    }
    return found;
  }

 private:
  static constexpr std::uint64_t kept = 64;

  std::array<std::uint32_t, kept> times_{};
  std::uint64_t count_ = 0;
  bool is_due_ = false;
};

/// A number for each line of the chip that was accessed, for the oracle: the line's first record. Lines are
/// kept in chunks, since accesses to neighbours follow each other.
class line_heads {
 public:
  /// The number of the line at an address, to change; 0 at first.
  [[nodiscard]] std::uint32_t& of(system_address at) {
    std::uint64_t const n = at / line_bytes;
    if (!is_last(n)) {
      auto& c = chunks_[n / chunk_lines];
      if (!c) c = std::make_unique<chunk>();
      last_number_ = n / chunk_lines;
      last_ = c.get();
    }
    return (*last_)[n % chunk_lines];
  }
  /// The same to read, without memory for a line that has none.
  [[nodiscard]] std::uint32_t known(system_address at) {
    std::uint64_t const n = at / line_bytes;
    if (!is_last(n)) {
      auto const it = chunks_.find(n / chunk_lines);
      if (it == chunks_.end()) return 0;
      last_number_ = n / chunk_lines;
      last_ = it->second.get();
    }
    return (*last_)[n % chunk_lines];
  }
  /// Calls use(number) for the lines of a range that have memory.
  template <class Use>
  void for_each(system_address first, std::uint64_t bytes, Use&& use) {
    for (std::uint64_t n = first / line_bytes; n * line_bytes < first + bytes; ++n) {
      auto const it = chunks_.find(n / chunk_lines);
      if (it == chunks_.end()) {
        n = (n / chunk_lines + 1) * chunk_lines - 1;
        continue;
      }
      use((*it->second)[n % chunk_lines]);
    }
  }

 private:
  static constexpr std::size_t chunk_lines = 2048;
  using chunk = std::array<std::uint32_t, chunk_lines>;

  [[nodiscard]] bool is_last(std::uint64_t number) const noexcept {
    return number / chunk_lines == last_number_ && last_ != nullptr;
  }

  std::unordered_map<std::uint64_t, std::unique_ptr<chunk>> chunks_;
  std::uint64_t last_number_ = 0;
  chunk* last_ = nullptr;
};

/// A place in the program: the return addresses of the innermost calls, null at the end.
struct place {
  static constexpr std::size_t depth = 12;

  std::array<void const*, depth> calls{};

  /// Compares the calls up to the first null, since most places have one call.
  friend bool operator==(place const& a, place const& b) noexcept {
    for (std::size_t i = 0; i < depth && a.calls[i] == b.calls[i]; ++i) {
      if (a.calls[i] == nullptr || i + 1 == depth) return true;
    }
    return false;
  }
};

#if defined(__OPTIMIZE__) || !(defined(__x86_64__) || defined(__aarch64__))
/// The place of the calling function. Optimized code inlines the library, so one return address names the
/// program's line.
[[gnu::always_inline]] inline place place_of_caller() noexcept { return {{__builtin_return_address(0)}}; }
#else
/// The place of the calling function. Code that is not optimized calls each function of the library, and
/// keeps frame pointers. A pointer that cannot be a caller's frame ends the walk.
[[gnu::always_inline]] inline place place_of_caller() noexcept {
  constexpr std::uintptr_t largest_frame = 1U << 16U;
  place found;
  auto const* frame = static_cast<void const* const*>(__builtin_frame_address(0));
  for (std::size_t i = 0; i < place::depth; ++i) {
    found.calls[i] = frame[1];
    auto const here = reinterpret_cast<std::uintptr_t>(frame);
    auto const next = reinterpret_cast<std::uintptr_t>(frame[0]);
    if (next <= here || next - here > largest_frame || next % sizeof(void*) != 0) break;
    frame = static_cast<void const* const*>(frame[0]);
  }
  return found;
}
#endif

/// The places of a program's accesses. A program has few, so each is stored once, and a number stands for it.
class places {
 public:
  /// Numbers are below this; it is also the number of a place that found no room.
  static constexpr std::uint32_t most = (1U << 17U) - 1;

  std::uint32_t number_of(place const& where) {
    known& likely = recent_[hash{}(where) % recent_.size()];
    if (where == likely.where) return likely.number;
    auto const [it, is_new] = numbers_.try_emplace(where, static_cast<std::uint32_t>(all_.size()));
    if (is_new && all_.size() <= most) all_.push_back(where);
    likely = {where, std::min(it->second, most)};
    return likely.number;
  }
  [[nodiscard]] place const& at(std::uint32_t number) const noexcept {
    return all_[number < all_.size() ? number : 0];
  }

 private:
  struct hash {
    std::size_t operator()(place const& p) const noexcept {
      std::size_t all = 0;
      for (void const* const one : p.calls) {
        if (one == nullptr) break;
        all = (all ^ reinterpret_cast<std::uintptr_t>(one)) * std::size_t{0x9e3779b97f4a7c15U};
      }
      return all ^ (all >> 29U);
    }
  };

  struct known {
    place where{};
    std::uint32_t number = 0;
  };

  std::array<known, 64> recent_{};
  std::vector<place> all_{place{}};  ///< the first is unknown
  std::unordered_map<place, std::uint32_t, hash> numbers_{{place{}, 0}};
};

}  // namespace PGAS_NAMESPACE::detail::scc
