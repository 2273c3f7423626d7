// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/detail/types/anything.hpp>
#include <pgas/epoch/target_view.hpp>

namespace PGAS_NAMESPACE {

/// A reference to an element of an open window. Its load and store are spelled out, since each may be a
/// message.
///
/// It does not convert, so `a[i] = b[j] + 1` cannot hide two messages. It is valid until its epoch closes.
template <class State, hints Hints, part_is Where>
class global_ref {
 public:
  using value_type = typename State::value_type;

  /// For target_view::ref and the operator [] of an epoch.
  global_ref(target_view<State, Hints, Where> target, std::size_t index) noexcept
      : target_(target), index_(index) {}

  /// The rank that owns the element, and the element's index in that rank's part.
  [[nodiscard]] rank_t rank() const noexcept { return target_.rank(); }
  /// The element's index in its owner's part.
  [[nodiscard]] std::size_t index() const noexcept { return index_; }

  /// An access that is ordered by the epoch's end or a flush only; a race if another rank may put. UPC:
  /// relaxed.
  [[nodiscard]] value_type load() const { return target_.get(index_); }
  /// Puts the element; else like load.
  void store(value_type const& value) const { target_.put(index_, value); }
  /// Does not compile: an assignment would hide a message.
  template <class Value>
    requires(!std::is_same_v<Value, global_ref>)
  global_ref const& operator=(Value const&) const {
    static_assert(detail::always_false<Value>,
                  "global_ref: write `epoch[array.at(i, j)].store(value)`, and `.load()` to read");
    return *this;
  }
  /// An indivisible access, which other ranks' may meet: a load with acquire order, a store with release
  /// order. After flush_all the store is strict in the sense of UPC, since puts to all parts have arrived.
  [[nodiscard]] value_type atomic_load() const { return target_.atomic_load(index_); }
  /// The store that atomic_load may meet.
  void atomic_store(value_type const& value) const { target_.atomic_store(index_, value); }
  /// Replaces the element by op(element, value) in one indivisible step, and returns its value before.
  template <operation_on<value_type> Op>
  [[nodiscard]] value_type update(Op op, value_type const& value) const {
    return target_.get_accumulate(index_, value, op);
  }

 private:
  target_view<State, Hints, Where> target_;
  std::size_t index_;
};

}  // namespace PGAS_NAMESPACE
