// SPDX-License-Identifier: BSL-1.0
// Shahmirzadi 2014, section 3.5 and Figs. 3.19 to 3.24: the throughput of six maps, by the library's maps on
// an emulated TILE-Gx and on two machines that do not exist, and by the thesis' model. The model has the
// lengths of the library's messages.
#pragma once

#include "map_curves.hpp"

namespace papers::maps {

constexpr model::workload with(double lookups, double prepare, double access) {
  return {.lookups = lookups, .prepare = prepare, .access = access};
}
inline std::vector<map_kind> const linearizable{part_simple, part_caching, rep_remote, rep_local, rep_2pc};

/// Fig. 3.19(a): part_simple over the number of servers.
inline void servers(emulator& by, effort how) {
  panel const show(by, "map_servers", "Table 3.2");
  auto const load = with(0.9, 156, 0);
  rank_t const cores = how == effort::small ? 6 : 36;
  for (rank_t s = 1; s < cores; ++s) {
    if (how == effort::quick && s > 5 && s % 8 > 1 && s % 8 < 7 && s + 1 < cores) continue;
    point const at{part_simple, cores, s};
    show.value("part_simple", s, "throughput", emulated(tile_gx, load, at, by.each()) / 1e6);
    show.value("part_simple, model", s, "throughput", modelled(tile_gx, load, at) / 1e6);
    show.value("lookups of two words", s, "throughput",
               emulated_with<pgas::maps::part_simple, 1>(tile_gx, load, at, by.each()) / 1e6);
    show.value("lookups of two words, model", s, "throughput", modelled<1>(tile_gx, load, at) / 1e6);
  }
}

/// Fig. 3.19(b): all maps, each with its best number of servers.
inline void threads(emulator& by, effort how) {
  panel const show(by, "map_threads", "Table 3.2");
  std::vector<rank_t> cores{2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 24, 28, 32, 36};
  if (how == effort::quick) cores = {2, 4, 8, 16, 24, 36};
  if (how == effort::small) cores = {2, 6};
  auto const load = with(0.9, 156, 0);
  std::vector<map_kind> all = linearizable;
  all.push_back(rep_sc);
  show.curves("throughput", tile_gx, load, all, cores);
  // The value of the model without overlap: no interrupt falls into a wait.
  for (rank_t const n : cores) {
    auto const all_of_it = best_modelled(tile_gx, load, part_caching, n);
    rank_t const clients = n - all_of_it.servers;
    auto const costs =
        model::costs_of(part_caching, machine_of(tile_gx, part_caching), load, clients, all_of_it.servers);
    double const client = load.lookups * costs.client_lookup + (1 - load.lookups) * costs.client_update;
    double const alone = clients / client * tile_gx.modelled.frequency;
    show.value("part_caching, model without overlap", n, "throughput",
               std::min(alone, all_of_it.operations) / 1e6);
  }
  for (map_kind const kind : {part_simple, part_caching, rep_remote, rep_local}) {
    for (rank_t const n : cores) {
      auto const number = [](most const& m) { return static_cast<double>(m.servers); };
      show.value(panel::name_of(kind), n, "servers", number(by.best(tile_gx, load, kind, n)), "");
      show.value(panel::name_of(kind) + ", model", n, "servers",
                 number(best_modelled(tile_gx, load, kind, n)), "");
    }
  }
}

/// The numbers of cores of the other figures.
inline std::vector<rank_t> cores_of(effort how) {
  if (how == effort::small) return {4, 8};
  if (how == effort::quick) return {8, 36, 48, most_cores, 128};
  return {2, 4, 8, 16, 24, 36, 48, most_cores, 96, 128};
}

/// Fig. 3.20: three machines, two shares of lookups. Fig. 3.23: rep_sc beside the others.
inline void platforms(emulator& by, effort how) {
  auto const cores = cores_of(how);
  panel const show(by, "map_platforms", "Table 3.2");
  for (auto const& [lookups, percent] : {std::pair{0.9, "90 %"}, {0.99, "99 %"}})
    for (platform const* on : {&tile_gx, &intermediate, &ideal})
      show.curves(std::string(on->name) + ", " + percent, *on, with(lookups, 12, 11), linearizable, cores);
  // With so many keys hardly any lookup meets a pending update.
  for (rank_t const n : cores) {
    if (n < 8 || n > most_cores) continue;
    point const many{rep_local, n, 1, placed::dedicated, how == effort::small ? 1000 : 10000};
    show.value("rep_local, 10000 keys", n, "Intermediate, 99 %",
               emulated(intermediate, with(0.99, 12, 11), many, by.each()) / 1e6);
  }

  panel const weak(by, "map_sequential", "Table 3.2");
  std::vector<map_kind> all = linearizable;
  all.push_back(rep_sc);
  for (auto const& [lookups, percent] : {std::pair{0.9, "90 %"}, {0.99, "99 %"}})
    weak.curves(std::string("Ideal, ") + percent, ideal, with(lookups, 12, 11), all, cores);
  // The share of lookups from which on a map reaches more than all before it.
  for (rank_t const n : cores) {
    for (map_kind const winner : {rep_local, rep_sc}) {
      int thousandths = 1000;
      auto const wins = [&](int share) {
        auto const load = with(share / 1000.0, 12, 11);
        double const own = best_modelled(ideal, load, winner, n).operations;
        return std::all_of(all.begin(), all.end(), [&](map_kind other) {
          return other == winner || (winner == rep_local && other == rep_sc) ||
                 best_modelled(ideal, load, other, n).operations <= own;
        });
      };
      while (thousandths > 700 && wins(thousandths - 1)) --thousandths;
      weak.value(panel::name_of(winner) + ", model", n, "lookups from which it wins", thousandths / 10.0,
                 "%");
    }
  }
}

/// Fig. 3.21: what a key's hash and an access to the map cost.
inline void computation(emulator& by, effort how) {
  panel const show(by, "map_costs", "Table 3.2");
  show.curves("12 / 11", ideal, with(0.99, 12, 11), linearizable, cores_of(how));
  show.curves("156 / 11", ideal, with(0.99, 156, 11), linearizable, cores_of(how));
  show.curves("156 / 88", ideal, with(0.99, 156, 88), linearizable, cores_of(how));
  auto load = with(0.99, 156, 88);
  load.cached_access = 11;
  for (rank_t const n : cores_of(how))
    show.one("156 / 88", ideal, load, part_caching, n, "part_caching, copies at 11");
}

/// Fig. 3.22: four clients issue 80 % of the operations on a key.
inline void skew(emulator& by, effort how) {
  panel const show(by, "map_skew", "Table 3.2");
  for (auto const& [on, lookups, quantity] :
       {std::tuple{&tile_gx, 0.9, "TILE-Gx, 90 %"}, {&ideal, 0.99, "Ideal, 99 %"}}) {
    auto load = with(lookups, 12, 11);
    for (rank_t const n : cores_of(how)) {
      show.one(quantity, *on, load, part_simple, n, "part_simple");
      show.one(quantity, *on, load, part_caching, n, "part_caching, uniform");
      show.one(quantity, *on, load, rep_local, n, "rep_local");
    }
    load.key_clients = 4;
    load.key_share = 0.8;
    for (rank_t const n : cores_of(how)) show.one(quantity, *on, load, part_caching, n, "part_caching");
  }
}

/// Fig. 3.24: servers that are clients as well.
inline void colocation(emulator& by, effort how) {
  panel const show(by, "map_colocation", "Table 3.2");
  auto const compare = [&](std::string const& quantity, platform const& on, model::workload const& load) {
    for (rank_t const n : cores_of(how)) {
      show.one(quantity, on, load, part_simple, n, "dedicated");
      show.one(quantity, on, load, part_simple, n, "colocated", placed::colocated);
    }
  };
  compare("12 / 11", ideal, with(0.99, 12, 11));
  compare("156 / 11", ideal, with(0.99, 156, 11));
  compare("156 / 88", ideal, with(0.99, 156, 88));
  compare("TILE-Gx, 12 / 11", tile_gx, with(0.99, 12, 11));
}

inline void run(effort how) {
  emulator by(how);
  servers(by, how);
  threads(by, how);
  platforms(by, how);
  computation(by, how);
  skew(by, how);
  colocation(by, how);
}

}  // namespace papers::maps
