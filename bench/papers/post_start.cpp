// SPDX-License-Identifier: BSL-1.0
// Christgau 2017, Figs. 3.15 and 3.16, Table 3.4: one origin and k targets synchronize in a loop and put nothing.
#include <numeric>
#include <pgas/exposure.hpp>
#include <pgas/sync/post_array.hpp>
#include <pgas/sync/stamped.hpp>

#include "messages.hpp"

namespace {

using namespace papers;

struct times {
  std::vector<double> post, start, complete, wait, cycle;
  double loops = 0;  ///< reads of a register that somebody else had, for each post
};

void tell_all(teller const& tell, std::string const& series, rank_t k, times const& t, library const& how) {
  tell(series, k, "post", median(t.post));
  tell(series, k, "start", median(t.start));
  tell(series, k, "complete", median(t.complete));
  tell(series, k, "wait", median(t.wait));
  tell(series, k, "cycle", median(t.cycle));
  tell(series, k, "modification", median(t.post) - how.call);
  tell(series, k, "loops", t.loops, "loops");
}

/// Calls body(rank, targets) again and again, and keeps how long a round of the origin's takes.
template <class Round>
void rounds(machine& m, int repetitions, times& t, Round const& round) {
  double before = m.now();
  for (int i = 0; i < repetitions; ++i) {
    round();
    double const now = m.now();
    if (m.rank() == 0 && i > 0) t.cycle.push_back(now - before);
    before = now;
  }
}

std::vector<rank_t> targets_of(rank_t k) {
  std::vector<rank_t> all(static_cast<std::size_t>(k));
  std::iota(all.begin(), all.end(), 1);
  return all;
}

template <class Post>
times shared_memory(rank_t k, int repetitions, library const& how) {
  times t;
  on_chip(k + 1, default_timing(), [&](machine& m) {
    using bundle = pgas::protocols<pgas::default_fence, Post, pgas::sync::shared_only>;
    auto const team = m.team().template with<pgas::coherence::write_through, bundle>();
    auto const w = pgas::make_window<std::uint32_t>(team, 1);
    auto const targets = targets_of(k);
    m.team().barrier();
    auto const spins = m.core().count().register_spins;
    rounds(m, repetitions, t, [&] {
      double const begin = m.now();
      m.work(how.call);
      if (m.rank() == 0) {
        pgas::access epoch{w, targets};
        double const started = m.now();
        m.work(how.call);
        epoch.complete();
        t.start.push_back(started - begin);
        t.complete.push_back(m.now() - started);
      } else {
        pgas::exposure exposed{w, {0}};
        double const posted = m.now();
        m.work(how.call);
        exposed.wait();
        t.post.push_back(posted - begin);
        t.wait.push_back(m.now() - posted);
      }
    });
    if (m.rank() != 0) t.loops += static_cast<double>(m.core().count().register_spins - spins) / repetitions / k;
    m.team().barrier();
  });
  return t;
}

times by_messages(rank_t k, int repetitions, library const& how) {
  times t;
  on_chip(k + 1, default_timing(), [&](machine& m) {
    messages channel(m, rckmpi_message_us);
    message_windows window(m, channel, how);
    auto const targets = targets_of(k);
    rank_t const origin = 0;
    m.team().barrier();
    rounds(m, repetitions, t, [&] {
      double const begin = m.now();
      if (m.rank() == 0) {
        window.start();
        double const started = m.now();
        window.complete(targets);
        t.start.push_back(started - begin);
        t.complete.push_back(m.now() - started);
      } else {
        window.post(pgas::group(&origin, 1));
        double const posted = m.now();
        window.wait(pgas::group(&origin, 1));
        t.post.push_back(posted - begin);
        t.wait.push_back(m.now() - posted);
      }
    });
    m.team().barrier();
  });
  return t;
}

}  // namespace

int main(int argc, char** argv) {
  int const repetitions = is_quick(argc, argv) ? 101 : 1001;
  teller const tell("post_start", default_timing());
  library const how = library::active();
  for (rank_t k : {1, 2, 4, 8, 10, 16, 24, 31, 47}) {
    tell_all(tell, "match_vector", k, shared_memory<pgas::sync::match_vector>(k, repetitions, how), how);
    tell_all(tell, "messages", k, by_messages(k, std::min(repetitions, 101), how), how);
    tell_all(tell, "ours: stamped", k, shared_memory<pgas::sync::stamped>(k, repetitions, how), how);
    tell_all(tell, "ours: post_array", k, shared_memory<pgas::sync::post_array>(k, repetitions, how), how);
  }
  std::printf("{\"type\":\"end\"}\n");
}
