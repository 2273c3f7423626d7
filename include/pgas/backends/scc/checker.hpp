// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <pgas/backends/scc/cache.hpp>
#include <pgas/backends/scc/memory.hpp>
#include <pgas/backends/scc/word_history.hpp>
#include <pgas/concepts/segment.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail::scc {

/// The oracle: knows the last write of each byte of a window, independent of all copies.
///
/// Control words order the ranks. A release leaves the rank's knowledge in the word; an acquire adds the
/// word's knowledge to the rank's. A wait adds no more than the earliest value left that would have ended it:
/// a rank that was slow learns no order that the program does not promise. The oracle reports three faults:
/// - stale: a read returns another value than the last write that happened before it.
/// - race: an access is unordered with another rank's last write of the byte, or a write with another rank's
///   read.
/// - false sharing: two unordered writes are to different bytes of a line, and one went through a cache. The
///   line goes back whole, so one write can be lost.
///
/// Memory: 16 bytes and a copy of the line for each line that was written. Each further rank that has written
/// or read part of the line takes as much again, until a later write replaces its bytes.
class checker {
 public:
  /// The place of an access in the program: its return address.
  using site = void const*;

  struct access {
    rank_t rank = 0;
    site where = nullptr;
  };
  enum class fault { none, stale, race, false_sharing };
  struct verdict {
    fault what = fault::none;
    access last;
    std::size_t byte = 0;  ///< in the line: the first wrong byte
    std::byte expected{};
    bool last_is_read = false;
  };

  explicit checker(rank_t cores)
      : clocks_(static_cast<std::size_t>(cores)), last_access_(static_cast<std::size_t>(cores)) {
    for (std::size_t r = 0; r < clocks_.size(); ++r) clocks_[r][r] = 1;
    records_.emplace_back();  // index 0 means none
    truths_.emplace_back();
    sites_.push_back(nullptr);
  }

  // Order

  void release(rank_t self, vector_clock& word) {
    auto& mine = clocks_[index(self)];
    join(word, mine);
    ++mine[index(self)];
  }
  void acquire(rank_t self, vector_clock const& word) {
    accessed(self);
    join(clocks_[index(self)], word);
  }
  /// The rank has accessed a control word, and neither acquires nor releases.
  void accessed(rank_t self) noexcept { last_access_[index(self)] = ++accesses_; }
  /// The rank stores a value to a control word.
  void stored(rank_t self, word_history& of, word value, bool releases) {
    accessed(self);
    auto& now = of.store(value, accesses_);
    if (releases) release(self, now.knowledge);
  }
  /// A wait of the rank ends, as the word's value allows. Returns the value that the wait has taken: the
  /// earliest since the rank's access before that ends it.
  template <class Predicate>
  word ended_wait(rank_t self, word_history const& of, Predicate&& predicate) {
    auto const& taken = of.earliest(last_access_[index(self)], predicate);
    acquire(self, taken.knowledge);
    return taken.value;
  }
  /// All ranks have met, by other means than control words.
  void all_met() {
    vector_clock all{};
    for (auto const& c : clocks_) join(all, c);
    for (std::size_t r = 0; r < clocks_.size(); ++r) {
      clocks_[r] = all;
      ++clocks_[r][r];
    }
  }

  // Accesses to bytes of one line

  verdict wrote(rank_t self, system_address at, bytes_in bytes, bool through_cache, site where) {
    std::size_t const in_line = at % line_bytes;
    std::uint32_t const mask = mask_of(in_line, bytes.size());
    std::uint32_t& head = head_of(at);
    verdict v;
    std::uint32_t mine = 0;
    for (std::uint32_t i = head; i != 0; i = records_[i].next) {
      record& r = records_[i];
      if (r.mask != 0 && v.what == fault::none && !is_before(self, r)) {
        if ((r.mask & mask) != 0) {
          v = {fault::race, last(r), first_of(r.mask & mask), {}, r.is_read != 0};
        } else if (r.is_read == 0 && (through_cache || r.through_cache != 0)) {
          v = {fault::false_sharing, last(r), first_of(r.mask), {}};
        }
      }
      r.mask &= ~mask;
      if (r.is_read == 0 && is_of(self, r) && (r.clock == clock_of(self) || r.mask == 0)) mine = i;
    }
    note(head, mine, self, mask, through_cache, false, where);
    drop_empty(head);
    std::copy(bytes.begin(), bytes.end(), truths_[head].begin() + static_cast<std::ptrdiff_t>(in_line));
    return v;
  }

