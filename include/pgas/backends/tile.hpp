// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <pgas/coherence/coherent.hpp>
#include <pgas/concepts/backend.hpp>
#include <pgas/detail/machines/tile/channel.hpp>
#include <pgas/detail/machines/tile/control.hpp>
#include <pgas/detail/machines/tile/mailbox.hpp>
#include <pgas/detail/machines/tile/segment.hpp>
#include <pgas/detail/process/one_per_process.hpp>
#include <pgas/detail/process/setting.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS {

namespace detail::tile_machine {

/// The bootstrap of the machine's ranks, before they have memory.
using rank_bootstrap = emulation::rank_bootstrap<machine>;
static_assert(bootstrap<rank_bootstrap>);

}  // namespace detail::tile_machine

namespace backends {

/// An emulator of Tilera's TILE-Gx, whose cores send messages of words into each other's hardware queues.
///
/// Ranks are fibers of one thread, in virtual time: the earliest event is first, and the same program gives
/// the same run. make_channel(team) gives the machine's channel, whose operations take the times of a table
/// of the thesis; tile_machine::options choose the table. team.now() and tile_machine::cycles_of(team) are
/// the core's clock, and team.charge the time of a computation, in which interrupts strike. Payload and
/// control words lie in memory that the machine keeps coherent: payload costs nothing, an access to a control
/// word one cycle.
///
/// Without a clock, a schedule or a search decides the order of the cores' steps and the arrival of each
/// message. A rank keeps its turn until a call of the library, so it may wait only through the library.
/// Source: Shahmirzadi 2014, sections 3.2 and 3.5, tables 3.1 and 3.2.
class tile {
 public:
  using segment_type = detail::tile_segment;
  using control_type = detail::tile_control;
  using channel_type = detail::tile_channel;
  using mailbox_type = detail::tile_mailbox;
  using default_coherence = coherence::coherent;
  using handle = std::uint64_t;

  static constexpr std::string_view name = "tile";
  static constexpr progress progress_by = progress::hardware;
  static constexpr rank_t max_ranks = pgas::tile_machine::most_cores;

  /// Runs main(backend, bootstrap) on a fiber for each rank; returns the job. Throws errc::invalid_argument
  /// if the machine has fewer cores.
  template <class Main>
  static detail::job launch(rank_t ranks, Main const& main) {
    if (detail::setting::variable("PGAS_JOB_FD").given()) {
      throw error(errc::unsupported, detail::job::supervisor,
                  "run: the cores of the emulated machine are fibers of one process: start the program "
                  "itself, without pgas-run");
    }
    auto const how = pgas::tile_machine::with_options::chosen();
    if (rank_t const cores = how.is_timed() ? how.clock->cores : max_ranks; ranks > cores) {
      throw error(errc::invalid_argument, detail::job::supervisor,
                  "run: the machine " + (how.is_timed() ? std::string(how.clock->name) : std::string(name)) +
                      " has " + std::to_string(cores) + " cores, and " + std::to_string(ranks) +
                      " ranks were asked for: ask for fewer, or choose another by PGAS_TILE");
    }
    auto job = detail::job::create(ranks, false);
    auto const machine = std::make_shared<detail::tile_machine::machine>(job, how);
    machine->turns().run([&](rank_t rank) {
      auto const mine = job.as(rank);
      detail::run_rank(mine, [&] {
        detail::tile_machine::rank_bootstrap boot(machine, mine);
        main(tile(mine, machine), boot);
      });
      mine.mark_finished(rank);
    });
    last_counters().clear();
    for (rank_t r = 0; r < ranks; ++r) last_counters().push_back(machine->count(r));
    detail::throw_failure(job);
    return job;
  }

  [[nodiscard]] rank_t rank() const noexcept { return ranks_.self(); }
  [[nodiscard]] rank_t size() const noexcept { return ranks_.size(); }
  [[nodiscard]] rank_t world_rank(rank_t rank) const { return ranks_.to_world(rank); }
  [[nodiscard]] locality locality_of(rank_t rank) const {
    return rank == this->rank() ? locality::self : locality::node;
  }

