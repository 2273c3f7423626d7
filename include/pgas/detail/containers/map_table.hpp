// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <pgas/detail/containers/map_bucket.hpp>
#include <pgas/detail/containers/map_shape.hpp>
#include <pgas/detail/containers/map_words.hpp>
#include <pgas/detail/processor/prefetch_to_write.hpp>
#include <pgas/lock_all.hpp>
#include <pgas/window.hpp>
#include <string_view>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail {

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
  template <bool flushes = true, class Use>
  decltype(auto) visit(rank_t rank, Use&& use) const {
    auto const& [view, near] = parts_[static_cast<std::size_t>(rank)];
    // The lambda takes a reference: a view remembers that it has announced itself, and a copy would not.
    return view.visit([&, words = near](auto const& seen) {
      return use(map_words<state_type, std::remove_cvref_t<decltype(seen)>, flushes>(state(), seen, words));
    });
  }

  [[nodiscard]] key_place place_of(std::uint64_t hash) const noexcept {
    std::uint64_t const bits = spread(hash);
    return {static_cast<rank_t>((bits >> 32U) * ranks_ >> 32U),
            static_cast<std::size_t>((bits & 0xffffffffU) * shape_.home_buckets >> 32U),
            bucket_state::tag_of(bits), static_cast<std::uint32_t>(bits)};
  }
  /// Asks for the line of a key, if it is in memory that this rank reaches by loads: to read it, or to write.
  template <bool writes>
  void prefetch(key_place const& at) const noexcept {
    if constexpr (state_type::parts != part_is::far) {
      if (auto const* const first = parts_[static_cast<std::size_t>(at.owner)].near)
        prefetch_line<writes>(first + shape_.at(at.home));
    }
  }
  /// Asks for all lines of a key's home bucket, up to eight. The line of the value depends on the state and
  /// on the keys, so it would else be the second or third miss, one after the other. A change writes the
  /// first line, and one or two of the others.
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
  /// Asks for the second bucket of a key's chain, if the first has arrived and does not hold the key's tag.
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

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
