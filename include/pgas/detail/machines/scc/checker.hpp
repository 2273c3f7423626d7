// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/machines/scc/cache.hpp>
#include <pgas/detail/machines/scc/memory.hpp>
#include <pgas/detail/machines/scc/places.hpp>
#include <pgas/detail/machines/scc/rank_orders.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail::scc {

/// The oracle: it knows the last write of each byte of a window, independent of all copies.
///
/// Control words order the ranks, see rank_orders. A put or a get happens at some time between its call and
/// its flush. The oracle reports four faults:
/// - stale: a read returns another value than the last write that happened before it.
/// - race: an access is unordered with another rank's last write of the byte, or a write with another rank's
///   read. Two atomic operations do not race.
/// - unflushed: the same for two accesses of one rank, the first of which it has not flushed.
/// - false sharing: two unordered writes are to different bytes of a line, and one went through a cache. The
///   line goes back whole, so one write can be lost.
///
/// Memory: 24 bytes and a copy of the line for each line that was written. Each further rank that has written
/// or read part of the line takes as much again, until a later write replaces its bytes.
class checker : public rank_orders {
 public:
  using access = checked_access;
  using fault = check_fault;
  using missing = missing_order;
  using verdict = check_verdict;

  explicit checker(rank_t cores, pgas::scc::check_rules const& rules = {})
      : rank_orders(cores, rules),
        kinds_(static_cast<std::size_t>(cores)),
        ends_with_(static_cast<std::size_t>(cores)),
        published_(static_cast<std::size_t>(cores)),
        open_(static_cast<std::size_t>(cores)) {
    records_.emplace_back();  // index 0 means none
    truths_.emplace_back();
  }

  /// The places of the accesses.
  places known_places;

  // The program's accesses

  /// The rank's transfers are parts of such an access from now on. Returns the previous kind.
  access_kind enter(rank_t self, access_kind kind) noexcept {
    return std::exchange(kinds_[static_cast<std::size_t>(self)], kind);
  }
  using rank_orders::enter;
  [[nodiscard]] access_kind kind_of(rank_t self) const noexcept {
    return kinds_[static_cast<std::size_t>(self)];
  }
  /// False while a flush belongs to one operation of the library, and is not the program's.
  [[nodiscard]] bool ends_operations(rank_t self) const noexcept { return kind_of(self) == access_kind::own; }
  /// The rank's next access to a piece of its own part ends with its transfers to the part at `where`.
  void ends_with(rank_t self, system_address where) noexcept {
    ends_with_[static_cast<std::size_t>(self)] = where / line_bytes;
  }
  /// The rank's operations in the range [first, first + bytes) have happened: all of them, or its reads.
  void complete(rank_t self, system_address first, std::uint64_t bytes, bool writes) {
    if (!ends_operations(self)) return;
    auto& open = open_[static_cast<std::size_t>(self)];
    std::erase_if(open, [&](unfinished const& one) {
      if (rules().targets && (one.until < first / line_bytes || one.until > (first + bytes - 1) / line_bytes))
        return false;
      bool is_left = false;
      for (std::uint32_t i = heads_.known(one.line * line_bytes); i != 0; i = records_[i].next) {
        record& r = records_[i];
        if (!is_of(self, r) || r.is_open == 0) continue;
        if (r.is_read == 0 && !writes && static_cast<access_kind>(r.kind) != access_kind::piece_filled) {
          is_left = true;
        } else {
          r.is_open = 0;
          r.clock = clock_of(self);
        }
      }
      return !is_left;
    });
  }

  /// The rank's stores to its own part are published.
  void publish(rank_t self) noexcept {
    if (published_[static_cast<std::size_t>(self)].publish(clock_of(self))) next(self);
  }

  // Accesses to bytes of one line

