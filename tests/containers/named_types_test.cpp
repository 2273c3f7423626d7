// SPDX-License-Identifier: BSL-1.0
// The types of members of a class: each is what its make_ function returns.
// test: addresses, unit containers
#include <concepts>
#include <functional>
#include <pgas/async/calls.hpp>
#include <pgas/containers/chunked_map.hpp>
#include <pgas/containers/counter.hpp>
#include <pgas/containers/distributed_map.hpp>
#include <pgas/containers/distributed_queue.hpp>
#include <pgas/containers/distributed_vector.hpp>
#include <pgas/containers/work_stealing_queue.hpp>
#include <pgas/distributions/block_cyclic.hpp>
#include <pgas/distributions/cyclic.hpp>
#include <pgas/heap.hpp>
#include <pgas/maps/part_simple.hpp>
#include <pgas/pgas.hpp>
#include <span>
#include <utility>

#include "support/ranks.hpp"

using namespace pgas_test;

namespace {

template <class Made, class Named>
consteval void is_same() {
  static_assert(std::same_as<Made, Named>);
}

/// Has windows and arrays as members.
template <class Team>
class sums {
 public:
  sums(Team& team, std::size_t cells)
      : cells_(pgas::make_array<int>(team, {cells, cells}, pgas::halo{.width = 1})),
        sum_(pgas::make_window<int>(team, 1)),
        ready_(pgas::make_signals(sum_)) {}

  /// Counts all cells at rank 0.
  int count() {
    {
      auto const own = pgas::stage(cells_, pgas::write_only);
      auto const extents = cells_.own_box().count;
      for (std::size_t i = 0; i < extents[0]; ++i)
        for (std::size_t j = 0; j < extents[1]; ++j) own(i, j) = 1;
    }
    pgas::fence epoch{sum_};
    auto const mine = static_cast<int>(cells_.own_box().size());
    epoch.accumulate(0, 0, mine);
    epoch.next();
    return epoch.get(0, 0);
  }

 private:
  pgas::array_on<Team, int, 2> cells_;
  pgas::window_on<Team, int> sum_;
  pgas::signals_of<pgas::window_on<Team, int>> ready_;
};

}  // namespace

TEST_CASE("named types: a class with windows, arrays and signals as members works on every model") {
  everywhere([](auto& team) {
    sums all(team, 6);
    auto moved = std::move(all);
    require_equal(moved.count(), 36, "the cells");
  });
}

TEST_CASE("named types: each names what its make_ function returns, on every model") {
  for_each_model<all_models>([]<class Model>(Model) {
    using team = pgas::team<typename Model::backend, typename Model::coherence, typename Model::protocols>;
    auto const look = []<class Team>(std::type_identity<Team>) {
      using plain = std::remove_cvref_t<Team>;
      using window = decltype(pgas::make_window<double>(std::declval<Team>(), 1));
      is_same<window, pgas::window_on<Team, double>>();
      is_same<decltype(pgas::make_array<double>(std::declval<Team>(), 1)), pgas::array_on<Team, double, 1>>();
      is_same<decltype(pgas::make_array<int>(std::declval<Team>(), {1, 2, 3}, pgas::halo{.width = 1})),
              pgas::array_on<Team, int, 3>>();
      is_same<decltype(pgas::make_array<int>(std::declval<Team>(), 1, pgas::block_cyclic<64>{})),
              pgas::array_on<Team, int, 1, pgas::block_cyclic<64>>>();
      using rule = decltype(pgas::tiled{pgas::block_cyclic<8>{}, pgas::cyclic{}});
      is_same<decltype(pgas::make_array<int>(std::declval<Team>(), {4, 4}, std::declval<rule const&>())),
              pgas::array_on<Team, int, 2, rule>>();
      is_same<decltype(pgas::make_signals(std::declval<window&>())), pgas::signals_of<window>>();
      using array = pgas::array_on<Team, double, 2>;
      is_same<decltype(pgas::make_signals(std::declval<array&>())), pgas::signals_of<array>>();
      is_same<decltype(pgas::make_heap<int>(std::declval<Team>(), 1)), pgas::heap_on<Team, int>>();
      is_same<decltype(pgas::make_striped_counter(std::declval<Team>())), pgas::striped_counter_on<Team>>();
      if constexpr (pgas::user_memory_backend<typename plain::backend_type>) {
        is_same<decltype(pgas::make_window(std::declval<Team>(), std::span<int>())),
                pgas::user_window_on<Team, int>>();
      }
      if constexpr (pgas::backend_with_cells<typename plain::backend_type>) {
        is_same<decltype(pgas::make_counter(std::declval<Team>())), pgas::counter_on<Team>>();
        is_same<decltype(pgas::make_queue<int>(std::declval<Team>())), pgas::queue_on<Team, int>>();
        is_same<decltype(pgas::make_inbox<int>(std::declval<Team>())), pgas::inbox_on<Team, int>>();
        is_same<decltype(pgas::make_vector<int>(std::declval<Team>())), pgas::vector_on<Team, int>>();
        is_same<decltype(pgas::make_work_stealing_queue<int>(std::declval<Team>())),
                pgas::work_stealing_queue_on<Team, int>>();
      }
    };
    look(std::type_identity<team>{});
    look(std::type_identity<team&>{});
    look(std::type_identity<team const&>{});
  });
}

TEST_CASE("named types: those of maps and calls name what their make_ functions return") {
  using team = pgas::team<pgas::backends::process_map>;
  is_same<decltype(pgas::make_map<int, double>(std::declval<team const&>())),
          pgas::map_on<team, int, double>>();
  is_same<decltype(pgas::make_map<int, double, pgas::counting>(std::declval<team const&>())),
          pgas::map_on<team, int, double, pgas::counting>>();
  is_same<decltype(pgas::make_map<int, double, pgas::part_simple>(std::declval<team const&>())),
          pgas::map_on<team, int, double, pgas::part_simple>>();
  is_same<decltype(pgas::make_chunked_map<int>(std::declval<team const&>())),
          pgas::chunked_map_on<team, int>>();
  is_same<decltype(pgas::make_calls(std::declval<team const&>())), pgas::calls_on<team&>>();
}
