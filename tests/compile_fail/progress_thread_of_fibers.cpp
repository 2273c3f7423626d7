// expects: progress_thread: ranks of this backend are fibers of one thread
// SPDX-License-Identifier: BSL-1.0
#include <pgas/async/progress_thread.hpp>
#include <pgas/backends/scc.hpp>
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::scc>(2, [](auto& team) { pgas::progress_thread const helper{team}; });
}
