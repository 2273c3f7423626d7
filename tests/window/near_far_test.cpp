// SPDX-License-Identifier: BSL-1.0
// Windows whose parts are near or far: ranks of a node share memory, and nodes do not. One machine plays
// several nodes, on which a far put arrives no earlier than at a flush.
#include <type_traits>

#include "support/fake_nodes.hpp"
#include "support/model_lists.hpp"

namespace pgas_test {

using two_a_node = fake::nodes_of<pgas::backends::process_map, 2>;
/// The same, with a wire that delivers puts and control words in order.
using two_in_order = fake::nodes_of<pgas::backends::process_map, 2, true>;
static_assert(pgas::mailbox_backend<two_a_node> && pgas::strided_segment<two_a_node::segment_type>);
static_assert(pgas::partly_shared_segment<two_a_node::segment_type> &&
              !pgas::shared_segment<two_a_node::segment_type>);
static_assert(!pgas::ordered_segment<two_a_node::segment_type> &&
              pgas::ordered_segment<two_in_order::segment_type>);

}  // namespace pgas_test

// The suites run on nodes of two ranks.
#define PGAS_TEST_ONE_BACKEND pgas_test::two_a_node
#define PGAS_TEST_SEGMENTS pgas_test::two_a_node, pgas_test::two_in_order
#include <pgas/array/visit_box.hpp>
#include <pgas/exchange_halos.hpp>

#include "atomics_test.cpp"
#include "conformance/coherence_programs.hpp"
#include "conformance/random_programs.hpp"
#include "conformance/segment.hpp"
#include "epoch_test.cpp"
#include "window_test.cpp"

static_assert(std::is_same_v<pgas_test::all_backends, std::tuple<PGAS_TEST_ONE_BACKEND>>);

