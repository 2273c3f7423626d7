// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/array/part_box.hpp>
#include <pgas/exchange_halos.hpp>
#include <tuple>

namespace pgas::inline PGAS_ASSERTIONS {

/// A neighbour of a cell, as steps in each dimension: `offset<-1, 0>` is the cell above.
template <std::ptrdiff_t... Steps>
struct offset {
  static_assert(sizeof...(Steps) >= 1 && sizeof...(Steps) <= 4, "offset: arrays have one to four dimensions");
  /// The number of dimensions.
  static constexpr std::size_t dimensions = sizeof...(Steps);
  /// The steps; negative ones go to smaller indices.
  static constexpr std::array<std::ptrdiff_t, dimensions> steps{Steps...};
};

/// Whether a type is an offset.
template <class O>
inline constexpr bool is_offset = false;
template <std::ptrdiff_t... Steps>
inline constexpr bool is_offset<offset<Steps...>> = true;

namespace detail {

/// Memory in N dimensions, the last one contiguous: a pointer to the first own cell, and the distances to
/// neighbours.
template <class T, std::size_t N>
struct strided_memory {
  T* first;
  std::array<std::ptrdiff_t, N> pitches;

  [[nodiscard]] constexpr T* at(std::array<std::ptrdiff_t, N> const& index) const noexcept {
    std::ptrdiff_t sum = index[N - 1];
    for (std::size_t d = 0; d + 1 < N; ++d) sum += index[d] * pitches[d];
    return first + sum;
  }
};

/// The memory of a span, a matrix_view or a box_view.
template <std::size_t N, class View>
constexpr auto memory_of(View const& v) noexcept {
  if constexpr (N == 1) {
    return strided_memory<std::remove_reference_t<decltype(*v.data())>, 1>{v.data(), {1}};
  } else {
    strided_memory<std::remove_reference_t<decltype(*v.data_handle())>, N> memory{v.data_handle(), {}};
    for (std::size_t d = 0; d < N; ++d) memory.pitches[d] = v.stride(d);
    return memory;
  }
}

/// Whether all elements of a tuple are arrays of N dimensions whose ranks own one box each: the fields of a stencil.
template <class Fields, std::size_t N>
inline constexpr bool are_fields = false;
template <class... Fields, std::size_t N>
  requires(sizeof...(Fields) > 0 && (any_global_array<Fields> && ...))
inline constexpr bool are_fields<std::tuple<Fields...>, N> =
    ((std::remove_cvref_t<Fields>::dimensions == N &&
      box_layout<typename std::remove_cvref_t<Fields>::layout_type>)&&...);

}  // namespace detail

/// The neighbours on which a cell's new value depends, known at compile time: `stencil<offset<0, 0>,
/// offset<-1, 0>, offset<1, 0>>`.
///
/// A kernel takes one value per offset, in the order of the offsets, and returns the cell's new value. It is
/// called once per cell in an unspecified order, and must neither throw nor touch the arrays. It is a lambda
/// or another function object.
/// The loop over a row is that of hand-written code: no index is computed and no branch taken per cell.
/// Compilers vectorize it if the kernel allows.
///
/// Several coupled fields take one sweep: `apply(std::tie(u, v), std::tie(next_u, next_v), kernel)`. The kernel then
/// takes one std::array per source field, with one value per offset, and returns a std::tuple with one value per
/// result field. Compilers know that results and sources are different memory, which loops over views do not tell.
/// DASH: StencilSpec.
template <class... Offsets>
  requires(sizeof...(Offsets) > 0 && (is_offset<Offsets> && ...))
class stencil {
 public:
  /// The number of dimensions of the offsets.
  static constexpr std::size_t dimensions = std::max({Offsets::dimensions...});
  static_assert(((Offsets::dimensions == dimensions) && ...),
                "stencil: all offsets must have the same number of dimensions");
  /// The number of offsets: of the values of a field that a kernel takes.
  static constexpr std::size_t offsets = sizeof...(Offsets);
  using index_type = std::array<std::size_t, dimensions>;
  using part_box_type = part_box<dimensions>;