  /// `is_own`: in the rank's own part.
  verdict wrote(rank_t self, system_address at, bytes_in bytes, bool through_cache, std::uint32_t where,
                bool is_own = false) {
    std::size_t const in_line = at % line_bytes;
    std::uint32_t const mask = mask_of(in_line, bytes.size());
    std::uint32_t& head = heads_.of(at);
    record now = present(self, false, through_cache, where);
    if (is_own && rules().publication && kind_of(self) == access_kind::own) {
      now.is_kept = 1;
      published_[static_cast<std::size_t>(self)].stored();
    }
    if (record& only = records_[head]; continues(only, now)) {
      now.mask = only.mask | mask;
      only = now;
      copy_to(truths_[head].data() + in_line, bytes);
      return {};
    }
    verdict v;
    std::uint32_t mine = 0;
    for (std::uint32_t i = head; i != 0; i = records_[i].next) {
      record& r = records_[i];
      bool replaces = true;
      if (r.mask != 0 && !is_before(self, r)) {
        std::uint32_t const both = r.mask & mask;
        if (both != 0) {
          replaces = is_of(self, r) || !are_atomic(r, now);
          if (v.what == fault::none && !are_atomic(r, now)) v = unordered(self, r, now, both);
        } else if (v.what == fault::none && !is_of(self, r) && r.is_read == 0 &&
                   (through_cache || r.through_cache != 0)) {
          v = {fault::false_sharing, last(r), first_of(r.mask), {}};
        }
      }
      if (replaces) r.mask &= ~mask;
      if (is_one(r, now)) mine = i;
    }
    note(head, mine, now, mask, at);
    drop_empty(head);
    copy_to(truths_[head].data() + in_line, bytes);
    return v;
  }

  /// `may_race`: the program may never use these bytes, as in a copy of a whole part.
  [[nodiscard]] verdict read(rank_t self, system_address at, bytes_in seen, bool may_race,
                             std::uint32_t where) {
    if (may_race && heads_.known(at) == 0) return {};
    std::uint32_t& head = heads_.of(at);
    std::size_t const in_line = at % line_bytes;
    std::uint32_t const mask = mask_of(in_line, seen.size());
    record const now = present(self, true, false, where);
    std::uint32_t mine = 0;
    std::uint32_t ordered = 0;
    std::uint32_t excused = 0;
    std::uint32_t kept = 0;
    bool empty = false;
    for (std::uint32_t i = head; i != 0; i = records_[i].next) {
      record& r = records_[i];
      if (r.is_read != 0) {
        if (!is_of(self, r) || r.kind != now.kind || r.is_open != now.is_open) continue;
        if (r.clock == now.clock || (r.mask & ~mask) == 0) {
          mine = i;
        } else if (r.is_open == 0) {
          r.mask &= ~mask;
        }
        empty = empty || r.mask == 0;
        continue;
      }
      std::uint32_t const both = r.mask & mask;
      if (both == 0) continue;
      if (is_kept_from(self, r)) {
        kept |= both;
        ordered |= both;
      } else if (is_before(self, r) || (are_atomic(r, now) && is_before_in_elements(self, r))) {
        ordered |= both;
      } else if (may_race || are_atomic(r, now)) {
        excused |= both;
      } else {
        return unordered(self, r, now, both);
      }
    }
    if (ordered != 0 && !are_equal(seen, truths_[head].data() + in_line)) {
      for (std::uint32_t left = ordered & ~excused; left != 0; left &= left - 1) {
        std::size_t const byte = first_of(left);
        if (seen[byte - in_line] != truths_[head][byte])
          return {fault::stale, last(records_[writer_of(head, left & (~left + 1))]), byte,
                  truths_[head][byte]};
      }
    }
    if (kept != 0 && !may_race) {
      verdict v{fault::race, last(records_[writer_of(head, kept & (~kept + 1))]), first_of(kept), {}};
      v.lacks = missing::sync;
      return v;
    }
    if (!may_race) note(head, mine, now, mask, at);
    if (empty) drop_empty(head);
    return {};
  }

