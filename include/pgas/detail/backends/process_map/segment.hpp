// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/copy/bulk_copy.hpp>
#include <pgas/detail/elements/atomic_element.hpp>
#include <pgas/detail/job/asked_text.hpp>
#include <pgas/detail/job/held_extent.hpp>
#include <pgas/detail/job/ranks.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/vocabulary/op.hpp>
#include <utility>

namespace PGAS_NAMESPACE::detail {

/// Payload in the job's arena: the address of a part is base + rank * stride on every rank.
///
/// The extent begins with the sizes of all parts, so the node has one table of them.
///
/// Long parts of successive windows begin at different places of a page. Otherwise loops that read one array
/// and write another, such as stencils, access the same place in both pages. A processor compares the lowest
/// 12 bits of addresses, so a load would wait for a store to another page, and prefetches would collide.
/// Parts of 2 MiB and more are in huge pages where the system has them; the rests of such pages are addresses
/// without memory.
class mapped_segment {
 public:
  /// The types whose elements the processor modifies atomically.
  template <class T>
  static constexpr bool is_atomic = is_native_element<T>;

  mapped_segment(held_extent extent, team_ranks ranks) : mapped_segment(extent.data(), {}, std::move(ranks)) {
    auto const own = static_cast<std::uint64_t>(part(rank()) - header_);
    std::uint64_t const skew = own % job::page;
    if (has_own_pages(stride_) && part_bytes(rank()) != 0)
      extent.populate(own - skew, in_pages(skew + part_bytes(rank())));
    extent.show_in_core(own, part_bytes(rank()));
    memory_ = std::make_shared<held_extent>(std::move(extent));
  }
  /// Wraps memory outside the arena, which all ranks map and which begins with a header: see write_header.
  /// `memory` keeps it mapped.
  mapped_segment(std::byte* header, std::shared_ptr<void const> memory, team_ranks ranks)
      : memory_(std::move(memory)), ranks_(std::move(ranks)), header_(header) {
    fixed_header head;
    std::memcpy(&head, header_, sizeof head);
    stride_ = head.stride;
    base_ = header_ + header_bytes(ranks_.size()) + head.skew;
  }

  /// Makes the extent for parts of these sizes; one rank calls it for all.
  static std::uint64_t reserve(job const& j, std::span<std::size_t const> sizes) {
    std::uint64_t const largest = largest_of(sizes);
    auto const ranks = static_cast<rank_t>(sizes.size());
    if (largest > j.block().arena_bytes / sizes.size()) {
      throw_error(errc::no_space, j.rank(), "reserve",
                  {asked_text(sizes), ": the job's address space has only ", j.block().arena_bytes});
    }
    std::uint64_t const bytes = bytes_for(sizes);
    std::uint64_t const extent =
        has_own_pages(stride_for(sizes))
            ? j.reserve(bytes, ranks, header_bytes(ranks), header_bytes(ranks) + memory_for(sizes))
            : j.reserve(bytes, ranks);
    write_header(j.arena() + extent, sizes);
    return extent;
  }
  /// The bytes of a header and of parts of these sizes.
  static std::uint64_t bytes_for(std::span<std::size_t const> sizes) noexcept {
    std::uint64_t const gap = largest_of(sizes) < huge_page ? 0 : huge_page;
    return header_bytes(static_cast<rank_t>(sizes.size())) + gap + stride_for(sizes) * sizes.size();
  }
  /// Writes the header of zeroed memory for parts of these sizes, at the beginning of a page; one rank calls
  /// it for all.
  static void write_header(std::byte* header, std::span<std::size_t const> sizes) noexcept {
    fixed_header const head{.stride = stride_for(sizes), .skew = skew_for(header, sizes)};
    std::memcpy(header, &head, sizeof head);
    std::memcpy(header + sizeof head, sizes.data(), sizes.size_bytes());
  }

  [[nodiscard]] rank_t rank() const noexcept { return ranks_.self(); }
  [[nodiscard]] rank_t size() const noexcept { return ranks_.size(); }
  [[nodiscard]] std::size_t part_bytes(rank_t rank) const noexcept {
    // A load, not a memcpy, which could read any object: the size may then stay in a register across stores
    // of elements.
    return *std::launder(reinterpret_cast<std::size_t const*>(header_ + sizeof(fixed_header)) + rank);
  }
  [[nodiscard]] std::byte* part(rank_t rank) const noexcept {
    return base_ + static_cast<std::size_t>(rank) * stride_;
  }
  [[nodiscard]] bytes_out local() const noexcept { return {part(rank()), part_bytes(rank())}; }

  void put(location at, bytes_in from) noexcept {
    bulk_copy(part(at.rank) + at.offset, from.data(), from.size());
  }
  void get(location at, bytes_out into) noexcept {
    bulk_copy(into.data(), part(at.rank) + at.offset, into.size());
  }
  done rput(location at, bytes_in from) noexcept { return put(at, from), done{}; }
  done rget(location at, bytes_out into) noexcept { return get(at, into), done{}; }

