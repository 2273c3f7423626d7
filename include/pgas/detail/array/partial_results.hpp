// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <pgas/array/any_global_array.hpp>
#include <pgas/array/local_array.hpp>
#include <pgas/concepts/layout.hpp>
#include <pgas/detail/array/folded_dimensions.hpp>
#include <pgas/epoch/staged.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <span>
#include <tuple>
#include <vector>

/// How an array is folded over some of its dimensions. Each rank folds its own cells to partial results, in
/// one pass over its memory. A second layout says which rank folds the partial results of a cell.
///
/// Order     If operands may change places, a rank has one partial result of each cell, and those of several
///           ranks are folded in rank order. Otherwise it has one for each run: cells whose folded indices
///           have consecutive numbers. Runs are folded in the order of these numbers.
/// Bits      follow from the layout, the extents and the number of ranks alone.
/// Messages  Sender and receiver find the same pieces in the same order, each from the layouts alone: pieces
///           are cut by the tiles of both layouts, and sorted by their first cells.
namespace PGAS_NAMESPACE::detail {

/// Values for other ranks side by side in rank order, their number for each rank, and values that stay here.
template <class T>
struct values_by_rank {
  local_array<T, 1> values;
  std::vector<std::size_t> counts;
  local_array<T, 1> own;
};

/// Calls use(offset at `from`, offset at `into`, cells) for each row of a box that lies in two boxes.
template <std::size_t M, class Use>
void for_each_row_of(box<M> const& cells, box<M> const& from, box<M> const& into, Use&& use) {
  auto const from_pitches = dense_pitches(from.count);
  auto const into_pitches = dense_pitches(into.count);
  std::array<std::size_t, M> row{};
  do {
    std::size_t from_at = 0;
    std::size_t into_at = 0;
    for (std::size_t d = 0; d < M; ++d) {
      from_at += (cells.first[d] - from.first[d] + row[d]) * from_pitches[d];
      into_at += (cells.first[d] - into.first[d] + row[d]) * into_pitches[d];
    }
    use(from_at, into_at, cells.count[M - 1]);
  } while (advance(row, cells.count, M - 1));
}

/// The partial results of this rank's own cells. `InOrder`: operands may not change places.
template <any_global_array Array, std::size_t K, bool InOrder>
class partial_results {
  static constexpr std::size_t N = Array::dimensions;
  static constexpr std::size_t kept = N - K;
  using T = typename Array::value_type;

 public:
  /// Folds the own cells.
  template <class Op>
  partial_results(Array const& a, folded_dimensions<N, K> const& dimensions, Op& op) : self_(a.rank()) {
    auto const runs = own_runs(a, dimensions);
    std::size_t values = 0;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      auto const results = dimensions.kept_of(runs[i].cells);
      bool const is_other = i == 0 || groups_.back().cells.first != results.first;
      if (is_other) groups_.push_back({results, values, 0});
      if (is_other || (InOrder && runs[i].begin != runs[i - 1].end)) {
        ++groups_.back().partials;
        values += results.size();
      }
    }
    values_ = local_array<T, 1>::for_overwrite({values});
    T* out = values_.data();
    for (std::size_t i = 0; i < runs.size(); ++i) {
      run const& r = runs[i];
      auto const results = dimensions.kept_of(r.cells);
      bool const is_other = i == 0 || dimensions.kept_of(runs[i - 1].cells).first != results.first;
      bool const begins = is_other || (InOrder && r.begin != runs[i - 1].end);
      if (begins && i != 0) out += dimensions.kept_of(runs[i - 1].cells).size();
      fold_cells(a, dimensions, a.layout().tile_of(a.rank(), r.tile), r.cells, out, begins, op);
    }
  }

