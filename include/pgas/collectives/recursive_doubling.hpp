// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/collective.hpp>
#include <pgas/detail/copy/copy_bytes.hpp>
#include <pgas/detail/exchange/binomial.hpp>
#include <string_view>
#include <vector>

namespace PGAS_NAMESPACE::collectives {

/// Recursive doubling: in round k each rank exchanges all that it has with the rank at distance 2^k.
///
/// Rounds    ceil(log2 n).
/// Bytes     each rank sends its elements in each round.
/// Memory    that of the links; a copy of the elements for scan.
/// Source    Thakur, Rabenseifner and Gropp 2005; for scans, Hillis and Steele 1986.
/// Differs   The element of the lower rank is always the left operand, so all ranks get the same bits, and
///           operations need not commute. Where the number of ranks is no power of two, all_reduce uses a
///           binomial tree instead.
struct recursive_doubling {
  static constexpr std::string_view name = "recursive_doubling";
  static constexpr auto stands_on = collective_medium::links;

  template <linking_medium M>
  static detail::steps all_reduce(M& m, bytes_in mine, bytes_out result, detail::folding fold) {
    detail::copy_bytes(result.data(), mine.data(), mine.size());
    auto const self = static_cast<unsigned>(m.rank());
    unsigned const rounds = detail::doublings(m.size());
    if (1U << rounds != static_cast<unsigned>(m.size())) {
      co_await detail::fold_up(m, result, fold);
      co_await detail::send_down(m, result, 0);
      co_return;
    }
    for (unsigned k = 0; k < rounds; ++k) {
      bool const is_upper = (self >> k & 1U) != 0;
      auto const take = [&](std::size_t first, std::byte const* piece, std::size_t bytes) {
        std::byte* const own = result.data() + first;
        fold(own, is_upper ? piece : own, is_upper ? own : piece, bytes);
      };
      co_await m.exchange_and_take(link{k, is_upper}, result, link{k, !is_upper}, result.size(),
                                   fold.element_bytes(), take);
    }
  }

  template <linking_medium M>
  static detail::steps scan(M& m, bytes_in mine, bytes_out result, detail::folding fold, bool is_exclusive) {
    auto const self = static_cast<unsigned>(m.rank());
    auto const ranks = static_cast<unsigned>(m.size());
    // Op over the elements of this rank and of the lower ranks that have arrived.
    std::vector<std::byte> all(mine.begin(), mine.end());
    bool has_result = false;
    for (unsigned k = 0; k < detail::doublings(m.size()); ++k) {
      unsigned const distance = 1U << k;
      bool const sends = self + distance < ranks;
      bool const receives = self >= distance;
      auto const take = [&](std::size_t first, std::byte const* piece, std::size_t bytes) {
        std::byte* const out = result.data() + first;
        if (is_exclusive && has_result) {
          fold(out, piece, out, bytes);
        } else if (is_exclusive) {
          detail::copy_bytes(out, piece, bytes);
        }
        fold(all.data() + first, piece, all.data() + first, bytes);
      };
      link const up{k, false};
      co_await m.exchange_and_take(up, sends ? bytes_in(all) : bytes_in(), up, receives ? all.size() : 0,
                                   fold.element_bytes(), take);
      has_result = has_result || receives;
    }
    if (!is_exclusive) detail::copy_bytes(result.data(), all.data(), all.size());
  }
};

}  // namespace PGAS_NAMESPACE::collectives
