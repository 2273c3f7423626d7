// SPDX-License-Identifier: BSL-1.0
// Memory of a rank for arrays and windows, as a function of the number of ranks. The tests count the bytes of
// allocations for 2 to 4096 ranks, without running them.
#include <doctest/doctest.h>

#include <bit>
#include <cstdlib>
#include <memory>
#include <new>
#include <pgas/array/halo_plan.hpp>
#include <pgas/array/shape.hpp>
#include <pgas/detail/team/open_epochs.hpp>
#include <pgas/distributions/block_cyclic.hpp>
#include <pgas/distributions/cyclic.hpp>
#include <pgas/layouts/cyclic_tiles.hpp>
#include <pgas/sync/bakery.hpp>
#include <pgas/sync/biased.hpp>
#include <pgas/sync/central_counter.hpp>
#include <pgas/sync/dissemination.hpp>
#include <pgas/sync/lock_messages.hpp>
#include <pgas/sync/mailed_locks.hpp>
#include <pgas/sync/mailed_posts.hpp>
#include <pgas/sync/master_slave.hpp>
#include <pgas/sync/match_list.hpp>
#include <pgas/sync/match_vector.hpp>
#include <pgas/sync/mcs.hpp>
#include <pgas/sync/mcs_wp.hpp>
#include <pgas/sync/post_array.hpp>
#include <pgas/sync/post_messages.hpp>
#include <pgas/sync/queued.hpp>
#include <pgas/sync/shared_only.hpp>
#include <pgas/sync/stamped.hpp>
#include <pgas/sync/tournament.hpp>
#include <pgas/sync/two_level.hpp>
#include <pgas/sync/two_vectors.hpp>
#include <string>

namespace {

std::size_t in_use = 0;  ///< bytes
std::size_t at_most = 0;
bool refuses = false;  ///< whether there is no more memory

constexpr std::size_t header = alignof(std::max_align_t);  // before each allocation: its size

}  // namespace

void* operator new(std::size_t bytes) {
  auto* const memory = refuses ? nullptr : static_cast<std::size_t*>(std::malloc(bytes + header));
  if (memory == nullptr) throw std::bad_alloc();
  *memory = bytes;
  in_use += bytes;
  at_most = std::max(at_most, in_use);
  return reinterpret_cast<std::byte*>(memory) + header;
}
void operator delete(void* p) noexcept {
  if (p == nullptr) return;
  auto* const memory = reinterpret_cast<std::size_t*>(static_cast<std::byte*>(p) - header);
  in_use -= *memory;
  std::free(memory);
}
void operator delete(void* p, std::size_t) noexcept { operator delete(p); }

namespace {

using namespace pgas;

struct memory {
  std::size_t kept = 0;     // bytes while the made object lives
  std::size_t at_most = 0;  // bytes while it is made
};

/// The bytes that make() allocates, apart from the object itself.
template <class Make>
memory memory_of(Make const& make) {
  std::size_t const before = in_use;
  at_most = in_use;
  [[maybe_unused]] auto const made = make();
  return {in_use - before, at_most - before};
}

/// Calls check(ranks) for 2, 4, ..., 4096.
template <class Check>
void for_ranks(rank_t first, Check const& check) {
  for (rank_t ranks = first; ranks <= 4096; ranks *= 2) {
    CAPTURE(ranks);
    check(ranks);
  }
}

/// A control that reports a given number of ranks, of which this is one.
struct control_of_many : pgas::detail::mailing_archetype {
  explicit control_of_many(rank_t n) noexcept : ranks(n) {}
  rank_t ranks;
  [[nodiscard]] rank_t size() const noexcept { return ranks; }
};
static_assert(control<control_of_many>);

}  // namespace

TEST_CASE("memory: a layout knows the owners of all cells without storing them") {
  for_ranks(2, [](rank_t ranks) {
    auto const looked_at = [&](auto const& rule, auto const& extents) {
      auto const used = memory_of([&] {
        auto const l = rule.over(extents, ranks);
        auto const last = l.tile_of(ranks - 1, l.tiles(ranks - 1) - 1);
        CHECK(l.owner(last.cells.first) == ranks - 1);
        CHECK(l.global_index(ranks - 1, l.offset(last.cells.first)) == last.cells.first);
        return l;
      });
      CHECK(used.at_most == 0);
    };
    std::size_t const extent = 8 * static_cast<std::size_t>(ranks);
    looked_at(tiled{block{}}, std::array{extent});
    looked_at(tiled{block_cyclic<3>{}, cyclic{}}.padded(64), std::array{extent, extent});
    looked_at(tiled{block{}, block{}, block{}}.on(grid<3>{}.in_nodes_of(2)),
              std::array{extent, extent, extent});
    looked_at(cyclic_tiles<2, 2>{}, std::array{extent, extent});
  });
}

