// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstring>
#include <pgas/concepts/access_kind.hpp>
#include <pgas/detail/elements/atomic_element.hpp>
#include <pgas/detail/elements/bulk_accumulate_lock.hpp>
#include <pgas/detail/window/part_access.hpp>
#include <pgas/vocabulary/expects.hpp>
#include <span>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// The number of elements combined as one block. GCC 12 at -O2 makes vector code only of a loop of constant
/// length.
inline constexpr std::size_t combined_at_once = 16;

template <std::size_t AtOnce, class T, class Op>
[[gnu::always_inline]] inline void combine_blocks(T* __restrict to, T const* __restrict from,
                                                  std::size_t count, Op op) noexcept {
  std::size_t i = 0;
  for (; count - i >= AtOnce; i += AtOnce) {
    for (std::size_t k = 0; k < AtOnce; ++k) to[i + k] = op(to[i + k], from[i + k]);
  }
  for (; i < count; ++i) to[i] = op(to[i], from[i]);
}

#if defined(__x86_64__)
template <class T, class Op>
[[gnu::target("avx2"), gnu::noinline]] void combine_wide(T* to, T const* from, std::size_t count,
                                                         Op op) noexcept {
  combine_blocks<combined_at_once>(to, from, count, op);
}
#endif

/// Combines each of `count` values into its element: to[i] = op(to[i], from[i]). Requires that the two arrays
/// do not overlap.
template <class T, class Op>
void combine(T* to, T const* from, std::size_t count, Op op) noexcept {
#if defined(__x86_64__)
  if (count >= 2 * combined_at_once) {
    if (__builtin_cpu_supports("avx2")) return combine_wide(to, from, count, op);
  }
#endif
  combine_blocks<combined_at_once>(to, from, count, op);
}

/// Modifies elements of one part indivisibly, in the way that its memory and the epoch allow.
///
/// Under an exclusive lock the rank is alone and modifies plain memory. Elsewhere the processor's own
/// instructions modify an element, or, without such an instruction, this rank does so under a lock. Callers
/// have checked their arguments. The object serves one operation; `memory` and `announced` belong to the view
/// and outlive it.
template <class State, hints Hints, part_is Where>
class element_operations {
 public:
  using part_type = part_access<State, Hints, Where>;
  using value_type = typename State::value_type;
  using memory_type = typename State::element_modes_type::memory_type;

  using announced_type = announced_elements<value_type>;

  element_operations(part_type const& part, memory_type& memory, announced_type& announced) noexcept
      : part_(part), memory_(memory), announced_(announced) {}

  /// Sets the element to op(element, value), and returns its value before.
  template <class Op>
  value_type modify(std::size_t i, value_type const& value, Op op) const {
    [[maybe_unused]] auto const as =
        access_as(segment(), std::same_as<Op, op::replace> ? access_kind::exchange : access_kind::fetch);
    return modify_now(i, value, op);
  }
  /// The same without a result, which has taken place by the next flush.
  template <class Op>
  void combine(std::size_t i, value_type const& value, Op op) const {
    if (!goes_one_way<Op>()) {
      [[maybe_unused]] auto const as = access_as(segment(), access_kind::accumulate);
      modify_now(i, value, op);
    } else {
      combine_far(i, {&value, 1}, op);
    }
  }
  /// The same for each of some elements; `before`, if not null, gets their values before. If it is null, all
  /// has taken place by the next flush.
  template <class Op>
  void modify_all(std::size_t first, std::span<value_type const> values, value_type* before, Op op) const {
    if (values.empty()) return;
    if (before == nullptr && goes_one_way<Op>()) return combine_far(first, values, op);
    [[maybe_unused]] auto const as =
        access_as(segment(), before == nullptr ? access_kind::accumulate : access_kind::fetch);
    if constexpr (Hints.alone) {
      modify_all_alone(first, values, before, op);
    } else if constexpr (State::has_native_elements) {
      auto& modes = part_.state().elements;
      if (memory_.is_set()) {
        memory_.reset();
        announced_.withdraw();
        modes.end_view(part_.rank());
      }
      if (modes.many_at_once(part_.rank(), [&] { modify_all_alone(first, values, before, op); })) return;
      modify_each(first, values, before, op);
    } else if constexpr (is_native<Op> || (user_operation_on<Op, value_type> && is_native<op::replace>)) {
      modify_each(first, values, before, op);
    } else {
      element_lock const hold(part_.state(), part_.rank());
      modify_copies(first, values, before, op);
    }
  }
  /// Sets the element to `desired` if it has the bytes of `expected`, and returns its value before.
  [[nodiscard]] value_type exchange_if_equal(std::size_t i, value_type const& expected,
                                             value_type const& desired) const {
    [[maybe_unused]] auto const as = access_as(segment(), access_kind::exchange);
    if constexpr (Hints.alone) {
      value_type const found = read_alone(i);
      if (same_bytes(found, expected)) write_alone(i, desired);
      return found;
    } else if constexpr (is_native<op::replace>) {
      modify_one_by_one();
      return compare_exchange(i, expected, desired);
    } else {
      element_lock const hold(part_.state(), part_.rank());
      value_type const found = read_home(i);
      if (same_bytes(found, expected)) write_home(i, desired);
      return found;
    }
  }
  [[nodiscard]] value_type read(std::size_t i) const {
    [[maybe_unused]] auto const as = access_as(segment(), access_kind::atomic_load);
    if constexpr (Hints.alone) {
      return read_alone(i);
    } else if constexpr (is_native<op::no_op>) {
      modify_one_by_one();
      return atomic_load(i);
    } else {
      element_lock const hold(part_.state(), part_.rank());
      return read_home(i);
    }
  }
  void write(std::size_t i, value_type const& value) const {
    [[maybe_unused]] auto const as = access_as(segment(), access_kind::atomic_store);
    if constexpr (Hints.alone) {
      write_alone(i, value);
    } else if constexpr (is_native<op::replace>) {
      modify_one_by_one();
      atomic_store(i, value);
    } else {
      element_lock const hold(part_.state(), part_.rank());
      write_home(i, value);
    }
  }

