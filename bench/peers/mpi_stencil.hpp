// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../kernels.hpp"
#include "../stencil.hpp"
#include "mpi_support.hpp"

/// The stencils of heat.cpp and kernels.cpp by MPI: each rank has a share of the rows or planes, and between
/// them ghost copies of its neighbours' edges. An exchange decides how the edges travel.
namespace bench::mpi {

/// The place of a rank's cells in each copy of an array, in doubles. Ghosts lie before and behind the own
/// rows.
struct strip {
  int rank;
  int ranks;
  std::size_t rows;    ///< of all ranks together
  std::size_t row;     ///< the distance of rows
  std::size_t origin;  ///< of the first own cell
  std::size_t depth;   ///< the rows of an edge
  std::size_t edge;    ///< the doubles of an edge, with those between its rows

  [[nodiscard]] std::size_t first(int of) const {
    return rows * static_cast<std::size_t>(of) / static_cast<std::size_t>(ranks);
  }
  [[nodiscard]] std::size_t count(int of) const { return first(of + 1) - first(of); }
  [[nodiscard]] std::size_t count() const { return count(rank); }
  [[nodiscard]] int above() const { return rank == 0 ? MPI_PROC_NULL : rank - 1; }
  [[nodiscard]] int below() const { return rank + 1 == ranks ? MPI_PROC_NULL : rank + 1; }

  [[nodiscard]] std::size_t top() const { return origin; }
  [[nodiscard]] std::size_t bottom() const { return origin + (count() - depth) * row; }
  [[nodiscard]] std::size_t ghosts_above() const { return origin - depth * row; }
  [[nodiscard]] std::size_t ghosts_below(int of) const { return origin + count(of) * row; }
  /// Of one copy, the same on all ranks.
  [[nodiscard]] std::size_t size() const {
    std::size_t const most = rows / static_cast<std::size_t>(ranks) + 1;
    return (origin + (most + depth) * row + 511) / 512 * 512;
  }
};

/// Edges travel by MPI_Put, in epochs of MPI_Win_fence. A fence ends an epoch and begins the next. With two
/// copies, which a stencil swaps, no rank reads the ghosts that its neighbours write, so one fence a step is
/// enough. The program relies on MPI's unified memory model: own cells change during an epoch.
class put_and_fence {
 public:
  put_and_fence(strip const& s, std::size_t copies)
      : strip_(s), copies_(copies), window_(copies * s.size() * sizeof(double)) {
    std::fill_n(cells(0), copies * s.size(), 1.0);
    MPI_Win_fence(0, window_.get());
  }
  put_and_fence(put_and_fence const&) = delete;
  put_and_fence& operator=(put_and_fence const&) = delete;
  ~put_and_fence() { MPI_Win_fence(MPI_MODE_NOSUCCEED, window_.get()); }

  [[nodiscard]] double* cells(std::size_t copy) const {
    return reinterpret_cast<double*>(window_.data()) + copy * strip_.size();
  }
  void begin(std::size_t copy) const {
    if (copies_ == 1) MPI_Win_fence(0, window_.get());  // the neighbours have read their ghosts
    put(copy, strip_.top(), strip_.above(),
        strip_.above() == MPI_PROC_NULL ? 0 : strip_.ghosts_below(strip_.above()));
    put(copy, strip_.bottom(), strip_.below(), strip_.ghosts_above());
  }
  void finish(std::size_t) const { MPI_Win_fence(0, window_.get()); }

 private:
  void put(std::size_t copy, std::size_t from, int to, std::size_t at) const {
    MPI_Put(cells(copy) + from, static_cast<int>(strip_.edge), MPI_DOUBLE, to,
            static_cast<MPI_Aint>((copy * strip_.size() + at) * sizeof(double)),
            static_cast<int>(strip_.edge), MPI_DOUBLE, window_.get());
  }

  strip strip_;
  std::size_t copies_;
  allocated_window window_;
};

/// Edges travel as messages, which a rank expects before it sends its own.
class send_and_receive {
 public:
  send_and_receive(strip const& s, std::size_t copies) : strip_(s), cells_(copies * s.size(), 1.0) {}

