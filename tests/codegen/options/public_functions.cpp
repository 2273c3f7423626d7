// SPDX-License-Identifier: BSL-1.0
// Uses every part of the library that has always_inline functions, and what is built on them. check.sh
// compiles it with options of compilers that no other test has.
#include <array>
#include <cstddef>
#include <functional>
#include <pgas/accumulate_halo.hpp>
#include <pgas/algorithm/any_of.hpp>
#include <pgas/algorithm/count.hpp>
#include <pgas/algorithm/find.hpp>
#include <pgas/algorithm/for_each.hpp>
#include <pgas/algorithm/histogram.hpp>
#include <pgas/algorithm/min_element.hpp>
#include <pgas/algorithm/reduce.hpp>
#include <pgas/algorithm/reduce_over.hpp>
#include <pgas/algorithm/scan.hpp>
#include <pgas/algorithm/sort.hpp>
#include <pgas/algorithm/transform_reduce.hpp>
#include <pgas/algorithm/transpose.hpp>
#include <pgas/array/local_views.hpp>
#include <pgas/async/async.hpp>
#include <pgas/async/calls.hpp>
#include <pgas/containers/counter.hpp>
#include <pgas/containers/distributed_map.hpp>
#include <pgas/containers/distributed_queue.hpp>
#include <pgas/distributions/block_cyclic.hpp>
#include <pgas/distributions/cyclic.hpp>
#include <pgas/exchange_halos.hpp>
#include <pgas/files/save.hpp>
#include <pgas/layouts/cyclic_tiles.hpp>
#include <pgas/notified_halo.hpp>
#include <pgas/pgas.hpp>
#include <pgas/redistribute.hpp>
#include <pgas/stencil.hpp>
#include <pgas/tiles.hpp>
#include <pgas/user_window.hpp>
#include <tuple>
#include <vector>

