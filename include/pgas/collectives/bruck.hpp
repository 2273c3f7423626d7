// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/collective.hpp>
#include <pgas/detail/copy/copy_bytes.hpp>
#include <pgas/detail/exchange/binomial.hpp>
#include <pgas/vocabulary/block_sizes.hpp>
#include <string_view>
#include <vector>

namespace PGAS_NAMESPACE::collectives {

/// Bruck's algorithms for blocks of equal size: few messages, which carry blocks of several ranks.
///
/// Rounds    ceil(log2 n).
/// Bytes     all_gather sends each block once; all_to_all sends half of all blocks in each round.
/// Memory    that of the links; two copies of all blocks.
/// Source    Bruck, Ho, Kipnis, Upfal and Weathersby 1997.
struct bruck {
  static constexpr std::string_view name = "bruck";
  static constexpr auto stands_on = collective_medium::links;
  static constexpr bool needs_equal_blocks = true;

  template <linking_medium M>
  static detail::steps all_gather(M& m, bytes_in mine, bytes_out all, detail::block_sizes const& sizes) {
    std::size_t const block = mine.size();
    auto const ranks = static_cast<std::size_t>(m.size());
    // Block i belongs to rank + i.
    std::vector<std::byte> turned(all.size());
    detail::copy_bytes(turned.data(), mine.data(), block);
    std::size_t have = 1;
    for (unsigned k = 0; k < detail::doublings(m.size()); ++k) {
      std::size_t const count = std::min(have, ranks - have);
      link const down{k, true};
      co_await m.exchange(down, bytes_in(turned.data(), count * block), down,
                          bytes_out(turned.data() + have * block, count * block));
      have += count;
    }
    for (rank_t i = 0; i < m.size(); ++i) {
      auto const to = sizes.of(all, (m.rank() + i) % m.size());
      detail::copy_bytes(to.data(), turned.data() + static_cast<std::size_t>(i) * block, block);
    }
  }

  template <linking_medium M>
  static detail::steps all_to_all(M& m, bytes_in from, detail::block_sizes const& out, bytes_out into,
                                  detail::block_sizes const& in, bool /*are_equal*/) {
    std::size_t const block = out.size(0);
    auto const ranks = static_cast<std::size_t>(m.size());
    // Place i holds a block that still has to go i ranks up.
    std::vector<std::byte> turned(from.size());
    for (rank_t i = 0; i < m.size(); ++i) {
      auto const own = out.of(from, (m.rank() + i) % m.size());
      detail::copy_bytes(turned.data() + static_cast<std::size_t>(i) * block, own.data(), block);
    }
    // In each round at most every second place is sent.
    std::vector<std::byte> packed(ranks / 2 * block);
    std::vector<std::byte> came(packed.size());
    for (unsigned k = 0; k < detail::doublings(m.size()); ++k) {
      std::size_t bytes = 0;
      for (std::size_t i = 0; i < ranks; ++i) {
        if ((i >> k & 1U) == 0) continue;
        detail::copy_bytes(packed.data() + bytes, turned.data() + i * block, block);
        bytes += block;
      }
      link const up{k, false};
      co_await m.exchange(up, bytes_in(packed.data(), bytes), up, bytes_out(came.data(), bytes));
      std::size_t next = 0;
      for (std::size_t i = 0; i < ranks; ++i) {
        if ((i >> k & 1U) == 0) continue;
        detail::copy_bytes(turned.data() + i * block, came.data() + next, block);
        next += block;
      }
    }
    // Place i now holds the block of rank - i.
    for (rank_t i = 0; i < m.size(); ++i) {
      auto const to = in.of(into, (m.rank() - i + m.size()) % m.size());
      detail::copy_bytes(to.data(), turned.data() + static_cast<std::size_t>(i) * block, block);
    }
  }
};

}  // namespace PGAS_NAMESPACE::collectives
