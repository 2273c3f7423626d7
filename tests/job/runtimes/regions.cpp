// SPDX-License-Identifier: BSL-1.0
// Parallel regions of OpenMP before, in and after ranks: regions [LIBRARY WITH THE REGION].
#include <dlfcn.h>

#include <pgas/core.hpp>

#if defined(_OPENMP)
#include "library_of_regions.cpp"
#endif

int main([[maybe_unused]] int argc, [[maybe_unused]] char** argv) {
#if defined(_OPENMP)
  auto const sum = sum_in_parallel;
#else
  auto const sum =
      reinterpret_cast<double (*)(int)>(::dlsym(::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL), "sum_in_parallel"));
#endif
  constexpr double right = 499500;
  bool ok = sum(1000) == right;
  for (int i = 0; i < 2; ++i) {
    double const in_ranks = pgas::run<pgas::backends::process_map>(
        [sum](auto& team) { return team.all_reduce(sum(1000) + sum(1000)); });
    ok = ok && in_ranks == 6 * right && sum(1000) == right;
  }
  return ok ? 0 : 1;
}
