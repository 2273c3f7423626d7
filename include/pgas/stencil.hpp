// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <pgas/array/halo.hpp>
#include <pgas/array/part_box.hpp>
#include <pgas/array/stencil_reach.hpp>
#include <pgas/array/stencil_sweep.hpp>
#include <pgas/detail/types/anything.hpp>
#include <pgas/exchange_halos.hpp>
#include <tuple>
#include <utility>

namespace PGAS_NAMESPACE {

namespace detail {

// clang warns of loops with this attribute that it cannot vectorize; calls through a cache are such loops.
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpass-failed"
#endif
/// Calls use(i) for first <= i < end in an unspecified order. The compiler may interleave the calls.
template <class Use>
[[gnu::always_inline]] inline void for_each_unsequenced(std::ptrdiff_t first, std::ptrdiff_t end,
                                                        Use const& use) {
#ifdef __clang__
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
  for (std::ptrdiff_t i = first; i < end; ++i) use(i);
}
#ifdef __clang__
#pragma clang diagnostic pop
#endif

template <std::size_t d, std::size_t N, class Use, class... Indices>
[[gnu::always_inline]] inline void for_each_cell_from(part_box<N> const& cells, Use const& use,
                                                      Indices... index) {
  if constexpr (d + 1 == N) {
    for_each_unsequenced(
        cells.first[d],
        cells.end[d], [&](std::ptrdiff_t i) __attribute__((always_inline)) { use(index..., i); });
  } else {
    for (std::ptrdiff_t i = cells.first[d]; i < cells.end[d]; ++i)
      for_each_cell_from<d + 1>(cells, use, index..., i);
  }
}

}  // namespace detail

/// Calls use(indices) for each cell of a box of this rank's part, in an unspecified order:
/// `for_each_cell(own_cells(a), [&](auto i, auto j) { v(i, j) = u(i - 1, j) + u(i + 1, j); });`. Local.
///
/// Requires that no call writes what another call reads or writes. The compiler may therefore interleave the
/// calls for one row: it vectorizes loops over several fields, without a comparison of addresses, on local
/// views, too. In a loop that a program writes it must compare them, and g++ gives up after ten comparisons.
/// A call must not throw, and `use` should be small enough to be inlined. Free of costs beside the calls.
/// The standard: std::for_each with std::execution::unseq. Kokkos: parallel_for over an MDRangePolicy.
template <std::size_t N, class Use>
[[gnu::always_inline]] inline void for_each_cell(part_box<N> const& cells, Use const& use) {
  auto const box = cells;  // its own copy, which stores of `use` do not change
  detail::for_each_cell_from<0>(box, use);
}

}  // namespace PGAS_NAMESPACE

namespace PGAS_NAMESPACE::detail {

/// The images of cells beyond the reflecting edges of an array, as far as a stencil of this reach reads them.
template <class Reach>
struct stencil_mirror {
  static constexpr std::size_t dimensions = Reach::dimensions;
  using index_type = typename Reach::index_type;
  using part_box_type = part_box<dimensions>;

  /// The first and the last index of the array along a dimension, counted from this rank's first own cell.
  template <class Array>
  static constexpr std::pair<std::ptrdiff_t, std::ptrdiff_t> range_of(Array const& a,
                                                                      std::size_t d) noexcept {
    auto const first = -static_cast<std::ptrdiff_t>(a.own_box().first[d]);
    return {first, first + static_cast<std::ptrdiff_t>(a.extent(d))};
  }
  /// True if the stencil reads cells beyond a reflecting edge of dimension d, or of any dimension.
  template <class Array>
  static constexpr bool has_mirror(Array const& a, std::size_t d) noexcept {
    return (Reach::before[d] != 0 || Reach::after[d] != 0) && a.shape().halo(d).edges == edge::reflecting;
  }
  template <class Array>
  static constexpr bool has_mirror(Array const& a) noexcept {
    for (std::size_t d = 0; d < dimensions; ++d) {
      if (has_mirror(a, d)) return true;
    }
    return false;
  }
  /// Copies freshly computed cells to their mirror images, as far as the next step reads them. `cells` is
  /// this rank's part, staged. Requires that the next step computes any cells.
  template <class Array, class Cells>
  static void reflect(Array const& a, Cells const& cells, part_box_type done, part_box_type const& next) {
    for (std::size_t d = 0; d < dimensions; ++d) {
      if (!has_mirror(a, d)) continue;
      auto const [first, end] = range_of(a, d);
      auto const copy = [&](std::ptrdiff_t to, std::ptrdiff_t from) {
        auto plane = done;
        plane.first[d] = to;
        plane.end[d] = to + 1;
        index_type k{};
        do {
          auto at = plane.first;
          for (std::size_t e = 0; e < dimensions; ++e) at[e] += static_cast<std::ptrdiff_t>(k[e]);
          auto& image = std::apply(cells, at);
          at[d] = from;
          image = std::apply(cells, at);
        } while (detail::advance(k, plane.counts()));
      };
      auto const least = next.first[d] - static_cast<std::ptrdiff_t>(Reach::before[d]);
      auto const most = next.end[d] + static_cast<std::ptrdiff_t>(Reach::after[d]);
      for (auto to = least; to < first; ++to) copy(to, 2 * first - 1 - to);
      for (auto to = end; to < most; ++to) copy(to, 2 * end - 1 - to);
      // Later dimensions copy these images too, which fills the corners.
      if (least < first) done.first[d] = least;
      if (most > end) done.end[d] = most;
    }
  }
};

}  // namespace PGAS_NAMESPACE::detail

