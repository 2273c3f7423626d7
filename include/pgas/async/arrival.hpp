// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <pgas/signals.hpp>

namespace pgas::inline PGAS_ASSERTIONS {

/// The arrival of signals, as a request: the result of `arrival(signals, from)`. It takes them when it is
/// done.
template <class State>
class arrival_request {
 public:
  /// It takes nothing before it is done.
  static constexpr bool is_droppable = true;

  /// `arrival` calls it.
  arrival_request(signals<State>& of, signal_from from, std::uint64_t how_many) noexcept
      : of_(&of), from_(from), how_many_(how_many) {}

  /// Returns whether the signals have come, and takes them then. Never blocks.
  [[nodiscard]] bool test() {
    if (how_many_ != 0 && of_->test(from_, how_many_)) how_many_ = 0;
    return how_many_ == 0;
  }
  /// Returns when they have come, and takes them.
  void wait() {
    if (how_many_ != 0) of_->wait(from_, how_many_);
    how_many_ = 0;
  }

 private:
  signals<State>* of_;
  signal_from from_;
  std::uint64_t how_many_;  ///< 0: they have been taken
};

/// The arrival at this rank of `how_many` signals, with the puts before them: `co_await arrival(s,
/// {source});`.
///
/// One-sided. Done when they have come; a coroutine that is destroyed before takes none. Requires that the
/// signals outlive it. Costs a look at one word. UPC++: remote completion by an RPC; shmem_signal_wait_until.
template <class State>
[[nodiscard]] arrival_request<State> arrival(signals<State>& of, signal_from from,
                                             std::uint64_t how_many = 1) noexcept {
  return {of, from, how_many};
}

}  // namespace pgas::inline PGAS_ASSERTIONS
