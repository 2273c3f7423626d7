// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/array/part_box.hpp>
#include <pgas/detail/views/box_of_own.hpp>
#include <range/v3/view/facade.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

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

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
