// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <pgas/detail/array/row_walk.hpp>
#include <pgas/detail/views/found_row.hpp>
#include <range/v3/view/facade.hpp>
#include <range/v3/view/iota.hpp>
#include <range/v3/view/subrange.hpp>
#include <range/v3/view/transform.hpp>
#include <tuple>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS::detail {

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

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
