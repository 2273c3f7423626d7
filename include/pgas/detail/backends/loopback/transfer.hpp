// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstring>
#include <memory>
#include <pgas/detail/backends/loopback/agent.hpp>
#include <utility>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail::loopback {

/// A question about payload that is under way, and the destination of the answer's rows.
///
/// The rank itself copies the rows when it asks for them. Its agent never writes to memory that an exception
/// may have freed.
class transfer {
 public:
  transfer(std::shared_ptr<reply> expected, rank_t owner, std::string_view operation,
           std::byte* into = nullptr, std::size_t pitch = 0, row_shape shape = {})
      : expected_(std::move(expected)),
        owner_(owner),
        operation_(operation),
        into_(into),
        pitch_(pitch),
        shape_(shape) {}

  [[nodiscard]] bool has_arrived() const noexcept { return !expected_ || agent::has_arrived(*expected_); }

  /// Waits for the answer and copies its rows to their destination. Later calls do nothing.
  void finish(agent const& mine) {
    if (!expected_) return;
    mine.check(operation_);  // after a failure the destination may be gone
    mine.await([&] { return has_arrived(); }, operation_);
    auto const answer = std::exchange(expected_, nullptr);  // a refusal, too, is reported once
    mine.answer_to(*answer, owner_, operation_);
    std::byte const* from = answer->body().data();
    std::byte* to = into_;
    for (std::size_t row = 0; row < shape_.rows; ++row, to += pitch_, from += shape_.row_bytes) {
      std::memcpy(to, from, shape_.row_bytes);
    }
  }

 private:
  std::shared_ptr<reply> expected_;  ///< none: finished
  rank_t owner_;
  std::string_view operation_;
  std::byte* into_;
  std::size_t pitch_;
  row_shape shape_;
};

/// The request of an rput or rget: some transfers. An rput is done when its bytes have arrived at the target.
class transfer_request {
 public:
  transfer_request() = default;
  transfer_request(std::shared_ptr<agent> mine, std::vector<std::shared_ptr<transfer>> parts)
      : agent_(std::move(mine)), parts_(std::move(parts)) {}

  /// True if the request is done. Never blocks; throws if the job has failed.
  [[nodiscard]] bool test() {
    for (auto const& part : parts_) {
      if (part->has_arrived()) continue;
      agent_->check("test");
      return false;
    }
    wait();
    return true;
  }
  void wait() {
    for (auto const& part : parts_) part->finish(*agent_);
    parts_.clear();
  }

 private:
  std::shared_ptr<agent> agent_;
  std::vector<std::shared_ptr<transfer>> parts_;
};
static_assert(request<transfer_request>);

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::loopback
