// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <pgas/containers/distributed_map.hpp>
#include <pgas/detail/process/replacing_file.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/fence.hpp>
#include <pgas/lock_all.hpp>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace PGAS_NAMESPACE {

namespace detail {

/// A map in a file: this header, and then the pairs, each as the words of its key and its value.
struct map_file_header {
  std::array<char, 16> magic = {'p', 'g', 'a', 's', ' ', 'm', 'a', 'p', ' ', '1', '\n'};
  std::uint64_t key_bytes = 0;
  std::uint64_t value_bytes = 0;
  std::uint64_t pairs = 0;
};
static_assert(transportable<map_file_header> && sizeof(map_file_header) == 40);

/// The failure of a file on this rank: none, or a code and words that follow the file's name.
struct map_file_failure {
  errc code{};
  std::string text;

  /// Keeps the first failure of a system call.
  void note(int error, std::string const& what) {
    if (error == 0 || code != errc{}) return;
    code = error == ENOSPC || error == EFBIG || error == EDQUOT ? errc::no_space : errc::bad_file;
    text = what + ": " + std::generic_category().message(error);
  }
  void note_if(bool failed, std::string const& what) {
    if (failed && code == errc{}) code = errc::bad_file, text = what;
  }
  [[nodiscard]] bool is_there() const noexcept { return code != errc{}; }
};

/// Throws on every rank the failure of the first rank that has one. Collective.
template <class Team>
void agree(Team const& team, map_file_failure const& mine, std::filesystem::path const& path,
           std::string_view operation) {
  auto const codes = team.all_gather(static_cast<int>(mine.code));
  auto const first = std::find_if(codes.begin(), codes.end(), [](int code) { return code != 0; });
  if (first == codes.end()) return;
  auto const rank = static_cast<rank_t>(first - codes.begin());
  std::array<char, 248> text{};
  copy_text(text, mine.text);
  team.broadcast(text, rank);
  throw error(static_cast<errc>(*first), team.world_rank(rank), operation,
              in_quotes(path.string()) + " " + text.data());
}

/// Moves all bytes by calls of `move(pointer, bytes)`, and returns an errno, or 0. A file that ends is EIO.
template <class Byte, class Move>
[[nodiscard]] int move_all(std::span<Byte> bytes, Move const& move) {
  while (!bytes.empty()) {
    auto const moved = move(bytes.data(), bytes.size());
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return moved < 0 ? errno : EIO;
    bytes = bytes.subspan(static_cast<std::size_t>(moved));
  }
  return 0;
}

/// A new file of a map, which replaces the one at a path when it is complete. It keeps the first failure.
class map_file_writer {
 public:
  explicit map_file_writer(std::filesystem::path path) {
    std::string const why = replacing_file::follow(path);
    failure_.note_if(!why.empty(), why);
    to_.emplace(std::move(path), replacing_file::next_number());
    if (!failure_.is_there()) failure_.note(to_->make(), "cannot be made");
  }
  void write(std::span<std::byte const> bytes) {
    if (failure_.is_there()) return;
    failure_.note(move_all(bytes, [&](std::byte const* from,
                                      std::size_t n) { return ::write(to_->descriptor(), from, n); }),
                  "cannot be written");
  }
  /// Writes the header over the file's first bytes, and gives the file its name.
  [[nodiscard]] map_file_failure complete(std::span<std::byte const> header) {
    if (!failure_.is_there() && ::lseek(to_->descriptor(), 0, SEEK_SET) != 0)
      failure_.note(errno, "cannot be written");
    write(header);
    if (!failure_.is_there()) failure_.note(to_->commit(), "cannot be completed");
    return failure_;
  }

 private:
  map_file_failure failure_;
  std::optional<replacing_file> to_;
};

/// Writes a map to a new file, from one rank.
template <class Map>
map_file_failure write_map(Map const& map, std::filesystem::path const& path) {
  using layout = bucket_layout<typename Map::key_type, typename Map::mapped_type>;
  map_file_writer to(path);
  map_file_header header{.key_bytes = sizeof(typename Map::key_type),
                         .value_bytes = sizeof(typename Map::mapped_type)};
  to.write(std::as_bytes(std::span(&header, 1)));
  std::vector<std::uint64_t> words;
  constexpr std::size_t many = std::size_t{1} << 17U;  // words, a mebibyte
  auto const flush = [&] {
    to.write(std::as_bytes(std::span(words)));
    words.clear();
  };
  for (rank_t r = 0; r < map.team().size(); ++r) {
    map.for_each_of(r, [&](auto const& key, auto const& value) {
      auto const k = to_words(key);
      auto const v = to_words(value);
      words.insert(words.end(), k.begin(), k.end());
      words.insert(words.end(), v.begin(), v.end());
      ++header.pairs;
      if (words.size() + layout::slot_words > many) flush();
    });
  }
  flush();
  return to.complete(std::as_bytes(std::span(&header, 1)));
}

/// A file that this rank reads.
class read_file {
 public:
  explicit read_file(std::filesystem::path const& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)),
        error_(descriptor_ < 0 ? errno : 0) {}
  read_file(read_file const&) = delete;
  read_file& operator=(read_file const&) = delete;
  ~read_file() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  [[nodiscard]] int error() const noexcept { return error_; }
  [[nodiscard]] std::uint64_t size() const noexcept {
    auto const end = error_ == 0 ? ::lseek(descriptor_, 0, SEEK_END) : 0;
    return end > 0 ? static_cast<std::uint64_t>(end) : 0;
  }
  [[nodiscard]] int read(std::span<std::byte> into, std::uint64_t at) const {
    return move_all(into, [&](std::byte* to, std::size_t n) {
      auto const got = ::pread(descriptor_, to, n, static_cast<off_t>(at));
      if (got > 0) at += static_cast<std::uint64_t>(got);
      return got;
    });
  }

