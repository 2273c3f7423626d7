// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstring>
#include <memory>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/backends/cluster/far_parts.hpp>
#include <pgas/detail/backends/cluster/near_ranks.hpp>
#include <pgas/detail/backends/process_map/segment.hpp>
#include <pgas/detail/elements/uninterrupted_segment.hpp>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// The bytes of each part: one number if all are equal, else a table.
class part_sizes {
 public:
  explicit part_sizes(std::uint64_t of_all) noexcept : of_all_(of_all) {}
  explicit part_sizes(std::vector<std::uint64_t> each) noexcept : each_(std::move(each)) {}
  [[nodiscard]] std::uint64_t operator[](rank_t rank) const noexcept {
    return each_.empty() ? of_all_ : each_[static_cast<std::size_t>(rank)];
  }

 private:
  std::uint64_t of_all_ = 0;
  std::vector<std::uint64_t> each_;
};

/// The own part of memory that ranks already had: no other rank maps it.
class own_memory : public uninterrupted_segment<own_memory> {
 public:
  own_memory(bytes_out own) noexcept : own_(own) {}  // NOLINT(google-explicit-constructor): it is that memory

  [[nodiscard]] bytes_out local() const noexcept { return own_; }
  [[nodiscard]] std::byte* part(rank_t) const noexcept { return own_.data(); }
  void put(location at, bytes_in from) const noexcept {
    if (!from.empty()) std::memcpy(own_.data() + at.offset, from.data(), from.size());
  }
  void get(location at, bytes_out into) const noexcept {
    if (!into.empty()) std::memcpy(into.data(), own_.data() + at.offset, into.size());
  }

 private:
  bytes_out own_;
};

/// Payload of ranks on several nodes. `Near` has the parts that this rank loads and stores: those of its
/// node, mapped as on process_map, or only its own. Messages reach the others.
template <class Near>
class segment_of_nodes {
  static constexpr bool is_mapped = shared_segment<Near>;

 public:
  template <class T>
  static constexpr bool is_atomic = is_native_element<T>;

  /// `near` has the parts by their ranks' numbers among `where`. `kept` outlasts all accesses.
  segment_of_nodes(Near near, cluster::near_ranks where, team_ranks const& ranks, part_sizes sizes,
                   cluster::far_parts far, std::shared_ptr<void const> kept)
      : near_(std::move(near)),
        where_(std::move(where)),
        self_(ranks.self()),
        size_(ranks.size()),
        sizes_(std::move(sizes)),
        far_(std::move(far)),
        kept_(std::move(kept)) {}

  [[nodiscard]] rank_t rank() const noexcept { return self_; }
  [[nodiscard]] rank_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t part_bytes(rank_t rank) const noexcept { return sizes_[rank]; }
  [[nodiscard]] bytes_out local() const noexcept { return near_.local(); }
  [[nodiscard]] std::byte* part_if_near(rank_t rank) const noexcept
    requires is_mapped
  {
    return near_part(rank);
  }

  void put(location at, bytes_in from) {
    if (rank_t const index = near_index(at.rank); index >= 0) return near_.put({index, at.offset}, from);
    far_.put(at, from);
  }
  void get(location at, bytes_out into) {
    if (rank_t const index = near_index(at.rank); index >= 0) return near_.get({index, at.offset}, into);
    far_.get(at, into);
  }
  [[nodiscard]] cluster::transfer_request rput(location at, bytes_in from) {
    if (is_near(at.rank)) return put(at, from), cluster::transfer_request{};
    return far_.rput(at, from);
  }
  [[nodiscard]] cluster::transfer_request rget(location at, bytes_out into) {
    if (is_near(at.rank)) return get(at, into), cluster::transfer_request{};
    return far_.rget(at, into);
  }
  void put_rows(location at, std::size_t pitch, std::byte const* from, std::size_t from_pitch,
                row_shape shape)
    requires is_mapped
  {
    if (rank_t const index = near_index(at.rank); index >= 0)
      return near_.put_rows({index, at.offset}, pitch, from, from_pitch, shape);
    far_.put_rows(at, pitch, from, from_pitch, shape);
  }
  void get_rows(location at, std::size_t pitch, std::byte* into, std::size_t into_pitch, row_shape shape)
    requires is_mapped
  {
    if (rank_t const index = near_index(at.rank); index >= 0)
      return near_.get_rows({index, at.offset}, pitch, into, into_pitch, shape);
    far_.get_rows(at, pitch, into, into_pitch, shape);
  }
  [[nodiscard]] cluster::transfer_request rput_rows(location at, std::size_t pitch, std::byte const* from,
                                                    std::size_t from_pitch, row_shape shape)
    requires is_mapped
  {
    if (is_near(at.rank)) return put_rows(at, pitch, from, from_pitch, shape), cluster::transfer_request{};
    return far_.rput_rows(at, pitch, from, from_pitch, shape);
  }
  [[nodiscard]] cluster::transfer_request rget_rows(location at, std::size_t pitch, std::byte* into,
                                                    std::size_t into_pitch, row_shape shape)
    requires is_mapped
  {
    if (is_near(at.rank)) return get_rows(at, pitch, into, into_pitch, shape), cluster::transfer_request{};
    return far_.rget_rows(at, pitch, into, into_pitch, shape);
  }

