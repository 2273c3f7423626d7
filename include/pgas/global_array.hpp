// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/array_shape.hpp>
#include <pgas/epoch.hpp>
#include <pgas/halo_plan.hpp>
#include <pgas/matrix_view.hpp>
#include <pgas/stage.hpp>
#include <string>

namespace pgas::inline PGAS_ASSERTIONS {

/// An array of one or two dimensions, distributed by blocks of the first, with ghost cells around each part.
///
/// A window with a shape: epochs open on `window()`, elements are named by global index, own ones are
/// accessed in place. One rank's handle; moves, swaps. Make one with make_array. DASH: Array, NArray;
/// Global Arrays: GA_Create_ghosts.
template <transportable T, std::size_t N, backend Backend, coherence_policy Coherence, protocol_bundle Protocols>
class global_array {
 public:
  using value_type = T;
  using window_type = pgas::window<T, Backend, Coherence, Protocols>;
  using index_type = std::array<std::size_t, N>;
  static constexpr std::size_t dimensions = N;

  global_array(window_type w, array_shape<N> const& shape)
      : window_(std::move(w)), shape_(shape), plan_(shape, window_.rank()) {}

  /// The memory behind it: what epochs open on.
  [[nodiscard]] window_type const& window() const noexcept { return window_; }
  [[nodiscard]] array_shape<N> const& shape() const noexcept { return shape_; }
  [[nodiscard]] halo_plan const& plan() const noexcept { return plan_; }

  [[nodiscard]] rank_t rank() const noexcept { return window_.rank(); }
  [[nodiscard]] rank_t ranks() const noexcept { return window_.ranks(); }
  /// Elements in a dimension of the whole array.
  [[nodiscard]] std::size_t extent(std::size_t dimension) const noexcept { return shape_.extents()[dimension]; }
  /// The first row that this rank owns, and how many it does; a row of a one-dimensional array is an element.
  [[nodiscard]] std::size_t first_row() const noexcept { return shape_.rows().first(rank()); }
  [[nodiscard]] std::size_t local_rows() const noexcept { return shape_.rows().local_size(rank()); }

  /// The rank that owns an element.
  [[nodiscard]] rank_t owner(index_type const& i) const {
    check(i, "owner");
    return shape_.owner(i);
  }
  /// Names an element: `epoch[array.at({i, j})].load()`.
  [[nodiscard]] global_ptr<T> at(index_type const& i) const {
    check(i, "at");
    return {shape_.owner(i), static_cast<std::int64_t>(shape_.offset(i))};
  }

  /// This rank's own elements, in place; index 0 is the first own one, ghost cells are around. A view of plain memory
  /// where that is what it is, else of references through this rank's cache: stage gives real memory everywhere.
  [[nodiscard]] auto local() const {
    if constexpr (window_type::is_contiguous) {
      return view_of(window_.local().data());
    } else {
      return view_of(window_.local());
    }
  }

  /// Puts `values`, row by row, into a box of the array, whoever owns it, through an epoch open on window(). One-sided.
  template <class Epoch>
  void put(Epoch& epoch, box<N> const& where, std::span<T const> values) const {
    check(where, values.size(), "put");
    for_each_owner(where, [&](rank_t owner, rows_of rows, std::size_t first) {
      epoch.to(owner).put(rows, values.subspan(first, rows.size()));
    });
  }
  /// Gets a box of the array, whoever owns it, into `values`, row by row. One-sided; complete after flush_local or
  /// close.
  template <class Epoch>
  void get(Epoch& epoch, box<N> const& where, std::span<T> values) const {
    check(where, values.size(), "get");
    for_each_owner(where, [&](rank_t owner, rows_of rows, std::size_t first) {
      epoch.to(owner).get(rows, values.subspan(first, rows.size()));
    });
  }

  /// Views of own elements over other memory of the same form, for stage.
  template <class Elements>
  [[nodiscard]] auto view_of(Elements elements) const {
    auto extents = shape_.extents();
    extents[0] = local_rows();
    return matrix_view<Elements, N>(elements, local_rows() == 0 ? 0 : shape_.origin(), extents, shape_.pitch());
  }

  friend void swap(global_array& a, global_array& b) noexcept {
    std::swap(a.window_, b.window_);
    std::swap(a.shape_, b.shape_);
    std::swap(a.plan_, b.plan_);
  }

 private:
  void check(index_type const& i, std::string_view operation) const {
    PGAS_EXPECTS(normal, shape_.contains(i), refuse(operation, i, index_type{}));
  }
  void check(box<N> const& where, std::size_t values, std::string_view operation) const {
    if constexpr (assertions >= assertion_level::light) {
      std::size_t size = 1;
      for (std::size_t d = 0; d < N; ++d) {
        if (!detail::fits(where.first[d], where.extent[d], extent(d))) refuse(operation, where.first, where.extent);
        size *= where.extent[d];
      }
      if (size != values) {
        throw error(errc::invalid_argument, rank(), operation,
                    std::to_string(values) + " values given for a box of " + std::to_string(size));
      }
    }
  }
  [[noreturn]] void refuse(std::string_view operation, index_type const& first, index_type const& count) const {
    auto const text = [](index_type const& numbers) {
      std::string all;
      for (std::size_t number : numbers) all += (all.empty() ? "" : ", ") + std::to_string(number);
      return "(" + all + ")";
    };
    throw error(errc::out_of_range, rank(), operation,
                (count == index_type{} ? "element " + text(first) : "a box of " + text(count) + " at " + text(first)) +
                    " is not in the array of " + text(shape_.extents()));
  }

