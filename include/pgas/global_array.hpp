// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <pgas/array/any_global_array.hpp>
#include <pgas/array/blocks.hpp>
#include <pgas/array/box_view.hpp>
#include <pgas/array/halo_plan.hpp>
#include <pgas/array/offer.hpp>
#include <pgas/array/scattered.hpp>
#include <pgas/array/shape.hpp>
#include <pgas/window.hpp>
#include <span>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS {

/// An array of N dimensions spread over the ranks of a team as its layout says: by default in blocks of dimension 0,
/// with ghost cells around each rank's part if asked for.
///
/// It is a window with a shape: open epochs on the array itself, `pgas::fence epoch{array};`, and name cells
/// by their global indices. One rank's handle; moves, so that two arrays can be swapped, also while an epoch is open.
/// Its destructor is local and never blocks. Make one with make_array.
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
  using state_type = typename window_type::state_type;

  static constexpr std::size_t dimensions = N;
  /// Whether local() is plain memory.
  static constexpr bool is_contiguous = window_type::is_contiguous;

  /// For make_array.
  global_array(window_type w, shape_type const& shape) : window_(std::move(w)), shape_(shape) {
    if constexpr (matrix_layout<Layout>) {
      own_ = layout().local_extents(rank());
      if (box_type{{}, own_}.size() != 0) own_place_ = {layout().origin(rank()), layout().pitches(rank())};
    }
    if constexpr (box_layout<Layout>) {
      first_ = layout().box_of(rank()).first;
      plan_ = halo_plan<N>(shape, rank());
    }
  }
  global_array(global_array&&) noexcept = default;
  global_array& operator=(global_array&&) noexcept = default;

  [[nodiscard]] rank_t rank() const noexcept { return window_.rank(); }
  [[nodiscard]] rank_t ranks() const noexcept { return window_.ranks(); }
  [[nodiscard]] shape_type const& shape() const noexcept { return shape_; }
  /// Whose the cells are, and where.
  [[nodiscard]] Layout const& layout() const noexcept { return shape_.layout(); }
  /// How many cells there are in dimension d, on all ranks together.
  [[nodiscard]] std::size_t extent(std::size_t d) const noexcept { return shape_.extent(d); }
  [[nodiscard]] index_type const& extents() const noexcept { return shape_.extents(); }
  /// How many cells there are in all.
  [[nodiscard]] std::size_t size() const noexcept { return box_type{{}, extents()}.size(); }

  /// The first row that this rank owns, and how many; a row is all cells with one index in dimension 0.
  [[nodiscard]] std::size_t first_row() const noexcept
    requires box_layout<Layout>
  {
    return first_[0];
  }
  [[nodiscard]] std::size_t local_rows() const noexcept
    requires matrix_layout<Layout>
  {
    return own_[0];
  }
  /// How many own cells this rank has along each dimension.
  [[nodiscard]] index_type const& local_extents() const noexcept
    requires matrix_layout<Layout>
  {
    return own_;
  }
  /// Where in this rank's part its first own cell lies, and how far its neighbours: for views.
  [[nodiscard]] detail::box_in<N> const& local_place() const noexcept
    requires matrix_layout<Layout>
  {
    return own_place_;
  }
  /// The cells that this rank owns, or another one, in global indices, where they are one box.
  [[nodiscard]] box_type own_box() const noexcept
    requires box_layout<Layout>
  {
    return {first_, own_};
  }
  [[nodiscard]] box_type box_of(rank_t rank) const
    requires box_layout<Layout>
  {
    window_.state().check_rank(rank, "box_of");
    return shape_.box_of(rank);
  }
  /// The global indices of an own cell from its indices in local().
  template <std::integral... Indices>
    requires(sizeof...(Indices) == N && matrix_layout<Layout>)
  [[nodiscard]] index_type global_index(Indices... index) const noexcept {
    return layout().global_index(
        rank(),
        own_place_.first + detail::element_at(index_type{static_cast<std::size_t>(index)...}, own_place_.pitches));
  }

  /// Which rank owns a cell. Throws errc::out_of_range.
  template <std::integral... Indices>
    requires(sizeof...(Indices) == N)
  [[nodiscard]] rank_t owner(Indices... index) const {
    return owner(index_type{static_cast<std::size_t>(index)...});
  }
  [[nodiscard]] rank_t owner(index_type const& index) const {
    check("owner", index);
    return layout().owner(index);
  }

  /// Names a cell: `epoch[array.at(i, j)].load()`. Throws errc::out_of_range.
  template <std::integral... Indices>
    requires(sizeof...(Indices) == N)
  [[nodiscard]] global_ptr<T> at(Indices... index) const {
    return at(index_type{static_cast<std::size_t>(index)...});
  }
  [[nodiscard]] global_ptr<T> at(index_type const& index) const {
    check("at", index);
    if constexpr (requires { layout().owner_and_offset(index); }) {
      auto const [owner, offset] = layout().owner_and_offset(index);
      return {owner, static_cast<std::int64_t>(offset)};
    } else {
      return {layout().owner(index), static_cast<std::int64_t>(layout().offset(index))};
    }
  }

  /// This rank's own cells, counted from its first: a span, of two dimensions a matrix_view, of more a box_view; where
  /// they are not plain memory, ranges of references that go through this rank's cache. Ghost cells have the indices
  /// around. Of cyclic dimensions these are local indices: see global_index, and tiles.hpp.
  /// Do not store to it while a halo exchange, or another exposure, is pending.
  [[nodiscard]] auto local() const noexcept
    requires matrix_layout<Layout>
  {
    return detail::view_of_own(window_, own_place_.first, own_, own_place_.pitches);
  }

  /// Puts a box of cells, given without gaps, into the parts of its owners. One-sided, through an epoch that is
  /// open on this array and to those ranks; complete like the epoch's other bulk puts.
  /// Throws errc::out_of_range with the box and the extents. Costs a strided put for each tile, of three dimensions
  /// one for each plane, and for tiles of short rows one for many of them; copies nothing aside.
  template <class Epoch>
  void put(Epoch& epoch, std::type_identity_t<box_type> const& at, std::span<T const> values) const {
    check_transfer("put", epoch, at, values.size());
    detail::for_each_block(layout(), at, {0, detail::dense_pitches(at.count)},
                           [&](rank_t owner, rows_of block, std::size_t first, std::size_t pitch) {
                             epoch.to(owner).put(block, values.data() + first, pitch);
                           });
  }
  /// Gets a box of cells, without gaps, from the parts of its owners; they are here after flush_local of those
  /// ranks, or close. Else like put.
  template <class Epoch>
  void get(Epoch& epoch, std::type_identity_t<box_type> const& at, std::span<T> values) const {
    check_transfer("get", epoch, at, values.size());
    detail::for_each_block(layout(), at, {0, detail::dense_pitches(at.count)},
                           [&](rank_t owner, rows_of block, std::size_t first, std::size_t pitch) {
                             epoch.to(owner).get(block, values.data() + first, pitch);
                           });
  }
  /// The same for cells [first, first + values.size()) of one dimension.
  template <class Epoch>
  void put(Epoch& epoch, std::size_t first, std::span<T const> values) const
    requires(N == 1)
  {
    put(epoch, box_type{{first}, {values.size()}}, values);
  }
  template <class Epoch>
  void get(Epoch& epoch, std::size_t first, std::span<T> values) const
    requires(N == 1)
  {
    get(epoch, box_type{{first}, {values.size()}}, values);
  }

  /// Combines a box of values, given without gaps, into its cells, each in one indivisible step: else like put.
  /// Costs an accumulate for each row of a tile. Global Arrays: NGA_Acc.
  template <class Epoch, operation_on<T> Op = op::sum>
  void accumulate(Epoch& epoch, std::type_identity_t<box_type> const& at, std::span<T const> values, Op op = {}) const {
    check_transfer("accumulate", epoch, at, values.size());
    detail::for_each_block(layout(), at, {0, detail::dense_pitches(at.count)},
                           [&](rank_t owner, rows_of block, std::size_t first, std::size_t pitch) {
                             for (std::size_t row = 0; row < block.rows; ++row) {
                               epoch.to(owner).accumulate(block.first + row * block.pitch,
                                                          values.subspan(first + row * pitch, block.cols), op);
                             }
                           });
  }

  /// Puts values[k] into the cell with index indices[k], whoever owns it: `a.put(epoch, indices, values)`. No cell
  /// twice. One-sided, through an epoch that is open on this array and to those ranks; complete like the epoch's other
  /// bulk puts. Throws errc::out_of_range, before it puts anything, with the first index that no cell has. Costs a
  /// store for each where parts are plain memory. Else they are collected by owner, and those at equal distances in its
  /// part are one transfer, so that indices in ascending order cost no sort and no copy. Global Arrays: NGA_Scatter;
  /// MPI: MPI_Put with indexed types; NumPy: a[indices] = values.
  template <class Epoch, index_list<N> Indices>
  void put(Epoch& epoch, Indices const& indices, std::span<T const> values) const {
    check_scattered("put", epoch, indices, values.size());
    detail::put_cells(epoch, values, each_of(indices));
  }
  /// Gets values[k] from the cell with index indices[k]; all are here when it returns. A cell may be named twice. Else
  /// like put. Global Arrays: NGA_Gather.
  template <class Epoch, index_list<N> Indices>
  void get(Epoch& epoch, Indices const& indices, std::span<T> values) const {
    check_scattered("get", epoch, indices, values.size());
    detail::get_cells(epoch, values, each_of(indices));
  }
  /// Combines values[k] into the cell with index indices[k], each in one indivisible step, also where a cell is named
  /// twice. Else like put. Global Arrays: NGA_Scatter_acc.
  template <class Epoch, index_list<N> Indices, operation_on<T> Op = op::sum>
  void accumulate(Epoch& epoch, Indices const& indices, std::span<T const> values, Op op = {}) const {
    check_scattered("accumulate", epoch, indices, values.size());
    detail::accumulate_cells(epoch, values, op, each_of(indices));
  }

  /// The same for the cells of a box where a mask is true, the mask in row-major order of the box: it has a place for
  /// each cell, the values are one for each that is chosen. Throws errc::out_of_range when the box does not fit,
  /// errc::invalid_argument when the numbers differ. Fortran: UNPACK and PACK; NumPy: a[mask].
  template <class Epoch, cell_mask Mask>
  void put(Epoch& epoch, std::type_identity_t<box_type> const& at, Mask const& mask, std::span<T const> values) const {
    check_masked("put", epoch, at, mask, values.size());
    detail::put_cells(epoch, values, each_in(at, mask));
  }
  template <class Epoch, cell_mask Mask>
  void get(Epoch& epoch, std::type_identity_t<box_type> const& at, Mask const& mask, std::span<T> values) const {
    check_masked("get", epoch, at, mask, values.size());
    detail::get_cells(epoch, values, each_in(at, mask));
  }
  template <class Epoch, cell_mask Mask, operation_on<T> Op = op::sum>
  void accumulate(Epoch& epoch, std::type_identity_t<box_type> const& at, Mask const& mask, std::span<T const> values,
                  Op op = {}) const {
    check_masked("accumulate", epoch, at, mask, values.size());
    detail::accumulate_cells(epoch, values, op, each_in(at, mask));
  }

  /// The memory beneath: each rank's part as array_shape lays it out.
  [[nodiscard]] window_type const& window() const noexcept { return window_; }
  /// Who exchanges which cells with whom.
  [[nodiscard]] halo_plan<N> const& plan() const noexcept { return plan_; }

  /// For epochs: an array is opened like its window.
  [[nodiscard]] state_type& state() const noexcept { return window_.state(); }
  [[nodiscard]] detail::local_shared_ptr<state_type> const& shared_state() const noexcept {
    return window_.shared_state();
  }

 private:
  void check(std::string_view operation, index_type const& index) const {
    index_type one;
    one.fill(1);
    PGAS_EXPECTS(normal, shape_.contains({index, one}),
                 throw error(errc::out_of_range, rank(), operation,
                             "cell (" + detail::joined(index, ", ") + ") does not exist in an array of " +
                                 detail::joined(extents(), " x ")));
  }
  template <class Epoch>
  void check_transfer(std::string_view operation, Epoch& epoch, box_type const& at, std::size_t values) const {
    check_box(operation, epoch, at);
    PGAS_EXPECTS(light, values == at.size(),
                 throw error(errc::invalid_argument, rank(), operation,
                             std::to_string(values) + " values given for " + std::to_string(at.size()) + " cells"));
  }
  template <class Epoch>
  void check_box(std::string_view operation, Epoch& epoch, box_type const& at) const {
    PGAS_EXPECTS(
        light, shape_.contains(at),
        throw error(errc::out_of_range, rank(), operation,
                    detail::joined(at.count, " x ") + " cells do not fit at (" + detail::joined(at.first, ", ") +
                        ") in an array of " + detail::joined(extents(), " x ")));
    check_epoch(operation, epoch);
  }
  template <class Epoch, class Indices>
  void check_scattered(std::string_view operation, Epoch& epoch, Indices const& indices, std::size_t values) const {
    detail::check_list(rank(), operation, indices, values);
    if constexpr (assertions >= assertion_level::normal) {
      for (std::size_t k = 0; k < indices.size(); ++k) check(operation, detail::index_at<N>(indices, k));
    }
    check_epoch(operation, epoch);
  }
  template <class Epoch, class Mask>
  void check_masked(std::string_view operation, Epoch& epoch, box_type const& at, Mask const& mask,
                    std::size_t values) const {
    check_box(operation, epoch, at);
    detail::check_mask(rank(), operation, at, mask, values);
  }
  template <class Epoch>
  void check_epoch(std::string_view operation, Epoch& epoch) const {
    PGAS_EXPECTS(light, &epoch.state() == &state(),
                 detail::throw_error(errc::invalid_argument, rank(), operation,
                                     "the epoch is open on another array or window; open one on this array"));
  }
  template <class Indices>
  [[nodiscard]] auto each_of(Indices const& indices) const noexcept {
    return [&](auto&& use) { detail::for_each_listed(layout(), indices, use); };
  }
  template <class Mask>
  [[nodiscard]] auto each_in(box_type const& at, Mask const& mask) const noexcept {
    return [&](auto&& use) { detail::for_each_masked(layout(), at, mask, use); };
  }

  window_type window_;
  shape_type shape_;
  index_type own_{};  ///< this and the next two are asked of the layout once: each time would cost divisions
  index_type first_{};
  detail::box_in<N> own_place_{};
  halo_plan<N> plan_;
};

