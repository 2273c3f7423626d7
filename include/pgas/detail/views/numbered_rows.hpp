// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <pgas/array/part_box.hpp>
#include <pgas/detail/numbers/divisor.hpp>
#include <range/v3/view/subrange.hpp>
#include <tuple>

namespace pgas::inline PGAS_ASSERTIONS::detail {

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

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
