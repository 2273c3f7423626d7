// SPDX-License-Identifier: BSL-1.0
// Handles of arrays: stored in arrays, sent, and opened by other ranks; also the errors when a handle cannot
// be opened.
// test: unit distributions
#include <optional>
#include <pgas/directory.hpp>
#include <pgas/global_array.hpp>
#include <vector>

#include "support/ranks.hpp"

using namespace pgas_test;
using pgas::array_handle;
using pgas::make_array;
using pgas::make_directory;
using pgas::make_window;
using pgas::open_array;
using pgas::when_entered;

namespace {

// A replica is private to its rank; backends differ in how handles travel.
using handle_models = std::tuple<process_model, scc_model>;

std::string me(auto& team) { return "rank " + std::to_string(team.rank()) + ": open_array: "; }

}  // namespace

TEST_CASE("directory: a handle that another rank put into an array opens the array that it names") {
  everywhere<handle_models>([](auto& team) {
    constexpr std::size_t each = 3;
    auto live = make_directory(team);
    auto const make = [&](std::size_t i) { return live.enter(make_array<int>(team, 10 + i)); };
    std::vector<decltype(make(0))> arrays;
    rank_t const n = team.size();
    std::size_t const all = each * static_cast<std::size_t>(n);
    for (std::size_t i = 0; i < all; ++i) arrays.push_back(make(i));
    using array_type = std::remove_cvref_t<decltype(*arrays[0])>;

    auto named = make_array<array_handle>(team, all);
    {  // each rank names the arrays that the rank to its right shall fill
      pgas::fence epoch{named};
      rank_t const to = (team.rank() + 1) % n;
      for (std::size_t i = 0; i < each; ++i) {
        std::size_t const which = static_cast<std::size_t>(team.rank()) * each + i;
        epoch[named.at(static_cast<std::size_t>(to) * each + i)].store(arrays[which].handle());
      }
    }
    for (std::size_t i = 0; i < each; ++i) {
      array_handle const h = named.local()[i];
      auto const opened = open_array<array_type>(live, h);
      auto const from = static_cast<std::size_t>((team.rank() + n - 1) % n);
      require_equal(opened->extent(0), 10 + from * each + i, "the array that was named");
      std::vector<int> const values(opened->size(), team.rank() + 1);
      pgas::lock_all epoch{*opened};
      epoch.put(0, std::span<int const>(values));
    }
    team.barrier();
    for (std::size_t i = 0; i < all; ++i) {
      pgas::lock_all epoch{*arrays[i]};
      epoch.sync();
      int const filler = static_cast<int>((i / each + 1) % static_cast<std::size_t>(n)) + 1;
      for (int const cell : arrays[i]->local())
        require_equal(cell, filler, "a cell that its rank has filled");
    }
    team.barrier();
  });
}

TEST_CASE("directory: the old handle of an array that was removed opens nothing, also after later entries") {
  everywhere<handle_models>([](auto& team) {
    auto live = make_directory(team);
    auto const make = [&] { return live.enter(make_window<double>(team, 4)); };
    using listed_type = decltype(make());
    using window_type = std::remove_cvref_t<decltype(*make())>;
    static_cast<void>(make());
    require_equal(live.size(), 0U, "an array without a handle is removed at once");
    std::optional<listed_type> first(make());
    auto second = make();
    array_handle const old = first->handle();
    auto const held = open_array<window_type>(live, old);
    if (team.rank() == 0)
      first.reset();  // in different orders: rank 0 removes it before the third array is entered
    auto third = make();
    first.reset();
    require_error(errc::gone, {me(team), "array 2 has left", "of 4 that were entered 2 are here"},
                  [&] { static_cast<void>(open_array<window_type>(live, old)); });
    require(third.handle() != old, "no number is used again");
    require(open_array<window_type>(live, third.handle()).get() == &*third,
            "the third handle opens the third window");
    second = std::move(third);
    require_equal(live.size(), 2U, "two arrays after a move assignment, which exchanges");
    {  // a view may be used as long as it is held
      pgas::fence epoch{*held};
      epoch.put((team.rank() + 1) % team.size(), 1, 2.5);
    }
    require_equal(static_cast<double>(held->local()[1]), 2.5, "the value put into a removed array");
    std::vector<listed_type> many;
    for (int i = 0; i < 20; ++i) many.push_back(make());
    require_equal(live.size(), 22U, "the arrays that are entered");
    many.clear();
    require_equal(live.size(), 2U, "the arrays after twenty have left");
  });
}

