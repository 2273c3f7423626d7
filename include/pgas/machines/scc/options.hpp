// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <pgas/detail/process/setting.hpp>
#include <pgas/detail/process/stack_watch.hpp>
#include <pgas/detail/types/with_options.hpp>
#include <pgas/machines/scc/check_rules.hpp>
#include <pgas/machines/scc/timing.hpp>
#include <pgas/machines/schedule.hpp>
#include <string_view>

namespace pgas::inline PGAS_ASSERTIONS::scc {

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

}  // namespace pgas::inline PGAS_ASSERTIONS::scc
