// SPDX-License-Identifier: BSL-1.0
// Moves of whole arrays and stores to single cells, compared with hand-written code on the same memory.
#include <pgas/algorithm/for_each.hpp>
#include <pgas/algorithm/transpose.hpp>
#include <pgas/layouts/cyclic_tiles.hpp>
#include <pgas/redistribute.hpp>
#include <pgas/stage.hpp>

#include "program.hpp"
#include "shapes.hpp"

namespace {

using pgas::stage;

bench::row_key moved(char const* row, std::string mode, std::size_t bytes) {
  return {.row = row, .mode = std::move(mode), .bytes = bytes, .unit = "B/s"};
}

/// A square of doubles by rows, on two ranks, and the measured operations on it.
template <class Team>
class arrays {
 public:
  arrays(Team& team, bench::meter& m, std::size_t order)
      : team_(team),
        m_(m),
        order_(order),
        a_(pgas::make_array<double>(team, {order, order})),
        b_(pgas::make_array<double>(team, {order, order})),
        mode_(std::to_string(order) + " x " + std::to_string(order)) {
    pgas::iota(a_, 0);
    pgas::iota(b_, 0);
  }

  void all() {
    // Half of the cells that a rank gets are the other rank's: the hand-written copy moves as many bytes from
    // there.
    auto const next = m_.rank() == 0 ? m_.ranks() - 1 : m_.rank() - 1;
    auto const* const theirs = a_.window().part(next).data();
    double* const mine = b_.local().data_handle();
    std::size_t const own = b_.own_box().size() * sizeof(double) / 64 * 64;
    auto const by_memcpy = bench::all_of(m_, "memcpy", [=] {
      std::memcpy(mine, theirs, own);
      bench::forget();
    });
    auto const past_caches = bench::all_of(m_, "copy past the caches", [=] {
#if defined(__x86_64__)
      if (bench::raw::has_avx512()) return bench::raw::stream_avx512(mine, theirs, own);
      bench::raw::stream_sse2(mine, theirs, own);
#else
      std::memcpy(mine, theirs, own);
#endif
    });
    std::size_t const bytes = order_ * order_ * sizeof(double);

    auto const transposed = bench::all_of(m_, "", [this] { pgas::transpose(a_, b_); });
    m_.measure(moved("transpose_array", mode_, bytes), {transposed, by_memcpy, past_caches});
    {
      auto const tiles = pgas::make_array<double>(team_, {order_, order_}, pgas::cyclic_tiles<64, 64>{});
      auto const into = bench::all_of(m_, "", [&] { pgas::transpose(a_, tiles); });
      m_.measure(moved("transpose_array", mode_ + " into 64 x 64", bytes), {into, by_memcpy, past_caches});
      auto const there = bench::all_of(m_, "", [&] { pgas::copy(a_, tiles); });
      m_.measure(moved("redistribute", mode_ + " into 64 x 64", bytes), {there, by_memcpy, past_caches});
      auto const back = bench::all_of(m_, "", [&] { pgas::copy(tiles, a_); });
      m_.measure(moved("redistribute", mode_ + " from 64 x 64", bytes), {back, by_memcpy, past_caches});
    }
    {
      auto const by_cols = pgas::make_array<double>(
          team_, {order_, order_}, pgas::tiled{pgas::block{}, pgas::block{}}.on(pgas::grid{1, 0}));
      auto const across = bench::all_of(m_, "", [&] { pgas::copy(a_, by_cols); });
      m_.measure(moved("redistribute", mode_ + " rows to columns", bytes), {across, by_memcpy, past_caches});
    }
    box_copy();
  }

  /// Ferreras' Tables 5.1 to 5.4: stores to an own cell by its global index, by its local index, and in
  /// private memory.
  void access() {
    auto const [first, count] = b_.own_box();
    double* const raw = b_.local().data_handle();
    std::size_t const pitch = b_.local_place().pitches[0];
    auto const key = [&, count = count](char const* mode) {
      return bench::row_key{.row = "own_cells",
                            .mode = mode,
                            .bytes = sizeof(double),
                            .per_call = static_cast<double>(count[0] * count[1]),
                            .unit = "op/s"};
    };
    auto const by_hand = bench::all_of(m_, "loop", [=, count = count] {
      for (std::size_t i = 0; i < count[0]; ++i)
        for (std::size_t j = 0; j < count[1]; ++j) raw[i * pitch + j] += 1;
      bench::forget();
    });
    m_.measure(key("local(i, j)"), {bench::all_of(m_, "",
                                                  [&, count = count] {
                                                    auto const u = stage(b_, pgas::read_write);
                                                    for (std::size_t i = 0; i < count[0]; ++i)
                                                      for (std::size_t j = 0; j < count[1]; ++j) u(i, j) += 1;
                                                    bench::forget();
                                                  }),
                                    by_hand});
    m_.measure(key("for_each"), {bench::all_of(m_, "",
                                               [&] {
                                                 pgas::for_each(b_, [](double& x) { x += 1; });
                                                 bench::forget();
                                               }),
                                 by_hand});
    // With a global index, the stored place depends on its owner, which takes a division in general.
    pgas::lock_all epoch{b_};
    m_.measure(key("at(i, j)"), {bench::all_of(m_, "",
                                               [&, first = first, count = count] {
                                                 for (std::size_t i = 0; i < count[0]; ++i) {
                                                   for (std::size_t j = 0; j < count[1]; ++j) {
                                                     auto const cell =
                                                         epoch[b_.at(first[0] + i, first[1] + j)];
                                                     cell.store(cell.load() + 1);
                                                   }
                                                 }
                                                 bench::forget();
                                               }),
                                 by_hand});
  }

 private:
  /// Rank 0 gets a box across both ranks' parts, without gaps.
  void box_copy() {
    std::size_t const side = order_ / 2;
    pgas::box<2> const cells{{order_ / 4, order_ / 4}, {side, side}};
    std::vector<double> into(side * side);
    auto const middle = a_.box_of(0).count[0];
    auto const* const first = a_.window().part(0).data();
    auto const* const second = a_.window().part(m_.ranks() - 1).data();
    pgas::lock_all epoch{a_, pgas::read_only};
    m_.measure(
        moved("get_box", std::to_string(side) + " x " + std::to_string(side), into.size() * sizeof(double)),
        {bench::origin_only(m_, "",
                            [&] {
                              epoch.get(cells, into);
                              epoch.flush_local_all();
                            }),
         bench::origin_only(m_, "memcpy of each row", [&] {
           for (std::size_t r = 0; r < side; ++r) {
             std::size_t const i = cells.first[0] + r;
             auto const* const row = i < middle ? first + i * order_ : second + (i - middle) * order_;
             std::memcpy(into.data() + r * side, row + cells.first[1], side * sizeof(double));
           }
           bench::forget();
         })});
  }

  Team& team_;
  bench::meter& m_;
  std::size_t order_;
  decltype(pgas::make_array<double>(std::declval<Team&>(), {1, 1})) a_;
  decltype(pgas::make_array<double>(std::declval<Team&>(), {1, 1})) b_;
  std::string mode_;
};

}  // namespace

int main(int argc, char** argv) {
  bench::measure_on_ranks(argc, argv, [](auto& team, bench::meter& m) {
    arrays(team, m, 256).access();
    arrays(team, m, 1024).all();
    if (!m.quick()) arrays(team, m, 4096).all();
  });
  return 0;
}
