// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <pgas/detail/process/setting.hpp>
#include <pgas/detail/process/stack_watch.hpp>
#include <pgas/detail/types/with_options.hpp>
#include <pgas/machines/schedule.hpp>
#include <string_view>
#include <vector>

namespace PGAS_NAMESPACE::tile_machine {

using emulation::decisions;
using emulation::dice;
using emulation::scheduling;
using emulation::switch_point;

/// Virtual time in cycles of a core.
using cycles = std::uint64_t;

/// The times of a machine's messages, in cycles. A message is counted in words of 64 bits.
/// Source: Shahmirzadi 2014, table 3.2.
struct costs {
  std::string_view name;    ///< its name in PGAS_TILE
  std::int32_t cores;       ///< the largest number of ranks
  cycles interrupt;         ///< the invocation of a handler, and the return from it
  bool has_multicast;       ///< a multicast costs its sender one send, however many receive it
  cycles send_head = 8;     ///< of o_send: the header
  cycles send_word = 1;     ///< of o_send: each word
  cycles receive_word = 2;  ///< o_rcv is this for each word
  cycles wire = 16;         ///< L: from the end of a send to the arrival
  cycles word = 1;          ///< an access to a control word: the caches are coherent

  /// o_send of a message.
  [[nodiscard]] constexpr cycles send(std::size_t words) const noexcept {
    return send_head + send_word * words;
  }
  /// o_rcv of a message.
  [[nodiscard]] constexpr cycles receive(std::size_t words) const noexcept { return receive_word * words; }
  /// o_arcv of a message.
  [[nodiscard]] constexpr cycles receive_by_interrupt(std::size_t words) const noexcept {
    return interrupt + receive(words);
  }
};

/// The most ranks of a machine that does not exist: the sets of the emulator have 64 bits, and its network
/// uses one.
inline constexpr std::int32_t most_cores = 63;

/// Tilera's TILE-Gx8036.
inline constexpr costs tile_gx{.name = "tile_gx", .cores = 36, .interrupt = 138, .has_multicast = false};
/// The same with interrupts as cheap as a switch of contexts in hardware.
inline constexpr costs intermediate{
    .name = "intermediate", .cores = most_cores, .interrupt = 4, .has_multicast = false};
/// The same with a multicast in hardware.
inline constexpr costs ideal{.name = "ideal", .cores = most_cores, .interrupt = 4, .has_multicast = true};

/// The machines that PGAS_TILE may name.
inline constexpr std::array<costs const*, 3> all_costs{&tile_gx, &intermediate, &ideal};

/// The moment at which a message reaches its handler.
enum class delivery {
  interrupts,  ///< as soon as it has arrived, if the core handles no other message
  polls,       ///< when the core polls or waits; this costs o_rcv
};

/// The options of a run of the machine, which a test or the environment chooses before a launch.
struct options {
  std::uint64_t seed = 0;                   ///< of random schedules
  scheduling schedule = scheduling::turns;  ///< the order of steps if there is no clock
  /// The times. With a clock, cores go in the order of virtual time, whatever `schedule` says. Without one,
  /// each message travels until the schedule lets it arrive.
  costs const* clock = &tile_gx;
  std::size_t queue_words = 118;                ///< the room of a queue
  delivery by = delivery::interrupts;           ///< of messages to handled queues
  bool each_poll = false;                       ///< for the scheduler; waits of this machine do not poll
  decisions* script = nullptr;                  ///< of scheduling::script
  std::vector<switch_point>* record = nullptr;  ///< receives the changes of turns of each run
  std::vector<switch_point> const* switches = nullptr;  ///< of scheduling::replay
  std::size_t stack_bytes = std::size_t{1} << 20U;      ///< of a rank

  static constexpr std::string_view shared_name = "options of tile";  ///< for with_options
  static constexpr rank_t most_cores = tile_machine::most_cores;      ///< for the scheduler
  static constexpr double ticks_a_microsecond = 1200;                 ///< the cores have 1.2 GHz
  /// True if the cores go in the order of virtual time.
  [[nodiscard]] bool is_timed() const noexcept { return clock != nullptr; }
  /// One cycle.
  [[nodiscard]] static cycles cycle() noexcept { return 1; }
  /// The unit of a pause, doubled at each attempt.
  [[nodiscard]] static cycles pause() noexcept { return 100; }

  /// PGAS_TILE=name chooses one of all_costs. PGAS_SEED=n chooses a random schedule without a clock, unless
  /// PGAS_TILE is given; the same number repeats the run.
  [[nodiscard]] static options from_environment() {
    options o;
    o.stack_bytes = detail::stack_bytes_or(o.stack_bytes);
    using detail::setting;
    if (auto const seed = setting::variable("PGAS_SEED"); seed.given())
      o.disturb(seed.whole("a number", 0, std::numeric_limits<std::uint64_t>::max()));
    if (auto const name = setting::variable("PGAS_TILE"); name.given()) {
      std::array<std::string_view, all_costs.size()> names;
      std::transform(all_costs.begin(), all_costs.end(), names.begin(),
                     [](costs const* c) { return c->name; });
      o.clock = all_costs[name.one_of(names)];
    }
    return o;
  }

  /// Chooses a schedule that depends on the seed, without a clock.
  options& disturb(std::uint64_t with) noexcept {
    seed = with;
    schedule = with % 4 == 3 ? scheduling::priority : scheduling::random;
    clock = nullptr;
    return *this;
  }
};

/// Runs this thread's launches with these options while it lives.
using with_options = detail::with_options<options>;

/// The events of one core in a run.
struct counters {
  std::uint64_t sent = 0;        ///< messages
  std::uint64_t received = 0;    ///< messages, without those that handlers had
  std::uint64_t interrupts = 0;  ///< messages that handlers had by an interrupt
  std::uint64_t polled = 0;      ///< messages that handlers had by a poll
  std::uint64_t blocked = 0;     ///< sends that waited for room
  cycles charged = 0;            ///< by the program
};

}  // namespace PGAS_NAMESPACE::tile_machine
