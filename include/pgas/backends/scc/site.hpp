// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <pgas/support/expects.hpp>
#include <span>
#include <string>
#include <string_view>

namespace pgas::inline PGAS_ASSERTIONS::detail::scc {

/// The line of the program at a place, for a report, such as "life.cpp:40". It comes from addr2line if that
/// is installed; else the result is the innermost address in its file. `calls` are return addresses, the
/// innermost first. The line is the innermost one outside this library, else the outermost.
inline std::string line_of_program(std::span<void const* const> calls) {
  ::Dl_info info{};
  if (calls.empty() || calls[0] == nullptr || ::dladdr(calls[0], &info) == 0 || info.dli_fname == nullptr)
    return "an unknown place";
  auto const base = reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  std::string offsets;
  for (void const* const where : calls) {
    ::Dl_info of{};
    if (where == nullptr || ::dladdr(where, &of) == 0 || of.dli_fbase != info.dli_fbase) break;
    auto const address = reinterpret_cast<std::uintptr_t>(where);
    // A program that is not position-independent is linked at its final addresses, which begin below 4 GiB.
    std::uintptr_t const offset = base < (std::uintptr_t{1} << 32U) ? address : address - base;
    std::array<char, 32> hex{};
    std::snprintf(hex.data(), hex.size(), " 0x%zx", static_cast<std::size_t>(offset - 1));
    offsets += hex.data();
  }
  std::string const file = info.dli_fname[0] == '/' ? info.dli_fname : "/proc/self/exe";
  std::string plain = file.substr(file.rfind('/') + 1) + "+" + offsets.substr(1, offsets.find(' ', 1) - 1);
  if (file.find('\'') != std::string::npos) return plain;
  std::string const command =
      "addr2line -i -e '" +
      (file == "/proc/self/exe" ? "/proc/" + std::to_string(::getpid()) + "/exe" : file) + "'" + offsets +
      " 2>/dev/null";
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> const pipe(::popen(command.c_str(), "r"), ::pclose);
  if (!pipe) return plain;
  std::array<char, 1024> text{};
  std::string outermost;
  while (std::fgets(text.data(), static_cast<int>(text.size()), pipe.get()) != nullptr) {
    std::string found(text.data());
    found = found.substr(0, found.find_first_of(" \n"));
    if (found.empty() || found.starts_with("??")) continue;
    bool const is_ours = found.find("include/pgas/") != std::string::npos;
    bool const is_standard = found.find("/include/c++/") != std::string::npos;
    found = found.substr(found.rfind('/') + 1);
    if (!is_ours && !is_standard) return found;
    if (is_ours) outermost = found;
  }
  return outermost.empty() ? plain : outermost;
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::scc
