// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <pgas/support/expects.hpp>
#include <span>
#include <string>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The line of the program in a chain of calls, given by their return addresses, innermost first; for a
/// report, such as "life.cpp:40". It is the innermost line outside this library and the system's headers.
/// addr2line finds it if that is installed; else the result is an address in a file.
inline std::string line_of_calls(std::span<void const* const> calls) {
  std::string file;
  std::string addresses;
  std::string plain;
  for (void const* const where : calls) {
    ::Dl_info info{};
    if (where == nullptr || ::dladdr(where, &info) == 0 || info.dli_fname == nullptr) continue;
    auto const base = reinterpret_cast<std::uintptr_t>(info.dli_fbase);
    auto const address = reinterpret_cast<std::uintptr_t>(where);
    // A program that is not position-independent is linked at its final addresses, which begin below 4 GiB.
    std::uintptr_t const offset = base < (std::uintptr_t{1} << 32U) ? address : address - base;
    std::array<char, 32> hex{};
    std::snprintf(hex.data(), hex.size(), " 0x%zx", static_cast<std::size_t>(offset - 1));
    if (file.empty()) {
      file = info.dli_fname[0] == '/' ? info.dli_fname : "/proc/" + std::to_string(::getpid()) + "/exe";
      plain = file.substr(file.rfind('/') + 1) + "+" + (hex.data() + 1);
    }
    addresses += hex.data();
  }
  if (file.empty()) return "an unknown place";
  if (file.find('\'') != std::string::npos) return plain;
  std::string const command = "addr2line -i -e '" + file + "'" + addresses + " 2>/dev/null";
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> const pipe(::popen(command.c_str(), "r"), ::pclose);
  if (!pipe) return plain;
  std::array<char, 1024> text{};
  std::string innermost;
  while (std::fgets(text.data(), static_cast<int>(text.size()), pipe.get()) != nullptr) {
    std::string found(text.data());
    found = found.substr(0, found.find_first_of(" \n"));
    if (found.empty() || found.starts_with("??")) continue;
    bool const is_program = found.find("include/pgas/") == std::string::npos && !found.starts_with("/usr/");
    found = found.substr(found.rfind('/') + 1);
    if (is_program) return found;
    if (innermost.empty()) innermost = found;
  }
  return innermost.empty() ? plain : innermost;
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
