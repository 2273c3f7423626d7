// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/detail/machines/scc/checker.hpp>
#include <pgas/detail/machines/scheduler.hpp>
#include <pgas/machines/scc/options.hpp>

namespace PGAS_NAMESPACE::detail::scc {

/// Gives a core's acquires and releases a scope, or its transfers a kind, while it lives. Does nothing
/// without an oracle.
template <class What>
class [[nodiscard]] checker_scope {
 public:
  checker_scope(checker* oracle, rank_t core, What what) noexcept
      : oracle_(oracle), core_(core), before_(what) {
    if (oracle_ != nullptr) before_ = oracle_->enter(core, what);
  }
  checker_scope(checker_scope const&) = delete;
  checker_scope& operator=(checker_scope const&) = delete;
  ~checker_scope() {
    if (oracle_ != nullptr) oracle_->enter(core_, before_);
  }

 private:
  checker* oracle_;
  rank_t core_;
  What before_;
};

using emulation::bit;
using emulation::timeline;
using emulation::waiters;
using pgas::scc::options;
using pgas::scc::ticks;

/// The order of the cores' turns on the chip.
using scheduler = emulation::scheduler<options>;

}  // namespace PGAS_NAMESPACE::detail::scc
