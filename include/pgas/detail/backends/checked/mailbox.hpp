// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <pgas/concepts/mailbox.hpp>
#include <pgas/detail/backends/checked/checker.hpp>
#include <utility>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// A mailbox of another backend. A message also carries what its sender knows.
template <mailbox Inner, class Rules = checking::every_rule>
class checked_mailbox : public Inner {
 public:
  checked_mailbox(Inner inner, std::shared_ptr<checking::checker<Rules>> c, std::vector<rank_t> in_job,
                  rank_t self)
      : Inner(std::move(inner)), checker_(std::move(c)), in_job_(std::move(in_job)), self_(self) {}

  [[nodiscard]] bool try_send(rank_t to, bytes_in message) {
    if (Rules::messages()) checker_->release(clock(self_, to));
    return Inner::try_send(to, message);
  }
  template <class Handler>
  std::size_t poll(Handler&& handler) {
    return Inner::poll([&](rank_t from, bytes_in message) {
      if (Rules::messages()) checker_->acquire(clock(from, self_));
      handler(from, message);
    });
  }
  // Words go as other messages do, so that they carry what their sender knows.
  bool try_send_word(rank_t, word) = delete;
  bool try_send_close_word(rank_t, word) = delete;

 private:
  [[nodiscard]] checking::memory::locked_clock clock(rank_t from, rank_t to) const {
    auto const in_job = [&](rank_t r) { return in_job_[static_cast<std::size_t>(r)]; };
    return checker_->shared().clock_of_mail(in_job(from), in_job(to));
  }

  std::shared_ptr<checking::checker<Rules>> checker_;
  std::vector<rank_t> in_job_;
  rank_t self_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
