// SPDX-License-Identifier: BSL-1.0
// chunked_map on every backend: texts of all lengths against a serial map, readers beside writers, histories,
// memory of replaced values, files, and a mutant for each step that keeps values whole.
// test: addresses, threads, unit distributed_map
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <optional>
#include <pgas/containers/chunked_map.hpp>
#include <pgas/containers/chunked_map_file.hpp>
#include <string>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "chunked_map_mutants.hpp"
#include "support/map_history.hpp"
#include "support/ranks.hpp"

using namespace pgas_test;

namespace {

constexpr pgas::chunked_policy small{.chunk_bytes = 16};

/// A value of a map without chunks.
using wide_text = std::array<char, 40>;

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

/// A name in the folder of temporary files, which goes with the object.
struct temporary_file {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("pgas-chunked-" + std::to_string(::getpid()));
  temporary_file() = default;
  temporary_file(temporary_file const&) = delete;
  temporary_file& operator=(temporary_file const&) = delete;
  ~temporary_file() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
};

/// Rank 0 changes the file, and the others then see that.
template <class Change>
void on_rank_0(auto& team, Change const& change) {
  team.barrier();
  if (team.rank() == 0) change();
  team.barrier();
}
/// Puts a number over eight bytes of a file, counted from its beginning, or from its end if negative.
void put_number(std::filesystem::path const& path, std::streamoff at, std::uint64_t number) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(at, at < 0 ? std::ios::end : std::ios::beg);
  file.write(reinterpret_cast<char const*>(&number), sizeof number);
}

}  // namespace

TEST_CASE(
    "chunked map: a file is loaded by other numbers of ranks, and by maps with other chunks and rooms") {
  temporary_file const file;
  on_each_model(3, [&file](auto& team) {
    std::size_t const keys = effort(team, 600);
    std::size_t const long_text = effort(team, 9000);
    auto const text_at = [&](std::size_t i) {
      return i % 20 == 7 ? std::string(long_text + i, static_cast<char>('A' + i % 26)) : text_of(i);
    };
    auto map = pgas::make_chunked_map<int, char, small>(
        team, {.keys = {.capacity = keys}, .chunks = {.capacity = 64, .most = 40000}});
    for (std::size_t i = 0; i < keys; ++i)
      if (static_cast<int>(i % 3) == team.rank()) map.update(static_cast<int>(i), text_at(i));
    save(map, file.path);
    map.update(-1, "later");

    auto const load_on = [&]<pgas::chunked_policy Policy>(auto const& some, std::size_t room) {
      auto loaded = pgas::make_chunked_map<int, char, Policy>(
          some, {.keys = {.capacity = room, .most = keys}, .chunks = {.capacity = room, .most = 40000}});
      loaded.update(0, "a value that the file replaces, of more than one chunk");
      loaded.update(-2, "a value that the file does not have");
      some.barrier();
      load(loaded, file.path);
      require_equal(loaded.size(), keys + 1, "the keys of the file, and one more");
      for (std::size_t i = 0; i < keys; ++i)
        require(loaded.lookup(static_cast<int>(i)) == text_at(i), "a loaded text is the saved one");
      require(!loaded.contains(-1) && loaded.contains(-2), "other keys are as before");
      some.barrier();
    };
    load_on.template operator()<small>(team, keys);
    auto const fewer = team.split(team.rank() == 0 ? 0 : 1);
    load_on.template operator()<pgas::chunked_policy{.chunk_bytes = 40}>(fewer, 8);
    team.barrier();
  });
}

TEST_CASE("chunked map: sequences of any type and no keys at all go through a file") {
  temporary_file const file;
  on_each_model(2, [&file](auto& team) {
    struct dot {
      std::int16_t x = 0, y = 0, z = 0;
      bool operator==(dot const&) const = default;
    };
    auto map = pgas::make_chunked_map<std::uint64_t, dot, small>(team);
    save(map, file.path);
    load(map, file.path);
    require_equal(map.size(), std::size_t{0}, "an empty map");
    std::vector<dot> const path(11, dot{1, 2, 3});
    if (team.rank() == 1) map.update(5, path), map.update(6, std::vector<dot>());
    save(map, file.path);
    map.clear();
    load(map, file.path);
    require(map.lookup(5) == path, "a sequence whose bytes do not fill its last word");
    require(map.lookup(6) == std::vector<dot>(), "an empty sequence is a value");
  });
}

