// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <pgas/detail/machines/simulated/homes.hpp>
#include <pgas/detail/machines/simulated/transfers.hpp>
#include <pgas/machines/simulated/counters.hpp>
#include <utility>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail::simulated {

/// The state of one rank in the machine, apart from its fiber: its operations under way, its memory and its
/// services. A service is called when a letter has come; work is called at each change of the rank's words,
/// too.
class rank_state {
 public:
  pgas::simulated::counters count;
  transfers moves;
  std::size_t stores_in_flight = 0;
  std::vector<std::shared_ptr<home_words>> left;  ///< words given up, to which its stores may be under way
  ticks stores_arrive = 0;                        ///< the latest arrival of its stores at a node
  ticks stores_served = 0;  ///< the latest time at which one of those that have arrived takes place
  rank_t flushes = -1;
  bool is_flushing = false, flushes_gets_only = false;
  std::uint64_t dice = 0;

  void begin_service(std::function<void()>& what) {
    services_.push_back(&what);
    has_mail_ = true;  // a letter may have come before
  }
  void end_service(std::function<void()>& what) noexcept { std::erase(services_, &what); }
  void begin_work(std::function<void()>& what) {
    begin_service(what);
    ++works_;
  }
  void end_work(std::function<void()>& what) noexcept {
    end_service(what);
    --works_;
  }
  [[nodiscard]] bool has_services() const noexcept { return !services_.empty(); }
  [[nodiscard]] bool works() const noexcept { return works_ != 0; }
  /// True if a service has something to do.
  [[nodiscard]] bool has_mail() const noexcept { return has_mail_; }
  void notice_mail() noexcept { has_mail_ = true; }
  /// Calls the services until none has anything to do. A service may add another.
  void serve() {
    while (std::exchange(has_mail_, false)) {
      for (std::size_t i = 0; i < services_.size(); ++i) (*services_[i])();
    }
  }

  /// The rank has taken memory, or given it back.
  void hold(std::uint64_t pgas::simulated::held::*kind, std::size_t bytes) noexcept {
    count.now.*kind += bytes;
    count.most.*kind = std::max(count.most.*kind, count.now.*kind);
  }
  void give_up(std::uint64_t pgas::simulated::held::*kind, std::size_t bytes) noexcept {
    count.now.*kind -= bytes;
  }

 private:
  std::vector<std::function<void()>*> services_;
  std::size_t works_ = 0;
  bool has_mail_ = false;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::simulated
