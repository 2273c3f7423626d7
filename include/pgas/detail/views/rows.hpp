// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <pgas/array/part_box.hpp>
#include <pgas/detail/array/rows_of_memory.hpp>
#include <pgas/detail/numbers/divisor.hpp>
#include <range/v3/range/concepts.hpp>
#include <range/v3/view/facade.hpp>
#include <range/v3/view/interface.hpp>
#include <range/v3/view/iota.hpp>
#include <range/v3/view/subrange.hpp>
#include <range/v3/view/transform.hpp>
#include <tuple>
#include <type_traits>
#include <utility>

namespace PGAS_NAMESPACE::detail {

/// Elements of several memories, one of each at a time.
template <class... T>
auto zipped(std::size_t length, T*... first) {
  return ranges::views::transform(ranges::views::iota(std::size_t{0}, length),
                                  [first...](std::size_t k) { return std::tuple<T&...>(first[k]...); });
}

/// The element that many bytes farther.
template <class T>
[[gnu::always_inline]] inline T* behind(T* p, std::ptrdiff_t bytes) noexcept {
  using byte = std::conditional_t<std::is_const_v<T>, char const, char>;
  return reinterpret_cast<T*>(reinterpret_cast<byte*>(p) + bytes);
}

/// A row of a box in memory that was found by its number. It keeps how it was found, since zip() finds rows
/// of several boxes at once where that is the same.
template <std::size_t N, class T>
class found_row : public ranges::view_interface<found_row<N, T>, ranges::finite> {
 public:
  found_row() = default;
  [[gnu::always_inline]] found_row(T* first, row_finder<N> const& finder, std::size_t number,
                                   std::size_t length) noexcept
      : data_(behind(first, finder.offset(number))),
        length_(length),
        first_(first),
        number_(number),
        finder_(finder) {}

  [[nodiscard]] T* begin() const noexcept { return data_; }
  [[nodiscard]] T* end() const noexcept { return data_ + length_; }
  [[nodiscard]] T* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return length_; }

  /// The first row of the box.
  [[nodiscard]] T* first() const noexcept { return first_; }
  /// The bytes from the first row of the box to this one. Requires that difference() to some row is 0.
  [[nodiscard, gnu::always_inline]] std::ptrdiff_t offset() const noexcept {
    return finder_.estimated_offset(number_);
  }
  /// 0 if this row lies as far behind the first one of its box as the other row, and offset() is exact.
  template <class U>
  [[nodiscard, gnu::always_inline]] std::size_t difference(found_row<N, U> const& other) const noexcept {
    return (number_ ^ other.number_) | finder_.difference(other.finder_);
  }

 private:
  template <std::size_t, class>
  friend class found_row;  // T const beside T

  T* data_ = nullptr;
  std::size_t length_ = 0;
  T* first_ = nullptr;
  std::size_t number_ = 0;
  row_finder<N> finder_{};
};

/// Elements of rows of one length, one of each at a time.
template <std::size_t N, class First, class... More>
[[gnu::always_inline]] inline auto zip_found(found_row<N, First> const& first,
                                             found_row<N, More> const&... more) noexcept {
  if ((first.difference(first) | ... | first.difference(more)) == 0) {
    auto const offset = first.offset();
    return zipped(first.size(), behind(first.first(), offset), behind(more.first(), offset)...);
  }
  return zipped(first.size(), first.data(), more.data()...);
}

/// The rows of one box in memory as views, or of several boxes as views of tuples of references.
template <std::size_t N, class... T>
class memory_rows : public ranges::view_facade<memory_rows<N, T...>, ranges::finite> {
  friend ranges::range_access;

  static auto as_row(std::size_t length) noexcept {
    return [length](auto*... first) __attribute__((always_inline)) {
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

  template <std::size_t... box>
  [[nodiscard, gnu::always_inline]] auto row(std::size_t number, std::index_sequence<box...>) const noexcept {
    auto const found = [&]<std::size_t b>(std::integral_constant<std::size_t, b>)
        __attribute__((always_inline)) {
      return found_row(std::get<b>(boxes_).first, finders_[b], number, first_.length());
    };
    if constexpr (sizeof...(T) == 1) {
      return found(std::integral_constant<std::size_t, box>{}...);
    } else {
      return zip_found(found(std::integral_constant<std::size_t, box>{})...);
    }
  }

  std::tuple<rows_of_memory<T, N>...> boxes_{};
  row_walk<N, T...> first_{};  ///< made once, since the division of row numbers needs constants
  std::array<row_finder<N>, sizeof...(T)> finders_{};

 public:
  memory_rows() = default;
  /// Views boxes of the same counts.
  explicit memory_rows(rows_of_memory<T, N> const&... boxes) noexcept
      : boxes_(boxes...), first_(counts(), boxes...), finders_{row_finder<N>(boxes)...} {}

  /// Row `number`. A loop over all rows divides by no counts.
  [[nodiscard, gnu::always_inline]] auto operator[](std::ptrdiff_t number) const noexcept {
    return row(static_cast<std::size_t>(number), std::index_sequence_for<T...>{});
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

}  // namespace PGAS_NAMESPACE::detail
