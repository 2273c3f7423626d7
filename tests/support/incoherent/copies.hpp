// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <bitset>
#include <compare>

#include "memory.hpp"

namespace pgas_test::incoherent {

/// One rank's private copies of a window's parts: a write-back cache without coherence.
///
/// It writes back modified lines only, either whole or by their modified bytes. A clean waits in a store
/// buffer until drain_stores, and a drop waits until drain_all; both may happen earlier. Only accesses to one
/// line keep their order: a fill finds the line as this rank has cleaned it. Only the rank's thread uses
/// this.
class copies {
 public:
  copies(home_memory& home, adversary const& a, dice& d, counters& c) noexcept
      : home_(&home), against_(&a), dice_(&d), counters_(&c), line_bytes_(a.line()) {}

  void load(location at, bytes_out into) {
    ++counters_->loads;
    each_line(at, into.size(), [&](line_id id, std::size_t in_line, std::size_t done, std::size_t count) {
      std::copy_n(find_or_fill(id).bytes.begin() + static_cast<std::ptrdiff_t>(in_line), count,
                  into.begin() + static_cast<std::ptrdiff_t>(done));
    });
    misbehave();
  }

  void store(location at, bytes_in from) {
    ++counters_->stores;
    each_line(at, from.size(), [&](line_id id, std::size_t in_line, std::size_t done, std::size_t count) {
      line& copy = find_or_fill(id);
      std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(done), count,
                  copy.bytes.begin() + static_cast<std::ptrdiff_t>(in_line));
      for (std::size_t i = 0; i < count; ++i) copy.modified.set(in_line + i);
    });
    misbehave();
  }

  void clean(location at, std::size_t count) {
    ++counters_->cleans;
    auto const range = lines_of(at, count);
    for (auto it = lines_.lower_bound(range.first); it != lines_.end() && it->first <= range.last; ++it) {
      line& copy = it->second;
      if (copy.modified.none()) continue;
      // An earlier clean that still waits becomes part of this clean.
      if (auto const waiting = buffer_.find(it->first); waiting != buffer_.end())
        copy.modified |= waiting->second.modified;
      buffer_.insert_or_assign(it->first, copy);
      copy.modified.reset();
    }
    misbehave();
  }

  void drop(location at, std::size_t count) {
    ++counters_->drops;
    if (count != 0) dropping_.push_back(lines_of(at, count));
    misbehave();
  }

  void drain_stores() {
    ++counters_->store_drains;
    while (!buffer_.empty()) drain(buffer_.begin());
    misbehave();
  }

  /// Completes all earlier drops. It orders loads and leaves cleans alone.
  void drain_all() {
    ++counters_->full_drains;
    for (auto const& range : dropping_) forget(range);
    dropping_.clear();
    misbehave();
  }

  /// Acts as a cache may at any time. It acts after an operation, not before one, so that the next operation
  /// finds a copy that is already old.
  void misbehave() {
    if (dice_->one_in(against_->fill)) speculate();
    if (dice_->one_in(against_->evict)) evict();
    if (dice_->one_in(against_->drain)) drain_early();
  }

 private:
  /// Room for the longest line; a shorter line uses the beginning.
  using line_bytes = std::array<std::byte, longest_line>;
  using byte_mask = std::bitset<longest_line>;

  struct line_id {
    rank_t rank = 0;
    std::size_t number = 0;  ///< in the rank's part
    friend auto operator<=>(line_id const&, line_id const&) = default;
  };
  struct line_range {
    line_id first;
    line_id last;
  };
  struct line {
    line_bytes bytes{};
    byte_mask modified;
  };
  using line_map = std::map<line_id, line>;

  /// The lines that a range touches, including partial lines at its ends.
  [[nodiscard]] line_range lines_of(location at, std::size_t count) const noexcept {
    return {{at.rank, at.offset / line_bytes_}, {at.rank, (at.offset + count - 1) / line_bytes_}};
  }

  template <class Use>
  void each_line(location at, std::size_t size, Use&& use) {
    for (std::size_t done = 0; done < size;) {
      std::size_t const in_line = (at.offset + done) % line_bytes_;
      std::size_t const count = std::min(size - done, line_bytes_ - in_line);
      use(last_ = line_id{at.rank, (at.offset + done) / line_bytes_}, in_line, done, count);
      done += count;
    }
  }

