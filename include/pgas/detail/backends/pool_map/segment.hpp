// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <pgas/backends/pool_map/memory.hpp>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/job/asked_text.hpp>
#include <pgas/detail/job/ranks.hpp>
#include <pgas/detail/text/text_of.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Payload in a pool, accessed through this processor's cache, which is not coherent with other hosts'
/// caches.
///
/// The extent begins with the sizes of all parts. A part begins on a line. Only its owner stores to it
/// through a cache; the other ranks' puts pass their caches.
template <class Cache>
class pool_segment {
 public:
  static constexpr std::size_t line_bytes = pool<Cache>::line;
  static constexpr bool writeback_is_masked = false;
  static constexpr bool has_speculative_fill = true;
  static constexpr bool drop_may_write_back = true;
  static constexpr bool write_allocates = true;
  static constexpr bool tagged_drop = false;
  /// A locked instruction is atomic among the cores of one host only.
  template <class T>
  static constexpr bool is_atomic = false;

  pool_segment(held_pool_extent<Cache> extent, team_ranks ranks)
      : extent_(std::move(extent)),
        ranks_(std::move(ranks)),
        header_(extent_.data()),
        base_(header_ + header_bytes(ranks_.size())) {
    // Drops this rank's copies of the memory's last use, since a first get may come before any boundary.
    Cache::drop(header_, header_bytes(ranks_.size()));
    Cache::drain_all();
    std::memcpy(&stride_, header_, sizeof stride_);
    Cache::drop(base_, static_cast<std::size_t>(ranks_.size()) * stride_);
    Cache::drain_all();
    extent_.stores_to({part(rank()), part_bytes(rank())});
  }

  /// Makes the extent for parts of these sizes; one rank calls it for all.
  static std::uint64_t reserve(job const& j, pool<Cache> const& p, std::span<std::size_t const> sizes) {
    std::uint64_t const largest = *std::max_element(sizes.begin(), sizes.end());
    auto const ranks = static_cast<rank_t>(sizes.size());
    if (largest > p.bytes() / sizes.size()) {
      throw error(errc::no_space, j.rank(), "reserve",
                  text_of({asked_text(sizes), ": the memory given to pool_map has only ", p.bytes()}));
    }
    std::uint64_t const stride = (largest + line_bytes - 1) / line_bytes * line_bytes;
    std::uint64_t const extent = p.reserve(j, header_bytes(ranks) + stride * sizes.size(), ranks);
    std::byte* const header = p.data() + extent;
    Cache::put_past(header, reinterpret_cast<std::byte const*>(&stride), sizeof stride);
    Cache::put_past(header + sizeof stride, reinterpret_cast<std::byte const*>(sizes.data()),
                    sizes.size_bytes());
    Cache::drain_stores();
    return extent;
  }

  [[nodiscard]] rank_t rank() const noexcept { return ranks_.self(); }
  [[nodiscard]] rank_t size() const noexcept { return ranks_.size(); }
  // Reads through the cache, since the header never changes.
  [[nodiscard]] std::size_t part_bytes(rank_t rank) const noexcept {
    std::size_t bytes = 0;
    std::memcpy(&bytes, header_ + sizeof stride_ + static_cast<std::size_t>(rank) * sizeof bytes,
                sizeof bytes);
    return bytes;
  }

  void put(location at, bytes_in from) const noexcept {
    Cache::put_past(address(at), from.data(), from.size());
  }
  void get(location at, bytes_out into) const noexcept {
    drop(at, into.size());
    drain_all();
    load(at, into);
  }
  done rput(location at, bytes_in from) const noexcept { return put(at, from), done{}; }
  done rget(location at, bytes_out into) const noexcept { return get(at, into), done{}; }

  static void flush(rank_t) noexcept { drain_stores(); }
  static void flush_all() noexcept { drain_stores(); }
  // When they return, a put has read its source and a get has filled its destination.
  static void flush_local(rank_t) noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }
  static void flush_local_all() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

  void load(location at, bytes_out into) const noexcept {
    if (!into.empty()) std::memcpy(into.data(), address(at), into.size());
  }
  void store(location at, bytes_in from) const noexcept {
    if (!from.empty()) std::memcpy(address(at), from.data(), from.size());
  }
  void clean(location at, std::size_t count) const noexcept { Cache::clean(address(at), count); }
  void drop(location at, std::size_t count) const noexcept { Cache::drop(address(at), count); }
  static void drain_stores() noexcept { Cache::drain_stores(); }
  static void drain_all() noexcept { Cache::drain_all(); }

 private:
  static std::size_t header_bytes(rank_t ranks) noexcept {
    std::size_t const bytes = sizeof(std::uint64_t) + static_cast<std::size_t>(ranks) * sizeof(std::size_t);
    return (bytes + line_bytes - 1) / line_bytes * line_bytes;
  }

  [[nodiscard]] std::byte* part(rank_t rank) const noexcept {
    return base_ + static_cast<std::size_t>(rank) * stride_;
  }
  [[nodiscard]] std::byte* address(location at) const noexcept { return part(at.rank) + at.offset; }

  held_pool_extent<Cache> extent_;
  team_ranks ranks_;
  std::byte* header_;
  std::byte* base_;
  std::uint64_t stride_ = 0;
};
static_assert(cache_controlled<pool_segment<processor_cache>> &&
              !local_segment<pool_segment<processor_cache>>);

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
