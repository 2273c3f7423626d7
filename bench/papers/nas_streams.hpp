// SPDX-License-Identifier: BSL-1.0
// The messages that one process of a NAS benchmark receives, in the order of its program. They are generated
// from the communication of NPB 2.3, class A, with point-to-point messages of collectives written out. Their
// numbers and periods are those of Ferreras 2008, Tables 3.1 and 3.2. Lengths are told apart, but not exact.
#pragma once

#include <pgas/concepts/predictor.hpp>
#include <vector>

namespace papers::nas {

using pgas::rank_t;
using stream = std::vector<pgas::observed_message>;

/// BT and SP: multi-partition on q * q processes. An iteration exchanges six faces, and sweeps forward and
/// backward along three axes, with q - 1 messages a sweep.
inline stream multi_partition(rank_t q, int iterations, std::size_t face, std::size_t forward,
                              std::size_t backward) {
  rank_t const i = 1 % q, j = 0;
  auto const at = [q](rank_t row, rank_t column) { return (row + q) % q * q + (column + q) % q; };
  rank_t const before[3] = {at(i, j - 1), at(i - 1, j), at(i + 1, j - 1)};
  rank_t const after[3] = {at(i, j + 1), at(i + 1, j), at(i - 1, j + 1)};
  stream all;
  for (int n = 0; n < iterations; ++n) {
    for (int axis = 0; axis < 3; ++axis) {
      all.push_back({after[axis], face});
      all.push_back({before[axis], face});
    }
    for (int axis = 0; axis < 3; ++axis) {
      for (rank_t k = 1; k < q; ++k) all.push_back({before[axis], forward});
      for (rank_t k = 1; k < q; ++k) all.push_back({after[axis], backward});
    }
  }
  return all;
}
inline stream bt(rank_t processes) {
  rank_t q = 1;
  while (q * q < processes) ++q;
  return multi_partition(q, 200, 10240, 19440, 3240);
}
inline stream sp(rank_t processes) {
  rank_t q = 1;
  while (q * q < processes) ++q;
  return multi_partition(q, 400, 10240, 8640, 5760);
}

/// LU: a wave front over rows * columns processes, seen from the last process of the first column. An
/// iteration has 62 planes down, 62 planes up, and a face of each neighbour.
inline stream lu(rank_t processes) {
  rank_t const rows = processes >= 16 ? 4 : 2, columns = processes / rows;
  rank_t const north = (rows - 2) * columns, east = (rows - 1) * columns + 1;
  stream all;
  for (int n = 0; n < 250; ++n) {
    for (int plane = 0; plane < 62; ++plane) all.push_back({north, 1280});
    for (int plane = 0; plane < 62; ++plane) all.push_back({east, 1280});
    all.push_back({north, 20480});
    all.push_back({east, 20480});
  }
  return all;
}

/// CG: sums along a row of 2^l processes, and a transpose. A step of the inner loop has 3 l + 1 messages, and
/// an outer one 25 steps and 4 l + 1 messages more.
inline stream cg(rank_t processes) {
  rank_t l = 1;
  while ((1 << (2 * l)) < processes) ++l;
  constexpr std::size_t number = 8, vector = 14000;
  stream all;
  auto const sum = [&](std::size_t bytes) {
    for (rank_t k = 0; k < l; ++k) all.push_back({1 << k, bytes});
  };
  auto const multiply = [&] {
    sum(vector);
    all.push_back({processes / 2, vector});
  };
  for (int outer = 0; outer < 16; ++outer) {
    sum(number);
    for (int inner = 0; inner < 25; ++inner) {
      multiply();
      sum(number);
      sum(number);
    }
    multiply();
    sum(number);
    sum(2 * number);
  }
  return all;
}

/// IS: eleven times an all-to-all of counts, one of keys, and the neighbour's last key.
inline stream is(rank_t processes) {
  stream all;
  for (int n = 0; n < 11; ++n) {
    for (rank_t r = 0; r < processes; ++r) all.push_back({r, 1024});
    for (rank_t r = 0; r < processes; ++r)
      all.push_back({r, 8192U + 4U * (static_cast<std::size_t>(r) * 7 % 5)});
    all.push_back({1, 4});
  }
  return all;
}

}  // namespace papers::nas
