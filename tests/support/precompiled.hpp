// SPDX-License-Identifier: BSL-1.0
// The headers that nearly all tests and examples read. tools/test lets clang read them once for all units of
// a build, and generate code once for what nearly all of them do on each model. doctest is not among them,
// since an example does not link it.
#pragma once

#include <pgas/distributions/block_cyclic.hpp>
#include <pgas/pgas.hpp>

#include "model_lists.hpp"

namespace pgas_test {

/// Does on a model what nearly all tests do. Only its instantiation matters: no test calls it.
template <class Team>
void common(Team& team) {
  team.barrier();
  static_cast<void>(team.all_reduce(team.broadcast(1, 0)));
  static_cast<void>(team.all_gather(1));
  static_cast<void>(team.split(0));
  auto numbers = pgas::make_window<double>(team, 1);
  static_cast<void>(pgas::stage(numbers, pgas::read_only)[0]);
  auto w = pgas::make_window<int>(team, 1);
  {
    pgas::fence epoch{w};
    epoch.put(0, 0, 1);
    static_cast<void>(epoch.get(0, 0));
  }
  {
    pgas::lock epoch{w, 0, pgas::exclusive};
    epoch.put(0, 0, 1);
    static_cast<void>(epoch.get(0, 0));
  }
  {
    pgas::lock_all epoch{w};
    epoch.put(0, 0, 1);
    epoch.flush_all();
    static_cast<void>(epoch.fetch_add(0, 0, 1));
  }
  static_cast<void>(pgas::stage(w, pgas::read_only)[0]);
  auto row = pgas::make_array<int>(team, {4});
  static_cast<void>(pgas::stage(row, pgas::read_only));
  static_cast<void>(pgas::make_array<int>(team, {4, 4, 4}));
  auto rows = pgas::make_array<int>(team, {4, 4}, pgas::halo{.width = 1});
  pgas::exchange_halo(rows);
  static_cast<void>(pgas::stage(rows, pgas::read_only));
  using boxes = pgas::tiled<pgas::block, pgas::block>;
  static_cast<void>(pgas::make_array<int>(team, {4, 4}, boxes{}));
  static_cast<void>(pgas::make_array<double>(team, {4, 4}, boxes{}));
  using cards = pgas::tiled<pgas::block_cyclic<2>, pgas::block_cyclic<3>>;
  static_cast<void>(pgas::make_array<int>(team, {4, 4}, cards{}));
}

template <class List>
struct common_code;
template <class... Models>
struct common_code<std::tuple<Models...>> {
  static inline auto const of_all = std::tuple{&common<typename Models::team>...};
};
template struct common_code<PGAS_SHARED_LIST::all>;

}  // namespace pgas_test
