// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <pgas/coherence/watched.hpp>
#include <pgas/concepts/backend.hpp>
#include <pgas/detail/backends/checked/control.hpp>
#include <pgas/detail/backends/checked/segment.hpp>
#include <pgas/detail/backends/checked/user_segment.hpp>
#include <pgas/detail/job/team_backend.hpp>
#include <pgas/detail/process/launched_rank.hpp>
#include <pgas/detail/process/one_per_process.hpp>
#include <pgas/detail/process/setting.hpp>
#include <pgas/vocabulary/error.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail::checking {

/// The runs of a checked program: how many, and by which seeds of delays.
struct schedules {
  std::uint64_t seed = 0;  ///< of the first run's delays; 0: it has none. Run i has `seed + i`
  unsigned runs = 1;       ///< until the first report

  /// Those of this thread's next launches. They are initialized from the environment: PGAS_SEED and
  /// PGAS_SCHEDULES.
  [[nodiscard]] static schedules& chosen();
  [[nodiscard]] static schedules from_environment() {
    schedules s;
    if (auto const seed = setting::variable("PGAS_SEED"); seed.given())
      s.seed = seed.whole("a number", 0, ~std::uint64_t{0} >> 1U);
    if (auto const runs = setting::variable("PGAS_SCHEDULES"); runs.given())
      s.runs = static_cast<unsigned>(runs.whole("a number of schedules", 1, 1'000'000));
    return s;
  }

 private:
  struct of_thread;
};
struct schedules::of_thread {
  static constexpr std::string_view shared_name = "schedules of checked";
  schedules chosen = from_environment();
};
inline schedules& schedules::chosen() { return one_per_thread<of_thread>().chosen; }

/// Runs a program by all schedules, and returns the last run's result. `run(seed)` makes one run.
///
/// The first report ends the search, and its error also names the run and the seed. Other failures end the
/// search as they are. Costs: a run for each schedule.
template <class Run>
auto run_schedules(schedules const& how, Run const& run) {
  for (unsigned i = 0;; ++i) {
    std::uint64_t const seed = how.seed + i;
    try {
      auto result = run(seed);
      if (i + 1 >= how.runs) return result;
    } catch (error const& found) {
      if (how.runs <= 1 || found.code() != errc::race) throw;
      throw error(errc::race, found.rank(),
                  found.description() + "; found by schedule " + std::to_string(i + 1) + " of " +
                      std::to_string(how.runs) +
                      (seed == 0 ? std::string()
                                 : ", whose delays PGAS_SEED=" + std::to_string(seed) + " makes again"));
    }
  }
}

}  // namespace PGAS_NAMESPACE::detail::checking

namespace PGAS_NAMESPACE::backends {

/// Another backend that also checks its ranks: it ends the job at a race, and names both accesses.
///
/// Two accesses to one byte of a window race if no rule of this library orders them, at least one is a write,
/// and not both are atomic operations. The checker finds a race even if the accesses happened far apart in
/// this run. It sees puts, gets, atomic operations, and a rank's own loads and stores by `local()`, `stage`
/// and views. It does not see private memory. In windows over memory that the ranks had before it sees
/// transfers, but not a rank's own loads and stores. The thread sanitizer sees these: on threads it is told
/// the same order.
///
/// This is a type, since an option would cost every backend a test in the path of each put. A program on
/// another backend contains none of it. The cost is here: each access is a call and a look at the shadow of
/// its bytes. `local()` is no span, but `stage` is in place. Memory: twice the windows', and for each control
/// word its latest eight values with two clocks each. At most 64 ranks, which `run` starts.
/// Source: the order of words is that of the emulated chip's oracle; MPI: MUST-RMA, Hermanns et al. 2022.
template <backend Inner, class Rules = detail::checking::every_rule>
  requires shared_segment<typename Inner::segment_type> && mailbox_backend<Inner>
class checked : public Inner {
 public:
  using segment_type = detail::checked_segment<typename Inner::segment_type, Rules>;
  using control_type = detail::checked_control<typename Inner::control_type, Rules>;
  using mailbox_type = detail::checked_mailbox<typename Inner::mailbox_type, Rules>;
  using user_segment_type = typename detail::checked_user_memory<Inner, Rules>::segment_type;
  using default_coherence = coherence::watched;
  using handle = typename Inner::handle;
  static constexpr rank_t max_ranks = detail::checking::most_ranks;