  [[nodiscard]] double* cells(std::size_t copy) { return cells_.data() + copy * strip_.size(); }
  void begin(std::size_t copy) {
    double* const at = cells(copy);
    int const n = static_cast<int>(strip_.edge);
    MPI_Irecv(at + strip_.ghosts_above(), n, MPI_DOUBLE, strip_.above(), 0, MPI_COMM_WORLD, &under_way_[0]);
    MPI_Irecv(at + strip_.ghosts_below(strip_.rank), n, MPI_DOUBLE, strip_.below(), 0, MPI_COMM_WORLD,
              &under_way_[1]);
    MPI_Isend(at + strip_.top(), n, MPI_DOUBLE, strip_.above(), 0, MPI_COMM_WORLD, &under_way_[2]);
    MPI_Isend(at + strip_.bottom(), n, MPI_DOUBLE, strip_.below(), 0, MPI_COMM_WORLD, &under_way_[3]);
  }
  void finish(std::size_t) { MPI_Waitall(4, under_way_.data(), MPI_STATUSES_IGNORE); }

 private:
  strip strip_;
  std::vector<double> cells_;
  std::array<MPI_Request, 4> under_way_{};
};

/// The row of heat.cpp.
template <class Exchange>
void heat(meter& m, std::size_t side) {
  std::size_t const pitch = side + 8;  // a line behind each row
  strip const s{m.rank(), m.ranks(), side, pitch, pitch + 8, 1, side};
  Exchange edges(s, 2);
  m.measure(stencil_key(side), {everybody("", [&, now = std::size_t{0}]() mutable {
              edges.begin(now);
              edges.finish(now);
              relax(edges.cells(1 - now) + s.origin, edges.cells(now) + s.origin, s.count(), side, pitch);
              now = 1 - now;
            })});
}

/// The row stencil of kernels.cpp: a rank's inner rows need no ghosts, so they are done while edges travel.
template <class Exchange>
void star_of(meter& m, std::size_t order) {
  constexpr std::size_t radius = star::radius;
  std::size_t const pitch = order + 8;
  std::size_t const cols = order - 2 * radius;
  strip const s{m.rank(), m.ranks(), order, pitch, radius * pitch + 8, radius, (radius - 1) * pitch + order};
  Exchange edges(s, 1);
  double* const in = edges.cells(0) + s.origin;
  for (std::size_t i = 0; i < s.count(); ++i)
    for (std::size_t j = 0; j < order; ++j) in[i * pitch + j] = static_cast<double>(s.first(s.rank) + i + j);
  std::vector<double> out(s.count() * order);
  auto const add = [&](std::size_t first, std::size_t rows) {
    star::add(out.data() + first * order + radius, order, in + first * pitch + radius, pitch, rows, cols);
  };
  m.measure(star::key(order), {all_of(m, "", [&] {
              edges.begin(0);
              add(radius, s.count() - 2 * radius);
              edges.finish(0);
              if (s.above() != MPI_PROC_NULL) add(0, radius);
              if (s.below() != MPI_PROC_NULL) add(s.count() - radius, radius);
              star::increment(in, pitch, s.count(), order);
            })});
}

/// The row heat3d of kernels.cpp, whose inner planes are also done while edges travel.
template <class Exchange>
void heat3d(meter& m, std::size_t side) {
  std::size_t const pitch = side + 2;
  std::size_t const plane = pitch * pitch;
  strip const s{m.rank(), m.ranks(), side, plane, plane + pitch + 1, 1, (side - 1) * pitch + side};
  Exchange edges(s, 2);
  m.measure(cube::key(side), {all_of(m, "", [&, now = std::size_t{0}]() mutable {
              auto const relax = [&](std::size_t first, std::size_t planes) {
                std::size_t const at = s.origin + first * plane;
                cube::relax(edges.cells(1 - now) + at, edges.cells(now) + at, planes, side, plane, pitch);
              };
              edges.begin(now);
              relax(1, s.count() - 2);
              edges.finish(now);
              relax(0, 1);
              relax(s.count() - 1, 1);
              now = 1 - now;
            })});
}

/// All rows of heat.cpp.
template <class Exchange>
class heat_rows {
 public:
  explicit heat_rows(meter& m) : m_(m) {}
  void all() {
    for (std::size_t const side : stencil_sides) heat<Exchange>(m_, side);
  }

 private:
  meter& m_;
};

/// The stencils of kernels.cpp.
template <class Exchange>
class stencil_rows {
 public:
  explicit stencil_rows(meter& m) : m_(m) {}
  void all() {
    for (std::size_t const order : star::orders) star_of<Exchange>(m_, order);
    for (std::size_t const side : cube::sides) heat3d<Exchange>(m_, side);
  }

 private:
  meter& m_;
};

}  // namespace bench::mpi
