// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <pgas/array/part_box.hpp>
#include <pgas/array/stencil_reach.hpp>
#include <pgas/vocabulary/expects.hpp>
#include <tuple>
#include <type_traits>
#include <utility>

namespace PGAS_NAMESPACE::detail {

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

}  // namespace PGAS_NAMESPACE::detail

namespace PGAS_NAMESPACE {

/// The loops of a stencil over memory of this rank. They use no array and no other rank.
template <class... Offsets>
class stencil_sweep : public stencil_reach<Offsets...> {
  using reach = stencil_reach<Offsets...>;

 public:
  using reach::dimensions;
  using reach::offsets;
  using typename reach::index_type;
  using part_box_type = part_box<dimensions>;

  /// Stores the kernel's value for each of these cells of `to`, from the cell's neighbours in `from`. Both
  /// are plain memory of one shape, as stage gives it, or views of it; they must be different memory. Local.
  template <class From, class To, class Kernel>
  static void sweep(From const& from, To const& to, part_box_type const& cells, Kernel kernel) {
    sweep_here(from, to, cells, kernel);
  }

  /// Stores the values of a kernel of several fields for each of these cells of all `to`, from the cell's
  /// neighbours in all `from`. All must be different memory of one shape. Local. Otherwise like sweep of one
  /// field.
  template <class... From, class... To, class Kernel>
  static void sweep(std::tuple<From...> const& from, std::tuple<To...> const& to, part_box_type const& cells,
                    Kernel kernel) {
    sweep_here(from, to, cells, kernel);
  }

 protected:
  /// Like sweep of one field, or of several, by registers of 32 bytes if this processor has them.
  /// Results are the same, since no operation is fused. Costs a call.
  template <class From, class To, class Kernel>
  static void sweep_widely(From const& from, To const& to, part_box_type const& cells, Kernel const& kernel) {
#if defined(__x86_64__) && !defined(__AVX2__)
    if (__builtin_cpu_supports("avx2")) return sweep_in_32(from, to, cells, kernel);
#endif
    sweep_in_default(from, to, cells, kernel);
  }

 private:
  using pitches_type = std::array<std::ptrdiff_t, dimensions>;

#if defined(__x86_64__) && !defined(__AVX2__)
  /// By registers of 32 bytes.
  template <class From, class To, class Kernel>
  [[gnu::noinline, gnu::target("avx2")]] static void sweep_in_32(From const& from, To const& to,
                                                                 part_box_type const& cells,
                                                                 Kernel const& kernel) {
    sweep_here(from, to, cells, kernel);
  }
#endif
  /// By the registers for which the program is compiled.
  template <class From, class To, class Kernel>
  [[gnu::noinline]] static void sweep_in_default(From const& from, To const& to, part_box_type const& cells,
                                                 Kernel const& kernel) {
    sweep_here(from, to, cells, kernel);
  }

  template <class From, class To, class Kernel>
  [[gnu::always_inline]] static inline void sweep_here(From const& from, To const& to,
                                                       part_box_type const& cells, Kernel const& kernel) {
    static_assert(
        !std::is_pointer_v<Kernel>,
        "stencil: pass a lambda or a function object; a function pointer is called for each cell, which "
        "keeps "
        "compilers from vectorizing the loop. Write [](auto... u) { return f(u...); } in place of f");
    if (cells.empty()) return;
    auto const in = detail::memory_of<dimensions>(from);
    auto const out = detail::memory_of<dimensions>(to);
    sweep_from<0>(in.at(cells.first), in.pitches, out.at(cells.first), out.pitches, cells.counts(), kernel);
  }
  template <class... From, class... To, class Kernel>
  [[gnu::always_inline]] static inline void sweep_here(std::tuple<From...> const& from,
                                                       std::tuple<To...> const& to,
                                                       part_box_type const& cells, Kernel const& kernel) {
    sweep_fields(std::index_sequence_for<From...>{}, std::index_sequence_for<To...>{}, from, to, cells,
                 kernel);
  }
  template <std::size_t... f, std::size_t... t, class From, class To, class Kernel>
  [[gnu::always_inline]] static inline void sweep_fields(std::index_sequence<f...> sources,
                                                         std::index_sequence<t...> fields, From const& from,
                                                         To const& to, part_box_type const& cells,
                                                         Kernel const& kernel) {
    if (cells.empty()) return;
    auto const in = std::tuple(detail::memory_of<dimensions>(std::get<f>(from))...);
    auto const out = std::tuple(detail::memory_of<dimensions>(std::get<t>(to))...);
    results<std::remove_reference_t<decltype(*std::get<t>(out).first)>...>::template sweep_from<0>(
        fields, sources, cells.counts(), kernel, {std::get<t>(out).pitches...}, {std::get<f>(in).pitches...},
        std::get<t>(out).at(cells.first)..., std::get<f>(in).at(cells.first)...);
  }

