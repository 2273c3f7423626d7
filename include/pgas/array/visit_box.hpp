// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/array/any_global_array.hpp>
#include <pgas/array/blocks.hpp>
#include <pgas/array/box_view.hpp>
#include <pgas/array/shape.hpp>
#include <pgas/vocabulary/error.hpp>
#include <pgas/vocabulary/rows_of.hpp>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS {

namespace detail {

/// Calls use(piece) for pieces of a box that have no more than `most` cells, or one: halves of its longest dimension.
template <std::size_t N, class Use>
void for_each_piece(box<N> const& cells, std::size_t most, Use&& use) {
  std::vector<box<N>> rest{cells};
  while (!rest.empty()) {
    auto piece = rest.back();
    rest.pop_back();
    if (piece.size() <= std::max<std::size_t>(most, 1)) {
      use(std::as_const(piece));
      continue;
    }
    auto const longest =
        static_cast<std::size_t>(std::max_element(piece.count.begin(), piece.count.end()) - piece.count.begin());
    auto other = piece;
    piece.count[longest] /= 2;
    other.first[longest] += piece.count[longest];
    other.count[longest] -= piece.count[longest];
    rest.push_back(other);
    rest.push_back(piece);
  }
}

/// How many cells are got at once where a box of any size is wanted: a MiB of them.
template <class T>
inline constexpr std::size_t got_at_once = (std::size_t{1} << 20U) / sizeof(T);

}  // namespace detail

/// Calls use(piece, cells) for pieces of a box of cells, each of them one owner's, until all of it was read: `piece` is
/// a box in global indices, `cells` a view of constant elements, counted from its first.
///
/// One-sided, through an epoch that is open on this array and to those ranks. Where memory is direct the view is of
/// the owner's own memory: nothing is copied. Elsewhere it is of a copy that was got for it, of a MiB at most. A view
/// ends with the call. Do not write to the cells meanwhile, from whatever rank.
/// Throws errc::out_of_range with the box and the extents. Costs a get for each tile, or each MiB of it, where memory
/// is not direct.
/// Global Arrays: ga_access of remote patches, where shared memory allows it, else ga_get.
template <any_global_array Array, class Epoch, class Use>
void visit_box(Array const& a, Epoch& epoch, typename Array::box_type const& at, Use&& use) {
  using T = typename Array::value_type;
  constexpr std::size_t dimensions = Array::dimensions;
  PGAS_EXPECTS(light, at.is_within(a.extents()),
               throw error(errc::out_of_range, a.state().job_rank(), "visit_box",
                           detail::joined(at.count, " x ") + " cells do not fit at (" + detail::joined(at.first, ", ") +
                               ") in an array of " + detail::joined(a.extents(), " x ")));
  std::vector<T> got;
  for_each_tile(a.layout(), at, [&](tile<dimensions> const& in, box<dimensions> const& piece) {
    if constexpr (Array::state_type::is_direct) {
      static_cast<void>(epoch.to(in.owner));  // for what the epoch does before the first access to a rank
      use(piece, detail::view_of_memory<T const>(a.window().part(in.owner).data() + in.offset_of(piece.first),
                                                 piece.count, in.pitches));
    } else {
      detail::for_each_piece(piece, detail::got_at_once<T>, [&](box<dimensions> const& some) {
        got.resize(some.size());
        a.get(epoch, some, got);
        epoch.flush_local_all();
        use(some, detail::view_of_memory<T const>(got.data(), some.count, detail::dense_pitches(some.count)));
      });
    }
  });
}

}  // namespace pgas::inline PGAS_ASSERTIONS
