// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <deque>
#include <pgas/detail/async/engine.hpp>
#include <pgas/vocabulary/request.hpp>
#include <type_traits>
#include <utility>

namespace PGAS_NAMESPACE {

/// Requests under way, at most so many: `in_flight<R> gets(64); co_await gets.room();
/// gets.add(e.rget(...));`.
///
/// A loop over any number of transfers then needs the memory of 64. They are retired in the order in which
/// they were added. The destructor waits for those that are left. UPC++: a promise with a counter.
template <request R>
class in_flight {
 public:
  /// Room for `most` requests, at least one.
  explicit in_flight(std::size_t most) noexcept : most_(most == 0 ? 1 : most) {}
  in_flight(in_flight const&) = delete;
  in_flight& operator=(in_flight const&) = delete;
  ~in_flight() {
    for (R& each : each_) detail::settle(each);
  }

  /// The number of requests that were under way when last tested.
  [[nodiscard]] std::size_t size() const noexcept { return each_.size(); }
  /// Adds a request. Requires room.
  void add(R one) {
    if constexpr (!std::derived_from<R, done>) each_.push_back(std::move(one));
  }

  /// To be awaited: there is room for one more request.
  [[nodiscard]] auto room() noexcept { return until(most_ - 1); }
  /// To be awaited: no request is under way.
  [[nodiscard]] auto none() noexcept { return until(0); }

 private:
  /// Is done when at most `left` requests are under way. Itself a request.
  class few_left {
   public:
    static constexpr bool is_droppable = true;

    few_left(in_flight& of, std::size_t left) noexcept : of_(&of), left_(left) {}
    [[nodiscard]] bool test() {
      auto& each = of_->each_;
      while (!each.empty() && each.front().test()) each.pop_front();
      return each.size() <= left_;
    }
    void wait() {
      for (auto& each = of_->each_; each.size() > left_; each.pop_front()) each.front().wait();
    }

   private:
    in_flight* of_;
    std::size_t left_;
  };

  auto until([[maybe_unused]] std::size_t left) noexcept {
    if constexpr (std::derived_from<R, done>) {
      return done{};
    } else {
      return few_left(*this, left);
    }
  }

  std::size_t most_;
  std::deque<R> each_;
};

}  // namespace PGAS_NAMESPACE
