// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <new>
#include <pgas/concepts/collective.hpp>
#include <pgas/detail/copy/copy_bytes.hpp>
#include <pgas/detail/exchange/blocks.hpp>
#include <pgas/detail/exchange/steps.hpp>
#include <pgas/vocabulary/block_sizes.hpp>
#include <pgas/vocabulary/folding.hpp>
#include <string_view>
#include <vector>

namespace PGAS_NAMESPACE::collectives {

/// Reductions of elements of any length: each rank gets all ranks' operands of its share of the elements, and
/// folds them in rank order. `Exchange` is an algorithm that moves blocks of bytes: `direct` or `pulled`.
///
/// Other algorithms fold elements in pieces of a medium, and a piece holds whole elements. Here pieces carry
/// bytes, and elements are put together in private memory.
/// Rounds    those of an all_to_all, and of the exchange that gives the results to the ranks that want them.
/// Bytes     each rank sends each operand once, and its share of the results once to each rank that wants it.
/// Memory    that of the exchange; as much private memory as the elements of a rank take.
/// Source    reduce-scatter and gather, as Rabenseifner's (Thakur, Rabenseifner and Gropp 2005).
template <class Exchange>
struct by_exchange {
  static constexpr std::string_view name = "by_exchange";
  static constexpr auto stands_on = Exchange::stands_on;
  static constexpr bool folds_any_length = true;  ///< elements may be longer than a piece

  /// Every rank gets op over all ranks' elements.
  template <class M>
    requires detail::exchanges_all<Exchange, M>
  static detail::steps all_reduce(M& m, bytes_in mine, bytes_out result, detail::folding fold) {
    auto const sizes = detail::shares(mine.size(), fold.element_bytes(), m.size());
    operands all(m, sizes.size(m.rank()), fold);
    co_await Exchange::all_to_all(m, mine, sizes, all.memory(), all.sizes(), false);
    all.fold_in_order(fold);
    co_await Exchange::all_gather(m, all.of(0), result, sizes);
  }
  /// The root gets op over all ranks' elements.
  template <class M>
    requires detail::exchanges_all<Exchange, M>
  static detail::steps reduce(M& m, bytes_in mine, bytes_out result, detail::folding fold, rank_t root) {
    auto const sizes = detail::shares(mine.size(), fold.element_bytes(), m.size());
    operands all(m, sizes.size(m.rank()), fold);
    co_await Exchange::all_to_all(m, mine, sizes, all.memory(), all.sizes(), false);
    all.fold_in_order(fold);
    co_await Exchange::gather(m, all.of(0), result, sizes, false, root);
  }

  /// In an inclusive scan the results replace the operands, and go back. In an exclusive one, each result
  /// goes to the next rank.
  template <class M>
    requires detail::exchanges_all<Exchange, M>
  static detail::steps scan(M& m, bytes_in mine, bytes_out result, detail::folding fold, bool is_exclusive) {
    auto const sizes = detail::shares(mine.size(), fold.element_bytes(), m.size());
    std::size_t const share = sizes.size(m.rank());
    operands all(m, share, fold);
    co_await Exchange::all_to_all(m, mine, sizes, all.memory(), all.sizes(), false);
    for (rank_t r = 1; r < m.size(); ++r)
      fold(all.of(r).data(), all.of(r - 1).data(), all.of(r).data(), share);
    if (!is_exclusive) {
      co_await Exchange::all_to_all(m, all.memory(), all.sizes(), result, sizes, false);
      co_return;
    }
    std::vector<std::size_t> counts(static_cast<std::size_t>(m.size()), share);
    counts[0] = 0;
    detail::block_sizes const shifted(counts, 1);
    bool const is_first = m.rank() == 0;
    detail::block_sizes const none;
    bytes_out const into = is_first ? bytes_out() : result;
    co_await Exchange::all_to_all(m, all.memory().first(shifted.first(m.size())), shifted, into,
                                  is_first ? none : sizes, false);
  }

  /// Each rank gets op over all ranks' elements in its block.
  template <class M>
    requires detail::exchanges_all<Exchange, M>
  static detail::steps reduce_scatter(M& m, bytes_in mine, detail::block_sizes const& sizes, bytes_out result,
                                      detail::folding fold) {
    operands all(m, result.size(), fold);
    co_await Exchange::all_to_all(m, mine, sizes, all.memory(), all.sizes(), false);
    all.fold_in_order(fold);
    detail::copy_bytes(result.data(), all.of(0).data(), result.size());
  }

 private:
  /// All ranks' operands of this rank's share of the elements, in rank order.
  class operands {
   public:
    template <class M>
    operands(M const& m, std::size_t share, detail::folding const& fold)
        : ranks_(m.size()),
          sizes_(share),
          alignment_(std::align_val_t(fold.alignment())),
          memory_(static_cast<std::byte*>(::operator new(bytes(), alignment_))) {}
    operands(operands const&) = delete;
    operands& operator=(operands const&) = delete;
    ~operands() { ::operator delete(memory_, alignment_); }

    [[nodiscard]] detail::block_sizes const& sizes() const noexcept { return sizes_; }
    [[nodiscard]] bytes_out memory() const noexcept { return {memory_, bytes()}; }
    [[nodiscard]] bytes_out of(rank_t r) const noexcept { return sizes_.of(memory(), r); }
    /// Replaces the operands of rank 0 by op over all.
    void fold_in_order(detail::folding const& fold) const {
      for (rank_t r = 1; r < ranks_; ++r) fold(of(0).data(), of(0).data(), of(r).data(), of(0).size());
    }

   private:
    [[nodiscard]] std::size_t bytes() const noexcept { return sizes_.first(ranks_); }

    rank_t ranks_;
    detail::block_sizes sizes_;
    std::align_val_t alignment_;
    std::byte* memory_;
  };
};

}  // namespace PGAS_NAMESPACE::collectives
