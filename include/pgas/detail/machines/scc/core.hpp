// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/machines/scc/cache.hpp>
#include <pgas/detail/machines/scc/cache_adversary.hpp>
#include <pgas/detail/machines/scc/clock.hpp>
#include <pgas/detail/machines/scc/interrupt_pin.hpp>
#include <pgas/detail/machines/scc/lookup_table.hpp>
#include <pgas/detail/machines/scc/turns.hpp>
#include <pgas/machines/scc/options.hpp>
#include <utility>

namespace PGAS_NAMESPACE::detail::scc {

using pgas::scc::counters;
using pgas::scc::page_type;

/// One core: its caches, its write-combining buffer and its look-up table, over the chip's memory.
///
/// The core is in order and makes one access at a time. No copy is kept coherent, and a store that misses
/// allocates no line. Each access that leaves the caches first passes a scheduling point. Only the core's own
/// fiber uses it while fibers run.
class core {
 public:
  static constexpr std::size_t word_bytes = 4;

  /// `c` is null for an emulator without time.
  core(rank_t number, memory& m, scheduler& s, clock* c, interrupt_pin& pin)
      : number_(number),
        memory_(&m),
        scheduler_(&s),
        clock_(c),
        pin_(&pin),
        adversary_(s.how().against, s.how().seed * 64 + static_cast<std::uint64_t>(number)),
        table_(m, number, s.size(), s.how().mappable_pages) {}
  core(core const&) = delete;
  core& operator=(core const&) = delete;

  [[nodiscard]] rank_t number() const noexcept { return number_; }
  [[nodiscard]] counters& count() noexcept { return counters_; }
  [[nodiscard]] scheduler& turns() const noexcept { return *scheduler_; }

  // Loads and stores of any range of consecutive physical addresses

  void load(page_type type, physical_address at, bytes_out into) {
    each_line(at, into.size(), [&](physical_address piece, std::size_t done, std::size_t count) {
      pin_->look();
      load_piece(type, piece, into.data() + done, count);
      if (std::exchange(left_, false)) misbehave();
    });
  }
  void store(page_type type, physical_address at, bytes_in from) {
    each_line(at, from.size(), [&](physical_address piece, std::size_t done, std::size_t count) {
      pin_->look();
      store_piece(type, piece, from.data() + done, count);
      if (std::exchange(left_, false)) misbehave();
    });
  }

  // Instructions

  /// CL1INVMB: forgets all tagged lines of L1, and loses the modified bytes of mpbt_wb pages.
  void drop_tagged() noexcept {
    ++counters_.tagged_drops;
    spend(&timing::drop_tagged);
    l1_.forget_tagged();
  }
  /// WBINVD: writes L1 back and empties it. A line that L2 holds goes to L2, another to memory. L2 keeps its
  /// lines.
  void write_back_l1() {
    ++counters_.l1_flushes;
    spend(&timing::write_back_l1);
    for (std::size_t i = 0; i < l1_.lines; ++i) give_up_l1(i);
  }
  /// INVD: empties L1 and loses its modified bytes.
  void invalidate_l1() noexcept {
    ++counters_.l1_flushes;
    spend(&timing::kernel);
    for (std::size_t i = 0; i < l1_.lines; ++i) l1_.forget(i);
  }
  /// The kernel's routine: evicts a range from L2 by reading other lines, or all of L2 if the range is as
  /// large.
  void flush_l2(physical_address first, std::size_t bytes) {
    ++counters_.l2_flushes;
    spend(&timing::kernel);
    if (bytes >= l2_.lines * line_bytes) {
      spend(&timing::l2_flush_all);
      for (std::size_t i = 0; i < l2_.lines; ++i) give_up_l2(i);
      return;
    }
    line_number const last = line_of(static_cast<physical_address>(first + bytes - 1));
    for (line_number n = line_of(first); n <= last; ++n) {
      spend(&timing::l2_flush_line);
      if (auto const i = l2_.look(n); i != l2_.none) give_up_l2(i);
    }
  }
  /// Empties the write-combining buffer. Software does so by a store to another line.
  void drain() {
    if (!combined_.is_empty()) push();
  }
  /// True if the buffer holds bytes of this line.
  [[nodiscard]] bool combines(physical_address at) const noexcept { return combined_.holds(line_of(at)); }

