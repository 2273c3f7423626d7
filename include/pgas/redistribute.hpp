// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/detail/copy/bulk_copy.hpp>
#include <pgas/detail/team/same_ranks.hpp>
#include <pgas/detail/types/anything.hpp>
#include <pgas/fence.hpp>
#include <pgas/global_array.hpp>
#include <pgas/lock_all.hpp>
#include <pgas/stage.hpp>

namespace PGAS_NAMESPACE {

namespace detail {

/// Calls move(other rank, block in its part of `other`, first element in this rank's part of `own`, pitch of
/// `own`) for all own cells in box `at`. In `other`, the box begins at `there`. The pitch is the distance of
/// two rows in elements.
template <class Own, class Other, class Move>
void for_each_own_block(Own const& own, box<Own::dimensions> const& at, Other const& other,
                        std::array<std::size_t, Own::dimensions> const& there, Move&& move) {
  for (std::size_t k = 0; k < own.layout().tiles(own.rank()); ++k) {
    auto const mine = own.layout().tile_of(own.rank(), k);
    auto const wanted = intersection(mine.cells, at);
    if (wanted.size() == 0) continue;
    box<Own::dimensions> cells = wanted;
    for (std::size_t d = 0; d < Own::dimensions; ++d)
      cells.first[d] = cells.first[d] - at.first[d] + there[d];
    for_each_block(other.layout(), cells, {mine.offset_of(wanted.first), mine.pitches}, move);
  }
}

/// The number of tiles of all ranks together.
template <class Layout>
std::size_t all_tiles(Layout const& l) {
  std::size_t sum = 0;
  for (rank_t r = 0; r < l.ranks(); ++r) sum += l.tiles(r);
  return sum;
}

/// True if copies of a rank's share of these cells should bypass the caches.
template <class From>
bool is_past_caches(From const& from, box<From::dimensions> const& cells) {
  std::size_t const share =
      cells.size() * sizeof(typename From::value_type) / static_cast<std::size_t>(from.ranks());
  return share > longest_cached_copy();
}

/// Copies rows of elements from one plain memory to another.
template <class T>
void copy_block(T* to, std::size_t to_pitch, T const* from, std::size_t from_pitch, rows_of const& block,
                bool streams) noexcept {
  copy_rows(reinterpret_cast<std::byte*>(to), to_pitch * sizeof(T), reinterpret_cast<std::byte const*>(from),
            from_pitch * sizeof(T), block.rows, block.cols * sizeof(T), streams);
}

/// Gets the cells of this rank's part of `to` from the parts of `from`, in an open epoch on it.
template <class Epoch, class From, class To>
void copy_by_get(Epoch epoch, From const& from, box<From::dimensions> const& source, To const& to,
                 box<From::dimensions> const& target) {
  bool const streams = is_past_caches(from, source);
  for_each_own_block(
      to, target, from, source.first, [&](rank_t owner, rows_of block, std::size_t first, std::size_t pitch) {
        [[maybe_unused]] auto const theirs = epoch.to(owner);
        if constexpr (To::is_contiguous && From::state_type::is_direct) {
          copy_block(to.window().local().data() + first, pitch,
                     from.window().part(owner).data() + block.first, block.pitch, block, streams);
        } else if constexpr (To::is_contiguous) {
          theirs.get(block, to.window().local().data() + first, pitch);
        } else {
          for (std::size_t row = 0; row < block.rows; ++row) {
            auto const own = stage(to.window(), first + row * pitch, block.cols, write_only);
            theirs.get(block.first + row * block.pitch, own.span());
            theirs.flush_local();
          }
        }
      });
  if (streams) end_streaming();
  epoch.close();
}

/// Puts the cells of this rank's part of `from` into the parts of `to`, in an open epoch on it.
template <class Epoch, class From, class To>
void copy_by_put(Epoch epoch, From const& from, box<From::dimensions> const& source, To const& to,
                 box<From::dimensions> const& target) {
  bool const streams = is_past_caches(from, source);
  for_each_own_block(from, source, to, target.first,
                     [&](rank_t owner, rows_of block, std::size_t first, std::size_t pitch) {
                       [[maybe_unused]] auto const theirs = epoch.to(owner);
                       if constexpr (From::is_contiguous && To::state_type::is_direct) {
                         copy_block(to.window().part(owner).data() + block.first, block.pitch,
                                    from.window().local().data() + first, pitch, block, streams);
                       } else if constexpr (From::is_contiguous) {
                         theirs.put(block, from.window().local().data() + first, pitch);
                       } else {
                         for (std::size_t row = 0; row < block.rows; ++row) {
                           auto const own = stage(from.window(), first + row * pitch, block.cols, read_only);
                           theirs.put(block.first + row * block.pitch, own.span());
                           theirs.flush_local();
                         }
                       }
                     });
  if (streams) end_streaming();
  epoch.close();
}

/// Copies if some ranks of the larger team do not call: without a fence of that team, in epochs that need no
/// other rank.
template <class From, class To>
void copy_between_teams(From const& from, box<From::dimensions> const& source, To const& to,
                        box<From::dimensions> const& target, bool calls_all_of_from) {
  // Own stores go to memory, and old copies of what others put are dropped.
  auto const settle = [](auto const& larger) { lock_all{larger}.close(); };
  auto const meet = [](auto const& smaller) { smaller.state().team->collectives.barrier(); };
  if (calls_all_of_from) {
    settle(to);
    meet(from);
    copy_by_put(lock_all{to, write_only}, from, source, to, target);
    meet(from);
    settle(to);
  } else {
    settle(from);
    meet(to);
    copy_by_get(lock_all{from, read_only}, from, source, to, target);
    meet(to);
  }
}

}  // namespace detail

/// Copies a box of cells of one array to `at` in another. Layouts, extents, halos and policies may differ.
///
/// Collective over the team, on which both arrays are made. They may be on different teams: if these have the
/// same ranks, all call; if one team has all ranks of the other and more, only those of the smaller team
/// call, and the program orders the call against the other ranks' accesses, by an epoch and a barrier of the
/// larger team on each side. The owners in the array with the larger tiles do the work. If it is `to`, they
/// get the cells that their parts need. If it is `from`, they put the cells that they have. Transfers are
/// two-dimensional blocks; plain memory needs no buffer. When the call returns, this rank's own cells of `to`
/// are complete, and `from` may be changed. The next epoch that is opened on `to` shows the cells to other
/// ranks.
/// Requires that no epoch is open on either array.
/// Throws errc::out_of_range when the box does not fit, errc::invalid_argument when both arrays are one, or
/// when each is on a rank that the other's team lacks.
/// Costs two fences, or with a smaller team three barriers and as many epochs of lock_all, and a strided put
/// or get for each of the larger tiles and each rank that has cells of it. Global Arrays: ga_copy_patch.
template <any_global_array From, any_global_array To>
  requires(From::dimensions == To::dimensions &&
           std::same_as<typename From::value_type, typename To::value_type>)
void copy(From const& from, typename From::box_type const& source, To const& to,
          typename To::index_type const& at) {
  constexpr std::string_view operation = "copy";
  auto const check = [&](auto const& array, typename From::box_type const& cells, char const* which) {
    PGAS_EXPECTS(light, cells.is_within(array.extents()),
                 throw error(errc::out_of_range, array.state().job_rank(), operation,
                             detail::joined(cells.count, " x ") + " cells do not fit at (" +
                                 detail::joined(cells.first, ", ") + ") in the array copied " + which +
                                 ", which has " + detail::joined(array.extents(), " x ")));
  };
  check(from, source, "from");
  check(to, {at, source.count}, "to");
  PGAS_EXPECTS(light, static_cast<void const*>(&from.state()) != static_cast<void const*>(&to.state()),
               detail::throw_error(errc::invalid_argument, from.state().job_rank(), operation,
                                   "both arrays are one, and ranks would overwrite cells that others still "
                                   "read; make a second array"));
  typename To::box_type const target{at, source.count};
  auto const common = detail::ranks_in_common(from.state(), to.state());
  if (common == detail::common_ranks::others) detail::throw_other_ranks(from.state(), to.state(), operation);
  if (common != detail::common_ranks::all) {
    detail::copy_between_teams(from, source, to, target, common == detail::common_ranks::all_of_first);
  } else if (detail::all_tiles(from.layout()) < detail::all_tiles(to.layout())) {
    detail::copy_by_put(fence{to, write_only}, from, source, to, target);
  } else {
    detail::copy_by_get(fence{from, read_only}, from, source, to, target);
  }
}

/// Copies all cells of one array to another of the same extents and any layout. Otherwise like copy of a box.
/// Throws errc::invalid_argument when the extents differ. Global Arrays: ga_copy.
template <any_global_array From, any_global_array To>
  requires(From::dimensions == To::dimensions &&
           std::same_as<typename From::value_type, typename To::value_type>)
void copy(From const& from, To const& to) {
  PGAS_EXPECTS(light, from.extents() == to.extents(),
               throw error(errc::invalid_argument, from.state().job_rank(), "copy",
                           "an array of " + detail::joined(from.extents(), " x ") + " does not fit one of " +
                               detail::joined(to.extents(), " x ") + "; name the box to be copied"));
  copy(from, {{}, from.extents()}, to, {});
}

/// Makes an array with the cells of another one in another layout:
/// `auto tiles = redistribute(team, a, cyclic_tiles<64, 64>{})`.
///
/// Collective over the team, which must have the array's ranks. Throws errc::invalid_argument if it has
/// others, and what make_array throws. Costs make_array and
/// copy.
template <backend Backend, coherence_policy Coherence, protocol_bundle Protocols, any_global_array Array,
          layout_rule<Array::dimensions> Rule>
[[nodiscard]] auto redistribute(team<Backend, Coherence, Protocols> const& team, Array const& from,
                                Rule const& rule,
                                std::type_identity_t<halos<Array::dimensions>> const& around = {}) {
  detail::check_same_ranks(from.state(), detail::ranks_of_team(team), "redistribute");
  auto to = make_array<typename Array::value_type>(team, from.extents(), rule, around);
  copy(from, to);
  return to;
}

/// Does not compile: says how cells are copied.
template <class None = void>
auto copy(detail::anything = {}, detail::anything = {}, detail::anything = {}, detail::anything = {}) {
  static_assert(detail::always_false<None>,
                "copy: write `pgas::copy(from, to)`, or `pgas::copy(from, box, to, first)`, with two arrays "
                "of one type of cells and as many dimensions");
}

}  // namespace PGAS_NAMESPACE
