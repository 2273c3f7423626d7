// SPDX-License-Identifier: BSL-1.0
#pragma once

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

namespace pgas::inline PGAS_ASSERTIONS::detail {

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

/// The source lines of chains of calls, each asked for once in a process. addr2line finds them, if that is
/// installed. It reads a file's debug information anew at each start, which can take a second. A search of
/// schedules reports one race a hundred times.
class line_lookup {
 public:
  using lines = std::vector<std::string>;

  [[nodiscard]] static line_lookup& of_process() {
    static line_lookup& one = *new line_lookup;  // never destroyed: destructors of static objects ask, too
    return one;
  }

  /// Asks for several chains at once: one start of addr2line for all chains in a file.
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

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
