// SPDX-License-Identifier: BSL-1.0
// chunked_map on every backend: texts of all lengths against a serial map, readers beside writers, histories,
// memory of replaced values, and a mutant for each step that keeps values whole.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <pgas/containers/chunked_map.hpp>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "support/map_history.hpp"
#include "support/ranks.hpp"

using namespace pgas_test;

namespace {

constexpr pgas::chunked_policy small{.chunk_bytes = 16};

/// All keys have one hash.
struct one_hash {
  std::size_t operator()(auto const&) const noexcept { return 42; }
};

/// Fewer steps where each access is a message or is emulated.
template <class Team>
constexpr std::size_t effort(Team const&, std::size_t usual) {
  using segment_type = typename Team::backend_type::segment_type;
  constexpr std::size_t share = pgas::cache_controlled<segment_type> ? 40
                                : pgas::shared_segment<segment_type> ? 1
                                                                     : 15;
  return std::max<std::size_t>(usual / share, 4);
}

template <class Body>
void on_each_model(rank_t ranks, Body const& body) {
  for_each_model([&]<class Model>(Model) {
    if (can_have<typename Model::backend>(ranks)) on<Model>(ranks, [&](auto& team) { body(team); });
  });
}

/// A text whose length and letters tell its number.
std::string text_of(std::size_t number) {
  return std::string(number % 90, static_cast<char>('a' + number % 26));
}
/// Whether all letters of a text are the same, and its length belongs to them.
bool is_whole(std::string const& text) {
  return std::all_of(text.begin(), text.end(), [&](char c) { return c == text[0]; });
}

}  // namespace

TEST_CASE("chunked map: texts of all lengths are those of a serial map, and replaced ones leave no chunk") {
  on_each_model(3, [](auto& team) {
    std::size_t const rounds = effort(team, 600);
    auto map = pgas::make_chunked_map<int, char, small, one_hash>(
        team, {.keys = {.capacity = 4, .most = 200}, .chunks = {.capacity = 4, .most = 2000}});
    std::unordered_map<int, std::string> mine;  // of keys that no other rank changes
    random_source rng(static_cast<std::uint64_t>(team.rank()) + 3);
    for (std::size_t i = 0; i < rounds; ++i) {
      int const key = static_cast<int>(rng.below(20)) * 3 + team.rank();
      std::string const text = text_of(static_cast<std::size_t>(rng.below(1000)));
      bool const was_there = mine.contains(key);
      switch (rng.below(5)) {
        case 0:
          require_equal(map.insert(key, text), mine.emplace(key, text).second, "an insertion");
          break;
        case 1:
          require_equal(map.insert_or_assign(key, text), !was_there, "an assignment");
          mine[key] = text;
          break;
        case 2:
          require_equal(map.erase(key), mine.erase(key) == 1, "an erasure");
          break;
        case 3:
          map.append(key, text);
          mine[key] += text;
          break;
        default:
          require(map.lookup(key) == (was_there ? std::optional(mine[key]) : std::nullopt), "a lookup");
      }
    }
    team.barrier();
    std::size_t chunks = 0;
    for (auto const& [key, text] : mine) {
      require(map.lookup(key) == text, "a rank finds what it has written");
      chunks += text.size() <= 16 ? 0 : (text.size() - 1) / 16;
    }
    require_equal(map.chunks(), team.all_reduce(chunks), "only values that are present have chunks");
    require_equal(map.size(), team.all_reduce(mine.size()), "the size");
    std::vector<int> keys(60);
    for (int i = 0; i < 60; ++i) keys[static_cast<std::size_t>(i)] = i;
    std::vector<std::optional<std::string>> found(keys.size());
    map.lookup(keys, found);
    for (std::size_t i = 0; i < keys.size(); ++i)
      require(found[i] == map.lookup(keys[i]), "a bulk lookup returns what a single one does");
    std::size_t own = 0;
    map.for_each_own([&](int key, std::string const& text) {
      ++own;
      require(map.lookup(key) == text, "an iteration meets a key with its value");
    });
    require_equal(team.all_reduce(own), map.size(), "iterations meet each key once");
    team.barrier();
    map.reserve(200, 2000);
    for (auto const& [key, text] : mine) require(map.lookup(key) == text, "a reserve keeps all values");
    map.clear();
    require_equal(map.size() + map.chunks(), std::size_t{0}, "a cleared map is empty");
  });
}

