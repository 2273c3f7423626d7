// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "atomic.hpp"
#include "conflict.hpp"
#include "misc.hpp"
#include "origin.hpp"
#include "program.hpp"
#include "sync.hpp"

namespace races {

/// All labelled programs.
inline program_list every_program() {
  program_list all;
  add_conflicts(all);
  add_views(all);
  add_one_rank(all);
  add_syncs(all);
  add_atomics(all);
  add_ranges(all);
  add_loops(all);
  add_halos(all);
  add_origins(all);
  return all;
}

}  // namespace races
