// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/array/row_finder.hpp>
#include <pgas/array/row_walk.hpp>
#include <range/v3/view/facade.hpp>
#include <range/v3/view/iota.hpp>
#include <range/v3/view/subrange.hpp>
#include <range/v3/view/transform.hpp>
#include <tuple>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Elements of several memories, one of each at a time.
template <class... T>
auto zipped(std::size_t length, T*... first) {
  return ranges::views::transform(ranges::views::iota(std::size_t{0}, length),
                                  [first...](std::size_t k) { return std::tuple<T&...>(first[k]...); });
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

  std::tuple<rows_of_memory<T, N>...> boxes_{};
  row_walk<N, T...> first_{};  ///< made once, since the division of row numbers needs constants
  row_finder<N, T...> numbered_{};

 public:
  memory_rows() = default;
  /// Views boxes of the same counts.
  explicit memory_rows(rows_of_memory<T, N> const&... boxes) noexcept
      : boxes_(boxes...), first_(counts(), boxes...), numbered_(counts(), boxes...) {}

  /// Row `number`. A loop over all rows is quicker: it divides by no counts.
  [[nodiscard, gnu::always_inline]] auto operator[](std::ptrdiff_t number) const noexcept {
    return numbered_.with_row(static_cast<std::size_t>(number), as_row(first_.length()));
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
