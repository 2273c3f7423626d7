// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/array/aligned.hpp>
#include <pgas/array/array_segment.hpp>
#include <pgas/array/has_cells_of.hpp>
#include <pgas/array/part_box.hpp>
#include <pgas/array/row_walk.hpp>
#include <pgas/support/divisor.hpp>
#include <pgas/tiles.hpp>
#include <range/v3/view/facade.hpp>
#include <range/v3/view/iota.hpp>
#include <range/v3/view/subrange.hpp>
#include <range/v3/view/transform.hpp>
#include <range/v3/view/zip.hpp>
#include <ranges>
#include <tuple>

namespace pgas::inline PGAS_ASSERTIONS {

namespace detail {

/// A view of this rank's own part with signed indices in all dimensions. In one dimension a span would not
/// take negative ones.
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

/// A range whose elements lie in memory, one after the other, and stay there after the call that takes it.
template <class Range>
concept row_in_memory = std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range> &&
                        (std::is_lvalue_reference_v<Range> || std::ranges::borrowed_range<Range> ||
                         ranges::view_<std::remove_cvref_t<Range>>);

/// Elements of several memories, one of each at a time.
template <class... T>
auto zipped(std::size_t length, T*... first) {
  return ranges::views::transform(ranges::views::iota(std::size_t{0}, length),
                                  [first...](std::size_t k) { return std::tuple<T&...>(first[k]...); });
}

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

/// The rows of a box by their numbers, as range-v3 views: pairs of iterators through this rank's cache.
template <class View, std::size_t N>
class numbered_rows {
 public:
  numbered_rows(View const& v, part_box<N> const& box) noexcept : view_(v), box_(box) {
    for (std::size_t d = 1; d + 1 < N; ++d) counts_[d] = divisor(count(d));
  }

  [[nodiscard]] std::size_t size() const noexcept {
    std::size_t rows = box_.empty() ? 0 : 1;
    for (std::size_t d = 0; d + 1 < N; ++d) rows *= count(d);
    return rows;
  }
  [[nodiscard]] auto operator()(std::size_t number) const noexcept {
    auto at = box_.first;
    if constexpr (N > 1) {
      for (std::size_t d = N - 2; d > 0; --d) {
        at[d] += static_cast<std::ptrdiff_t>(counts_[d].remainder(number));
        number = counts_[d].quotient(number);
      }
      at[0] += static_cast<std::ptrdiff_t>(number);
    }
    auto const row = std::apply([this](auto... i) { return view_.piece_of_row(count(N - 1), i...); }, at);
    return ranges::make_subrange(row.begin(), row.end());
  }

 private:
  [[nodiscard]] std::size_t count(std::size_t d) const noexcept {
    return static_cast<std::size_t>(box_.end[d] - box_.first[d]);
  }

  View view_;
  part_box<N> box_;
  std::array<divisor, N> counts_{};  ///< of the dimensions between the first and the last
};

/// The rows of one box in memory as views, or of several boxes as views of tuples of references.
template <std::size_t N, class... T>
class memory_rows : public ranges::view_facade<memory_rows<N, T...>, ranges::finite> {
  friend ranges::range_access;

  static auto as_row(std::size_t length) noexcept {
    return [length](auto*... first) {
      if constexpr (sizeof...(T) == 1) {
        return ranges::make_subrange(first..., (first + length)...);
      } else {
        return zipped(length, first...);
      }
    };
  }

  class cursor {
   public:
    cursor() = default;
    explicit cursor(row_walk<N, T...> const& walk) noexcept : walk_(walk) {}

    [[nodiscard]] auto read() const noexcept { return walk_.with_row(as_row(walk_.length())); }
    [[nodiscard]] bool equal(cursor const& other) const noexcept {
      return walk_.number() == other.walk_.number();
    }
    void next() noexcept { walk_.next(); }
    void prev() noexcept { walk_.advance(-1); }
    void advance(std::ptrdiff_t n) noexcept { walk_.advance(n); }
    [[nodiscard]] std::ptrdiff_t distance_to(cursor const& other) const noexcept {
      return static_cast<std::ptrdiff_t>(other.walk_.number() - walk_.number());
    }

   private:
    row_walk<N, T...> walk_{};
  };

  [[nodiscard]] cursor begin_cursor() const noexcept { return cursor(first_); }
  [[nodiscard]] cursor end_cursor() const noexcept { return cursor(first_.behind(size())); }

  std::tuple<rows_of_memory<T, N>...> boxes_{};
  row_walk<N, T...> first_{};  ///< made once, since the division of row numbers needs constants

 public:
  memory_rows() = default;
  /// Views boxes of the same counts.
  explicit memory_rows(rows_of_memory<T, N> const&... boxes) noexcept
      : boxes_(boxes...), first_(counts(), boxes...) {}

