// SPDX-License-Identifier: BSL-1.0
// Sweeps over one, two and four coupled fields in two and three dimensions, on one rank: element access in
// users' style and stencil::sweep, beside the same loops over pointers that the compiler knows not to
// overlap.
#include <pgas/array/local_views.hpp>
#include <pgas/pgas.hpp>
#include <pgas/stencil.hpp>
#include <pgas/views.hpp>
#include <utility>

#include "program.hpp"
#include "shapes.hpp"

namespace {

/// `Fields` input arrays and as many output arrays, each a cube of `side` cells with ghost cells around.
template <class Team, std::size_t Fields, std::size_t N>
class sweep {
  static auto make(Team& team, std::size_t side) {
    std::array<std::size_t, N> extents;
    extents.fill(side);
    return pgas::make_array<double>(team, extents, pgas::halo{.width = 1});
  }
  using array = decltype(make(std::declval<Team&>(), 1));
  using every_field = std::make_index_sequence<Fields>;

 public:
  sweep(Team& team, std::size_t side) : side_(side) {
    for (std::size_t f = 0; f < Fields; ++f) {
      in_.push_back(make(team, side));
      out_.push_back(make(team, side));
      auto const cells = in_.back().window().local();
      for (std::size_t k = 0; k < cells.size(); ++k) cells[k] = static_cast<double>((k * (f + 3)) % 17);
    }
  }

  void measure(bench::meter& m) {
    auto const row = [&](char const* style, auto const& ours, auto... more) {
      bench::row_key const key{.row = "fields/" + std::to_string(Fields) + " of " + std::to_string(N) + "-D",
                               .mode = std::to_string(side_) + " by " + style};
      m.measure(key, {bench::everybody("", ours),
                      bench::everybody("pointers", [this] { by_pointer<true>(every_field{}); }), more...});
    };
    row("u(i, j)", [this] { by_index(every_field{}); });
    row("at(i, j)", [this] { by_global_index(every_field{}); });
    row("view", [this] { by_view(every_field{}); });
    auto const untold =
        bench::everybody("pointers that may overlap", [this] { by_pointer<false>(every_field{}); });
    row(
        "local view", [this] { by_local_view(every_field{}); }, untold);
    row(
        "local views", [this] { by_local_views(every_field{}); }, untold);
    row("local view, told not to overlap", [this] { by_told_view(every_field{}); });
    row("local view and for_each_cell", [this] { by_each_cell(every_field{}); });
    row("range-v3 rows", [this] { by_rows(every_field{}); });
    row("numbered range-v3 rows", [this] { by_numbered_rows(every_field{}); });
    row("stencil", [this] { by_stencil(every_field{}); });
  }

 private:
  /// Each field relaxes, and the neighbouring field pulls at it.
  static double value(double neighbours, double other) noexcept { return 0.9 * neighbours + 0.1 * other; }