  /// Forgets these bytes, which belong to no window any more.
  void forget(system_address first, std::uint64_t bytes) {
    forget_elements(first, bytes);
    for (auto& open : open_) {
      std::erase_if(open, [&](unfinished const& one) {
        return one.line >= first / line_bytes && one.line <= (first + bytes - 1) / line_bytes;
      });
    }
    heads_.for_each(first, bytes, [&](std::uint32_t& head) {
      while (head != 0) free(std::exchange(head, records_[head].next));
    });
  }

 private:
  struct record {
    std::uint32_t mask = 0;   ///< bytes whose last write this is, or that this rank has read since
    std::uint32_t clock = 0;  ///< how many releases of the rank came before its end
    std::uint32_t began = 0;  ///< and before its begin
    std::uint32_t next = 0;
    std::uint32_t where = 0;  ///< in known_places
    // One comparison of a word is enough for is_one, since these five are side by side.
    std::uint32_t rank : 13 = 0;
    std::uint32_t is_read : 1 = 0;
    std::uint32_t kind : 8 = 0;       ///< an access_kind
    std::uint32_t is_open : 1 = 0;    ///< its rank has not flushed it yet
    std::uint32_t is_atomic : 1 = 0;  ///< in scope element
    std::uint32_t through_cache : 1 = 0;
    std::uint32_t is_kept : 1 = 0;  ///< a store to the rank's own part, which a boundary publishes
  };
  static_assert(sizeof(record) == 24);
  /// A line with an access that its rank has not flushed yet.
  struct unfinished {
    std::uint64_t line = 0;
    std::uint64_t until = 0;  ///< a line of the part whose flush ends it
  };

  static std::size_t first_of(std::uint32_t mask) noexcept {
    return static_cast<std::size_t>(std::countr_zero(mask));
  }
  static std::uint32_t mask_of(std::size_t in_line, std::size_t count) noexcept {
    std::uint32_t const ones = count == line_bytes ? ~std::uint32_t{0} : (std::uint32_t{1} << count) - 1;
    return ones << in_line;
  }
  // Most pieces are whole lines, for which a fixed size needs no call.
  static bool are_equal(bytes_in a, std::byte const* b) noexcept {
    return a.size() == line_bytes ? std::memcmp(a.data(), b, line_bytes) == 0
                                  : std::memcmp(a.data(), b, a.size()) == 0;
  }
  static void copy_to(std::byte* to, bytes_in from) noexcept {
    if (from.size() == line_bytes) {
      std::memcpy(to, from.data(), line_bytes);
    } else {
      std::memcpy(to, from.data(), from.size());
    }
  }
  static bool is_of(rank_t self, record const& r) noexcept { return static_cast<rank_t>(r.rank) == self; }
  /// True if the access of the record happened before the rank's present.
  [[nodiscard]] bool is_before(rank_t self, record const& r) const noexcept {
    if (r.is_open != 0) return false;
    return is_of(self, r) || knows(self, static_cast<rank_t>(r.rank), r.clock);
  }
  /// True if the rank would be ordered with a store that its writer has not published.
  [[nodiscard]] bool is_kept_from(rank_t self, record const& r) const noexcept {
    auto const rank = static_cast<rank_t>(r.rank);
    return r.is_kept != 0 && rank != self && knows(self, rank, r.began) &&
           !knows(self, rank, published_[r.rank].time_of(r.began));
  }
  [[nodiscard]] bool is_before_in_elements(rank_t self, record const& r) const noexcept {
    return is_of(self, r) || knows_of_element(self, static_cast<rank_t>(r.rank), r.clock);
  }
  [[nodiscard]] bool are_atomic(record const& a, record const& b) const noexcept {
    return rules().atomics && a.is_atomic != 0 && b.is_atomic != 0;
  }
  [[nodiscard]] static access last(record const& r) noexcept {
    return {static_cast<rank_t>(r.rank), r.where, static_cast<access_kind>(r.kind), r.is_read != 0};
  }
  [[nodiscard]] verdict unordered(rank_t self, record const& r, record const& now,
                                  std::uint32_t both) const noexcept {
    verdict v{is_of(self, r) ? fault::unflushed : fault::race, last(r), first_of(both), {}};
    if (r.is_open != 0 || (r.began != r.clock && knows(self, static_cast<rank_t>(r.rank), r.began))) {
      v.lacks = missing::flush;
    } else if (knows_as_holder(self, static_cast<rank_t>(r.rank), r.clock)) {
      v.lacks = missing::exclusive_lock;
    } else if (r.is_atomic != now.is_atomic) {
      v.lacks = missing::atomicity;
    }
    return v;
  }
  /// The last write of a byte.
  [[nodiscard]] std::uint32_t writer_of(std::uint32_t head, std::uint32_t byte) const noexcept {
    std::uint32_t i = head;
    while (records_[i].is_read != 0 || (records_[i].mask & byte) == 0) i = records_[i].next;
    return i;
  }

