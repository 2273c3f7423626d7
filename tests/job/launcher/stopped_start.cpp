// SPDX-License-Identifier: BSL-1.0
// A library that pgas-run loads before all others: the process of rank PGAS_TEST_STOPPED stops before it runs
// its program, as many times as PGAS_TEST_STOPS says.
#include <dlfcn.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

extern "C" int execvpe(char const* file, char* const* arguments, char* const* environment) {
  char const* const stopped = std::getenv("PGAS_TEST_STOPPED");
  char const* const stops = std::getenv("PGAS_TEST_STOPS");
  for (char* const* entry = environment; stopped != nullptr && *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, "PGAS_RANK=", 10) != 0 || std::strcmp(*entry + 10, stopped) != 0) continue;
    for (int i = stops != nullptr ? std::atoi(stops) : 1; i > 0; --i) std::raise(SIGSTOP);
  }
  using function = int (*)(char const*, char* const*, char* const*);
  return reinterpret_cast<function>(::dlsym(RTLD_NEXT, "execvpe"))(file, arguments, environment);
}
