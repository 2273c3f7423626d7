// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <pgas/coherence/write_back.hpp>
#include <pgas/concepts/backend.hpp>
#include <pgas/detail/job/service.hpp>
#include <pgas/detail/job/threads.hpp>

#include "control.hpp"
#include "segment.hpp"

namespace pgas_test::incoherent {

/// The backend that lies about caches. It grants the promises of the concepts and nothing more, and so finds
/// the library's unstated assumptions.
///
/// Ranks are threads but share no payload. Each rank has private copies, which agree with memory only through
/// cache control. Puts arrive at flush. Control words have no native read-modify-write. A launch is against
/// this thread's adversary: see class against.
class backend {
 public:
  using segment_type = segment;
  using control_type = control;
  using default_coherence = pgas::coherence::write_back;
  using handle = registry<home_memory>::handle;

  static constexpr std::string_view name = "incoherent";
  static constexpr pgas::progress progress_by = pgas::progress::hardware;

  /// Runs main(backend, bootstrap) on a thread for each rank; returns the bootstrap.
  template <class Main>
  static pgas::detail::job launch(rank_t ranks, Main const& main) {
    auto const job = pgas::detail::job::create(ranks, false);
    auto const shared = std::make_shared<world>(against::chosen());
    pgas::detail::run_threads(job, [&](pgas::detail::job const& mine) {
      pgas::detail::job own = mine;
      main(backend(own, shared), own);
    });
    return job;
  }

  [[nodiscard]] rank_t rank() const noexcept { return ranks_.self(); }
  [[nodiscard]] rank_t size() const noexcept { return ranks_.size(); }
  [[nodiscard]] rank_t world_rank(rank_t rank) const { return ranks_.to_world(rank); }
  [[nodiscard]] pgas::locality locality_of(rank_t rank) const {
    return rank == this->rank() ? pgas::locality::self : pgas::locality::remote;
  }

  handle reserve_segment(std::span<std::size_t const> sizes) const {
    std::uint64_t bytes = 0;
    for (std::size_t const part : sizes) bytes = part > ~bytes ? ~std::uint64_t{0} : bytes + part;
    return world_->memory.add(allocate<home_memory>(job_.rank(), bytes, sizes), sizes.size());
  }
  segment_type attach_segment(handle which, std::size_t own_bytes) const {
    auto home = world_->memory.attach(which, job_.rank());
    if (home->size() != size() || home->part_bytes(rank()) != own_bytes) {
      throw error(errc::mismatch, job_.rank(), "attach",
                  std::to_string(own_bytes) + " bytes for rank " + std::to_string(rank()) + " of " +
                      std::to_string(size()) + " were asked for, but another size was reserved");
    }
    return {world_, std::move(home), ranks_, choices(which)};
  }

  handle reserve_control(pgas::control_words words) const {
    std::uint64_t const bytes = static_cast<std::uint64_t>(size()) * (words.slots + words.cells + 1) * 64;
    return world_->words.add(allocate<home_words>(job_.rank(), bytes, size(), words),
                             static_cast<std::size_t>(size()));
  }
  control_type attach_control(handle which, pgas::control_words words, std::string_view label) const {
    auto home = world_->words.attach(which, job_.rank());
    if (!(home->words() == words)) {
      throw error(errc::mismatch, job_.rank(), "attach",
                  "the control words differ from those that were reserved (" + std::string(label) + ")");
    }
    return {std::move(home), job_, ranks_, label, world_->against, choices(~which)};
  }

  backend sub_team(pgas::group members, rank_t rank) const {
    backend sub = *this;
    sub.ranks_ = ranks_.sub_team(members, rank);
    return sub;
  }

  /// See working_backend. It has no bell, so waits look often.
  [[nodiscard]] std::unique_ptr<pgas::detail::service> while_waiting(std::function<void()> work) const {
    return std::unique_ptr<pgas::detail::service>(
        new pgas::detail::service(job_.block(), nullptr, std::move(work)));
  }

  void fail(std::string_view what) const noexcept { job_.fail(what); }
  void check(std::string_view operation) const { job_.check(operation); }

  [[nodiscard]] static pgas::time_point now() noexcept { return std::chrono::steady_clock::now(); }
  static void charge(std::uint64_t) noexcept {}

 private:
  backend(pgas::detail::job const& j, std::shared_ptr<world> w)
      : job_(j), world_(std::move(w)), ranks_(j.rank(), j.size()) {}

  [[nodiscard]] dice choices(handle of) const noexcept {
    return {world_->against.seed, of, static_cast<std::uint64_t>(job_.rank())};
  }

  pgas::detail::job job_;
  std::shared_ptr<world> world_;
  pgas::detail::team_ranks ranks_;
};

static_assert(pgas::working_backend<backend>);

}  // namespace pgas_test::incoherent
