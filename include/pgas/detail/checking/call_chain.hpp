// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <unwind.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <pgas/vocabulary/expects.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Calls that lead to a place: their return addresses, innermost first, null at the end.
using call_chain = std::array<void const*, 48>;

/// Finds the calls that lead to a place of the program, so that a report names its line.
///
/// The unwinder of exceptions takes microseconds for that. So each chain is kept, with the words of the stack
/// where the return addresses were found. If all these words are the same again, so are the calls.
class call_chains {
 public:
  /// A chain, and a number that its user may give it; 0 at first.
  struct known {
    call_chain calls{};
    std::uint32_t number = 0;
  };

  /// The calls that lead to the function of this frame, which still runs. The result is good until the next.
  known& of(void* frame) noexcept {
    void const* const innermost = static_cast<void const* const*>(frame)[1];
    auto const key = reinterpret_cast<std::uintptr_t>(frame) ^ reinterpret_cast<std::uintptr_t>(innermost);
    std::size_t const first = (key * 0x9e3779b97f4a7c15U >> 32U) % sets * ways;
    for (std::size_t way = 0; way < ways; ++way) {
      if (is_same(kept_[first + way], frame, innermost)) return kept_[first + way];
    }
    entry& fresh = kept_[first + next_++ % ways];
    walk(fresh, frame, innermost);
    return fresh;
  }
  /// The calls that lead to the caller, by the unwinder alone.
  [[gnu::noinline]] static call_chain found_here() noexcept {
    entry e;
    walk(e, __builtin_frame_address(0), __builtin_return_address(0));
    return e.calls;
  }

 private:
  static constexpr std::size_t sets = 64;
  static constexpr std::size_t ways = 4;

  struct entry : known {
    void* frame = nullptr;  ///< null: the entry is none
    std::size_t count = 0;
    std::array<void const* const*, std::tuple_size_v<call_chain>> slots{};  ///< where the addresses are
  };

  /// Compares from the innermost frame on. A stack that differs does so before its end.
  [[gnu::no_sanitize_address, gnu::no_sanitize_thread]] static bool is_same(entry const& e, void* frame,
                                                                            void const* innermost) noexcept {
    if (e.frame != frame || e.calls[0] != innermost) return false;
    for (std::size_t i = 1; i < e.count; ++i) {
      if (*e.slots[i] != e.calls[i]) return false;
    }
    return true;
  }

  struct walker {
    entry* into;
    void const* innermost;
  };
  [[gnu::noinline]] static void walk(entry& into, void* frame, void const* innermost) noexcept {
    into = entry{};
    into.frame = frame;
    walker w{&into, innermost};
    ::_Unwind_Backtrace(step, &w);
    if (into.count != 0) return;
    into.calls[0] = innermost;  // all that is known
    into.frame = nullptr;
  }
  /// Takes one frame, from that of the innermost call on.
  [[gnu::no_sanitize_address, gnu::no_sanitize_thread]] static ::_Unwind_Reason_Code step(
      ::_Unwind_Context* context, void* of) noexcept {
    auto const& w = *static_cast<walker*>(of);
    entry& e = *w.into;
    auto const* const address = reinterpret_cast<void const*>(::_Unwind_GetIP(context));
    if (address == nullptr) return _URC_END_OF_STACK;
    if (e.count == 0 && address != w.innermost) return _URC_NO_REASON;
    // A caller's frame begins above its return address, where calls push it. Elsewhere nothing is known
    // again.
    auto const* const slot = reinterpret_cast<void const* const*>(::_Unwind_GetCFA(context)) - 1;
    e.calls[e.count] = address;
    e.slots[e.count] = slot;
    if (!pushes_addresses || *slot != address) e.frame = nullptr;
    return ++e.count == e.calls.size() ? _URC_END_OF_STACK : _URC_NO_REASON;
  }
#if defined(__x86_64__)
  static constexpr bool pushes_addresses = true;
#else
  static constexpr bool pushes_addresses = false;
#endif

  std::array<entry, sets * ways> kept_{};
  std::size_t next_ = 0;  ///< counts the entries that are new
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