  /// Calls use(tuple of staged arrays).
  template <std::size_t f = 0, class Mode, class Use, class... Staged>
  [[gnu::always_inline]] static void with_staged(std::vector<array> const& arrays, Mode mode, Use const& use,
                                                 Staged const&... staged) {
    if constexpr (f == Fields) {
      use(std::tie(staged...));
    } else {
      auto const one_more = pgas::stage(arrays[f], mode);
      with_staged<f + 1>(arrays, mode, use, staged..., one_more);
    }
  }
  template <std::size_t... F>
  [[gnu::noinline]] void by_index(std::index_sequence<F...> fields) const {
    with_staged(in_, pgas::read_only, [&](auto const& u) {
      with_staged(out_, pgas::write_only, [&](auto const& v) {
        loops(fields, [&](auto f, auto... i) {
          std::get<f>(v)(i...) = value(neighbours(std::get<f>(u), i...), std::get<(f + 1) % Fields>(u)(i...));
        });
      });
    });
  }
  /// The indices in the whole array, of which the one rank has all.
  template <std::size_t... F>
  [[gnu::noinline]] void by_global_index(std::index_sequence<F...> fields) const {
    with_staged(in_, pgas::read_only, [&](auto const& u) {
      with_staged(out_, pgas::write_only, [&](auto const& v) {
        loops(fields, [&](auto f, auto... i) {
          auto const from = [&](auto... at) { return std::get<f>(u).at(at...); };
          std::get<f>(v).at(i...) = value(neighbours(from, i...), std::get<(f + 1) % Fields>(u).at(i...));
        });
      });
    });
  }
  template <std::size_t... F>
  [[gnu::noinline]] void by_view(std::index_sequence<F...> fields) const {
    sweep_views(std::tuple(pgas::stage(in_[F], pgas::read_only).view()...),
                std::tuple(pgas::stage(out_[F], pgas::write_only).view()...), fields);
  }
  /// Other pointers may reach a part, so the compiler compares addresses before each row.
  template <std::size_t... F>
  [[gnu::noinline]] void by_local_view(std::index_sequence<F...> fields) const {
    sweep_views(std::tuple(in_[F].local()...), std::tuple(out_[F].local()...), fields);
  }
  /// The same parts with the extents and pitches of one. The compiler still compares addresses.
  template <std::size_t... F>
  [[gnu::noinline]] void by_local_views(std::index_sequence<F...> fields) const {
    auto const views = pgas::local_views(in_[F]..., out_[F]...);
    sweep_views(std::tuple(std::get<F>(views)...), std::tuple(std::get<Fields + F>(views)...), fields);
  }
  /// A program may tell the compiler that its fields do not overlap, as the loop over pointers does.
  template <std::size_t... F>
  [[gnu::noinline]] void by_told_view(std::index_sequence<F...> /*fields*/) const {
    std::tuple const u(in_[F].local()...);
    std::tuple const v(out_[F].local()...);
    auto const cell = [&](auto f, auto... i) __attribute__((always_inline)) {
      std::get<f>(v)(i...) = value(neighbours(std::get<f>(u), i...), std::get<(f + 1) % Fields>(u)(i...));
    };
    auto const row = [&](auto... i) __attribute__((always_inline)) {
      along_row<true>(
          side_, [&](std::size_t k) __attribute__((always_inline)) {
            (cell(std::integral_constant<std::size_t, F>{}, i..., k), ...);
          });
    };
    for (std::size_t i = 0; i < side_; ++i) {
      if constexpr (N == 2) {
        row(i);
      } else {
        for (std::size_t j = 0; j < side_; ++j) row(i, j);
      }
    }
  }
  /// Calls use(k) for each cell of a row. `Told`: the compiler knows that no call writes what others read.
  template <bool Told, class Use>
  [[gnu::always_inline]] static void along_row(std::size_t count, Use const& use) {
    if constexpr (Told) {
#ifdef __clang__
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
      for (std::size_t k = 0; k < count; ++k) use(k);
    } else {
      for (std::size_t k = 0; k < count; ++k) use(k);
    }
  }
  /// The same field by field with the library's loop, whose contract says that no cell depends on another.
  template <std::size_t... F>
  [[gnu::noinline]] void by_each_cell(std::index_sequence<F...> /*fields*/) const {
    std::tuple const u(in_[F].local()...);
    std::tuple const v(out_[F].local()...);
    (pgas::for_each_cell(own_cells(in_[F]),
                         [&](auto... i) {
                           std::get<F>(v)(i...) =
                               value(neighbours(std::get<F>(u), static_cast<std::size_t>(i)...),
                                     std::get<(F + 1) % Fields>(u)(i...));
                         }),
     ...);
  }
  template <class From, class To, class Each>
  [[gnu::always_inline]] void sweep_views(From const& u, To const& v, Each fields) const {
    loops(fields, [&](auto f, auto... i) {
      std::get<f>(v)(i...) = value(neighbours(std::get<f>(u), i...), std::get<(f + 1) % Fields>(u)(i...));
    });
  }
  /// Calls use(field, indices) as a program writes it: a loop for each dimension, and in it all fields.
  template <std::size_t... F, class Use>
  [[gnu::always_inline]] void loops(std::index_sequence<F...>, Use const& use) const {
    for (std::size_t i = 0; i < side_; ++i) {
      for (std::size_t j = 0; j < side_; ++j) {
        if constexpr (N == 2) {
          (use(std::integral_constant<std::size_t, F>{}, i, j), ...);
        } else {
          for (std::size_t k = 0; k < side_; ++k)
            (use(std::integral_constant<std::size_t, F>{}, i, j, k), ...);
        }
      }
    }
  }

  /// Rows of cells and of their neighbours, zipped, one after the other.
  template <std::size_t... F>
  [[gnu::noinline]] void by_rows(std::index_sequence<F...>) const {
    (rows_of_field(out_[F], in_[F], in_[(F + 1) % Fields], walk{}), ...);
  }
  /// The same rows by their numbers, each of which is divided by the rows of a plane, once for all boxes.
  template <std::size_t... F>
  [[gnu::noinline]] void by_numbered_rows(std::index_sequence<F...>) const {
    (rows_of_field(out_[F], in_[F], in_[(F + 1) % Fields], number{}), ...);
  }
  struct walk {
    template <class... Rows>
    [[gnu::always_inline]] void operator()(Rows const&... rows) const {
      for (auto const row : pgas::views::zip(rows...)) sweep_row(row);
    }
  };
  struct number {
    template <class First, class... Rows>
    [[gnu::always_inline]] void operator()(First const& first, Rows const&... rows) const {
      for (std::ptrdiff_t r = 0; r < ranges::distance(first); ++r)
        sweep_row(pgas::views::zip(first[r], rows[r]...));
    }
  };
  template <class Loop>
  static void rows_of_field(array const& next, array const& now, array const& other, Loop const& loop) {
    auto const own = own_cells(now);
    auto const around = [&](auto... by) { return pgas::views::rows(now, shifted(own, {by...})); };
    auto const to = pgas::views::rows(next, own);
    auto const pulls = pgas::views::rows(other, own);
    if constexpr (N == 2) {
      loop(to, pulls, around(-1, 0), around(1, 0), around(0, -1), around(0, 1));
    } else {
      loop(to, pulls, around(-1, 0, 0), around(1, 0, 0), around(0, -1, 0), around(0, 1, 0), around(0, 0, -1),
           around(0, 0, 1));
    }
  }
  template <class Row>
  [[gnu::always_inline]] static void sweep_row(Row&& row) {
    for (auto&& cells : row) {
      std::apply([](double& result, double pull,
                    auto const&... near) { result = value((1.0 / sizeof...(near)) * (near + ...), pull); },
                 cells);
    }
  }
  template <class View>
  [[gnu::always_inline]] static double neighbours(View const& u, std::size_t i, std::size_t j) noexcept {
    return 0.25 * (u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1));
  }
  template <class View>
  [[gnu::always_inline]] static double neighbours(View const& u, std::size_t i, std::size_t j,
                                                  std::size_t k) noexcept {
    return (1 / 6.0) * (u(i - 1, j, k) + u(i + 1, j, k) + u(i, j - 1, k) + u(i, j + 1, k) + u(i, j, k - 1) +
                        u(i, j, k + 1));
  }

