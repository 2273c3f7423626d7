// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <pgas/algorithm/reduce.hpp>

namespace PGAS_NAMESPACE {

namespace detail {

/// The numbers of a rank's tiles among all tiles, in the order of cells. Tiles assigned in turn have the
/// numbers `first`, `first + step` and so on; otherwise `each` lists the numbers.
struct tile_numbers {
  std::size_t first = 0;
  std::size_t step = 1;
  std::vector<std::size_t> each;

  [[nodiscard]] std::size_t operator[](std::size_t k) const {
    return each.empty() ? first + k * step : each[k];
  }
};

/// Facts that are the same on all ranks: whether each rank has at most one tile, the number of ranks with
/// tiles, and the number of tiles.
struct tile_counts {
  bool one_each = true;
  std::size_t owners = 0;
  std::size_t all = 0;
};
template <class Layout>
tile_counts count_tiles(Layout const& l) {
  tile_counts counts;
  for (rank_t r = 0; r < l.ranks(); ++r) {
    std::size_t const own = l.tiles(r);
    counts.one_each = counts.one_each && own <= 1;
    counts.owners += own != 0 ? 1 : 0;
    counts.all += own;
  }
  return counts;
}

/// Collective: a rank cannot tell from its own tiles if all tiles are assigned in turn.
template <class Team, class Layout>
tile_numbers number_tiles(Team& team, Layout const& l, std::size_t owners) {
  rank_t const rank = team.rank();
  std::size_t const own = l.tiles(rank);
  std::size_t const length = l.tile_at({0}).cells.count[0];
  tile_numbers found;
  found.step = owners;
  if (own != 0) found.first = l.tile_of(rank, 0).cells.first[0] / length;
  std::uint8_t in_turn = 1;
  for (std::size_t k = 0; k < own; ++k) {
    auto const cells = l.tile_of(rank, k).cells;
    if (cells.first[0] != found[k] * length || cells.count[0] > length) in_turn = 0;
  }
  if (team.all_reduce(in_turn, op::min{}) != 0) return found;
  std::vector<std::size_t> firsts;  // of all tiles
  for_each_tile(l, {{}, l.extents()},
                [&](auto const&, box<1> const& piece) { firsts.push_back(piece.first[0]); });
  for (std::size_t k = 0; k < own; ++k) {
    auto const at = std::lower_bound(firsts.begin(), firsts.end(), l.tile_of(rank, k).cells.first[0]);
    found.each.push_back(static_cast<std::size_t>(at - firsts.begin()));
  }
  return found;
}

/// Calls use(owner, elements in its part, first of own tiles) for the elements of a block-distributed array
/// that have this rank's tile numbers plus `shift`. Elements at equal distances on one owner need one call.
template <class Use>
void for_each_numbered(tile_numbers const& numbers, std::size_t shift, std::size_t own, block const& dealt,
                       Use&& use) {
  for (std::size_t k = 0; k < own;) {
    std::size_t const number = numbers[k] + shift;
    rank_t const owner = dealt.owner(number);
    std::size_t const rest = dealt.first(owner) + dealt.local_size(owner) - number;
    std::size_t const here = numbers.each.empty() ? std::min(own - k, (rest - 1) / numbers.step + 1) : 1;
    use(owner, strided(dealt.local_index(number), here, numbers.step), k);
    k += here;
  }
}

/// The result of op over all cells before each own tile, from the result of each own tile. For layouts with
/// at most one tile per rank; sends one value per rank.
template <class Team, class Layout, class T, class Op>
std::vector<std::optional<T>> scan_ranks(Team& team, Layout const& l, std::vector<T> const& own, Op& op) {
  struct offer {
    T value{};
    std::uint64_t first = UINT64_MAX;
  };
  offer mine;
  if (!own.empty()) mine = {own[0], l.tile_of(team.rank(), 0).cells.first[0]};
  auto offers = team.all_gather(mine);
  // The offers are sorted by their cells, which may lie in another order than the ranks.
  std::stable_sort(offers.begin(), offers.end(),
                   [](offer const& x, offer const& y) { return x.first < y.first; });
  std::optional<T> before;
  for (offer const& one : offers) {
    if (one.first >= mine.first) break;
    combine(before, one.value, op);
  }
  return std::vector<std::optional<T>>(own.size(), before);
}

/// The same for any number of tiles. The values of all tiles, in the order of tiles, form an array in blocks
/// and are scanned there. A tile's value is stored at its number plus one, so the element with its own number
/// holds the scan of the tiles before it.
template <class Team, class Layout, class T, class Op>
std::vector<std::optional<T>> scan_tiles(Team& team, Layout const& l, tile_counts const& counts,
                                         std::vector<T> const& own, Op& op) {
  auto const numbers = number_tiles(team, l, counts.owners);
  auto const values = make_array<T>(team, counts.all + 1);
  auto const& dealt = values.layout().template along<0>();
  {
    fence epoch{values, write_only};
    for_each_numbered(numbers, 1, own.size(), dealt, [&](rank_t owner, rows_of at, std::size_t k) {
      epoch.to(owner).put(at, std::span<T const>(own).subspan(k, at.rows));
    });
    epoch.close();
  }
  std::optional<T> all;
  for_each_own_row(values, read_write, [&](auto const& index, auto row) {
    for (T& value : row.subspan(index[0] == 0 ? 1 : 0)) {
      combine(all, value, op);
      value = *all;
    }
  });
  struct offer {
    T value{};
    std::uint8_t is_there = 0;
  };
  std::vector<std::optional<T>> before_block;
  std::optional<T> so_far;
  for (offer const& one : team.all_gather(offer{all.value_or(T{}), all.has_value()})) {
    before_block.push_back(so_far);
    if (one.is_there != 0) combine(so_far, one.value, op);
  }
  std::vector<T> scanned(own.size());
  fence epoch{values, read_only};
  for_each_numbered(numbers, 0, own.size(), dealt, [&](rank_t owner, rows_of at, std::size_t k) {
    epoch.to(owner).get(at, std::span(scanned).subspan(k, at.rows));
  });
  epoch.close();
  std::vector<std::optional<T>> before(own.size());
  for (std::size_t k = 0; k < own.size(); ++k) {
    if (numbers[k] == 0) continue;  // no cell comes before the first tile
    before[k] = before_block[static_cast<std::size_t>(dealt.owner(numbers[k]))];
    combine(before[k], scanned[k], op);
  }
  return before;
}

/// The exclusive scan if there is an init, otherwise the inclusive scan.
template <class Team, class From, class To, class Op>
void scan(Team& team, From const& from, To const& to, std::optional<typename From::value_type> const& init,
          Op& op, std::string_view operation) {
  using T = typename From::value_type;
  check_team(team, from, operation);
  check_team(team, to, operation);
  auto const& l = from.layout();
  std::size_t const tiles = l.tiles(from.rank());
  bool aligned = from.extents() == to.extents() && tiles == to.layout().tiles(to.rank());
  for (std::size_t k = 0; aligned && k < tiles; ++k) {
    aligned = l.tile_of(from.rank(), k).cells == to.layout().tile_of(to.rank(), k).cells;
  }
  std::uint8_t const fits = aligned ? 1 : 0;
  if (team.all_reduce(fits, op::min{}) == 0) {
    // All ranks throw, also those whose own cells are aligned: they would wait for the others.
    throw error(
        errc::invalid_argument, from.state().job_rank(), operation,
        "an array of " + joined(from.extents(), " x ") + ", " + l.describe() + ", and one of " +
            joined(to.extents(), " x ") + ", " + to.layout().describe() +
            ", do not have the same cells on each rank; copy one of them to the other's layout first");
  }
  std::vector<T> own;
  own.reserve(tiles);
  for (std::size_t k = 0; k < tiles; ++k) {
    auto const mine = l.tile_of(from.rank(), k);
    auto const cells = stage(from.window(), mine.offset, mine.cells.count[0], read_only);
    T all = cells[0];
    for (std::size_t i = 1; i < cells.size(); ++i) all = op(all, cells[i]);
    own.push_back(all);
  }
  auto const counts = count_tiles(l);
  auto const before = counts.one_each ? scan_ranks(team, l, own, op) : scan_tiles(team, l, counts, own, op);
  for (std::size_t k = 0; k < tiles; ++k) {
    auto const mine = l.tile_of(from.rank(), k);
    auto const in = stage(from.window(), mine.offset, mine.cells.count[0], read_only);
    auto const out =
        stage(to.window(), to.layout().tile_of(to.rank(), k).offset, mine.cells.count[0], write_only);
    std::optional<T> so_far = before[k];
    std::size_t i = 0;
    if (init) {
      so_far = so_far ? op(*init, *so_far) : *init;
    } else if (!so_far) {
      so_far = out[i] = in[i];
      ++i;
    }
    T running = *so_far;
    for (; i < in.size(); ++i) {
      T const value = in[i];  // read first: both arrays may be one
      T const next = op(running, value);
      out[i] = init ? running : next;
      running = next;
    }
  }
}

}  // namespace detail

/// Stores in each cell of `to` the result of op over all cells of `from` up to and including the cell with
/// the same index: `inclusive_scan(team, a, a)` makes prefix sums in place.
///
/// Collective over the team, which must be that of both arrays; ranks may own nothing, and both arrays may be
/// one. Any layout will do if each rank owns the same cells in both arrays; positions within the parts may
/// differ. op must be associative but need not commute. The same layout and number of ranks give the same
/// bits each time.
/// Own cells are in place when the call returns. The next epoch on `to` shows them to other ranks.
/// Throws errc::invalid_argument on every rank, before anything is stored, if extents or owners differ or the
/// team is another.
/// Costs two passes over own cells. Layouts with at most one tile per rank send one value per rank. Other
/// layouts, such as cyclic ones, need an array of one value per tile, and two strided transfers between each
/// pair of ranks.
/// MPI: a local scan, MPI_Exscan and a second pass; the standard: std::inclusive_scan.
/// Blelloch 1990, "Prefix sums and their applications": reduce, scan of the reductions, scan.
template <backend Backend, coherence_policy Coherence, protocol_bundle Protocols, any_global_array From,
          any_global_array To, class Op = op::sum>
  requires(From::dimensions == 1 && To::dimensions == 1 &&
           std::same_as<typename From::value_type, typename To::value_type> &&
           operation_on<Op, typename From::value_type>)
void inclusive_scan(team<Backend, Coherence, Protocols> team, From const& from, To const& to, Op op = {}) {
  detail::scan(team, from, to, std::nullopt, op, "inclusive_scan");
}

/// Stores in each cell of `to` the result of op over init and all cells of `from` before the cell with the
/// same index. Otherwise like inclusive_scan. The standard: std::exclusive_scan.
template <backend Backend, coherence_policy Coherence, protocol_bundle Protocols, any_global_array From,
          any_global_array To, class Op = op::sum>
  requires(From::dimensions == 1 && To::dimensions == 1 &&
           std::same_as<typename From::value_type, typename To::value_type> &&
           operation_on<Op, typename From::value_type>)
void exclusive_scan(team<Backend, Coherence, Protocols> team, From const& from, To const& to,
                    std::type_identity_t<typename From::value_type> init, Op op = {}) {
  detail::scan(team, from, to, std::optional(init), op, "exclusive_scan");
}

}  // namespace PGAS_NAMESPACE
