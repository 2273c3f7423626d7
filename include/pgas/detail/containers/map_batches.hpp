// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <pgas/concepts/part_is.hpp>
#include <pgas/detail/containers/map_table.hpp>

namespace PGAS_NAMESPACE::detail {

/// in_batches where parts may be far: the keys of one owner follow one another within a batch.
template <bool writes, class Table, class PlaceOf, class Use>
void in_groups(Table const& table, std::size_t total, PlaceOf const& place_of, Use const& use) {
  constexpr std::size_t most = 256;
  struct item {
    key_place at;
    std::size_t i;
  };
  std::array<item, most> batch;
  for (std::size_t first = 0; first < total; first += most) {
    std::size_t const size = std::min(most, total - first);
    for (std::size_t k = 0; k < size; ++k) {
      batch[k] = {place_of(first + k), first + k};
      table.template prefetch<writes>(batch[k].at);
    }
    auto const end = batch.begin() + static_cast<std::ptrdiff_t>(size);
    // stable: updates of one key stay in order
    std::stable_sort(batch.begin(), end,
                     [](item const& a, item const& b) { return a.at.owner < b.at.owner; });
    for (auto it = batch.begin(); it != end; ++it) use(it->i, it->at);
  }
}

/// Calls use(i, place) for each i. Near lines are prefetched before they are used. If parts may be far, the
/// keys of one owner follow one another within a batch.
template <bool writes, class Table, class PlaceOf, class Use>
void in_batches(Table const& table, std::size_t total, PlaceOf const& place_of, Use const& use) {
  constexpr bool groups = Table::state_type::parts != part_is::near;
  if constexpr (groups) {
    in_groups<writes>(table, total, place_of, use);
  } else {
    constexpr std::size_t ahead = 32;  // a power of two; as many lines as a core fetches at a time
    std::array<key_place, ahead> places;
    auto const ask = [&](std::size_t i) {
      places[i % ahead] = place_of(i);
      table.template prefetch<writes>(places[i % ahead]);
    };
    for (std::size_t i = 0; i < std::min(ahead, total); ++i) ask(i);
    for (std::size_t i = 0; i < total; ++i) {
      // By now the home bucket of this key has arrived, and tells whether the key is in the next one.
      if (i + ahead / 2 < total) table.template prefetch_next<writes>(places[(i + ahead / 2) % ahead]);
      key_place const at = places[i % ahead];
      if (i + ahead < total) ask(i + ahead);
      use(i, at);
    }
  }
}

}  // namespace PGAS_NAMESPACE::detail
