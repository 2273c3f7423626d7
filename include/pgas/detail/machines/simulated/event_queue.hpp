// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <pgas/machines/simulated/network.hpp>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail::simulated {

using pgas::simulated::ticks;

/// A step of the simulation that is still to come.
struct event {
  enum kind : std::uint32_t {
    resume,    ///< a rank goes on
    arrival,   ///< a message arrives at its target's node
    effect,    ///< a message that had to queue there changes its word
    deadline,  ///< a wait has lasted too long
  };

  ticks at;
  std::uint64_t number;  ///< the order of events at one time: that in which they were planned
  kind what;
  std::uint32_t which;       ///< the rank, or the number of the message
  std::uint32_t serial = 0;  ///< of a deadline: the number of the rank's wait
};

/// The events to come, earliest first. Costs O(log n) a step, for n events, which are about as many as ranks.
class event_queue {
 public:
  [[nodiscard]] bool is_empty() const noexcept { return heap_.empty(); }
  [[nodiscard]] event const& first() const noexcept { return heap_.front(); }
  [[nodiscard]] std::uint64_t planned() const noexcept { return planned_; }

  void plan(ticks at, event::kind what, std::uint32_t which, std::uint32_t serial = 0) {
    event const added{at, planned_++, what, which, serial};
    heap_.push_back(added);
    std::size_t child = heap_.size() - 1;
    while (child > 0) {
      std::size_t const parent = (child - 1) / arity;
      if (!is_before(added, heap_[parent])) break;
      heap_[child] = heap_[parent];
      child = parent;
    }
    heap_[child] = added;
  }
  event take() {
    event const first = heap_.front();
    event const last = heap_.back();
    heap_.pop_back();
    std::size_t const size = heap_.size();
    if (size == 0) return first;
    std::size_t parent = 0;
    for (;;) {
      std::size_t const begin = parent * arity + 1;
      if (begin >= size) break;
      std::size_t best = begin;
      for (std::size_t child = begin + 1; child < std::min(begin + arity, size); ++child) {
        if (is_before(heap_[child], heap_[best])) best = child;
      }
      if (!is_before(heap_[best], last)) break;
      heap_[parent] = heap_[best];
      parent = best;
    }
    heap_[parent] = last;
    return first;
  }

 private:
  static constexpr std::size_t arity = 4;  // a node's children share two lines

  static bool is_before(event const& a, event const& b) noexcept {
    return a.at != b.at ? a.at < b.at : a.number < b.number;
  }

  std::vector<event> heap_;
  std::uint64_t planned_ = 0;
};

}  // namespace PGAS_NAMESPACE::detail::simulated
