// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <pgas/detail/containers/map_bucket.hpp>
#include <pgas/detail/processor/prefetch_to_write.hpp>
#include <pgas/lock_all.hpp>
#include <pgas/vocabulary/expects.hpp>
#include <pgas/window.hpp>
#include <string_view>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// The buckets of a part: a line of two counts; home buckets; overflow buckets; extents.
///
/// A chain of n keys has at most (n - 1) / 3 overflow buckets. So a third as many overflow buckets as keys
/// suffices for any hash, and a part has room for `most` keys in any case. With half as many home buckets as
/// keys of `capacity`, six of seven chains are one bucket.
///
/// Extents are for more keys than `capacity`. Extent e has 4^e buckets for each home bucket. When the
/// overflow buckets for `capacity` keys are in use, the last bucket of a full chain says `deeper` instead of
/// an address: the chain of a key goes on in the extent, with the bucket that more bits of the hash choose.
/// So a bucket of an extent belongs to the chains of one home bucket, whose lock guards it, and no key moves.
/// This is the trie of extendible hashing (Fagin and others 1979) without its directory; ours keeps keys in
/// the inner nodes. A bucket of the last extent goes on with overflow buckets.
struct map_shape {
  std::size_t capacity = 0;
  std::size_t home_buckets = 0;
  std::size_t overflow_buckets = 0;
  std::size_t bucket_words = 0;
  std::size_t most = 0;     ///< the keys that the part surely has room for once it has grown
  std::size_t extents = 0;  ///< those that are reserved; the part touches one when it needs it

  static constexpr std::size_t used = 0;    ///< the word that counts overflow buckets in use
  static constexpr std::size_t grown = 1;   ///< the word that counts extents in use
  static constexpr std::size_t deeper = 1;  ///< in the place of a next bucket: it is in the next extent
  static constexpr std::size_t first = 8;   ///< the first word of the first bucket

  static constexpr map_shape of(std::size_t capacity, std::size_t bucket_words,
                                std::size_t most = 0) noexcept {
    most = std::max(most, capacity);
    map_shape shape{capacity, capacity / 2 + 1, most / 3 + 1, bucket_words, most, 0};
    constexpr std::size_t most_chosen = std::size_t{1} << 31U;  // by 32 bits of the hash
    while (shape.in_extent(shape.extents) < most / 2 && shape.in_extent(shape.extents + 1) <= most_chosen)
      ++shape.extents;
    return shape;
  }

  /// The overflow buckets that are used before chains go deeper.
  [[nodiscard]] constexpr std::size_t overflow_at_first() const noexcept { return capacity / 3 + 1; }
  /// The buckets of an extent; extent 0 is that of the home buckets.
  [[nodiscard]] constexpr std::size_t in_extent(std::size_t extent) const noexcept {
    return home_buckets << (2 * extent);
  }
  /// The number of buckets up to the end of an extent. `n` is 0 for those of home and overflow.
  [[nodiscard]] constexpr std::size_t buckets(std::size_t n) const noexcept {
    return overflow_buckets + (in_extent(n + 1) - home_buckets) / 3;
  }
  /// The bucket of a hash in an extent. Among the four of an extent that share the bucket of the extent
  /// before, two more bits of the hash choose one.
  [[nodiscard]] constexpr std::size_t bucket_in(std::size_t extent, std::uint32_t hash) const noexcept {
    std::size_t const before = extent == 0 ? 0 : buckets(extent - 1);
    return before + static_cast<std::size_t>(std::uint64_t{hash} * in_extent(extent) >> 32U);
  }
  [[nodiscard]] constexpr std::size_t at(std::size_t bucket) const noexcept {
    return first + bucket * bucket_words;
  }
  [[nodiscard]] constexpr std::size_t words() const noexcept { return at(buckets(extents)); }
};
static_assert(map_shape::of(100, 8).extents == 0 && map_shape::of(100, 8, 1600).extents == 2);
static_assert(map_shape::of(100, 8, 1600).bucket_in(2, 0xffffffff) + 1 ==
              map_shape::of(100, 8, 1600).buckets(2));

/// The place of a key.
struct key_place {
  rank_t owner;
  std::size_t home;        ///< the bucket
  unsigned tag;            ///< other bits of the hash
  std::uint32_t hash = 0;  ///< the bits that choose the bucket
};

/// Spreads a hash over all bits. The standard's hash of a number is often the number.
constexpr std::uint64_t spread(std::uint64_t hash) noexcept {
  // Both halves of a product with the golden ratio, as in wyhash: one multiplication mixes them.
  __extension__ using wide = unsigned __int128;
  wide const product = static_cast<wide>(hash ^ 0x2d358dccaa6c78a5U) * 0x9e3779b97f4a7c15U;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
}