TEST_CASE("chunked map: a file that is missing, foreign, cut or damaged is refused on every rank") {
  temporary_file const file;
  on_each_model(2, [&file](auto& team) {
    auto map = pgas::make_chunked_map<int, char, small>(team);
    if (team.rank() == 0)
      for (int i = 0; i < 5; ++i) map.update(i, text_of(40));
    auto const refused = [&](auto& other, errc code, std::initializer_list<std::string> words) {
      require_error(code, words, [&] { load(other, file.path); });
    };
    save(map, file.path);
    auto numbers = pgas::make_chunked_map<std::uint64_t, double>(team);
    refused(numbers, errc::bad_file, {"load", "keys of 4 bytes and elements of 1,", "keys of 8", "of 8"});
    require_error(errc::bad_file, {"load", "cannot be opened"},
                  [&] { load(map, file.path.string() + ".missing"); });
    require_error(errc::bad_file, {"save", "cannot be made"}, [&] { save(map, file.path / "in a file"); });
    auto full =
        pgas::make_chunked_map<int, char, small>(team, {.keys = {.capacity = 8}, .chunks = {.capacity = 0}});
    refused(full, errc::no_space, {"load", "does not fit", "part is full"});

    constexpr std::streamoff header = 48;
    auto const bytes = std::filesystem::file_size(file.path);
    on_rank_0(team, [&] { put_number(file.path, header + 8, 1U << 20U); });
    refused(map, errc::bad_file, {"load", "is damaged", "pair does not end"});
    on_rank_0(team, [&] { put_number(file.path, -8, 8); });
    refused(map, errc::bad_file, {"load", "is damaged", "blocks do not follow"});
    on_rank_0(team, [&] { std::filesystem::resize_file(file.path, bytes - 8); });
    refused(map, errc::bad_file, {"load", "is not whole", std::to_string(bytes - 8) + " bytes"});
    on_rank_0(team, [&] { std::filesystem::resize_file(file.path, 20); });
    refused(map, errc::bad_file, {"load", "cannot be read as a chunked_map"});

    auto plain = pgas::make_map<int, wide_text>(team);
    plain.update(team.rank(), {});
    save(plain, file.path);
    refused(map, errc::bad_file, {"load", "is no chunked_map that save has written"});
    save(map, file.path);
    require_error(errc::bad_file, {"load", "is no map that save has written"},
                  [&] { load(plain, file.path); });
    require(map.lookup(3) == text_of(40), "a map is whole after it has refused files");
  });
}

namespace {

/// Rank 0 replaces, erases and inserts texts while the others read. Returns whether one saw a mixture.
bool sees_mixtures(auto& team, auto map, std::size_t changes) {
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
  on_each_model(3, [](auto& team) {
    auto map = pgas::make_chunked_map<int, char, small>(team);
    require(!sees_mixtures(team, std::move(map), effort(team, 3000)), "whole values");
  });
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
  namespace mutants = pgas::chunked_map_mutants;
  on<process_model>(2, [&](auto& team) {
    bool found = false;
    for (int i = 0; i < 50 && !found; ++i) {
      constexpr mutants::no_versions::chunked_policy in_small_chunks{.chunk_bytes = 16};
      auto map = mutants::no_versions::make_chunked_map<int, char, in_small_chunks>(team);
      found = sees_mixtures(team, std::move(map), 2000);
    }
    require(found, "values without versions are mixed");
    found = false;
    for (int i = 0; i < 50 && !found; ++i) {
      constexpr mutants::no_look::chunked_policy in_small_chunks{.chunk_bytes = 16};
      auto map = mutants::no_look::make_chunked_map<int, char, in_small_chunks>(team);
      found = sees_mixtures(team, std::move(map), 2000);
    }
    require(found, "values with missing chunks are mixed");
  });
}
