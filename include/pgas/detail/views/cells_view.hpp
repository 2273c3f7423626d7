// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/array/part_box.hpp>
#include <pgas/detail/views/box_of_own.hpp>
#include <range/v3/view/facade.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

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

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