  static bool same_bytes(value_type const& a, value_type const& b) noexcept {
    return std::memcmp(&a, &b, sizeof(value_type)) == 0;
  }

 private:
  using segment_type = typename State::segment_type;
  using Coherence = typename State::coherence_type;
  template <class Op>
  static constexpr bool is_native = [] {
    if constexpr (named_operation_on<Op, value_type>) {
      return atomic_segment<segment_type, value_type, Op>;
    } else {
      return false;
    }
  }();

  template <class Op>
  static constexpr bool is_combining = [] {
    if constexpr (named_operation_on<Op, value_type>) {
      return combining_segment<segment_type, value_type, Op>;
    } else {
      return false;
    }
  }();
  /// Returns whether a change without a result is a message without an answer.
  template <class Op>
  [[nodiscard]] bool goes_one_way() const noexcept {
    if constexpr (Hints.alone || Where == part_is::near || !is_combining<Op>) {
      return false;
    } else {
      return !part_.is_near();
    }
  }
  template <class Op>
  void combine_far(std::size_t first, std::span<value_type const> values, Op op) const {
    if constexpr (is_combining<Op>) {
      modify_one_by_one();
      segment().template combine<value_type>(part_.location_of(first), values, op);
    }
  }

  [[nodiscard]] segment_type& segment() const noexcept { return part_.segment(); }

  // Operations that the segment knows. Where nearness is known at run time only, a near element is modified
  // by the processor, without a load from the segment.
  static constexpr bool may_be_at_hand = State::parts == part_is::near_or_far && Where != part_is::far;
  [[nodiscard]] atomic_element<value_type> at_hand(std::size_t i) const noexcept {
    return atomic_element<value_type>(part_.elements()[i]);
  }
  /// True if the processor modifies an element by its address alone.
  template <class Op>
  static constexpr bool is_at_hand = State::is_direct && requires(value_type& element, Op op) {
    segment_type::fetch_op(element, element, op);
  };
  template <class Op>
  value_type fetch_op(std::size_t i, value_type const& value, Op op) const {
    if constexpr (is_at_hand<Op>) {
      return segment_type::fetch_op(part_.elements()[i], value, op);  // loads nothing of the segment
    } else {
      if constexpr (may_be_at_hand) {
        if (part_.is_near()) return at_hand(i).fetch_op(value, op);
      }
      return segment().template fetch_op<value_type>(part_.location_of(i), value, op);
    }
  }
  value_type compare_exchange(std::size_t i, value_type const& expected, value_type const& desired) const {
    if constexpr (may_be_at_hand) {
      if (part_.is_near()) return at_hand(i).compare_exchange(expected, desired);
    }
    return segment().template compare_exchange<value_type>(part_.location_of(i), expected, desired);
  }
  [[nodiscard]] value_type atomic_load(std::size_t i) const {
    if constexpr (may_be_at_hand) {
      if (part_.is_near()) return at_hand(i).load();
    }
    return segment().template atomic_load<value_type>(part_.location_of(i));
  }
  void atomic_store(std::size_t i, value_type const& value) const {
    if constexpr (may_be_at_hand) {
      if (part_.is_near()) return at_hand(i).store(value);
    }
    segment().template atomic_store<value_type>(part_.location_of(i), value);
  }