  /// `may_race`: the program may never look at these bytes, as in a copy of a whole part.
  [[nodiscard]] verdict read(rank_t self, system_address at, bytes_in seen, bool may_race, site where) {
    if (may_race && known_head_of(at) == 0) return {};
    std::uint32_t& head = head_of(at);
    std::size_t const in_line = at % line_bytes;
    std::uint32_t const mask = mask_of(in_line, seen.size());
    std::uint32_t mine = 0;
    bool empty = false;
    for (std::uint32_t i = head; i != 0; i = records_[i].next) {
      record& r = records_[i];
      if (r.is_read != 0) {
        if (!is_of(self, r)) continue;
        if (r.clock == clock_of(self) || (r.mask & ~mask) == 0) {
          mine = i;
        } else {
          r.mask &= ~mask;
        }
        empty = empty || r.mask == 0;
        continue;
      }
      std::uint32_t both = r.mask & mask;
      if (both == 0) continue;
      if (!is_before(self, r)) {
        if (may_race) continue;
        return {fault::race, last(r), first_of(both), {}};
      }
      for (; both != 0; both &= both - 1) {
        std::size_t const byte = first_of(both);
        if (seen[byte - in_line] != truths_[head][byte])
          return {fault::stale, last(r), byte, truths_[head][byte]};
      }
    }
    if (!may_race) note(head, mine, self, mask, false, true, where);
    if (empty) drop_empty(head);
    return {};
  }

  /// Forgets these bytes: they belong to no window any more.
  void forget(system_address first, std::uint64_t bytes) {
    for (std::uint64_t n = first / line_bytes; n * line_bytes < first + bytes; ++n) {
      auto const it = chunks_.find(n / chunk_lines);
      if (it == chunks_.end()) {
        n = (n / chunk_lines + 1) * chunk_lines - 1;
        continue;
      }
      std::uint32_t& head = (*it->second)[n % chunk_lines];
      while (head != 0) free(std::exchange(head, records_[head].next));
    }
  }

 private:
  struct record {
    std::uint32_t mask = 0;   ///< bytes whose last write this is, or that this rank has read since
    std::uint32_t clock = 0;  ///< how many releases of the rank came before it
    std::uint32_t next = 0;
    std::uint32_t where : 17 = 0;  ///< in sites_
    std::uint32_t through_cache : 1 = 0;
    std::uint32_t is_read : 1 = 0;
    std::uint32_t rank : 13 = 0;
  };
  static_assert(sizeof(record) == 16);

  static constexpr std::uint32_t most_sites = (1U << 17U) - 1;
  static constexpr std::size_t chunk_lines = 2048;
  using chunk = std::array<std::uint32_t, chunk_lines>;

  static std::size_t index(rank_t rank) noexcept { return static_cast<std::size_t>(rank); }
  static std::size_t first_of(std::uint32_t mask) noexcept {
    return static_cast<std::size_t>(std::countr_zero(mask));
  }
  static std::uint32_t mask_of(std::size_t in_line, std::size_t count) noexcept {
    std::uint32_t const ones = count == line_bytes ? ~std::uint32_t{0} : (std::uint32_t{1} << count) - 1;
    return ones << in_line;
  }
  static void join(vector_clock& a, vector_clock const& b) noexcept {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = std::max(a[i], b[i]);
  }