namespace PGAS_NAMESPACE {

namespace detail {

/// True if all elements of a tuple are arrays of N dimensions whose ranks own one box each: the fields of a
/// stencil.
template <class Fields, std::size_t N>
inline constexpr bool are_fields = false;
template <class... Fields, std::size_t N>
  requires(sizeof...(Fields) > 0 && (any_global_array<Fields> && ...))
inline constexpr bool are_fields<std::tuple<Fields...>, N> =
    ((std::remove_cvref_t<Fields>::dimensions == N &&
      box_layout<typename std::remove_cvref_t<Fields>::layout_type>)&&...);

}  // namespace detail

/// The neighbours on which a cell's new value depends, known at compile time:
/// `stencil<offset<0, 0>, offset<-1, 0>, offset<1, 0>>`.
///
/// A kernel takes one value per offset, in the order of the offsets, and returns the cell's new value. It is
/// a lambda or another function object. It is called once per cell in an unspecified order, and must neither
/// throw nor touch the arrays. The loop over a row is that of hand-written code: no index is computed and no
/// branch taken per cell. Compilers vectorize it if the kernel allows.
///
/// Several coupled fields take one sweep: `apply(std::tie(u, v), std::tie(next_u, next_v), kernel)`. The
/// kernel then takes one std::array per source field, with one value per offset. It returns a std::tuple with
/// one value per result field. Compilers know that results and sources are different memory, as they do of
/// staged cells. DASH: StencilSpec.
template <class... Offsets>
  requires(sizeof...(Offsets) > 0 && (is_offset<Offsets> && ...))
class stencil : public stencil_sweep<Offsets...> {
  using loops = stencil_sweep<Offsets...>;
  using mirror = detail::stencil_mirror<stencil_reach<Offsets...>>;

 public:
  using loops::after;
  using loops::before;
  using loops::dimensions;
  using loops::is_diagonal;
  using loops::offsets;
  using loops::sweep;
  using typename loops::index_type;
  using typename loops::part_box_type;

  /// The number of steps for which one exchange of an array's ghost cells is enough.
  template <any_global_array Array>
    requires(Array::dimensions == dimensions)
  [[nodiscard]] static constexpr std::size_t steps(Array const& a) noexcept {
    std::size_t most = SIZE_MAX;
    for (std::size_t d = 0; d < dimensions; ++d) {
      halo const& h = a.shape().halo(d);
      if (before[d] != 0) most = std::min(most, h.width / before[d]);
      if (after[d] != 0) most = std::min(most, h.after / after[d]);
    }
    return most;
  }
  /// The cells to compute if `steps_left` steps follow before the next exchange. These are the own cells, and
  /// as many cells around them as the following steps read. Cells beyond a fixed or reflecting edge are left
  /// out.
  template <any_global_array Array>
    requires(Array::dimensions == dimensions && box_layout<typename Array::layout_type>)
  [[nodiscard]] static constexpr part_box_type cells_before(Array const& a, std::size_t steps_left) noexcept {
    index_type more_before;
    index_type more_after;
    for (std::size_t d = 0; d < dimensions; ++d) {
      more_before[d] = steps_left * before[d];
      more_after[d] = steps_left * after[d];
    }
    auto cells = intersection(detail::grown(own_cells(a), more_before, more_after), cells_of_array(a));
    for (std::size_t d = 0; d < dimensions && !cells.empty(); ++d) {
      if (a.shape().halo(d).edges != edge::reflecting) continue;
      auto const [first, end] = mirror::range_of(a, d);
      cells.first[d] = std::max(cells.first[d], first);
      cells.end[d] = std::min(cells.end[d], end);
    }
    return cells;
  }

