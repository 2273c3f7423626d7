// SPDX-License-Identifier: BSL-1.0
// Flow control and prediction of messages (Ferreras 2008, chapters 3 and 4). The killer benchmark runs in the
// virtual time of a cluster: all ranks flood rank 0, which takes their messages in reverse order. The
// predictors read streams of NAS benchmarks.
#pragma once

#include <memory>
#include <pgas/backends/simulated.hpp>
#include <pgas/containers/make_messenger.hpp>

#include "chip.hpp"
#include "nas_streams.hpp"

namespace papers::flow {

using cluster = pgas::backends::simulated;
using pgas::word;

/// A point of the killer benchmark: each rank but rank 0 sends `times` messages of `bytes` bytes.
struct killer {
  rank_t ranks;
  std::size_t bytes;
  word times;
};

struct measured {
  double us = 0;         // from the first send to rank 0's last receive
  std::size_t most = 0;  // bytes that rank 0 has held
};

template <class Credits>
measured flood(killer const& how, std::size_t budget) {
  measured result;
  pgas::run<cluster>(how.ranks, [&](auto& team) {
    pgas::message_options options;
    options.budget = budget;
    auto m = pgas::make_messenger<Credits>(team, options);
    team.barrier();
    double const begin = pgas::simulated::microseconds_of(team);
    std::vector<pgas::message_request> all;
    auto const wait = [&] {
      for (auto const which : all) m.wait(which);
      all.clear();
    };
    if (team.rank() == 0) {
      std::vector<std::byte> into(how.bytes * static_cast<std::size_t>(how.ranks));
      for (word tag = how.times; tag-- > 0; wait()) {
        for (rank_t r = how.ranks - 1; r > 0; --r) {
          auto const place = std::span(into).subspan(how.bytes * static_cast<std::size_t>(r), how.bytes);
          all.push_back(m.start_receive(r, tag, place));
        }
      }
      result.most = m.memory().most;
    } else {
      std::vector<std::byte> const text(how.bytes);
      for (word tag = 0; tag < how.times; ++tag) all.push_back(m.start_send(0, tag, text));
      wait();
    }
    double const end = pgas::simulated::microseconds_of(team);
    double const first = team.all_reduce(begin, pgas::op::min{});
    if (team.rank() == 0) result.us = end - first;
    team.barrier();
  });
  return result;
}

template <class Credits>
void tell_killer(teller const& tell, std::string_view series, killer const& how, std::size_t budget,
                 measured const& unlimited) {
  measured const m = flood<Credits>(how, budget);
  std::string const what = std::to_string(how.times) + " of " + std::to_string(how.bytes) + " B";
  tell(series, how.ranks, what, m.us / unlimited.us, "times");
  tell(series, how.ranks, "memory, " + what, static_cast<double>(m.most) / 1000, "KB");
}

inline void run_killer(effort how) {
  teller const tell("killer", pgas::simulated::infiniband.name);
  for (rank_t const ranks : {16, 32, 64, 128}) {
    if (how != effort::whole && ranks != 16 && (how == effort::small || ranks != 64)) continue;
    for (std::size_t const bytes : {1024U, 10240U, 102400U}) {
      if (bytes == 102400 && (how != effort::whole || ranks > 32)) continue;  // they take minutes
      for (word const times : {3U, 5U}) {
        killer const point{ranks, bytes, times};
        auto const unlimited = flood<pgas::credits::unlimited>(point, 0);
        tell_killer<pgas::credits::unlimited>(tell, "unlimited", point, 0, unlimited);
        tell_killer<pgas::credits::none>(tell, "250 KB", point, 250'000, unlimited);
        tell_killer<pgas::credits::none>(tell, "300 KB", point, 300'000, unlimited);
        tell_killer<pgas::credits::none>(tell, "22 MB", point, 22'000'000, unlimited);
        tell_killer<pgas::credits::none>(tell, "74 MB", point, 74'000'000, unlimited);
        tell_killer<pgas::credits::fixed>(tell, "ours: fixed credits, 250 KB", point, 250'000, unlimited);
        tell_killer<pgas::credits::by_period>(tell, "ours: predicted credits, 250 KB", point, 250'000,
                                              unlimited);
      }
    }
  }
}

/// The share of a stream in percent that a predictor foresees `k` messages ahead, in sender and length.
template <class Predictor>
double hits(nas::stream const& all, std::size_t k) {
  auto p = std::make_unique<Predictor>();
  std::size_t right = 0;
  for (std::size_t i = 0; i + k <= all.size(); ++i) {
    auto const expected = p->ahead(k);
    if (expected && *expected == all[i + k - 1]) ++right;
    p->observe(all[i]);
  }
  return 100 * static_cast<double>(right) / static_cast<double>(all.size() + 1 - k);
}

inline void run_prediction(effort) {
  teller const tell("prediction", "streams of NAS, class A");
  auto const of = [&](std::string_view name, nas::stream (*make)(rank_t),
                      std::initializer_list<rank_t> sizes) {
    for (rank_t const processes : sizes) {
      nas::stream const all = make(processes);
      auto p = std::make_unique<pgas::prediction::periodicity<>>();
      for (auto const& m :
           nas::stream(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2)))
        p->observe(m);
      tell(name, processes, "messages", static_cast<double>(all.size()), "messages");
      tell(name, processes, "period", static_cast<double>(p->period()), "messages");
      for (std::size_t const k : {1U, 5U, 10U}) {
        std::string const ahead = "+" + std::to_string(k);
        tell(name, processes, "periodicity " + ahead, hits<pgas::prediction::periodicity<>>(all, k), "%");
        tell(name, processes, "graph " + ahead, hits<pgas::prediction::transition_graph<>>(all, k), "%");
      }
    }
  };
  of("BT", nas::bt, {4, 9, 16, 25});
  of("SP", nas::sp, {4, 9, 16, 25});
  of("CG", nas::cg, {4, 8, 16, 32});
  of("LU", nas::lu, {4, 8, 16, 32});
  of("IS", nas::is, {4, 8, 16, 32});
}

inline void run(effort how) {
  run_killer(how);
  run_prediction(how);
}

}  // namespace papers::flow
