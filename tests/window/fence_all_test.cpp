// SPDX-License-Identifier: BSL-1.0
// The promises of a fence of several windows, on every model.
// test: addresses, threads in full, each way, unit window
#include <pgas/fence_all.hpp>
#include <pgas/global_array.hpp>
#include <utility>
#include <vector>

#include "support/ranks.hpp"

using namespace pgas_test;
using pgas::fence_all;
using pgas::make_array;
using pgas::make_window;

namespace {

int stamp(rank_t writer, int round) { return writer * 1000 + round + 1; }

/// A fence protocol that counts its fences on this rank.
template <class Fence>
struct counted {
  static constexpr std::string_view name = "counted";
  static constexpr pgas::rmw needs = Fence::needs;
  static constexpr pgas::control_words words(rank_t ranks) { return Fence::words(ranks); }

  template <pgas::control Control>
  class on : public Fence::template on<Control> {
    using base = typename Fence::template on<Control>;

   public:
    using base::base;
    template <pgas::boundary Boundary>
    void fence(Boundary& b, std::string_view operation) {
      ++fences;
      base::fence(b, operation);
    }

    int fences = 0;
  };
};

rank_t right_of(auto const& team) { return (team.rank() + 1) % team.size(); }
rank_t left_of(auto const& team) { return (team.rank() - 1 + team.size()) % team.size(); }

}  // namespace

TEST_CASE(
    "fence_all: owners see what was put into each of three windows after closing, in each of many epochs") {
  everywhere([](auto& team) {
    auto a = make_window<int>(team, 1);
    auto b = make_window<double>(team, 3);
    auto c = make_array<int>(team, {static_cast<std::size_t>(team.size()), std::size_t{2}});
    for (int round = 0; round < 10; ++round) {
      std::vector<double> const three(3, stamp(team.rank(), round) + 0.5);
      {
        auto [ints, doubles, cells] = fence_all{a, b, c};
        static_assert(pgas::epoch_to_all<decltype(ints)> && pgas::array_epoch<decltype(cells)>);
        ints.put(right_of(team), 0, stamp(team.rank(), round));
        doubles.put(right_of(team), 0, three);
        cells.put({static_cast<std::size_t>(right_of(team)), 1}, stamp(team.rank(), round));
      }
      int const seen = a.local()[0];
      require_equal(seen, stamp(left_of(team), round), "the window of int");
      for (std::size_t i = 0; i < 3; ++i) {
        double const second = b.local()[i];
        require_equal(second, stamp(left_of(team), round) + 0.5, "the window of double");
      }
      int const third = c.local()(0, 1);
      require_equal(third, stamp(left_of(team), round), "the array");
    }
  });
}

TEST_CASE("fence_all: all ranks see what owners stored into their parts of each window before opening") {
  everywhere([](auto& team) {
    auto a = make_window<int>(team, 1);
    auto b = make_window<int>(team, 1);
    for (int round = 0; round < 10; ++round) {
      a.local()[0] = stamp(team.rank(), round);
      b.local()[0] = -stamp(team.rank(), round);
      auto [first, second] = fence_all{a, b};
      for (rank_t r = 0; r < team.size(); ++r) {
        require_equal(first.get(r, 0), stamp(r, round), "the first window");
        require_equal(second.get(r, 0), -stamp(r, round), "the second window");
      }
    }
  });
}

TEST_CASE("fence_all: next() makes the puts of one epoch visible to the gets of the next one") {
  everywhere([](auto& team) {
    auto a = make_window<int>(team, 1);
    auto b = make_window<int>(team, 1);
    fence_all both{a, b};
    auto& [first, second] = both;
    for (int round = 0; round < 10; ++round) {
      first.put(right_of(team), 0, stamp(team.rank(), round));
      second.accumulate(0, 0, 1);
      both.next();
      require_equal(first.get(team.rank(), 0), stamp(left_of(team), round),
                    "the value that the neighbour put");
      require_equal(second.get(0, 0), (round + 1) * team.size(), "the sum that all ranks accumulated");
      both.next();
    }
    require(both.is_open() && first.is_open(), "the epoch is open still");
  });
}

TEST_CASE("fence_all: three windows cost the fences of one: one to open, one to close, and one for next()") {
  everywhere([](auto& team) {
    using team_type = std::remove_cvref_t<decltype(team)>;
    using usual = typename team_type::protocols_type;
    auto const counting = team.template with<
        typename team_type::coherence_type,
        pgas::protocols<counted<typename usual::fence>, typename usual::post, typename usual::lock>>();
    auto a = make_window<int>(counting, 1);
    auto b = make_window<double>(counting, 1);
    auto c = make_window<char>(counting, 1);
    {
      fence_all all{a, b, c};
      all.template get<0>().put(right_of(team), 0, 1);
      all.next();
      all.template get<2>().put(right_of(team), 0, 'x');
    }
    require_equal(a.state().fence.fences, 3, "fences of the first window");
    require_equal(b.state().fence.fences + c.state().fence.fences, 0, "fences of the other windows");
    char const seen = c.local()[0];
    require_equal(seen, 'x', "the value put after next()");
  });
}

