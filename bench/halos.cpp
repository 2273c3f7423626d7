// SPDX-License-Identifier: BSL-1.0
// Halo exchanges by notified puts, beside exchange_halo: rows of an array, and blocks, whose columns are
// strided.
#include <pgas/notified_halo.hpp>
#include <pgas/pgas.hpp>

#include "program.hpp"
#include "shapes.hpp"

namespace {

/// Reads the ghost cells and changes the cells along the edges, as a stencil does. Else ghost cells would
/// stay in the cache of the rank that puts, and an exchange that stores them once would seem to be free.
template <class Array>
void use(Array const& a) {
  auto const u = pgas::stage(a, pgas::read_write);
  auto const rows = static_cast<std::ptrdiff_t>(a.own_box().count[0]);
  auto const cols = static_cast<std::ptrdiff_t>(a.own_box().count[1]);
  for (std::ptrdiff_t j = 0; j < cols; ++j) {
    u(0, j) += u(-1, j);
    u(rows - 1, j) -= u(rows, j);
  }
  for (std::ptrdiff_t i = 0; i < rows; ++i) {
    u(i, 0) += u(i, -1);
    u(i, cols - 1) -= u(i, cols);
  }
}

template <class Array>
void measure(bench::meter& m, std::string const& shape, Array const& a) {
  auto halos = pgas::make_notified_halo(a);
  bench::row_key const key{.row = "halo", .mode = shape};
  m.measure(key, {bench::everybody("",
                                   [&] {
                                     halos.exchange(a);
                                     use(a);
                                   }),
                  bench::everybody("exchange_halo", [&] {
                    pgas::exchange_halo(a);
                    use(a);
                  })});
}

}  // namespace

int main(int argc, char** argv) {
  bench::measure_on_ranks(argc, argv, [](auto& team, bench::meter& m) {
    pgas::halo const around{.width = 1, .edges = pgas::edge::periodic};
    auto const ranks = static_cast<std::size_t>(team.size());
    for (std::size_t const cols : {8U, 256U, 4096U, 65536U}) {
      measure(m, "rows of " + std::to_string(cols),
              pgas::make_array<double>(team, {4 * ranks, cols}, around));
    }
    for (std::size_t const side : {8U, 64U, 512U}) {
      measure(m, "blocks of " + std::to_string(side),
              pgas::make_array<double>(team, {2 * side, ranks / 2 * side},
                                       pgas::tiled{pgas::block{}, pgas::block{}}, around));
    }
  });
  return 0;
}
