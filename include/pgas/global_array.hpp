// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <pgas/array/any_global_array.hpp>
#include <pgas/array/box_view.hpp>
#include <pgas/array/halo_plan.hpp>
#include <pgas/array/offer.hpp>
#include <pgas/array/shape.hpp>
#include <pgas/detail/array/blocks.hpp>
#include <pgas/detail/array/state.hpp>
#include <pgas/detail/types/anything.hpp>
#include <pgas/window.hpp>
#include <span>
#include <utility>

namespace PGAS_NAMESPACE {

/// An array of N dimensions, distributed over the ranks of a team by its layout. The default layout is blocks
/// of dimension 0. A halo adds ghost cells around each rank's part.
///
/// An array is a window with a shape: open epochs on the array itself, `pgas::fence epoch{array};`, and name
/// cells by their global indices. The object is one rank's handle. It moves, so that two arrays can be
/// swapped, also while an epoch is open. Its destructor is local and never blocks. Make one with make_array.
/// MPI: MPI_Win_allocate and a Cartesian communicator; Global Arrays: ga_create.
template <transportable T, std::size_t N, layout<N> Layout, backend Backend, coherence_policy Coherence,
          protocol_bundle Protocols>
class global_array {
 public:
  using value_type = T;
  using layout_type = Layout;
  using shape_type = array_shape<N, Layout>;
  using index_type = std::array<std::size_t, N>;
  using box_type = box<N>;
  using window_type = pgas::window<T, Backend, Coherence, Protocols>;
  using state_type = detail::array_state<T, N, Layout, Backend, Coherence, Protocols>;

  using protocols_type = Protocols;

  /// The number of dimensions.
  static constexpr std::size_t dimensions = N;
  /// True if local() is plain memory.
  static constexpr bool is_contiguous = window_type::is_contiguous;

  /// For make_array.
  explicit global_array(detail::local_shared_ptr<state_type> state)
      : state_(std::move(state)), window_(state_), shape_(state_->shape) {
    if constexpr (matrix_layout<Layout>) {
      own_ = layout().local_extents(rank());
      if (box_type{{}, own_}.size() != 0) own_place_ = {layout().origin(rank()), layout().pitches(rank())};
    }
    if constexpr (box_layout<Layout>) {
      first_ = layout().box_of(rank()).first;
      plan_ = halo_plan<N>(shape_, rank());
    }
  }
  global_array(global_array&&) noexcept = default;
  global_array& operator=(global_array&&) noexcept = default;

  /// This rank's number in the array's team.
  [[nodiscard]] rank_t rank() const noexcept { return window_.rank(); }
  /// The number of ranks of the team.
  [[nodiscard]] rank_t ranks() const noexcept { return window_.ranks(); }
  /// The extents, the layout and the halos.
  [[nodiscard]] shape_type const& shape() const noexcept { return shape_; }
  /// The layout: which rank owns a cell, and the cell's place in its part.
  [[nodiscard]] Layout const& layout() const noexcept { return shape_.layout(); }
  /// The number of cells in dimension d, on all ranks together.
  [[nodiscard]] std::size_t extent(std::size_t d) const noexcept { return shape_.extent(d); }
  /// The number of cells in each dimension, on all ranks together.
  [[nodiscard]] index_type const& extents() const noexcept { return shape_.extents(); }
  /// The number of cells of the whole array.
  [[nodiscard]] std::size_t size() const noexcept { return box_type{{}, extents()}.size(); }

  /// The first row that this rank owns, and the number of its rows. A row is all cells with one index in
  /// dimension 0.
  [[nodiscard]] std::size_t first_row() const noexcept
    requires box_layout<Layout>
  {
    return first_[0];
  }
  /// The number of rows that this rank owns.
  [[nodiscard]] std::size_t local_rows() const noexcept
    requires matrix_layout<Layout>
  {
    return own_[0];
  }
  /// The number of this rank's own cells along each dimension.
  [[nodiscard]] index_type const& local_extents() const noexcept
    requires matrix_layout<Layout>
  {
    return own_;
  }
  /// The position of the first own cell in this rank's part, and the distances to its neighbours: for views.
  [[nodiscard]] detail::box_in<N> const& local_place() const noexcept
    requires matrix_layout<Layout>
  {
    return own_place_;
  }
  /// The box of cells that this rank, or another one, owns, in global indices.
  [[nodiscard]] box_type own_box() const noexcept
    requires box_layout<Layout>
  {
    return {first_, own_};
  }
  /// The cells that `rank` owns, in global indices. Throws errc::out_of_range for no rank of the team.
  [[nodiscard]] box_type box_of(rank_t rank, detail::caller by = detail::here()) const
    requires box_layout<Layout>
  {
    window_.state().check_rank(rank, {"box_of", by});
    return shape_.box_of(rank);
  }
  /// The global indices of an own cell, given its indices in local().
  template <std::integral... Indices>
    requires(sizeof...(Indices) == N && matrix_layout<Layout>)
  [[nodiscard]] index_type global_index(Indices... index) const noexcept {
    return layout().global_index(
        rank(), own_place_.first +
                    detail::element_at(index_type{static_cast<std::size_t>(index)...}, own_place_.pitches));
  }

