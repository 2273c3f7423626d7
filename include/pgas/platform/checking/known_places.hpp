// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <unwind.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <pgas/support/expects.hpp>

/// The limits of the program's instructions, from the linker.
extern "C" char const __executable_start;  // NOLINT: the linker chose the name
extern "C" char const etext;

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// A place of the program: the return addresses of its calls, innermost first, null at the end.
struct call_path {
  static constexpr std::size_t most = 23;
  std::uint64_t hash = 0;
  std::array<void const*, most> calls{};
};

/// Finds the calls that lead to an operation, so that a report names the program's line.
///
/// The calls are the return addresses on the stack, as an exception would find them. That takes microseconds,
/// so it is done once for each place: a rank knows a place again by the frame of the operation, and by the
/// words above it that may be return addresses. `Store` has `number_of(call_path)`.
template <class Store>
class known_places {
 public:
  explicit known_places(Store& s) noexcept : store_(&s) {}

  /// The number of a place. `frame` is the frame address of an operation.
  [[gnu::no_sanitize_address, gnu::no_sanitize_thread]] std::uint32_t number_of(void* frame) {
    auto const* const words = static_cast<std::uintptr_t const*>(frame);
    auto const first = reinterpret_cast<std::uintptr_t>(&__executable_start);
    auto const size = reinterpret_cast<std::uintptr_t>(&etext) - first;
    std::uint64_t key = mixed(mixed(0, reinterpret_cast<std::uintptr_t>(frame)), words[1]);
    for (std::size_t i = 2; i < scanned; ++i) {
      if (words[i] - first < size) key = mixed(key, words[i]);
    }
    auto& known = known_[key % known_.size()];
    if (known.key != key) known = {key, find(words[1])};
    return known.number;
  }

 private:
  struct entry {
    std::uint64_t key = 0;
    std::uint32_t number = 0;
  };
  static constexpr std::size_t scanned = 24;

  static std::uint64_t mixed(std::uint64_t key, std::uint64_t more) noexcept {
    key = (key ^ more) * 0x9e3779b97f4a7c15U;
    return key ^ key >> 29U;
  }

  /// Enters the calls from the one that returns to `innermost` on.
  [[gnu::noinline]] std::uint32_t find(std::uintptr_t innermost) const {
    struct walk {
      call_path found;
      std::uintptr_t innermost;
      std::size_t count = 0;
    } all{{}, innermost};
    auto const step = [](::_Unwind_Context* context, void* to) {
      auto& w = *static_cast<walk*>(to);
      auto const address = static_cast<std::uintptr_t>(::_Unwind_GetIP(context));
      if (w.count == 0 && address != w.innermost) return _URC_NO_REASON;
      w.found.calls[w.count++] = reinterpret_cast<void const*>(address);
      w.found.hash = mixed(w.found.hash, address);
      return w.count == w.found.calls.size() ? _URC_END_OF_STACK : _URC_NO_REASON;
    };
    ::_Unwind_Backtrace(step, &all);
    if (all.count == 0) all.found = {mixed(0, innermost), {reinterpret_cast<void const*>(innermost)}};
    if (all.found.hash == 0 || all.found.hash == ~std::uint64_t{0}) all.found.hash = 1;
    return store_->number_of(all.found);
  }

  Store* store_;
  std::array<entry, 256> known_{};  ///< places that this rank has looked up
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