  /// Drops the tagged copies of a range that another core has written.
  void forget_tagged(physical_address first, std::size_t bytes) noexcept {
    if (bytes == 0) return;
    for (line_number n = line_of(first), last = line_of(static_cast<physical_address>(first + bytes - 1));
         n <= last; ++n) {
      if (auto const i = l1_.look(n); i != l1_.none && l1_.is_tagged(i)) l1_.forget(i);
    }
  }

  // The look-up table

  /// Points an entry at a page of the chip. The caches keep their lines, so the old page's lines go to the
  /// new page.
  void point_entry(unsigned entry, page_number page) noexcept {
    table_.point(entry, page);
    ++counters_.remaps;
  }
  /// The address at which this core maps a byte of the chip, if it maps the byte.
  [[nodiscard]] std::optional<physical_address> physical(system_address at) const noexcept {
    return table_.physical(at);
  }
  /// Returns the entry that maps a page of another core. If no entry is free, the page replaces the least
  /// used one.
  ///
  /// The caches know physical addresses only, so this first writes back and drops the lines of the old page.
  /// The paper's implementation omits this step, and writes the old page's lines into the new page.
  unsigned map(page_number page) {
    if (auto const known = table_.use(page)) return *known;
    unsigned const entry = table_.least_used();
    if (table_.is_used(entry)) {
      drain();
      write_back_l1();  // tagged lines, too: a drop would lose what an mpbt_wb page has modified
      flush_l2(static_cast<physical_address>(entry * page_bytes), page_bytes);
    }
    reach(station::registers_of(number_), asks::write_word);
    point_entry(entry, page);
    table_.give(entry, page);
    return entry;
  }

  /// Makes the caches forget the lines of a range, modified or not, since its memory is being freed.
  void forget(physical_address first, std::size_t bytes) noexcept {
    if (bytes == 0) return;
    line_number const begin = line_of(first);
    line_number const last = line_of(static_cast<physical_address>(first + bytes - 1));
    l1_.forget_lines(begin, last);
    l2_.forget_lines(begin, last);
    if (!combined_.is_empty() && combined_.number() >= begin && combined_.number() <= last)
      combined_.forget();
    // The adversary must not fetch a line again either: the memory is zeroed for its next window.
    adversary_.forget(begin, last);
  }

  /// The copy in which this core holds an expected byte, for the oracle's report.
  enum class found { nowhere, modified, copied, combined };
  [[nodiscard]] found look(physical_address at, std::byte expected) const noexcept {
    std::size_t const in_line = at % line_bytes;
    if (combines(at) && combined_.holds(in_line, expected)) return found::combined;
    found best = found::nowhere;
    auto const in = [&](auto const& cache) {
      auto const i = cache.look(line_of(at));
      if (i == cache.none || cache.bytes(i)[in_line] != expected) return;
      if (cache.is_modified(i)) best = found::modified;
      if (best == found::nowhere) best = found::copied;
    };
    in(l1_);
    in(l2_);
    return best;
  }

 private:
  using l1_cache = cache<16384, 4>;
  using l2_cache = cache<262144, 4>;

  [[nodiscard]] bool is_cached_in_l1(page_type type) const noexcept {
    return type == page_type::dcm || type == page_type::mpbt_wb ||
           (type == page_type::mpbt_wt && scheduler_->how().through_pages_cached);
  }