  handle reserve_segment(std::span<std::size_t const> sizes) const {
    for (std::size_t const size : sizes) {
      if (size > most_bytes) {
        throw error(errc::no_space, job_.rank(), "reserve",
                    std::to_string(size) + " bytes were asked for, and a part of the emulated machine has " +
                        std::to_string(most_bytes) + " at most: ask for fewer");
      }
    }
    return machine_->parts.add(std::make_shared<detail::tile_machine::home_parts>(sizes), sizes.size());
  }
  segment_type attach_segment(handle which, std::size_t own_bytes) const {
    auto home = machine_->parts.attach(which, job_.rank());
    if (home->sizes.size() != static_cast<std::size_t>(size()) ||
        home->sizes[static_cast<std::size_t>(rank())] != own_bytes) {
      throw error(errc::mismatch, job_.rank(), "attach",
                  std::to_string(own_bytes) + " bytes for rank " + std::to_string(rank()) +
                      " were asked for, but that is not what was reserved");
    }
    return {std::move(home), ranks_};
  }
  handle reserve_control(control_words words) const {
    return machine_->words.add(std::make_shared<detail::tile_machine::home_words>(size(), words),
                               static_cast<std::size_t>(size()));
  }
  control_type attach_control(handle which, control_words words, std::string_view label) const {
    auto home = machine_->words.attach(which, job_.rank());
    if (!(home->words == words)) {
      throw error(errc::mismatch, job_.rank(), "attach",
                  "other control words were asked for than were reserved (" + std::string(label) + ")");
    }
    return {machine_, std::move(home), ranks_, label};
  }
  handle reserve_mailbox() const {
    return machine_->mailboxes.add(std::make_shared<detail::tile_machine::home_letters>(size()),
                                   static_cast<std::size_t>(size()));
  }
  mailbox_type attach_mailbox(handle which) const {
    return {machine_, machine_->mailboxes.attach(which, job_.rank()), ranks_};
  }
  handle reserve_channel() const {
    std::vector<rank_t> members(static_cast<std::size_t>(size()));
    for (rank_t r = 0; r < size(); ++r) members[static_cast<std::size_t>(r)] = ranks_.to_world(r);
    return machine_->queues.add(std::make_shared<detail::tile_machine::home_queues>(std::move(members)),
                                static_cast<std::size_t>(size()));
  }
  channel_type attach_channel(handle which, std::string_view label) const {
    return {machine_, machine_->queues.attach(which, job_.rank()), ranks_, label};
  }
  tile sub_team(group members, rank_t rank) const {
    tile sub = *this;
    sub.ranks_ = ranks_.sub_team(members, rank);
    return sub;
  }

  void fail(std::string_view what) const noexcept {
    job_.fail(what);
    machine_->turns().wake_all();
  }
  /// Checks for failure. It also gives up the turn, so a program may loop on it.
  void check(std::string_view operation) const {
    machine_->begin(job_.rank());
    machine_->turns().point();
    job_.check(operation);
  }

  /// The core's clock; without one, the world's.
  [[nodiscard]] time_point now() const { return machine_->turns().now(job_.rank()); }
  void charge(std::uint64_t cycles) const { machine_->compute(job_.rank(), cycles); }
  /// The virtual time of this rank's core since the launch, in cycles; 0 without a clock.
  [[nodiscard]] pgas::tile_machine::cycles virtual_time() const { return machine_->now(job_.rank()); }
  /// The times of the machine; null without a clock.
  [[nodiscard]] pgas::tile_machine::costs const* clock() const { return machine_->how().clock; }

  /// The counters of each core in this thread's last launch.
  static std::vector<pgas::tile_machine::counters>& last_counters() {
    return detail::one_per_thread<last_launch>().counters;
  }

 private:
  struct last_launch {
    static constexpr std::string_view shared_name = "last launch of tile";
    std::vector<pgas::tile_machine::counters> counters;
  };

  static constexpr std::size_t most_bytes = std::size_t{1} << 32U;

  tile(detail::job const& j, std::shared_ptr<detail::tile_machine::machine> m)
      : job_(j), machine_(std::move(m)), ranks_(j.rank(), j.size()) {}

  detail::job job_;
  std::shared_ptr<detail::tile_machine::machine> machine_;
  detail::team_ranks ranks_;
};
static_assert(channel_backend<tile> && mailbox_backend<tile>);

}  // namespace backends

namespace tile_machine {

/// The virtual time of the calling rank's core since the launch, in cycles; 0 without a clock. One-sided,
/// free.
template <class Team>
[[nodiscard]] cycles cycles_of(Team const& team) {
  return team.state()->backend.virtual_time();
}

}  // namespace tile_machine

}  // namespace pgas::inline PGAS_ASSERTIONS