  /// The rank that owns a cell. Throws errc::out_of_range.
  template <std::integral I>
    requires(N == 1)
  [[nodiscard]] rank_t owner(I i, detail::caller by = detail::here()) const {
    return owner(index_of(i), by);
  }
  template <std::integral I, std::integral J>
    requires(N == 2)
  [[nodiscard]] rank_t owner(I i, J j, detail::caller by = detail::here()) const {
    return owner(index_of(i, j), by);
  }
  template <std::integral I, std::integral J, std::integral K>
    requires(N == 3)
  [[nodiscard]] rank_t owner(I i, J j, K k, detail::caller by = detail::here()) const {
    return owner(index_of(i, j, k), by);
  }
  template <std::integral I, std::integral J, std::integral K, std::integral L>
    requires(N == 4)
  [[nodiscard]] rank_t owner(I i, J j, K k, L l, detail::caller by = detail::here()) const {
    return owner(index_of(i, j, k, l), by);
  }
  [[nodiscard]] rank_t owner(index_type const& index, detail::caller by = detail::here()) const {
    check({"owner", by}, index);
    return layout().owner(index);
  }

  /// Names a cell: `epoch[array.at(i, j)].load()`. Throws errc::out_of_range.
  template <std::integral I>
    requires(N == 1)
  [[nodiscard]] global_ptr<T> at(I i, detail::caller by = detail::here()) const {
    return at(index_of(i), by);
  }
  template <std::integral I, std::integral J>
    requires(N == 2)
  [[nodiscard]] global_ptr<T> at(I i, J j, detail::caller by = detail::here()) const {
    return at(index_of(i, j), by);
  }
  template <std::integral I, std::integral J, std::integral K>
    requires(N == 3)
  [[nodiscard]] global_ptr<T> at(I i, J j, K k, detail::caller by = detail::here()) const {
    return at(index_of(i, j, k), by);
  }
  template <std::integral I, std::integral J, std::integral K, std::integral L>
    requires(N == 4)
  [[nodiscard]] global_ptr<T> at(I i, J j, K k, L l, detail::caller by = detail::here()) const {
    return at(index_of(i, j, k, l), by);
  }
  [[nodiscard]] global_ptr<T> at(index_type const& index, detail::caller by = detail::here()) const {
    check({"at", by}, index);
    if constexpr (requires { layout().owner_and_offset(index); }) {
      auto const [owner, offset] = layout().owner_and_offset(index);
      return {owner, static_cast<std::int64_t>(offset)};
    } else {
      return {layout().owner(index), static_cast<std::int64_t>(layout().offset(index))};
    }
  }

  /// This rank's own cells, counted from the first: a span, a matrix_view of two dimensions, or a box_view of
  /// more. If they are not plain memory, ranges of references that go through this rank's cache. Ghost cells
  /// have the indices around them. In cyclic dimensions the indices are local ones: see global_index and
  /// tiles.hpp.
  /// Do not store to own cells while a halo exchange, or another exposure, is pending.
  [[nodiscard]] auto local() const noexcept
    requires matrix_layout<Layout>
  {
    return detail::view_of_own(window_, own_place_.first, own_, own_place_.pitches);
  }