 private:
  int descriptor_;
  int error_;
};

/// Opens the file of a map on every rank, and reads its header. Collective; throws what load throws.
template <class Map>
map_file_header header_of(Map const& map, read_file const& from, std::filesystem::path const& path) {
  constexpr std::size_t key_bytes = sizeof(typename Map::key_type);
  constexpr std::size_t value_bytes = sizeof(typename Map::mapped_type);
  map_file_failure failure;
  map_file_header header;
  failure.note(from.error(), "cannot be opened to be read");
  if (!failure.is_there())
    failure.note(from.read(std::as_writable_bytes(std::span(&header, 1)), 0), "cannot be read as a map");
  failure.note_if(header.magic != map_file_header{}.magic, "is no map that save has written");
  failure.note_if(header.key_bytes != key_bytes || header.value_bytes != value_bytes,
                  "has keys of " + std::to_string(header.key_bytes) + " bytes and values of " +
                      std::to_string(header.value_bytes) + ", and the map has keys of " +
                      std::to_string(key_bytes) + " and values of " + std::to_string(value_bytes));
  agree(map.team(), failure, path, "load");
  return header;
}

/// Updates a map with share number `self` of `shares` of a file's pairs.
template <class Map>
map_file_failure read_map(Map& map, read_file const& from, map_file_header const& header, std::uint64_t self,
                          std::uint64_t shares) {
  using Key = typename Map::key_type;
  using Value = typename Map::mapped_type;
  using layout = bucket_layout<Key, Value>;
  map_file_failure failure;
  std::uint64_t next = header.pairs / shares * self + std::min(header.pairs % shares, self);
  std::uint64_t const end = next + header.pairs / shares + (self < header.pairs % shares ? 1 : 0);
  constexpr std::uint64_t many = 4096;
  std::vector<std::uint64_t> words;
  std::vector<std::pair<Key, Value>> pairs;
  while (next < end && !failure.is_there()) {
    std::uint64_t const count = std::min(many, end - next);
    words.resize(count * layout::slot_words);
    std::uint64_t const at = sizeof header + next * layout::slot_words * sizeof(std::uint64_t);
    failure.note(from.read(std::as_writable_bytes(std::span(words)), at), "cannot be read to its end");
    if (failure.is_there()) break;
    pairs.clear();
    for (std::uint64_t i = 0; i < count; ++i) {
      auto const* const pair = words.data() + i * layout::slot_words;
      pairs.emplace_back(from_words<Key>(pair), from_words<Value>(pair + layout::key_words));
    }
    try {
      map.update(std::span<std::pair<Key, Value> const>(pairs));
    } catch (error const& full) {
      if (full.code() != errc::no_space) throw;
      failure.code = errc::no_space;
      failure.text = "does not fit: " + std::string(full.sentence());
    }
    next += count;
  }
  return failure;
}

/// The pairs of a map of messages, whose ranks keep them. Rank 0 reads those of any rank.
template <class Map>
class gathered_pairs {
 public:
  using key_type = typename Map::key_type;
  using mapped_type = typename Map::mapped_type;

  /// Collective. No rank changes the map.
  explicit gathered_pairs(Map const& map) : gathered_pairs(map.team(), words_of(map)) {}

  [[nodiscard]] auto const& team() const noexcept { return *team_; }
  /// Calls use(key, value) for each pair of a rank.
  template <class Use>
  void for_each_of(rank_t rank, Use const& use) const {
    using layout = bucket_layout<key_type, mapped_type>;
    std::vector<std::uint64_t> all(words_.size(rank));
    {
      lock_all epoch{words_, read_only};
      epoch.to(rank).get(0, std::span(all));
    }
    for (std::size_t i = 0; i < all.size(); i += layout::slot_words)
      use(from_words<key_type>(all.data() + i), from_words<mapped_type>(all.data() + i + layout::key_words));
  }

