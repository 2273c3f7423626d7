// SPDX-License-Identifier: BSL-1.0
// The promises of collectives: the suite of every algorithm, and what the team's functions add.
// test: addresses, threads in full, each way, unit collectives
#include <functional>
#include <numeric>
#include <pgas/backends/process_map.hpp>
#include <pgas/signals.hpp>
#include <pgas/window.hpp>
#include <string_view>
#include <utility>

#include "conformance/collective.hpp"

using pgas::make_window;
using namespace pgas_test;

TEST_CASE("collectives: several are in flight at once on one team, and end in any order of waits") {
  everywhere([](auto& team) {
    std::vector<int> const mine(300, team.rank() + 1);
    std::vector<int> sum(300);
    std::vector<int> most(300);
    std::vector<int> values(20, team.rank());
    auto first = team.start().all_reduce(mine, sum);
    auto second = team.start().all_reduce(mine, most, pgas::op::max{});
    auto third = team.start().broadcast(values, team.size() - 1);
    third.wait();
    require_equal(values[19], team.size() - 1, "a broadcast that was started last and awaited first");
    while (!first.test()) std::this_thread::yield();
    second.wait();
    require_equal(sum[299], team.size() * (team.size() + 1) / 2, "a sum that was started first");
    require_equal(most[0], team.size(), "a maximum");
  });
}

namespace {

/// Functions one after the other, in more bytes than a piece of any medium has.
template <std::size_t Lanes>
struct lanes {
  std::array<collective_suite::affine, Lanes> each{};

  static lanes of(rank_t r, std::size_t i) {
    lanes all;
    for (std::size_t k = 0; k < Lanes; ++k)
      all.each[k] = collective_suite::element<collective_suite::affine>(r, i, static_cast<std::uint32_t>(k));
    return all;
  }
  friend bool operator==(lanes const&, lanes const&) = default;
};
struct chain_lanes {
  template <std::size_t Lanes>
  lanes<Lanes> operator()(lanes<Lanes> const& first, lanes<Lanes> const& second) const {
    lanes<Lanes> both;
    for (std::size_t k = 0; k < Lanes; ++k)
      both.each[k] = collective_suite::chain{}(first.each[k], second.each[k]);
    return both;
  }
};

/// Elements [from, from + count) of op over ranks 0 to `last`.
template <class T>
std::vector<T> chained(rank_t last, std::size_t from, std::size_t count) {
  std::vector<T> all(count);
  for (std::size_t i = 0; i < count; ++i) {
    all[i] = T::of(0, from + i);
    for (rank_t r = 1; r <= last; ++r) all[i] = chain_lanes{}(all[i], T::of(r, from + i));
  }
  return all;
}

template <class T, class Team>
void check_long_elements(Team& team, std::size_t count) {
  auto const size = static_cast<std::size_t>(team.size());
  auto const self = static_cast<std::size_t>(team.rank());
  std::vector<T> mine(count * size);
  for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = T::of(team.rank(), i);
  auto const all = chained<T>(team.size() - 1, 0, mine.size());
  auto result = mine;
  team.all_reduce(result, result, chain_lanes{});
  require(result == all, "all_reduce in place");
  std::vector<T> at_root(team.rank() == 1 % team.size() ? mine.size() : 0);
  team.start().reduce(mine, at_root, 1 % team.size(), chain_lanes{}).wait();
  require(at_root.empty() || at_root == all, "a started reduce");
  result.assign(mine.size(), T{});
  team.inclusive_scan(mine, result, chain_lanes{});
  require(result == chained<T>(team.rank(), 0, mine.size()), "an inclusive scan");
  auto before = mine;
  team.exclusive_scan(before, before, chain_lanes{});
  require(before == (self == 0 ? mine : chained<T>(team.rank() - 1, 0, mine.size())), "an exclusive scan");
  std::vector<T> block(count);
  team.reduce_scatter(mine, block, chain_lanes{});
  require(block == chained<T>(team.size() - 1, self * count, count), "reduce_scatter");
  std::vector<std::size_t> counts(size);
  counts.back() = mine.size();
  block.resize(counts[self]);
  team.reduce_scatter(mine, std::span(std::as_const(counts)), block, chain_lanes{});
  require(block.empty() || block == all, "reduce_scatter with counts");
}

}  // namespace

