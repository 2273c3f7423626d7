// expects: this window's lock protocol can only lock_all
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>
#include <pgas/sync/shared_only.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(2, [](auto& team) {
    using without_locks =
        pgas::protocols<pgas::default_fence, pgas::sync::match_vector, pgas::sync::shared_only>;
    auto w = pgas::make_window<int>(team.template with<pgas::coherence::coherent, without_locks>(), 1);
    pgas::lock epoch{w, 0, pgas::exclusive};
  });
}