  /// Exchanges the halo of `from`, and stores the kernel's value for each own cell of `to`, from the cell's
  /// neighbours in `from`. Cells that need no other rank's ghost cells are computed during the exchange.
  ///
  /// Collective like begin_exchange. Complete on this rank when the call returns. All own cells of `to` are
  /// overwritten. Ghost cells beyond a fixed edge have the values that the program stored there; see
  /// set_edges.
  /// Throws errc::invalid_argument if the halo of `from` is narrower than the stencil or lacks needed
  /// corners. It also throws if both arrays are one, or if a rank owns other cells in `to` than in `from`.
  /// Costs an exchange, for the rest of which the rank waits only after it has computed the inner cells.
  template <any_global_array From, any_global_array To, class Kernel>
    requires(From::dimensions == dimensions && To::dimensions == dimensions &&
             box_layout<typename From::layout_type> && box_layout<typename To::layout_type>)
  static void apply(From const& from, To const& to, Kernel kernel) {
    check("stencil::apply", from, to, 1);
    exchange_and_sweep(from, to, write_only, own_cells(from), kernel);
  }

  /// Applies the stencil to several coupled fields: exchanges the halos of all `from` at once, and stores the
  /// kernel's values for each own cell of all `to`:
  /// `apply(std::tie(u, v), std::tie(next_u, next_v), kernel)`.
  ///
  /// Otherwise like apply of one field. All fields have the same extents and layout, and all `from` the same
  /// halo.
  /// Throws errc::invalid_argument also if an array is named twice.
  /// Costs the puts of all fields, and one post/start/complete/wait round.
  template <class... From, class... To, class Kernel>
    requires(detail::are_fields<std::tuple<From...>, dimensions> &&
             detail::are_fields<std::tuple<To...>, dimensions>)
  static void apply(std::tuple<From...> const& from, std::tuple<To...> const& to, Kernel kernel) {
    auto const with_each = [](auto const& fields, auto const& use) {
      std::apply([&](auto const&... field) { (use(field), ...); }, fields);
    };
    with_each(from, [&](auto const& source) {
      with_each(to, [&](auto const& result) { check("stencil::apply", source, result, 1); });
    });
    check_named_once(to);
    auto const cells = own_cells(std::get<0>(from));
    auto const inner = inner_cells(std::get<0>(from), before, after);
    auto pending = std::apply([](auto const&... field) { return begin_exchange(field...); }, from);
    with_staged(to, write_only, [&](auto const& out) {
      with_staged(from, read_own, [&](auto const& in) { loops::sweep_widely(in, out, inner, kernel); });
      pending.finish();
      with_staged(from, read_only, [&](auto const& in) {
        for_each_around(cells, inner,
                        [&](part_box_type const& around) { loops::sweep_widely(in, out, around, kernel); });
      });
    });
  }

  /// Applies the stencil `count` times with one exchange, alternating between `now` and `next`. The two are
  /// swapped after each step, so that the result is in `now`. Near its own cells a rank also computes cells
  /// of other ranks.
  ///
  /// Both arrays need a halo `count` times as wide as the stencil, with corners, and the same edges. Fixed
  /// edges must be set in both.
  /// Throws errc::invalid_argument otherwise. At a reflecting edge, the image is made anew after each step.
  /// Several steps then throw in two more cases: if the stencil reaches over one cell farther on one side
  /// than on the other, or if it reaches farther than the array is long.
  /// Costs one exchange of a wider halo, and cells that two ranks compute. Ding and He 2001: ghost cell
  /// expansion.
  template <any_global_array Array, class Kernel>
    requires(Array::dimensions == dimensions && box_layout<typename Array::layout_type>)
  static void apply_steps(Array& now, Array& next, std::size_t count, Kernel kernel) {
    if (count == 0) return;
    check("stencil::apply_steps", now, next, count);
    if (count > 1) check("stencil::apply_steps", next, now, count);
    exchange_and_sweep(now, next, read_write, cells_before(now, count - 1), kernel);
    std::swap(now, next);
    for (std::size_t left = count - 1; left-- > 0; std::swap(now, next)) {
      if (mirror::has_mirror(now) && !cells_before(now, left).empty()) {
        mirror::reflect(now, stage(now, read_write), cells_before(now, left + 1), cells_before(now, left));
      }
      auto const in = stage(now, read_only);
      auto const out = stage(next, read_write);
      loops::sweep_widely(in.view(), out.view(), cells_before(now, left), kernel);
    }
  }

