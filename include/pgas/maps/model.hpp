// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <limits>
#include <pgas/concepts/concurrent_map.hpp>
#include <pgas/maps/model/costs.hpp>
#include <pgas/maps/model/machine.hpp>
#include <pgas/maps/model/workload.hpp>

/// The throughput of the six maps on a machine of messages, as functions that a compiler can evaluate.
///
/// The cores limit the throughput, not the network between them. Contention, distances in the network and
/// conflicts of rep_2pc are left out, so the model is an upper bound: the thesis measured up to 12 % less.
/// Source: Shahmirzadi 2014, equations 3.1 to 3.60.
namespace PGAS_NAMESPACE::map_model {

namespace detail {

/// The average of a lookup's and an update's cost.
[[nodiscard]] constexpr double mean(workload const& w, double lookup, double update) noexcept {
  return w.lookups * lookup + (1 - w.lookups) * update;
}

/// The throughput of so many cores, in operations a cycle, if each operation takes so many cycles from them.
[[nodiscard]] constexpr double reached(double cores, double cycles) noexcept {
  return cycles > 0 ? cores / cycles : std::numeric_limits<double>::infinity();
}

}  // namespace detail

/// Operations a second of a map on `cores` cores, of which `servers` serve and the others are clients. On
/// rep_2pc all cores are clients. 0 if there is no client, or no server where the map needs one.
[[nodiscard]] constexpr double throughput(map_kind kind, machine const& m, workload const& w, int cores,
                                          int servers) noexcept {
  bool const has_servers = kind != map_kind::rep_2pc;
  int const clients = has_servers ? cores - servers : cores;
  if (clients < 1 || (has_servers && servers < 1)) return 0;
  operation_costs const costs = costs_of(kind, m, w, clients, servers);
  double const of_clients =  // Eq. 3.1
      detail::reached(clients, detail::mean(w, costs.client_lookup, costs.client_update) - costs.overlap);
  if (!has_servers) return of_clients * m.frequency;
  double const of_servers =  // Eq. 3.2 and 3.60
      detail::reached(servers * w.server_load, detail::mean(w, costs.server_lookup, costs.server_update));
  return std::min(of_clients, of_servers) * m.frequency;  // Eq. 3.6
}

/// Whether a server that is also a client serves while it waits for an answer of its own.
enum class while_waiting {
  serves,  ///< as long as the wait lasts
  idles,   ///< never
};

/// Operations a second of part_simple, where `servers` of the cores are servers and clients at once. These
/// serve by interrupts. The thesis does not say how much they serve while they wait: `then` chooses.
[[nodiscard]] constexpr double colocated_throughput(machine const& m, workload const& w, int cores,
                                                    int servers,
                                                    while_waiting then = while_waiting::serves) noexcept {
  if (servers < 1 || servers > cores) return 0;
  operation_costs const costs = detail::of_part_simple(m, w, servers);
  double const client = detail::mean(w, costs.client_lookup, costs.client_update);
  double const server = detail::mean(w, costs.server_lookup, costs.server_update) + m.interrupt;
  double const receipt = m.receive(m.words.answer);
  double const waits = detail::mean(
      w, m.round_trip(m.words.lookup_request, m.words.answer) - m.send(m.words.lookup_request) - receipt,
      m.round_trip(m.words.update_request, m.words.answer) - m.send(m.words.update_request) - receipt);
  double const overlap = then == while_waiting::serves ? std::min(waits, server) : 0;
  double const of_pure_clients =  // Eq. 3.57
      std::min((cores - servers) / client, servers * w.server_load / server);
  double const of_both = servers / (client + server - overlap);  // Eq. 3.58
  double const taken = of_pure_clients * server / servers;       // Eq. 3.59
  return (of_pure_clients + (1 - taken) * of_both) * m.frequency;
}

/// A map with a number of servers, and what it reaches.
struct choice {
  map_kind kind = map_kind::part_simple;  ///< of the map
  int servers = 0;                        ///< 0 on rep_2pc
  double operations = 0;                  ///< a second
};

/// The number of servers with which a map reaches most; the smallest of several. rep_sc has one: orders of
/// several sequencers are not sequentially consistent together. Evaluates the model once a core.
[[nodiscard]] constexpr choice best_servers(map_kind kind, machine const& m, workload const& w,
                                            int cores) noexcept {
  if (kind == map_kind::rep_2pc) return {kind, 0, throughput(kind, m, w, cores, 0)};
  int const most = kind == map_kind::rep_sc ? 1 : cores - 1;
  choice best{kind, 0, 0};
  for (int servers = 1; servers <= most; ++servers) {
    double const operations = throughput(kind, m, w, cores, servers);
    if (operations > best.operations) best = {kind, servers, operations};
  }
  return best;
}

/// The map that reaches most on so many cores, among those that promise as much as `needed`.
[[nodiscard]] constexpr choice best_map(machine const& m, workload const& w, int cores,
                                        consistency needed = consistency::linearizable) noexcept {
  choice best;
  for (map_kind kind : {map_kind::part_simple, map_kind::part_caching, map_kind::rep_remote,
                        map_kind::rep_local, map_kind::rep_2pc, map_kind::rep_sc}) {
    if (kind == map_kind::rep_sc && needed == consistency::linearizable) continue;
    choice const one = best_servers(kind, m, w, cores);
    if (one.operations > best.operations) best = one;
  }
  return best;
}

}  // namespace PGAS_NAMESPACE::map_model