/// The buckets of all ranks, and the epoch in which this rank accesses them.
template <class Window>
class map_table {
  using epoch_type = lock_all<typename Window::state_type>;

 public:
  using state_type = typename Window::state_type;
  using view_type = decltype(std::declval<epoch_type&>().to(0));

  map_table(Window window, map_shape shape)
      : shape_(shape),
        ranks_(static_cast<std::uint64_t>(window.ranks())),
        window_(std::move(window)),
        epoch_(window_) {
    parts_.reserve(ranks_);
    for (rank_t r = 0; r < window_.ranks(); ++r) parts_.push_back({epoch_.to(r), state().part_if_near(r)});
  }
  map_table(map_table const&) = delete;
  map_table& operator=(map_table const&) = delete;
  ~map_table() = default;

  [[nodiscard]] map_shape const& shape() const noexcept { return shape_; }
  [[nodiscard]] state_type& state() const noexcept { return window_.state(); }
  /// Returns use(words) with the words of a rank's part. See target_view::visit.
  template <class Use>
  decltype(auto) visit(rank_t rank, Use&& use) const {
    auto const& [view, near] = parts_[static_cast<std::size_t>(rank)];
    // The lambda takes a reference: a view remembers that it has announced itself, and a copy would not.
    return view.visit([&, words = near](auto const& seen) {
      return use(map_words<state_type, std::remove_cvref_t<decltype(seen)>>(state(), seen, words));
    });
  }

  [[nodiscard]] key_place place_of(std::uint64_t hash) const noexcept {
    std::uint64_t const bits = spread(hash);
    return {static_cast<rank_t>((bits >> 32U) * ranks_ >> 32U),
            static_cast<std::size_t>((bits & 0xffffffffU) * shape_.home_buckets >> 32U),
            bucket_state::tag_of(bits), static_cast<std::uint32_t>(bits)};
  }
  /// Prefetches the line of a key, to read or to write it, if this rank reaches it by loads.
  template <bool writes>
  void prefetch(key_place const& at) const noexcept {
    if constexpr (state_type::parts != part_is::far) {
      if (auto const* const first = parts_[static_cast<std::size_t>(at.owner)].near)
        prefetch_line<writes>(first + shape_.at(at.home));
    }
  }
  /// Prefetches all lines of a key's home bucket, up to eight. The line of the value depends on the state and
  /// on the keys, so it would otherwise be the second or third miss in a row. A change writes the first line,
  /// and one or two of the others.
  template <bool writes>
  void prefetch_bucket(key_place const& at) const noexcept {
    if constexpr (state_type::parts != part_is::far) {
      if (auto const* const part = parts_[static_cast<std::size_t>(at.owner)].near) {
        constexpr std::size_t line = 8;
        auto const* const bucket = part + shape_.at(at.home);
        prefetch_line<writes>(bucket);
        for (std::size_t i = line; i < std::min(shape_.bucket_words, 8 * line); i += line)
          prefetch_line<false>(bucket + i);
      }
    }
  }
  /// Prefetches the second bucket of a key's chain, if the first has arrived and does not hold the key's tag.
  /// It chooses the line without a branch, which would be mispredicted for each such key.
  template <bool writes>
  void prefetch_next(key_place const& at) const noexcept {
    if constexpr (state_type::parts != part_is::far) {
      if (auto* const first = parts_[static_cast<std::size_t>(at.owner)].near) {
        std::size_t const home = shape_.at(at.home);
        // relaxed: a hint. The operation on the key loads both words again.
        bucket_state const state(std::atomic_ref(first[home]).load(std::memory_order_relaxed));
        auto const next = std::atomic_ref(first[home + word_of_next]).load(std::memory_order_relaxed);
        prefetch_line<writes>(first + (state.matches(at.tag).any() ? home : next));
      }
    }
  }

 private:
  template <bool writes>
  static void prefetch_line(std::uint64_t const* at) noexcept {
    if constexpr (writes) {
      prefetch_to_write(at);
    } else {
      __builtin_prefetch(at);
    }
  }

  map_shape shape_;
  std::uint64_t ranks_;
  Window window_;
  epoch_type epoch_;  ///< open for as long as the table lives
  struct opened_part {
    view_type view;
    std::uint64_t* near;  ///< its words, where they are plain memory of this process
  };
  std::vector<opened_part> parts_;
};

}  // namespace PGAS_NAMESPACE::detail