  /// Calls use(owner, rows in the owner's part, first value) for the piece of the box that each rank owns.
  template <class Use>
  void for_each_owner(box<N> const& where, Use&& use) const {
    std::size_t const cols = N == 1 ? 1 : where.extent[N - 1];
    if (cols == 0) return;
    auto const& rows = shape_.rows();
    std::size_t const end = where.first[0] + where.extent[0];
    for (std::size_t row = where.first[0]; row < end;) {
      rank_t const owner = rows.owner(row);
      std::size_t const count = std::min(end, rows.first(owner) + rows.local_size(owner)) - row;
      index_type at = where.first;
      at[0] = row;
      std::size_t const first = (row - where.first[0]) * cols;
      if constexpr (N == 1) {
        use(owner, rows_of{.first = shape_.offset(at), .rows = 1, .cols = count, .pitch = count}, first);
      } else {
        use(owner, rows_of{.first = shape_.offset(at), .rows = count, .cols = cols, .pitch = shape_.pitch()}, first);
      }
      row += count;
    }
  }

  window_type window_;
  array_shape<N> shape_;
  halo_plan plan_;
};

/// Makes an array of these extents, all bytes zero, with ghost cells as `ghosts` says: `make_array<double, 2>(team,
/// {rows, cols}, halo{.width = 1})`.
///
/// Collective over the team. Extents may be zero, and fewer than there are ranks.
/// Throws errc::mismatch when ranks ask for different shapes, errc::no_space when the memory is not there; then
/// on every rank.
template <transportable T, std::size_t N, backend Backend, coherence_policy Coherence, protocol_bundle Protocols>
[[nodiscard]] auto make_array(team<Backend, Coherence, Protocols> team, std::array<std::size_t, N> const& extents,
                              halo ghosts = {}) {
  array_shape<N> const shape(extents, ghosts, team.size());
  struct offer {
    std::array<std::size_t, N> extents;
    halo ghosts;
  };
  rank_t other = -1;
  offer first{};
  offer theirs{};
  team.state()->collectives.all_gather(offer{extents, ghosts}, "make_array", [&](rank_t rank, offer const& given) {
    if (rank == 0) first = given;
    if (other < 0 && !(given.extents == first.extents && given.ghosts == first.ghosts)) {
      other = rank;
      theirs = given;
    }
  });
  if (other >= 0) {
    auto const text = [](offer const& o) {
      std::string all;
      for (std::size_t extent : o.extents) all += (all.empty() ? "" : " x ") + std::to_string(extent);
      return all + " with a " + (o.ghosts.edges == edge::periodic ? "periodic" : "fixed") + " halo of width " +
             std::to_string(o.ghosts.width);
    };
    throw error(errc::mismatch, team.world_rank(team.rank()), "make_array",
                "rank " + std::to_string(other) + " makes an array of " + text(theirs) + ", rank 0 one of " +
                    text(first) + "; all must make the same");
  }
  return global_array<T, N, Backend, Coherence, Protocols>(make_window<T>(team, shape.part_size(team.rank())), shape);
}

/// The same for one dimension: `make_array<double>(team, n)`.
template <transportable T, backend Backend, coherence_policy Coherence, protocol_bundle Protocols>
[[nodiscard]] auto make_array(team<Backend, Coherence, Protocols> const& team, std::size_t extent, halo ghosts = {}) {
  return make_array<T, 1>(team, std::array<std::size_t, 1>{extent}, ghosts);
}

namespace detail {

template <class T>
inline constexpr bool is_global_array = false;
template <class T, std::size_t N, class B, class C, class P>
inline constexpr bool is_global_array<global_array<T, N, B, C, P>> = true;

/// A rank's part of an array, ghost cells included, as real memory.
template <class Mode, class Array>
class staged_array {
  // Ghost cells are not overwritten by who overwrites all own cells: then only what changed goes back.
  using part_mode = std::conditional_t<std::is_same_v<Mode, write>, update, Mode>;
  using staged_type = staged<part_mode, typename Array::window_type>;

 public:
  explicit staged_array(Array const& a) : part_(a.window(), 0, a.window().size()), view_(a.view_of(part_.data())) {}

  /// The own elements and their ghost cells; see matrix_view.
  [[nodiscard]] auto const& view() const noexcept { return view_; }
  template <class... Index>
  [[nodiscard]] decltype(auto) operator()(Index... i) const {
    return view_(static_cast<std::ptrdiff_t>(i)...);
  }

 private:
  staged_type part_;
  matrix_view<typename staged_type::element*, Array::dimensions> view_;
};

}  // namespace detail

/// Gives this rank's part of an array, ghost cells included, as real memory on every backend: `auto u =
/// stage<pgas::read>(array); u(i, j)`. Free where memory is plain; else two copies. Local.
template <class Mode, class Array>
  requires detail::is_global_array<Array>
[[nodiscard]] auto stage(Array const& a) {
  return detail::staged_array<Mode, Array>(a);
}

}  // namespace pgas::inline PGAS_ASSERTIONS