  /// The elements from a cell to its neighbour, a constant where the neighbour is in the same row: a compiler
  /// then loads one memory for neighbours of several cells.
  template <class Offset, std::size_t... d>
  [[gnu::always_inline]] static constexpr std::ptrdiff_t distance(
      pitches_type const& pitches, std::index_sequence<d...> /*but the last dimension*/) noexcept {
    return ((Offset::steps[d] * pitches[d]) + ... + Offset::steps[dimensions - 1]);
  }
  template <class Offset, class T>
  [[gnu::always_inline]] static T const& neighbour(T const* cell, pitches_type const& pitches) noexcept {
    return cell[distance<Offset>(pitches, std::make_index_sequence<dimensions - 1>{})];
  }

  /// The loop nest from dimension d inwards. It is inlined, so that distances stay in registers and the
  /// kernel is inlined as well.
  template <std::size_t d, class T, class U, class Kernel>
  [[gnu::always_inline]] static inline void sweep_from(T const* in, pitches_type const& in_pitches, U* out,
                                                       pitches_type const& out_pitches,
                                                       index_type const& counts, Kernel const& kernel) {
    if constexpr (d + 1 == dimensions) {
      constexpr auto but_the_last = std::make_index_sequence<dimensions - 1>{};
      sweep_row(out, counts[d], kernel, (in + distance<Offsets>(in_pitches, but_the_last))...);
    } else {
      for (std::size_t i = 0; i < counts[d]; ++i, in += in_pitches[d], out += out_pitches[d]) {
        sweep_from<d + 1>(in, in_pitches, out, out_pitches, counts, kernel);
      }
    }
  }
  /// __restrict states that results and sources are different memory; without it no compiler vectorizes the
  /// loop. Each neighbour has its own pointer: with one pointer g++ keeps loaded vectors for the next cells,
  /// which saves no instructions.
  template <class U, class Kernel, class... T>
  [[gnu::always_inline]] static inline void sweep_row(U* __restrict out, std::size_t count,
                                                      Kernel const& kernel, T const* __restrict... in) {
    for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<U>(kernel(in[i]...));
  }

  template <class T>
  [[gnu::always_inline]] static inline std::array<T, offsets> neighbours(
      T const* cell, pitches_type const& pitches) noexcept {
    return {neighbour<Offsets>(cell, pitches)...};
  }
  /// The row loop of several fields. No lambda captures the pointers: g++ would forget that they are
  /// __restrict.
  template <class... U>
  struct results {
    template <std::size_t d, std::size_t... t, std::size_t... f, class Kernel, class... T>
    [[gnu::always_inline]] static inline void sweep_from(
        std::index_sequence<t...> results, std::index_sequence<f...> sources, index_type const& counts,
        Kernel const& kernel, std::array<pitches_type, sizeof...(t)> const& out_pitches,
        std::array<pitches_type, sizeof...(f)> const& in_pitches, U*... out, T const*... in) {
      if constexpr (d + 1 == dimensions) {
        sweep_row(results, sources, counts[d], kernel, in_pitches, out..., in...);
      } else {
        for (std::size_t i = 0; i < counts[d]; ++i) {
          sweep_from<d + 1>(results, sources, counts, kernel, out_pitches, in_pitches, out..., in...);
          ((out += out_pitches[t][d]), ...);
          ((in += in_pitches[f][d]), ...);
        }
      }
    }
    template <std::size_t... t, std::size_t... f, class Kernel, class... T>
    [[gnu::always_inline]] static inline void sweep_row(std::index_sequence<t...> /*results*/,
                                                        std::index_sequence<f...> /*sources*/,
                                                        std::size_t count, Kernel const& kernel,
                                                        std::array<pitches_type, sizeof...(f)> const& pitches,
                                                        U* __restrict... out, T const* __restrict... in) {
      for (std::size_t i = 0; i < count; ++i) {
        auto const values = kernel(neighbours(in + i, pitches[f])...);
        ((out[i] = static_cast<U>(std::get<t>(values))), ...);
      }
    }
  };
};

}  // namespace PGAS_NAMESPACE
