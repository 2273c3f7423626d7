// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <pgas/concepts/bootstrap.hpp>
#include <pgas/detail/machines/simulated/machine.hpp>
#include <string>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail::simulated {

/// The values that ranks exchange before they have memory, and where they meet. Takes no virtual time, except
/// that a rank waits for the last one.
struct meeting {
  std::map<std::string, std::vector<std::byte>, std::less<>> values;
  rank_t arrived = 0;
  word puts = 0, fences = 0;
};

/// One rank's share of it.
class rank_bootstrap {
 public:
  rank_bootstrap(std::shared_ptr<machine> m, std::shared_ptr<meeting> all, rank_t self) noexcept
      : machine_(std::move(m)), all_(std::move(all)), self_(self) {}

  [[nodiscard]] rank_t rank() const noexcept { return self_; }
  [[nodiscard]] rank_t size() const noexcept { return machine_->turns().size(); }
  void put(std::string_view key, bytes_in value) const {
    all_->values[std::string(key)].assign(value.begin(), value.end());
    change(all_->puts);
  }
  void get(std::string_view key, bytes_out into) const {
    auto found = all_->values.find(key);
    for (; found == all_->values.end(); found = all_->values.find(key)) await(all_->puts);
    if (!into.empty()) std::memcpy(into.data(), found->second.data(), into.size());
  }
  void fence() const {
    machine_->drain(self_);
    if (++all_->arrived < size()) return await(all_->fences);
    all_->arrived = 0;
    change(all_->fences);
  }
  void fail(std::string_view what) const {
    machine_->turns().failed().note(self_, what);
    machine_->turns().wake_all();
  }

 private:
  void change(word& w) const {
    ++w;
    auto& turns = machine_->turns();
    ticks const now = std::max(turns.present(), turns.current() < 0 ? 0 : turns.clock(self_));
    turns.changed(-1, &w, [now](rank_t) { return now; });
  }
  /// Waits until the word is another one.
  void await(word const& w) const {
    std::array<watch, 1> watches{watch{.at = &w}};
    waiting_for const why{.operation = "run"};
    team_ranks const everybody(self_, size());
    auto const is_new = [old = w](word now) { return now != old; };
    wait mine{.self = self_,
              .why = &why,
              .label = "start or end of the job",
              .ranks = &everybody,
              .predicate = is_new,
              .watches = watches};
    machine_->await(mine);
  }

  std::shared_ptr<machine> machine_;
  std::shared_ptr<meeting> all_;
  rank_t self_;
};
static_assert(bootstrap<rank_bootstrap>);

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::simulated