  /// Stores are complete when they are issued. A flush only keeps the compiler from moving them past it.
  static void flush(rank_t) noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }
  static void flush_all() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }
  static void flush_local(rank_t) noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }
  static void flush_local_all() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

  void put_rows(location at, std::size_t pitch, std::byte const* from, std::size_t from_pitch,
                row_shape shape) const noexcept {
    copy_rows(part(at.rank) + at.offset, pitch, from, from_pitch, shape);
  }
  void get_rows(location at, std::size_t pitch, std::byte* into, std::size_t into_pitch,
                row_shape shape) const noexcept {
    copy_rows(into, into_pitch, part(at.rank) + at.offset, pitch, shape);
  }

  static void copy_rows(std::byte* to, std::size_t to_pitch, std::byte const* from, std::size_t from_pitch,
                        row_shape shape) noexcept {
    bulk_copy(to, to_pitch, from, from_pitch, shape.rows, shape.row_bytes);
  }

  template <class T, class Op>
  T fetch_op(location at, T value, Op op) const noexcept {
    return fetch_op(at_element<T>(at), value, op);
  }
  /// Modifies an element at a known address, without a load from the segment.
  template <class T, class Op>
  static T fetch_op(T& at, T value, Op op) noexcept {
    return atomic_element<T>(at).fetch_op(value, op);
  }
  /// Replaces the element by `desired` if its bytes equal those of `expected`; returns the old element.
  template <class T>
  T compare_exchange(location at, T expected, T desired) const noexcept {
    return atomic_element<T>(at_element<T>(at)).compare_exchange(expected, desired);
  }
  template <class T>
  T atomic_load(location at) const noexcept {
    return atomic_element<T>(at_element<T>(at)).load();
  }
  template <class T>
  void atomic_store(location at, T value) const noexcept {
    atomic_element<T>(at_element<T>(at)).store(value);
  }

 private:
  /// The first bytes of an extent. The sizes of the parts follow.
  struct fixed_header {
    std::uint64_t stride = 0;
    std::uint64_t skew = 0;  ///< from the end of the header to the first part
  };

  static constexpr std::uint64_t most_skew = job::page / 8 * 7;  // whole eighths: they keep part_alignment
  static constexpr std::uint64_t least_skewed = 16 * job::page;  ///< such a part grows by a sixteenth at most

  /// Owners allocate the memory of parts that are whole pages: at the same time, each near its core.
  static constexpr bool has_own_pages(std::uint64_t stride) noexcept { return stride % job::page == 0; }
  static constexpr std::uint64_t in_pages(std::uint64_t bytes) noexcept {
    return (bytes + job::page - 1) / job::page * job::page;
  }

  static std::uint64_t largest_of(std::span<std::size_t const> sizes) noexcept {
    std::uint64_t largest = 0;
    for (std::size_t const bytes : sizes) largest = std::max<std::uint64_t>(largest, bytes);
    return largest;
  }
  static std::uint64_t stride_for(std::span<std::size_t const> sizes) noexcept {
    std::uint64_t const largest = largest_of(sizes);
    if (largest < job::page) return (largest + part_alignment - 1) / part_alignment * part_alignment;
    if (largest >= huge_page) return in_huge_pages(largest + most_skew);
    return in_pages(largest < least_skewed ? largest : largest + most_skew);
  }
  /// The memory of parts of these sizes, each in pages of its own. A rest of a huge page has none.
  static std::uint64_t memory_for(std::span<std::size_t const> sizes) noexcept {
    std::uint64_t all = 0;
    for (std::size_t const bytes : sizes) all += in_pages(bytes < least_skewed ? bytes : bytes + most_skew);
    return all;
  }
  /// The distance from the header to the first part. A part of a huge page or more begins in a huge page of
  /// its own, at the place of the small page that `next_skew` chooses.
  static std::uint64_t skew_for(std::byte const* header, std::span<std::size_t const> sizes) noexcept {
    std::uint64_t const largest = largest_of(sizes);
    if (largest < least_skewed) return 0;
    if (largest < huge_page) return next_skew();
    std::uint64_t const end =
        reinterpret_cast<std::uintptr_t>(header) + header_bytes(static_cast<rank_t>(sizes.size()));
    return in_huge_pages(end) - end + next_skew();
  }
  static std::uint64_t header_bytes(rank_t ranks) noexcept {
    return in_pages(sizeof(fixed_header) + sizeof(std::size_t) * static_cast<std::uint64_t>(ranks));
  }
  /// The place in a page where the parts of the next window begin: far from those of the last windows.
  static std::uint64_t next_skew() noexcept {
    static std::atomic<std::size_t> windows{0};
    constexpr std::array<std::uint64_t, 8> eighths{0, 4, 2, 6, 1, 5, 3, 7};
    // relaxed: pairs with nothing; the number alone matters.
    return eighths[windows.fetch_add(1, std::memory_order_relaxed) % eighths.size()] * (job::page / 8);
  }

  template <class T>
  [[nodiscard]] T& at_element(location at) const noexcept {
    return *reinterpret_cast<T*>(part(at.rank) + at.offset);
  }

  std::shared_ptr<void const> memory_;  ///< keeps the memory mapped
  team_ranks ranks_;
  std::byte* header_;
  std::byte* base_ = nullptr;
  std::uint64_t stride_ = 0;
};
static_assert(shared_segment<mapped_segment> && strided_segment<mapped_segment>);
static_assert(atomic_segment<mapped_segment, double, op::sum>);

}  // namespace PGAS_NAMESPACE::detail
