// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <pgas/detail/histories/value_text.hpp>
#include <pgas/histories/history.hpp>
#include <pgas/histories/sequential_object.hpp>
#include <string>

namespace PGAS_NAMESPACE::histories {

/// The kinds of operations on a counter.
enum class counter_call {
  add,        ///< returns nothing
  fetch_add,  ///< its result is the number before
  load,       ///< its result is the number
  store,      ///< overwrites
};

/// A call of a counter with its argument.
struct counter_operation {
  counter_call kind = counter_call::load;  ///< what was called
  std::int64_t amount = 0;                 ///< of all but load

  friend bool operator==(counter_operation const&, counter_operation const&) = default;
};

/// A number that ranks add to, from 0.
struct spec_counter {
  using operation = counter_operation;
  using result = std::int64_t;  ///< of a load or a fetch_add
  using state = std::int64_t;

  /// A call that adds.
  static operation add(std::int64_t amount) { return {counter_call::add, amount}; }
  /// A call that adds and returns the number before.
  static operation fetch_add(std::int64_t amount) { return {counter_call::fetch_add, amount}; }
  /// A call that returns the number.
  static operation load() { return {counter_call::load, 0}; }
  /// A call that overwrites.
  static operation store(std::int64_t value) { return {counter_call::store, value}; }

  static bool apply(state& now, record_of<spec_counter> const& r) {
    counter_call const kind = r.operation.kind;
    bool const tells = kind == counter_call::fetch_add || kind == counter_call::load;
    bool const fits = r.pending() || !tells || r.result == now;
    if (kind == counter_call::store) {
      now = r.operation.amount;
    } else {
      now += r.operation.amount;
    }
    return fits;
  }

  static bool observes(record_of<spec_counter> const& r) { return r.operation.kind == counter_call::load; }

  /// A sum needs each of its parts, so one change leaves with all others. A load leaves alone.
  static bool drops_with(record_of<spec_counter> const& gone, record_of<spec_counter> const& /*other*/,
                         std::ptrdiff_t /*later*/) {
    return !observes(gone);
  }

  static std::size_t hash(state now) { return detail::value_hash(now); }

  static std::string call_text(operation const& what) {
    std::string const amount = "(" + detail::value_text(what.amount) + ")";
    switch (what.kind) {
      case counter_call::add:
        return "add" + amount;
      case counter_call::fetch_add:
        return "fetch_add" + amount;
      case counter_call::load:
        return "load()";
      case counter_call::store:
        return "store" + amount;
    }
    return "";
  }
  static std::string result_text(record_of<spec_counter> const& r) {
    bool const tells = r.operation.kind == counter_call::fetch_add || r.operation.kind == counter_call::load;
    return tells ? detail::value_text(r.result) : "";
  }
};

static_assert(sequential_object<spec_counter>);

}  // namespace PGAS_NAMESPACE::histories