 private:
  using team_type = std::remove_cvref_t<decltype(std::declval<Map const&>().team())>;
  using window_type = window_on<team_type, std::uint64_t>;

  gathered_pairs(team_type const& team, std::vector<std::uint64_t> const& own)
      : team_(&team), words_(make_window<std::uint64_t>(team, own.size())) {
    fence epoch{words_};
    epoch.to(team.rank()).put(0, std::span(own));
  }
  static std::vector<std::uint64_t> words_of(Map const& map) {
    std::vector<std::uint64_t> words;
    map.algorithm().for_each_kept([&](auto const& key, auto const& value) {
      for (std::uint64_t const w : to_words(key)) words.push_back(w);
      for (std::uint64_t const w : to_words(value)) words.push_back(w);
    });
    return words;
  }

  team_type const* team_;
  window_type words_;
};

}  // namespace detail

/// Writes all pairs of a map to a file. Collective; no rank changes the map meanwhile.
///
/// Rank 0 reads all parts and writes the file. A reader of the file finds the old one or the complete new
/// one. Throws errc::no_space or errc::bad_file on every rank if the file cannot be written.
template <transportable Key, transportable Value, auto Policy, class Hash, class Equal, backend Backend,
          coherence_policy Coherence, protocol_bundle Protocols>
  requires policy_of_accesses<decltype(Policy)>
void save(distributed_map<Key, Value, Policy, Hash, Equal, Backend, Coherence, Protocols> const& map,
          std::filesystem::path const& path) {
  auto const& team = map.team();
  team.barrier();
  detail::map_file_failure failure;
  if (team.rank() == 0) failure = detail::write_map(map, path);
  detail::agree(team, failure, path, "save");
}

/// Updates a map with all pairs of a file, which any number of ranks has saved. Collective.
///
/// Each rank reads its share of the file, which it must see under this path, and puts the pairs where they
/// belong. Returns on every rank when the map has all pairs. Throws on every rank errc::bad_file if the file
/// cannot be read or is no map of such keys and values, and errc::no_space if a part is full; the map then
/// has some of the pairs.
template <transportable Key, transportable Value, auto Policy, class Hash, class Equal, backend Backend,
          coherence_policy Coherence, protocol_bundle Protocols>
  requires policy_of_accesses<decltype(Policy)>
void load(distributed_map<Key, Value, Policy, Hash, Equal, Backend, Coherence, Protocols>& map,
          std::filesystem::path const& path) {
  detail::read_file const from(path);
  auto const header = detail::header_of(map, from, path);
  auto const& team = map.team();
  auto const failure = detail::read_map(map, from, header, static_cast<std::uint64_t>(team.rank()),
                                        static_cast<std::uint64_t>(team.size()));
  detail::agree(team, failure, path, "load");
}

/// The same for a map of messages: ends a run, and writes what its ranks keep. Collective.
///
/// Each rank's pairs go through a window to rank 0, which writes them. Servers need not be clients.
template <transportable Key, transportable Value, auto Policy, class Hash, class Equal, backend Backend,
          coherence_policy Coherence, protocol_bundle Protocols>
  requires policy_of_messages<decltype(Policy)>
void save(distributed_map<Key, Value, Policy, Hash, Equal, Backend, Coherence, Protocols>& map,
          std::filesystem::path const& path) {
  map.serve();
  detail::gathered_pairs const all(map);
  detail::map_file_failure failure;
  if (map.team().rank() == 0) failure = detail::write_map(all, path);
  detail::agree(map.team(), failure, path, "save");
}

/// The same for a map of messages: ends a run, and its clients update the map in a run of their own.
/// Collective.
template <transportable Key, transportable Value, auto Policy, class Hash, class Equal, backend Backend,
          coherence_policy Coherence, protocol_bundle Protocols>
  requires policy_of_messages<decltype(Policy)>
void load(distributed_map<Key, Value, Policy, Hash, Equal, Backend, Coherence, Protocols>& map,
          std::filesystem::path const& path) {
  map.serve();
  detail::read_file const from(path);
  auto const header = detail::header_of(map, from, path);
  auto const& team = map.team();
  auto const are_clients = team.all_gather(map.is_client() ? 1 : 0);
  auto const self = are_clients.begin() + team.rank();
  detail::map_file_failure failure;
  if (map.is_client()) {
    failure = detail::read_map(
        map, from, header, static_cast<std::uint64_t>(std::count(are_clients.begin(), self, 1)),
        static_cast<std::uint64_t>(std::count(are_clients.begin(), are_clients.end(), 1)));
  }
  map.serve();
  detail::agree(team, failure, path, "load");
}

}  // namespace PGAS_NAMESPACE
