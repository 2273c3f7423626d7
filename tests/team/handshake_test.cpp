// SPDX-License-Identifier: BSL-1.0
// A collective creation succeeds on all ranks, or is refused on all ranks with one reason.
// test: addresses, threads in full, each way, unit window
#include <pgas/directory.hpp>
#include <pgas/global_array.hpp>
#include <pgas/heap.hpp>
#include <pgas/signals.hpp>
#include <pgas/user_window.hpp>

#include "support/ranks.hpp"
#include "support/scarce.hpp"

using namespace pgas_test;
using pgas::make_window;

namespace {

template <class Model>
using scarce_model = model<scarce<typename Model::backend>>;

// Memory in one place, messages, memory behind caches, and copies.
using scarce_models = std::tuple<scarce_model<process_model>, scarce_model<loopback_model>,
                                 scarce_model<scc_model>, scarce_model<write_back_model>>;

/// Calls make(team) with each rank in turn out of memory at each step, and requires errc::no_space on all
/// ranks. Calls it again with enough memory, and requires that the ranks still agree.
template <class Make>
void refused_on_all_ranks(std::string const& operation, std::initializer_list<memory_step> steps,
                          Make const& make, int after = 0) {
  everywhere<scarce_models>(
      [&](auto& team) {
        auto& backend = team.state()->backend;
        for (memory_step const step : steps) {
          bool const reserves = step == memory_step::reserve_segment || step == memory_step::reserve_control;
          for (rank_t who = 0; who < (reserves ? 1 : team.size()); ++who) {
            backend.lack = {step, who, after};
            // One rank, then the operation, then the cause with the rank that met it.
            std::string const other = who == team.rank() ? "" : "on rank " + std::to_string(who) + ": ";
            std::string const last = other + "rank " + std::to_string(who) + " has no more";
            require_error(errc::no_space,
                          {"rank " + std::to_string(team.rank()) + ": " + operation + ": " + last},
                          [&] { make(team); });
            backend.lack = {};
            make(team);
            require_equal(team.all_reduce(1), team.size(), "ranks that go on");
          }
        }
      },
      {1, 2, 3, 5});
}

constexpr std::initializer_list<memory_step> control_steps{memory_step::reserve_control,
                                                           memory_step::attach_control};
constexpr std::initializer_list<memory_step> all_steps{
    memory_step::reserve_segment, memory_step::attach_segment, memory_step::reserve_control,
    memory_step::attach_control};

}  // namespace

TEST_CASE(
    "a window that does not fit into one rank's memory is refused on every rank, and the team works on") {
  refused_on_all_ranks("make_window", all_steps, [](auto& team) {
    auto w = make_window<int>(team, 3);
    pgas::fence epoch{w};
    epoch.put((team.rank() + 1) % team.size(), 1, 7);
    epoch.close();
    require_equal(static_cast<int>(w.local()[1]), 7, "the value put");
  });
}

TEST_CASE("a split that does not fit into one rank's memory is refused on every rank, also of other colors") {
  refused_on_all_ranks("split", control_steps, [](auto& team) {
    auto half = team.split(team.rank() % 2);
    require_equal(half.all_reduce(1), (team.size() + 1 - team.rank() % 2) / 2, "ranks of a color");
  });
}

TEST_CASE("signals that do not fit into one rank's memory are refused on every rank") {
  refused_on_all_ranks(
      "make_signals", control_steps,
      [](auto& team) {
        auto w = make_window<int>(team, 1);
        auto s = make_signals(w);
        pgas::lock_all epoch{w};
        s.signal(epoch, (team.rank() + 1) % team.size());
        s.wait({(team.rank() + team.size() - 1) % team.size()});
      },
      1);  // the words of the window exist
}

TEST_CASE("a heap that does not fit into one rank's memory is refused on every rank") {
  auto const make = [](auto& team) {
    auto heap = pgas::make_heap<int>(team, 4, {.pieces = 2});
    auto const piece = heap.make(1);
    require_equal(heap.open(piece.handle()).count, 1U, "elements of a piece");
    team.barrier();
  };
  refused_on_all_ranks("make_window", all_steps, make);
  refused_on_all_ranks("make_window", all_steps, make, 1);    // its table
  refused_on_all_ranks("make_heap", control_steps, make, 2);  // its notices
}

TEST_CASE("a window over own memory is refused on every rank if one rank lacks memory for it") {
  using user_models = std::tuple<scarce_model<process_model>>;
  everywhere<user_models>(
      [](auto& team) {
        auto& backend = team.state()->backend;
        std::vector<int> mine(4);
        for (pgas::reach const how : {pgas::reach::in_place_or_copies, pgas::reach::copies}) {
          for (memory_step const step : all_steps) {
            bool const in_segment =
                step == memory_step::reserve_segment || step == memory_step::attach_segment;
            if (in_segment && how != pgas::reach::copies)
              continue;  // only copies take a segment of their own
            backend.lack = {step, 0, 0};
            require_error(errc::no_space, {"make_window: ", "rank 0 has no more"},
                          [&] { static_cast<void>(make_window<int>(team, std::span<int>(mine), how)); });
            backend.lack = {};
            auto w = make_window<int>(team, std::span<int>(mine), how);
            pgas::fence epoch{w};
            epoch.put((team.rank() + 1) % team.size(), 1, 7);
            epoch.close();
            require_equal(mine[1], 7, "the value put");
          }
        }
      },
      {1, 2, 3});
}