  /// The values for each rank: `first` ones, and those of the cells that it owns in `target`, piece by piece.
  /// Those that stay here have no first ones.
  template <layout<kept> Layout>
  [[nodiscard]] values_by_rank<T> values_for(Layout const& target, std::span<T const> first) const {
    struct piece {
      rank_t to;
      box<kept> cells;
      std::size_t group;
    };
    std::vector<piece> pieces;
    auto const ranks = static_cast<std::size_t>(target.ranks());
    values_by_rank<T> all{{}, std::vector<std::size_t>(ranks, first.size()), {}};
    std::size_t values = first.size() * ranks;
    std::size_t own = 0;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      for_each_tile(target, groups_[g].cells, [&](tile<kept> const& in, box<kept> const& cells) {
        pieces.push_back({in.owner, cells, g});
        std::size_t const count = cells.size() * groups_[g].partials;
        if (in.owner == self_) {
          own += count;
        } else {
          all.counts[static_cast<std::size_t>(in.owner)] += count;
          values += count;
        }
      });
    }
    std::sort(pieces.begin(), pieces.end(), [](piece const& a, piece const& b) {
      return std::tie(a.to, a.cells.first) < std::tie(b.to, b.cells.first);
    });
    all.values = local_array<T, 1>::for_overwrite({values});
    all.own = local_array<T, 1>::for_overwrite({own});
    T* next = all.values.data();
    T* next_own = all.own.data();
    rank_t begun = 0;
    auto const begin_to = [&](rank_t end) {
      for (; begun < end; ++begun) next = std::copy(first.begin(), first.end(), next);
    };
    for (piece const& p : pieces) {
      begin_to(p.to + 1);
      group const& from = groups_[p.group];
      T*& out = p.to == self_ ? next_own : next;
      for (std::size_t k = 0; k < from.partials; ++k, out += p.cells.size()) {
        T const* const in = values_.data() + from.first + k * from.cells.size();
        for_each_row_of(p.cells, from.cells, p.cells, [&](std::size_t at, std::size_t to, std::size_t count) {
          std::copy_n(in + at, count, out + to);
        });
      }
    }
    begin_to(target.ranks());
    return all;
  }

 private:
  /// Own cells whose folded indices have numbers from `begin` to `end`.
  struct run {
    box<N> cells;
    std::size_t begin;
    std::size_t end;
    std::size_t tile;
  };
  /// The partial results of a box of cells: `partials` for each, box after box.
  struct group {
    box<kept> cells;
    std::size_t first;
    std::size_t partials;
  };

  static std::vector<run> own_runs(Array const& a, folded_dimensions<N, K> const& dimensions) {
    std::vector<run> runs;
    for (std::size_t k = 0; k < a.layout().tiles(a.rank()); ++k) {
      auto const cells = a.layout().tile_of(a.rank(), k).cells;
      if constexpr (InOrder) {
        dimensions.for_each_run(cells, a.extents(),
                                [&](box<N> const& some, std::size_t begin, std::size_t end) {
                                  runs.push_back({some, begin, end, k});
                                });
      } else {
        auto const number =
            element_at(dimensions.folded_of(cells.first), dense_pitches(dimensions.folded_of(a.extents())));
        runs.push_back({cells, number, number, k});
      }
    }
    std::stable_sort(runs.begin(), runs.end(), [&](run const& x, run const& y) {
      return std::pair(dimensions.kept_of(x.cells.first), x.begin) <
             std::pair(dimensions.kept_of(y.cells.first), y.begin);
    });
    return runs;
  }

  /// Folds cells of a tile into the results at `out`, or begins these with the first cells.
  template <class Op>
  static void fold_cells(Array const& a, folded_dimensions<N, K> const& dimensions, tile<N> const& in,
                         box<N> const& cells, T* out, bool begins, Op& op) {
    constexpr std::size_t columns = N - 1;
    constexpr std::size_t rows = N - 2;
    auto const pitches = dimensions.pitches_of(dimensions.kept_of(cells.count));
    bool const folds_rows = dimensions.is_folded(rows);
    bool const folds_columns = dimensions.is_folded(columns);
    std::array<std::size_t, N> at{};
    do {
      auto index = cells.first;
      bool is_first = begins;
      for (std::size_t d = 0; d < rows; ++d) {
        index[d] += at[d];
        is_first = is_first && (at[d] == 0 || !dimensions.is_folded(d));
      }
      std::size_t from = in.offset_of(index);
      T* into = out + element_at(at, pitches);
      for (std::size_t r = 0; r < cells.count[rows]; ++r, from += in.pitches[rows], into += pitches[rows]) {
        with_row(a, from, cells.count[columns], [&](std::span<T const> row) {
          bool const row_begins = is_first && (r == 0 || !folds_rows);
          if (folds_columns) {
            T const all = folded(row, op);
            *into = row_begins ? all : static_cast<T>(op(*into, all));
          } else if (row_begins) {
            std::copy(row.begin(), row.end(), into);
          } else {
            for (std::size_t i = 0; i < row.size(); ++i) into[i] = static_cast<T>(op(into[i], row[i]));
          }
        });
      }
    } while (advance(at, cells.count, rows));
  }
  template <class Use>
  static void with_row(Array const& a, std::size_t first, std::size_t count, Use&& use) {
    if constexpr (Array::is_contiguous) {
      use(std::span<T const>(a.window().local().data() + first, count));
    } else {
      auto const staged = stage(a.window(), first, count, read_only);
      use(std::span<T const>(staged.span()));
    }
  }
  /// Folds a row. Operands that may change places are folded in lanes, which need not wait for each other.
  template <class Op>
  static T folded(std::span<T const> row, Op& op) {
    constexpr std::size_t lanes = InOrder || sizeof(T) > 16 ? 1 : 8;
    if (row.size() < 2 * lanes) {
      T all = row[0];
      for (std::size_t i = 1; i < row.size(); ++i) all = static_cast<T>(op(all, row[i]));
      return all;
    }
    std::array<T, lanes> some;
    std::copy_n(row.begin(), lanes, some.begin());
    std::size_t i = lanes;
    for (; i + lanes <= row.size(); i += lanes) {
      for (std::size_t k = 0; k < lanes; ++k) some[k] = static_cast<T>(op(some[k], row[i + k]));
    }
    for (std::size_t k = 0; i < row.size(); ++i, ++k) some[k] = static_cast<T>(op(some[k], row[i]));
    for (std::size_t half = lanes / 2; half > 0; half /= 2) {
      for (std::size_t k = 0; k < half; ++k) some[k] = static_cast<T>(op(some[k], some[k + half]));
    }
    return some[0];
  }

  rank_t self_;
  local_array<T, 1> values_;
  std::vector<group> groups_;  ///< in the order of their first cells
};

