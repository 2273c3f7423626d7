// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <pgas/concepts/control.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <string_view>
#include <utility>

namespace PGAS_NAMESPACE {

/// The activity that a span of a trace shows.
enum class span_kind : std::uint8_t {
  epoch,       ///< from the opening of an epoch to its close
  collective,  ///< a collective function of a team
  wait,        ///< a wait for a control word
  transfer,    ///< a put, a get or an atomic operation
  memory,      ///< flushes, cleans and drops, which make transfers arrive and copies agree
  compute,     ///< computation that the program charges
};
/// The kind's name in a trace.
constexpr std::string_view name_of(span_kind kind) noexcept {
  switch (kind) {
    case span_kind::epoch:
      return "epoch";
    case span_kind::collective:
      return "collective";
    case span_kind::wait:
      return "wait";
    case span_kind::transfer:
      return "transfer";
    case span_kind::memory:
      return "memory";
    case span_kind::compute:
      return "compute";
  }
  return "";
}

/// Such a control records what its rank does. A span lasts from begin_span until end() or its destructor;
/// forget() discards it. `ranks` are the ranks that the span concerns. See backends::traced.
template <class C>
concept recording_control = control<C> && requires(C const& c, span_kind kind, std::string_view operation,
                                                   group ranks, std::size_t bytes) {
  c.begin_span(kind, operation, ranks, bytes).end();
  c.begin_span(kind, operation, ranks, bytes).forget();
};

namespace detail {

/// The span of all other controls does nothing, at no cost.
struct no_span {
  static constexpr void end() noexcept {}
  static constexpr void forget() noexcept {}
};

/// Begins a span if the control records spans.
template <class Control>
[[nodiscard]] constexpr auto begin_span(Control const& c, span_kind kind, std::string_view operation,
                                        group ranks = {}, std::size_t bytes = 0) {
  if constexpr (recording_control<Control>) {
    return c.begin_span(kind, operation, ranks, bytes);
  } else {
    return no_span{};
  }
}
template <class Control>
using span_on = decltype(begin_span(std::declval<Control const&>(), span_kind::epoch, ""));

}  // namespace detail

}  // namespace PGAS_NAMESPACE