  void load_piece(page_type type, physical_address at, std::byte* into, std::size_t count) {
    ++counters_.loads;
    if (!is_cached_in_l1(type)) {
      if (combines(at)) push();  // a core sees its own stores in order
      ++counters_.reads;
      each_access(at, count, [&](physical_address word, std::size_t done, std::size_t bytes) {
        leave(word, asks::read_word);
        std::memcpy(into + done, memory_at(word), bytes);
      });
      return;
    }
    line_number const number = line_of(at);
    std::size_t i = l1_.find(number);
    if (i != l1_.none) {
      ++counters_.l1_hits;
      spend_on((count + word_bytes - 1) / word_bytes);
    } else {
      i = fill(type, number);
      spend_on((count - 1) / word_bytes);  // the first word comes with the line
    }
    std::memcpy(into, l1_.bytes(i).data() + at % line_bytes, count);
  }

  void store_piece(page_type type, physical_address at, std::byte const* from, std::size_t count) {
    ++counters_.stores;
    line_number const number = line_of(at);
    std::size_t const in_line = at % line_bytes;
    spend_on((count + word_bytes - 1) / word_bytes);
    if (is_cached_in_l1(type)) {
      if (auto const i = l1_.find(number); i != l1_.none) {
        ++counters_.l1_hits;
        std::memcpy(l1_.bytes(i).data() + in_line, from, count);
        if (type != page_type::mpbt_wt) {
          l1_.set_modified(i, true);
          return;
        }
      } else if (type == page_type::dcm) {
        if (auto const j = l2_.find(number); j != l2_.none) {
          ++counters_.l2_hits;
          spend(&timing::l2_line);
          std::memcpy(l2_.bytes(j).data() + in_line, from, count);
          l2_.set_modified(j, true);
          return;
        }
      }
    }
    if (type == page_type::ncm || type == page_type::dcm) {
      if (combines(at)) push();  // the bytes in the buffer are older
      ++counters_.writes;
      each_access(at, count, [&](physical_address word, std::size_t done, std::size_t bytes) {
        leave(word, asks::write_word);
        std::memcpy(memory_at(word), from + done, bytes);
      });
    } else {
      combine(number, in_line, from, count);
    }
  }

  std::size_t fill(page_type type, line_number number) {
    bool const tagged = type != page_type::dcm;
    line fetched;
    if (std::size_t const j = tagged ? l2_.none : l2_.find(number); j != l2_.none) {
      ++counters_.l2_hits;
      spend(&timing::l2_line);
      fetched = l2_.bytes(j);
    } else {
      if (combines(number * static_cast<physical_address>(line_bytes))) push();
      leave(number * static_cast<physical_address>(line_bytes), asks::read_line);
      ++counters_.fills;
      fetched = read_line(number);
      if (!tagged) {
        std::size_t const at = l2_.place_for(number);
        give_up_l2(at);
        l2_.put(at, number, fetched, false);
      }
      adversary_.fetched({number, tagged});
    }
    std::size_t const i = l1_.place_for(number);
    if (l1_.holds(i) && l1_.is_modified(i))
      spend(&timing::l2_line);  // the victim travels to L2 like the fill
    give_up_l1(i);
    l1_.put(i, number, fetched, tagged);
    return i;
  }

  void combine(line_number number, std::size_t in_line, std::byte const* from, std::size_t count) {
    if (!combined_.is_empty() && !combined_.holds(number)) push();
    combined_.add(number, in_line, from, count);
    // The chip writes a full buffer at the next store. No core can tell that from a write at once.
    if (combined_.is_full()) push();
  }
  void push() {
    leave(combined_.number() * static_cast<physical_address>(line_bytes), asks::write_line);
    push_now();
  }
  void push_now() noexcept {
    ++counters_.pushes;
    combined_.write_to(memory_at(combined_.number() * static_cast<physical_address>(line_bytes)));
  }

  void give_up_l1(std::size_t i) {
    if (!l1_.holds(i)) return;
    if (l1_.is_modified(i)) {
      line_number const number = l1_.number(i);
      std::size_t const j = l1_.is_tagged(i) ? l2_.none : l2_.look(number);
      if (j != l2_.none) {
        l2_.bytes(j) = l1_.bytes(i);
        l2_.set_modified(j, true);
      } else {
        write_line(number, l1_.bytes(i));
      }
    }
    l1_.forget(i);
  }
  void give_up_l2(std::size_t j) {
    if (!l2_.holds(j)) return;
    ++counters_.l2_lines_flushed;
    if (l2_.is_modified(j)) write_line(l2_.number(j), l2_.bytes(j));
    l2_.forget(j);
  }

