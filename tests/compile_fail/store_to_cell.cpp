// expects: a word with many writers has no store
// SPDX-License-Identifier: BSL-1.0
#include <pgas/pgas.hpp>

void reset(pgas::backends::process_map::control_type& control) {
  control.cell(0, 0).store(0, std::memory_order_release);
}
