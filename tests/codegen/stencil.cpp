// SPDX-License-Identifier: BSL-1.0
// Compiled to assembly by check.py: stencil::sweep, and a view's cells by their indices, must have the loops
// of raw_X, which are written by hand. mutant_X computes each cell's place from its number, which costs a
// division.
#include <pgas/stencil.hpp>

namespace {

using plus = pgas::stencil<pgas::offset<-1, 0>, pgas::offset<1, 0>, pgas::offset<0, -1>, pgas::offset<0, 1>>;
using line = pgas::stencil<pgas::offset<-1>, pgas::offset<0>, pgas::offset<1>>;
using in_view = pgas::matrix_view<double const>;
using out_view = pgas::matrix_view<double>;

using coupled = pgas::stencil<pgas::offset<-1, 0>, pgas::offset<1, 0>, pgas::offset<0, 0>>;

template <class Stencil, class In, class Out, class Kernel>
void divided_sweep(In const& in, Out const& out, pgas::part_box<Stencil::dimensions> const& cells,
                   Kernel kernel) {
  for (std::size_t k = 0; k < cells.size(); ++k) {
    auto one = cells;
    std::size_t rest = k;
    for (std::size_t d = Stencil::dimensions; d-- > 0;) {
      std::size_t volatile const count = cells.counts()[d];  // or one dimension's division is optimized away
      one.first[d] = cells.first[d] + static_cast<std::ptrdiff_t>(rest % count);
      rest /= count;
      one.end[d] = one.first[d] + 1;
    }
    Stencil::sweep(in, out, one, kernel);
  }
}

}  // namespace

extern "C" {
void ours_plus(in_view const& in, out_view const& out, pgas::part_box<2> const& cells, double weight) {
  plus::sweep(in, out, cells,
              [weight](double n, double s, double w, double e) { return weight * (n + s + w + e); });
}
void mutant_plus(in_view const& in, out_view const& out, pgas::part_box<2> const& cells, double weight) {
  divided_sweep<plus>(in, out, cells,
                      [weight](double n, double s, double w, double e) { return weight * (n + s + w + e); });
}
void raw_plus(in_view const& in, out_view const& out, pgas::part_box<2> const& cells, double weight) {
  if (cells.empty()) return;
  std::ptrdiff_t const pitch = in.stride(0);
  double const* from = &in(cells.first[0], cells.first[1]);
  double* to = &out(cells.first[0], cells.first[1]);
  auto const [rows, cols] = cells.counts();
  for (std::size_t i = 0; i < rows; ++i, from += pitch, to += out.stride(0)) {
    [weight](double* __restrict v, std::size_t n, double const* up, double const* down, double const* left,
             double const* right) {
      for (std::size_t j = 0; j < n; ++j) v[j] = weight * (up[j] + down[j] + left[j] + right[j]);
    }(to, cols, from - pitch, from + pitch, from - 1, from + 1);
  }
}
void ours_line(std::span<double const> const& in, std::span<double> const& out,
               pgas::part_box<1> const& cells) {
  line::sweep(in, out, cells,
              [](double before, double here, double after) { return before - 2 * here + after; });
}
void mutant_line(std::span<double const> const& in, std::span<double> const& out,
                 pgas::part_box<1> const& cells) {
  divided_sweep<line>(in, out, cells,
                      [](double before, double here, double after) { return before - 2 * here + after; });
}
void raw_line(std::span<double const> const& in, std::span<double> const& out,
              pgas::part_box<1> const& cells) {
  if (cells.empty()) return;
  double const* __restrict from = in.data() + cells.first[0];
  double* __restrict to = out.data() + cells.first[0];
  std::size_t const count = cells.counts()[0];
  for (std::size_t i = 0; i < count; ++i) to[i] = from[i - 1] - 2 * from[i] + from[i + 1];
}
void ours_coupled(in_view const& u, in_view const& v, out_view const& next_u, out_view const& next_v,
                  pgas::part_box<2> const& cells) {
  coupled::sweep(std::tuple(u, v), std::tuple(next_u, next_v), cells, [](auto const& x, auto const& y) {
    return std::tuple{(x[0] + x[1]) * y[2], (y[0] + y[1]) * x[2]};
  });
}
void mutant_coupled(in_view const& u, in_view const& v, out_view const& next_u, out_view const& next_v,
                    pgas::part_box<2> const& cells) {
  divided_sweep<coupled>(std::tuple(u, v), std::tuple(next_u, next_v), cells,
                         [](auto const& x, auto const& y) {
                           return std::tuple{(x[0] + x[1]) * y[2], (y[0] + y[1]) * x[2]};
                         });
}
void raw_coupled(in_view const& u, in_view const& v, out_view const& next_u, out_view const& next_v,
                 pgas::part_box<2> const& cells) {
  if (cells.empty()) return;
  auto const [rows, cols] = cells.counts();
  for (std::size_t i = 0; i < rows; ++i) {
    auto const row = [&](auto const& view) {
      return &view(cells.first[0] + std::ptrdiff_t(i), cells.first[1]);
    };
    [cols = cols](double* __restrict a, double* __restrict b, double const* __restrict x,
                  double const* __restrict y, std::ptrdiff_t u_pitch, std::ptrdiff_t v_pitch) {
      for (std::size_t j = 0; j < cols; ++j) {
        double const* const x_here = x + j;
        double const* const y_here = y + j;
        a[j] = (*(x_here - u_pitch) + x_here[u_pitch]) * *y_here;
        b[j] = (*(y_here - v_pitch) + y_here[v_pitch]) * *x_here;
      }
    }(row(next_u), row(next_v), row(u), row(v), u.stride(0), v.stride(0));
  }
}
void ours_cells(out_view const& out, double weight) {
  auto const [rows, cols] = std::array{out.extent(0), out.extent(1)};
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < cols; ++j) out(i, j) += weight;
}
void mutant_cells(out_view const& out, double weight) {
  auto const [rows, cols] = std::array{out.extent(0), out.extent(1)};
  for (std::size_t k = 0; k < rows * cols; ++k) out(k / cols, k % cols) += weight;
}
void raw_cells(out_view const& out, double weight) {
  auto const [rows, cols] = std::array{out.extent(0), out.extent(1)};
  double* row = out.data_handle();
  for (std::size_t i = 0; i < rows; ++i, row += out.stride(0))
    for (std::size_t j = 0; j < cols; ++j) row[j] += weight;
}
}
