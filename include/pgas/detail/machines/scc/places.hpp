// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <pgas/vocabulary/expects.hpp>
#include <unordered_map>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail::scc {

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

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::scc