  /// Do not compile: say how cells are reached.
  template <class... Arguments>
  auto operator()(Arguments const&...) const {
    static_assert(detail::always_false<Arguments...>,
                  "global_array: write `pgas::stage(array, pgas::read_write)(i, j)` for own cells, and "
                  "`epoch.get({i, j})` or `epoch.put({i, j}, value)` in an epoch for cells of any rank");
  }
  /// Does not compile: says the same.
  template <class Index>
  auto operator[](Index const&) const {
    static_assert(detail::always_false<Index>,
                  "global_array: write `pgas::stage(array, pgas::read_write)(i, j)` for own cells, and "
                  "`epoch.get({i, j})` or `epoch.put({i, j}, value)` in an epoch for cells of any rank");
  }
  template <class... Indices>
    requires(sizeof...(Indices) != N || !(std::integral<Indices> && ...))
  rank_t owner(Indices const&...) const {
    static_assert(detail::always_false<Indices...>,
                  "global_array: owner takes one whole number for each dimension, `array.owner(i, j)`");
    return {};
  }
  template <class... Indices>
    requires(sizeof...(Indices) != N || !(std::integral<Indices> && ...))
  global_ptr<T> at(Indices const&...) const {
    static_assert(detail::always_false<Indices...>,
                  "global_array: at takes one whole number for each dimension, `array.at(i, j)`");
    return {};
  }
  /// Does not compile: put is a member of an open epoch.
  template <class... Arguments>
  void put(Arguments&&...) const {
    static_assert(detail::always_false<Arguments...>,
                  "global_array: put needs an open epoch; open one, `pgas::fence epoch{array};` "
                  "(or access, lock, lock_all), and call epoch.put");
  }
  template <class... Arguments>
  void put(box_type const&, Arguments&&...) const {
    static_assert(detail::always_false<Arguments...>,
                  "global_array: put needs an open epoch; open one, `pgas::fence epoch{array};` "
                  "(or access, lock, lock_all), and call epoch.put");
  }
  /// Does not compile: get is a member of an open epoch.
  template <class... Arguments>
  void get(Arguments&&...) const {
    static_assert(detail::always_false<Arguments...>,
                  "global_array: get needs an open epoch; open one, `pgas::fence epoch{array};` "
                  "(or access, lock, lock_all), and call epoch.get");
  }
  template <class... Arguments>
  void get(box_type const&, Arguments&&...) const {
    static_assert(detail::always_false<Arguments...>,
                  "global_array: get needs an open epoch; open one, `pgas::fence epoch{array};` "
                  "(or access, lock, lock_all), and call epoch.get");
  }

  /// The memory of the array: each rank's part, as array_shape lays it out.
  [[nodiscard]] window_type const& window() const noexcept { return window_; }
  /// The plan of halo exchanges: the cells that this rank puts to its neighbours, and those that it copies
  /// within its part.
  [[nodiscard]] halo_plan<N> const& plan() const noexcept { return plan_; }

  /// For epochs: an array is opened like its window, and its state knows the shape.
  [[nodiscard]] state_type& state() const noexcept { return *state_; }
  /// For epochs: the state, shared.
  [[nodiscard]] detail::local_shared_ptr<state_type> const& shared_state() const noexcept { return state_; }

 private:
  template <std::integral... Indices>
  static constexpr index_type index_of(Indices... index) noexcept {
    return {static_cast<std::size_t>(index)...};
  }
  void check(detail::called operation, index_type const& index) const {
    PGAS_EXPECTS(normal, shape_.has_cell(index),
                 detail::throw_no_cell(state_->job_rank(), operation, index, extents()));
  }

