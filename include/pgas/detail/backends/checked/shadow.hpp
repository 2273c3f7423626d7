// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <pgas/detail/backends/checked/memory.hpp>
#include <pgas/detail/backends/checked/record.hpp>

namespace PGAS_NAMESPACE::detail::checking {

/// The earlier accesses to each byte of the arena that later accesses must be ordered with.
///
/// A block has eight strips. An access to whole strips has one record in their block, so a long access costs
/// little more than its copy. Other accesses have a record at each granule. Both kinds of records count: no
/// record of a granule replaces one of its block. An access removes the records that are before it and that
/// it covers: an access that is unordered with them is unordered with it, too.
///
/// A block's lock guards its records and those of its granules. Source: the shadow cells of the thread
/// sanitizer, Serebryany and Iskhodzhanov 2009; the rule for reads is that of FastTrack, Flanagan and Freund
/// 2009. Ours has records of blocks and keeps all unordered readers. A cell has the atomic accesses of each
/// rank, which need no order, beside the plain ones.
class shadow {
 public:
  /// A record that the access conflicts with, and the first byte of the conflict. No record: no conflict.
  struct conflict {
    record with;
    std::uint64_t byte = 0;
  };

  explicit shadow(memory& m, job const& of) noexcept : memory_(&m), job_(&of) {}

  /// Checks an access to bytes of the arena, and keeps it. `is_before(record)` says whether the access of
  /// a record happened before the present of this rank.
  template <class IsBefore>
  conflict access(std::uint64_t first, std::uint64_t bytes, record x, IsBefore const& is_before) const {
    conflict found;
    std::uint64_t const end = first + bytes;
    while (first < end && found.with.bits() == 0) {
      std::uint64_t const n = first / memory::block_bytes;
      std::uint64_t const here = std::min(end, (n + 1) * memory::block_bytes);
      auto& b = memory_->block_at(n);
      spin_lock const hold(b.lock, *job_);
      std::uint64_t const strips = (first + strip - 1) / strip * strip;
      std::uint64_t const behind = here / strip * strip;
      if (strips < behind) {
        strips_of_block(n, b, strips, behind, x, is_before, found);
        if (first < strips && found.with.bits() == 0)
          granules_of_block(n, b, first, strips, x, is_before, found);
        if (behind < here && found.with.bits() == 0)
          granules_of_block(n, b, behind, here, x, is_before, found);
      } else {
        granules_of_block(n, b, first, here, x, is_before, found);
      }
      first = here;
    }
    return found;
  }

 private:
  static constexpr std::size_t most_kept = 4 * static_cast<std::size_t>(most_ranks);
  /// A record of a block has a bit for each strip of it.
  static constexpr std::uint64_t strip = memory::block_bytes / 8;

  /// A block has a bit for so many granules, see memory::block::used_cells.
  static constexpr std::size_t group = memory::granules / 32;
  static_assert(strip % (group * memory::granule) == 0);

  /// The bits of the granules [begin, behind) of a block.
  static std::uint32_t groups_at(std::size_t begin, std::size_t behind) noexcept {
    std::size_t const first = begin / group;
    return (~std::uint32_t{0} >> (32 - ((behind - 1) / group + 1 - first))) << first;
  }

  template <class IsBefore>
  static bool is_wrong(record r, record x, IsBefore const& is_before) {
    return (r.mask() & x.mask()) != 0 && r.conflicts_with(x) && !is_before(r);
  }
  /// True if the record of an earlier access is not needed once x is kept, as far as x has its bytes.
  template <class IsBefore>
  static bool is_replaced(record r, record x, IsBefore const& is_before) {
    return x.covers(r) && (r.is_like(x) || is_before(r));
  }

  /// True if this rank repeats an access that was complete at once, as in each step of a loop.
  static bool is_repeated(record r, record x) noexcept {
    return r.is_like(x) && !x.is_pending() && (r.mask() & ~x.mask()) == 0;
  }

  /// The strips of a block that bytes [first, end) of it touch, as the mask of a record of the block.
  static std::uint64_t strips_at(std::uint64_t first, std::uint64_t end) noexcept {
    std::uint64_t const from = first % memory::block_bytes / strip;
    std::uint64_t const count = (end - 1) / strip - first / strip + 1;
    return (record::all_bytes >> (8 - count)) << from;
  }

  /// An access to whole strips has one record in the block.
  template <class IsBefore>
  void strips_of_block(std::uint64_t n, memory::block& b, std::uint64_t first, std::uint64_t end, record x,
                       IsBefore const& is_before, conflict& found) const {
    record const mine = x.with_mask(strips_at(first, end));
    std::uint64_t strips = mine.mask();
    std::size_t kept = 0;
    for (auto const bits : b.records) {
      if (bits == 0) break;
      record const r(bits);
      if (is_wrong(r, mine, is_before)) return note(found, r, first_byte(n, r, mine, first));
      if (r.is_like(mine) && r.clock() == mine.clock() && r.place() == mine.place()) {
        strips |= r.mask();
      } else if (auto const left = is_replaced(r, mine, is_before) ? r.mask() & ~mine.mask() : r.mask();
                 left != 0) {
        b.records[kept++] = r.with_mask(left).bits();
      }
    }
    std::size_t const begin = first % memory::block_bytes / memory::granule;
    std::size_t const behind = begin + (end - first) / memory::granule;
    memory::cell* const cells = memory_->cells_of(n);
    std::uint32_t const touched = groups_at(begin, behind);
    if ((b.used_cells & touched) != 0) {
      bool const clears = x.writes() && !x.is_atomic();
      for (std::uint32_t left = b.used_cells & touched; left != 0; left &= left - 1) {
        auto const from = static_cast<std::size_t>(std::countr_zero(left)) * group;
        for (std::size_t i = from; i < from + group; ++i) {
          if (cells[i].first == 0 && cells[i].second == 0) continue;
          if (check_cell(cells[i], x, is_before, found, n * memory::block_bytes + i * memory::granule))
            return;
          if (clears) clear(cells[i]);
        }
      }
      if (clears) b.used_cells &= ~touched;
    }
    if (kept == b.records.size()) {  // as many unordered accesses as a block has room for
      for (std::size_t i = begin; i < behind; ++i) keep(cells[i], x, is_before);
      b.used_cells |= touched;
      return;
    }
    b.records[kept++] = x.with_mask(strips).bits();
    for (; kept < b.records.size(); ++kept) b.records[kept] = 0;
  }
  /// The first byte that a record of a block and an access from `first` on have in common.
  static std::uint64_t first_byte(std::uint64_t n, record r, record x, std::uint64_t first) noexcept {
    auto const which = static_cast<std::uint64_t>(std::countr_zero(r.mask() & x.mask()));
    return std::max(first, n * memory::block_bytes + which * strip);
  }

