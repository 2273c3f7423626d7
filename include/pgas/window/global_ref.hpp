// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/window/target_view.hpp>

namespace pgas::inline PGAS_ASSERTIONS {

/// An element of an open window: load and store are spelled out, since each may be a message.
///
/// It does not convert, so `a[i] = b[j] + 1` cannot hide two messages. Valid until its epoch closes.
template <class State, hints Hints>
class global_ref {
 public:
  using value_type = typename State::value_type;

  global_ref(target_view<State, Hints> target, std::size_t index) noexcept : target_(target), index_(index) {}

  [[nodiscard]] rank_t rank() const noexcept { return target_.rank(); }
  [[nodiscard]] std::size_t index() const noexcept { return index_; }

  /// An access that orders nothing until the epoch ends, or is flushed. UPC: a relaxed one.
  [[nodiscard]] value_type load() const { return target_.get(index_); }
  void store(value_type const& value) const { target_.put(index_, value); }
  /// An access that may meet others: indivisible, a load with acquire order and a store with release order. A flush
  /// before the store makes it UPC's strict one, also towards parts that puts are under way to.
  [[nodiscard]] value_type atomic_load() const { return target_.atomic_load(index_); }
  void atomic_store(value_type const& value) const { target_.atomic_store(index_, value); }
  template <operation_on<value_type> Op>
  [[nodiscard]] value_type update(Op op, value_type const& value) const {
    return target_.get_accumulate(index_, value, op);
  }

 private:
  target_view<State, Hints> target_;
  std::size_t index_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS
