// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/distributions/block.hpp>
#include <pgas/distributions/block_cyclic.hpp>
#include <pgas/distributions/cyclic.hpp>
#include <pgas/distributions/irregular.hpp>
#include <pgas/distributions/single_owner.hpp>
#include <pgas/distributions/whole.hpp>
#include <pgas/layouts/cyclic_tiles.hpp>
#include <pgas/layouts/tiled.hpp>
#include <vector>

/// The lists of distributions and layouts: a new one is added here and inherits the tests of the axioms.
namespace pgas_test {

/// Sizes of blocks that differ, some of them empty, with `extent` indices together.
inline std::vector<std::size_t> uneven_sizes(std::size_t extent, pgas::rank_t ranks) {
  std::vector<std::size_t> sizes(static_cast<std::size_t>(ranks));
  for (std::size_t i = 0; i < extent; ++i) ++sizes[i * i % sizes.size()];
  return sizes;
}

/// Calls use(distribution) for every distribution of the library, as a rule for these numbers of indices and
/// ranks.
template <class Use>
void for_each_distribution(std::size_t extent, pgas::rank_t ranks, Use const& use) {
  use(pgas::block{});
  use(pgas::cyclic{});
  use(pgas::block_cyclic<4>{});
  use(pgas::block_cyclic<>{3});
  use(pgas::irregular(uneven_sizes(extent, ranks)));
  use(pgas::single_owner{ranks - 1});
  use(pgas::whole{});
}

/// Calls use(layout) for every layout of the library in two dimensions, as a rule.
template <class Use>
void for_each_layout(Use const& use) {
  use(pgas::tiled{pgas::block_cyclic<2>{}, pgas::cyclic{}});
  use(pgas::tiled{pgas::block{}, pgas::block{}}.padded(64));
  use(pgas::cyclic_tiles<3, 2>{});
  use(pgas::cyclic_tiles<2, 2>{}.padded(64));
}

}  // namespace pgas_test