TEST_CASE(
    "directory: a handle that arrives before its array was entered is parked, and opens the array "
    "afterwards") {
  everywhere<handle_models>(
      [](auto& team) {
        auto live = make_directory(team);
        auto named = make_window<array_handle>(team, 1);
        auto array = make_array<int>(team, 7);
        using array_type = decltype(array);
        std::optional<pgas::listed<array_type>> entered;
        auto const enter = [&] { entered.emplace(live.enter(std::move(array))); };
        if (team.rank() == 0) enter();
        {
          pgas::fence epoch{named};
          if (team.rank() == 0) {
            for (rank_t r = 0; r < team.size(); ++r) epoch.put(r, 0, entered->handle());
          }
        }
        array_handle const h = named.local()[0];
        std::vector<std::size_t> seen;
        auto const use = [&](array_type& a) { seen.push_back(a.extent(0) + seen.size()); };
        if (team.rank() == 0) {
          require(when_entered<array_type>(live, h, use), "the array is in this replica");
        } else {
          require_error(errc::wrong_order,
                        {me(team), "array 1 has not been entered on this rank, which has entered 0"},
                        [&] { static_cast<void>(open_array<array_type>(live, h)); });
          require(!when_entered<array_type>(live, h, use) && !when_entered<array_type>(live, h, use),
                  "the array is not in this replica yet");
          require(live.parked() == 2 && seen.empty(), "two calls are parked and none has run");
          enter();
          require(seen == std::vector<std::size_t>{7, 8}, "each parked call runs once, in order");
          require_equal(live.parked(), 0U, "parked");
          seen.clear();
          require(when_entered<array_type>(live, h, use), "the array is in this replica after enter");
        }
        require(seen == std::vector<std::size_t>{7}, "the call runs at once");
      },
      {1, 3});
}

TEST_CASE(
    "directory: empty handles, handles of another team or type, and arrays entered in another order are "
    "refused") {
  everywhere<handle_models>(
      [](auto& team) {
        auto live = make_directory(team);
        auto numbers = live.enter(make_array<int>(team, 5));
        auto window = live.enter(make_window<int>(team, 5));
        using array_type = std::remove_cvref_t<decltype(*numbers)>;
        using window_type = std::remove_cvref_t<decltype(*window)>;
        auto const refused = [&](errc code, std::initializer_list<std::string> pieces,
                                 pgas::directory const& in, array_handle h) {
          require_error(code, pieces, [&] { static_cast<void>(open_array<array_type>(in, h)); });
        };
        refused(errc::invalid_argument, {me(team), "names no array"}, live, {});
        refused(errc::mismatch, {me(team), "array 2 is a window of 4-byte elements (window ", "another type"},
                live, window.handle());
        require_error(errc::mismatch, {me(team), "array 1 is an array of 5 4-byte elements"},
                      [&] { static_cast<void>(open_array<window_type>(live, numbers.handle())); });

        auto half = team.split(team.rank() % 2);
        auto others = make_directory(half);
        auto theirs = others.enter(make_array<int>(half, 5));
        std::string const leader = "of the team that rank " + std::to_string(team.rank() % 2) + " leads";
        refused(errc::invalid_argument,
                {me(team), "array 1 was entered into directory ", leader, "rank 0 leads"}, live,
                theirs.handle());
        auto again = make_directory(team);
        refused(errc::invalid_argument, {me(team), "rank 0 leads"}, again, numbers.handle());

        auto small = make_array<int>(team, 3);
        auto large = make_array<int>(team, 4);
        bool const wrong = team.rank() == 1;
        auto one = again.enter(std::move(wrong ? large : small));
        auto two = again.enter(std::move(wrong ? small : large));
        array_handle const h = team.broadcast(one.handle());
        if (wrong) {
          refused(errc::mismatch, {me(team), "array 1 is an array of 4 4-byte elements", "in one order"},
                  again, h);
        } else {
          require_equal(open_array<array_type>(again, h)->extent(0), 3U, "the value in the small array");
        }
        bool threw = false;
        array_handle next = window.handle();  // parked as a type that the array will not have
        next.number = 3;
        static_cast<void>(when_entered<window_type>(live, next, [](window_type&) {}));
        try {
          auto third = live.enter(make_array<int>(team, 5));
        } catch (pgas::error const&) {
          threw = true;
        }
        require(threw && live.size() == 2, "a parked action may throw, and nothing is left");
        team.barrier();
      },
      {2, 3});
}