TEST_CASE("fence_all: its windows can be fenced alone, and with others, before and after") {
  everywhere([](auto& team) {
    auto a = make_window<int>(team, 1);
    auto b = make_window<int>(team, 1);
    for (int round = 0; round < 5; ++round) {
      {
        pgas::fence alone{b};
        alone.put(right_of(team), 0, stamp(team.rank(), round));
      }
      {
        auto [second, first] = fence_all{b, a};
        require_equal(second.get(team.rank(), 0), stamp(left_of(team), round),
                      "the value put under the fence");
        first.put(right_of(team), 0, stamp(team.rank(), round));
      }
      {
        auto [first] = fence_all{a};
        require_equal(first.get(team.rank(), 0), stamp(left_of(team), round),
                      "the value put under the fence_all");
      }
    }
  });
}

TEST_CASE("fence_all: the windows may have different coherence policies and protocols") {
  on<write_back_model>(3, [](auto& team) {
    auto a = make_window<int>(team, 1);
    auto b = make_window<int>(
        team.template with<
            pgas::coherence::uncached,
            pgas::protocols<pgas::sync::dissemination, pgas::sync::stamped, pgas::sync::shared_only>>(),
        1);
    for (int round = 0; round < 20; ++round) {
      {
        auto [first, second] = fence_all{a, b};
        first.put(right_of(team), 0, stamp(team.rank(), round));
        second.put(right_of(team), 0, -stamp(team.rank(), round));
      }
      int const seen = a.local()[0];
      int const other = b.local()[0];
      require_equal(seen, stamp(left_of(team), round), "the window with write_back");
      require_equal(other, -stamp(left_of(team), round), "the uncached window");
    }
  });
}

TEST_CASE("fence_all: a closed or moved-from epoch throws at each access, and at a second close") {
  everywhere([](auto& team) {
    auto a = make_window<int>(team, 1);
    auto b = make_window<int>(team, 1);
    fence_all both{a, b};
    fence_all moved = std::move(both);
    auto const is_closed = [](auto const& act) {
      require_error(errc::wrong_order, {"the epoch is closed already"}, act);
    };
    auto const is_moved = [](auto const& act) {
      require_error(errc::wrong_order, {"the epoch has been moved to another object"}, act);
    };
    is_moved([&] { both.template get<0>().put(0, 0, 1); });  // NOLINT(bugprone-use-after-move)
    is_moved([&] { both.next(); });
    is_moved([&] { both.close(); });
    auto& [first, second] = moved;
    first.put(right_of(team), 0, stamp(team.rank(), 0));
    moved.close();
    int const seen = a.local()[0];
    require_equal(seen, stamp(left_of(team), 0), "the value put after the move");
    is_closed([&] { second.put(0, 0, 1); });
    is_closed([&] { static_cast<void>(second.to(0)); });
    is_closed([&] { second.flush_all(); });
    is_closed([&] { moved.close(); });
  });
}

TEST_CASE("fence_all: an unfit list of windows is refused, and the windows can be used afterwards") {
  everywhere([](auto& team) {
    auto a = make_window<int>(team, 1);
    auto b = make_window<int>(team, 1);
    require_error(errc::invalid_argument, {"fence_all", "given twice"}, [&] { fence_all all{a, b, a}; });
    if (team.size() > 1) {
      auto halves = team.split(team.rank() % 2);
      auto half = make_window<int>(halves, 1);
      require_error(errc::invalid_argument, {"fence_all", "do not have the same ranks"}, [&] {
        fence_all all{a, half};
      });
      auto turned = team.split(0, -team.rank());
      auto other = make_window<int>(turned, 1);
      require_error(errc::invalid_argument, {"in the same order"}, [&] { fence_all all{a, other}; });
    }
    auto same = team.split(0);
    auto c = make_window<int>(same, 1);
    {
      pgas::fence open{b};
      require_error(errc::wrong_order, {"fence_all", "another epoch of this rank"}, [&] {
        fence_all all{a, b};
      });
    }
    {
      auto [first, third] = fence_all{a, c};
      first.put(right_of(team), 0, 5);
      third.put(right_of(team), 0, 6);
      require_error(errc::wrong_order, {"another epoch"}, [&] { pgas::fence nested{c}; });
    }
    int const seen = a.local()[0];
    int const third = c.local()[0];
    require(seen == 5 && third == 6, "the refused epochs changed nothing");
  });
}
