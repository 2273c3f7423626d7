// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <optional>
#include <pgas/access.hpp>
#include <pgas/exposure.hpp>
#include <pgas/fence.hpp>
#include <pgas/lock.hpp>
#include <pgas/lock_all.hpp>
#include <pgas/team.hpp>
#include <pgas/window.hpp>
#include <span>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE {

/// A cost that is linear in one quantity x: base + slope * x seconds, neither below zero.
struct cost {
  double base = 0;   ///< in seconds
  double slope = 0;  ///< in seconds a unit of x

  /// The cost of x, in seconds.
  [[nodiscard]] constexpr double operator()(double x) const noexcept { return base + slope * x; }

  /// The line through points (x, seconds) with the least sum of squares. Each square is relative to its
  /// point, so that cheap points count as much as dear ones. With one point, or with equal x, the result is a
  /// base and no slope.
  [[nodiscard]] static cost fitted(std::span<std::pair<double, double> const> points) noexcept {
    double w = 0, x = 0, y = 0;
    for (auto const& [at, seconds] : points) {
      double const weight = seconds > 0 ? 1 / (seconds * seconds) : 0;
      w += weight, x += weight * at, y += weight * seconds;
    }
    if (w == 0) return {};
    x /= w, y /= w;
    double along = 0, across = 0;
    for (auto const& [at, seconds] : points) {
      double const weight = seconds > 0 ? 1 / (seconds * seconds) : 0;
      along += weight * (at - x) * (at - x), across += weight * (at - x) * (seconds - y);
    }
    double const slope = along > 0 ? std::max(across / along, 0.0) : 0.0;
    if (double const base = y - slope * x; base >= 0) return {base, slope};
    return {0, x > 0 ? y / x : 0};  // the best line through zero, roughly
  }
};

/// The costs of communication between the ranks of a team, in the form of foMPI's performance functions. A
/// program asks the model which way to choose. Costs are in seconds; measure_model measures them, or a
/// program fills them in for another machine. Source: Gerstenberger, Besta and Hoefler 2014, section 3.
struct model {
  cost put;                            ///< with its flush, over bytes
  cost get;                            ///< over bytes
  cost accumulate;                     ///< one element at a time, over bytes
  cost fence;                          ///< over the binary logarithm of the ranks
  cost neighbours;                     ///< post, start, complete and wait, over the number of neighbours
  cost lock_all;                       ///< opened and closed, over the ranks
  std::optional<cost> lock_shared;     ///< opened and closed; empty if the protocol has no such locks
  std::optional<cost> lock_exclusive;  ///< the same

  /// The ways in which all ranks get from one step to the next.
  enum class round {
    fence,       ///< one fence epoch
    neighbours,  ///< post, start, complete and wait
  };

  /// The seconds of a round among `ranks`, each with `k` neighbours.
  [[nodiscard]] double seconds(round way, rank_t ranks, std::size_t k) const noexcept {
    if (way == round::neighbours) return neighbours(static_cast<double>(k));
    return fence(static_cast<double>(std::bit_width(static_cast<unsigned>(std::max(ranks, 1)) - 1U)));
  }
  /// The cheaper way for k neighbours: a fence, or post and start.
  [[nodiscard]] round best_round(rank_t ranks, std::size_t k) const noexcept {
    return seconds(round::fence, ranks, k) < seconds(round::neighbours, ranks, k) ? round::fence
                                                                                  : round::neighbours;
  }
};

namespace detail {

/// The median duration of act() on this rank's clock, in seconds, over rounds of `each` calls.
template <class Team, class Act>
double median_seconds(Team const& team, Act const& act, int each, int rounds = 9) {
  std::vector<double> all;
  for (int round = 0; round < rounds; ++round) {
    auto const begin = team.now();
    for (int i = 0; i < each; ++i) act();
    all.push_back(std::chrono::duration<double>(team.now() - begin).count() / each);
  }
  std::nth_element(all.begin(), all.begin() + rounds / 2, all.end());
  return all[static_cast<std::size_t>(rounds / 2)];
}

}  // namespace detail

