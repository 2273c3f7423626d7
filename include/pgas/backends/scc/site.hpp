// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <pgas/support/expects.hpp>
#include <string>
#include <string_view>

namespace pgas::inline PGAS_ASSERTIONS::detail::scc {

/// The line of the program at an address, for a report, such as "life.cpp:40". It comes from addr2line if
/// that is installed; else the result is the address in its file. Of inlined calls it is the innermost one
/// outside this library, else the outermost.
inline std::string line_of_program(void const* where) {
  if (where == nullptr) return "an unknown place";
  ::Dl_info info{};
  if (::dladdr(where, &info) == 0 || info.dli_fname == nullptr) return "an unknown place";
  auto const base = reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  auto const address = reinterpret_cast<std::uintptr_t>(where);
  // A program that is not position-independent is linked at its final addresses, which begin below 4 GiB.
  std::uintptr_t const offset = base < (std::uintptr_t{1} << 32U) ? address : address - base;
  std::array<char, 32> hex{};
  std::snprintf(hex.data(), hex.size(), "0x%zx", static_cast<std::size_t>(offset - 1));
  std::string const file = info.dli_fname[0] == '/' ? info.dli_fname : "/proc/self/exe";
  std::string plain = file.substr(file.rfind('/') + 1) + "+" + hex.data();
  if (file.find('\'') != std::string::npos) return plain;
  std::string const command =
      "addr2line -i -e '" +
      (file == "/proc/self/exe" ? "/proc/" + std::to_string(::getpid()) + "/exe" : file) + "' " + hex.data() +
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
    found = found.substr(found.rfind('/') + 1);
    if (!is_ours) return found;
    outermost = found;
  }
  return outermost.empty() ? plain : outermost;
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::scc