  template <std::size_t... F>
  [[gnu::noinline]] void by_stencil(std::index_sequence<F...>) const {
    auto const u = std::tuple(pgas::stage(in_[F], pgas::read_only).view()...);
    auto const v = std::tuple(pgas::stage(out_[F], pgas::write_only).view()...);
    around::sweep(u, v, own_cells(in_[0]), [](auto const&... of_each) {
      auto const fields = std::tie(of_each...);
      return std::tuple{value(mean(std::get<F>(fields)), std::get<(F + 1) % Fields>(fields).back())...};
    });
  }
  using around =
      std::conditional_t<N == 2,
                         pgas::stencil<pgas::offset<-1, 0>, pgas::offset<1, 0>, pgas::offset<0, -1>,
                                       pgas::offset<0, 1>, pgas::offset<0, 0>>,
                         pgas::stencil<pgas::offset<-1, 0, 0>, pgas::offset<1, 0, 0>, pgas::offset<0, -1, 0>,
                                       pgas::offset<0, 1, 0>, pgas::offset<0, 0, -1>, pgas::offset<0, 0, 1>,
                                       pgas::offset<0, 0, 0>>>;
  template <class Cells>
  [[gnu::always_inline]] static double mean(Cells const& c) noexcept {
    if constexpr (N == 2) {
      return 0.25 * (c[0] + c[1] + c[2] + c[3]);
    } else {
      return (1 / 6.0) * (c[0] + c[1] + c[2] + c[3] + c[4] + c[5]);
    }
  }

  template <bool Told, std::size_t... F>
  [[gnu::noinline]] void by_pointer(std::index_sequence<F...>) const {
    std::size_t const pitch = side_ + 2;
    std::size_t const plane = pitch * pitch;
    std::size_t const layers = N == 2 ? 1 : side_;
    for (std::size_t layer = 0; layer < layers; ++layer) {
      for (std::size_t row = 0; row < side_; ++row) {
        std::size_t const first = (N == 2 ? 0 : (layer + 1) * plane) + (row + 1) * pitch + 1;
        std::array<double const*, Fields> const from{in_[F].window().local().data() + first...};
        std::array<double*, Fields> const to{out_[F].window().local().data() + first...};
        row_by_pointer<Told, F...>(from, to, side_, pitch, plane);
      }
    }
  }
  template <bool Told, std::size_t... F>
  [[gnu::always_inline]] static void row_by_pointer(std::array<double const*, Fields> const from,
                                                    std::array<double*, Fields> const to, std::size_t count,
                                                    std::size_t pitch, std::size_t plane) noexcept {
    auto const around = [&](double const* u) {
      double const in_plane = *(u - pitch) + u[pitch] + *(u - 1) + u[1];
      return N == 2 ? 0.25 * in_plane : (1 / 6.0) * (in_plane + *(u - plane) + u[plane]);
    };
    along_row<Told>(
        count, [&](std::size_t c) __attribute__((always_inline)) {
          ((to[F][c] = value(around(from[F] + c), from[(F + 1) % Fields][c])), ...);
        });
  }

  std::size_t side_;
  std::vector<array> in_;
  std::vector<array> out_;
};

template <std::size_t Fields, class Team>
void measure_fields(Team& team, bench::meter& m) {
  sweep<Team, Fields, 2>(team, 256).measure(m);
  sweep<Team, Fields, 3>(team, 40).measure(m);
}

}  // namespace

int main(int argc, char** argv) {
  bench::measure_on_ranks(argc, argv, [](auto& team, bench::meter& m) {
    measure_fields<1>(team, m);
    measure_fields<2>(team, m);
    measure_fields<4>(team, m);
  });
  return 0;
}
