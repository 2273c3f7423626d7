// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstdint>
#include <pgas/backends/checked/memory.hpp>

/// The limits of the program's instructions, from the linker.
extern "C" char const __executable_start;  // NOLINT(bugprone-reserved-identifier): the linker's name
extern "C" char const etext;

namespace pgas::inline PGAS_ASSERTIONS::detail::checking {

/// Finds the calls that lead to an operation of a segment, so that a report names the program's line.
///
/// Without optimization, each function of the library between the program and the segment has a frame, and
/// frames are a list. With optimization there are few frames and no list: the place is the return address,
/// whose inlined calls the debug information knows. Behind it come words of the stack that look like return
/// addresses, for the few functions that are not inlined.
class places {
 public:
  explicit places(memory& m) noexcept : memory_(&m) {}

  /// The number of a place. `frame` is the frame address of an operation of the segment.
  [[gnu::no_sanitize_address, gnu::no_sanitize_thread]] std::uint32_t number_of(void* frame) {
    memory::place p{};
    auto const* words = static_cast<std::uintptr_t const*>(frame);
    std::size_t count = 0;
    auto const add = [&](std::uintptr_t address) {
      p.calls[count++] = reinterpret_cast<void const*>(address);
      p.hash = (p.hash ^ address) * 0x9e3779b97f4a7c15U;
      p.hash ^= p.hash >> 29U;
    };
    add(words[1]);
#if defined(__OPTIMIZE__)
    auto const first = reinterpret_cast<std::uintptr_t>(&__executable_start);
    auto const size = reinterpret_cast<std::uintptr_t>(&etext) - first;
    for (std::size_t i = 2; i < scanned && count < most_found; ++i) {
      if (words[i] - first < size) add(words[i]);
    }
#else
    for (std::uintptr_t next = words[0]; count < p.calls.size(); next = words[0]) {
      auto const here = reinterpret_cast<std::uintptr_t>(words);
      if (next <= here || next - here > largest_frame || next % sizeof(void*) != 0) break;
      words = reinterpret_cast<std::uintptr_t const*>(next);
      add(words[1]);
    }
#endif
    if (p.hash == 0 || p.hash == ~std::uint64_t{0}) p.hash = 1;
    auto& known = known_[p.hash % known_.size()];
    if (known.hash != p.hash) known = {p.hash, memory_->number_of(p)};
    return known.number;
  }

 private:
  struct entry {
    std::uint64_t hash = 0;
    std::uint32_t number = 0;
  };
  static constexpr std::size_t scanned = 32;
  static constexpr std::size_t most_found = 5;
  static constexpr std::uintptr_t largest_frame = std::uintptr_t{1} << 18U;

  memory* memory_;
  std::array<entry, 256> known_{};  ///< places that this rank has looked up
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::checking
