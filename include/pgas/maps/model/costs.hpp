// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <initializer_list>
#include <pgas/maps/model/machine.hpp>
#include <pgas/maps/model/workload.hpp>
#include <string_view>

namespace PGAS_NAMESPACE::map_model {

/// The six maps of the thesis; maps/ has them.
enum class map_kind {
  part_simple,   ///< each key on one server
  part_caching,  ///< the same, and clients keep copies until the server invalidates them
  rep_remote,    ///< a replica on each client; a lookup asks the sequencer how far it has to wait
  rep_local,     ///< a replica on each client; an update waits for all replicas
  rep_2pc,       ///< a replica on each core and no server; an update asks all replicas for their votes
  rep_sc,        ///< a replica on each client, sequentially consistent; a lookup waits for nothing
};

/// The names of the maps, in the order of their kinds.
inline constexpr std::string_view map_names[] = {"part_simple", "part_caching", "rep_remote",
                                                 "rep_local",   "rep_2pc",      "rep_sc"};

/// Cycles that one operation takes from all cores of a kind together.
struct operation_costs {
  double client_lookup = 0;  ///< Tc_lup
  double client_update = 0;  ///< Tc_upd: also of the clients that the update interrupts
  double server_lookup = 0;  ///< Ts_lup
  double server_update = 0;  ///< Ts_upd
  double overlap = 0;        ///< O^c: cycles of interrupts while a client would only wait
};

namespace detail {

/// Times of one kind: how long each lasts, and how many there are for each operation.
struct spells {
  double cycles = 0;
  double number = 0;
};

/// Eq. 3.24 and 3.25: the average duration, and the number, of spells of several kinds.
[[nodiscard]] constexpr spells average(std::initializer_list<spells> kinds) noexcept {
  spells all;
  for (spells const& one : kinds) {
    all.cycles += one.cycles * one.number;
    all.number += one.number;
  }
  if (all.number > 0) all.cycles /= all.number;
  return all;
}

/// Eq. 3.14 to 3.17: the cycles of interrupts that fit into idle times. As many whole ones as fit come first.
[[nodiscard]] constexpr double overlap(spells const& idle, spells const& interrupts) noexcept {
  if (idle.number <= 0 || interrupts.number <= 0 || interrupts.cycles <= 0) return 0;
  auto const whole =
      static_cast<double>(static_cast<long long>(idle.cycles / interrupts.cycles));       // Eq. 3.14
  double const full = std::min(whole * idle.number, interrupts.number);                   // Eq. 3.15
  double const partial = std::min(interrupts.number - full, idle.number);                 // Eq. 3.16
  return full * interrupts.cycles + partial * (idle.cycles - whole * interrupts.cycles);  // Eq. 3.17
}

[[nodiscard]] constexpr operation_costs of_part_simple(machine const& m, workload const& w,
                                                       int servers) noexcept {
  auto const& words = m.words;
  double const before = w.prepare + m.select(servers);
  return {
      .client_lookup = before + m.round_trip(words.lookup_request, words.answer) + w.access,  // Eq. 3.4
      .client_update = before + m.round_trip(words.update_request, words.answer),             // Eq. 3.5
      .server_lookup = m.receive(words.lookup_request) + w.access + m.send(words.answer),     // Eq. 3.3
      .server_update = m.receive(words.update_request) + w.access + m.send(words.answer),     // Eq. 3.3
  };
}

[[nodiscard]] constexpr operation_costs of_part_caching(machine const& m, workload const& w, int clients,
                                                        int servers) noexcept {
  auto const& words = m.words;
  double const p = w.lookups;
  double const hits = hit_rate(p, clients, w.key_clients, w.key_share);  // Eq. 3.38 and 3.39
  double const copies = p < 1 ? p / (1 - p) * (1 - hits) : 0;            // Eq. 3.37
  // A client that has no copy looks into its cache, waits for the server's access, and writes its cache.
  double const cached = w.cached_access.value_or(w.access);
  double const asks = m.round_trip(words.lookup_request, words.answer);
  double const tells = m.round_trip(words.update_request, words.answer);
  double const own = m.send(words.update_request) + m.receive(words.answer);
  double const invalidates = m.round_trip_of(copies, words.invalidation, words.acknowledgement);
  double const interrupt =  // Eq. 3.44
      m.receive_at_once(words.invalidation) + m.send(words.acknowledgement) + cached;
  double const before = w.prepare + m.select(servers);
  operation_costs costs{
      .client_lookup = hits * (w.prepare + cached) +  // Eq. 3.46
                       (1 - hits) * (before + cached + asks + w.access + cached),
      .client_update = before + std::max(cached + own, tells + invalidates) +  // Eq. 3.48
                       copies * interrupt,
      .server_lookup = (1 - hits) * (m.receive(words.lookup_request) + w.access + m.send(words.answer)),
      .server_update = m.receive(words.update_request) + copies * m.receive(words.acknowledgement) +
                       m.send_to(copies, words.invalidation) + m.send(words.answer) + w.access,
  };  // Eq. 3.47 and 3.49
  spells const idle =
      average({{w.access + asks - m.send(words.lookup_request) - m.receive(words.answer),
                p * (1 - hits)},                                              // Eq. 3.40, 3.41
               {std::max(tells - own + invalidates - cached, 0.0), 1 - p}});  // Eq. 3.42, 3.43
  costs.overlap = overlap(idle, {interrupt, (1 - p) * copies});               // Eq. 3.45
  return costs;
}

[[nodiscard]] constexpr operation_costs of_rep_remote(machine const& m, workload const& w, int clients,
                                                      int servers) noexcept {
  auto const& words = m.words;
  int const others = clients - 1;
  double const asks = m.round_trip(words.sequence_request, words.answer);
  double const interrupt = m.receive_at_once(words.update) + w.access;             // Eq. 3.12
  double const served = m.receive(words.sequence_request) + m.send(words.answer);  // Eq. 3.7
  double const before = w.prepare + m.select(servers);
  double const idle = asks - m.send(words.sequence_request) - m.receive(words.answer);  // Eq. 3.10
  return {
      .client_lookup = before + w.access + asks,  // Eq. 3.8
      .client_update =
          before + w.access + asks + m.send_to(clients, words.update) + others * interrupt,  // Eq. 3.9
      .server_lookup = served,
      .server_update = served,
      .overlap = overlap({idle, 1}, {interrupt, others * (1 - w.lookups)}),  // Eq. 3.11, 3.13
  };
}

[[nodiscard]] constexpr operation_costs of_rep_local(machine const& m, workload const& w, int clients,
                                                     int servers) noexcept {
  auto const& words = m.words;
  int const others = clients - 1;
  double const updates = 1 - w.lookups;
  double const asks = m.round_trip(words.sequence_request, words.answer);
  double const tells = m.round_trip_of(clients, words.update, words.acknowledgement);
  double const busy = m.send_to(clients, words.update) + w.access + others * m.receive(words.acknowledgement);
  double const first = m.receive_at_once(words.update) + m.send(words.acknowledgement);
  double const second = m.receive_at_once(words.all_acknowledged) + w.access;
  // Eq. 3.18 to 3.23: the waits for the number and for the acknowledgements, and the two interrupts.
  spells const idle = average({{asks - m.send(words.sequence_request) - m.receive(words.answer), updates},
                               {std::max(tells - busy, 0.0), updates}});
  spells const interrupts = average({{first, others * updates}, {second, others * updates}});
  return {
      .client_lookup = w.prepare + w.access,                                           // Eq. 3.28
      .client_update = w.prepare + m.select(servers) + asks + std::max(tells, busy) +  // Eq. 3.27
                       m.send_to(clients, words.all_acknowledged) + others * (first + second),
      .server_lookup = 0,
      .server_update = m.receive(words.sequence_request) + m.send(words.answer),  // Eq. 3.26
      .overlap = overlap(idle, interrupts),
  };
}

[[nodiscard]] constexpr operation_costs of_rep_2pc(machine const& m, workload const& w,
                                                   int clients) noexcept {
  auto const& words = m.words;
  int const others = clients - 1;
  double const updates = 1 - w.lookups;
  double const votes = m.round_trip_of(clients, words.vote_request, words.vote);
  double const commits = m.round_trip_of(clients, words.commit, words.acknowledgement);
  double const counts = others * m.receive(words.vote);
  double const busy = m.send_to(clients, words.commit) + w.access + others * m.receive(words.acknowledgement);
  double const first = m.receive_at_once(words.vote_request) + m.send(words.vote);
  double const second = m.receive_at_once(words.commit) + m.send(words.acknowledgement) + w.access;
  spells const idle = average(
      {{std::max(votes - m.send_to(clients, words.vote_request) - counts, 0.0), updates},  // Eq. 3.29, 3.31
       {std::max(commits - busy, 0.0), updates}});                                         // Eq. 3.30, 3.31
  spells const interrupts =
      average({{first, others * updates}, {second, others * updates}});  // Eq. 3.32 to 3.34
  return {
      .client_lookup = w.prepare + w.access,  // Eq. 3.36
      // As printed: the receipt of the acknowledgements counts in the maximum and beside it.
      .client_update = w.prepare + votes + std::max(commits, busy) + others * (first + second) +  // Eq. 3.35
                       counts + others * m.receive(words.acknowledgement),
      .overlap = overlap(idle, interrupts),
  };
}

[[nodiscard]] constexpr operation_costs of_rep_sc(machine const& m, workload const& w, int clients,
                                                  int servers) noexcept {
  auto const& words = m.words;
  int const others = clients - 1;
  double const updates = 1 - w.lookups;
  double const asks = m.round_trip(words.sequence_request, words.answer);
  double const busy = m.send(words.sequence_request) + m.receive(words.answer) + w.access;
  double const interrupt = m.receive_at_once(words.update) + w.access;  // Eq. 3.52
  return {
      .client_lookup = w.prepare + w.access,                                   // Eq. 3.56
      .client_update = w.prepare + m.select(servers) + std::max(asks, busy) +  // Eq. 3.55
                       m.send_to(clients, words.update) + others * interrupt,
      .server_lookup = 0,
      .server_update = m.receive(words.sequence_request) + m.send(words.answer),  // Eq. 3.54
      .overlap = overlap({std::max(asks - busy, 0.0), updates},
                         {interrupt, others * updates}),  // Eq. 3.50, 3.51, 3.53
  };
}

}  // namespace detail

/// The costs of an operation on a map with so many clients and servers.
[[nodiscard]] constexpr operation_costs costs_of(map_kind kind, machine const& m, workload const& w,
                                                 int clients, int servers) noexcept {
  switch (kind) {
    case map_kind::part_simple:
      return detail::of_part_simple(m, w, servers);
    case map_kind::part_caching:
      return detail::of_part_caching(m, w, clients, servers);
    case map_kind::rep_remote:
      return detail::of_rep_remote(m, w, clients, servers);
    case map_kind::rep_local:
      return detail::of_rep_local(m, w, clients, servers);
    case map_kind::rep_2pc:
      return detail::of_rep_2pc(m, w, clients);
    case map_kind::rep_sc:
      return detail::of_rep_sc(m, w, clients, servers);
  }
  return {};
}

}  // namespace PGAS_NAMESPACE::map_model
