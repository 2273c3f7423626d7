// SPDX-License-Identifier: BSL-1.0
// Pieces that a rank allocates alone and other ranks reach by handles; the cache of their places; errors.
// test: unit distributions
#include <algorithm>
#include <optional>
#include <pgas/heap.hpp>
#include <vector>

#include "support/ranks.hpp"

using namespace pgas_test;
using pgas::make_heap;
using pgas::make_window;
using pgas::opened_piece;
using pgas::piece_handle;

namespace {

// Entries reached by loads, by messages, and past incoherent caches.
using heap_models = std::tuple<process_model, loopback_model, scc_model>;

struct node {
  int value = 0;
  piece_handle next;
};

std::string me(auto& team, std::string const& operation) {
  return "rank " + std::to_string(team.rank()) + ": " + operation + ": ";
}

}  // namespace

TEST_CASE("heap: every rank walks a list whose nodes each rank made alone") {
  everywhere<heap_models>([](auto& team) {
    constexpr int each = 4;
    auto heap = make_heap<node>(team, 20);
    rank_t const n = team.size();
    std::vector<piece_handle> mine;
    for (int i = 0; i < each; ++i) mine.push_back(heap.make(2).release());  // its second element is the value
    auto roots = make_window<piece_handle>(team, each);
    {
      pgas::fence epoch{roots};
      for (std::size_t i = 0; i < each; ++i) epoch.put((team.rank() + n - 1) % n, i, mine[i]);  // to the left
    }
    {
      pgas::fence epoch{heap.window()};
      for (std::size_t i = 0; i < each;
           ++i) {  // node i of this rank, node i of the next, ..., node i + 1 of the first
        piece_handle const next = roots.local()[team.rank() + 1 < n ? i : (i + 1) % each];
        epoch.put(heap.open(mine[i]), 1, node{team.rank() + n * static_cast<int>(i), next});
      }
    }
    pgas::lock_all epoch{heap.window()};
    auto at = team.broadcast(mine[0]);
    for (int i = 0; i < n * each; ++i) {
      opened_piece const p = heap.open(at);
      node const here = epoch.get(p, 1);
      require(p.count == 2 && here.value == i, "the list has the nodes in their order");
      at = here.next;
    }
    require(at == team.broadcast(mine[0]), "the last node names the first one");
    std::vector<node> both(2);
    opened_piece const first = heap.open(mine[0]);
    epoch.get(first, 0, both);
    epoch.flush_local(first.rank);
    require_equal(both[1].value, static_cast<int>(team.rank()), "the second element of the piece");
    require_error(errc::out_of_range, {"get", "1 elements do not fit at 2 in a piece of 2"},
                  [&] { static_cast<void>(epoch.get(first, 2)); });
    require_error(errc::out_of_range, {"put", "2 elements do not fit at 1"},
                  [&] { epoch.put(first, 1, both); });
    epoch.close();
    team.barrier();
  });
}

TEST_CASE("heap: a freed piece is gone on every rank, also when its place is remembered and used again") {
  everywhere<heap_models>([](auto& team) {
    auto heap = make_heap<int>(team, 10, {.pieces = 2, .cached = 10});
    rank_t const n = team.size();
    std::optional mine(heap.make(10));
    auto const all = team.all_gather(mine->handle());
    for (rank_t r = 0; r < n; ++r) {
      require(heap.open(all[static_cast<std::size_t>(r)]) == opened_piece{r, 0, 10},
              "a piece lies at its place");
      require(heap.open(all[static_cast<std::size_t>(r)]) == opened_piece{r, 0, 10},
              "a remembered place is unchanged");
    }
    team.barrier();
    mine.reset();
    auto const again = heap.make(7);  // in the same place
    team.barrier();
    for (rank_t r = 0; r < n; ++r) {
      require_error(errc::gone, {me(team, "open"), "piece 1 of rank " + std::to_string(r) + " is gone"},
                    [&] { static_cast<void>(heap.open(all[static_cast<std::size_t>(r)])); });
    }
    auto const second = team.all_gather(again.handle());
    for (rank_t r = 0; r < n; ++r) {
      require(heap.open(second[static_cast<std::size_t>(r)]) == opened_piece{r, 0, 7},
              "the new piece lies at the place of the freed one");
    }
    team.barrier();
  });
}