/// Measures the model of a team: its backend, its policies, this machine.
///
/// Collective; every rank returns rank 0's numbers. Rank 0 accesses its right neighbour. Costs some hundred
/// rounds of each kind: tens of milliseconds if memory is shared and every rank has a core.
template <class Backend, class Coherence, class Protocols>
[[nodiscard]] model measure_model(team<Backend, Coherence, Protocols>& t) {
  using points = std::vector<std::pair<double, double>>;
  constexpr int few = 20;
  rank_t const ranks = t.size();
  rank_t const right = (t.rank() + 1) % ranks;
  auto const w = make_window<std::uint64_t>(t, 8192);
  model m;

  std::vector<std::uint64_t> buffer(8192);
  if (lock_all epoch{w}; t.rank() == 0) {
    points put, get, accumulate;
    for (std::size_t const elements : {1U, 8U, 64U, 512U, 8192U}) {
      auto const bytes = static_cast<double>(elements * sizeof(std::uint64_t));
      auto const part = std::span(buffer).first(elements);
      put.emplace_back(bytes, detail::median_seconds(
                                  t, [&] { epoch.put(right, 0, part), epoch.flush(right); }, few));
      get.emplace_back(bytes, detail::median_seconds(
                                  t, [&] { epoch.get(right, 0, part), epoch.flush_local(right); }, few));
      if (elements <= 64)
        accumulate.emplace_back(bytes, detail::median_seconds(
                                           t,
                                           [&] {
                                             for (std::size_t i = 0; i < elements; ++i)
                                               epoch.accumulate(right, i, 1);
                                             epoch.flush(right);
                                           },
                                           few));
    }
    m.put = cost::fitted(put);
    m.get = cost::fitted(get);
    m.accumulate = cost::fitted(accumulate);
  }
  t.barrier();

  points fences, lock_alls;
  for (rank_t some = 1;; some = std::min(2 * some, ranks)) {  // those below `some` among themselves
    auto part = t.split(t.rank() < some ? 0 : 1 + t.rank());
    auto const among = make_window<std::uint64_t>(part, 1);
    double const log = std::bit_width(static_cast<unsigned>(some) - 1U);
    if (t.rank() < some) {
      pgas::fence epoch{among};
      fences.emplace_back(log, detail::median_seconds(
                                   t, [&] { epoch.next(); }, few));
    }
    if (t.rank() == 0)
      lock_alls.emplace_back(some, detail::median_seconds(
                                       t, [&] { pgas::lock_all const epoch{among}; }, few));
    t.barrier();
    if (some == ranks) break;
  }
  m.fence = cost::fitted(fences);
  m.lock_all = cost::fitted(lock_alls);

  points rounds;
  std::vector<rank_t> origins, targets;
  for (std::size_t k = 1; k < static_cast<std::size_t>(std::min(ranks, 9)); ++k) {  // the next k on the ring
    targets.push_back(static_cast<rank_t>((t.rank() + static_cast<rank_t>(k)) % ranks));
    origins.push_back(static_cast<rank_t>((t.rank() + ranks - static_cast<rank_t>(k)) % ranks));
    rounds.emplace_back(k, detail::median_seconds(
                               t,
                               [&] {
                                 pgas::exposure exposed{w, group(origins)};
                                 pgas::access{w, group(targets)}.complete();
                                 exposed.wait();
                               },
                               few));
  }
  m.neighbours = cost::fitted(rounds);
  t.barrier();

  if constexpr (target_lock_protocol<typename Protocols::lock>) {
    m.lock_shared = m.lock_exclusive = cost{};
    if (t.rank() == 0) {
      m.lock_shared->base = detail::median_seconds(
          t,
          [&] {
            pgas::lock const epoch{w, right, pgas::shared};
          },
          few);
      m.lock_exclusive->base = detail::median_seconds(
          t,
          [&] {
            pgas::lock const epoch{w, right, pgas::exclusive};
          },
          few);
    }
    t.barrier();
  }
  return t.broadcast(m);
}

}  // namespace PGAS_NAMESPACE