  [[nodiscard]] std::byte* memory_at(physical_address at) const noexcept { return table_.host(at); }
  [[nodiscard]] line read_line(line_number number) const noexcept {
    line bytes;
    std::memcpy(bytes.data(), memory_at(number * static_cast<physical_address>(line_bytes)), line_bytes);
    return bytes;
  }
  // Without a clock this is no scheduling point: the access that needs the line's place is one.
  void write_line(line_number number, line const& bytes) noexcept {
    ++counters_.write_backs;
    auto const at = number * static_cast<physical_address>(line_bytes);
    if (clock_ != nullptr) clock_->access(number_, station_of(at), asks::write_line);
    std::memcpy(memory_at(at), bytes.data(), line_bytes);
  }

  /// An access leaves the core, so other cores may go first.
  void leave(physical_address at, asks what) {
    if (clock_ != nullptr) {
      clock_->access(number_, station_of(at), what);
    } else {
      scheduler_->point();
      left_ = true;
    }
  }
  /// The same for a station that is not memory; without a clock it is no access.
  void reach(station where, asks what) {
    if (clock_ != nullptr) clock_->access(number_, where, what);
  }
  [[nodiscard]] station station_of(physical_address at) const noexcept {
    page_number const page = table_.page_of(at);
    rank_t const owner = memory_->owner(page);
    return memory_->is_buffer(page) ? station::buffer_of(owner) : station::memory_of(owner);
  }
  /// An uncached access moves one word. With a clock, a piece of a line is therefore several accesses.
  template <class Use>
  void each_access(physical_address at, std::size_t count, Use&& use) const {
    if (clock_ == nullptr) return use(at, std::size_t{0}, count);
    for (std::size_t done = 0; done < count;) {
      auto const word = static_cast<physical_address>(at + done);
      std::size_t const bytes = std::min(count - done, word_bytes - word % word_bytes);
      use(word, done, bytes);
      done += bytes;
    }
  }

  void spend(cycles timing::*time) const noexcept {
    if (clock_ != nullptr) clock_->spend(number_, clock_->how().in_ticks(clock_->how().*time));
  }
  /// Charges the time of each word of a piece that hits.
  void spend_on(std::size_t words) const noexcept {
    if (clock_ != nullptr) clock_->spend(number_, words * clock_->word_in_l1());
  }
  /// Lets the adversary act after an access that has left the core: it evicts, fills or drains unasked.
  void misbehave() {
    if (adversary_.evicts()) {
      ++counters_.evictions;
      give_up_l1(adversary_.victim(l1_));
      give_up_l2(adversary_.victim(l2_));
    }
    if (adversary_.fills()) fill_unasked();
    if (!combined_.is_empty() && adversary_.drains()) push_now();
  }
  void fill_unasked() {
    auto const again = adversary_.line_to_fill();
    if (!again || l1_.look(again->number) != l1_.none || l2_.look(again->number) != l2_.none ||
        combines(again->number * static_cast<physical_address>(line_bytes))) {
      return;
    }
    ++counters_.spurious_fills;
    line const fetched = read_line(again->number);
    std::size_t const i = l1_.place_for(again->number);
    give_up_l1(i);
    l1_.put(i, again->number, fetched, again->tagged);
  }

  rank_t number_;
  memory* memory_;
  scheduler* scheduler_;
  clock* clock_;
  interrupt_pin* pin_;
  cache_adversary adversary_;
  counters counters_;
  lookup_table table_;
  l1_cache l1_;
  l2_cache l2_;
  combining_buffer combined_;
  bool left_ = false;  ///< the current access has left the core
};

}  // namespace PGAS_NAMESPACE::detail::scc