template <class T, std::size_t N, class Layout, class Backend, class Coherence, class Protocols>
inline constexpr bool is_global_array<global_array<T, N, Layout, Backend, Coherence, Protocols>> = true;

/// Makes an array of these extents, all cells and ghost cells zero: `make_array<double>(team, {rows, cols})`, or
/// `make_array<double>(team, {rows, cols}, halo{.width = 1, .edges = edge::periodic})`, or, on another layout,
/// `make_array<double>(team, {rows, cols}, tiled{block_cyclic<64>{}, block_cyclic<64>{}})`.
///
/// Collective over the team. Extents may be zero, and ranks may own nothing. Only a layout whose ranks own one box each
/// can have a halo.
/// Throws, on every rank, errc::mismatch when ranks ask for different arrays, errc::invalid_argument when the layout
/// does not fit the extents or the ranks, errc::no_space when the memory is not there, or no address could say where.
/// Costs what make_window does, and a barrier or two.
template <transportable T, std::size_t N, backend Backend, coherence_policy Coherence, protocol_bundle Protocols,
          layout_rule<N> Rule>
[[nodiscard]] auto make_array(team<Backend, Coherence, Protocols> const& team,
                              std::array<std::size_t, N> const& extents, Rule const& given,
                              std::type_identity_t<halos<N>> const& around = {}) {
  constexpr std::string_view operation = "make_array";
  team.state()->deferred->rethrow();

  auto const rule = detail::layout_of(given);
  using layout_type = std::remove_const_t<decltype(rule)>;
  std::string const text = detail::array_text(extents, around, rule);
  detail::agree_on_array(team, extents, text, operation);
  rank_t const self = team.state()->backend.world_rank(team.rank());
  if (auto const wrong = rule.error_for(extents, team.size())) {
    throw error(errc::invalid_argument, self, operation, "no array of " + text + " can be made: " + *wrong);
  }
  if constexpr (!box_layout<layout_type>) {
    PGAS_EXPECTS(light, !around.any(),
                 throw error(errc::invalid_argument, self, operation,
                             "no array of " + text +
                                 " can be made: cells that are neighbours in a part are not so in the array, and have "
                                 "no ghost cells around them; take a layout of one box a rank"));
  }
  array_shape<N, layout_type> const shape(extents, around, team.size(), rule, sizeof(T));
  if (shape.overflows(sizeof(T))) {
    throw error(errc::no_space, self, operation, "an array of " + text + " has more bytes than there are addresses");
  }
  return global_array<T, N, layout_type, Backend, Coherence, Protocols>(
      make_window<T>(team, shape.part_size(team.rank())), shape);
}
template <transportable T, std::size_t N, backend Backend, coherence_policy Coherence, protocol_bundle Protocols,
          layout_rule<N> Rule>
  requires(N > 1)  // of one dimension {n} is n: below