TEST_CASE("chunked map: a sequence of elements of any type is a value, and a full part changes nothing") {
  on_each_model(2, [](auto& team) {
    auto map = pgas::make_chunked_map<int, double>(team);
    std::vector<double> const values(100, 1.5);
    if (team.rank() == 0) map.update(7, values);
    team.barrier();
    require(map.lookup(7) == values, "a vector is found");
    require(!map.contains(8), "another key is absent");
    auto full = pgas::make_chunked_map<int, char, small>(team, {.chunks = {.capacity = 8}});
    if (team.rank() == 0) {
      full.update(1, "short");
      require_error(errc::no_space, {"part is full"}, [&] { full.update(1, std::string(5000, 'x')); });
      require(full.lookup(1) == std::string("short"), "the old value is there after a failure");
    }
    require_equal(full.chunks(), std::size_t{0}, "a failure leaves no chunk");
  });
}

TEST_CASE("chunked map: appends and transforms of all ranks are steps, none of which is lost") {
  on_each_model(3, [](auto& team) {
    std::size_t const rounds = effort(team, 120);
    auto map = pgas::make_chunked_map<int, char, small>(team);
    for (std::size_t i = 0; i < rounds; ++i) map.append(static_cast<int>(i % 2), std::string(3, 'x'));
    team.barrier();
    std::size_t const letters = map.lookup(0).value_or("").size() + map.lookup(1).value_or("").size();
    require_equal(letters, 3 * rounds * static_cast<std::size_t>(team.size()), "no append is lost");
    team.barrier();  // all have read before one takes
    std::size_t taken = 0;
    map.transform(0, [&](std::optional<std::string> const& old) {
      taken = old ? 1 : 0;
      return std::optional<std::string>();
    });
    require_equal(team.all_reduce(taken), std::size_t{1}, "of ranks that take a value away, one gets it");
  });
}

namespace {

/// Rank 0 replaces, erases and inserts texts while the others read. Returns whether one saw a mixture.
template <pgas::chunked_policy Policy>
bool sees_mixtures(auto& team, std::size_t changes) {
  auto map = pgas::make_chunked_map<int, char, Policy>(team);
  bool wrong = false;
  map.update(0, "x");
  team.barrier();
  if (team.rank() == 0) {
    for (std::size_t i = 0; i < changes; ++i) {
      std::string const text(40 + i % 50, static_cast<char>('a' + i % 26));
      if (i % 5 == 0) map.erase(0);
      map.update(0, text);
    }
    map.update(1, "end");
  } else {
    for (std::size_t i = 0; i < 200 * changes && (i % 8 != 0 || !map.contains(1)); ++i) {
      auto const found = map.lookup(0);
      wrong = wrong || (found && !is_whole(*found));
    }
  }
  return team.all_reduce(wrong ? 1 : 0) != 0;
}

}  // namespace

TEST_CASE("chunked map: a reader beside a writer finds whole values") {
  on_each_model(3,
                [](auto& team) { require(!sees_mixtures<small>(team, effort(team, 3000)), "whole values"); });
}

TEST_CASE("chunked map: histories of texts of several chunks are linearizable") {
  on_each_model(3, [](auto& team) {
    auto map = pgas::make_chunked_map<int, char, small>(team, {.keys = {.capacity = 8}});
    require_linearizable(
        team, 0,
        [&](int key) {
          auto const text = map.lookup(key);
          if (!text) return std::optional<int>();
          return std::optional<int>(is_whole(*text) ? static_cast<int>(text->size()) : -1);
        },
        [&](int key, int value) {
          map.update(key, std::string(static_cast<std::size_t>(value), static_cast<char>('a' + value % 26)));
        },
        [&](int key) { map.erase(key); });
  });
}

TEST_CASE("chunked map: mutants that keep names, or take what is missing for empty, show mixtures") {
  constexpr pgas::chunked_policy without_versions{.chunk_bytes = 16, .steps = {.has_versions = false}};
  constexpr pgas::chunked_policy without_look{.chunk_bytes = 16, .steps = {.looks_again = false}};
  on<process_model>(2, [&](auto& team) {
    bool found = false;
    for (int i = 0; i < 50 && !found; ++i) found = sees_mixtures<without_versions>(team, 2000);
    require(found, "values without versions are mixed");
    found = false;
    for (int i = 0; i < 50 && !found; ++i) found = sees_mixtures<without_look>(team, 2000);
    require(found, "values with missing chunks are mixed");
  });
}
