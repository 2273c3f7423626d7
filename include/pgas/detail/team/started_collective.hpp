// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <exception>
#include <memory>
#include <pgas/detail/control/collective_call.hpp>
#include <pgas/detail/exchange/eager.hpp>
#include <pgas/detail/exchange/steps.hpp>
#include <string_view>
#include <utility>

namespace PGAS_NAMESPACE::detail {

/// A collective that has been called and may not have ended yet. Its functions take its base, since they know
/// the derived type.
struct started_collective {
  std::string_view operation;
  collective_call call;
  steps (*begin)(started_collective&) = nullptr;
  /// Of an eager one whose message is written: it ends by reading the messages of the others.
  bool (*read)(started_collective&, eager_exchange) = nullptr;
  steps run;  ///< none before it begins, and after it has ended
  std::exception_ptr error;
  bool is_done = false;
  std::shared_ptr<started_collective> next;  ///< in the queue of its team
};

/// The started collectives of a team that have not ended, in the order of their calls. Each owns the next
/// one. A std::deque would cost every program the compilation of sixty functions.
class collective_queue {
 public:
  collective_queue() = default;
  collective_queue(collective_queue const&) = delete;
  collective_queue& operator=(collective_queue const&) = delete;
  /// Removes one after the other: as a chain, each would be destroyed by the one before it.
  ~collective_queue() {
    while (!empty()) pop();
  }

  [[nodiscard]] bool empty() const noexcept { return !first_; }
  /// Returns whether there is one and no other.
  [[nodiscard]] bool has_one() const noexcept { return first_ && !first_->next; }
  [[nodiscard]] started_collective& front() const noexcept { return *first_; }

  void push(std::shared_ptr<started_collective> one) noexcept {
    started_collective* const added = one.get();
    (empty() ? first_ : last_->next) = std::move(one);
    last_ = added;
  }
  /// Takes the first one out.
  std::shared_ptr<started_collective> pop() noexcept {
    auto gone = std::move(first_);
    first_ = std::move(gone->next);
    return gone;
  }

 private:
  std::shared_ptr<started_collective> first_;
  started_collective* last_ = nullptr;  ///< the last one, unless the queue is empty
};

}  // namespace PGAS_NAMESPACE::detail
