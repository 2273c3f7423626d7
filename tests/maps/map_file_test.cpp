// SPDX-License-Identifier: BSL-1.0
// The files of maps of messages: each of the six saves what any map loads, on any number of ranks.
// test: unit map_runs
#include <unistd.h>
#include <filesystem>
#include <fstream>
#include <pgas/backends/tile.hpp>
#include <pgas/containers/distributed_map.hpp>
#include <pgas/containers/map_file.hpp>
#include <pgas/maps/part_caching.hpp>
#include <pgas/maps/part_simple.hpp>
#include <pgas/maps/rep_2pc.hpp>
#include <pgas/maps/rep_local.hpp>
#include <pgas/maps/rep_remote.hpp>
#include <pgas/maps/rep_sc.hpp>
#include <pgas/vocabulary/bounded_string.hpp>
#include <string>

#include "support/ranks.hpp"

using namespace pgas_test;

namespace {

using name = pgas::bounded_string<15>;

std::filesystem::path file_of_this_test() {
  return std::filesystem::temp_directory_path() / ("pgas-map-file-" + std::to_string(::getpid()));
}

/// Three ranks save a map with a policy. Two load it into a map of accesses; they save that, and three load
/// it into a map with the policy.
template <class Model, auto Policy>
void goes_through_files(pgas::map_on_options const& options) {
  auto const path = file_of_this_test();
  on<Model>(3, [&](auto& team) {
    auto map = pgas::make_map<name, int, Policy>(team, options);
    if (map.is_client()) {
      for (int i = 0; i < 10; ++i) map.update(name(std::to_string(10 * team.rank() + i)), i);
      map.erase(name(std::to_string(10 * team.rank() + 9)));
      if (map.lookup(name(std::to_string(10 * team.rank()))) != 0) require(false, "a client finds its key");
    }
    save(map, path);
    if (map.is_client()) map.update("later", 1);
    map.serve();
  });
  std::size_t const clients = options.servers.where == pgas::placement::dedicated ? 2 : 3;
  on<Model>(2, [&](auto& team) {
    auto map = pgas::make_map<name, int>(team, {.capacity = 64});
    load(map, path);
    require(map.size() == 9 * clients, "the file has all keys of all clients, and no other");
    require(map.lookup("23") == 3 && !map.contains("29") && !map.contains("later"),
            "values are those of the map");
    save(map, path);
  });
  on<Model>(3, [&](auto& team) {
    auto map = pgas::make_map<name, int, Policy>(team, options);
    load(map, path);
    if (map.is_client())
      for (int i = 0; i < 10; ++i)
        require(map.lookup(name(std::to_string(20 + i))) == (i < 9 ? std::optional(i) : std::nullopt),
                "each client finds all keys of the file");
    map.serve();
  });
  std::filesystem::remove(path);
}

template <class Model>
void all_go_through_files() {
  pgas::map_on_options const dedicated{.servers = {.number = 1, .where = pgas::placement::dedicated}};
  pgas::map_on_options const colocated{.servers = {.number = 2, .where = pgas::placement::colocated}};
  goes_through_files<Model, pgas::part_simple>(dedicated);
  goes_through_files<Model, pgas::part_simple>(colocated);
  goes_through_files<Model, pgas::part_caching>(dedicated);
  goes_through_files<Model, pgas::part_caching>(colocated);
  goes_through_files<Model, pgas::rep_remote>(dedicated);
  goes_through_files<Model, pgas::rep_local>(colocated);
  goes_through_files<Model, pgas::rep_2pc>({.servers = {.where = pgas::placement::colocated}});
  goes_through_files<Model, pgas::rep_sc>(dedicated);
}

}  // namespace

TEST_CASE("map files: a map of messages is saved, and a map with any policy on any ranks loads it") {
  for_each_model<std::tuple<process_model, thread_model>>(
      []<class Model>(Model) { all_go_through_files<Model>(); });
  if (chosen("tile")) all_go_through_files<model<pgas::backends::tile>>();
}

TEST_CASE("map files: a map of messages refuses another map's file on every rank, and can be used after") {
  auto const path = file_of_this_test();
  std::ofstream(path) << "no map";
  on<process_model>(3, [&](auto& team) {
    auto map = pgas::make_map<int, int, pgas::part_caching>(team, {.servers = {.number = 1}});
    require_error(pgas::errc::bad_file, {"load", "cannot be read as a map"}, [&] { load(map, path); });
    if (map.is_client()) map.update(1, 2);
    map.serve();
    if (map.is_client()) require(map.lookup(1) == 2, "the map goes on");
    map.serve();
  });
  std::filesystem::remove(path);
}
