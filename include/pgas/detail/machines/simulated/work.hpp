// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <functional>
#include <memory>
#include <pgas/detail/machines/simulated/machine.hpp>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS::detail::simulated {

/// Work that a rank does while it waits, as long as one lives.
class work {
 public:
  work(std::shared_ptr<machine> m, rank_t self, std::function<void()> what)
      : machine_(std::move(m)), self_(self), what_(std::move(what)) {
    machine_->of(self_).begin_work(what_);
  }
  work(work const&) = delete;
  work& operator=(work const&) = delete;
  ~work() { machine_->of(self_).end_work(what_); }

 private:
  std::shared_ptr<machine> machine_;
  rank_t self_;
  std::function<void()> what_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::simulated