  template <class IsBefore>
  void granules_of_block(std::uint64_t n, memory::block& b, std::uint64_t first, std::uint64_t end, record x,
                         IsBefore const& is_before, conflict& found) const {
    record const touched = x.with_mask(strips_at(first, end));
    for (auto const bits : b.records) {
      if (bits == 0) break;
      record const r(bits);
      if (is_wrong(r, touched, is_before)) return note(found, r, first_byte(n, r, touched, first));
    }
    memory::cell* const cells = memory_->cells_of(n);
    std::uint64_t const origin = n * memory::block_bytes;
    b.used_cells |= groups_at((first - origin) / memory::granule, (end - 1 - origin) / memory::granule + 1);
    while (first < end) {
      std::uint64_t const begin = first / memory::granule * memory::granule;
      std::uint64_t const here = std::min(end, begin + memory::granule);
      std::uint64_t const ones = (record::all_bytes >> (memory::granule - (here - first))) << (first - begin);
      record const mine = x.with_mask(ones);
      memory::cell& c = cells[(begin - origin) / memory::granule];
      if (c.second == 0 && (c.first == 0 || is_repeated(record(c.first), mine))) {
        c.first = mine.bits();
      } else {
        if (check_cell(c, mine, is_before, found, begin)) return;
        keep(c, mine, is_before);
      }
      first = here;
    }
  }

  static void note(conflict& found, record r, std::uint64_t byte) { found = {r, byte}; }

  static bool is_link(std::uint64_t bits) noexcept { return bits != 0 && record(bits).mask() == 0; }

  /// Calls use(record) for the records of a granule until it returns true.
  template <class Use>
  bool any_of(memory::cell const& c, Use const& use) const {
    if (c.first != 0 && use(record(c.first))) return true;
    if (!is_link(c.second)) return c.second != 0 && use(record(c.second));
    for (std::uint64_t n = c.second; n != 0; n = memory_->node_at(n).next) {
      for (auto const bits : memory_->node_at(n).records) {
        if (bits != 0 && use(record(bits))) return true;
      }
    }
    return false;
  }
  template <class IsBefore>
  bool check_cell(memory::cell const& c, record x, IsBefore const& is_before, conflict& found,
                  std::uint64_t begin) const {
    return any_of(c, [&](record r) {
      if (!is_wrong(r, x, is_before)) return false;
      note(found, r, begin + static_cast<std::uint64_t>(std::countr_zero(r.mask() & x.mask())));
      return true;
    });
  }

  /// Keeps x beside the records that it does not replace.
  template <class IsBefore>
  void keep(memory::cell& c, record x, IsBefore const& is_before) const {
    if (is_link(c.second)) {
      keep_among<most_kept>(c, x, is_before);
    } else {
      keep_among<3>(c, x, is_before);
    }
  }
  template <std::size_t Most, class IsBefore>
  void keep_among(memory::cell& c, record x, IsBefore const& is_before) const {
    std::array<std::uint64_t, Most> all{};
    std::size_t count = 0;
    any_of(c, [&](record r) {
      if (r.is_like(x) && r.clock() == x.clock() && r.place() == x.place()) {
        x = x.with_mask(x.mask() | r.mask());
      } else if (std::uint64_t const left = is_replaced(r, x, is_before) ? r.mask() & ~x.mask() : r.mask();
                 left != 0 && count + 1 < all.size()) {
        all[count++] = r.with_mask(left).bits();
      }
      return false;
    });
    all[count++] = x.bits();
    if (count <= 2 && !is_link(c.second)) {
      c = {all[0], all[1]};
      return;
    }
    clear(c);
    c.first = all[0];
    if (count <= 2) {
      c.second = all[1];
      return;
    }
    for (std::size_t i = 1; i < count; i += 3) {
      std::uint64_t const n = memory_->take_node(*job_);
      if (n == 0) return;  // the records that have no room are forgotten: a race may be missed
      memory_->node_at(n) = {{all[i], i + 1 < count ? all[i + 1] : 0, i + 2 < count ? all[i + 2] : 0},
                             c.second};
      c.second = n;
    }
  }
  void clear(memory::cell& c) const {
    if (is_link(c.second)) {
      for (std::uint64_t n = c.second; n != 0;) {
        std::uint64_t const next = memory_->node_at(n).next;
        memory_->give_node(n, *job_);
        n = next;
      }
    }
    c = {};
  }

  memory* memory_;
  job const* job_;
};

}  // namespace PGAS_NAMESPACE::detail::checking