  [[nodiscard]] std::uint32_t clock_of(rank_t self) const noexcept {
    return clocks_[index(self)][index(self)];
  }
  static bool is_of(rank_t self, record const& r) noexcept { return static_cast<rank_t>(r.rank) == self; }
  /// True if the access of the record happened before the rank's present.
  [[nodiscard]] bool is_before(rank_t self, record const& r) const noexcept {
    return is_of(self, r) || clocks_[index(self)][r.rank] >= r.clock;
  }
  [[nodiscard]] access last(record const& r) const noexcept {
    return {static_cast<rank_t>(r.rank), sites_[r.where]};
  }

  /// Adds an access to a record of its rank, or to a new one.
  void note(std::uint32_t& head, std::uint32_t mine, rank_t self, std::uint32_t mask, bool through_cache,
            bool is_read, site where) {
    if (mine == 0) {
      mine = make();
      if (head == 0) {
        head = mine;
      } else {  // behind the first record, whose line holds the truth
        records_[mine].next = records_[head].next;
        records_[head].next = mine;
      }
    }
    record& r = records_[mine];
    r.mask |= mask;
    r.clock = clock_of(self);
    r.rank = static_cast<std::uint32_t>(self) & 0x1fffU;
    r.through_cache = through_cache ? 1 : 0;
    r.is_read = is_read ? 1 : 0;
    r.where = number_of(where) & most_sites;
  }

  std::uint32_t& head_of(system_address at) {
    std::uint64_t const n = at / line_bytes;
    if (n / chunk_lines != last_chunk_number_ || last_chunk_ == nullptr) {
      auto& c = chunks_[n / chunk_lines];
      if (!c) c = std::make_unique<chunk>();
      last_chunk_number_ = n / chunk_lines;
      last_chunk_ = c.get();
    }
    return (*last_chunk_)[n % chunk_lines];
  }
  [[nodiscard]] std::uint32_t known_head_of(system_address at) {
    std::uint64_t const n = at / line_bytes;
    if (n / chunk_lines != last_chunk_number_ || last_chunk_ == nullptr) {
      auto const it = chunks_.find(n / chunk_lines);
      if (it == chunks_.end()) return 0;
      last_chunk_number_ = n / chunk_lines;
      last_chunk_ = it->second.get();
    }
    return (*last_chunk_)[n % chunk_lines];
  }

  std::uint32_t make() {
    if (!free_.empty()) {
      std::uint32_t const i = free_.back();
      free_.pop_back();
      records_[i] = {};
      return i;
    }
    records_.emplace_back();
    truths_.emplace_back();
    return static_cast<std::uint32_t>(records_.size() - 1);
  }
  void free(std::uint32_t i) { free_.push_back(i); }

  /// Removes the records whose bytes later writes have replaced, except the first.
  void drop_empty(std::uint32_t head) {
    for (std::uint32_t i = head; records_[i].next != 0;) {
      std::uint32_t const next = records_[i].next;
      if (records_[next].mask == 0) {
        records_[i].next = records_[next].next;
        free(next);
      } else {
        i = next;
      }
    }
  }

  /// Returns the number of a place. A program has few places, so each is stored once; the last number means
  /// "no room".
  std::uint32_t number_of(site where) {
    if (where == last_site_) return last_site_number_;
    auto const [it, is_new] = site_numbers_.try_emplace(where, static_cast<std::uint32_t>(sites_.size()));
    if (is_new && sites_.size() <= most_sites) sites_.push_back(where);
    last_site_ = where;
    last_site_number_ = std::min(it->second, most_sites);
    return last_site_number_;
  }

  std::vector<vector_clock> clocks_;
  std::vector<std::uint64_t> last_access_;  ///< of each rank to a control word, among those of all ranks
  std::uint64_t accesses_ = 0;
  std::unordered_map<std::uint64_t, std::unique_ptr<chunk>> chunks_;
  std::uint64_t last_chunk_number_ = 0;
  chunk* last_chunk_ = nullptr;
  std::vector<record> records_;
  std::vector<line> truths_;  ///< beside the first record of each line: the bytes of its last writes
  std::vector<std::uint32_t> free_;
  std::vector<site> sites_;
  std::unordered_map<site, std::uint32_t> site_numbers_;
  site last_site_ = nullptr;
  std::uint32_t last_site_number_ = 0;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::scc
