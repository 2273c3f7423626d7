// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdlib>
#include <pgas/backends/scc/schedule.hpp>
#include <pgas/backends/scc/timing.hpp>
#include <pgas/vocabulary/error.hpp>
#include <string>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS::scc {

/// The set of parameters with this name. Throws errc::invalid_argument if there is none.
inline timing const& timing_named(std::string_view name) {
  std::string known;
  for (auto const* t : all_timings) {
    if (t->name == name) return *t;
    known += (known.empty() ? "" : ", ") + std::string(t->name);
  }
  throw error(errc::invalid_argument, -1,
              "PGAS_CLOCK: no set of parameters of the chip is called " + std::string(name) +
                  "; choose one of " + known);
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
  bool check = true;                        ///< stop at the first stale byte
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

  /// PGAS_SEED=n chooses a random schedule and an adversary; the same number repeats the run. PGAS_CHECK=0
  /// turns the oracle off. PGAS_CLOCK=name chooses one of all_timings.
  [[nodiscard]] static options from_environment() {
    options o;
    if (char const* text = std::getenv("PGAS_SEED"); text != nullptr && *text != '\0')
      o.disturb(std::strtoull(text, nullptr, 0));
    if (char const* text = std::getenv("PGAS_CHECK"); text != nullptr && *text == '0') o.check = false;
    if (char const* text = std::getenv("PGAS_CLOCK"); text != nullptr && *text != '\0')
      o.clock = &timing_named(text);
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
class with_options {
 public:
  /// Chooses `o` for the launches of this thread.
  explicit with_options(options o) noexcept : before_(std::exchange(chosen(), o)) {}
  with_options(with_options const&) = delete;
  with_options& operator=(with_options const&) = delete;
  ~with_options() { chosen() = before_; }

  /// The options of this thread's next launch; those of the environment at first.
  static options& chosen() {
    static thread_local options instance = options::from_environment();
    return instance;
  }

 private:
  options before_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::scc
