// expects: save: an NPY file holds integers, floating point numbers, complex numbers or bool
// SPDX-License-Identifier: BSL-1.0
#include <pgas/files/save.hpp>
#include <pgas/pgas.hpp>

struct particle {
  double mass;
  int charge;
};

int main() {
  pgas::run<pgas::backends::process_map>(2, [](auto& team) {
    auto const particles = pgas::make_array<particle>(team, 10);
    pgas::save(particles, "particles.npy");
  });
}