TEST_CASE("collectives: elements of any length can be folded, also those longer than all pieces") {
  everywhere(
      [](auto& team) {
        using backend = typename std::remove_cvref_t<decltype(team)>::backend_type;
        for (std::size_t const count : {0U, 2U}) check_long_elements<lanes<2500>>(team, count);
        if constexpr (pgas::shared_segment<typename backend::segment_type>)
          check_long_elements<lanes<8200>>(team, 1);
        auto const one = lanes<1250>::of(team.rank(), 0);  // half a piece of links
        require(team.all_reduce(one, chain_lanes{}) == chained<lanes<1250>>(team.size() - 1, 0, 1)[0],
                "a value");
      },
      {1, 2, 5});
}

TEST_CASE("collectives: an algorithm with a name refuses elements that are longer than its pieces") {
  everywhere([](auto& team) {
    std::vector<lanes<2500>> mine(1);
    require_error(errc::invalid_argument, {"all_reduce", "20000 bytes", "binomial", "by_exchange"},
                  [&] { team.all_reduce(mine, mine, chain_lanes{}, pgas::collectives::binomial{}); });
  });
}

TEST_CASE("collectives: a broadcast fills an array that has a name, and returns a constant or nameless one") {
  everywhere([](auto& team) {
    rank_t const root = team.size() - 1;
    std::array<int, 3> named{team.rank(), 1, team.rank() + 2};
    static_assert(std::is_void_v<decltype(team.broadcast(named, root))>, "no result can be dropped");
    team.broadcast(named, root);
    require(named == std::array{root, 1, root + 2}, "an array that has a name");
    int plain[2]{team.rank(), 5};
    team.broadcast(plain, root);
    require_equal(plain[0], root, "an array of the language");
    std::array<double, 30> started{};
    started[29] = team.rank();
    team.start().broadcast(started, root).wait();
    require_equal(started[29], root, "an array in a started broadcast");

    std::array const constant{team.rank()};
    require_equal(team.broadcast(constant, root)[0], root, "a constant array");
    auto const [a, b] = team.broadcast(std::array{team.rank(), 7}, root);
    require(a == root && b == 7, "an array without a name");
  });
}

TEST_CASE("collectives: a started one ends before a later blocking one begins") {
  everywhere([](auto& team) {
    std::vector<int> values(10, team.rank());
    auto request = team.start().broadcast(values, 0);
    std::vector<int> others(10, team.rank());
    team.broadcast(others, team.size() - 1);
    require(request.test(), "a request is done after a later collective");
    require_equal(values[9], 0, "the started broadcast");
    require_equal(others[9], team.size() - 1, "the blocking one");
  });
}

