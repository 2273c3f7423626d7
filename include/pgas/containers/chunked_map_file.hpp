// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <pgas/containers/chunked_map.hpp>
#include <pgas/containers/map_file.hpp>
#include <pgas/detail/containers/map_bucket.hpp>
#include <pgas/vocabulary/error.hpp>
#include <span>
#include <string>
#include <vector>

namespace PGAS_NAMESPACE {

namespace detail {

/// A chunked_map in a file: this header, blocks of pairs, and the place where each block ends.
///
/// Pair      the words of its key, the number of elements, and the elements, filled up to a word.
/// Block     whole pairs, with block_words words or more, but for the last one. A rank that loads reads whole
///           blocks, so it finds the first of its pairs although pairs differ in length.
/// The file has no versions, numbers of chunks or ranks: any map of such keys and elements loads it.
struct chunked_file_header {
  static constexpr std::size_t block_words = 4096;

  std::array<char, 16> magic = {'p', 'g', 'a', 's', ' ', 'c', 'h', 'u', 'n', 'k', 's', ' ', '1', '\n'};
  std::uint64_t key_bytes = 0;
  std::uint64_t element_bytes = 0;
  std::uint64_t blocks = 0;
  std::uint64_t ends_at = 0;  ///< the byte at which the list of ends begins

