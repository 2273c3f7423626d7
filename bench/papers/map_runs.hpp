// SPDX-License-Identifier: BSL-1.0
// The six maps on the emulated TILE-Gx, beside the model's values: what Shahmirzadi 2014, section 3.5, does
// to them. Keys have two words. So a request has as many words as in the thesis, where the second one names
// the sender; the emulated channel tells its receiver the sender.
#pragma once

#include <pgas/backends/tile.hpp>
#include <pgas/containers/make_channel.hpp>
#include <pgas/maps/model.hpp>
#include <pgas/maps/part_caching.hpp>
#include <pgas/maps/part_simple.hpp>
#include <pgas/maps/rep_2pc.hpp>
#include <pgas/maps/rep_local.hpp>
#include <pgas/maps/rep_remote.hpp>
#include <pgas/maps/rep_sc.hpp>
#include <random>

#include "chip.hpp"

namespace papers::maps {

namespace model = pgas::map_model;
using model::map_kind;
using tile = pgas::backends::tile;
using cycles = pgas::tile_machine::cycles;

/// A machine of Table 3.2: its emulator and its model. The emulator has more cores than the real one.
struct platform {
  std::string_view name;
  pgas::tile_machine::costs emulated;
  model::machine modelled;
};

constexpr rank_t most_cores = pgas::tile_machine::most_cores;
constexpr pgas::tile_machine::costs enlarged(pgas::tile_machine::costs with) {
  with.cores = most_cores;
  return with;
}
inline constexpr platform tile_gx{"TILE-Gx", enlarged(pgas::tile_machine::tile_gx), model::tile_gx};
inline constexpr platform intermediate{"Intermediate", enlarged(pgas::tile_machine::intermediate),
                                       model::intermediate};
inline constexpr platform ideal{"Ideal", enlarged(pgas::tile_machine::ideal), model::ideal};

/// The words of a key. The first is the key; it decides on the server.
template <std::size_t Words>
struct key_of {
  std::array<std::uint64_t, Words> words;
  bool operator==(key_of const&) const = default;
};
/// Successive keys go to successive servers, so that each has as many.
template <std::size_t Words>
struct traits_of : pgas::map_traits<key_of<Words>> {
  struct hash {
    std::size_t operator()(key_of<Words> const& key) const noexcept { return key.words[0]; }
  };
};

/// The model of a machine with the lengths of the library's messages.
template <std::size_t KeyWords = 2>
constexpr model::machine machine_of(platform const& on, map_kind kind) {
  model::machine m = on.modelled;
  m.words =
      pgas::detail::lengths_of_messages<key_of<KeyWords>, std::uint64_t>(kind != map_kind::part_caching);
  return m;
}

/// A point of a figure.
struct point {
  map_kind kind;
  rank_t cores;
  rank_t servers;
  pgas::placement where = pgas::placement::dedicated;
  rank_t keys = 100;  // about, since each server has as many
};

/// The model's value for it, in operations a second.
template <std::size_t KeyWords = 2>
double modelled(platform const& on, model::workload const& load, point const& at) {
  auto const m = machine_of<KeyWords>(on, at.kind);
  return at.where == pgas::placement::colocated ? model::colocated_throughput(m, load, at.cores, at.servers)
                                                : model::throughput(at.kind, m, load, at.cores, at.servers);
}

/// A client's operations: uniform, or with clients that use some keys most.
class operations {
 public:
  operations(model::workload const& load, std::uint64_t keys, std::uint64_t client, std::uint64_t clients)
      : load_(&load), random_(client + 1) {
    for (std::uint64_t key = 0; key < keys; ++key) {
      // Key k is used most by the clients few * k to few * k + few - 1, modulo their number.
      auto const few = static_cast<std::uint64_t>(load.key_clients);
      bool const is_own = (client + clients * few - few * key % clients) % clients < few;
      (is_own ? own_ : others_).push_back(key);
    }
  }

  bool is_lookup() { return chance(load_->lookups); }
  std::uint64_t key() {
    bool const own = others_.empty() || (!own_.empty() && chance(load_->key_share));
    auto const& all = own ? own_ : others_;
    return all[random_() % all.size()];
  }

 private:
  bool chance(double share) { return static_cast<double>(random_() >> 11U) < share * 0x1p53; }

