// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <pgas/containers/map_bucket.hpp>
#include <pgas/lock_all.hpp>
#include <pgas/window.hpp>
#include <string_view>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Where a key belongs.
struct key_place {
  rank_t owner;
  std::size_t home;  ///< the bucket
  unsigned tag;      ///< other bits of the hash
};

/// Spreads a hash over all bits. The standard's hash of a number is often the number.
constexpr std::uint64_t spread(std::uint64_t hash) noexcept {
  hash ^= hash >> 32U;  // the finalizer of MurmurHash3 with other shifts
  hash *= 0xff51afd7ed558ccdU;
  hash ^= hash >> 29U;
  hash *= 0xc4ceb9fe1a85ec53U;
  return hash ^ hash >> 32U;
}

/// The buckets of all ranks, and the epoch in which this rank accesses them.
template <class Window>
class map_table {
  using epoch_type = lock_all<typename Window::state_type>;

 public:
  using state_type = typename Window::state_type;
  using view_type = decltype(std::declval<epoch_type&>().to(0));

  map_table(Window window, map_shape shape) : shape_(shape), window_(std::move(window)), epoch_(window_) {
    parts_.reserve(static_cast<std::size_t>(window_.ranks()));
    for (rank_t r = 0; r < window_.ranks(); ++r) parts_.push_back(epoch_.to(r));
  }
  map_table(map_table const&) = delete;
  map_table& operator=(map_table const&) = delete;
  ~map_table() = default;

  [[nodiscard]] map_shape const& shape() const noexcept { return shape_; }
  [[nodiscard]] state_type& state() const noexcept { return window_.state(); }
  /// One look at how a rank's part is reached: see target_view::visit. A reference: a view remembers that it
  /// has announced itself, and a copy would not.
  [[nodiscard]] view_type const& part(rank_t rank) const noexcept {
    return parts_[static_cast<std::size_t>(rank)];
  }

  [[nodiscard]] key_place place_of(std::uint64_t hash) const noexcept {
    std::uint64_t const bits = spread(hash);
    auto const ranks = static_cast<std::uint64_t>(parts_.size());
    return {static_cast<rank_t>((bits >> 32U) * ranks >> 32U),
            static_cast<std::size_t>((bits & 0xffffffffU) * shape_.home_buckets >> 32U),
            static_cast<unsigned>(bits & 0xffU)};
  }
  /// Asks for the line of a key, if it is in memory that this rank reaches by loads.
  void prefetch(key_place const& at) const noexcept {
    if constexpr (state_type::parts != part_is::far) {
      if (auto const* const first = state().part_if_near(at.owner))
        __builtin_prefetch(first + shape_.at(at.home));
    }
  }

 private:
  map_shape shape_;
  Window window_;
  epoch_type epoch_;  ///< open for as long as the table lives
  std::vector<view_type> parts_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