  /// The reach before and behind a cell in each dimension: the halo that the stencil needs.
  static constexpr index_type before = [] {
    index_type most{};
    for (std::size_t d = 0; d < dimensions; ++d) {
      for (std::ptrdiff_t s : {Offsets::steps[d]...})
        most[d] = std::max(most[d], s < 0 ? std::size_t(0) - std::size_t(s) : 0);
    }
    return most;
  }();
  /// The reach behind a cell in each dimension.
  static constexpr index_type after = [] {
    index_type most{};
    for (std::size_t d = 0; d < dimensions; ++d) {
      for (std::ptrdiff_t s : {Offsets::steps[d]...}) most[d] = std::max(most[d], s > 0 ? std::size_t(s) : 0);
    }
    return most;
  }();
  /// Whether a neighbour differs in two dimensions at once, so that the stencil needs ghost cells in corners.
  static constexpr bool is_diagonal = [] {
    auto const moves = [](auto const& steps) {
      return std::count_if(steps.begin(), steps.end(), [](std::ptrdiff_t s) { return s != 0; });
    };
    return ((moves(Offsets::steps) > 1) || ...);
  }();

  /// The number of steps that one exchange of an array's ghost cells lasts for.
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
      auto const [first, end] = range_of(a, d);
      cells.first[d] = std::max(cells.first[d], first);
      cells.end[d] = std::min(cells.end[d], end);
    }
    return cells;
  }

  /// Stores the kernel's value for each of these cells of `to`, from the cell's neighbours in `from`. Both
  /// are plain memory of one shape, as stage gives it, or views of it; they must be different memory. Local.
  template <class From, class To, class Kernel>
  static void sweep(From const& from, To const& to, part_box_type const& cells, Kernel kernel) {
    static_assert(
        !std::is_pointer_v<Kernel>,
        "stencil: pass a lambda or a function object; a function pointer is called for each cell, which keeps "
        "compilers from vectorizing the loop. Write [](auto... u) { return f(u...); } in place of f");
    if (cells.empty()) return;
    auto const in = detail::memory_of<dimensions>(from);
    auto const out = detail::memory_of<dimensions>(to);
    sweep_from<0>(in.at(cells.first), in.pitches, out.at(cells.first), out.pitches, cells.counts(), kernel);
  }

  /// Stores the values of a kernel of several fields for each of these cells of all `to`, from the cell's neighbours in
  /// all `from`. All must be different memory of one shape. Local. Otherwise like sweep of one field.
  template <class... From, class... To, class Kernel>
  static void sweep(std::tuple<From...> const& from, std::tuple<To...> const& to, part_box_type const& cells,
                    Kernel kernel) {
    if (cells.empty()) return;
    [&]<std::size_t... f, std::size_t... t>(std::index_sequence<f...>, std::index_sequence<t...>) {
      auto const in = std::tuple(detail::memory_of<dimensions>(std::get<f>(from))...);
      auto const out = std::tuple(detail::memory_of<dimensions>(std::get<t>(to))...);
      std::array<std::array<std::ptrdiff_t, offsets>, sizeof...(From)> const distances{
          distances_to_neighbours(std::get<f>(in).pitches)...};
      auto outer = cells.counts();
      outer.back() = 1;
      index_type row{};
      do {
        auto at = cells.first;
        for (std::size_t d = 0; d < dimensions; ++d) at[d] += static_cast<std::ptrdiff_t>(row[d]);
        results<std::remove_reference_t<decltype(*std::get<t>(out).first)>...>::sweep_row(
            std::index_sequence<t...>{}, std::index_sequence<f...>{}, cells.counts().back(), kernel, distances,
            std::get<t>(out).at(at)..., std::get<f>(in).at(at)...);
      } while (detail::advance(row, outer));
    }(std::index_sequence_for<From...>{}, std::index_sequence_for<To...>{});
  }

  /// Exchanges the halo of `from`, and stores the kernel's value for each own cell of `to`, from the cell's
  /// neighbours in `from`. Cells that need no other rank's ghost cells are computed during the exchange.
  ///
  /// Collective like begin_exchange. Complete on this rank when the call returns. All own cells of `to` are
  /// overwritten. Ghost cells beyond a fixed edge have the values that the program stored there; see
  /// set_edges.
  /// Throws errc::invalid_argument if the halo of `from` is narrower than the stencil or lacks needed
  /// corners, if both are one array, or if a rank owns other cells in `to` than in `from`.
  /// Costs an exchange; the rank waits for its rest only after the inner cells are computed.
  template <any_global_array From, any_global_array To, class Kernel>
    requires(From::dimensions == dimensions && To::dimensions == dimensions && box_layout<typename From::layout_type> &&
             box_layout<typename To::layout_type>)
  static void apply(From const& from, To const& to, Kernel kernel) {
    check("stencil::apply", from, to, 1);
    exchange_and_sweep(from, to, write_only, own_cells(from), kernel);
  }

  /// Applies the stencil to several coupled fields: exchanges the halos of all `from` at once, and stores the kernel's
  /// values for each own cell of all `to`: `apply(std::tie(u, v), std::tie(next_u, next_v), kernel)`.
  ///
  /// Otherwise like apply of one field; all fields have the same extents and layout, and all `from` the same halo.
  /// Throws errc::invalid_argument also if an array is named twice. Costs the puts of all fields, and one
  /// post/start/complete/wait round.
  template <class... From, class... To, class Kernel>
    requires(detail::are_fields<std::tuple<From...>, dimensions> && detail::are_fields<std::tuple<To...>, dimensions>)
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
      with_staged(from, read_only, [&](auto const& in) { sweep(in, out, inner, kernel); });
      pending.finish();
      with_staged(from, read_only, [&](auto const& in) {
        for_each_around(cells, inner, [&](part_box_type const& around) { sweep(in, out, around, kernel); });
      });
    });
  }

  /// Applies the stencil `count` times with one exchange, alternating between `now` and `next`. The two are
  /// swapped after each step, so that the result is in `now`. Near its own cells a rank also computes cells
  /// of other ranks.
  ///
  /// Both arrays need a halo `count` times as wide as the stencil, with corners, and the same edges. Fixed
  /// edges must be set in both.
  /// Throws errc::invalid_argument otherwise. With several steps at a reflecting edge, whose image is made
  /// anew after each step, it also throws in two cases: the stencil reaches over one cell farther on one side
  /// than on the other, or farther than the array is long.
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
      if (has_mirror(now)) reflect(now, cells_before(now, left + 1), cells_before(now, left));
      auto const in = stage(now, read_only);
      auto const out = stage(next, read_write);
      sweep(in.view(), out.view(), cells_before(now, left), kernel);
    }
  }

 private:
  using pitches_type = std::array<std::ptrdiff_t, dimensions>;

  template <class From, class To, hints Mode, class Kernel>
  static void exchange_and_sweep(From const& from, To const& to, hint<Mode> mode, part_box_type const& cells,
                                 Kernel const& kernel) {
    auto const inner = inner_cells(from, before, after);
    auto pending = detail::start_exchange(from);
    auto const out = stage(to, mode);
    {
      auto const in = stage(from, read_only);
      sweep(in.view(), out.view(), inner, kernel);
    }
    pending.finish();
    auto const in = stage(from, read_only);
    for_each_around(cells, inner, [&](part_box_type const& around) { sweep(in.view(), out.view(), around, kernel); });
  }

  /// The first and the last index of the array along a dimension, counted from this rank's first own cell.
  template <class Array>
  static constexpr std::pair<std::ptrdiff_t, std::ptrdiff_t> range_of(Array const& a, std::size_t d) noexcept {
    auto const first = -static_cast<std::ptrdiff_t>(a.own_box().first[d]);
    return {first, first + static_cast<std::ptrdiff_t>(a.extent(d))};
  }
  /// Whether the stencil reads cells beyond a reflecting edge of dimension d, or of any dimension.
  template <class Array>
  static constexpr bool has_mirror(Array const& a, std::size_t d) noexcept {
    return (before[d] != 0 || after[d] != 0) && a.shape().halo(d).edges == edge::reflecting;
  }
  template <class Array>
  static constexpr bool has_mirror(Array const& a) noexcept {
    for (std::size_t d = 0; d < dimensions; ++d) {
      if (has_mirror(a, d)) return true;
    }
    return false;
  }
  /// Copies freshly computed cells to their mirror images, as far as the next step reads them.
  template <class Array>
  static void reflect(Array const& a, part_box_type done, part_box_type const& next) {
    if (next.empty()) return;
    auto const cells = stage(a, read_write);
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
      auto const least = next.first[d] - static_cast<std::ptrdiff_t>(before[d]);
      auto const most = next.end[d] + static_cast<std::ptrdiff_t>(after[d]);
      for (auto to = least; to < first; ++to) copy(to, 2 * first - 1 - to);
      for (auto to = end; to < most; ++to) copy(to, 2 * end - 1 - to);
      // Later dimensions copy these images too, which fills the corners.
      if (least < first) done.first[d] = least;
      if (most > end) done.end[d] = most;
    }
  }

  template <class Offset>
  [[gnu::always_inline]] static constexpr std::ptrdiff_t distance(pitches_type const& pitches) noexcept {
    std::ptrdiff_t sum = Offset::steps[dimensions - 1];
    for (std::size_t d = 0; d + 1 < dimensions; ++d) sum += Offset::steps[d] * pitches[d];
    return sum;
  }

  /// The loop nest from dimension d inwards. It is inlined, so that distances stay in registers and the
  /// kernel is inlined as well.
  template <std::size_t d, class T, class U, class Kernel>
  [[gnu::always_inline]] static inline void sweep_from(T const* in, pitches_type const& in_pitches, U* out,
                                                       pitches_type const& out_pitches, index_type const& counts,
                                                       Kernel const& kernel) {
    if constexpr (d + 1 == dimensions) {
      sweep_row(out, counts[d], kernel, (in + distance<Offsets>(in_pitches))...);
    } else {
      for (std::size_t i = 0; i < counts[d]; ++i, in += in_pitches[d], out += out_pitches[d]) {
        sweep_from<d + 1>(in, in_pitches, out, out_pitches, counts, kernel);
      }
    }
  }
  /// __restrict: results and sources are different memory; without it no compiler vectorizes the loop.
  template <class U, class Kernel, class... T>
  [[gnu::always_inline]] static inline void sweep_row(U* __restrict out, std::size_t count, Kernel const& kernel,
                                                      T const* __restrict... in) {
    for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<U>(kernel(in[i]...));
  }

  /// Calls use(tuple of views) with all fields staged.
  template <std::size_t k = 0, class... Fields, hints Mode, class Use, class... Views>
  static void with_staged(std::tuple<Fields...> const& fields, hint<Mode> mode, Use const& use, Views const&... views) {
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
        [](auto const&... field) { return std::array<void const*, sizeof...(Fields)>{&field.state()...}; }, fields);
    for (std::size_t k = 1; k < states.size(); ++k) {
      if (std::find(states.begin(), states.begin() + k, states[k]) == states.begin() + k) continue;
      throw error(errc::invalid_argument, std::get<0>(fields).state().job_rank(), "stencil::apply",
                  "an array is named twice among the results; name each once");
    }
  }
  static constexpr std::array<std::ptrdiff_t, offsets> distances_to_neighbours(pitches_type const& pitches) noexcept {
    return {distance<Offsets>(pitches)...};
  }
  template <class T, std::size_t... k>
  [[gnu::always_inline]] static inline std::array<T, offsets> neighbours(
      T const* cell, std::array<std::ptrdiff_t, offsets> const& distances, std::index_sequence<k...>) noexcept {
    return {cell[distances[k]]...};
  }
  /// The row loop of several fields. No lambda captures the pointers: g++ would forget that they are __restrict.
  template <class... U>
  struct results {
    template <std::size_t... t, std::size_t... f, class Kernel, class Distances, class... T>
    [[gnu::always_inline]] static inline void sweep_row(std::index_sequence<t...>, std::index_sequence<f...>,
                                                        std::size_t count, Kernel const& kernel,
                                                        Distances const& distances, U* __restrict... out,
                                                        T const* __restrict... in) {
      for (std::size_t i = 0; i < count; ++i) {
        auto const values = kernel(neighbours(in + i, distances[f], std::make_index_sequence<offsets>{})...);
        ((out[i] = static_cast<U>(std::get<t>(values))), ...);
      }
    }
  };

  template <class From, class To>
  static void check(std::string_view operation, From const& from, To const& to, std::size_t count) {
    auto const refuse = [&](std::string const& sentence) {
      throw error(errc::invalid_argument, from.state().job_rank(), operation, sentence);
    };
    auto const text = [](auto const& a) { return detail::array_text(a.extents(), a.shape().halos(), a.layout()); };
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
      bool const has_image =
          before[d] <= after[d] + 1 && after[d] <= before[d] + 1 && std::max(before[d], after[d]) <= from.extent(d);
      no_image = no_image || (has_mirror(from, d) && !has_image);
    }
    if ((is_diagonal || (count > 1 && reached > 1)) && !from.shape().halos().corners()) {
      refuse("an array of " + text(from) + " lacks corners that the stencil reads; make it with corners");
    }
    if (count > 1 && no_image && from.size() != 0) {
      refuse("several steps at once need mirror images at a reflecting edge of " + text(from) +
             ", and not all ranks compute them for a stencil that reaches " + detail::joined(before, " x ") +
             " cells before one and " + detail::joined(after, " x ") + " behind it; take one step at a time");
    }
  }
};

}  // namespace pgas::inline PGAS_ASSERTIONS