TEST_CASE("memory: a rank stores only its neighbours, regardless of the number of ranks") {
  // Parts keep their size. So from four ranks along each dimension on, some rank has neighbours on all sides.
  auto const plan = [](rank_t ranks) {
    auto const places = grid<2>{}.over(ranks);
    std::array const extents{8 * static_cast<std::size_t>(places.extent(0)),
                             8 * static_cast<std::size_t>(places.extent(1))};
    array_shape<2, tiled<block, block>> const shape(extents, halo{.width = 1, .edges = edge::periodic},
                                                    ranks);
    return memory_of([&] { return halo_plan<2>(shape, ranks / 2); });
  };
  auto const of_16 = plan(16);
  CHECK(of_16.kept > 0);
  for_ranks(16, [&](rank_t ranks) {
    CHECK(plan(ranks).kept == of_16.kept);
    CHECK(plan(ranks).at_most == of_16.at_most);
  });
}

TEST_CASE("memory: each protocol has the words and the private memory that sync/README.md states") {
  for_ranks(2, [](rank_t ranks) {
    auto const n = static_cast<std::size_t>(ranks);
    auto const log2 = static_cast<std::size_t>(std::bit_width(n - 1));
    std::size_t const vectors = (n + 63) / 64;
    control_of_many control(ranks);
    // Private memory is at most this number of bytes for every 64 ranks, and a word.
    auto const check = [&]<class Protocol>(Protocol, std::size_t slots, std::size_t cells,
                                           std::size_t of_64_ranks) {
      CAPTURE(Protocol::name);
      CHECK(Protocol::words(ranks).slots == slots);
      CHECK(Protocol::words(ranks).cells == cells);
      auto const used =
          memory_of([&] { return typename Protocol::template on<control_of_many>(control, {}); });
      CHECK(used.kept <= 8 + of_64_ranks * vectors);
    };
    constexpr std::size_t bit = 8;  // for each of 64
    check(sync::dissemination{}, log2, 0, 0);
    check(sync::tournament{}, log2 + 1, 0, 0);
    check(sync::master_slave{}, n, 0, 0);
    check(sync::central_counter{}, 0, 1, 64 * 4);
    check(sync::guarded_counter{}, 0, 1, 64 * 4);
    check(sync::match_vector{}, 0, vectors + 1, 2 * bit);
    check(sync::stamped{}, 2 * n, 0, 64 * 16 + bit);
    check(sync::post_array{}, n, 1, 64 * 16 + bit);
    check(sync::match_list<8>{}, 0, std::min<std::size_t>(8, n) + 1, 0);
    check(sync::two_vectors{}, 0, 2 * vectors, 3 * bit);
    check(sync::post_messages{}, 2 * n, 0, 64 * 24);
    check(sync::mailed_posts{}, 1, 0, 64 * 3);
    check(sync::shared_only{}, 0, 0, 0);
    check(sync::queued{}, 0, 4, 64 * 2);
    check(sync::biased<sync::queued>{}, 1, 5, 64 * 2);
    check(sync::biased<sync::bakery>{}, 2 * n + 1, 0, 0);
    check(sync::mcs{}, 0, 2 + 2 * n, bit);
    check(sync::mcs_wp{}, 0, 5 + n, 0);
    check(sync::bakery{}, n, 0, 0);
    check(sync::lock_messages{}, 2 * n, 5 + 2 * n, 64 * 8);
    check(sync::mailed_locks{}, 1, 0, 64 * 4);
    check(sync::two_level<>{}, 0, 2, 0);
  });
}

TEST_CASE("memory: a window stores in a byte for each rank whether it has locked its part") {
  for_ranks(2, [](rank_t ranks) {
    auto const used = memory_of([&] { return pgas::detail::open_epochs(ranks); });
    CHECK(used.kept == static_cast<std::size_t>(ranks));
  });
}
