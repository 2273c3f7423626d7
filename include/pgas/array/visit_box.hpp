// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/array/box_view.hpp>
#include <pgas/array/scattered.hpp>
#include <pgas/array/shape.hpp>
#include <pgas/concepts/epoch.hpp>
#include <pgas/concepts/part_is.hpp>
#include <pgas/detail/array/blocks.hpp>
#include <pgas/detail/array/unaliased.hpp>
#include <pgas/vocabulary/error.hpp>
#include <vector>

namespace PGAS_NAMESPACE {

namespace detail {

/// Calls use(piece) for pieces of a box, each of at most `most` cells, or of one. It halves the longest
/// dimension.
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
    auto const longest = static_cast<std::size_t>(std::max_element(piece.count.begin(), piece.count.end()) -
                                                  piece.count.begin());
    auto other = piece;
    piece.count[longest] /= 2;
    other.first[longest] += piece.count[longest];
    other.count[longest] -= piece.count[longest];
    rest.push_back(other);
    rest.push_back(piece);
  }
}

/// The number of cells in a MiB, which are got at once when a box may be of any size.
template <class T>
inline constexpr std::size_t got_at_once = (std::size_t{1} << 20U) / sizeof(T);

}  // namespace detail

/// Reads a box of cells: calls use(piece, cells) for pieces of it, each owned by one rank. `piece` is a box
/// in global indices. `cells` is a view of constant elements, counted from the piece's first.
///
/// One-sided, through an epoch that is open on the array and to those ranks. If memory is direct, the view is
/// of the owner's own memory, and nothing is copied. Otherwise it is of a copy of at most a MiB. A view is
/// valid during the call. No rank may write to the cells meanwhile, and the compiler knows that staged cells
/// are others.
/// Throws errc::out_of_range with the box and the extents. Costs a get for each tile, or each MiB of it, if
/// memory is not direct.
/// Global Arrays: ga_access of remote patches, where shared memory allows it, else ga_get.
template <array_epoch Epoch, class Use>
void visit_box(Epoch& epoch, box<Epoch::dimensions> const& at, Use&& use,
               detail::caller by = detail::here()) {
  using T = typename Epoch::value_type;
  constexpr std::size_t dimensions = Epoch::dimensions;
  auto& state = epoch.state();
  PGAS_EXPECTS(light, epoch.shape().contains(at),
               detail::throw_no_box(state.job_rank(), {"visit_box", by}, at, epoch.shape().extents()));
  std::vector<T> got;
  for_each_tile(epoch.shape().layout(), at, [&](tile<dimensions> const& in, box<dimensions> const& piece) {
    using state_type = std::remove_cvref_t<decltype(state)>;
    if constexpr (state_type::parts != part_is::far) {
      static_cast<void>(epoch.to(in.owner));  // an epoch may have to wait before its first access to a rank
      if (T const* const part = state.part_if_near(in.owner)) {
        T const* const first = detail::unaliased(part + in.offset_of(piece.first));
        use(piece, detail::view_of_memory<T const>(first, piece.count, in.pitches));
        return detail::give_up_unaliased(first);
      }
    }
    if constexpr (state_type::parts != part_is::near) {
      detail::for_each_piece(piece, detail::got_at_once<T>, [&](box<dimensions> const& some) {
        got.resize(some.size());
        epoch.get(some, got);
        epoch.flush_local(in.owner);
        use(some, detail::view_of_memory<T const>(got.data(), some.count, detail::dense_pitches(some.count)));
      });
    }
  });
}

}  // namespace PGAS_NAMESPACE
