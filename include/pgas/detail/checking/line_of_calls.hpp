// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <pgas/detail/checking/line_lookup.hpp>
#include <span>
#include <string>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The addresses in a chain of calls, given by their return addresses, innermost first.
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
/// The same, or the innermost line of the library.
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

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
