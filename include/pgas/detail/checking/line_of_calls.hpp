// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlfcn.h>
#include <unistd.h>
#include <unwind.h>
#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <pgas/vocabulary/expects.hpp>
#include <span>
#include <string>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// A chain of calls in one file of the program, for a report.
struct code_addresses {
  std::string file{};                   ///< empty: unknown
  std::vector<std::uintptr_t> calls{};  ///< addresses in the file, innermost first

  /// The innermost address, for a chain without lines.
  [[nodiscard]] std::string plain() const {
    return file.substr(file.rfind('/') + 1) + "+" + (calls.empty() ? "0x0" : hex(calls.front()));
  }
  [[nodiscard]] static std::string hex(std::uintptr_t address) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "0x%zx", static_cast<std::size_t>(address));
    return text.data();
  }

  friend auto operator<=>(code_addresses const&, code_addresses const&) = default;
};

/// The source lines of chains of calls, each looked up once in a process. addr2line finds them, if it is
/// installed. It reads a file's debug information anew at each start, which can take a second. A search of
/// schedules reports one race a hundred times.
class line_lookup {
 public:
  using lines = std::vector<std::string>;

  [[nodiscard]] static line_lookup& of_process() {
    static line_lookup& one = *new line_lookup;  // never destroyed: destructors of static objects use it, too
    return one;
  }

  /// Looks up several chains at once: one start of addr2line for all chains in a file.
  void ask_for(std::span<code_addresses const> chains) {
    std::lock_guard const hold(lock_);
    std::vector<code_addresses> left;
    for (code_addresses const& c : chains) {
      if (known_.contains(c) || std::find(left.begin(), left.end(), c) != left.end()) continue;
      if (!left.empty() && left.front().file != c.file) {
        ask({&c, 1});
      } else {
        left.push_back(c);
      }
    }
    if (!left.empty()) ask(left);
  }
  /// The lines of a chain, such as "/home/me/life.cpp:40", with those of inlined calls, innermost first.
  /// Calls without a line are left out.
  [[nodiscard]] lines of(code_addresses const& chain) {
    ask_for({&chain, 1});
    std::lock_guard const hold(lock_);
    return known_[chain];
  }
  /// How often addr2line was started.
  [[nodiscard]] std::size_t starts() const noexcept { return starts_; }

 private:
  /// Requires that all chains are in one file.
  void ask(std::span<code_addresses const> chains) {
    for (code_addresses const& c : chains) known_[c] = {};
    std::string const& file = chains.front().file;
    if (file.empty() || file.find('\'') != std::string::npos) return;
    std::string command = "addr2line -a -i -e '" + file + "'";
    for (code_addresses const& c : chains) {
      for (std::uintptr_t const a : c.calls) command += " " + code_addresses::hex(a);
    }
    command += " 2>/dev/null";
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> const pipe(::popen(command.c_str(), "r"), ::pclose);
    if (!pipe) return;
    ++starts_;
    auto chain = chains.begin();
    std::size_t asked = 0;  // addresses of the chain
    std::array<char, 1024> text{};
    while (std::fgets(text.data(), static_cast<int>(text.size()), pipe.get()) != nullptr) {
      std::string found(text.data());
      found = found.substr(0, found.find_first_of(" \n"));
      if (found.starts_with("0x")) {  // an address comes before its lines
        while (chain != chains.end() && asked == chain->calls.size()) ++chain, asked = 0;
        if (chain == chains.end()) return;
        ++asked;
      } else if (asked != 0 && !found.empty() && !found.starts_with("??") && !found.ends_with(":?")) {
        known_[*chain].push_back(found);
      }
    }
  }

  std::mutex lock_;
  std::map<code_addresses, lines> known_;
  std::size_t starts_ = 0;
};

/// Calls that lead to a place: their return addresses, innermost first, null at the end.
using call_chain = std::array<void const*, 48>;

