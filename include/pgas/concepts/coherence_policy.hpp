// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <pgas/concepts/segment.hpp>
#include <string_view>

namespace PGAS_NAMESPACE {

namespace detail {

/// The least memory with private copies. Each policy is checked against it in its own header.
struct cache_archetype {
  static constexpr std::size_t line_bytes = 64;
  static constexpr bool writeback_is_masked = false;
  static constexpr bool has_speculative_fill = true;
  static constexpr bool drop_may_write_back = true;
  static constexpr bool write_allocates = true;
  static constexpr bool tagged_drop = false;

  [[nodiscard]] rank_t rank() const noexcept { return 0; }
  [[nodiscard]] rank_t size() const noexcept { return 1; }
  [[nodiscard]] std::size_t part_bytes(rank_t) const { return 0; }
  void put(location, bytes_in) {}
  void get(location, bytes_out) {}
  done rput(location, bytes_in) { return {}; }
  done rget(location, bytes_out) { return {}; }
  void flush(rank_t) {}
  void flush_all() {}
  void flush_local(rank_t) {}
  void flush_local_all() {}
  void load(location, bytes_out) {}
  void store(location, bytes_in) {}
  void clean(location, std::size_t) {}
  void drop(location, std::size_t) {}
  void drain_stores() {}
  void drain_all() {}
};
static_assert(cache_controlled<cache_archetype>);

/// The same with tagged copies.
struct tagged_archetype : cache_archetype {
  void load_tagged(location, bytes_out) {}
  void store_through(location, bytes_in) {}
  void drop_tagged() {}
};
static_assert(tagged_segment<tagged_archetype>);

/// The same with a flush of everything.
struct flush_archetype : cache_archetype {
  void flush_copies() {}
};
static_assert(flushable_segment<flush_archetype>);

/// The same with puts that drop their target's copies.
struct remote_drop_archetype : tagged_archetype {
  void put_and_drop(location, bytes_in) {}
};
static_assert(remote_drop_segment<remote_drop_archetype>);

}  // namespace detail

/// A coherence policy says *which copy*: it decides when copies are made to agree, and how an access reaches
/// memory. Each policy is a type without state, in one header of coherence/.
///
/// Boundary side, called by window_boundary only, after remote completion:
///   clean_own(s)       the stores of this rank into its own part are in memory, for others to get
///   clean_remote(s,r)  the puts of this rank into r's part are in memory, for r to load
///   drop_own(s)        this rank keeps no copy of its own part older than now
///   drop_remote(s,r)   this rank keeps no copy of r's part older than now
///   drain_stores(s)    orders cleans and puts before later signals
///   drain_all(s)       orders drops before later loads
/// Access side, called by every transfer of at least one byte:
///   put, get(s, at, bytes)     the epoch's transfers; a get may find a value as old as the last boundary
///   get_now(s, at, bytes)      a get that finds the value in memory now, for passive targets: no
///                              boundary tells when their memory has changed
///   load, store(s, at, bytes)  this rank's accesses to its own part
/// `name` is the policy's name in messages and after --pgas-coherence.
/// `fits<S>` says whether the policy makes copies agree on segment S; a window checks it.
template <class P, class S>
concept coherence_policy_for =
    segment<S> && requires(S& s, location at, bytes_in from, bytes_out into, rank_t rank) {
      P::clean_own(s);
      P::clean_remote(s, rank);
      P::drop_own(s);
      P::drop_remote(s, rank);
      P::drain_stores(s);
      P::drain_all(s);
      P::put(s, at, from);
      P::get(s, at, into);
      P::get_now(s, at, into);
      P::load(s, at, into);
      P::store(s, at, from);
    };

/// A coherence policy, for the segments it fits.
template <class P>
concept coherence_policy = requires {
  { P::name } -> std::convertible_to<std::string_view>;
  { P::template fits<detail::cache_archetype> } -> std::convertible_to<bool>;
};

namespace detail {

/// The least policy. The boundary is checked against it in its own header.
struct any_policy {
  static void clean_own(segment auto&) {}
  static void clean_remote(segment auto&, rank_t) {}
  static void drop_own(segment auto&) {}
  static void drop_remote(segment auto&, rank_t) {}
  static void drain_stores(segment auto&) {}
  static void drain_all(segment auto&) {}
  static void put(segment auto&, location, bytes_in) {}
  static void get(segment auto&, location, bytes_out) {}
  static void get_now(segment auto&, location, bytes_out) {}
  static void load(segment auto&, location, bytes_out) {}
  static void store(segment auto&, location, bytes_in) {}
};
static_assert(coherence_policy_for<any_policy, cache_archetype>);

/// Clean and drop of all of a rank's part.
template <segment S>
void clean_part(S& s, rank_t rank) {
  if (auto const bytes = s.part_bytes(rank); bytes != 0) s.clean({rank, 0}, bytes);
}
template <segment S>
void drop_part(S& s, rank_t rank) {
  if (auto const bytes = s.part_bytes(rank); bytes != 0) s.drop({rank, 0}, bytes);
}

}  // namespace detail

}  // namespace PGAS_NAMESPACE