  /// Whether a file of so many bytes may have this header. No sum overflows.
  [[nodiscard]] bool fits(std::uint64_t bytes) const noexcept {
    return ends_at >= sizeof(chunked_file_header) && ends_at <= bytes &&
           (bytes - ends_at) % sizeof(std::uint64_t) == 0 &&
           (bytes - ends_at) / sizeof(std::uint64_t) == blocks;
  }
};
static_assert(transportable<chunked_file_header> && sizeof(chunked_file_header) == 48);

/// The words that hold so many bytes.
constexpr std::uint64_t words_of_elements(std::uint64_t bytes) noexcept {
  return bytes / sizeof(std::uint64_t) + (bytes % sizeof(std::uint64_t) != 0 ? 1 : 0);
}

/// The type of a value's elements.
template <class Map>
using element_of = typename Map::mapped_type::value_type;

/// Writes a chunked_map to a new file, from one rank.
template <class Map>
map_file_failure write_chunked(Map const& map, std::filesystem::path const& path) {
  using Key = typename Map::key_type;
  using T = element_of<Map>;
  map_file_writer to(path);
  chunked_file_header header{
      .key_bytes = sizeof(Key), .element_bytes = sizeof(T), .ends_at = sizeof(chunked_file_header)};
  to.write(std::as_bytes(std::span(&header, 1)));
  std::vector<std::uint64_t> words;
  std::vector<std::uint64_t> ends;
  auto const end_block = [&] {
    if (words.empty()) return;
    to.write(std::as_bytes(std::span(words)));
    header.ends_at += words.size() * sizeof(std::uint64_t);
    ends.push_back(header.ends_at);
    words.clear();
  };
  for (rank_t r = 0; r < map.team().size(); ++r) {
    map.for_each_of(r, [&](auto const& key, auto const& value) {
      for (std::uint64_t const word : to_words(key)) words.push_back(word);
      words.push_back(value.size());
      std::size_t const at = words.size();
      words.resize(at + words_of_elements(value.size() * sizeof(T)));
      if (!value.empty())
        std::memcpy(words.data() + at, static_cast<void const*>(value.data()), value.size() * sizeof(T));
      if (words.size() >= chunked_file_header::block_words) end_block();
    });
  }
  end_block();
  header.blocks = ends.size();
  to.write(std::as_bytes(std::span(ends)));
  return to.complete(std::as_bytes(std::span(&header, 1)));
}

/// Opens the file of a chunked_map on every rank, and reads its header. Collective; throws what load throws.
template <class Map>
chunked_file_header chunked_header_of(Map const& map, read_file const& from,
                                      std::filesystem::path const& path) {
  constexpr std::size_t key_bytes = sizeof(typename Map::key_type);
  constexpr std::size_t element_bytes = sizeof(element_of<Map>);
  map_file_failure failure;
  chunked_file_header header;
  failure.note(from.error(), "cannot be opened to be read");
  if (!failure.is_there())
    failure.note(from.read(std::as_writable_bytes(std::span(&header, 1)), 0),
                 "cannot be read as a chunked_map");
  failure.note_if(header.magic == chunked_file_header{}.magic &&
                      (header.key_bytes != key_bytes || header.element_bytes != element_bytes),
                  "has keys of " + std::to_string(header.key_bytes) + " bytes and elements of " +
                      std::to_string(header.element_bytes) + ", and the map has keys of " +
                      std::to_string(key_bytes) + " and elements of " + std::to_string(element_bytes));
  failure.note_if(header.magic != chunked_file_header{}.magic, "is no chunked_map that save has written");
  failure.note_if(!header.fits(from.size()), "is not whole: it has " + std::to_string(from.size()) +
                                                 " bytes, and its header names another length");
  agree(map.team(), failure, path, "load");
  return header;
}

/// Calls use(key, elements) for each pair of a block. Returns false if the words are no whole pairs.
template <class Map, class Use>
[[nodiscard]] bool for_each_in_block(std::span<std::uint64_t const> words, Use const& use) {
  using Key = typename Map::key_type;
  using T = element_of<Map>;
  constexpr std::size_t before = words_for<Key> + 1;  // the words before the elements
  std::vector<T> elements;
  while (!words.empty()) {
    if (words.size() < before) return false;
    std::uint64_t const count = words[before - 1];
    if (count > (words.size() - before) * sizeof(std::uint64_t) / sizeof(T)) return false;
    std::size_t const bytes = static_cast<std::size_t>(count) * sizeof(T);
    elements.resize(static_cast<std::size_t>(count));
    if (bytes != 0) std::memcpy(static_cast<void*>(elements.data()), words.data() + before, bytes);
    use(from_words<Key>(words.data()), typename Map::view_type(elements.data(), elements.size()));
    words = words.subspan(before + words_of_elements(bytes));
  }
  return true;
}

/// Updates a chunked_map with share number `self` of `shares` of a file's blocks.
template <class Map>
map_file_failure read_chunked(Map& map, read_file const& from, chunked_file_header const& header,
                              std::uint64_t self, std::uint64_t shares) {
  constexpr std::uint64_t word = sizeof(std::uint64_t);
  map_file_failure failure;
  std::uint64_t const first = header.blocks / shares * self + std::min(header.blocks % shares, self);
  std::uint64_t const count = header.blocks / shares + (self < header.blocks % shares ? 1 : 0);
  // The end of the block before is the place of the first one.
  std::vector<std::uint64_t> ends(count + 1, sizeof(chunked_file_header));
  std::span<std::uint64_t> wanted(ends);
  if (first == 0) wanted = wanted.subspan(1);
  failure.note(
      from.read(std::as_writable_bytes(wanted), header.ends_at + (first == 0 ? 0 : first - 1) * word),
      "cannot be read to its end");
  std::vector<std::uint64_t> words;
  for (std::size_t i = 0; i < count && !failure.is_there(); ++i) {
    bool const is_right = ends[i] < ends[i + 1] && ends[i + 1] <= header.ends_at &&
                          ends[i] >= sizeof(chunked_file_header) && (ends[i + 1] - ends[i]) % word == 0;
    failure.note_if(!is_right, "is damaged: its blocks do not follow one another");
    if (failure.is_there()) break;
    words.resize((ends[i + 1] - ends[i]) / word);
    failure.note(from.read(std::as_writable_bytes(std::span(words)), ends[i]), "cannot be read to its end");
    if (failure.is_there()) break;
    try {
      failure.note_if(
          !for_each_in_block<Map>(words, [&](auto const& key, auto const& value) { map.update(key, value); }),
          "is damaged: a pair does not end in its block");
    } catch (error const& full) {
      if (full.code() != errc::no_space) throw;
      failure.code = errc::no_space;
      failure.text = "does not fit: " + std::string(full.sentence());
    }
  }
  return failure;
}

}  // namespace detail

/// Writes all keys of a chunked_map with their values to a file. Collective; no rank changes the map
/// meanwhile.
///
/// Rank 0 reads all parts and writes the file, in the time of as many lookups as there are keys. A reader of
/// the file finds the old one or the complete new one. Throws errc::no_space or errc::bad_file on every rank
/// if the file cannot be written. MPI, SHMEM and UPC++ have no equal.
template <transportable Key, transportable T, chunked_policy Policy, class Hash, class Equal, class Team>
void save(chunked_map<Key, T, Policy, Hash, Equal, Team> const& map, std::filesystem::path const& path) {
  auto const& team = map.team();
  team.barrier();
  detail::map_file_failure failure;
  if (team.rank() == 0) failure = detail::write_chunked(map, path);
  detail::agree(team, failure, path, "save");
}

/// Updates a chunked_map with all pairs of a file, which any number of ranks has saved from a map with chunks
/// of any size. Collective.
///
/// Each rank reads its share of the file, which it must see under this path, and puts the pairs where they
/// belong. Returns on every rank when the map has all pairs. Throws on every rank errc::bad_file if the file
/// cannot be read, is not whole or is no map of such keys and elements, and errc::no_space if a part is full;
/// the map then has some of the pairs.
template <transportable Key, transportable T, chunked_policy Policy, class Hash, class Equal, class Team>
void load(chunked_map<Key, T, Policy, Hash, Equal, Team>& map, std::filesystem::path const& path) {
  detail::read_file const from(path);
  auto const header = detail::chunked_header_of(map, from, path);
  auto const& team = map.team();
  auto const failure = detail::read_chunked(map, from, header, static_cast<std::uint64_t>(team.rank()),
                                            static_cast<std::uint64_t>(team.size()));
  detail::agree(team, failure, path, "load");
}

}  // namespace PGAS_NAMESPACE