  static bool reads_until_flush(access_kind kind) noexcept {
    return kind == access_kind::get || kind == access_kind::piece_read;
  }
  static bool writes_until_flush(access_kind kind) noexcept {
    return kind == access_kind::put || kind == access_kind::put_copied || kind == access_kind::piece_filled;
  }
  /// The rank's present access, without its bytes.
  [[nodiscard]] record present(rank_t self, bool is_read, bool through_cache,
                               std::uint32_t where) const noexcept {
    access_kind const kind = kind_of(self);
    bool const is_open = rules().completion && (is_read ? reads_until_flush(kind) : writes_until_flush(kind));
    record r;
    r.clock = r.began = clock_of(self);
    r.rank = static_cast<std::uint32_t>(self) & 0x1fffU;
    r.through_cache = through_cache ? 1 : 0;
    r.is_read = is_read ? 1 : 0;
    r.where = where;
    r.kind = static_cast<std::uint8_t>(kind);
    r.is_open = is_open ? 1 : 0;
    r.is_atomic = scope_of(self) == order_scope::element ? 1 : 0;
    return r;
  }
  /// True if a record can absorb the present access.
  [[nodiscard]] static bool is_one(record const& r, record const& now) noexcept {
    if (r.mask == 0) return r.rank == now.rank && r.is_read == now.is_read;
    return r.clock == now.clock && r.rank == now.rank && r.is_read == now.is_read && r.kind == now.kind &&
           r.is_open == now.is_open && r.is_atomic == now.is_atomic;
  }

  /// True if the line has a single record, which can absorb the present access and can race with nothing.
  [[nodiscard]] static bool continues(record const& only, record const& now) noexcept {
    return only.mask != 0 && is_one(only, now) && only.next == 0 && only.is_open == 0;
  }

  /// Adds an access to a record of its rank, or to a new one.
  void note(std::uint32_t& head, std::uint32_t mine, record const& now, std::uint32_t mask,
            system_address at) {
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
    bool const is_first = now.is_open != 0 && (r.is_open == 0 || r.mask == 0);
    std::uint32_t const all = r.mask | mask;
    std::uint32_t const next = r.next;
    r = now;
    r.mask = all;
    r.next = next;
    if (!is_first) return;
    auto const kind = static_cast<access_kind>(now.kind);
    bool const is_piece = kind == access_kind::piece_read || kind == access_kind::piece_filled;
    open_[now.rank].push_back({at / line_bytes, is_piece ? ends_with_[now.rank] : at / line_bytes});
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

  std::vector<access_kind> kinds_;             ///< of each rank's present access
  std::vector<std::uint64_t> ends_with_;       ///< of each rank: a line of the part
  std::vector<publications> published_;        ///< of each rank
  std::vector<std::vector<unfinished>> open_;  ///< of each rank
  line_heads heads_;                           ///< the first record of each line
  std::vector<record> records_;
  std::vector<line> truths_;  ///< beside the first record of each line: the bytes of its last writes
  std::vector<std::uint32_t> free_;
};

}  // namespace PGAS_NAMESPACE::detail::scc