  model::workload const* load_;
  std::mt19937_64 random_;
  std::vector<std::uint64_t> own_, others_;
};

/// Operations a second of a map on the emulated machine. By the model each client has time for `each`
/// operations; the first third of the time is left out.
template <class Map, std::size_t KeyWords>
double emulated_on(platform const& on, model::workload const& load, point const& at, double each) {
  using key_type = key_of<KeyWords>;
  bool const has_servers = at.kind != map_kind::rep_2pc;
  auto const clients = static_cast<std::uint64_t>(
      has_servers && at.where == pgas::placement::dedicated ? at.cores - at.servers : at.cores);
  rank_t const parts = has_servers ? at.servers : 1;
  auto const keys = static_cast<std::uint64_t>(((at.keys - 1) / parts + 1) * parts);
  double const rate = modelled<KeyWords>(on, load, at) / on.modelled.frequency;
  auto const length = static_cast<cycles>(each * static_cast<double>(clients) / rate);
  auto const costs_with = [&](double access) {
    auto const in_cycles = static_cast<cycles>(access);
    return pgas::map_costs{
        .pre = static_cast<cycles>(load.prepare), .lookup = in_cycles, .update = in_cycles};
  };
  std::uint64_t done = 0;

  pgas::tile_machine::options options;
  options.clock = &on.emulated;
  pgas::tile_machine::with_options const with(options);
  pgas::run<tile>(at.cores, [&](pgas::team<tile>& team) {
    auto channel = pgas::make_channel(team);
    bool const serves = has_servers && team.rank() < at.servers;
    Map map(channel,
            {.servers = {.number = has_servers ? at.servers : pgas::map_servers::chosen, .where = at.where},
             .costs = costs_with(serves ? load.access : load.cached_access.value_or(load.access))});
    auto const client =
        static_cast<std::uint64_t>(team.rank()) - (static_cast<std::uint64_t>(at.cores) - clients);
    // All keys are present, and each client has used them.
    if (map.is_client()) {
      for (std::uint64_t k = client; k < keys; k += clients) map.update(key_type{{k}}, k);
    }
    map.serve();
    team.barrier();
    if (map.is_client()) {
      for (std::uint64_t k = 0; k < keys; ++k) static_cast<void>(map.lookup(key_type{{(client + k) % keys}}));
    }
    map.serve();
    team.barrier();
    if (map.is_client()) {
      operations next(load, keys, client, clients);
      auto const now = [&] { return pgas::tile_machine::cycles_of(team); };
      cycles const begin = now() + length / 3, end = now() + length;
      while (now() < end) {
        bool const looks = next.is_lookup();
        key_type const key{{next.key()}};
        if (looks)
          static_cast<void>(map.lookup(key));
        else
          map.update(key, client);
        if (now() > begin && now() <= end) ++done;
      }
    }
    map.serve();
    team.barrier();
  });
  return static_cast<double>(done) / static_cast<double>(length - length / 3) * on.modelled.frequency;
}

template <template <class, class, class, class> class Map, std::size_t KeyWords>
double emulated_with(platform const& on, model::workload const& load, point const& at, double each) {
  return emulated_on<Map<key_of<KeyWords>, std::uint64_t, tile::channel_type, traits_of<KeyWords>>, KeyWords>(
      on, load, at, each);
}
inline double emulated(platform const& on, model::workload const& load, point const& at, double each) {
  switch (at.kind) {
    case map_kind::part_simple:
      return emulated_with<pgas::maps::part_simple, 2>(on, load, at, each);
    case map_kind::part_caching:
      return emulated_with<pgas::maps::part_caching, 2>(on, load, at, each);
    case map_kind::rep_remote:
      return emulated_with<pgas::maps::rep_remote, 2>(on, load, at, each);
    case map_kind::rep_local:
      return emulated_with<pgas::maps::rep_local, 2>(on, load, at, each);
    case map_kind::rep_2pc:
      return emulated_with<pgas::maps::rep_2pc, 2>(on, load, at, each);
    case map_kind::rep_sc:
      return emulated_with<pgas::maps::rep_sc, 2>(on, load, at, each);
  }
  return 0;
}

}  // namespace papers::maps
