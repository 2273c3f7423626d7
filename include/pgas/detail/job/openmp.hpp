// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dlfcn.h>
#include <link.h>

#include <cstddef>
#include <cstring>
#include <pgas/vocabulary/expects.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

// Functions that the program may do without: their addresses are null if no library has them. libc warns of
// dlopen in each static program, so it is found by dlsym.
[[gnu::weak]] int pause_openmp_of_program(int kind) noexcept __asm__("omp_pause_resource_all");
[[gnu::weak]] void* find_symbol(void* library, char const* name) noexcept __asm__("dlsym");

/// Ends the threads that this thread's parallel regions of OpenMP have left for the next one. The next region
/// starts new ones.
///
/// A fork copies this thread alone. g++'s runtime would still count on the others in each child, and the
/// first parallel region there would wait for them for ever. LLVM's runtime forgets them by itself. The pause
/// is soft: threadprivate data stay where the runtime can keep them.
inline void end_threads_of_openmp() noexcept {
  constexpr int soft = 1;
  if (pause_openmp_of_program != nullptr) {
    pause_openmp_of_program(soft);
    return;
  }
  if (find_symbol == nullptr) return;  // no dynamic libraries
  // A library that the program has loaded may have brought OpenMP along, out of sight of the program.
  char const* file = nullptr;
  ::dl_iterate_phdr(
      [](::dl_phdr_info* object, std::size_t, void* found) {
        if (std::strstr(object->dlpi_name, "/libgomp.so") == nullptr) return 0;
        *static_cast<char const**>(found) = object->dlpi_name;
        return 1;
      },
      static_cast<void*>(&file));
  if (file == nullptr) return;
  auto const open = reinterpret_cast<decltype(&::dlopen)>(find_symbol(RTLD_DEFAULT, "dlopen"));
  auto const close = reinterpret_cast<decltype(&::dlclose)>(find_symbol(RTLD_DEFAULT, "dlclose"));
  void* const library = open == nullptr ? nullptr : open(file, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return;
  using pause_function = int (*)(int);
  if (auto const pause = reinterpret_cast<pause_function>(find_symbol(library, "omp_pause_resource_all")))
    pause(soft);
  if (close != nullptr) close(library);
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
