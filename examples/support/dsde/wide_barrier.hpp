// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <pgas/signals.hpp>

#include "fastest_radix.hpp"

namespace example::dsde {

/// A barrier of signals, in fewer rounds than a doubling of ranks takes: in round i a rank signals the ranks
/// at distances n^i, 2 n^i to (n - 1) n^i, and waits for those at the same distances before it.
///
/// A round takes a latency, and each further message of it a gap. `tune` chooses the n that is fastest here.
/// All distances of a pass differ, so a signal needs no tag.
/// Source: the n-way dissemination barrier of Hoefler, Mehlan, Mietke and Rehm 2006. Here signals count, so
/// that no round needs flags of its own.
template <class Window>
class wide_barrier {
 public:
  /// Makes the signals. Collective.
  explicit wide_barrier(Window const& w)
      : signals_(pgas::make_signals(w)), self_(w.rank()), ranks_(w.ranks()) {}

  /// Chooses n by some passes with each. Collective. `epoch` is a lock_all epoch on the window.
  template <class Team, class Epoch>
  void tune(Team const& team, Epoch& epoch) {
    radix_ = fastest_radix(team, [&](pgas::rank_t n) {
      radix_ = n;
      pass(epoch);
    });
  }

  /// Returns when all ranks have called it. Collective. `epoch` is a lock_all epoch on the window.
  template <class Epoch>
  void pass(Epoch& epoch) {
    for (pgas::rank_t step = 1; step < ranks_; step *= radix_) {
      for_each_distance(step, [&](pgas::rank_t d) { signals_.signal(epoch, (self_ + d) % ranks_); });
      for_each_distance(step, [&](pgas::rank_t d) { signals_.wait({(self_ + ranks_ - d) % ranks_}); });
    }
  }

 private:
  template <class Act>
  void for_each_distance(pgas::rank_t step, Act const& act) const {
    for (pgas::rank_t d = step; d < std::min(radix_ * step, ranks_); d += step) act(d);
  }

  pgas::signals_of<Window> signals_;
  pgas::rank_t self_;
  pgas::rank_t ranks_;
  pgas::rank_t radix_ = 2;
};

}  // namespace example::dsde
