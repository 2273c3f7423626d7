// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <pgas/detail/array/rows_of_memory.hpp>
#include <pgas/detail/numbers/divisor.hpp>
#include <tuple>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Walks over the rows of boxes with the same counts in several memories. A step is one addition for each
/// memory; a jump divides by the counts.
///
/// No loop has a dimension as its variable: g++ would keep the walk in memory.
template <std::size_t N, class... T>
class row_walk {
 public:
  row_walk() = default;
  explicit row_walk(std::array<std::size_t, N> const& counts, rows_of_memory<T, N> const&... boxes) noexcept
      : row_walk(counts, std::make_index_sequence<N - 1>{}, boxes...) {}
  /// The walk behind the last row. Its pointers rest at the first one; advance() counts from there.
  [[nodiscard]] row_walk behind(std::size_t rows) const noexcept {
    auto walk = *this;
    walk.number_ = rows;
    return walk;
  }

  /// The number of this row.
  [[nodiscard]] std::size_t number() const noexcept { return number_; }
  /// The number of cells of each row.
  [[nodiscard]] std::size_t length() const noexcept { return length_; }
  /// Returns use(pointers to the first cell of this row in each memory).
  template <class Use>
  [[nodiscard, gnu::always_inline]] auto with_row(Use const& use) const noexcept {
    return std::apply([&](auto const&... m) { return use(m.first...); }, memories_);
  }

  /// Goes to the next row.
  void next() noexcept {
    ++number_;
    if constexpr (N > 1) step<N - 2>();
  }
  /// Goes n rows on, or back if n is negative.
  void advance(std::ptrdiff_t n) noexcept {
    number_ += static_cast<std::size_t>(n);
    if constexpr (N > 1) place<N - 2>(number_);
  }

 private:
  template <class U>
  struct memory {
    U* first;
    std::array<std::ptrdiff_t, N> pitches;
  };

  template <std::size_t... d>
  row_walk(std::array<std::size_t, N> const& counts, std::index_sequence<d...> /*but the last*/,
           rows_of_memory<T, N> const&... m) noexcept
      : memories_(memory<T>{m.first, m.pitches}...), counts_{divisor(counts[d])...}, length_(counts[N - 1]) {}

  template <std::size_t d>
  void step() noexcept {
    move<d>(1);
    if constexpr (d > 0) {
      if (++at_[d] != counts_[d].value()) return;
      move<d>(-static_cast<std::ptrdiff_t>(at_[d]));
      at_[d] = 0;
      step<d - 1>();
    } else {
      ++at_[d];
    }
  }
  template <std::size_t d>
  void place(std::size_t number) noexcept {
    std::size_t const at = d == 0 ? number : counts_[d].remainder(number);
    move<d>(static_cast<std::ptrdiff_t>(at - at_[d]));
    at_[d] = at;
    if constexpr (d > 0) place<d - 1>(counts_[d].quotient(number));
  }
  template <std::size_t d>
  void move(std::ptrdiff_t by) noexcept {
    std::apply([by](auto&... m) { ((m.first += by * m.pitches[d]), ...); }, memories_);
  }

  std::tuple<memory<T>...> memories_{};
  std::array<divisor, N> counts_{};
  std::array<std::size_t, N> at_{};
  std::size_t number_ = 0;
  std::size_t length_ = 0;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