/// Finds the calls that lead to a place of the program, so that a report names its line.
///
/// The unwinder of exceptions takes microseconds for that. So each chain is kept, with the words of the stack
/// that hold the return addresses. If all these words are unchanged, so are the calls.
class call_chains {
 public:
  /// A chain, and a number that its user may give it; 0 at first.
  struct known {
    call_chain calls{};
    std::uint32_t number = 0;
  };

  /// The calls that lead to the function of this frame, which still runs. The result is valid until the next
  /// call.
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
  /// The calls that lead to the caller, found by the unwinder.
  [[gnu::noinline]] static call_chain found_here() noexcept {
    entry e;
    walk(e, __builtin_frame_address(0), __builtin_return_address(0));
    return e.calls;
  }

 private:
  static constexpr std::size_t sets = 64;
  static constexpr std::size_t ways = 4;

  struct entry : known {
    void* frame = nullptr;  ///< null: the entry is unused
    std::size_t count = 0;
    std::array<void const* const*, std::tuple_size_v<call_chain>> slots{};  ///< where the addresses are
  };

  /// Compares from the innermost frame on, since two stacks differ there first.
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
  /// Reads one frame, from that of the innermost call on.
  [[gnu::no_sanitize_address, gnu::no_sanitize_thread]] static ::_Unwind_Reason_Code step(
      ::_Unwind_Context* context, void* of) noexcept {
    auto const& w = *static_cast<walker*>(of);
    entry& e = *w.into;
    auto const* const address = reinterpret_cast<void const*>(::_Unwind_GetIP(context));
    if (address == nullptr) return _URC_END_OF_STACK;
    if (e.count == 0 && address != w.innermost) return _URC_NO_REASON;
    // A caller's frame begins above its return address on processors whose calls push it. On others the
    // address is unknown.
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

/// The addresses of a chain of calls, computed from their return addresses, innermost first.
inline code_addresses addresses_of_calls(std::span<void const* const> calls) {
  code_addresses found;
  for (void const* const where : calls) {
    ::Dl_info info{};
    if (where == nullptr || ::dladdr(where, &info) == 0 || info.dli_fname == nullptr) continue;
    auto const base = reinterpret_cast<std::uintptr_t>(info.dli_fbase);
    auto const address = reinterpret_cast<std::uintptr_t>(where);
    // A program that is not position-independent is linked at its final addresses, which begin below 4 GiB.
    std::uintptr_t const offset = base < (std::uintptr_t{1} << 32U) ? address : address - base;
    if (found.file.empty())
      found.file = info.dli_fname[0] == '/' ? info.dli_fname : "/proc/" + std::to_string(::getpid()) + "/exe";
    found.calls.push_back(offset - 1);
  }
  return found;
}

/// The line of the program in a chain of calls, for a report, such as "life.cpp:40": the innermost line
/// outside this library and the system's headers. If no line is known, the result is an address in a file; if
/// all are the library's, it is empty.
inline std::string program_line_of_calls(std::span<void const* const> calls) {
  code_addresses const chain = addresses_of_calls(calls);
  if (chain.file.empty()) return "an unknown place";
  auto const lines = line_lookup::of_process().of(chain);
  for (std::string const& line : lines) {
    if (line.find("include/pgas/") == std::string::npos && !line.starts_with("/usr/"))
      return line.substr(line.rfind('/') + 1);
  }
  return lines.empty() ? chain.plain() : std::string();
}
/// The same, or the innermost line of the library if there is no other.
inline std::string line_of_calls(std::span<void const* const> calls) {
  std::string line = program_line_of_calls(calls);
  if (!line.empty()) return line;
  line = line_lookup::of_process().of(addresses_of_calls(calls)).front();
  return line.substr(line.rfind('/') + 1);
}
/// Finds the lines of two chains at once, for line_of_calls.
inline void find_lines_of_calls(std::span<void const* const> a, std::span<void const* const> b) {
  std::array const both{addresses_of_calls(a), addresses_of_calls(b)};
  line_lookup::of_process().ask_for(both);
}

}  // namespace PGAS_NAMESPACE::detail
