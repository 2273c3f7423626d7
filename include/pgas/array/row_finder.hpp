// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <pgas/array/rows_of_memory.hpp>
#include <pgas/support/reciprocal.hpp>
#include <tuple>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Finds a row of boxes with the same counts in several memories by its number.
///
/// Row n begins n rows of the last dimension but one behind the first row, and for each full dimension before
/// it a gap farther. So each such dimension costs one division for all memories, and a multiplication for
/// each. A dimension that is full at each row costs nothing: its gap is added to the distance of rows.
template <std::size_t N, class... T>
class row_finder {
 public:
  row_finder() = default;
  explicit row_finder(std::array<std::size_t, N> const& counts, rows_of_memory<T, N> const&... boxes) noexcept
      : row_finder(rows_in_each(counts), counts, before_rows{}, boxes...) {}

  /// Returns use(pointers to the first cell of row `number` in each memory).
  template <class Use>
  [[nodiscard, gnu::always_inline]] auto with_row(std::size_t number, Use const& use) const noexcept {
    return use_row(number, full_dimensions(number, before_rows{}), before_rows{}, use);
  }

 private:
  using before_rows = std::make_index_sequence<(N > 2 ? N - 2 : 0)>;
  using sizes = std::array<std::size_t, N>;

  template <class U>
  struct memory {
    U* first;
    std::ptrdiff_t row;                  ///< the distance of rows
    std::array<std::ptrdiff_t, N> gaps;  ///< one for each full dimension
  };

  template <std::size_t... d>
  row_finder(sizes const& rows, sizes const& counts, std::index_sequence<d...> /*before the rows*/,
             rows_of_memory<T, N> const&... boxes) noexcept
      : memories_(in_memory(rows, counts, boxes)...), rows_{reciprocal(rows[d])...} {}

  /// The number of rows in one step of each dimension.
  static constexpr sizes rows_in_each(sizes const& counts) noexcept {
    sizes rows{};
    rows[N > 2 ? N - 2 : 0] = 1;
    for (std::size_t d = N - 2; N > 2 && d > 0; --d) rows[d - 1] = rows[d] * counts[d];
    return rows;
  }
  template <class U>
  static memory<U> in_memory(sizes const& rows, sizes const& counts,
                             rows_of_memory<U, N> const& box) noexcept {
    memory<U> m{box.first, N > 1 ? box.pitches[N > 1 ? N - 2 : 0] : 0, {}};
    for (std::size_t d = 0; d + 2 < N; ++d) {
      auto const gap = box.pitches[d] - static_cast<std::ptrdiff_t>(counts[d + 1]) * box.pitches[d + 1];
      (rows[d] == 1 ? m.row : m.gaps[d]) += gap;
    }
    return m;
  }

  /// How often each dimension before the rows is full before row `number`.
  template <std::size_t... d>
  [[nodiscard, gnu::always_inline]] std::array<std::ptrdiff_t, N> full_dimensions(
      [[maybe_unused]] std::size_t number, std::index_sequence<d...> /*before the rows*/) const noexcept {
    if constexpr (N > 2) {
      if (!reciprocal::divides(number)) [[unlikely]]
        return {static_cast<std::ptrdiff_t>(rows_[d].quotient_of_any(number))...};
    }
    return {static_cast<std::ptrdiff_t>(rows_[d].quotient(number))...};
  }
  template <std::size_t... d, class Use>
  [[nodiscard, gnu::always_inline]] auto use_row(std::size_t number,
                                                 std::array<std::ptrdiff_t, N> const& full,
                                                 std::index_sequence<d...> /*before the rows*/,
                                                 Use const& use) const noexcept {
    auto const offset = [&](auto const& m) __attribute__((always_inline)) {
      return ((static_cast<std::ptrdiff_t>(number) * m.row) + ... + (full[d] * m.gaps[d]));
    };
    return std::apply([&](auto const&... m) { return use((m.first + offset(m))...); }, memories_);
  }

  std::tuple<memory<T>...> memories_{};
  std::array<reciprocal, N> rows_{};
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
