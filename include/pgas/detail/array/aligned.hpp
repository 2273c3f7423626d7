// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/array/any_global_array.hpp>
#include <pgas/array/shape.hpp>
#include <pgas/epoch/staged.hpp>

/// Aligned arrays: each cell has the same owner in all of them, at any position in the parts. Work cell by
/// cell on aligned arrays needs no communication.
namespace PGAS_NAMESPACE::detail {

template <any_global_array First, any_global_array Second>
[[noreturn, gnu::cold]] void throw_not_aligned(std::string_view operation, First const& a, Second const& b) {
  auto const text = [](auto const& array) {
    return joined(array.extents(), " x ") + ", " + array.layout().describe();
  };
  throw error(errc::invalid_argument, a.state().job_rank(), operation,
              "an array of " + text(a) + ", and one of " + text(b) +
                  ", are not aligned; copy one of them to the other's layout first");
}

/// Calls use(tile of a, tile of b, box) for all cells that this rank owns in `a`. Any rank may own them in
/// `b`.
template <any_global_array First, any_global_array Second, class Use>
void for_each_common_box(First const& a, Second const& b, Use&& use) {
  for (std::size_t k = 0; k < a.layout().tiles(a.rank()); ++k) {
    auto const mine = a.layout().tile_of(a.rank(), k);
    for_each_tile(b.layout(), mine.cells,
                  [&](auto const& theirs, auto const& piece) { use(mine, theirs, piece); });
  }
}

/// True if the layouts are equal, so that all ranks of a team know that its arrays are aligned.
template <any_global_array First, any_global_array Second>
bool has_layout_of(First const& a, Second const& b) {
  if constexpr (std::is_same_v<typename First::layout_type, typename Second::layout_type>) {
    return a.layout() == b.layout();
  } else {
    return false;
  }
}

/// True if this rank owns in `b` each cell that it owns in `a`. The arrays are aligned if this holds on all
/// ranks.
template <any_global_array First, any_global_array Second>
bool owns_the_same(First const& a, Second const& b) {
  // The arrays may be on different teams, in which this rank has different numbers.
  if (has_layout_of(a, b) && a.rank() == b.rank()) return true;
  bool all = a.extents() == b.extents();
  if (all) {
    for_each_common_box(
        a, b, [&](auto const&, auto const& theirs, auto const&) { all = all && theirs.owner == b.rank(); });
  }
  return all;
}

/// Calls use(row of a, row of b) for this rank's cells in the order of a's memory. Rows are plain memory; the
/// modes are those of stage.
template <any_global_array First, hints ModeA, any_global_array Second, hints ModeB, class Use>
void for_each_common_row(First const& a, hint<ModeA> mode_a, Second const& b, hint<ModeB> mode_b, Use&& use) {
  constexpr std::size_t last = First::dimensions - 1;
  for_each_common_box(a, b, [&](auto const& in_a, auto const& in_b, auto const& piece) {
    std::array<std::size_t, First::dimensions> row{};
    do {
      auto index = piece.first;
      for (std::size_t d = 0; d < last; ++d) index[d] += row[d];
      auto const cells_a = stage(a.window(), in_a.offset_of(index), piece.count[last], mode_a);
      auto const cells_b = stage(b.window(), in_b.offset_of(index), piece.count[last], mode_b);
      use(cells_a.span(), cells_b.span());
    } while (advance(row, piece.count, last));
  });
}

}  // namespace PGAS_NAMESPACE::detail