TEST_CASE(
    "a window of many ranks has parts of any sizes, and is refused on all of them for a reason of one") {
  everywhere<std::tuple<scarce_model<process_model>>>(
      [](auto& team) {
        rank_t const last = team.size() - 1;
        auto const size_of = [](rank_t rank) { return static_cast<std::size_t>(rank % 3); };
        auto w = make_window<int>(team, size_of(team.rank()));
        for (rank_t r = 0; r < team.size(); ++r) require_equal(w.size(r), size_of(r), "the size of a part");
        auto const even = make_window<int>(team, 5);
        for (rank_t r = 0; r < team.size(); ++r) require_equal(even.size(r), 5U, "the size of an equal part");

        std::string const who = "rank " + std::to_string(last);
        require_error(errc::mismatch, {who + " makes a window of 2-byte", "rank 0 one of 4-byte"}, [&] {
          if (team.rank() == last) {
            static_cast<void>(make_window<short>(team, 5));
          } else {
            static_cast<void>(make_window<int>(team, 5));
          }
        });
        auto const tags = static_cast<std::size_t>(team.rank() == last ? 2 : 1);
        require_error(errc::mismatch, {who + " asks for 2 tags and rank 0 for 1"},
                      [&] { static_cast<void>(make_signals(w, tags)); });
        auto const rows = static_cast<std::size_t>(team.rank() == last ? 41 : 40);
        require_error(errc::mismatch, {who + " makes an array of 41 x 2", "rank 0 one of 40 x 2"}, [&] {
          static_cast<void>(pgas::make_array<int>(team, {rows, std::size_t{2}}));
        });

        auto& backend = team.state()->backend;
        for (memory_step const step : all_steps) {
          bool const attaches = step == memory_step::attach_segment || step == memory_step::attach_control;
          backend.lack = {step, attaches ? last : 0, 0};
          require_error(errc::no_space, {"make_window: ", "has no more"},
                        [&] { static_cast<void>(make_window<int>(team, 1)); });
          backend.lack = {};
        }
        auto const third = team.split(team.rank() % 3);
        require_equal(third.all_reduce(1), (team.size() + 2 - team.rank() % 3) / 3, "ranks of a color");
        auto const some = team.split(team.rank() < 2 ? std::nullopt : std::optional(0));
        require_equal(some.has_value(), team.rank() >= 2, "whether a rank is in the team");
        if (some) require_equal(some->all_reduce(1), team.size() - 2, "ranks that are in");
      },
      {5, 16, 17, 33});
}

TEST_CASE("a rank that learns of another's failure says its own operation, then who failed in what") {
  std::string learned;
  std::string const place =
      " (handshake_test.cpp:" + std::to_string(std::source_location::current().line() + 4) + ")";
  try {
    pgas::run<pgas::backends::thread_map>(2, [&](auto& team) {
      // In an epoch the guard would first say that rank 1 left it.
      if (team.rank() == 1) static_cast<void>(team.locality_of(7));  // 4 lines below `place`
      try {
        team.barrier();
      } catch (pgas::error const& e) {
        learned = e.what();
        throw;
      }
    });
    FAIL("the error of rank 1 is lost");
  } catch (pgas::error const& e) {
    CHECK(std::string(e.what()) ==
          "rank 1: locality_of: rank 7 does not exist in a team of 2" + place + ": out of range");
  }
  CHECK(learned == "rank 0: barrier: rank 1 failed: locality_of: rank 7 does not exist in a team of 2" +
                       place + ": out of range");
}

TEST_CASE("if ranks ask for different things, every rank learns which rank asks for which") {
  everywhere(
      [](auto& team) {
        auto const odd = static_cast<std::size_t>(team.rank() == 1);
        std::string const self = "rank " + std::to_string(team.rank()) + ": ";
        require_error(errc::mismatch, {self + "make_window", "rank 1 makes a window of 8-byte elements"},
                      [&] {
                        odd != 0 ? static_cast<void>(make_window<double>(team, 1))
                                 : static_cast<void>(make_window<int>(team, 1));
                      });
        auto w = make_window<int>(team, 1);
        require_error(errc::mismatch, {self + "make_signals", "rank 1 asks for 4 tags and rank 0 for 3"},
                      [&] { static_cast<void>(make_signals(w, 3 + odd)); });
        require_error(errc::mismatch, {self + "make_heap", "rank 1 asks for 4 pieces and rank 0 for 3"},
                      [&] { static_cast<void>(pgas::make_heap<int>(team, 1, {.pieces = 3 + odd})); });
        team.barrier();
      },
      {2, 3});
}

TEST_CASE("if policies of ranks differ only in their parameters, every rank learns that they differ") {
  everywhere<std::tuple<process_model, loopback_model>>(
      [](auto& team) {
        auto const make = [&]<std::size_t places>(std::integral_constant<std::size_t, places>) {
          using bundle =
              pgas::protocols<pgas::default_fence, pgas::sync::match_list<places>, pgas::sync::queued>;
          static_cast<void>(make_window<int>(team.template with<pgas::coherence::coherent, bundle>(), 1));
        };
        constexpr std::integral_constant<std::size_t, 4> four;
        constexpr std::integral_constant<std::size_t, 8> eight;
        std::string const self = "rank " + std::to_string(team.rank()) + ": ";
        require_error(errc::mismatch, {self + "make_window", "match_list", "differ in their parameters"},
                      [&] { team.rank() == 1 ? make(eight) : make(four); });
        make(four);
        team.barrier();
      },
      {2, 3});
}