  /// Does not compile: says how a stencil is applied.
  template <class None = void>
  static auto apply(detail::anything = {}, detail::anything = {}, detail::anything = {}) {
    static_assert(
        detail::always_false<None>,
        "stencil: write `stencil.apply(from, to, kernel)` with two arrays of as many dimensions as the "
        "offsets have, and layouts in which a rank owns one box");
  }

 private:
  template <class From, class To, hints Mode, class Kernel>
  static void exchange_and_sweep(From const& from, To const& to, hint<Mode> mode, part_box_type const& cells,
                                 Kernel const& kernel) {
    auto const inner = inner_cells(from, before, after);
    auto pending = detail::start_exchange(from);
    auto const out = stage(to, mode);
    {
      auto const in = stage(from, read_own);  // ghost cells are arriving
      loops::sweep_widely(in.view(), out.view(), inner, kernel);
    }
    pending.finish();
    auto const in = stage(from, read_only);
    for_each_around(cells, inner, [&](part_box_type const& around) {
      loops::sweep_widely(in.view(), out.view(), around, kernel);
    });
  }

  /// Calls use(tuple of views) with all fields staged.
  template <std::size_t k = 0, class... Fields, class Mode, class Use, class... Views>
  static void with_staged(std::tuple<Fields...> const& fields, Mode const& mode, Use const& use,
                          Views const&... views) {
    if constexpr (k == sizeof...(Fields)) {
      use(std::tuple(views...));
    } else {
      auto const staged = stage(std::get<k>(fields), mode);
      with_staged<k + 1>(fields, mode, use, views..., staged.view());
    }
  }
  /// Throws if two of these arrays are one.
  template <class... Fields>
  static void check_named_once(std::tuple<Fields...> const& fields) {
    auto const states = std::apply(
        [](auto const&... field) { return std::array<void const*, sizeof...(Fields)>{&field.state()...}; },
        fields);
    for (std::size_t k = 1; k < states.size(); ++k) {
      if (std::find(states.begin(), states.begin() + k, states[k]) == states.begin() + k) continue;
      throw error(errc::invalid_argument, std::get<0>(fields).state().job_rank(), "stencil::apply",
                  "an array is named twice among the results; name each once");
    }
  }
  template <class From, class To>
  static void check(std::string_view operation, From const& from, To const& to, std::size_t count) {
    auto const refuse = [&](std::string const& sentence) {
      throw error(errc::invalid_argument, from.state().job_rank(), operation, sentence);
    };
    auto const text = [](auto const& a) {
      return detail::array_text(a.extents(), a.shape().halos(), a.layout());
    };
    if (static_cast<void const*>(&from.state()) == static_cast<void const*>(&to.state())) {
      refuse("the two arrays are one; make a second array for the results");
    }
    if (from.extents() != to.extents() || from.own_box() != to.own_box()) {
      refuse("this rank owns other cells in an array of " + text(from) + " than in one of " + text(to) +
             "; give both the same extents and layout");
    }
    if (steps(from) < count) {
      refuse("an array of " + text(from) + " has too few ghost cells for " + std::to_string(count) +
             " steps of a stencil that reaches " + detail::joined(before, " x ") + " cells before one and " +
             detail::joined(after, " x ") + " behind it; make it with a wider halo");
    }
    std::size_t reached = 0;
    bool no_image = false;
    for (std::size_t d = 0; d < dimensions; ++d) {
      reached += before[d] != 0 || after[d] != 0 ? 1 : 0;
      // Each rank has computed the cells whose image it needs, even if it owns only one cell.
      bool const has_image = before[d] <= after[d] + 1 && after[d] <= before[d] + 1 &&
                             std::max(before[d], after[d]) <= from.extent(d);
      no_image = no_image || (mirror::has_mirror(from, d) && !has_image);
    }
    if ((is_diagonal || (count > 1 && reached > 1)) && !from.shape().halos().corners()) {
      refuse("an array of " + text(from) + " lacks corners that the stencil reads; make it with corners");
    }
    if (count > 1 && no_image && from.size() != 0) {
      refuse("several steps at once need mirror images at a reflecting edge of " + text(from) +
             ", but not all ranks compute them for a stencil that reaches " + detail::joined(before, " x ") +
             " cells before one and " + detail::joined(after, " x ") + " behind it; take one step at a time");
    }
  }
};

}  // namespace PGAS_NAMESPACE
