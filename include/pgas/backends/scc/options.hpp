// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdlib>
#include <pgas/backends/scc/schedule.hpp>
#include <pgas/backends/scc/timing.hpp>
#include <pgas/vocabulary/error.hpp>
#include <string>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS::scc {

/// The parameter set of this name. Throws errc::invalid_argument if there is none.
inline timing const& timing_named(std::string_view name) {
  std::string known;
  for (auto const* t : all_timings) {
    if (t->name == name) return *t;
    known += (known.empty() ? "" : ", ") + std::string(t->name);
  }
  throw error(errc::invalid_argument, -1,
              "PGAS_CLOCK: no parameters of the chip are called " + std::string(name) + "; there are " + known);
}

/// What the caches do that nobody asked for. Each number n of them means: at one access that leaves a core in n; 0:
/// never.
///
/// All of it is allowed to hardware, some of it not to the SCC itself: what is right against it is right on other
/// memory, too.
struct adversary {
  unsigned fill = 0;   ///< fetches one of the last lines again, or one beside it
  unsigned evict = 0;  ///< gives up a copy, and writes it back if it was modified
  unsigned drain = 0;  ///< empties the write-combining buffer early
  unsigned defer = 0;  ///< of those that could, one instruction in n takes the interrupt that is there; 0: the first
};

/// How a chip is run: what a test, or the environment, chooses before a launch.
struct options {
  std::uint64_t seed = 0;
  scheduling schedule = scheduling::turns;
  adversary against{};
  bool check = true;                 ///< stop at the first stale byte
  bool through_pages_cached = true;  ///< false: the chip's defect, reads of write-through pages miss always
  unsigned own_pages = 42;           ///< 16 MiB pages of memory a core has
  unsigned mappable_pages = 56;      ///< of other cores at one time: four pages of 14 cores, as in the paper
  /// What everything takes: cores go in the order of virtual time, whatever `schedule` says, and nothing is hostile.
  timing const* clock = nullptr;
  placement words = placement::distributed;     ///< of control words
  unsigned central_controller = 0;              ///< of placement::central
  bool each_poll = false;                       ///< even those whose answer cannot differ, one by one
  decisions* script = nullptr;                  ///< of scheduling::script
  std::vector<switch_point>* record = nullptr;  ///< gets the changes of turns of each run, whatever its schedule
  std::vector<switch_point> const* switches = nullptr;  ///< of scheduling::replay

  /// PGAS_SEED=n: random schedules and a hostile memory, replayed by the same number. PGAS_CHECK=0: no oracle.
  /// PGAS_CLOCK=name: one of all_timings.
  [[nodiscard]] static options from_environment() {
    options o;
    if (char const* text = std::getenv("PGAS_SEED"); text != nullptr && *text != '\0')
      o.disturb(std::strtoull(text, nullptr, 0));
    if (char const* text = std::getenv("PGAS_CHECK"); text != nullptr && *text == '0') o.check = false;
    if (char const* text = std::getenv("PGAS_CLOCK"); text != nullptr && *text != '\0') o.clock = &timing_named(text);
    return o;
  }

  /// A hostile memory and another schedule for each seed.
  options& disturb(std::uint64_t with) noexcept {
    seed = with;
    schedule = with % 4 == 3 ? scheduling::priority : scheduling::random;
    against = {.fill = 4, .evict = 8, .drain = 8, .defer = 4};
    if (with % 2 == 1) against = {.fill = 2, .evict = 64, .drain = 0, .defer = 32};
    return *this;
  }
};

/// While it lives, this thread's launches are run with these options.
class with_options {
 public:
  explicit with_options(options o) noexcept : before_(std::exchange(chosen(), o)) {}
  with_options(with_options const&) = delete;
  with_options& operator=(with_options const&) = delete;
  ~with_options() { chosen() = before_; }

  static options& chosen() {
    static thread_local options instance = options::from_environment();
    return instance;
  }

 private:
  options before_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::scc
