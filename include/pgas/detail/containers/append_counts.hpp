// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <optional>
#include <pgas/concepts/control.hpp>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// A step of append_counts that a mutant leaves out or moves.
enum class append_fault {
  none,
  count_before_put,  ///< elements are counted as complete before they are put
  size_of_claimed,   ///< the size has elements whose put may be under way
};

/// The size of a sequence to whose end any rank appends.
///
/// Words     of the home: `claimed`, the indices that were given to appending ranks; `complete`, the elements
///           that have arrived.
/// append    move `claimed` from i to i + n by a compare_exchange; put the elements i to i + n - 1; await
///           their arrival; add n to `complete` (release).
/// size      load `complete` (acquire), then `claimed`. If they are equal, all elements below have arrived:
///           `complete` never passes `claimed`, so it was equal when it was loaded. Else appends are under
///           way, in whatever order, and the size is the last one that this rank has found so.
/// Source    the two counts of a ring's producers in DPDK's rte_ring. Ours differs: a producer there waits
///           for all earlier ones before it counts itself; here none waits, and a reader may find a smaller
///           size.
/// Costs     an append: a compare_exchange and an addition at the home. A size: two loads there.
template <class Control, append_fault Fault = append_fault::none>
class append_counts {
 public:
  static constexpr control_words needed = {.slots = 0, .cells = 2};

  append_counts(Control words, rank_t home) : words_(std::move(words)), home_(home) {}

  [[nodiscard]] rank_t rank() const noexcept { return words_.rank(); }

  /// Appends n elements if the sequence then has at most `capacity`, and returns the index of the first.
  /// Calls put(index of the first), which returns when they have arrived.
  template <class Put>
  std::optional<std::size_t> append(std::size_t n, std::size_t capacity, Put const& put) {
    for (;;) {
      if (n > capacity || guess_ > capacity - n) {
        // relaxed: an index is a number, and `complete` orders the elements.
        word const found = claimed().load(std::memory_order_relaxed);
        if (n > capacity || found > capacity - n) return std::nullopt;
        guess_ = found;
      }
      word expected = guess_;
      if (claimed().compare_exchange(expected, guess_ + n, std::memory_order_relaxed))
        break;  // relaxed: as above
      guess_ = expected;
    }
    std::size_t const first = std::exchange(guess_, guess_ + n);
    if constexpr (Fault == append_fault::count_before_put) add_complete(n);
    put(first);
    if constexpr (Fault != append_fault::count_before_put) add_complete(n);
    return first;
  }

  /// The number of elements from the first on that have arrived, as far as this rank can tell.
  [[nodiscard]] std::size_t size() {
    // acquire: pairs with the release in add_complete() of all ranks that have added to this sum.
    word const complete = this->complete().load(std::memory_order_acquire);
    // relaxed: the load stays behind the acquire, and a later value only makes the two differ.
    word const claimed = this->claimed().load(std::memory_order_relaxed);
    if (Fault == append_fault::size_of_claimed || claimed == complete) known_ = claimed;
    return known_;
  }
  /// The last size that this rank has found. Local.
  [[nodiscard]] std::size_t known_size() const noexcept { return known_; }
  /// The indices that were given to appending ranks.
  [[nodiscard]] std::size_t claimed_size() {
    return claimed().load(std::memory_order_relaxed);  // relaxed: a number
  }

 private:
  [[nodiscard]] auto claimed() { return words_.cell(home_, 0); }
  [[nodiscard]] auto complete() { return words_.cell(home_, 1); }
  void add_complete(std::size_t n) {
    // release: pairs with the acquire in size().
    detail::add(complete(), n, std::memory_order_release);
  }

  Control words_;
  rank_t home_;
  word guess_ = 0;  ///< `claimed`, as this rank has last seen it
  std::size_t known_ = 0;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