  template <class Op>
  value_type modify_now(std::size_t i, value_type const& value, Op op) const {
    if constexpr (Hints.alone) {
      value_type const old = read_alone(i);
      write_alone(i, op(old, value));
      return old;
    } else if constexpr (user_operation_on<Op, value_type> && is_native<op::replace>) {
      modify_one_by_one();
      return modify_by_exchange(i, value, op);
    } else if constexpr (is_native<Op> && is_at_hand<Op> && State::has_native_elements) {
      value_type* first = announced_.first();
      if (first == nullptr) [[unlikely]] {
        modify_one_by_one();
        first = part_.elements();
        if (memory_.is_set()) announced_.announce(first);
      }
      return segment_type::fetch_op(first[i], value, op);
    } else if constexpr (is_native<Op>) {
      modify_one_by_one();
      return fetch_op(i, value, op);
    } else {
      element_lock const hold(part_.state(), part_.rank());
      value_type const old = read_home(i);
      write_home(i, op(old, value));
      return old;
    }
  }

  /// For an operation that the segment does not know: repeats until no other rank has interfered.
  template <class Op>
  value_type modify_by_exchange(std::size_t i, value_type const& value, Op op) const {
    value_type old = atomic_load(i);
    for (;;) {
      value_type const found = compare_exchange(i, old, op(old, value));
      if (same_bytes(found, old)) return old;
      old = found;
    }
  }
  template <class Op>
  void modify_each(std::size_t first, std::span<value_type const> values, value_type* before, Op op) const {
    for (std::size_t i = 0; i < values.size(); ++i) {
      value_type const old = [&] {
        if constexpr (is_native<Op>) {
          return fetch_op(first + i, values[i], op);
        } else {
          return modify_by_exchange(first + i, values[i], op);
        }
      }();
      if (before != nullptr) before[i] = old;
    }
  }
  /// Requires that no other rank modifies these elements meanwhile: under an exclusive lock, or while this
  /// rank combines many.
  template <class Op>
  void modify_all_alone(std::size_t first, std::span<value_type const> values, value_type* before,
                        Op op) const {
    if constexpr (Where != part_is::far) {
      if (part_.is_near()) return combine(first, values, before, op);
    }
    if constexpr (Where != part_is::near) modify_copies(first, values, before, op);
  }
  template <class Op>
  void combine(std::size_t first, std::span<value_type const> values, value_type* before, Op op) const {
    value_type* const elements = part_.elements() + first;
    if (before != nullptr) std::memcpy(before, elements, values.size_bytes());
    detail::combine(elements, values.data(), values.size(), op);
  }
  template <class Op>
  void modify_copies(std::size_t first, std::span<value_type const> values, value_type* before, Op op) const {
    std::vector<value_type> elements(values.size());
    segment().flush(part_.rank());  // this rank's own earlier puts arrive before the get
    segment().get(part_.location_of(first), std::as_writable_bytes(std::span(elements)));
    segment().flush_local(part_.rank());
    if (before != nullptr) std::memcpy(before, elements.data(), values.size_bytes());
    detail::combine(elements.data(), values.data(), values.size(), op);
    Coherence::put(segment(), part_.location_of(first), std::as_bytes(std::span(elements)));
    segment().flush(part_.rank());
  }

  /// Call it before the processor modifies an element.
  void modify_one_by_one() const {
    if constexpr (State::has_native_elements) {
      if (!memory_.is_set()) [[unlikely]]
        come_to_elements(part_.state(), part_.rank(), memory_.set());
    }
  }
  [[gnu::noinline]] static void come_to_elements(State& state, rank_t target, bool remembers) {
    state.elements.announce(target, remembers);
  }

  // Under an exclusive lock.
  [[nodiscard]] value_type read_alone(std::size_t i) const {
    if constexpr (Where == part_is::near) {
      return part_.get(i);
    } else {
      return part_.is_near() ? part_.get(i) : read_home(i);
    }
  }
  void write_alone(std::size_t i, value_type const& value) const {
    if constexpr (Where == part_is::near) {
      part_.put(i, value);
    } else {
      part_.is_near() ? part_.put(i, value) : write_home(i, value);
    }
  }

  // Under a lock. The value is read from memory, past all copies; the written value has arrived there at
  // return.
  [[nodiscard]] value_type read_home(std::size_t i) const {
    value_type value;
    segment().flush(part_.rank());  // this rank's own earlier puts arrive before the get
    segment().get(part_.location_of(i), std::as_writable_bytes(std::span(&value, 1)));
    segment().flush_local(part_.rank());
    return value;
  }
  void write_home(std::size_t i, value_type const& value) const {
    Coherence::put(segment(), part_.location_of(i), std::as_bytes(std::span(&value, 1)));
    segment().flush(part_.rank());
  }

  part_type const& part_;
  memory_type& memory_;
  announced_type& announced_;
};

}  // namespace PGAS_NAMESPACE::detail