/// The partial results that this rank folds: those of the cells that it owns in a second layout.
template <std::size_t N, std::size_t K, bool InOrder>
class partial_results_to_fold {
  static constexpr std::size_t kept = N - K;

 public:
  template <layout<N> From, layout<kept> Layout>
  partial_results_to_fold(From const& from, folded_dimensions<N, K> const& dimensions, Layout const& target,
                          rank_t self)
      : self_(self), counts_(static_cast<std::size_t>(target.ranks())) {
    std::size_t first = 0;
    for (std::size_t k = 0; k < target.tiles(self); ++k) {
      auto const own = target.tile_of(self, k).cells;
      auto const use = [&](box<N> const& cells, std::size_t begin, rank_t owner) {
        pieces_.push_back({dimensions.kept_of(cells), begin, owner, tiles_.size()});
      };
      for_each_tile(
          from, dimensions.sources_of(own, from.extents()), [&](tile<N> const& in, box<N> const& cells) {
            if constexpr (InOrder) {
              dimensions.for_each_run(
                  cells, from.extents(),
                  [&](box<N> const& run, std::size_t begin, std::size_t) { use(run, begin, in.owner); });
            } else {
              use(cells, static_cast<std::size_t>(in.owner), in.owner);
            }
          });
      tiles_.push_back({own, first});
      first += own.size();
    }
    size_ = first;
    std::sort(pieces_.begin(), pieces_.end(), [](piece const& a, piece const& b) {
      return std::tie(a.cells.first, a.begin) < std::tie(b.cells.first, b.begin);
    });
    // Consecutive runs of one owner are one partial result.
    auto const end = std::unique(pieces_.begin(), pieces_.end(), [](piece const& a, piece const& b) {
      return a.cells.first == b.cells.first && a.owner == b.owner;
    });
    pieces_.erase(end, pieces_.end());
    for (piece const& p : pieces_) {
      if (p.owner != self) counts_[static_cast<std::size_t>(p.owner)] += p.cells.size();
    }
  }

  /// The number of values that come from each other rank.
  [[nodiscard]] std::vector<std::size_t> const& counts() const noexcept { return counts_; }

  /// Folds the values that have arrived, those of each rank behind `skipped` first ones, and the own ones.
  /// The results are those of the own tiles, tile after tile.
  template <class T, class Op>
  [[nodiscard]] local_array<T, 1> fold(local_array<T, 1> const& values, std::size_t skipped,
                                       local_array<T, 1> const& own, T const& init, Op& op) const {
    auto results = local_array<T, 1>::for_overwrite({size_});
    std::fill(results.begin(), results.end(), init);
    std::vector<T const*> next;
    T const* at = values.data();
    for (std::size_t const count : counts_) {
      next.push_back(at + skipped);
      at += skipped + count;
    }
    next[static_cast<std::size_t>(self_)] = own.data();
    for (piece const& p : pieces_) {
      T const*& from = next[static_cast<std::size_t>(p.owner)];
      own_tile const& in = tiles_[p.tile];
      T* const out = results.data() + in.first;
      for_each_row_of(p.cells, p.cells, in.cells, [&](std::size_t of, std::size_t to, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) out[to + i] = static_cast<T>(op(out[to + i], from[of + i]));
      });
      from += p.cells.size();
    }
    return results;
  }

 private:
  /// A partial result of a box of cells: the one of `owner` whose first cells have the number `begin`.
  struct piece {
    box<kept> cells;
    std::size_t begin;
    rank_t owner;
    std::size_t tile;
  };
  struct own_tile {
    box<kept> cells;
    std::size_t first;  ///< of its results
  };

  rank_t self_;
  std::vector<piece> pieces_;  ///< in the order in which they are folded, and come from each owner
  std::vector<own_tile> tiles_;
  std::vector<std::size_t> counts_;
  std::size_t size_ = 0;
};

}  // namespace PGAS_NAMESPACE::detail
