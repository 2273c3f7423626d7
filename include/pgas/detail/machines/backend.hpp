// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <pgas/detail/job/team_backend.hpp>
#include <pgas/detail/machines/bootstrap.hpp>
#include <pgas/detail/process/launched_rank.hpp>
#include <pgas/detail/text/text.hpp>
#include <string_view>
#include <utility>

namespace PGAS_NAMESPACE::detail::emulation {

/// What the backends of emulated machines have in common: fibers of one thread, and reserved memory in
/// registries.
///
/// Machine has `turns()`, a scheduler; `look(rank)`, a step of a program that looks at nothing in particular;
/// and the registries `parts`, `words` and `mailboxes`.
template <class Backend, class Machine>
class machine_backend : public team_backend<Backend> {
 public:
  using handle = std::uint64_t;
  static constexpr progress progress_by = progress::hardware;

  [[nodiscard]] auto attach_segment(handle which, std::size_t own_bytes) const {
    auto home = machine_->parts.attach(which, self_);
    if (home->size() != this->size() || home->bytes_of(this->rank()) != own_bytes) {
      throw error(errc::mismatch, self_, "attach",
                  text_of({own_bytes, " bytes for rank ", this->rank(),
                           " were asked for, but that is not what was reserved"}));
    }
    return typename Backend::segment_type(machine_, std::move(home), this->ranks());
  }
  [[nodiscard]] auto attach_control(handle which, control_words words, std::string_view label) const {
    auto home = machine_->words.attach(which, self_);
    if (!(home->words == words)) {
      throw error(errc::mismatch, self_, "attach",
                  text_of({"other control words were asked for than were reserved (", label, ")"}));
    }
    return typename Backend::control_type(machine_, std::move(home), this->ranks(), label);
  }
  [[nodiscard]] auto attach_mailbox(handle which) const {
    return typename Backend::mailbox_type(machine_, machine_->mailboxes.attach(which, self_), this->ranks());
  }

  void fail(std::string_view what) const { machine_->turns().fail(self_, what); }
  /// Checks for failure. It also gives up the turn, so a program may loop on it.
  void check(std::string_view operation) const {
    machine_->look(self_);
    machine_->turns().check(self_, operation);
  }
  /// The clock of this rank's core if the machine has virtual time, else the world's.
  [[nodiscard]] time_point now() const { return machine_->turns().now(self_); }

 protected:
  machine_backend(std::shared_ptr<Machine> m, rank_t self)
      : team_backend<Backend>({self, m->turns().size()}), machine_(std::move(m)), self_(self) {}

  /// Runs main(backend, bootstrap) on a fiber for each rank of a machine that has a job.
  template <class Main>
  static void run(std::shared_ptr<Machine> const& m, Main const& main) {
    m->turns().run([&](rank_t rank) {
      auto const mine = m->of_job().as(rank);
      run_rank(mine, [&] {
        rank_bootstrap<Machine> boot(m, mine);
        main(Backend(m, rank), boot);
      });
      mine.mark_finished(rank);
    });
  }

  std::shared_ptr<Machine> machine_;
  rank_t self_;  ///< in the job
};

}  // namespace PGAS_NAMESPACE::detail::emulation