TEST_CASE("heap: a rank reopens a piece without asking, up to a limit, until the owner frees a piece") {
  everywhere<heap_models>(
      [](auto& team) {
        auto heap = make_heap<int>(team, 100, {.pieces = 50, .cached = 2});
        std::vector<decltype(heap.make(1))> mine;
        std::vector<std::vector<piece_handle>> all(3);
        for (auto& handles : all) {
          mine.push_back(heap.make(5));
          handles = team.all_gather(mine.back().handle());
        }
        auto const right = static_cast<std::size_t>((team.rank() + 1) % team.size());
        auto const left = static_cast<std::size_t>((team.rank() + team.size() - 1) % team.size());
        auto const expect = [&](std::uint64_t hits, std::uint64_t misses, std::uint64_t evictions,
                                std::uint64_t invalidations) {
          auto const is = heap.cache_counts();
          require_equal(is.hits, hits, "hits");
          require_equal(is.misses, misses, "misses");
          require_equal(is.evictions, evictions, "evictions");
          require_equal(is.invalidations, invalidations, "invalidations");
        };
        auto const open = [&](std::size_t piece, std::size_t rank) {
          require(heap.open(all[piece][rank]) == opened_piece{static_cast<rank_t>(rank), 5 * piece, 5},
                  "the opened piece lies at its place");
        };
        open(0, static_cast<std::size_t>(team.rank()));
        expect(0, 0, 0, 0);  // own pieces are found without asking
        open(0, right), open(1, left), open(0, right);
        expect(1, 2, 0, 0);
        open(2, left);  // piece 1 of the left rank is forgotten to make room
        expect(1, 3, 1, 0);
        open(0, right);
        expect(2, 3, 1, 0);
        open(1, left);  // and now piece 2
        expect(2, 4, 2, 0);
        team.barrier();
        if (static_cast<rank_t>(left) == 0) {  // this is rank 1: it frees a piece that no rank remembers
          mine.pop_back();
        }
        team.barrier();
        bool const remembers_rank_1 = right == 1 || left == 1;
        open(0, right), open(1, left);
        expect(remembers_rank_1 ? 3 : 4, remembers_rank_1 ? 5 : 4, 2, remembers_rank_1 ? 1 : 0);
        open(0, right), open(1, left);
        expect(remembers_rank_1 ? 5 : 6, remembers_rank_1 ? 5 : 4, 2, remembers_rank_1 ? 1 : 0);
        team.barrier();

        auto without = make_heap<int>(team, 10, {.pieces = 1, .cached = 0});
        auto const own = without.make(3);
        auto const others = team.all_gather(own.handle());
        for (int i = 0; i < 3; ++i) static_cast<void>(without.open(others[right]));
        require_equal(without.cache_counts().misses, 3U, "misses of no cache");
        require_equal(without.cache_counts().hits, 0U, "hits of no cache");
        team.barrier();
      },
      {3, 4});
}

TEST_CASE("heap: live pieces never overlap, and all freed space can be allocated as one piece") {
  std::uint64_t const seed = next_seed();
  everywhere<std::tuple<process_model>>(
      [seed](auto& team) {
        constexpr std::size_t size = 500;
        auto heap = make_heap<char>(team, size, {.pieces = 40});
        random_source rng(static_cast<std::uint64_t>(team.rank()) + seed);
        std::vector<decltype(heap.make(1))> live;
        std::vector<bool> taken(size);
        auto const mark = [&](opened_piece p, bool to) {
          for (std::size_t i = p.first; i < p.first + p.count; ++i) {
            require(taken[i] != to, "an element has one piece, or none");
            taken[i] = to;
          }
        };
        for (int step = 0; step < 2000; ++step) {
          if (live.empty() || (live.size() < 40 && rng.one_in(2))) {
            try {
              live.push_back(heap.make(1 + rng.below(30)));
              mark(live.back().where(), true);
            } catch (pgas::error const& e) {
              require(e.code() == pgas::make_error_code(errc::no_space), "no gap is large enough");
            }
          } else {
            auto& gone = live[rng.below(live.size())];
            mark(gone.where(), false);
            std::swap(gone, live.back());
            live.pop_back();
          }
        }
        live.clear();
        require(heap.make(size).where() == opened_piece{team.rank(), 0, size},
                "all freed space makes one piece");
        team.barrier();
      },
      {2});
}

