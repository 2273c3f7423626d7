// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/detail/containers/container_words.hpp>

#include "ranks.hpp"

namespace pgas_test {

/// Calls use(model) for every chosen model of this build whose control words have read-modify-writes.
template <class Use>
void for_each_model_with_cells(Use const& use) {
  for_each_model([&]<class Model>(Model m) {
    if constexpr (pgas::backend_with_cells<typename Model::backend>) use(m);
  });
}

/// Runs body(team) on each of these models, with each number of ranks.
template <class Body>
void where_cells_are(Body const& body, std::initializer_list<rank_t> sizes = usual_sizes) {
  for_each_model_with_cells([&]<class Model>(Model) {
    for (rank_t ranks : sizes) {
      if (can_have<typename Model::backend>(ranks)) run_on<Model>(ranks, body);
    }
  });
}

}  // namespace pgas_test
