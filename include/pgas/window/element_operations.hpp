// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstring>
#include <pgas/support/combine.hpp>
#include <pgas/vocabulary/hints.hpp>
#include <pgas/window/state.hpp>
#include <span>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Modifies elements of one rank's part indivisibly, in the way that its memory and the epoch allow: as plain memory by
/// whoever is alone there, by the processor's own instructions, or under a lock. What is given has been checked.
template <class State, hints Hints>
class element_operations {
 public:
  using value_type = typename State::value_type;

  element_operations(State& state, rank_t target) : state_(&state), rank_(target) {
    if constexpr (State::is_direct) base_ = reinterpret_cast<value_type*>(state.segment.part(target));
  }

 protected:
  using segment_type = typename State::segment_type;
  using Coherence = typename State::coherence_type;

  /// The element becomes op(element, value); returns what it was.
  template <class Op>
  value_type modify(std::size_t i, value_type const& value, Op op) const {
    if constexpr (Hints.alone) {
      value_type const old = read_alone(i);
      write_alone(i, op(old, value));
      return old;
    } else if constexpr (is_native<Op>) {
      modify_one_by_one();
      if constexpr (State::is_direct && requires(value_type& element) { segment_type::fetch_op(element, value, op); }) {
        return segment_type::fetch_op(base_[i], value, op);  // the address is here: no look at the segment
      } else {
        return state_->segment.template fetch_op<value_type>(location_of(i), value, op);
      }
    } else {
      element_lock const hold(*state_, rank_);
      value_type const old = read_home(i);
      write_home(i, op(old, value));
      return old;
    }
  }
  /// The same for each of some elements; `before`, if not null, gets what they were.
  template <class Op>
  void modify_all(std::size_t first, std::span<value_type const> values, value_type* before, Op op) const {
    if (values.empty()) return;
    if constexpr (Hints.alone && State::is_direct) {
      combine(first, values, before, op);
    } else if constexpr (Hints.alone) {
      modify_copies(first, values, before, op);
    } else if constexpr (State::has_native_elements) {
      if (one_by_one_.is_set()) {
        one_by_one_.reset();
        state_->elements.go(rank_);
      }
      if (state_->elements.many_at_once(rank_, [&] { combine(first, values, before, op); })) return;
      modify_each(first, values, before, op);
    } else if constexpr (is_native<Op>) {
      modify_each(first, values, before, op);
    } else {
      element_lock const hold(*state_, rank_);
      modify_copies(first, values, before, op);
    }
  }
  /// The element becomes `desired` if it has the bytes of `expected`; returns what it was.
  [[nodiscard]] value_type exchange_if_equal(std::size_t i, value_type const& expected,
                                             value_type const& desired) const {
    if constexpr (Hints.alone) {
      value_type const found = read_alone(i);
      if (same_bytes(found, expected)) write_alone(i, desired);
      return found;
    } else if constexpr (is_native<op::replace>) {
      modify_one_by_one();
      return state_->segment.template compare_exchange<value_type>(location_of(i), expected, desired);
    } else {
      element_lock const hold(*state_, rank_);
      value_type const found = read_home(i);
      if (same_bytes(found, expected)) write_home(i, desired);
      return found;
    }
  }
  [[nodiscard]] value_type read(std::size_t i) const {
    if constexpr (Hints.alone) {
      return read_alone(i);
    } else if constexpr (is_native<op::no_op>) {
      modify_one_by_one();
      return state_->segment.template atomic_load<value_type>(location_of(i));
    } else {
      element_lock const hold(*state_, rank_);
      return read_home(i);
    }
  }
  void write(std::size_t i, value_type const& value) const {
    if constexpr (Hints.alone) {
      write_alone(i, value);
    } else if constexpr (is_native<op::replace>) {
      modify_one_by_one();
      state_->segment.template atomic_store<value_type>(location_of(i), value);
    } else {
      element_lock const hold(*state_, rank_);
      write_home(i, value);
    }
  }

  static bool same_bytes(value_type const& a, value_type const& b) noexcept {
    return std::memcmp(&a, &b, sizeof(value_type)) == 0;
  }
  [[nodiscard]] location location_of(std::size_t i) const noexcept { return {rank_, i * sizeof(value_type)}; }
  /// The handle will go with its next access.
  void forget_afterwards() noexcept {
    if constexpr (State::has_native_elements) one_by_one_.never();
  }

 private:
  template <class Op>
  static constexpr bool is_native = atomic_segment<segment_type, value_type, Op>;

  template <class Op>
  void modify_each(std::size_t first, std::span<value_type const> values, value_type* before, Op op) const {
    for (std::size_t i = 0; i < values.size(); ++i) {
      value_type const old = state_->segment.template fetch_op<value_type>(location_of(first + i), values[i], op);
      if (before != nullptr) before[i] = old;
    }
  }
  /// While nobody else modifies these elements.
  template <class Op>
  void combine(std::size_t first, std::span<value_type const> values, value_type* before, Op op) const {
    if (before != nullptr) std::memcpy(before, base_ + first, values.size_bytes());
    detail::combine(base_ + first, values.data(), values.size(), op);
  }
  template <class Op>
  void modify_copies(std::size_t first, std::span<value_type const> values, value_type* before, Op op) const {
    std::vector<value_type> elements(values.size());
    state_->segment.flush(rank_);  // this rank's own earlier puts first
    state_->segment.get(location_of(first), std::as_writable_bytes(std::span(elements)));
    state_->segment.flush_local(rank_);
    if (before != nullptr) std::memcpy(before, elements.data(), values.size_bytes());
    detail::combine(elements.data(), values.data(), values.size(), op);
    Coherence::put(state_->segment, location_of(first), std::as_bytes(std::span(elements)));
    state_->segment.flush(rank_);
  }

  /// Comes before an element is modified by the processor.
  void modify_one_by_one() const {
    if constexpr (State::has_native_elements) {
      if (!one_by_one_.is_set()) [[unlikely]]
        come_to_elements(*state_, rank_, one_by_one_.set());
    }
  }
  [[gnu::noinline]] static void come_to_elements(State& state, rank_t target, bool remembers) {
    state.elements.come(target, remembers);
  }

  // Under an exclusive lock.
  [[nodiscard]] value_type read_alone(std::size_t i) const {
    if constexpr (State::is_direct) {
      return base_[i];
    } else {
      return read_home(i);
    }
  }
  void write_alone(std::size_t i, value_type const& value) const {
    if constexpr (State::is_direct) {
      base_[i] = value;
    } else {
      write_home(i, value);
    }
  }

  // Under a lock: what is read is in memory, past all copies, and what is written has arrived there.
  [[nodiscard]] value_type read_home(std::size_t i) const {
    value_type value;
    state_->segment.flush(rank_);  // this rank's own earlier puts first
    state_->segment.get(location_of(i), std::as_writable_bytes(std::span(&value, 1)));
    state_->segment.flush_local(rank_);
    return value;
  }
  void write_home(std::size_t i, value_type const& value) const {
    Coherence::put(state_->segment, location_of(i), std::as_bytes(std::span(&value, 1)));
    state_->segment.flush(rank_);
  }

  struct nothing {};
  struct unused {};  // not nothing: two members of one type cannot lie at one address

 protected:
  State* state_;
  rank_t rank_;

 private:
  [[no_unique_address]] mutable std::conditional_t<State::has_native_elements, remembered, unused> one_by_one_{};

 protected:
  [[no_unique_address]] std::conditional_t<State::is_direct, value_type*, nothing> base_{};
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
