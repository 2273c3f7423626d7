// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <pgas/concepts/bootstrap.hpp>
#include <pgas/detail/job/ranks.hpp>
#include <pgas/detail/job/wait.hpp>
#include <pgas/detail/machines/turn_order.hpp>
#include <pgas/vocabulary/error.hpp>
#include <string>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail::emulation {

/// Reserved memory to which some ranks have still to attach. The last attach removes the entry.
template <class Memory>
class registry {
 public:
  using handle = std::uint64_t;

  [[nodiscard]] handle add(std::shared_ptr<Memory> memory, std::size_t holders) {
    entries_.emplace(++last_, entry{std::move(memory), holders});
    return last_;
  }
  [[nodiscard]] std::shared_ptr<Memory> attach(handle which, rank_t self) {
    auto const found = entries_.find(which);
    if (found == entries_.end()) {
      throw error(errc::invalid_argument, self, "attach",
                  "there is no reserved memory " + std::to_string(which) +
                      ", or all its ranks have attached already");
    }
    auto memory = found->second.memory;
    if (--found->second.missing == 0) entries_.erase(found);
    return memory;
  }

 private:
  struct entry {
    std::shared_ptr<Memory> memory;
    std::size_t missing;
  };
  std::map<handle, entry> entries_;
  handle last_ = 0;
};

/// A function that a rank of a machine calls while it waits, so that it answers messages.
template <class Machine>
class service {
 public:
  service(std::shared_ptr<Machine> m, rank_t rank, std::function<void()> run)
      : machine_(std::move(m)), rank_(rank), run_(std::move(run)) {
    machine_->begin_service(rank_, *this);
  }
  service(service const&) = delete;
  service& operator=(service const&) = delete;
  ~service() { machine_->end_service(rank_, *this); }

  void run() const { run_(); }

 protected:
  std::shared_ptr<Machine> machine_;
  rank_t rank_;  ///< in the job

 private:
  std::function<void()> run_;
};

/// The meeting of ranks before they have memory: the count of arrivals, and the cores that wait for the fence
/// or for a key.
struct meeting_place {
  std::uint64_t arrived = 0;
  waiters waiting = 0;
};

/// The bootstrap of the ranks of an emulated machine, before they have memory.
///
/// The machine has `turns()`, a scheduler; `meeting()`; `serve(rank)`, which returns whether a service of a
/// waiting rank ran; and `all_met()`, which is told of each fence.
template <class Machine>
class rank_bootstrap {
 public:
  rank_bootstrap(std::shared_ptr<Machine> m, job const& mine) noexcept : machine_(std::move(m)), job_(mine) {}

  [[nodiscard]] rank_t rank() const noexcept { return job_.rank(); }
  [[nodiscard]] rank_t size() const noexcept { return job_.size(); }
  void put(std::string_view key, bytes_in value) const {
    job_.put(key, value);
    machine_->turns().wake(std::exchange(machine_->meeting().waiting, 0));
  }
  void get(std::string_view key, bytes_out into) const {
    wait([&] { return job_.find(key) != nullptr; });
    job_.get(key, into);
  }
  void fence() const {
    auto& m = machine_->meeting();
    std::uint64_t const all =
        (m.arrived / static_cast<std::uint64_t>(size()) + 1) * static_cast<std::uint64_t>(size());
    if (++m.arrived == all) {
      machine_->all_met();
      machine_->turns().wake(std::exchange(m.waiting, 0));
    }
    wait([&] { return m.arrived >= all; });
  }
  void fail(std::string_view what) const noexcept { machine_->turns().fail(rank(), what); }

 private:
  template <class Condition>
  void wait(Condition&& condition) const {
    team_ranks const everybody(rank(), size());
    std::vector<rank_t> others;
    for (rank_t r = 0; r < size(); ++r) {
      if (r != rank()) others.push_back(r);
    }
    waiting_for const why{.operation = "run", .awaited = others};
    waiters* const waiting = &machine_->meeting().waiting;
    auto const served = [&] {
      while (machine_->serve(rank())) {}
      return condition();
    };
    machine_->turns().wait(std::span(&waiting, 1), served, why, "start or end of the job", everybody);
  }

  std::shared_ptr<Machine> machine_;
  job job_;
};

}  // namespace PGAS_NAMESPACE::detail::emulation
