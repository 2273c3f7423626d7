// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <pgas/concepts/layout.hpp>
#include <pgas/vocabulary/box.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <range/v3/view/facade.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The global indices of a rank's cells, tile after tile.
template <layout Layout>
class owned_view : public ranges::view_facade<owned_view<Layout>, ranges::finite> {
  friend ranges::range_access;
  static constexpr std::size_t N = Layout::dimensions;

  class cursor {
   public:
    using value_type = std::array<std::size_t, N>;

    cursor() = default;
    cursor(Layout const* l, rank_t rank, std::size_t tile) noexcept : layout_(l), rank_(rank), tile_(tile) {
      enter();
    }

    [[nodiscard]] value_type read() const noexcept {
      value_type index = cells_.first;
      for (std::size_t d = 0; d < N; ++d) index[d] += at_[d];
      return index;
    }
    [[nodiscard]] bool equal(cursor const& other) const noexcept {
      return tile_ == other.tile_ && at_ == other.at_;
    }
    void next() noexcept {
      if (detail::advance(at_, cells_.count)) return;
      ++tile_;
      enter();
    }

   private:
    void enter() noexcept {
      if (layout_ != nullptr && tile_ < layout_->tiles(rank_)) cells_ = layout_->tile_of(rank_, tile_).cells;
    }

    Layout const* layout_ = nullptr;
    rank_t rank_ = 0;
    std::size_t tile_ = 0;
    box<N> cells_{};
    std::array<std::size_t, N> at_{};
  };

  [[nodiscard]] cursor begin_cursor() const noexcept { return {layout_, rank_, 0}; }
  [[nodiscard]] cursor end_cursor() const noexcept {
    return {layout_, rank_, layout_ == nullptr ? 0 : layout_->tiles(rank_)};
  }

  Layout const* layout_ = nullptr;
  rank_t rank_ = 0;

 public:
  owned_view() = default;
  owned_view(Layout const& l, rank_t rank) noexcept : layout_(&l), rank_(rank) {}
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
