// SPDX-License-Identifier: BSL-1.0
// Compiled once for all programs of this folder.
#include <pgas/pgas.hpp>

// clang instantiates once, here, what most programs need. g++ would do that again in each program.
#ifdef __clang__
#include "../support/incoherent/backend.hpp"

template <class Backend>
void right_program() {
  pgas::run<Backend>(2, [](auto& team) {
    auto w = pgas::make_window<int>(team, 1);
    pgas::fence fence{w};
    fence.put(0, 0, 1);
    pgas::lock_all lock{w};
    lock.accumulate(0, 0, 1);
  });
}
template void right_program<pgas::backends::process_map>();
template void right_program<pgas_test::incoherent::backend>();
#endif
