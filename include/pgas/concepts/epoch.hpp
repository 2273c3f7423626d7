// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <pgas/vocabulary/box.hpp>
#include <pgas/vocabulary/global_ptr.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <span>

namespace PGAS_NAMESPACE {

/// An open epoch lets this rank access parts: a fence, access, lock or lock_all, or one window of a
/// fence_all. An exposure is none.
///
/// `to(rank)` opens a target. The epoch decides whether that rank may be accessed, and what its opening waits
/// for: an access has a group, a lock has one target. Functions on open epochs leave the closing to the code
/// that opened them.
template <class E>
concept open_epoch = requires(
    E& e, E const& closed_or_open, rank_t target, global_ptr<typename E::value_type> pointer, std::size_t i,
    std::span<typename E::value_type const> from, std::span<typename E::value_type> into) {
  e.state();
  { e.to(target).rank() } -> std::same_as<rank_t>;
  { e.to(target).size() } -> std::same_as<std::size_t>;
  e.put(target, i, from);
  e.get(target, i, into);
  e[pointer];
  e.flush(target);
  e.flush_local(target);
  e.flush_all();
  e.flush_local_all();
  { closed_or_open.is_open() } noexcept -> std::same_as<bool>;
};

/// Such an epoch is open to every rank: a fence, a lock_all, or one window of a fence_all. `open_to()`
/// returns everyone; the epoch of a group, or of one target, returns a group.
template <class E>
concept epoch_to_all = open_epoch<E> && requires(E const& e) {
  { e.open_to() } -> std::same_as<everyone_t>;
};

/// An epoch on an array knows the array's shape, and accesses cells by their global indices.
template <class E>
concept array_epoch = open_epoch<E> && requires(E& e, E const& ce, box<E::dimensions> const& at,
                                                std::span<typename E::value_type const> from,
                                                std::span<typename E::value_type> into) {
  { ce.shape().extents() } -> std::convertible_to<std::array<std::size_t, E::dimensions>>;
  ce.shape().layout();
  e.put(at, from);
  e.get(at, into);
};

}  // namespace PGAS_NAMESPACE
