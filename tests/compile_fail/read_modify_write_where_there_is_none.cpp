// expects: hosts that share a pool have no read-modify-write in common
// SPDX-License-Identifier: BSL-1.0
#include <pgas/backends/pool_map.hpp>

void count(pgas::backends::pool_map::control_type& control) {
  control.cell(0, 0).fetch_add(1, std::memory_order_relaxed);
}
