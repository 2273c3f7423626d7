// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <pgas/coherence/write_through.hpp>
#include <pgas/concepts/backend.hpp>
#include <pgas/detail/machines/backend.hpp>
#include <pgas/detail/machines/scc/control.hpp>
#include <pgas/detail/machines/scc/mailbox.hpp>
#include <pgas/detail/machines/scc/segment.hpp>
#include <pgas/detail/process/one_per_process.hpp>
#include <pgas/machines/scc/heat_map.hpp>
#include <pgas/machines/scc/interrupts.hpp>
#include <pgas/machines/scc/registers.hpp>
#include <pgas/machines/scc/shrink.hpp>
#include <pgas/vocabulary/error.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace PGAS_NAMESPACE::detail::scc {

/// True if the oracle has ended the run.
inline bool is_report(error const& e) { return e.code() == errc::race || e.code() == errc::stale_copy; }

/// Runs a program by `how.schedules` schedules, the first as the options say, the others by seeds: random
/// orders, priorities, and caches that act unasked. Returns the last run's result.
///
/// `run(options)` makes one run and throws its failure. At the first report of the oracle the search stops.
/// The error then also names the seed, and the fewest changes of turns that show the fault. Other failures
/// end the search as they are. Costs: a run for each schedule, and at a report at most 200 more. Source:
/// random priorities find a fault of depth d with a known chance, PCT (Burckhardt and others 2010); the
/// changes by ddmin, see fewest_switches.
template <class Run>
auto run_schedules(pgas::scc::options const& how, Run const& run) {
  for (unsigned i = 0;; ++i) {
    pgas::scc::options one = how;
    one.schedules = 1;
    if (i != 0) one.disturb(how.seed + i);
    try {
      auto result = run(one);
      if (i + 1 >= how.schedules) return result;
    } catch (error const& found) {
      if (!is_report(found)) throw;
      unsigned left = 200;
      auto const fails = [&](pgas::scc::options const& again) {
        if (left == 0) return false;
        --left;
        try {
          run(again);
        } catch (error const& e) {
          return e.code() == found.code();
        }
        return false;
      };
      auto const changes = pgas::scc::fewest_switches(one, fails);
      throw error(
          static_cast<errc>(found.code().value()), found.rank(),
          found.description() + "; found by schedule " + std::to_string(i + 1) + " of " +
              std::to_string(how.schedules) +
              (i == 0 ? std::string() : ", which PGAS_SEED=" + std::to_string(one.seed) + " repeats") +
              ", and shown by: " + pgas::scc::to_string(changes));
    }
  }
}

}  // namespace PGAS_NAMESPACE::detail::scc

namespace PGAS_NAMESPACE {

namespace backends {

/// An emulator of Intel's 48-core Single-chip Cloud Computer, whose cores have private caches without
/// coherence.
///
/// Ranks are fibers of one thread, in an order that scc::options determine: the same seed gives the same run.
/// A rank keeps its turn while it neither accesses memory past its caches nor waits. It may therefore wait
/// only through the library. With the oracle on, the first read of a stale byte ends the job with a report.
/// scc::options list the other choices.
///
/// With scc::options::clock the emulator predicts time. team.now() and scc::microseconds_of(team) are the
/// core's clock, and waits poll. team.charge sets the time of a computation, and last_traffic() reports the
/// use of links and controllers. scc::interrupts_of(team) lets cores interrupt each other and sleep until an
/// interrupt.
/// Source: Christgau 2017; Intel's SCC external architecture specification as quoted there.
class scc : public detail::emulation::machine_backend<scc, detail::scc::chip> {
  friend machine_backend;

 public:
  using segment_type = detail::scc_segment;
  using control_type = detail::scc_control;
  using mailbox_type = detail::scc_mailbox;
  using default_coherence = coherence::write_through;

  static constexpr std::string_view name = "scc";
  static constexpr rank_t max_ranks = detail::scc::scheduler::most_cores;

  /// Runs main(backend, bootstrap) on a fiber for each rank; returns the bootstrap.
  template <class Main>
  static detail::job launch(rank_t ranks, Main const& main) {
    detail::refuse_launcher("run: the cores of the emulated chip are fibers of one process");
    if (ranks > max_ranks) {
      throw error(errc::invalid_argument, detail::job::supervisor,
                  "run: the chip has " + std::to_string(max_ranks) + " cores, and " + std::to_string(ranks) +
                      " ranks were asked for: ask for fewer");
    }
    auto const& how = pgas::scc::with_options::chosen();
    // Virtual time leaves one schedule.
    if (how.schedules > 1 && !how.is_timed()) {
      return detail::scc::run_schedules(
          how, [&](pgas::scc::options const& one) { return launch_once(ranks, main, one); });
    }
    return launch_once(ranks, main, how);
  }
  /// Further launches of this thread run the program by n schedules, see scc::options::schedules.
  static void run_by_schedules(unsigned n) noexcept { pgas::scc::with_options::chosen().schedules = n; }