  void flush(rank_t rank) { is_near(rank) ? near_.flush(rank) : far_.flush(rank); }
  void flush_all() { near_.flush_all(), far_.flush_all(); }
  void flush_local(rank_t rank) { is_near(rank) ? near_.flush_local(rank) : far_.flush_local(rank); }
  void flush_local_all() { near_.flush_local_all(), far_.flush_local_all(); }
  void abandon() noexcept { far_.abandon(); }
  /// Messages to a rank are carried out in order, so payload precedes the signal anyway. But a signal to a
  /// rank of this node is a store, which overtakes messages to its unmapped part.
  void order_puts([[maybe_unused]] rank_t rank) {
    if constexpr (!is_mapped) {
      if (where_.index_of(rank) >= 0) far_.flush(rank);
    }
  }

  template <class T, class Op>
  T fetch_op(location at, T value, Op op) const {
    if (T* const near = element<T>(at)) return atomic_element<T>(*near).fetch_op(value, op);
    return far_.fetch_op(at, value, op);
  }
  template <class T, class Op>
  void combine(location at, std::span<T const> values, Op op) {
    T* const near = element<T>(at);
    if (near == nullptr) return far_.combine(at, values, op);
    for (std::size_t i = 0; i < values.size(); ++i) atomic_element<T>(near[i]).fetch_op(values[i], op);
  }
  template <class T>
  T compare_exchange(location at, T expected, T desired) const {
    if (T* const near = element<T>(at)) return atomic_element<T>(*near).compare_exchange(expected, desired);
    return far_.compare_exchange(at, expected, desired);
  }
  template <class T>
  T atomic_load(location at) const {
    if (T* const near = element<T>(at)) return atomic_element<T>(*near).load();
    return far_.template atomic_load<T>(at);
  }
  template <class T>
  void atomic_store(location at, T value) const {
    if (T* const near = element<T>(at)) return atomic_element<T>(*near).store(value);
    far_.atomic_store(at, value);
  }

 private:
  /// The number of a near part in `near_`; -1: the part is far.
  [[nodiscard]] rank_t near_index(rank_t rank) const noexcept {
    if constexpr (is_mapped) {
      return where_.index_of(rank);
    } else {
      return rank == self_ ? 0 : -1;
    }
  }
  [[nodiscard]] bool is_near(rank_t rank) const noexcept { return near_index(rank) >= 0; }
  [[nodiscard]] std::byte* near_part(rank_t rank) const noexcept {
    rank_t const index = near_index(rank);
    return index >= 0 ? near_.part(index) : nullptr;
  }
  /// The address of a near element, else null.
  template <class T>
  [[nodiscard]] T* element(location at) const {
    std::byte* const part = near_part(at.rank);
    if (part == nullptr) return nullptr;
    return reinterpret_cast<T*>(part + at.offset);
  }

  Near near_;
  cluster::near_ranks where_;
  rank_t self_;
  rank_t size_;
  part_sizes sizes_;
  cluster::far_parts far_;
  std::shared_ptr<void const> kept_;
};

using cluster_segment = segment_of_nodes<mapped_segment>;
static_assert(partly_shared_segment<cluster_segment> && strided_request_segment<cluster_segment>);
static_assert(ordered_segment<cluster_segment> && abandoned_segment<cluster_segment>);
static_assert(combining_segment<cluster_segment, double, op::sum>);

/// A window over memory that ranks already have. Messages reach the part of every other rank.
using cluster_user_segment = segment_of_nodes<own_memory>;
static_assert(local_segment<cluster_user_segment> && !partly_shared_segment<cluster_user_segment>);
static_assert(ordered_segment<cluster_user_segment> && !strided_segment<cluster_user_segment>);

}  // namespace PGAS_NAMESPACE::detail