  /// Launches as Inner does. Throws errc::unsupported if there are too many ranks, or if a launcher starts
  /// them.
  template <class Main>
  static auto launch(rank_t ranks, Main const& main) {
    detail::refuse_launcher("check: ranks that a launcher starts have no shadow memory in common");
    if (ranks > max_ranks) {
      throw error(errc::unsupported, -1,
                  "check: a checked job has at most " + std::to_string(max_ranks) + " ranks, not " +
                      std::to_string(ranks) + "; take fewer");
    }
    return detail::checking::run_schedules(detail::checking::schedules::chosen(), [&](std::uint64_t seed) {
      auto const memory = std::make_shared<detail::checking::memory>(std::max(ranks, rank_t{1}));
      return memory->errors().with_lines([&] {
        return Inner::launch(ranks, [&](auto&& b, auto& boot) {
          detail::error_recorder const recorder(memory->errors());
          main(checked(std::forward<decltype(b)>(b),
                       std::make_shared<detail::checking::checker<Rules>>(memory, boot, seed)),
               boot);
        });
      });
    });
  }
  /// Lets the next launches of this thread run the program n times, up to the first report: the ranks pause
  /// at random before accesses and control words, by another seed in each run. `--pgas-schedules n`.
  static void run_by_schedules(unsigned n) noexcept { detail::checking::schedules::chosen().runs = n; }

  handle reserve_segment(std::span<std::size_t const> sizes) const {
    handle const made = Inner::reserve_segment(sizes);
    auto const& shared = checker_->shared();
    shared.forget(made, Inner::segment_type::bytes_for(sizes), checker_->of_job());
    shared.make_beside(made, detail::checking::completions::bytes(shared.ranks()), checker_->of_job());
    return made;
  }
  segment_type attach_segment(handle which, std::size_t own_bytes) const {
    return {Inner::attach_segment(which, own_bytes), checker_, ranks_in_job(),
            checker_->shared().beside(which, checker_->of_job())};
  }
  handle reserve_user_segment(std::span<std::size_t const> sizes) const
    requires user_memory_backend<Inner>
  {
    handle const made = Inner::reserve_user_segment(sizes);
    auto const& shared = checker_->shared();
    std::uint64_t const logs = detail::checking::completions::bytes(shared.ranks());
    shared.make_beside(made, logs + detail::shadow_places::bytes(sizes.size()), checker_->of_job());
    detail::shadow_places(shared.beside(made, checker_->of_job()) + logs, sizes.size())
        .take(sizes, shared, checker_->of_job());
    return made;
  }
  user_segment_type attach_user_segment(handle which, bytes_out own) const
    requires user_memory_backend<Inner>
  {
    auto const& shared = checker_->shared();
    auto const ranks = static_cast<std::size_t>(this->size());
    std::byte* const logs = shared.beside(which, checker_->of_job());
    detail::shadow_places const places(logs + detail::checking::completions::bytes(shared.ranks()), ranks);
    return {Inner::attach_user_segment(which, own), checker_, ranks_in_job(), logs, places};
  }
  handle reserve_control(control_words words) const {
    handle const made = Inner::reserve_control(words);
    auto const& shared = checker_->shared();
    shared.make_beside(made, control_type::history_bytes(this->size(), words, shared.ranks()),
                       checker_->of_job());
    return made;
  }
  control_type attach_control(handle which, control_words words, std::string_view label) const {
    return {Inner::attach_control(which, words, label),           checker_,       words,
            checker_->shared().beside(which, checker_->of_job()), {label, words}, ranks_in_job()};
  }
  mailbox_type attach_mailbox(handle which) const {
    return {Inner::attach_mailbox(which), checker_, ranks_in_job(), this->rank()};
  }
  checked sub_team(group members, rank_t rank) const { return {Inner::sub_team(members, rank), checker_}; }

 private:
  checked(Inner inner, std::shared_ptr<detail::checking::checker<Rules>> c)
      : Inner(std::move(inner)), checker_(std::move(c)) {}

  [[nodiscard]] std::vector<rank_t> ranks_in_job() const { return detail::world_ranks_of(*this); }

  std::shared_ptr<detail::checking::checker<Rules>> checker_;
};

}  // namespace PGAS_NAMESPACE::backends
