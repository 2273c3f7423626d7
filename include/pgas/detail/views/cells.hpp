// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <pgas/array/box_view.hpp>
#include <pgas/array/part_box.hpp>
#include <pgas/concepts/layout.hpp>
#include <pgas/vocabulary/box.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <range/v3/view/facade.hpp>
#include <tuple>

namespace PGAS_NAMESPACE::detail {

/// A view of this rank's own part with signed indices in all dimensions. In one dimension a span would not
/// accept negative ones.
template <class Array>
auto box_of_own(Array const& a) noexcept {
  constexpr std::size_t N = Array::dimensions;
  auto const& place = a.local_place();
  if constexpr (Array::is_contiguous) {
    return box_view<typename Array::value_type, N>(a.window().local().data() + place.first, a.local_extents(),
                                                   place.pitches);
  } else {
    return local_box<typename Array::state_type, N>(a.state(), place.first, a.local_extents(), place.pitches);
  }
}

/// The cell of a view with these indices.
template <class View, std::size_t N>
decltype(auto) cell_at(View const& v, std::array<std::ptrdiff_t, N> const& at) noexcept {
  return std::apply([&](auto... i) -> decltype(auto) { return v(i...); }, at);
}

/// The cells of a box of a rank's part in one sequence, in row-major order. Iteration needs no division.
template <class View, std::size_t N>
class cells_view : public ranges::view_facade<cells_view<View, N>, ranges::finite> {
  friend ranges::range_access;
  using index_type = std::array<std::ptrdiff_t, N>;

  class cursor {
   public:
    using value_type = typename View::value_type;

    cursor() = default;
    cursor(View const& v, part_box<N> const& box, index_type const& at) noexcept
        : view_(v), box_(box), at_(at) {}

    [[nodiscard]] decltype(auto) read() const noexcept { return cell_at(view_, at_); }
    [[nodiscard]] bool equal(cursor const& other) const noexcept { return at_ == other.at_; }
    void next() noexcept {
      for (std::size_t d = N - 1; ++at_[d] == box_.end[d] && d > 0; --d) at_[d] = box_.first[d];
    }
    void prev() noexcept {
      std::size_t d = N - 1;
      for (; at_[d] == box_.first[d] && d > 0; --d) at_[d] = box_.end[d] - 1;
      --at_[d];
    }
    void advance(std::ptrdiff_t n) noexcept {
      if (n == 0) return;
      std::ptrdiff_t rest = number() + n;
      for (std::size_t d = N - 1; d > 0; --d) {
        at_[d] = box_.first[d] + rest % count(d);
        rest /= count(d);
      }
      at_[0] = box_.first[0] + rest;
    }
    [[nodiscard]] std::ptrdiff_t distance_to(cursor const& other) const noexcept {
      return other.number() - number();
    }

   private:
    [[nodiscard]] std::ptrdiff_t count(std::size_t d) const noexcept { return box_.end[d] - box_.first[d]; }
    [[nodiscard]] std::ptrdiff_t number() const noexcept {
      std::ptrdiff_t k = 0;
      for (std::size_t d = 0; d < N; ++d) k = k * count(d) + at_[d] - box_.first[d];
      return k;
    }

    View view_{};
    part_box<N> box_{};
    index_type at_{};
  };

  [[nodiscard]] cursor begin_cursor() const noexcept { return {view_, box_, box_.first}; }
  /// The cursor behind the last cell: one step too far in dimension 0, as next() leaves it.
  [[nodiscard]] cursor end_cursor() const noexcept {
    auto end = box_.first;
    end[0] = box_.end[0];
    return {view_, box_, end};
  }

  View view_{};
  part_box<N> box_{};

 public:
  cells_view() = default;
  cells_view(View const& v, part_box<N> const& box) noexcept
      : view_(v), box_(box.empty() ? part_box<N>{} : box) {}
};

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

/// The cells of a few boxes, one box after the other.
template <class View, std::size_t N>
class shell_view : public ranges::view_facade<shell_view<View, N>, ranges::finite> {
  friend ranges::range_access;
  using index_type = std::array<std::ptrdiff_t, N>;

  class cursor {
   public:
    using value_type = typename View::value_type;

    cursor() = default;
    cursor(shell_view const& v, std::size_t box) noexcept : shell_(&v), box_(box) { enter(); }

    [[nodiscard]] decltype(auto) read() const noexcept { return cell_at(shell_->view_, at_); }
    [[nodiscard]] bool equal(cursor const& other) const noexcept {
      return box_ == other.box_ && at_ == other.at_;
    }
    void next() noexcept {
      part_box<N> const& box = shell_->boxes_[box_];
      std::size_t d = N - 1;
      for (; ++at_[d] == box.end[d] && d > 0; --d) at_[d] = box.first[d];
      if (at_[0] != box.end[0]) return;
      ++box_;
      enter();
    }

   private:
    void enter() noexcept { at_ = box_ < shell_->count_ ? shell_->boxes_[box_].first : index_type{}; }

    shell_view const* shell_ = nullptr;
    std::size_t box_ = 0;
    index_type at_{};
  };

  [[nodiscard]] cursor begin_cursor() const noexcept { return {*this, 0}; }
  [[nodiscard]] cursor end_cursor() const noexcept { return {*this, count_}; }

  View view_{};
  std::array<part_box<N>, 2 * N> boxes_{};
  std::size_t count_ = 0;

 public:
  shell_view() = default;
  /// Views the cells of `all` without those of `inner`.
  shell_view(View const& v, part_box<N> const& all, part_box<N> const& inner) noexcept : view_(v) {
    for_each_around(all, inner, [this](part_box<N> const& box) { boxes_[count_++] = box; });
  }
  [[nodiscard]] std::size_t size() const noexcept {
    std::size_t cells = 0;
    for (std::size_t k = 0; k < count_; ++k) cells += boxes_[k].size();
    return cells;
  }
};

}  // namespace PGAS_NAMESPACE::detail