  /// The length of a line; the last line of a part may be short.
  [[nodiscard]] std::size_t length(line_id id) const noexcept {
    return std::min(line_bytes_, home_->part_bytes(id.rank) - id.number * line_bytes_);
  }

  line& find_or_fill(line_id id) {
    auto const found = lines_.find(id);
    return found != lines_.end() ? found->second : fill(id);
  }
  line& fill(line_id id) {
    ++counters_->fills;
    if (auto const cleaned = buffer_.find(id); cleaned != buffer_.end()) drain(cleaned);
    line& copy = lines_[id];
    home_->read({id.rank, id.number * line_bytes_}, bytes_out(copy.bytes).first(length(id)));
    return copy;
  }

  void write_home(line_id id, line const& from) {
    ++counters_->write_backs;
    std::size_t const start = id.number * line_bytes_;
    if (!dice_->one_in(against_->masked)) {
      home_->write({id.rank, start}, bytes_in(from.bytes).first(length(id)));
      return;
    }
    for (std::size_t i = 0; i < length(id); ++i) {
      if (from.modified.test(i)) home_->write({id.rank, start + i}, bytes_in(from.bytes).subspan(i, 1));
    }
  }
  void drain(line_map::iterator cleaned) {
    write_home(cleaned->first, cleaned->second);
    buffer_.erase(cleaned);
  }

  line_map::iterator give_up(line_map::iterator it) {
    if (line& copy = it->second; copy.modified.any()) {
      // An older clean of the same line must not overwrite these newer bytes, so it becomes part of them.
      if (auto const waiting = buffer_.find(it->first); waiting != buffer_.end()) {
        copy.modified |= waiting->second.modified;
        buffer_.erase(waiting);
      }
      write_home(it->first, copy);
    }
    return lines_.erase(it);
  }
  /// Drops lines: modified copies may be written back, or lost.
  void forget(line_range range) {
    for (auto it = lines_.lower_bound(range.first); it != lines_.end() && it->first <= range.last;) {
      if (it->second.modified.any() && dice_->one_in(against_->discard)) it->second.modified.reset();
      it = give_up(it);
    }
  }

  void speculate() {
    // In half of the cases near the last access, like a prefetcher; else anywhere.
    line_id id = last_;
    if (dice_->one_in(2)) {
      id.number = id.number + dice_->below(3);
      if (id.number == 0) return;
      --id.number;
    } else {
      id.rank = static_cast<rank_t>(dice_->below(static_cast<std::size_t>(home_->size())));
      std::size_t const lines = (home_->part_bytes(id.rank) + line_bytes_ - 1) / line_bytes_;
      if (lines == 0) return;
      id.number = dice_->below(lines);
    }
    if (id.number * line_bytes_ >= home_->part_bytes(id.rank) || lines_.contains(id)) return;
    ++counters_->speculative_fills;
    fill(id);
  }
  void evict() {
    if (lines_.empty()) return;
    ++counters_->evictions;
    auto it = lines_.begin();
    if (dice_->one_in(2)) {
      it = lines_.lower_bound(last_);
    } else {
      auto const rank = static_cast<rank_t>(dice_->below(static_cast<std::size_t>(home_->size())));
      it = lines_.lower_bound({rank, dice_->below(home_->part_bytes(rank) / line_bytes_ + 1)});
    }
    give_up(it != lines_.end() ? it : lines_.begin());
  }
  void drain_early() {
    if (!buffer_.empty() && dice_->one_in(2)) {
      auto const it = buffer_.lower_bound(last_);
      drain(it != buffer_.end() ? it : buffer_.begin());
    } else if (!dropping_.empty()) {
      // The range stays on the list: drain_all must also drop the lines that are filled from now on.
      forget(dropping_[dice_->below(dropping_.size())]);
    }
  }

  home_memory* home_;
  adversary const* against_;
  dice* dice_;
  counters* counters_;
  std::size_t line_bytes_;
  line_map lines_;
  line_map buffer_;  ///< cleaned, not drained
  std::vector<line_range> dropping_;
  line_id last_;
};

}  // namespace pgas_test::incoherent