TEST_CASE(
    "heap: opening a handle while its owner frees and makes pieces finds that very piece, or reports it "
    "gone") {
  auto const body = [](auto& team, std::uint64_t pieces) {
    auto const count_of = [](std::uint64_t number) { return number % 97 + 1; };
    auto heap =
        make_heap<char>(team, 97, {.pieces = 1, .cached = 0});  // one entry, used by each piece in turn
    auto sent = make_window<piece_handle>(team, 1);
    pgas::lock_all epoch{sent};
    if (team.rank() == 0) {
      for (std::uint64_t i = 1; i <= pieces; ++i) {
        auto const made = heap.make(count_of(i));
        if (i % 8 == 0) epoch.atomic_store(0, 0, made.handle());
      }
    } else {
      piece_handle h;
      while (h.number < pieces) {
        h = epoch.atomic_load(0, 0);
        try {
          for (int again = 0; h && again < 100; ++again)
            require(heap.open(h) == opened_piece{0, 0, count_of(h.number)},
                    "the place is that of the named piece");
        } catch (pgas::error const& e) {
          require(e.code() == pgas::make_error_code(errc::gone), "a piece that is not found is gone");
        }
      }
    }
    epoch.close();
    team.barrier();
  };
  everywhere<std::tuple<process_model>>([&](auto& team) { body(team, 200'000); }, {2, 3});
  everywhere<std::tuple<loopback_model>>([&](auto& team) { body(team, 400); }, {2, 3});
}

TEST_CASE("heap: pieces that do not fit and handles that name nothing are refused with numbers and rank") {
  everywhere<heap_models>(
      [](auto& team) {
        auto heap = make_heap<int>(team, 20, {.pieces = 3});
        auto const first = heap.make(6);
        std::optional second(heap.make(8));
        auto const third = heap.make(5);
        auto const refused = [&](errc code, std::string const& operation,
                                 std::initializer_list<std::string> pieces, auto&& act) {
          require_error(code, {me(team, operation)}, act);
          require_error(code, pieces, act);
        };
        refused(errc::no_space, "make_piece", {"this rank has 3 pieces", "larger limit"},
                [&] { static_cast<void>(heap.make(1)); });
        piece_handle const old = second->handle();
        second.reset();
        refused(errc::no_space, "make_piece",
                {"9 elements do not fit", "largest gap of this rank's 20 has 8"},
                [&] { static_cast<void>(heap.make(9)); });
        refused(errc::no_space, "make_piece", {"elements do not fit"},
                [&] { static_cast<void>(heap.make(~std::size_t{0})); });
        refused(errc::invalid_argument, "make_piece", {"at least one element"},
                [&] { static_cast<void>(heap.make(0)); });
        refused(errc::gone, "free", {"piece 2 of rank"}, [&] { heap.free(old); });
        refused(errc::invalid_argument, "open", {"names no piece"},
                [&] { static_cast<void>(heap.open({})); });
        auto other = make_heap<int>(team, 1);
        refused(errc::invalid_argument, "open", {"is of heap ", "but this is heap "},
                [&] { static_cast<void>(other.open(first.handle())); });
        for (auto const& [rank, entry] : {std::pair<rank_t, unsigned>{team.size(), 0}, {-1, 0}, {0, 3}}) {
          piece_handle damaged = first.handle();
          damaged.rank = rank;
          damaged.entry = entry;
          refused(
              errc::invalid_argument, "open",
              {"damaged", "entry " + std::to_string(entry) + " of rank " + std::to_string(rank), "3 entries"},
              [&] { static_cast<void>(heap.open(damaged)); });
        }
        auto const all = team.all_gather(first.handle());
        rank_t const right = (team.rank() + 1) % team.size();
        if (right != team.rank()) {
          refused(errc::invalid_argument, "free",
                  {"of rank " + std::to_string(right) + " can be freed by that rank"},
                  [&] { heap.free(all[static_cast<std::size_t>(right)]); });
        }
        if (team.size() > 1) {
          refused(errc::mismatch, "make_heap", {"pieces and rank 0 for 4", "must ask for the same"}, [&] {
            static_cast<void>(make_heap<int>(team, 1, {.pieces = team.rank() == 1 ? 5U : 4U}));
          });
        }
        team.barrier();
      },
      {1, 3});
}
