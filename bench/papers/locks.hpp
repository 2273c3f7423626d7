// SPDX-License-Identifier: BSL-1.0
// Christgau and Schnor 2019, Table 2 and Figs. 6 to 8: 1000 pairs of lock and unlock by each process, each on
// a random target; all shared, half of them shared, and all exclusive.
#pragma once

#include <pgas/lock.hpp>
#include <pgas/sync/queued.hpp>

#include "chip.hpp"
#include "lock_schemes.hpp"

namespace papers::locks {

/// The time of each pair, of all cores.
template <class Locks>
std::vector<double> pairs(rank_t cores, unsigned exclusive_percent, int repetitions) {
  std::vector<double> all;
  on_chip(cores, default_timing(), [&](machine& m) {
    using bundle = pgas::protocols<pgas::default_fence, pgas::sync::match_vector, Locks>;
    auto const team = m.team().template with<pgas::coherence::write_through, bundle>();
    auto const w = pgas::make_window<std::uint32_t>(team, 1);
    pgas::scc::dice dice(static_cast<std::uint64_t>(m.rank()) * 1000 + exclusive_percent);
    m.team().barrier();
    for (int i = 0; i < repetitions; ++i) {
      auto const target = static_cast<rank_t>(dice.below(static_cast<std::size_t>(cores)));
      bool const exclusive = dice.below(100) < exclusive_percent;
      double const before = m.now();
      if (exclusive) {
        pgas::lock const epoch{w, target, pgas::exclusive};
      } else {
        pgas::lock const epoch{w, target, pgas::shared};
      }
      all.push_back(m.now() - before);
    }
    m.team().barrier();
  });
  return all;
}

template <class Locks>
void measure(teller const& tell, std::string const& series, effort how, bool curve) {
  int const repetitions = times_of(how, 1000, 100, 5);
  for (unsigned share : {0U, 50U, 100U}) {
    for (rank_t cores : {2, 6, 8, 12, 24, 32, 48}) {
      bool const few = how != effort::whole && cores != 2 && cores != 8 && cores != 24;
      if (how == effort::small ? cores != 8 : cores != 48 && (!curve || few)) continue;
      auto const times = pairs<Locks>(cores, share, repetitions);
      tell(series, cores, "median, " + std::to_string(share) + " % exclusive", median(times));
      if (cores != 48) continue;
      tell(series, share, "q1", quantile(times, 0.25));
      tell(series, share, "median", median(times));
      tell(series, share, "q3", quantile(times, 0.75));
    }
  }
}

inline void run(effort how) {
  teller const tell("locks", default_timing());
  measure<paper_gbh<false>>(tell, "gbh", how, true);
  measure<paper_gbh<true>>(tell, "gbh_backoff", how, true);
  measure<paper_mcs_wp>(tell, "mcs_wp", how, true);
  measure<in_library<pgas::sync::queued>>(tell, "ours: queued", how, true);
  measure<in_library<retrying_gbh<true>>>(tell, "gbh_backoff, spinning at the master", how, false);
  measure<in_library<retrying_gbh<true>, at_master::backs_off_bounded>>(tell, "gbh_backoff, bounded", how,
                                                                        false);
  measure<paper_gbh<false, waiting_readers::poll, unlock_order::master_first>>(tell, "gbh, master first", how,
                                                                               false);
  measure<paper_gbh<true, waiting_readers::poll, unlock_order::master_first>>(
      tell, "gbh_backoff, master first", how, false);
  measure<in_library<pgas::sync::two_level<>>>(tell, "ours: gbh", how, false);
  measure<in_library<pgas::sync::mcs_wp>>(tell, "ours: mcs_wp", how, false);
}

}  // namespace papers::locks
