// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <pgas/vocabulary/expects.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The buckets of a part: a line of two counts; home buckets; overflow buckets; extents.
///
/// A chain of n keys has at most (n - 1) / 3 overflow buckets. So a third of the keys suffices for any hash,
/// and a part surely has room for `most` keys. With half as many home buckets as keys of `capacity`, six of
/// seven chains are one bucket.
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

  /// The overflow buckets that are taken before chains go deeper.
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

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
