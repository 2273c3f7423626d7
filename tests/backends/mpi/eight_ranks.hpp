// SPDX-License-Identifier: BSL-1.0
#pragma once

// What every backend promises, once on eight ranks: more than the machine has cores, and on `cluster` several
// nodes of several ranks. They are one job, since an MPI that spins takes seconds to start eight ranks on two
// cores.
#include <pgas/pgas.hpp>

#include "../../conformance/random_programs.hpp"
#include "one_backend.hpp"

namespace pgas_test::eight_ranks {

template <class Team>
void fence(Team& team) {
  auto const ranks = static_cast<std::size_t>(team.size());
  auto w = pgas::make_window<int>(team, ranks);
  for (int round = 1; round <= 3; ++round) {
    {
      pgas::fence epoch{w};
      for (rank_t to = 0; to < team.size(); ++to)
        epoch.put(to, static_cast<std::size_t>(team.rank()), 100 * round + team.rank());
    }
    for (std::size_t from = 0; from < ranks; ++from)
      require_equal(w.local()[from], 100 * round + static_cast<int>(from), "an element after a fence");
    team.barrier();
  }
}

template <class Team>
void lock(Team& team) {
  auto w = pgas::make_window<long>(team, 2);
  for (rank_t const target : {0, team.size() - 1}) {
    pgas::lock epoch{w, target, pgas::exclusive};
    long const before = epoch.get(target, 0);
    epoch.put(target, 0, before + 1);
  }
  {
    pgas::lock_all epoch{w};
    for (rank_t to = 0; to < team.size(); ++to) epoch.accumulate(to, 1, 1L);
  }
  team.barrier();
  pgas::lock own{w, team.rank(), pgas::shared};
  bool const is_locked = team.rank() == 0 || team.rank() == team.size() - 1;
  require_equal(w.local()[0], is_locked ? long{team.size()} : 0L, "updates under a lock");
  require_equal(w.local()[1], long{team.size()}, "additions");
}

template <class Team>
void post(Team& team) {
  auto w = pgas::make_window<int>(team, 1);
  rank_t const next = (team.rank() + 1) % team.size();
  rank_t const previous = (team.rank() + team.size() - 1) % team.size();
  for (int round = 1; round <= 3; ++round) {
    pgas::exposure exposed{w, {previous}};
    {
      pgas::access epoch{w, {next}};
      epoch.put(next, 0, 10 * round + team.rank());
    }
    exposed.wait();
    require_equal(w.local()[0], 10 * round + previous, "the value of the previous rank");
  }
}

/// On teams of every second rank, and of each half.
template <class Team>
void split(Team& team) {
  for (int const color : {team.rank() % 2, team.rank() / 4}) {
    auto part = team.split(color);
    require_equal(part.size(), 4, "ranks of a piece");
    auto w = pgas::make_window<int>(part, 1);
    {
      pgas::fence epoch{w};
      epoch.put((part.rank() + 1) % part.size(), 0, 7 * color);
    }
    require_equal(part.all_reduce(w.local()[0]), 4 * 7 * color, "the sum of a piece");
  }
}

}  // namespace pgas_test::eight_ranks

TEST_CASE("eight ranks: fences, posts, locks, teams and a random program keep their promises") {
  bool has_played = false;
  pgas_test::everywhere(
      [&has_played](auto& team) {
        pgas_test::eight_ranks::fence(team);
        pgas_test::eight_ranks::lock(team);
        pgas_test::eight_ranks::post(team);
        pgas_test::eight_ranks::split(team);
        pgas_test::random_programs::play(team, 101);
        has_played = true;
      },
      {8});
  CHECK(has_played == (pgas_test::processes >= 8));
}
