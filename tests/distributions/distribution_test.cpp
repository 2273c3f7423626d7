// SPDX-License-Identifier: BSL-1.0
// The promises of every distribution, checked against a table that assigns indices one by one.
// test: unit distributions
#include <doctest/doctest.h>

#include <pgas/detail/numbers/divisor.hpp>
#include <vector>

#include "support/dealt_table.hpp"
#include "support/distributions.hpp"

namespace {

using pgas::rank_t;

using pgas_test::dealt;
using pgas_test::one_each;
using pgas_test::table;

/// Returns an empty string, or the first promise that d breaks.
template <pgas::distribution D>
std::string broken(D const& d, table const& expected) {
  auto const& entries = expected.entries();
  if (d.extent() != entries.size()) return "extent";
  for (std::size_t i = 0; i < entries.size(); ++i) {
    auto const& e = entries[i];
    std::string const at = " of " + std::to_string(i);
    if (d.owner(i) != e.owner) return "owner" + at;
    if (d.local_index(i) != e.local) return "local_index" + at;
    if (d.local_block(i) != e.local_block) return "local_block" + at;
    if (d.phase(i) != e.phase) return "phase" + at;
    if (d.global_index(e.owner, e.local) != i) return "global_index" + at;
  }
  for (rank_t r = 0; r < d.ranks(); ++r) {
    std::string const at = " of rank " + std::to_string(r);
    if (d.local_size(r) != expected.size(r)) return "local_size" + at;
    if (d.blocks(r) != expected.courses(r)) return "blocks" + at;
    std::size_t local = 0;
    for (std::size_t local_block = 0; local_block < d.blocks(r); ++local_block) {
      auto const block = d.block_of(r, local_block);
      if (block.count == 0) return "an empty block" + at;
      for (std::size_t phase = 0; phase < block.count; ++phase, ++local) {
        auto const& e = entries[block.first + phase];
        if (e.owner != r || e.local != local || e.local_block != local_block || e.phase != phase)
          return "block_of" + at;
      }
    }
    local = 0;
    pgas::owned_indices const own(d, r);
    for (auto i = own.begin(); i != own.end(); ++i, ++local) {
      if (*i != d.global_index(r, local)) return "owned_indices" + at;
      if (i.phase() != d.phase(*i) || i.local_block() != d.local_block(*i))
        return "phase and local_block of an iterator" + at;
    }
    if (local != own.size() || own.empty() != (local == 0)) return "size of owned_indices" + at;
  }
  if (d.over(d.extent(), d.ranks()) != d) return "over";
  return "";
}

/// The table that a distribution's own blocks make, in the order of the indices.
template <pgas::distribution D>
table table_of_blocks(D const& d) {
  std::vector<std::pair<std::size_t, rank_t>> blocks;
  for (std::size_t i = 0; i < d.extent();) {
    rank_t const owner = d.owner(i);
    auto const block = d.block_of(owner, d.local_block(i));
    REQUIRE(block.first == i);
    REQUIRE(block.count != 0);
    blocks.emplace_back(block.count, owner);
    i += block.count;
  }
  return {blocks, d.ranks()};
}

/// Calls check(extent, ranks) for all extents to 40 and 1 to 9 ranks.
template <class Check>
void for_all_sizes(Check const& check) {
  for (std::size_t extent = 0; extent <= 40; ++extent) {
    for (rank_t ranks = 1; ranks <= 9; ++ranks) {
      CAPTURE(extent);
      CAPTURE(ranks);
      check(extent, ranks);
    }
  }
}

template <class Distribution>
void check_dealt(Distribution const& kind, std::size_t block_size) {
  for_all_sizes([&](std::size_t extent, rank_t ranks) {
    CHECK(broken(kind.over(extent, ranks), dealt(extent, ranks, block_size)) == "");
  });
}

/// True if d is a bijection between its extent and its ranks' local indices, evaluated by the compiler.
template <pgas::distribution D>
constexpr bool is_bijection(D const& d) {
  std::size_t owned = 0;
  for (rank_t r = 0; r < d.ranks(); ++r) {
    owned += d.local_size(r);
    for (std::size_t i = 0; i < d.local_size(r); ++i) {
      std::size_t const g = d.global_index(r, i);
      if (g >= d.extent() || d.owner(g) != r || d.local_index(g) != i) return false;
    }
  }
  return owned == d.extent();
}

// A distribution does not communicate, so the compiler can check it too.
using pgas::block;
using pgas::block_cyclic;
static_assert(is_bijection(block(40, 9)) && is_bijection(block(3, 9)) && is_bijection(block(0, 4)));
static_assert(is_bijection(block{}) && block{}.extent() == 0);
static_assert(is_bijection(pgas::cyclic(40, 9)) && is_bijection(pgas::cyclic(3, 9)) &&
              is_bijection(pgas::cyclic{}));
static_assert(is_bijection(block_cyclic<4>(40, 9)) && is_bijection(block_cyclic<3>(40, 7)));
static_assert(is_bijection(block_cyclic<>{5}.over(33, 4)) && is_bijection(block_cyclic<>{8}.over(33, 4)));
static_assert(is_bijection(pgas::single_owner{2}.over(9, 4)) && is_bijection(pgas::whole(7)));
static_assert(block_cyclic<4>(16, 2).local_block(9) == 1 && block_cyclic<4>(16, 2).phase(9) == 1);
static_assert(*++pgas::owned_indices(pgas::cyclic(9, 4), 1).begin() == 5);

}  // namespace

