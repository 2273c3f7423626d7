// expects: this coherence policy does not make copies agree on this backend's memory
// SPDX-License-Identifier: BSL-1.0
#include <pgas/coherence/write_back.hpp>
#include <pgas/pgas.hpp>

int main() {
  pgas::run<pgas::backends::process_map>(2, [](auto& team) {
    auto w = pgas::make_window<int>(team.template with<pgas::coherence::write_back>(), 1);
  });
}