namespace {

using process_map = pgas::backends::process_map;

struct wide {
  double each[2] = {};
};

template <class T>
void use_transposes(auto& team) {
  auto const a = pgas::make_array<T>(team, {64, 48});
  auto const b = pgas::make_array<T>(team, {48, 64}, pgas::cyclic_tiles<8, 8>{});
  pgas::transpose(a, b);
  auto const c = pgas::make_array<T>(team, {8, 64, 48});
  auto const d = pgas::make_array<T>(team, {48, 64, 8});
  pgas::transpose<0, 2>(c, d);
  pgas::transpose(c, d, {2, 1, 0});
}

void use_epochs(auto& team) {
  auto w = pgas::make_window<double>(team, 4096);
  auto const other = team.size() - 1;
  std::vector<double> values(4096);
  double expected = 0;
  {
    pgas::fence epoch{w};
    epoch.put(other, 0, 1.0);
    epoch.put(other, 0, values);
    epoch.put(other, pgas::rows_of{.first = 0, .rows = 4, .cols = 8, .pitch = 16},
              std::span(values).first(32));
    epoch.get(other, 0, values);
    epoch.flush_all();
  }
  {
    pgas::lock epoch{w, other, pgas::exclusive};
    auto const target = epoch.to();
    for (std::size_t i = 0; i < 100; ++i) target.put(i, target.get(i) + 1);
    epoch.accumulate(other, 0, values, pgas::op::max{});
    epoch.accumulate(other, 0, 1.0);
    static_cast<void>(epoch.fetch_add(other, 0, 1.0));
    static_cast<void>(epoch.compare_exchange(other, 0, expected, 2.0));
  }
  if (auto epoch = pgas::try_lock(w, other, pgas::shared)) epoch->close();
  {
    pgas::lock_all epoch{w};
    epoch[w.pointer(other, 0)].store(3);
    epoch.rput(other, 0, values).wait();
    auto arrived = pgas::make_signals(w);
    arrived.put(epoch, other, 0, 1.0);
    if (team.rank() == other) arrived.wait({0});
  }
  {
    pgas::exposure exposed{w, {team.rank()}};
    pgas::access epoch{w, {team.rank()}};
    epoch.put(team.rank(), 0, 1.0);
    epoch.close();
  }
  auto const own = pgas::stage(w, pgas::read_write);
  own[0] = values[0];
  auto v = pgas::make_window<int>(team, 4);
  auto [first, second] = pgas::fence_all{w, v};
  first.put(other, 0, 1.0);
  second.put(other, 0, 1);
}

void use_arrays(auto& team) {
  constexpr pgas::halo around{.width = 1, .edges = pgas::edge::periodic};
  auto now = pgas::make_array<double>(team, {64, 64}, around);
  auto next = pgas::make_array<double>(team, {64, 64}, around);
  pgas::exchange_halo(now);
  pgas::exchange_halo(now, next);
  pgas::accumulate_halo(now);
  auto edges = pgas::make_notified_halo(now);
  edges.exchange(now);
  using pgas::offset;
  constexpr pgas::stencil<offset<-1, 0>, offset<1, 0>, offset<0, -1>, offset<0, 1>> star;
  auto const mean = [](double a, double b, double c, double d) { return 0.25 * (a + b + c + d); };
  star.apply(now, next, mean);
  auto const views = pgas::local_views(now, next);
  std::get<0>(views)(0, 0) = std::get<1>(views)(0, 0);
  for (auto const mode : {0, 1}) {
    auto const u = pgas::stage(now, pgas::read_only);
    auto const v = pgas::stage(next, pgas::write_only);
    for (std::size_t i = 0; i < now.local_rows(); ++i)
      for (std::size_t j = 0; j < 64; ++j) v(i, j) = u(i, j) + mode;
  }
  auto const tiled = pgas::redistribute(team, now, pgas::tiled{pgas::block_cyclic<8>{}, pgas::cyclic{}});
  for (auto const tile : pgas::tiles(tiled)) static_cast<void>(tile.view());
  auto const line = pgas::make_array<double>(team, 1000);
  pgas::for_each(line, [](double& x) { x += 1; });
  pgas::sort(team, line);
  static_cast<void>(pgas::reduce(team, now, 0.0));
  static_cast<void>(pgas::count(team, line, 1.0));
  pgas::inclusive_scan(team, line, line);
  pgas::save(now, "levels.npy");
  pgas::load(now, "levels.npy");
  pgas::fence epoch{now};
  std::vector<double> box(9);
  epoch.get({{0, 0}, {3, 3}}, box);
  epoch.put({1, 1}, 2.0);
  epoch.accumulate({{0, 0}, {3, 3}}, box);
}

void use_teams(auto& team) {
  std::vector<wide> mine(3);
  std::vector<wide> all(3 * static_cast<std::size_t>(team.size()));
  team.all_gather(mine, all);
  std::vector<double> sums(1000);
  team.all_reduce(sums, sums);
  team.start().broadcast(sums, 0).wait();
  static_cast<void>(team.all_reduce(team.all_gather(true).size()));
  static_cast<void>(team.split(team.rank() % 2).broadcast(1, 0));
}

void use_containers(auto& team) {
  auto map = pgas::make_map<int, int, pgas::counting>(team, {.capacity = 100});
  map.insert_or_accumulate(1, 2);
  static_cast<void>(map.lookup(1));
  auto queue = pgas::make_queue<int>(team, {.capacity = 100});
  queue.push(1);
  static_cast<void>(queue.try_pop());
  auto calls = pgas::make_calls(team);
  static_cast<void>(calls
                        .call(
                            0, [](int x) { return x + 1; }, 1)
                        .wait());
}

}  // namespace

int main() {
  pgas::run<process_map>(2, [](auto& team) {
    use_transposes<float>(team);
    use_transposes<double>(team);
    use_transposes<wide>(team);
    use_transposes<std::array<char, 3>>(team);
    use_epochs(team);
    use_arrays(team);
    use_teams(team);
    use_containers(team);
  });
}
