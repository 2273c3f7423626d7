// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <pgas/array/accesses.hpp>
#include <pgas/array/shape.hpp>
#include <pgas/detail/window/state.hpp>
#include <string>
#include <utility>

namespace PGAS_NAMESPACE::detail {

/// One rank's state of one array: its window's state, and the shape, in which an epoch on the array finds
/// cells.
template <class T, std::size_t N, class Layout, class Backend, class Coherence, class Protocols>
struct array_state : window_state<T, Backend, Coherence, Protocols, typename Backend::segment_type> {
  using base = window_state<T, Backend, Coherence, Protocols, typename Backend::segment_type>;
  using shape_type = array_shape<N, Layout>;
  template <class Epoch, hints Hints>
  using accesses_type = array_accesses<Epoch, array_state, Hints>;

  static constexpr std::size_t dimensions = N;

  array_state(std::shared_ptr<team_state<Backend>> t, typename base::segment_type s,
              typename base::control_type c, std::string l, shape_type const& of)
      : base(std::move(t), std::move(s), std::move(c), std::move(l)), shape(of) {}

  shape_type const shape;
};

}  // namespace PGAS_NAMESPACE::detail
