// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <pgas/detail/histories/value_text.hpp>
#include <pgas/histories/history.hpp>
#include <pgas/histories/necessary_order.hpp>
#include <pgas/histories/sequential_object.hpp>
#include <string>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::histories {

/// The kinds of operations on a queue.
enum class queue_call {
  push,     ///< its result is false if the queue is full
  try_pop,  ///< its result is the oldest value, or nothing if the queue is empty
  pop,      ///< waits until there is a value
  take,     ///< its result is the newest value, or nothing if the queue is empty
  steal,    ///< its result is the oldest value, or nothing, also if another rank was faster
};

/// A call of a queue with its argument.
template <class T>
struct queue_operation {
  queue_call kind = queue_call::try_pop;  ///< what was called
  T value{};                              ///< of push

  friend bool operator==(queue_operation const&, queue_operation const&) = default;
};

/// What a call of a queue has returned: the value of a pop, or whether a push found room.
template <class T>
struct queue_result {
  std::optional<T> value;  ///< nothing if there was none
  bool done = true;        ///< of push: whether there was room

  queue_result() = default;
  /// The value that a call has got.
  queue_result(std::optional<T> popped) : value(std::move(popped)) {}
  /// Whether a push found room.
  template <std::same_as<bool> Bool>  // no conversion from a value
  queue_result(Bool was_done) : done(was_done) {}

  friend bool operator==(queue_result const&, queue_result const&) = default;
};

/// A queue: first in, first out. It holds `Most` values at once; 0 means that it has no bound. With `take`
/// and `steal` it is the queue of a rank from which others steal work.
template <std::equality_comparable T, std::size_t Most = 0>
struct spec_queue {
  using operation = queue_operation<T>;
  using result = queue_result<T>;  ///< a value, or whether there was room
  using state = std::vector<T>;    ///< the oldest value is first

  /// A call that appends a value.
  static operation push(T value) { return {queue_call::push, std::move(value)}; }
  /// A call for the oldest value, if there is one.
  static operation try_pop() { return {queue_call::try_pop, {}}; }
  /// A call that waits for the oldest value.
  static operation pop() { return {queue_call::pop, {}}; }
  /// A call for the newest value, if there is one.
  static operation take() { return {queue_call::take, {}}; }
  /// A call for the oldest value that may fail.
  static operation steal() { return {queue_call::steal, {}}; }

  static bool apply(state& now, record_of<spec_queue> const& r) {
    if (r.operation.kind == queue_call::push) {
      bool const has_room = Most == 0 || now.size() < Most;
      if (has_room) now.push_back(r.operation.value);
      return r.pending() || r.result.done == has_room;
    }
    if (r.operation.kind == queue_call::steal && !r.pending() && !r.result.value) return true;
    if (now.empty()) return r.operation.kind != queue_call::pop && (r.pending() || !r.result.value);
    bool const newest = r.operation.kind == queue_call::take;
    if (!r.pending() && r.result.value != (newest ? now.back() : now.front())) return false;
    if (newest) {
      now.pop_back();
    } else {
      now.erase(now.begin());
    }
    return true;
  }

  static bool observes(record_of<spec_queue> const& r) {
    if (r.pending()) return false;
    return r.operation.kind == queue_call::push ? !r.result.done : !r.result.value;
  }

  /// A value leaves with its push and its pop, or all values leave if the queue has a bound, or a pop whose
  /// value is not known.
  static bool drops_with(record_of<spec_queue> const& gone, record_of<spec_queue> const& other,
                         std::ptrdiff_t /*later*/) {
    if (observes(gone)) return false;
    auto const value = [](record_of<spec_queue> const& r) {
      return r.operation.kind == queue_call::push ? std::optional<T>(r.operation.value) : r.result.value;
    };
    if (Most != 0 || !value(gone) || !value(other)) return Most != 0 || !observes(other);
    return *value(gone) == *value(other);
  }

  // Values leave in the order in which they came.
  static std::optional<T> pushed(record_of<spec_queue> const& r) {
    bool const pushes = r.operation.kind == queue_call::push && (r.pending() || r.result.done);
    return pushes ? std::optional<T>(r.operation.value) : std::nullopt;
  }
  static std::optional<T> popped(record_of<spec_queue> const& r) {
    bool const pops = r.operation.kind != queue_call::push && !r.pending();
    return pops ? r.result.value : std::nullopt;
  }
  static bool finds_empty(record_of<spec_queue> const& r) {
    return r.operation.kind == queue_call::try_pop && !r.pending() && !r.result.value;
  }
  static bool breaks_order(record_of<spec_queue> const& r) { return r.operation.kind == queue_call::take; }

  static std::size_t hash(state const& now) {
    std::size_t all = 0;
    for (T const& value : now) all = detail::hash_with(all, detail::value_hash(value));
    return all;
  }

  static std::string call_text(operation const& what) {
    if (what.kind == queue_call::push) return "push(" + detail::value_text(what.value) + ")";
    if (what.kind == queue_call::take) return "take()";
    if (what.kind == queue_call::steal) return "steal()";
    return what.kind == queue_call::pop ? "pop()" : "try_pop()";
  }
  static std::string result_text(record_of<spec_queue> const& r) {
    if (r.operation.kind == queue_call::push) return r.result.done ? "" : "full";
    if (r.result.value) return detail::value_text(*r.result.value);
    return r.operation.kind == queue_call::steal ? "nothing" : "empty";
  }
};

static_assert(object_in_order<spec_queue<int>>);

}  // namespace PGAS_NAMESPACE::histories
