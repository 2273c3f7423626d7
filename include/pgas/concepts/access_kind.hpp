// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <pgas/concepts/segment.hpp>
#include <string_view>

namespace PGAS_NAMESPACE {

/// An access to a part as the program called it. A checker of races asks for it, since one call of a segment
/// may stand for several of them.
enum class access_kind : std::uint8_t {
  own,           ///< a load or a store of the own part, or an access of the library itself
  stage,         ///< the copy that stage hands out
  put,           ///< of a buffer, which belongs to the put until flush_local
  get,           ///< into a buffer, which belongs to the get until flush_local
  put_copied,    ///< of one element, or of anything that the put has copied at return
  get_waited,    ///< of one element, or of anything that has arrived at return
  piece_read,    ///< of a piece of the own part that a put sends: ends with flush_local of the put's target
  piece_filled,  ///< of a piece of the own part that a get fills: ends with flush_local of the get's target
  accumulate,    ///< an atomic operation that orders nothing but operations on its elements
  fetch,         ///< the same with a result, such as fetch_add
  exchange,      ///< an atomic operation that acquires and releases, such as compare_exchange
  atomic_load,   ///< acquires
  atomic_store,  ///< releases
};

/// The name of the access in reports; `own` accesses have none.
[[nodiscard]] constexpr std::string_view name_of(access_kind kind) noexcept {
  constexpr std::array<std::string_view, 13> names{
      "",    "stage",      "put",   "get",      "put",         "get",         "put",
      "get", "accumulate", "fetch", "exchange", "atomic_load", "atomic_store"};
  return names[static_cast<std::size_t>(kind)];
}

/// A segment whose checker wants to know the program's access behind its transfers.
///
/// `access_as(kind)` returns a guard. While it lives, the transfers of this rank are parts of such an access.
/// Guards nest: the end of a guard restores the kind before it. `access_as(kind, target)` is for pieces of
/// the own part, and names the target with whose transfers the access ends. `describe(label, bytes)` tells
/// the name of the window and the size of its elements, for reports.
template <class S>
concept access_checked_segment =
    segment<S> && requires(S& s, std::string_view label, std::size_t element_bytes, rank_t target) {
      s.access_as(access_kind::put);
      s.access_as(access_kind::piece_read, target);
      s.describe(label, element_bytes);
    };

/// A segment whose checker relies on a rank to report its loads and stores, so that the own part can be
/// handed out in place: `own_memory(byte)` is its address. `record_load` and `record_store` report accesses
/// to rows of the own part, `pitch` bytes apart: loads before the program reads, stores after it has stored.
template <class S>
concept recording_segment =
    segment<S> && requires(S& s, std::size_t byte, std::size_t pitch, row_shape rows) {
      { s.own_memory(byte) } -> std::same_as<std::byte*>;
      s.record_load(byte, pitch, rows);
      s.record_store(byte, pitch, rows);
    };

namespace detail {

/// Stands for the guard of a segment without a checker.
struct no_access_guard {
  ~no_access_guard() {}  // NOLINT(modernize-use-equals-default): a guard must not look unused
};

/// Reports an access to the segment's checker while the result lives. Free if the segment has no checker.
template <class S>
[[nodiscard]] auto access_as(S& to, access_kind kind) {
  if constexpr (access_checked_segment<S>) {
    return to.access_as(kind);
  } else {
    return no_access_guard{};
  }
}

template <class S>
[[nodiscard]] auto access_as(S& to, access_kind kind, rank_t target) {
  if constexpr (access_checked_segment<S>) {
    return to.access_as(kind, target);
  } else {
    return no_access_guard{};
  }
}

}  // namespace detail

}  // namespace PGAS_NAMESPACE
