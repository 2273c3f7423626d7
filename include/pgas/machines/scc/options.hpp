// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <pgas/concepts/order_scope.hpp>
#include <pgas/detail/process/setting.hpp>
#include <pgas/detail/process/stack_watch.hpp>
#include <pgas/detail/types/with_options.hpp>
#include <pgas/machines/scc/timing.hpp>
#include <pgas/machines/schedule.hpp>
#include <pgas/vocabulary/expects.hpp>
#include <string_view>

namespace PGAS_NAMESPACE::scc {

/// A rank's use of a control word, which may order it after other ranks.
struct word_use {
  std::string_view control;  ///< its label
  bool is_cell;              ///< true for a cell, false for a slot
  std::size_t number;        ///< among the slots, or among the cells
  order_scope scope;         ///< of the rank
};

/// The rules of the oracle, and the orders that the interface promises. Tests switch one off to show that it
/// is needed.
struct check_rules {
  bool earliest = true;     ///< a wait takes the earliest value that ends it, not the one that it reads
  bool holders = true;      ///< shared holders of a lock are in no order
  bool passed_on = true;    ///< a shared holder passes on the order that its lock has taught it
  bool elements = true;     ///< the lock of elements orders the operations on elements only
  bool atomics = true;      ///< an atomic operation does not race with another
  bool locations = true;    ///< an atomic store releases, and an atomic load of the element acquires
  bool completion = true;   ///< a put or a get happens between its call and its flush
  bool targets = true;      ///< the flush of one target completes nothing at another
  bool publication = true;  ///< a fence, a wait or a sync publishes the stores to the own part
  bool stages = true;       ///< stage reads what it hands out
  bool buffers = true;      ///< a buffer of a put or a get belongs to it until flush_local

  // Orders of the interface
  bool flush = true;            ///< the flush of a target completes puts and gets
  bool flush_all = true;        ///< a flush of all targets, as at the end of an epoch, does so
  bool flush_local = true;      ///< flush_local of a target completes gets, and gives sources back
  bool flush_local_all = true;  ///< flush_local of all targets does so
  bool requests = true;         ///< a put by request gives its source back at return
  bool roots = true;            ///< a collective with a root orders in one direction
  bool messages = true;         ///< a message orders its receiver after its sender
  bool (*words)(word_use const&) = nullptr;  ///< true for words that order the ranks; null: all words do
};

/// The way in which a page table entry makes a core access a page.
///
/// | type    | L1                    | L2 | write-combining buffer |
/// |---------|-----------------------|----|------------------------|
/// | dcm     | write-back            | write-back | no |
/// | ncm     | no                    | no | no |
/// | ncm_wcb | no                    | no | yes |
/// | mpbt_wb | write-back, tagged    | no | yes, for stores that miss |
/// | mpbt_wt | write-through, tagged | no | yes |
/// Source: Christgau 2017, section 2.2.4.
enum class page_type : std::uint8_t { dcm, ncm, ncm_wcb, mpbt_wb, mpbt_wt };

/// The counts of one core's operations.
struct counters {
  std::uint64_t loads = 0, stores = 0;                  ///< calls, each for a piece of a line
  std::uint64_t l1_hits = 0, l2_hits = 0;               ///< of loads and stores
  std::uint64_t fills = 0, reads = 0, writes = 0;       ///< lines fetched; uncached reads and writes
  std::uint64_t write_backs = 0;                        ///< modified lines written to memory
  std::uint64_t pushes = 0;                             ///< of the write-combining buffer
  std::uint64_t tagged_drops = 0;                       ///< CL1INVMB
  std::uint64_t l1_flushes = 0, l2_flushes = 0;         ///< WBINVD and INVD; calls of the kernel's routine
  std::uint64_t l2_lines_flushed = 0;                   ///< by those calls
  std::uint64_t remaps = 0;                             ///< of look-up table entries
  std::uint64_t word_accesses = 0, register_spins = 0;  ///< of control words; reads of a taken register
  std::uint64_t interrupts = 0;                         ///< raised
  std::uint64_t charged = 0;                            ///< cycles of computation, by charge()
  std::uint64_t evictions = 0, spurious_fills = 0;      ///< done by the adversary

