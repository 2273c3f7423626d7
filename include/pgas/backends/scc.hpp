// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <pgas/coherence/write_through.hpp>
#include <pgas/concepts/backend.hpp>
#include <pgas/detail/job/ranks.hpp>
#include <pgas/detail/job/wait.hpp>
#include <pgas/detail/machines/scc/control.hpp>
#include <pgas/detail/machines/scc/mailbox.hpp>
#include <pgas/detail/machines/scc/segment.hpp>
#include <pgas/detail/process/one_per_process.hpp>
#include <pgas/detail/process/setting.hpp>
#include <pgas/machines/scc/heat_map.hpp>
#include <pgas/machines/scc/interrupts.hpp>
#include <pgas/machines/scc/registers.hpp>
#include <pgas/machines/scc/shrink.hpp>
#include <pgas/vocabulary/error.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS::detail::scc {

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

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::scc

namespace pgas::inline PGAS_ASSERTIONS {

namespace detail::scc {

/// The bootstrap of the chip's ranks, before they have memory.
using rank_bootstrap = emulation::rank_bootstrap<chip>;
static_assert(bootstrap<rank_bootstrap>);

}  // namespace detail::scc

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
class scc {
 public:
  using segment_type = detail::scc_segment;
  using control_type = detail::scc_control;
  using mailbox_type = detail::scc_mailbox;
  using default_coherence = coherence::write_through;
  using handle = std::uint64_t;

  static constexpr std::string_view name = "scc";
  static constexpr progress progress_by = progress::hardware;
  static constexpr rank_t max_ranks = detail::scc::scheduler::most_cores;