  detail::local_shared_ptr<state_type> state_;
  window_type window_;  ///< on the same state
  shape_type shape_;    ///< a copy that no store through an epoch changes, so loops keep it in registers
  index_type own_{};    ///< this and the next two would cost divisions at each look-up
  index_type first_{};
  detail::box_in<N> own_place_{};
  halo_plan<N> plan_;
};

template <class T, std::size_t N, class Layout, class Backend, class Coherence, class Protocols>
inline constexpr bool is_global_array<global_array<T, N, Layout, Backend, Coherence, Protocols>> = true;

/// Makes an array of these extents, with all cells and ghost cells zero. A halo or a layout may follow the
/// extents:
///
///     make_array<double>(team, {rows, cols})
///     make_array<double>(team, {rows, cols}, halo{.width = 1, .edges = edge::periodic})
///     make_array<double>(team, {rows, cols}, tiled{block_cyclic<64>{}, block_cyclic<64>{}})
///
/// Collective over the team. Extents may be zero, and ranks may own nothing. A halo requires a layout in
/// which each rank owns one box.
/// Throws, on every rank:
/// - errc::mismatch when ranks ask for different arrays;
/// - errc::invalid_argument when the layout does not fit the extents or the number of ranks;
/// - errc::no_space when there is too little memory, or when there are too few addresses.
///
/// Costs make_window, and a barrier or two. MPI_Win_allocate; Global Arrays: ga_create.
template <transportable T, std::size_t N, backend Backend, coherence_policy Coherence,
          protocol_bundle Protocols, layout_rule<N> Rule>
[[nodiscard]] auto make_array(team<Backend, Coherence, Protocols> const& team,
                              std::array<std::size_t, N> const& extents, Rule const& given,
                              std::type_identity_t<halos<N>> const& around = {}) {
  detail::check_alignment<T>();
  constexpr std::string_view operation = "make_array";
  team.state()->deferred->rethrow();

  auto const rule = detail::layout_of(given);
  using layout_type = std::remove_const_t<decltype(rule)>;
  std::string const text = detail::array_text(extents, around, rule);
  detail::agree_on_array(team, extents, text, operation);
  rank_t const self = team.state()->backend.world_rank(team.rank());
  for (std::size_t d = 0; d < N; ++d) {
    bool const is_halo = detail::is_negative(around[d].width) || detail::is_negative(around[d].after);
    if (!is_halo && !detail::is_negative(extents[d])) continue;
    detail::throw_error(errc::invalid_argument, self, operation,
                        {"no array of ", text, " can be made: the ", is_halo ? "halo" : "extent",
                         " of dimension ", d, " is negative"});
  }
  if (auto const wrong = rule.error_for(extents, team.size())) {
    detail::throw_error(errc::invalid_argument, self, operation,
                        {"no array of ", text, " can be made: ", *wrong});
  }
  if constexpr (!box_layout<layout_type>) {
    PGAS_EXPECTS(light, !around.any(),
                 detail::throw_error(
                     errc::invalid_argument, self, operation,
                     {"no array of ", text,
                      " can be made: the cells of a rank are no box, so there are no ghost cells around "
                      "them; take a layout in which each rank owns one box"}));
  }
  array_shape<N, layout_type> const shape(extents, around, team.size(), rule, sizeof(T));
  if (shape.overflows(sizeof(T))) {
    detail::throw_error(
        errc::no_space, self, operation,
        {"an array of ", text, " has more bytes than there are addresses; take smaller extents"});
  }
  using array_type = global_array<T, N, layout_type, Backend, Coherence, Protocols>;
  return detail::join_window<array_type>(
      team, shape.part_size(team.rank()), "",
      [](Backend& b, std::span<std::size_t const> sizes) { return b.reserve_segment(sizes); },
      [](Backend& b, typename Backend::handle handle, std::size_t bytes) {
        return b.attach_segment(handle, bytes);
      },
      shape);
}
template <transportable T, std::size_t N, backend Backend, coherence_policy Coherence,
          protocol_bundle Protocols,
          layout_rule<N> Rule>
  requires(N > 1 && N <= 4)  // of one dimension {n} is n: below
[[nodiscard]] auto make_array(team<Backend, Coherence, Protocols> const& team,
                              std::size_t const (&extents)[N], Rule const& rule,
                              std::type_identity_t<halos<N>> const& around = {}) {
  return make_array<T>(team, std::to_array(extents), rule, around);
}
template <transportable T, backend Backend, coherence_policy Coherence, protocol_bundle Protocols,
          layout_rule<1> Rule>
[[nodiscard]] auto make_array(team<Backend, Coherence, Protocols> const& team, std::size_t extent,
                              Rule const& rule, halos<1> const& around = {}) {
  return make_array<T>(team, std::array{extent}, rule, around);
}

template <transportable T, std::size_t N, backend Backend, coherence_policy Coherence,
          protocol_bundle Protocols>
[[nodiscard]] auto make_array(team<Backend, Coherence, Protocols> const& team,
                              std::array<std::size_t, N> const& extents,
                              std::type_identity_t<halos<N>> const& around = {}) {
  return make_array<T>(team, extents, by_rows<N>{}, around);
}
template <transportable T, std::size_t N, backend Backend, coherence_policy Coherence,
          protocol_bundle Protocols>
  requires(N > 1 && N <= 4)
[[nodiscard]] auto make_array(team<Backend, Coherence, Protocols> const& team,
                              std::size_t const (&extents)[N],
                              std::type_identity_t<halos<N>> const& around = {}) {
  return make_array<T>(team, std::to_array(extents), around);
}
/// The same for extents of another integer type: `make_array<double>(team, {rows, cols})` with two of type
/// int.
template <transportable T, detail::other_extent Extent, std::size_t N, backend Backend,
          coherence_policy Coherence, protocol_bundle Protocols, class... Rest>
  requires(N > 1 && N <= 4)
[[nodiscard]] auto make_array(team<Backend, Coherence, Protocols> const& team, Extent const (&extents)[N],
                              Rest const&... rest) {
  return make_array<T>(team, detail::to_extents(extents), rest...);
}
template <transportable T, detail::other_extent Extent, backend Backend, coherence_policy Coherence,
          protocol_bundle Protocols, class... Rest>
[[nodiscard]] auto make_array(team<Backend, Coherence, Protocols> const& team, Extent extent,
                              Rest const&... rest) {
  return make_array<T>(team, std::array{static_cast<std::size_t>(extent)}, rest...);
}
template <transportable T, backend Backend, coherence_policy Coherence, protocol_bundle Protocols>
[[nodiscard]] auto make_array(team<Backend, Coherence, Protocols> const& team, std::size_t extent,
                              halos<1> const& around = {}) {
  return make_array<T>(team, std::array{extent}, around);
}

/// Does not compile: says why T cannot be the type of cells.
template <class T, backend Backend, coherence_policy Coherence, protocol_bundle Protocols, class... Rest>
  requires(!transportable<T>)
auto make_array(team<Backend, Coherence, Protocols> const&, std::size_t, Rest const&...) {
  detail::refuse_type<T>();
}
template <class T, class Extent, std::size_t N, backend Backend, coherence_policy Coherence,
          protocol_bundle Protocols, class... Rest>
  requires(!transportable<T>)
auto make_array(team<Backend, Coherence, Protocols> const&, Extent const (&)[N], Rest const&...) {
  detail::refuse_type<T>();
}
template <class T, std::size_t N, backend Backend, coherence_policy Coherence, protocol_bundle Protocols,
          class... Rest>
  requires(!transportable<T>)
auto make_array(team<Backend, Coherence, Protocols> const&, std::array<std::size_t, N> const&,
                Rest const&...) {
  detail::refuse_type<T>();
}

/// The type of an array of N dimensions on a team, as make_array returns it, with or without a halo. `Rule`
/// is the type of the layout or distribution that make_array is given: `array_on<Team, double, 1,
/// block_cyclic<64>>`.
template <class Team, transportable T, std::size_t N, layout_rule<N> Rule = by_rows<N>>
using array_on =
    global_array<T, N, std::remove_const_t<decltype(detail::layout_of(std::declval<Rule const&>()))>,
                 typename std::remove_cvref_t<Team>::backend_type,
                 typename std::remove_cvref_t<Team>::coherence_type,
                 typename std::remove_cvref_t<Team>::protocols_type>;

/// Do not compile: say how an array is made.
template <class T = void>
auto make_array(detail::anything = {}, detail::anything = {}, detail::anything = {}, detail::anything = {},
                detail::anything = {}) {
  static_assert(
      detail::always_false<T>,
      "make_array: write `pgas::make_array<double>(team, {rows, cols})` with the type of the cells, "
      "the team, and one to four whole numbers in braces; then a layout of as many dimensions, a "
      "halo as in `pgas::halo{.width = 1}`, or both in this order");
}
template <class T, class Team>
auto make_array(Team const&, detail::anything, detail::halo_without_name) {
  static_assert(detail::always_false<T>,
                "make_array: put the halo's name before its braces: `pgas::halo{.width = 1}`");
}
template <class T, class Team>
auto make_array(Team const&, detail::anything, detail::anything, detail::halo_without_name) {
  static_assert(detail::always_false<T>,
                "make_array: put the halo's name before its braces: `pgas::halo{.width = 1}`");
}
template <class T, std::floating_point Extent, std::size_t N, class Team>
auto make_array(Team const&, Extent const (&)[N], detail::anything = {}, detail::anything = {}) {
  static_assert(detail::always_false<T>,
                "make_array: extents are whole numbers; write `static_cast<std::size_t>(rows)` for a rounded "
                "one");
}
template <class T, std::floating_point Extent, class Team>
auto make_array(Team const&, Extent, detail::anything = {}, detail::anything = {}) {
  static_assert(detail::always_false<T>,
                "make_array: an extent is a whole number; write `static_cast<std::size_t>(n)` for a rounded "
                "one");
}

}  // namespace PGAS_NAMESPACE