[[nodiscard]] auto make_array(team<Backend, Coherence, Protocols> const& team, std::size_t const (&extents)[N],
                              Rule const& rule, std::type_identity_t<halos<N>> const& around = {}) {
  return make_array<T>(team, std::to_array(extents), rule, around);
}
template <transportable T, backend Backend, coherence_policy Coherence, protocol_bundle Protocols, layout_rule<1> Rule>
[[nodiscard]] auto make_array(team<Backend, Coherence, Protocols> const& team, std::size_t extent, Rule const& rule,
                              halos<1> const& around = {}) {
  return make_array<T>(team, std::array{extent}, rule, around);
}

template <transportable T, std::size_t N, backend Backend, coherence_policy Coherence, protocol_bundle Protocols>
[[nodiscard]] auto make_array(team<Backend, Coherence, Protocols> const& team,
                              std::array<std::size_t, N> const& extents,
                              std::type_identity_t<halos<N>> const& around = {}) {
  return make_array<T>(team, extents, by_rows<N>{}, around);
}
template <transportable T, std::size_t N, backend Backend, coherence_policy Coherence, protocol_bundle Protocols>
  requires(N > 1)
[[nodiscard]] auto make_array(team<Backend, Coherence, Protocols> const& team, std::size_t const (&extents)[N],
                              std::type_identity_t<halos<N>> const& around = {}) {
  return make_array<T>(team, std::to_array(extents), around);
}
template <transportable T, backend Backend, coherence_policy Coherence, protocol_bundle Protocols>
[[nodiscard]] auto make_array(team<Backend, Coherence, Protocols> const& team, std::size_t extent,
                              halos<1> const& around = {}) {
  return make_array<T>(team, std::array{extent}, around);
}

}  // namespace pgas::inline PGAS_ASSERTIONS
