// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/fence.hpp>
#include <pgas/global_array.hpp>
#include <pgas/stage.hpp>

namespace pgas::inline PGAS_ASSERTIONS {

namespace detail {

/// Gets the cells of box `source` of `from` that this rank's part of `to` needs, where the box lies at `at` there.
template <class Epoch, class From, class To>
void get_own_cells(Epoch& epoch, From const& from, box<From::dimensions> const& source, To const& to,
                   std::array<std::size_t, From::dimensions> const& at) {
  constexpr std::size_t N = From::dimensions;
  auto const moved = [](std::array<std::size_t, N> index, auto const& origin, auto const& other) {
    for (std::size_t d = 0; d < N; ++d) index[d] = index[d] - origin[d] + other[d];
    return index;
  };
  for (std::size_t k = 0; k < to.layout().tiles(to.rank()); ++k) {
    auto const mine = to.layout().tile_of(to.rank(), k);
    auto const wanted = intersection(mine.cells, {at, source.count});
    if (wanted.size() == 0) continue;
    box<N> const there{moved(wanted.first, at, source.first), wanted.count};
    for_each_tile(from.layout(), there, [&](tile<N> const& theirs, box<N> const& piece) {
      auto const target = epoch.to(theirs.owner);
      for_each_block<N>(piece.count, {theirs.offset_of(piece.first), theirs.pitches},
                        {mine.offset_of(moved(piece.first, source.first, at)), mine.pitches},
                        [&](rows_of block, std::size_t first, std::size_t pitch) {
                          if constexpr (To::is_contiguous) {
                            target.get(block, to.window().local().data() + first, pitch);
                          } else {
                            for (std::size_t row = 0; row < block.rows; ++row) {
                              auto const own = stage<write>(to.window(), first + row * pitch, block.cols);
                              target.get(block.first + row * block.pitch, own.span());
                              target.flush_local();
                            }
                          }
                        });
    });
  }
}

}  // namespace detail

/// Copies a box of cells of one array to `at` in another, whatever their layouts, extents, halos and policies are.
///
/// Collective over the team, which both arrays are made on: each rank gets what its own part of `to` needs, in
/// two-dimensional blocks, and where its part is plain memory with no copy aside. When it returns this rank's own cells
/// of `to` are there, `from` may be changed, and an epoch on `to` that is opened next shows the cells to others.
/// Requires no open epoch on `from`, and none on `to` in which others access this rank's part. Throws
/// errc::out_of_range when the box does not fit, errc::invalid_argument when both arrays are one. Costs two fences and
/// a strided get for each pair of tiles that have cells in common. Global Arrays: ga_copy_patch.
template <any_global_array From, any_global_array To>
  requires(From::dimensions == To::dimensions && std::same_as<typename From::value_type, typename To::value_type>)
void copy(From const& from, typename From::box_type const& source, To const& to, typename To::index_type const& at) {
  constexpr std::string_view operation = "copy";
  auto const check = [&](auto const& array, typename From::box_type const& cells, char const* which) {
    PGAS_EXPECTS(
        light, cells.is_within(array.extents()),
        throw error(errc::out_of_range, array.state().job_rank(), operation,
                    detail::joined(cells.count, " x ") + " cells do not fit at (" + detail::joined(cells.first, ", ") +
                        ") in the array copied " + which + ", which has " + detail::joined(array.extents(), " x ")));
  };
  check(from, source, "from");
  check(to, {at, source.count}, "to");
  PGAS_EXPECTS(light, static_cast<void const*>(&from.state()) != static_cast<void const*>(&to.state()),
               detail::throw_error(errc::invalid_argument, from.state().job_rank(), operation,
                                   "both arrays are one; ranks would overwrite what others still read"));
  fence epoch{from, read_only};
  detail::get_own_cells(epoch, from, source, to, at);
  epoch.close();
}

/// Copies all cells of one array to another of the same extents and any other layout. Else like copy of a box, and
/// throws errc::invalid_argument when the extents differ.
template <any_global_array From, any_global_array To>
  requires(From::dimensions == To::dimensions && std::same_as<typename From::value_type, typename To::value_type>)
void copy(From const& from, To const& to) {
  PGAS_EXPECTS(light, from.extents() == to.extents(),
               throw error(errc::invalid_argument, from.state().job_rank(), "copy",
                           "an array of " + detail::joined(from.extents(), " x ") + " does not fit one of " +
                               detail::joined(to.extents(), " x ") + "; name the box to be copied"));
  copy(from, {{}, from.extents()}, to, {});
}

/// Makes an array with the cells of another one on another layout: `auto tiles = redistribute(team, a, dealt<64,
/// 64>{})`.
///
/// Collective over the team, which must be the array's. Throws what make_array throws. Costs make_array and copy.
template <backend Backend, coherence_policy Coherence, protocol_bundle Protocols, any_global_array Array,
          layout_rule<Array::dimensions> Rule>
[[nodiscard]] auto redistribute(team<Backend, Coherence, Protocols> const& team, Array const& from, Rule const& rule,
                                std::type_identity_t<halos<Array::dimensions>> const& around = {}) {
  auto to = make_array<typename Array::value_type>(team, from.extents(), rule, around);
  copy(from, to);
  return to;
}

}  // namespace pgas::inline PGAS_ASSERTIONS