  friend bool operator==(counters const&, counters const&) = default;
};

using emulation::decisions;
using emulation::dice;
using emulation::scheduling;
using emulation::switch_point;

/// The set of parameters that a setting names. Throws errc::invalid_argument if there is none.
inline timing const& timing_in(detail::setting const& given) {
  std::array<std::string_view, all_timings.size()> names;
  std::transform(all_timings.begin(), all_timings.end(), names.begin(),
                 [](timing const* t) { return t->name; });
  return *all_timings[given.one_of(names)];
}

/// The caches' unasked actions. A number n means: at one in n of the accesses that leave a core; 0 means
/// never.
///
/// All hardware may act so, though the SCC itself does only in part. A program that is right against the
/// adversary is therefore right on other memory, too.
struct adversary {
  unsigned fill = 0;   ///< fetches one of the latest lines again, or a neighbour
  unsigned evict = 0;  ///< evicts a copy, and writes it back if it was modified
  unsigned drain = 0;  ///< empties the write-combining buffer early
  unsigned defer =
      0;  ///< defers an interrupt: one in n of the possible instructions takes it; 0: the first does
};

/// The options of a run of the chip, which a test or the environment chooses before a launch.
struct options {
  std::uint64_t seed = 0;                   ///< of random schedules and of the adversary
  scheduling schedule = scheduling::turns;  ///< the order of the cores' turns
  adversary against{};                      ///< the caches' unasked actions
  unsigned schedules = 1;                   ///< the number of schedules by which to run the program
  bool check = true;                        ///< stop at the first stale byte and at the first race
  check_rules rules;                        ///< of that check
  bool through_pages_cached = true;  ///< false: the chip's defect; reads of write-through pages always miss
  unsigned own_pages = 42;           ///< 16 MiB pages of a core's own memory
  unsigned mappable_pages =
      56;  ///< pages of other cores mapped at a time: 4 of each of 14 cores, as in the paper
  /// The chip's times. With a clock, cores go in the order of virtual time, whatever `schedule` says, without
  /// an adversary.
  timing const* clock = nullptr;
  placement words = placement::distributed;  ///< of control words
  unsigned central_controller = 0;           ///< of placement::central
  bool each_poll = false;                    ///< make every poll, even those that cannot see a change
  decisions* script = nullptr;               ///< of scheduling::script
  std::vector<switch_point>* record =
      nullptr;  ///< receives the changes of turns of each run, with any schedule
  std::vector<switch_point> const* switches = nullptr;  ///< of scheduling::replay
  std::size_t stack_bytes = std::size_t{1} << 20U;      ///< of a rank

  static constexpr std::string_view shared_name = "options of scc";        ///< for with_options
  static constexpr rank_t most_cores = 48;                                 ///< for the scheduler
  static constexpr double ticks_a_microsecond = scc::ticks_a_microsecond;  ///< for the scheduler
  /// True if the cores go in the order of virtual time.
  [[nodiscard]] bool is_timed() const noexcept { return clock != nullptr; }
  /// The ticks of a core cycle. Requires a clock.
  [[nodiscard]] ticks cycle() const noexcept { return clock->core; }
  /// The ticks of the unit of a pause. Requires a clock.
  [[nodiscard]] ticks pause() const noexcept { return clock->in_ticks(clock->pause); }

  /// PGAS_SEED=n chooses a random schedule and an adversary; the same number repeats the run. PGAS_CHECK=0
  /// turns the oracle off. PGAS_SCHEDULES=n runs the program n times, by different schedules. PGAS_CLOCK=name
  /// chooses one of all_timings.
  [[nodiscard]] static options from_environment() {
    options o;
    o.stack_bytes = detail::stack_bytes_or(o.stack_bytes);
    using detail::setting;
    if (auto const seed = setting::variable("PGAS_SEED"); seed.given())
      o.disturb(seed.whole("a number", 0, std::numeric_limits<std::uint64_t>::max()));
    if (auto const check = setting::variable("PGAS_CHECK"); check.given()) o.check = check.yes_or_no();
    if (auto const runs = setting::variable("PGAS_SCHEDULES"); runs.given())
      o.schedules = static_cast<unsigned>(runs.whole("a number of schedules", 1, 1'000'000));
    if (auto const clock = setting::variable("PGAS_CLOCK"); clock.given()) o.clock = &timing_in(clock);
    return o;
  }

  /// Chooses an adversary, and a schedule that depends on the seed.
  options& disturb(std::uint64_t with) noexcept {
    seed = with;
    schedule = with % 4 == 3 ? scheduling::priority : scheduling::random;
    against = {.fill = 4, .evict = 8, .drain = 8, .defer = 4};
    if (with % 2 == 1) against = {.fill = 2, .evict = 64, .drain = 0, .defer = 32};
    return *this;
  }
};

/// Runs this thread's launches with these options while it lives.
using with_options = detail::with_options<options>;

}  // namespace PGAS_NAMESPACE::scc