TEST_CASE("block: blocks are contiguous, in rank order, and differ by one index at most") {
  for_all_sizes([](std::size_t extent, rank_t ranks) {
    std::vector<std::size_t> sizes(static_cast<std::size_t>(ranks));
    for (std::size_t i = 0; i < extent; ++i) ++sizes[i % sizes.size()];
    block const d(extent, ranks);
    CHECK(broken(d, one_each(sizes)) == "");
    std::size_t next = 0;
    for (rank_t r = 0; r < ranks; ++r) {
      CHECK(d.first(r) == next);
      next += d.local_size(r);
    }
  });
}

TEST_CASE("cyclic, block_cyclic: blocks go to the ranks in turn, and the last may be shorter") {
  check_dealt(pgas::cyclic{}, 1);
  check_dealt(block_cyclic<1>{}, 1);
  check_dealt(block_cyclic<2>{}, 2);
  check_dealt(block_cyclic<3>{}, 3);
  check_dealt(block_cyclic<8>{}, 8);
  check_dealt(block_cyclic<7>{}, 7);
  check_dealt(block_cyclic<64>{}, 64);
}

TEST_CASE(
    "divisor: quotients are exact for every divisor, at each step of the quotient and at the largest "
    "number") {
  constexpr std::size_t most = ~std::size_t{0};
  auto const check = [](std::size_t divisor) {
    pgas::detail::divisor const d(divisor);
    bool right = true;
    auto const look = [&](std::size_t i) {
      right = right && d.quotient(i) == i / divisor && d.remainder(i) == i % divisor;
    };
    std::size_t const last = most / divisor * divisor;  // the largest multiple
    for (std::size_t near = 0; near < 3; ++near) {
      for (std::size_t multiple : {std::size_t{0}, divisor, last / 2 / divisor * divisor, last}) {
        look(multiple + near);
        look(multiple - near);
      }
      look(most - near);
      look(most / 2 + near);
    }
    CAPTURE(divisor);
    CHECK(right);
  };
  for (std::size_t divisor = 1; divisor <= 5000; ++divisor) check(divisor);
  for (unsigned bit = 13; bit < 64; ++bit) {
    for (std::size_t near = 0; near < 5; ++near) {
      check((std::size_t{1} << bit) + near);
      check((std::size_t{1} << bit) - near);
      check(most - (std::size_t{1} << bit) - near);
    }
  }
  check(most);
  static_assert(pgas::detail::divisor(7).quotient(~std::size_t{0}) == ~std::size_t{0} / 7);
}

TEST_CASE("reciprocal: quotients below 2^63 are exact at each step, and estimates where it says so") {
  auto const check = [](std::size_t divisor) {
    pgas::detail::reciprocal const r(divisor);
    std::size_t const most = ~std::size_t{0} >> 1U;
    std::size_t const last = most / divisor * divisor;  // the largest multiple
    bool right = true;
    std::size_t const least_inexact = (~std::size_t{0} / divisor) / divisor * divisor;
    for (std::size_t multiple :
         {std::size_t{0}, divisor, least_inexact, last / 2 / divisor * divisor, last, most}) {
      for (std::size_t near = 0; near < 3; ++near) {
        for (std::size_t const i : {multiple + near, multiple - near}) {
          if (i > most) continue;
          right = right && r.quotient(i) == i / divisor;
          right = right && r.estimate(i) - i / divisor <= (r.estimates(i) ? 0 : 1);
        }
      }
    }
    CAPTURE(divisor);
    CHECK(right);
  };
  for (std::size_t divisor = 2; divisor <= 5000; ++divisor) check(divisor);
  for (unsigned bit = 13; bit < 64; ++bit) {
    for (std::size_t near = 0; near < 5; ++near) {
      check((std::size_t{1} << bit) + near);
      check((std::size_t{1} << bit) - near);
    }
  }
  check(~std::size_t{0});
  CHECK(pgas::detail::reciprocal(3).estimates(std::size_t{1} << 61U));
  CHECK_FALSE(pgas::detail::reciprocal(3).estimates(std::size_t{1} << 63U));
}

