// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <pgas/platform/checking/line_lookup.hpp>
#include <span>
#include <string>

namespace pgas::inline PGAS_ASSERTIONS::detail::scc {

/// The addresses of calls in the file of the innermost one. `calls` are return addresses, the innermost
/// first.
inline code_addresses addresses_of_program(std::span<void const* const> calls) {
  ::Dl_info info{};
  if (calls.empty() || calls[0] == nullptr || ::dladdr(calls[0], &info) == 0 || info.dli_fname == nullptr)
    return {};
  code_addresses found;
  found.file = info.dli_fname[0] == '/' ? info.dli_fname : "/proc/" + std::to_string(::getpid()) + "/exe";
  auto const base = reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  for (void const* const where : calls) {
    ::Dl_info of{};
    if (where == nullptr || ::dladdr(where, &of) == 0 || of.dli_fbase != info.dli_fbase) break;
    auto const address = reinterpret_cast<std::uintptr_t>(where);
    // A program that is not position-independent is linked at its final addresses, which begin below 4 GiB.
    found.calls.push_back((base < (std::uintptr_t{1} << 32U) ? address : address - base) - 1);
  }
  return found;
}

/// The line of the program at a place, for a report, such as "life.cpp:40". The line is the innermost one
/// outside this library, else the outermost; without lines, the result is the innermost address in its file.
inline std::string line_of_program(std::span<void const* const> calls) {
  code_addresses const chain = addresses_of_program(calls);
  if (chain.file.empty()) return "an unknown place";
  std::string outermost;
  for (std::string const& line : line_lookup::of_process().of(chain)) {
    bool const is_ours = line.find("include/pgas/") != std::string::npos;
    bool const is_standard = line.find("/include/c++/") != std::string::npos;
    std::string const name = line.substr(line.rfind('/') + 1);
    if (!is_ours && !is_standard) return name;
    if (is_ours) outermost = name;
  }
  return outermost.empty() ? chain.plain() : outermost;
}
/// Finds the lines of two places at once, for line_of_program.
inline void find_lines_of_program(std::span<void const* const> a, std::span<void const* const> b) {
  std::array const both{addresses_of_program(a), addresses_of_program(b)};
  line_lookup::of_process().ask_for(both);
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::scc