namespace pgas_test {
namespace {

using pgas::part_is;

/// The far transfers of this rank since the last call.
template <class Window>
fake::far_calls far_calls_of(Window const& w) {
  return std::exchange(w.state().segment.calls(), {});
}

bool is_near(rank_t a, rank_t b) { return a / 2 == b / 2; }

using both_wires = std::tuple<model<two_a_node>, model<two_in_order>>;
template <class Team>
constexpr bool is_ordered = pgas::ordered_segment<typename Team::backend_type::segment_type>;

/// Runs a program of coherence_programs.hpp on threads, each a node of its own, and returns whether all
/// values were right.
template <class Program, class Protocols, bool Ordered>
bool is_right() {
  std::atomic<bool> right{true};
  pgas::run<fake::nodes_of<pgas::backends::thread_map, 1, Ordered>>(2, [&right](auto& world) {
    auto team = world.template with<pgas::coherence::coherent, Protocols>();
    Program::run(team, coherence_programs::verdict{&right});
  });
  return right;
}
/// Requires that the program gives right values, and wrong ones if its protocols leave out this call.
template <class Program, class Protocols = coherence_programs::forgetful>
void require_needed(coherence_programs::call call) {
  using coherence_programs::forgetting;
  CHECK((is_right<Program, Protocols, false>()));
  CHECK((is_right<Program, Protocols, true>()));
  forgetting const forgets(call);
  CHECK_FALSE((is_right<Program, Protocols, false>()));
  CHECK_FALSE((is_right<Program, Protocols, true>()));
}

}  // namespace

TEST_CASE("random programs give byte-equal values on nodes that share no memory") {
  random_programs::play_on<std::tuple<model<two_in_order>>>();
}

TEST_CASE("near and far: an element of a near part passes the segment by, that of a far part does not") {
  everywhere(
      [](auto& team) {
        constexpr std::size_t share = 5;  // each rank accesses elements of its own on every rank
        std::size_t const first = share * static_cast<std::size_t>(team.rank());
        auto w = pgas::make_window<int>(team, share * static_cast<std::size_t>(team.size()));
        pgas::fence epoch{w};
        far_calls_of(w);
        for (rank_t r = 0; r < team.size(); ++r) {
          auto const target = epoch.to(r);
          require_equal(target.is_near(), is_near(r, team.rank()), "a part is near on this rank's node");
          for (std::size_t i = 1; i < share; ++i) target.put(first + i, 1);
          static_cast<void>(target.get(first));
          static_cast<void>(target.fetch_add(first, 1));
          auto const calls = far_calls_of(w);
          std::size_t const far = target.is_near() ? 0 : 1;
          require_equal(calls.puts, far * (share - 1), "the puts that the segment makes");
          require_equal(calls.gets, far, "the gets that the segment makes");
          require_equal(calls.atomics, far, "the atomic operations that the segment makes");
        }
      },
      {1, 4, 5});
}

TEST_CASE("visit: the type of its view says near or far, and both loops reach the elements") {
  everywhere(
      [](auto& team) {
        auto w = pgas::make_window<int>(team, 8);
        {
          pgas::fence epoch{w};
          far_calls_of(w);
          for (rank_t r = 0; r < team.size(); ++r) {
            auto const place = static_cast<std::size_t>(team.rank());
            bool const near = epoch.visit(r, [&]<class View>(View const& target) {
              static_assert(View::where != part_is::near_or_far);
              target.put(place, team.rank() + 1);
              target.flush();
              require_equal(target.get(place), team.rank() + 1, "an element that was put and flushed");
              static_cast<void>(target.fetch_add(7, 1));
              target.ref(place).store(team.rank() + 2);
              std::array<int, 2> const ones{1, 1};
              target.accumulate(6, std::span<int const>(ones));
              return View::where == part_is::near;
            });
            require_equal(near, is_near(r, team.rank()), "the view's type");
            auto const calls = far_calls_of(w);
            require(near == (calls.puts == 0 && calls.gets == 0 && calls.atomics == 0),
                    "the segment makes no transfer to a near part");
          }
        }
        for (rank_t r = 0; r < team.size(); ++r)
          require_equal(w.local()[static_cast<std::size_t>(r)], r + 2, "what each rank put");
        require_equal(w.local()[6], team.size(), "what all ranks accumulated");
        require_equal(w.local()[7], 2 * team.size(), "what all ranks added");
      },
      {1, 4, 5});
}

TEST_CASE("visit: where all parts are alike, the view is the one that to(rank) returns") {
  pgas::run<pgas::backends::self>(1, [](auto& team) {
    auto w = pgas::make_window<int>(team, 1);
    pgas::fence epoch{w};
    epoch.visit(0, [&]<class View>(View const& target) {
      static_assert(std::is_same_v<View, decltype(epoch.to(0))> && View::where == part_is::near);
      target.put(0, 5);
    });
    require_equal(epoch.get(0, 0), 5, "the element that was put");
  });
}

TEST_CASE("accumulate: single elements by a far rank and blocks by a near rank lose no update") {
  everywhere(
      [](auto& team) {
        constexpr int times = 200000;
        constexpr std::size_t block = 16;
        auto w = pgas::make_window<int>(team, block + 1);  // behind the block, a mark of its end
        int added = 0;
        {
          pgas::lock_all epoch{w};
          auto const target = epoch.to(0);
          team.barrier();
          if (team.rank() == 0) {
            std::array<int, block> ones;
            ones.fill(1);
            for (int i = 0; i < times; ++i) target.accumulate(0, std::span<int const>(ones));
            target.atomic_store(block, 1);
          }
          while (team.rank() == 2 && target.fetch_add(block, 0) == 0) {
            for (std::size_t i = 0; i < block; ++i, ++added) static_cast<void>(target.fetch_add(i, 1));
          }
        }
        added = team.broadcast(added, 2);
        if (team.rank() == 0) {
          for (std::size_t i = 0; i < block; ++i)
            require_equal(w.local()[i], times + added / static_cast<int>(block), "each sum");
        }
      },
      {3});
}

TEST_CASE("part_if_near: it is the part of a rank of this node, and nothing for a rank of another") {
  everywhere(
      [](auto& team) {
        auto w = pgas::make_window<int>(team, static_cast<std::size_t>(team.rank() % 3));
        for (int& element : w.local()) element = team.rank();
        team.barrier();
        for (rank_t r = 0; r < team.size(); ++r) {
          auto const part = w.part_if_near(r);
          require_equal(part.has_value(), is_near(r, team.rank()), "whether the part is near");
          if (!part) continue;
          require_equal(part->size(), static_cast<std::size_t>(r % 3), "the size of the part");
          for (int const& element : *part) {
            require_equal(element, r, "an element of the part");
            require(w.local(w.pointer(r, static_cast<std::size_t>(&element - part->data()))) == &element,
                    "a pointer to a near element becomes its address");
          }
        }
        if (team.size() > 2 && team.rank() == 0) {
          require_error(errc::out_of_range, {"local", "load and store"},
                        [&] { static_cast<void>(w.local(w.pointer(2, 0))); });
        }
        team.barrier();
      },
      {1, 4, 5});
}

TEST_CASE("visit_box: tiles of near ranks are viewed in place, and those of far ranks are copied") {
  everywhere(
      [](auto& team) {
        auto a = pgas::make_array<int>(team, {12, 3});
        {
          auto const own = pgas::stage(a, pgas::write_only);
          for (std::size_t i = 0; i < a.own_box().count[0]; ++i)
            for (std::size_t j = 0; j < 3; ++j)
              own(i, j) = static_cast<int>((a.own_box().first[0] + i) * 3 + j);
        }
        team.barrier();
        pgas::fence epoch{a};
        far_calls_of(a);
        std::size_t seen = 0;
        pgas::visit_box(epoch, pgas::box<2>{{1, 0}, {11, 2}}, [&](auto const& piece, auto const& cells) {
          for (std::size_t i = 0; i < piece.count[0]; ++i) {
            for (std::size_t j = 0; j < piece.count[1]; ++j, ++seen) {
              require_equal(cells(i, j), static_cast<int>((piece.first[0] + i) * 3 + piece.first[1] + j),
                            "a cell");
            }
          }
        });
        require_equal(seen, std::size_t{22}, "the cells that were seen");
        require((far_calls_of(a).gets == 0) == (team.size() <= 2), "far tiles alone are copied");
      },
      {1, 2, 4});
}

TEST_CASE("publish: each one that puts to far parts need is noticed when it is missing") {
  using namespace coherence_programs;
  require_needed<by_fence>(call::fence_publish);
  require_needed<by_post<false>>(call::complete_publish);
  require_needed<by_one_way>(call::complete_publish);
  require_needed<by_lock>(call::unlock_publish);
  require_needed<by_flush<true, false, false>>(call::flush);
  require_needed<by_part_lock<false>, forgetful_parts>(call::part_unlock_publish);
}

TEST_CASE("complete and signal: they wait for no arrival where a segment delivers in order") {
  everywhere<both_wires>(
      [](auto& team) {
        auto w = pgas::make_window<int>(team, 8);
        auto signals = pgas::make_signals(w);
        rank_t const far = (team.rank() + 2) % 4;
        far_calls_of(w);
        for (int round = 1; round <= 20; ++round) {
          {
            pgas::exposure const exposed{w, {far}};
            {
              pgas::access epoch{w, {far}};
              epoch.put(far, 0, round);
              epoch.put_last(far, 1, round);
            }
          }
          require_equal(w.local()[0], round, "an element that was put before complete");
          require_equal(w.local()[1], round, "an element that was put last");
          team.barrier();
        }
        std::size_t const flushes = far_calls_of(w).flushes;
        require(is_ordered<std::remove_reference_t<decltype(team)>> ? flushes == 0 : flushes >= 20,
                "complete flushes where puts and words may overtake each other, and nowhere else");
        {
          pgas::lock_all epoch{w};
          far_calls_of(w);
          for (int round = 1; round <= 20; ++round) {
            signals.put(epoch, far, 2, round);
            signals.wait({far});
            require_equal(w.local()[2], round, "an element that was put with a signal");
            signals.signal(epoch, far);  // the other rank may put again
            signals.wait({far});
          }
          std::size_t const more = far_calls_of(w).flushes;
          require(is_ordered<std::remove_reference_t<decltype(team)>> ? more == 0 : more >= 20,
                  "a signal flushes where puts and words may overtake each other, and nowhere else");
        }
        team.barrier();
        {
          pgas::lock epoch{w, far, pgas::exclusive};
          epoch.put(far, 3, 1);
          far_calls_of(w);
        }
        require(far_calls_of(w).flushes > 0,
                "unlock waits for arrival, since any rank may be the next holder");
      },
      {4});
}

TEST_CASE(
    "exchange_halo: ghost cells are those of near and far neighbours, without a flush on an ordered wire") {
  everywhere<both_wires>(
      [](auto& team) {
        constexpr std::size_t own = 3;
        std::size_t const cells = own * static_cast<std::size_t>(team.size());
        pgas::halo const ring{.width = 1, .edges = pgas::edge::periodic};
        auto a = pgas::make_array<int>(team, cells, ring);
        auto b = pgas::make_array<int>(team, cells, ring);
        auto const cell = [&](std::ptrdiff_t i, int round) {
          auto const all = static_cast<std::ptrdiff_t>(cells);
          return 1000 * round + static_cast<int>((i + all) % all);
        };
        auto const first = static_cast<std::ptrdiff_t>(own) * team.rank();
        far_calls_of(a);
        for (int round = 1; round <= 10; ++round) {
          for (auto const* array : {&a, &b}) {
            auto const mine = pgas::stage(*array, pgas::write_only);
            for (std::ptrdiff_t i = 0; i < std::ptrdiff_t{own}; ++i) mine(i) = cell(first + i, round);
          }
          pgas::exchange_halo(a, b);
          for (auto const* array : {&a, &b}) {
            auto const seen = pgas::stage(*array, pgas::read_only);
            require_equal(seen(-1), cell(first - 1, round), "the ghost cell before");
            require_equal(seen(std::ptrdiff_t{own}), cell(first + std::ptrdiff_t{own}, round),
                          "the ghost cell behind");
          }
          pgas::exchange_halo(a);
        }
        auto const calls = far_calls_of(a);
        require_equal(calls.puts, std::size_t{30} * (team.size() == 3 && team.rank() == 2 ? 2 : 1),
                      "the ghost cells of far neighbours that the segment puts");
        require_equal(calls.flushes == 0, is_ordered<std::remove_reference_t<decltype(team)>>,
                      "no flush where a segment delivers in order");
      },
      {3, 4});
}

TEST_CASE("fence: a rank that learns of it from a near rank finds puts to far ranks") {
  everywhere<both_wires>(
      [](auto& team) {
        auto w = pgas::make_window<int>(team, 4);
        for (int round = 1; round <= 20; ++round) {
          {
            pgas::fence epoch{w};
            for (rank_t r = 0; r < team.size(); ++r)
              epoch.put(r, static_cast<std::size_t>(team.rank()), round);
          }
          pgas::fence epoch{w};
          for (rank_t r = 0; r < team.size(); ++r) {
            for (std::size_t origin = 0; origin < static_cast<std::size_t>(team.size()); ++origin)
              require_equal(epoch.get(r, origin), round, "an element on any rank");
          }
        }
      },
      {3, 4});
}

TEST_CASE("barrier and signal: a third rank finds a put to a far part after its flush, and not before") {
  everywhere<both_wires>(
      [](auto& team) {
        auto w = pgas::make_window<int>(team, 2);
        auto signals = pgas::make_signals(w);
        pgas::lock_all epoch{w};
        if (team.rank() == 0) {
          epoch.put(2, 0, 1);
          signals.signal(epoch, 1);  // tells rank 1 of its own part, not of that of rank 2
          signals.wait({1});
          epoch.flush(2);
          signals.signal(epoch, 1);
          signals.wait({1});
        } else if (team.rank() == 1) {
          signals.wait({0});
          require_equal(epoch.get(2, 0), 0, "the put is under way");
          signals.signal(epoch, 0);
          signals.wait({0});
          require_equal(epoch.get(2, 0), 1, "the put has arrived");
          signals.signal(epoch, 0);
        }
        team.barrier();
        if (team.rank() == 0) epoch.put(2, 1, 1);
        team.barrier();
        if (team.rank() == 1) require_equal(epoch.get(2, 1), 0, "a barrier makes no put arrive");
        team.barrier();
        if (team.rank() == 0) epoch.flush(2);
        team.barrier();
        require_equal(epoch.get(2, 1), 1, "a put that was flushed before a barrier");
      },
      {3});
}

}  // namespace pgas_test