TEST_CASE(
    "block_cyclic: a block size known at run time gives the same mapping as one known at compile time") {
  for (std::size_t size = 1; size <= 12; ++size) check_dealt(block_cyclic<>{size}, size);
  check_dealt(block_cyclic<>{~std::size_t{0}}, 50);
  CHECK(block_cyclic<>{3} != block_cyclic<>{4});
  CHECK(block_cyclic<>{0}.error_for(9, 2).value_or("").find("blocks of 0") != std::string::npos);
  CHECK_FALSE(block_cyclic<>{1}.error_for(9, 2));
}

TEST_CASE("single_owner, whole: one rank owns every index") {
  for_all_sizes([](std::size_t extent, rank_t ranks) {
    for (rank_t owner = 0; owner < ranks; ++owner) {
      auto const d = pgas::single_owner{owner}.over(extent, ranks);
      CHECK(broken(d, {{{extent, owner}}, ranks}) == "");
      CHECK_FALSE(d.error_for(extent, ranks));
    }
    CHECK(pgas::single_owner{ranks}
              .error_for(extent, ranks)
              .value_or("")
              .find("rank " + std::to_string(ranks)) == 0);
    CHECK(broken(pgas::whole{}.over(extent, ranks), {{{extent, 0}}, 1}) == "");
  });
}

TEST_CASE("irregular: each rank has one block of any size, also an empty one") {
  // All ways to give three ranks 0 to 4 indices each, and a few with more ranks.
  for (std::size_t code = 0; code < 125; ++code) {
    std::vector<std::size_t> const sizes{code % 5, code / 5 % 5, code / 25};
    CHECK(broken(pgas::irregular(sizes), one_each(sizes)) == "");
  }
  std::vector<std::size_t> const more{0, 7, 0, 0, 1, 12, 3, 0};
  pgas::irregular const d(more);
  CHECK(broken(d, one_each(more)) == "");
  CHECK(broken(pgas::irregular{}, one_each({0})) == "");
  CHECK(d == pgas::irregular{0, 7, 0, 0, 1, 12, 3, 0});
  CHECK(d != pgas::irregular{0, 7, 0, 0, 1, 12, 0, 3});
  CHECK_FALSE(d.error_for(23, 8));
  CHECK(d.error_for(24, 8).value_or("").find("23 indices together, for 24") != std::string::npos);
  CHECK(d.error_for(23, 7).value_or("").find("8 blocks") != std::string::npos);
  CHECK(pgas::irregular{2, ~std::size_t{0}}.error_for(1, 2));
}

TEST_CASE("distributions: every distribution keeps the axioms, for all extents to 40 on 1 to 9 ranks") {
  for_all_sizes([](std::size_t extent, rank_t ranks) {
    pgas_test::for_each_distribution(extent, ranks, [&](auto const& rule) {
      CAPTURE(rule.describe());
      if constexpr (requires { rule.error_for(extent, ranks); }) REQUIRE_FALSE(rule.error_for(extent, ranks));
      auto const d = rule.over(extent, ranks);
      CHECK(broken(d, table_of_blocks(d)) == "");
      if constexpr (pgas::contiguous_distribution<std::decay_t<decltype(d)>>) {
        for (rank_t r = 0; r < d.ranks(); ++r) {
          CHECK(d.blocks(r) <= 1);
          CHECK(d.first(r) <= d.extent());
          if (d.local_size(r) != 0) CHECK(d.global_index(r, 0) == d.first(r));
          if (r > 0) CHECK(d.first(r - 1) <= d.first(r));
        }
      }
    });
  });
}

TEST_CASE("distributions: each describes itself in words") {
  CHECK(block(9, 2).describe() == "block");
  CHECK(pgas::cyclic(9, 2).describe() == "cyclic");
  CHECK(block_cyclic<4>{}.describe() == "block_cyclic(4)");
  CHECK(block_cyclic<>{5}.describe() == "block_cyclic(5)");
  CHECK(pgas::single_owner{3}.describe() == "single_owner(3)");
  CHECK(pgas::irregular{3, 0, 1}.describe() == "irregular(3, 0, 1)");
  CHECK(pgas::whole{}.describe() == "whole");
}