  /// Runs main(backend, bootstrap) on a fiber for each rank; returns the bootstrap.
  template <class Main>
  static detail::job launch(rank_t ranks, Main const& main) {
    if (detail::setting::variable("PGAS_JOB_FD").given()) {
      throw error(errc::unsupported, detail::job::supervisor,
                  "run: the cores of the emulated chip are fibers of one process: start the program itself, "
                  "without pgas-run");
    }
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

  [[nodiscard]] rank_t rank() const noexcept { return ranks_.self(); }
  [[nodiscard]] rank_t size() const noexcept { return ranks_.size(); }
  [[nodiscard]] rank_t world_rank(rank_t rank) const { return ranks_.to_world(rank); }
  [[nodiscard]] locality locality_of(rank_t rank) const {
    return rank == this->rank() ? locality::self : locality::node;
  }

  handle reserve_segment(std::span<std::size_t const> sizes) const {
    std::vector<detail::scc::part_place> parts;
    parts.reserve(sizes.size());
    for (rank_t r = 0; r < size(); ++r) {
      parts.push_back({ranks_.to_world(r), 0, sizes[static_cast<std::size_t>(r)]});
    }
    return chip_->parts.add(chip_->reserve_parts(std::move(parts)), sizes.size());
  }
  segment_type attach_segment(handle which, std::size_t own_bytes) const {
    auto home = chip_->parts.attach(which, job_.rank());
    if (home->parts().size() != static_cast<std::size_t>(size()) ||
        home->parts()[static_cast<std::size_t>(rank())].bytes != own_bytes) {
      throw error(errc::mismatch, job_.rank(), "attach",
                  std::to_string(own_bytes) + " bytes for rank " + std::to_string(rank()) +
                      " were asked for, but that is not what was reserved");
    }
    return {chip_, std::move(home), ranks_};
  }
  handle reserve_control(control_words words) const {
    return chip_->words.add(std::make_shared<detail::scc::home_words>(size(), words),
                            static_cast<std::size_t>(size()));
  }
  control_type attach_control(handle which, control_words words, std::string_view label) const {
    auto home = chip_->words.attach(which, job_.rank());
    if (!(home->words == words)) {
      throw error(errc::mismatch, job_.rank(), "attach",
                  "other control words were asked for than were reserved (" + std::string(label) + ")");
    }
    return {chip_, std::move(home), ranks_, label};
  }
  handle reserve_mailbox() const {
    std::vector<rank_t> members;
    members.reserve(static_cast<std::size_t>(size()));
    for (rank_t r = 0; r < size(); ++r) members.push_back(ranks_.to_world(r));
    return chip_->sections.add(std::make_shared<detail::scc::home_sections>(*chip_, std::move(members)),
                               static_cast<std::size_t>(size()));
  }
  mailbox_type attach_mailbox(handle which) const {
    return {chip_, chip_->sections.attach(which, job_.rank()), ranks_};
  }
  scc sub_team(group members, rank_t rank) const {
    scc sub = *this;
    sub.ranks_ = ranks_.sub_team(members, rank);
    return sub;
  }

  /// The register of a rank's core. Control words use it for their read-modify-writes, so hold it briefly.
  [[nodiscard]] pgas::scc::test_and_set_register test_and_set(rank_t rank) const {
    if (rank < 0 || rank >= size()) detail::throw_bad_rank(job_.rank(), "test_and_set", rank, size());
    return {*chip_, job_.rank(), ranks_.to_world(rank)};
  }
  /// Atomic increment register i of the chip. Throws errc::out_of_range past the last one.
  [[nodiscard]] pgas::scc::increment_register increment_register(std::size_t i) const {
    if (i >= chip_->increments().size()) {
      throw error(errc::out_of_range, job_.rank(), "increment_register",
                  "register " + std::to_string(i) + " does not exist, the chip has " +
                      std::to_string(chip_->increments().size()));
    }
    return {*chip_, job_.rank(), i};
  }

  /// See working_backend. Each store of another core to a control word calls the work, and takes its time.
  [[nodiscard]] std::unique_ptr<detail::scc::chip::work> while_waiting(std::function<void()> work) const {
    return std::make_unique<detail::scc::chip::work>(chip_, job_.rank(), std::move(work));
  }
  /// Interrupts from and to the cores of these ranks.
  [[nodiscard]] pgas::scc::interrupts interrupts() const { return {chip_, ranks_}; }

  void fail(std::string_view what) const noexcept {
    job_.fail(what);
    chip_->turns().wake_all();
  }
  /// Checks for failure. It also gives up the turn, so a program may loop on it.
  void check(std::string_view operation) const {
    chip_->pin_of(job_.rank()).look();
    chip_->turns().point();
    job_.check(operation);
  }

  /// The core's clock if the options choose one, else the world's.
  [[nodiscard]] time_point now() const { return chip_->turns().now(job_.rank()); }
  void charge(std::uint64_t cycles) const {
    chip_->at(job_.rank()).count().charged += cycles;
    chip_->pin_of(job_.rank()).compute(clock() != nullptr ? cycles * clock()->core : 0);
  }
  /// The virtual time of this rank's core since the launch; 0 without a clock.
  [[nodiscard]] pgas::scc::ticks virtual_time() const { return chip_->turns().time().now(job_.rank()); }
  /// The parameters of the chip's clock; null without a clock.
  [[nodiscard]] pgas::scc::timing const* clock() const { return chip_->turns().how().clock; }

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
      chip->turns().run([&](rank_t rank) {
        auto const mine = job.as(rank);
        detail::run_rank(mine, [&] {
          detail::scc::rank_bootstrap boot(chip, mine);
          main(scc(mine, chip), boot);
        });
        mine.mark_finished(rank);
      });
    }
    if (chip->time() != nullptr) last_traffic() = chip->time()->report();
    last_counters().clear();
    for (rank_t r = 0; r < ranks; ++r) last_counters().push_back(chip->at(r).count());
    chip->errors().with_lines([&] { detail::throw_failure(job); });
    return job;
  }
  scc(detail::job const& j, std::shared_ptr<detail::scc::chip> c)
      : job_(j), chip_(std::move(c)), ranks_(j.rank(), j.size()) {}

  detail::job job_;
  std::shared_ptr<detail::scc::chip> chip_;
  detail::team_ranks ranks_;
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

}  // namespace pgas::inline PGAS_ASSERTIONS
