// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/fence.hpp>
#include <pgas/histories/linearizable.hpp>
#include <pgas/histories/spec_map.hpp>
#include <pgas/window.hpp>

#include <span>
#include <vector>

#include "ranks.hpp"

namespace pgas_test {

/// All ranks look up, update and erase two keys, and the history of their calls is linearizable. Collective.
template <class Lookup, class Update, class Erase>
void require_linearizable(auto& team, int first_key, Lookup const& lookup, Update const& update,
                          Erase const& erase) {
  using kv = pgas::histories::spec_map<int, int>;
  using record = pgas::histories::record_of<kv>;
  constexpr int calls = 12;
  pgas::histories::recorder<kv> seen(team.rank());
  random_source random(static_cast<std::uint64_t>(team.rank()) + 11);
  for (int i = 0; i < calls; ++i) {
    int const key = first_key + static_cast<int>(random.below(2));
    int const value = 100 * team.rank() + i + 1;
    switch (random.below(3)) {
      case 0:
        seen.call(kv::update(key, value), [&] { update(key, value); });
        break;
      case 1:
        seen.call(kv::erase(key), [&] { erase(key); });
        break;
      default:
        seen.call(kv::lookup(key), [&] { return lookup(key); });
    }
  }
  team.barrier();
  auto all = pgas::make_window<record>(team, calls);
  {
    pgas::fence epoch{all};
    epoch.to(team.rank()).put(0, seen.records());
  }
  std::vector<std::vector<record>> theirs(static_cast<std::size_t>(team.size()), std::vector<record>(calls));
  {
    pgas::fence epoch{all};
    for (rank_t r = 0; r < team.size(); ++r)
      epoch.to(r).get(0, std::span(theirs[static_cast<std::size_t>(r)]));
  }
  pgas::histories::history<kv> whole;
  for (auto const& one : theirs) whole.append(one);
  auto const verdict = check_linearizable(whole);
  require(verdict.right, verdict.text);
}

}  // namespace pgas_test