  handle reserve_segment(std::span<std::size_t const> sizes) const {
    std::vector<detail::scc::part_place> parts;
    parts.reserve(sizes.size());
    for (rank_t r = 0; r < size(); ++r) {
      parts.push_back({world_rank(r), 0, sizes[static_cast<std::size_t>(r)]});
    }
    return machine_->parts.add(machine_->reserve_parts(std::move(parts)), sizes.size());
  }
  handle reserve_control(control_words words) const {
    return machine_->words.add(std::make_shared<detail::scc::home_words>(size(), words),
                               static_cast<std::size_t>(size()));
  }
  handle reserve_mailbox() const {
    return machine_->mailboxes.add(
        std::make_shared<detail::scc::home_sections>(*machine_, detail::world_ranks_of(*this)),
        static_cast<std::size_t>(size()));
  }
  /// The register of a rank's core. Control words use it for their read-modify-writes, so hold it briefly.
  [[nodiscard]] pgas::scc::test_and_set_register test_and_set(rank_t rank) const {
    if (rank < 0 || rank >= size()) detail::throw_bad_rank(self_, "test_and_set", rank, size());
    return {*machine_, self_, world_rank(rank)};
  }
  /// Atomic increment register i of the chip. Throws errc::out_of_range past the last one.
  [[nodiscard]] pgas::scc::increment_register increment_register(std::size_t i) const {
    if (i >= machine_->increments().size()) {
      throw error(errc::out_of_range, self_, "increment_register",
                  "register " + std::to_string(i) + " does not exist, the chip has " +
                      std::to_string(machine_->increments().size()));
    }
    return {*machine_, self_, i};
  }

  /// See working_backend. Each store of another core to a control word calls the work, and takes its time.
  [[nodiscard]] std::unique_ptr<detail::scc::chip::work> while_waiting(std::function<void()> work) const {
    return std::make_unique<detail::scc::chip::work>(machine_, self_, std::move(work));
  }
  /// Interrupts from and to the cores of these ranks.
  [[nodiscard]] pgas::scc::interrupts interrupts() const { return {machine_, ranks()}; }

  void charge(std::uint64_t cycles) const {
    machine_->at(self_).count().charged += cycles;
    machine_->pin_of(self_).compute(clock() != nullptr ? cycles * clock()->core : 0);
  }
  /// The virtual time of this rank's core since the launch; 0 without a clock.
  [[nodiscard]] pgas::scc::ticks virtual_time() const { return machine_->turns().time().now(self_); }
  /// The parameters of the chip's clock; null without a clock.
  [[nodiscard]] pgas::scc::timing const* clock() const { return machine_->turns().how().clock; }

  /// Gives this thread's further launches a clock: formulas_533, unless the options choose another.
  static void use_clock() noexcept {
    auto& how = pgas::scc::with_options::chosen();
    if (how.clock == nullptr) how.clock = &pgas::scc::formulas_533;
  }

  /// `--pgas-heat FILE.svg`: gives the chip a clock, and draws what the run did to its links, see
  /// scc/heat_map.hpp.
  struct own_option {
    static constexpr std::string_view name = "heat";
    static constexpr std::string_view value = "a file";
    /// Gives the chip a clock.
    static void before_launch(std::string const&) noexcept { use_clock(); }
    /// Writes the heat map into `file`.
    static void after_launch(std::string const& file) { pgas::scc::write_heat_map(last_traffic(), file); }
  };

  /// The counters of each core in this thread's last launch.
  static std::vector<pgas::scc::counters>& last_counters() {
    return detail::one_per_thread<last_launch>().counters;
  }
  /// The traffic of mesh, buffers and controllers in this thread's last launch that had a clock.
  static pgas::scc::traffic& last_traffic() { return detail::one_per_thread<last_launch>().traffic; }
  /// Prints the counters of the last launch as a table.
  static void report(std::FILE* to) {
    std::fprintf(to,
                 "core    loads   stores  L1 hits  L2 hits    fills  uncached  write-backs   pushes  drops  "
                 "words  spins\n");
    rank_t number = 0;
    for (auto const& c : last_counters()) {
      std::fprintf(to, "%4d %8zu %8zu %8zu %8zu %8zu %9zu %12zu %8zu %6zu %6zu %6zu\n", number++,
                   std::size_t{c.loads}, std::size_t{c.stores}, std::size_t{c.l1_hits},
                   std::size_t{c.l2_hits}, std::size_t{c.fills}, std::size_t{c.reads + c.writes},
                   std::size_t{c.write_backs}, std::size_t{c.pushes}, std::size_t{c.tagged_drops},
                   std::size_t{c.word_accesses}, std::size_t{c.register_spins});
    }
  }

 private:
  struct last_launch {
    static constexpr std::string_view shared_name = "last launch of scc";
    std::vector<pgas::scc::counters> counters;
    pgas::scc::traffic traffic;
  };

  template <class Main>
  static detail::job launch_once(rank_t ranks, Main const& main, pgas::scc::options const& how) {
    auto job = detail::job::create(ranks, false);
    auto const chip = std::make_shared<detail::scc::chip>(job, how);
    {
      detail::error_recorder const recorder(chip->errors());
      run(chip, main);
    }
    if (chip->time() != nullptr) last_traffic() = chip->time()->report();
    last_counters().clear();
    for (rank_t r = 0; r < ranks; ++r) last_counters().push_back(chip->at(r).count());
    chip->errors().with_lines([&] { detail::throw_failure(job); });
    return job;
  }
  scc(std::shared_ptr<detail::scc::chip> c, rank_t self) : machine_backend(std::move(c), self) {}
};
static_assert(mailbox_backend<scc>);

}  // namespace backends

namespace scc {

/// The virtual time of the calling rank's core since the launch, in core cycles; 0 without a clock.
/// One-sided, free.
template <class Team>
[[nodiscard]] double cycles_of(Team const& team) {
  auto const& b = team.state()->backend;
  return b.clock() == nullptr ? 0 : b.clock()->in_core_cycles(b.virtual_time());
}
/// The virtual time of the calling rank's core since the launch, in microseconds; 0 without a clock.
/// One-sided, free.
template <class Team>
[[nodiscard]] double microseconds_of(Team const& team) {
  return static_cast<double>(team.state()->backend.virtual_time()) / ticks_a_microsecond;
}

/// Interrupts from and to the cores of a team.
template <class Team>
[[nodiscard]] interrupts interrupts_of(Team const& team) {
  return team.state()->backend.interrupts();
}

}  // namespace scc

}  // namespace PGAS_NAMESPACE