namespace {

/// Rank 0 waits for signals that the others send when a started collective has ended. They need its pieces.
template <class Team>
void wait_beside_a_collective(Team& team) {
  auto w = make_window<int>(team, 1);
  std::vector<int> mine(50'000, 1);
  std::vector<int> sum(50'000);
  pgas::signals signals = pgas::make_signals(w);
  pgas::lock_all epoch{w};
  auto request = team.start().all_reduce(mine, sum);
  if (team.rank() != 0) {
    request.wait();
    signals.signal(epoch, 0);
  } else {
    for (rank_t r = 1; r < team.size(); ++r) signals.wait({r});
    request.wait();
  }
  require_equal(sum[49'999], team.size(), "the sum");
}

/// thread_map whose ranks do nothing else while they wait.
class resting : public pgas::backends::thread_map {
  using thread_map = pgas::backends::thread_map;

 public:
  static constexpr std::string_view name = "resting";

  template <class Main>
  static auto launch(rank_t ranks, Main const& main) {
    return thread_map::launch(
        ranks, [&](thread_map const& inner, auto& bootstrap) { main(resting(inner), bootstrap); });
  }
  [[nodiscard]] resting sub_team(pgas::group members, rank_t rank) const {
    return resting(thread_map::sub_team(members, rank));
  }
  void while_waiting(std::function<void()>) const = delete;

 private:
  explicit resting(thread_map inner) : thread_map(std::move(inner)) {}
};
static_assert(pgas::backend<resting> && !pgas::working_backend<resting>);

}  // namespace

TEST_CASE("collectives: a started one ends while its rank waits for another rank's signal") {
  everywhere([](auto& team) {
    using backend = typename std::remove_cvref_t<decltype(team)>::backend_type;
    if constexpr (pgas::working_backend<backend>) wait_beside_a_collective(team);
  });
}

TEST_CASE(
    "collectives: on a backend whose ranks do no work in waits, a started one keeps the others waiting") {
  auto const e = error_of<model<resting>>(3, [](auto& team) { wait_beside_a_collective(team); });
  REQUIRE(e.has_value());
  CHECK_MESSAGE(e->code() == pgas::make_error_code(errc::deadlock), std::string(e->what()));
}

TEST_CASE("collectives: memory of the wrong size and ranks that are none get a clear error") {
  everywhere([](auto& team) {
    std::string const self = "rank " + std::to_string(team.rank());
    std::vector<int> four(4);
    std::vector<int> five(5);
    require_error(errc::invalid_argument, {self, "all_reduce", "20 bytes", "16 belong"},
                  [&] { team.all_reduce(four, five); });
    require_error(errc::invalid_argument, {self, "all_gather", "memory of"}, [&] {
      std::vector<int> room(4 * static_cast<std::size_t>(team.size()) + 1);
      team.all_gather(four, room);
    });
    require_error(errc::out_of_range, {self, "broadcast"}, [&] { team.broadcast(four, team.size()); });
    std::vector<std::size_t> const counts(static_cast<std::size_t>(team.size()) + 1);
    require_error(errc::invalid_argument, {self, "all_gather", "counts for"},
                  [&] { team.all_gather(four, five, std::span(counts)); });
  });
}

TEST_CASE(
    "collectives: ranks that call different collectives, sizes or roots get an error that names a rank") {
  for_each_model([]<class Model>(Model) {
    if (!can_have<typename Model::backend>(3)) return;
    auto const refused = [](auto const& body) {
      auto const e = error_of<Model>(3, [&body](auto& team) {
        std::vector<int> warm(100);
        team.all_reduce(warm, warm);
        body(team);
        team.all_reduce(warm, warm);
      });
      REQUIRE_MESSAGE(e.has_value(), Model::name());
      CHECK_MESSAGE((e->code() == pgas::make_error_code(errc::mismatch) ||
                     e->code() == pgas::make_error_code(errc::deadlock)),
                    Model::name() << ": " << std::string(e->what()));
      return std::string(e->what());
    };
    auto const text = refused([](auto& team) {
      std::vector<int> mine(team.rank() == 1 ? 24 : 18);
      team.all_reduce(mine, mine);
    });
    CHECK_MESSAGE(text.find("all_reduce") != std::string::npos, text);
    refused([](auto& team) {
      std::vector<int> mine(18);
      if (team.rank() == 1) {
        team.broadcast(mine, 0);
      } else {
        team.all_reduce(mine, mine);
      }
    });
    refused([](auto& team) {
      std::vector<int> mine(18);
      team.broadcast(mine, team.rank() == 2 ? 1 : 0);
    });
  });
}

TEST_CASE("collectives: ranks that fold by other operations, other elements or other counts get an error") {
  for_each_model([]<class Model>(Model) {
    if (!can_have<typename Model::backend>(3)) return;
    auto const refused = [](auto const& odd, auto const& others) {
      for (rank_t const ranks : {2, 3}) {
        auto const e = error_of<Model>(ranks, [&](auto& team) {
          std::vector<int> mine(24, 1);
          team.all_reduce(mine, mine);
          team.rank() == ranks - 1 ? odd(team, mine) : others(team, mine);
        });
        REQUIRE_MESSAGE(e.has_value(), Model::name());
        CHECK_MESSAGE(e->code() == pgas::make_error_code(errc::mismatch),
                      Model::name() << ": " << std::string(e->what()));
      }
    };
    auto const sum = [](auto& team, auto& mine) { team.all_reduce(mine, mine); };
    refused([](auto& team, auto& mine) { team.all_reduce(mine, mine, pgas::op::max{}); }, sum);
    refused([](auto& team, auto& mine) { team.all_reduce(mine, mine, std::plus<int>{}); }, sum);
    refused(
        [](auto& team, auto&) {
          std::vector<float> floats(24);
          team.all_reduce(floats, floats);
        },
        sum);
    refused(
        [](auto& team, auto&) {
          std::vector<std::int64_t> longer(12);
          team.all_reduce(longer, longer);
        },
        sum);
    refused([](auto& team, auto&) { static_cast<void>(team.all_reduce(1.0F)); },
            [](auto& team, auto&) { static_cast<void>(team.all_reduce(1)); });
    refused([](auto& team, auto&) { static_cast<void>(team.all_reduce(1, pgas::op::min{})); },
            [](auto& team, auto&) { static_cast<void>(team.all_reduce(1)); });
    auto const gather = [](auto& team, auto& mine, std::size_t moved) {
      std::vector<std::size_t> counts(static_cast<std::size_t>(team.size()), 8);
      counts.front() -= moved;
      counts.back() += moved;
      std::vector<int> all(8 * counts.size());
      team.all_gather(std::span(mine).first(counts[static_cast<std::size_t>(team.rank())]), all,
                      std::span(std::as_const(counts)));
    };
    refused([&](auto& team, auto& mine) { gather(team, mine, 1); },
            [&](auto& team, auto& mine) { gather(team, mine, 0); });
  });
}

TEST_CASE("collectives: two ranks that count the elements between them differently get an error") {
  using counts = std::vector<std::size_t>;
  auto const view = [](counts const& of) { return std::span<std::size_t const>(of); };
  for_each_model([&]<class Model>(Model) {
    if (!can_have<typename Model::backend>(3)) return;
    for (rank_t const ranks : {2, 3}) {
      auto const refused = [&](std::string_view what, std::size_t count, auto const& call) {
        auto const e = error_of<Model>(ranks, [&](auto& team) {
          std::vector<int> one(1);
          team.all_reduce(one, one);
          call(team, count);
        });
        REQUIRE_MESSAGE(e.has_value(), Model::name() << ": " << what << " of " << count);
        CHECK_MESSAGE(e->code() == pgas::make_error_code(errc::mismatch),
                      Model::name() << ": " << std::string(e->what()));
        CHECK_MESSAGE(
            std::string_view(e->what()).find("bytes in the block between") != std::string_view::npos,
            Model::name() << ": " << std::string(e->what()));
      };
      auto const each = [&](auto algorithm) {
        for (std::size_t const count : {1U, 3000U, 20000U}) {
          refused("gather", count, [&](auto& team, std::size_t n) {
            counts all(static_cast<std::size_t>(team.size()), n);
            if (team.rank() == 0) all.back() -= 1;  // the last rank sends one more
            std::vector<int> into(std::accumulate(all.begin(), all.end(), std::size_t{0}));
            team.gather(std::vector<int>(n), into, view(all), 0, algorithm);
          });
          refused("scatter", count, [&](auto& team, std::size_t n) {
            counts all(static_cast<std::size_t>(team.size()), n);
            if (team.rank() == 0) all.back() -= 1;  // the last rank expects one more
            std::vector<int> const from(std::accumulate(all.begin(), all.end(), std::size_t{0}));
            std::vector<int> into(n);
            team.scatter(from, view(all), into, 0, algorithm);
          });
          refused("all_to_all", count, [&](auto& team, std::size_t n) {
            counts out(static_cast<std::size_t>(team.size()), n);
            counts in = out;
            if (team.rank() == 0) in.back() -= 1;  // the last rank sends one more
            std::vector<int> const from(n * out.size());
            std::vector<int> into(n * out.size() - (team.rank() == 0 ? 1 : 0));
            if constexpr (requires { team.all_to_all(from, view(out), into, view(in), algorithm); })
              team.all_to_all(from, view(out), into, view(in), algorithm);
          });
        }
      };
      each(pgas::collectives::automatic{});
      each(pgas::collectives::pulled{});
    }
  });
}

TEST_CASE("collectives: two ranks that take themselves for the root are found out at the next collective") {
  for_each_model([]<class Model>(Model) {
    if (!can_have<typename Model::backend>(3)) return;
    for (rank_t const ranks : {2, 3}) {
      for (std::size_t const count : {1U, 1000U}) {
        for (bool const scatters : {false, true}) {
          auto const e = error_of<Model>(ranks, [&](auto& team) {
            rank_t const root = team.rank() == ranks - 1 ? team.rank() : 0;
            std::vector<int> mine(count);
            std::vector<int> all(count * static_cast<std::size_t>(ranks));
            team.all_reduce(mine, mine);
            scatters ? team.scatter(all, mine, root) : team.broadcast(mine, root);
            team.all_reduce(mine, mine);
          });
          REQUIRE_MESSAGE(e.has_value(), Model::name());
          std::string const what = e->what();
          CHECK_MESSAGE((e->code() == pgas::make_error_code(errc::mismatch) ||
                         e->code() == pgas::make_error_code(errc::deadlock)),
                        Model::name() << ": " << what);
          if (pgas::shared_segment<typename Model::backend::segment_type> && ranks == 2) {
            CHECK_MESSAGE(what.find(scatters ? "called scatter" : "called broadcast") != std::string::npos,
                          what);
            CHECK_MESSAGE(what.find("with root 1") != std::string::npos, what);
          }
        }
      }
    }
  });
}
