// SPDX-License-Identifier: BSL-1.0
// Christgau and Schnor 2019, Table 3: one writer, on core 0, holds the exclusive lock on its own part; then n
// readers ask for a shared one. Measures the time of the writer's put and unlock.
#pragma once

#include <pgas/lock.hpp>
#include <pgas/sync/queued.hpp>

#include "chip.hpp"
#include "lock_schemes.hpp"

namespace papers::writer {

/// The reading cores: none, one near the writer's controller, one far from it, eleven near, eleven far, and
/// all others.
inline std::vector<std::vector<rank_t>> layouts() {
  std::vector<rank_t> close{1, 2, 3, 4, 5, 12, 13, 14, 15, 16, 17};
  std::vector<rank_t> distant{6, 7, 8, 9, 10, 11, 18, 19, 20, 21, 22};
  std::vector<rank_t> all;
  for (rank_t r = 1; r < 48; ++r) all.push_back(r);
  return {{}, {1}, {6}, close, distant, all};
}

template <class Locks>
double put_and_unlock(std::vector<rank_t> const& readers, std::size_t bytes, int repetitions) {
  std::vector<double> times;
  on_chip(48, default_timing(), [&](machine& m) {
    using bundle = pgas::protocols<pgas::default_fence, pgas::sync::match_vector, Locks>;
    auto const locking = m.team().template with<pgas::coherence::write_through, bundle>();
    auto const w = pgas::make_window<std::uint32_t>(locking, 1024);
    bool const reads = std::find(readers.begin(), readers.end(), m.rank()) != readers.end();
    auto part = m.team().split(m.rank() == 0 || reads ? 0 : 1);
    if (m.rank() != 0 && !reads) return;  // this core is idle
    for (int i = 0; i < repetitions; ++i) {
      if (m.rank() == 0) {
        pgas::lock epoch{w, 0, pgas::exclusive};
        part.barrier();
        double const before = m.now();
        m.work(library::passive().call);  // of the put
        // As the paper's library does: from private memory, word by word, past the caches.
        m.copy(page_type::ncm, machine::scratch(1 << 20), page_type::dcm, machine::scratch(0), bytes);
        epoch.unlock();
        times.push_back(m.now() - before);
      } else {
        part.barrier();
        pgas::lock epoch{w, 0, pgas::shared};
      }
      part.barrier();
    }
  });
  return median(times);
}

template <class Locks>
void measure(teller const& tell, std::string const& series, int repetitions) {
  auto const all = layouts();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (repetitions == 1 && i != 3) continue;
    for (std::size_t const bytes : {32U, 512U, 1024U}) {
      if (repetitions == 1 && bytes != 32) continue;
      tell(series, i, std::to_string(bytes) + " B", put_and_unlock<Locks>(all[i], bytes, repetitions));
    }
  }
}

inline void run(effort how) {
  int const repetitions = times_of(how, 101, 11, 1);
  teller const tell("writer", default_timing());
  measure<paper_gbh<true>>(tell, "gbh_backoff", repetitions);
  measure<paper_mcs_wp>(tell, "mcs_wp", repetitions);
  measure<in_library<pgas::sync::queued>>(tell, "ours: queued", repetitions);
  measure<in_library<retrying_gbh<true>>>(tell, "gbh_backoff, spinning at the master", repetitions);
  measure<paper_gbh<true, waiting_readers::retry>>(tell, "gbh_backoff retrying", repetitions);
  measure<paper_gbh<true, waiting_readers::poll, unlock_order::master_first>>(
      tell, "gbh_backoff, master first", repetitions);
}

}  // namespace papers::writer