  /// Row `number`. A loop over all rows is quicker: it divides by no counts.
  [[nodiscard]] auto operator[](std::ptrdiff_t number) const noexcept {
    return first_.with_row(static_cast<std::size_t>(number), as_row(first_.length()));
  }
  /// The number of rows.
  [[nodiscard]] std::size_t size() const noexcept {
    std::size_t rows = counts()[N - 1] == 0 ? 0 : 1;
    for (std::size_t d = 0; d + 1 < N; ++d) rows *= counts()[d];
    return rows;
  }
  /// The number of rows in each dimension but the last, and the length of a row.
  [[nodiscard]] std::array<std::size_t, N> const& counts() const noexcept {
    return std::get<0>(boxes_).counts;
  }
  /// The boxes.
  [[nodiscard]] auto const& boxes() const noexcept { return boxes_; }
};

/// The rows of a box in one memory.
template <class Rows>
inline constexpr bool is_rows_of_memory = false;
template <std::size_t N, class T>
inline constexpr bool is_rows_of_memory<memory_rows<N, T>> = true;

template <std::size_t N, class... T>
auto zipped_rows(memory_rows<N, T> const&... rows) noexcept {
  return memory_rows<N, T...>(std::get<0>(rows.boxes())...);
}

/// A row or a part as a range-v3 view: a pair of iterators.
template <class Sequence>
auto as_view(Sequence const& s) {
  return ranges::make_subrange(s.begin(), s.end());
}

}  // namespace detail

/// The pieces of an array in rank order, empty ones included: `for (auto s : segments(a))`. Local. For
/// layouts in which each rank owns one box; tiles() works for all layouts.
template <any_global_array Array>
  requires box_layout<typename Array::layout_type>
[[nodiscard]] auto segments(Array const& a) {
  return ranges::views::transform(ranges::views::iota(rank_t{0}, a.ranks()),
                                  [array = &a](rank_t r) { return array_segment<Array>(*array, r); });
}

/// The rank that owns a piece.
template <any_global_array Array>
[[nodiscard]] rank_t rank(array_segment<Array> const& s) noexcept {
  return s.rank();
}

/// The own part of an array, or the memory of a piece: a.local().
template <any_global_array Array>
[[nodiscard]] auto local(Array const& a) {
  return a.local();
}
template <any_global_array Array>
[[nodiscard]] auto local(array_segment<Array> const& s)
  requires Array::state_type::is_direct
{
  return s.local();
}

namespace views {

/// The cells of a box of this rank's part, own and ghost cells, as a random access view in row-major order.
/// The box comes from own_cells, all_cells or a stencil's cells_before. References go through this rank's
/// cache if there is one. Local. Like all of these views, it is valid as long as the array stays in place.
template <any_global_array Array>
  requires matrix_layout<typename Array::layout_type>
[[nodiscard]] auto cells(Array const& a, part_box<Array::dimensions> const& box) {
  auto const own = detail::box_of_own(a);
  return detail::cells_view<std::remove_const_t<decltype(own)>, Array::dimensions>(own, box);
}

/// The cells of a segment on any rank, as a random access view in row-major order. Like local(segment), for
/// code that synchronizes by itself.
template <any_global_array Array>
  requires Array::state_type::is_direct
[[nodiscard]] auto cells(array_segment<Array> const& s) {
  constexpr std::size_t N = Array::dimensions;
  box_view<typename Array::value_type, N> const memory(s.first_cell(), s.box().count, s.pitches());
  part_box<N> all;
  for (std::size_t d = 0; d < N; ++d) all.end[d] = static_cast<std::ptrdiff_t>(memory.extent(d));
  return detail::cells_view<std::remove_const_t<decltype(memory)>, N>(memory, all);
}

/// This rank's own cells, row after row, as a random access view:
/// `views::local(a) | ranges::views::transform(f)`. It works on every backend; references go through this
/// rank's cache if there is one.
template <any_global_array Array>
  requires matrix_layout<typename Array::layout_type>
[[nodiscard]] auto local(Array const& a) {
  if constexpr (Array::dimensions == 1) {
    return detail::as_view(a.local());
  } else {
    return views::cells(a, own_cells(a));
  }
}

/// This rank's own cells of aligned arrays as a random access view of tuples of references:
/// `for (auto [x, y] : views::zip(a, b)) y += x;`. Halos, padding and element types may differ.
///
/// Throws errc::invalid_argument with both layouts if this rank's own cells differ between the arrays.
template <any_global_array First, any_global_array... More>
  requires(matrix_layout<typename First::layout_type> &&
           ((First::dimensions == More::dimensions && matrix_layout<typename More::layout_type>)&&...))
[[nodiscard]] auto zip(First const& first, More const&... more) {
  auto const check = [&](auto const& other) {
    if (!detail::has_cells_of(first, other)) detail::throw_not_aligned("zip", first, other);
  };
  (check(more), ...);
  return ranges::views::zip(views::local(first), views::local(more)...);
}

/// Elements of contiguous ranges of one length as a random access view of tuples of references:
/// `for (auto&& [to, above, below] : views::zip(row, row_above, row_below)) to = above + below;`. Local.
///
/// Throws errc::invalid_argument if the lengths differ. The end is one comparison of indices, and compilers
/// vectorize the loop; with ranges::views::zip each range may end it, and g++ does not.
template <class First, class... More>
  requires(detail::row_in_memory<First> && (detail::row_in_memory<More> && ...))
[[nodiscard]] auto zip(First&& first, More&&... more) {
  std::size_t const length = std::ranges::size(first);
  PGAS_EXPECTS(light, ((std::ranges::size(more) == length) && ...),
               detail::throw_error(errc::invalid_argument, -1, "zip",
                                   "ranges of several lengths have no pairs; give ranges of one length"));
  return detail::zipped(length, std::ranges::data(first), std::ranges::data(more)...);
}

/// Rows of boxes of one shape as a random access view of zipped rows:
/// `for (auto const row : views::zip(to, from)) for (auto&& [x, y] : row) x = y;`. Local. From a row to the
/// next costs one addition for each box.
///
/// Throws errc::invalid_argument if the boxes have several shapes.
template <class First, class... More>
  requires(detail::is_rows_of_memory<First> && (detail::is_rows_of_memory<More> && ...))
[[nodiscard]] auto zip(First const& first, More const&... more) {
  PGAS_EXPECTS(light, ((more.counts() == first.counts()) && ...),
               detail::throw_error(errc::invalid_argument, -1, "zip",
                                   "rows of boxes of several shapes have no pairs; give boxes of one shape"));
  return detail::zipped_rows(first, more...);
}

/// The own cells at least a halo's width away from other ranks' cells, as a random access view. They can be
/// computed while an exchange is pending.
template <any_global_array Array>
  requires box_layout<typename Array::layout_type>
[[nodiscard]] auto interior(Array const& a) {
  auto const around = a.shape().halos().around();
  return views::cells(a, inner_cells(a, around.before, around.after));
}

/// The own cells outside interior(a), which must wait for the exchange. A forward view over at most two boxes
/// per dimension.
template <any_global_array Array>
  requires box_layout<typename Array::layout_type>
[[nodiscard]] auto boundary(Array const& a) {
  auto const around = a.shape().halos().around();
  auto const own = detail::box_of_own(a);
  return detail::shell_view<std::remove_const_t<decltype(own)>, Array::dimensions>(
      own, own_cells(a), inner_cells(a, around.before, around.after));
}

/// The ghost cells around the own cells, corners and cells beyond a fixed edge included. A forward view.
template <any_global_array Array>
  requires box_layout<typename Array::layout_type>
[[nodiscard]] auto halo(Array const& a) {
  auto const own = detail::box_of_own(a);
  return detail::shell_view<std::remove_const_t<decltype(own)>, Array::dimensions>(own, all_cells(a),
                                                                                   own_cells(a));
}

/// The global indices of the cells that a rank owns, in the order of its memory. A forward view, for any
/// layout and any rank.
template <any_global_array Array>
[[nodiscard]] auto owned_by(Array const& a, rank_t rank) {
  a.state().check_rank(rank, "owned_by");
  return detail::owned_view<typename Array::layout_type>(a.layout(), rank);
}

/// This rank's tiles in the order of its memory, as a random access view: tiles() for pipelines.
template <any_global_array Array>
[[nodiscard]] auto tiles(Array const& a) {
  return ranges::views::transform(ranges::views::iota(std::size_t{0}, a.layout().tiles(a.rank())),
                                  [array = &a](std::size_t k) { return own_tile<Array>(*array, k); });
}

/// The rows of a box of a view of memory, counted from the view's first cell: of staged cells, for example,
/// `views::rows(stage(a, read_only).view(), box)`. Local.
template <std::size_t N, detail::memory_view<N> View>
[[nodiscard]] auto rows(View const& v, part_box<N> const& box) {
  return detail::memory_rows(detail::rows_of_box(v, box));
}

/// The rows of a box of this rank's part, own and ghost cells, each a random access view. The rows are in
/// order themselves, and a view of random access.
///
/// The box comes from own_cells, all_cells, a stencil's cells_before or shifted(). Local. Loops over zip() of
/// rows are as quick as loops over pointers. Short rows by their numbers, `to[r]`, take up to twice as long,
/// since a number is divided. Loops over zip() of cells() take 18 to 30 times as long, since a row may end at
/// each cell.
template <any_global_array Array>
  requires matrix_layout<typename Array::layout_type>
[[nodiscard]] auto rows(Array const& a, part_box<Array::dimensions> const& box) {
  if constexpr (Array::is_contiguous) {
    return views::rows(detail::box_of_own(a), box);
  } else {
    detail::numbered_rows const rows_of_box(detail::box_of_own(a), box);
    return ranges::views::transform(ranges::views::iota(std::size_t{0}, rows_of_box.size()), rows_of_box);
  }
}

/// This rank's own rows, each a random access view.
template <any_global_array Array>
  requires(Array::dimensions == 2)
[[nodiscard]] auto rows(Array const& a) {
  auto const matrix = a.local();
  return ranges::views::transform(ranges::views::iota(std::size_t{0}, matrix.extent(0)),
                                  [matrix](std::size_t i) { return detail::as_view(matrix.row(i)); });
}

}  // namespace views

}  // namespace pgas::inline PGAS_ASSERTIONS
