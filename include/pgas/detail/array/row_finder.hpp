// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <pgas/detail/array/rows_of_memory.hpp>
#include <pgas/detail/numbers/reciprocal.hpp>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The way from the first row of a box in memory to a row with some number.
///
/// Row n begins n rows of the last dimension but one behind the first row, and for each full dimension before
/// it a gap farther. So each such dimension costs one division and a multiplication. A dimension that is full
/// at each row costs nothing: its gap is added to the distance of rows.
template <std::size_t N>
class row_finder {
 public:
  row_finder() = default;
  template <class T>
  explicit row_finder(rows_of_memory<T, N> const& box) noexcept
      : row_finder(rows_in_each(box.counts), box, before_rows{}) {}

  /// The bytes from the first row to row `number`, which is below 2^63.
  [[nodiscard, gnu::always_inline]] std::ptrdiff_t offset(std::size_t number) const noexcept {
    auto const n = opaque(number);
    return distance(
        n, [n](reciprocal const& rows) { return rows.quotient(n); }, before_rows{});
  }
  /// The same where difference() to some box is 0. Its result comes a multiplication earlier.
  [[nodiscard, gnu::always_inline]] std::ptrdiff_t estimated_offset(std::size_t number) const noexcept {
    auto const n = opaque(number);
    return distance(
        n, [n](reciprocal const& rows) { return rows.estimate(n); }, before_rows{});
  }
  /// 0 if each row lies as far behind the first one as in the other box, and estimates of quotients are
  /// exact. Without a branch: g++ computes it before a loop over numbers.
  [[nodiscard, gnu::always_inline]] std::size_t difference(row_finder const& other) const noexcept {
    return difference(other, before_rows{});
  }

 private:
  static constexpr std::size_t before = N > 2 ? N - 2 : 0;
  using before_rows = std::make_index_sequence<before>;
  using sizes = std::array<std::size_t, N>;

  template <class T, std::size_t... d>
  row_finder(sizes const& rows, rows_of_memory<T, N> const& box,
             std::index_sequence<d...> /*before the rows*/) noexcept
      : rows_{reciprocal(rows[d])...}, row_(N > 1 ? bytes<T>(box.pitches[N > 1 ? N - 2 : 0]) : 0) {
    std::size_t const all = N > 2 ? rows[0] * box.counts[0] : 0;
    if (!(rows_[d].estimates(all) && ...)) has_more_ = 1;
    auto const add = [&](std::size_t k) {
      auto const gap = box.pitches[k] - static_cast<std::ptrdiff_t>(box.counts[k + 1]) * box.pitches[k + 1];
      (rows[k] == 1 ? row_ : gaps_[k]) += bytes<T>(gap);
    };
    (add(d), ...);
  }

  template <class T>
  static constexpr std::ptrdiff_t bytes(std::ptrdiff_t elements) noexcept {
    return elements * static_cast<std::ptrdiff_t>(sizeof(T));
  }
  /// The number of rows in one step of each dimension.
  static constexpr sizes rows_in_each(sizes const& counts) noexcept {
    sizes rows{};
    rows[N > 2 ? N - 2 : 0] = 1;
    for (std::size_t d = N - 2; N > 2 && d > 0; --d) rows[d - 1] = rows[d] * counts[d];
    return rows;
  }
  /// In a loop over numbers g++ would add to a sum of 128 bits in memory, which takes six instructions.
  static constexpr std::size_t opaque(std::size_t number) noexcept {
    if (!std::is_constant_evaluated() && N > 2) asm("" : "+r"(number));
    return number;
  }
  template <class Quotient, std::size_t... d>
  [[nodiscard, gnu::always_inline]] std::ptrdiff_t distance(
      std::size_t number, Quotient const& quotient,
      std::index_sequence<d...> /*before the rows*/) const noexcept {
    return ((static_cast<std::ptrdiff_t>(number) * row_) + ... +
            (static_cast<std::ptrdiff_t>(quotient(rows_[d])) * gaps_[d]));
  }
  template <std::size_t... d>
  [[nodiscard, gnu::always_inline]] std::size_t difference(
      row_finder const& other, std::index_sequence<d...> /*before the rows*/) const noexcept {
    auto const bytes = ((row_ ^ other.row_) | ... | (gaps_[d] ^ other.gaps_[d]));
    auto const rows = (has_more_ | ... | (rows_[d].value() ^ other.rows_[d].value()));
    return static_cast<std::size_t>(bytes) | rows;
  }

  std::array<reciprocal, before> rows_{};      ///< in a step of each dimension
  std::array<std::ptrdiff_t, before> gaps_{};  ///< bytes for each full dimension
  std::ptrdiff_t row_ = 0;                     ///< the bytes from a row to the next
  std::size_t has_more_ = 0;                   ///< 1 if there are rows for which an estimate is no quotient
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
