// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstring>
#include <pgas/array_shape.hpp>
#include <pgas/block_shape.hpp>
#include <pgas/halo_plan.hpp>
#include <pgas/matrix_view.hpp>
#include <pgas/window.hpp>
#include <span>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS {

/// An array of N dimensions spread over the ranks of a team: blocks of dimension 0, with ghost cells around each
/// rank's part if asked for.
///
/// It is a window with a shape: open epochs on the array itself, `pgas::fence epoch{array};`, and name cells
/// by their global indices. One rank's handle; moves, so that two arrays can be swapped, also while an epoch is open.
/// Its destructor is local and never blocks. Make one with make_array.
/// MPI: MPI_Win_allocate and a Cartesian communicator; Global Arrays: ga_create.
template <transportable T, std::size_t N, backend Backend, coherence_policy Coherence, protocol_bundle Protocols>
class global_array {
 public:
  using value_type = T;
  using shape_type = array_shape<N>;
  using index_type = std::array<std::size_t, N>;
  using box_type = box<N>;
  using window_type = pgas::window<T, Backend, Coherence, Protocols>;
  using state_type = typename window_type::state_type;

  static constexpr std::size_t dimensions = N;
  /// Whether local() is plain memory.
  static constexpr bool is_contiguous = window_type::is_contiguous;

  /// For make_array.
  global_array(window_type w, shape_type const& shape)
      : window_(std::move(w)), shape_(shape), plan_(shape.rows(), shape.halo(0), window_.rank()) {}
  global_array(global_array&&) noexcept = default;
  global_array& operator=(global_array&&) noexcept = default;

  [[nodiscard]] rank_t rank() const noexcept { return window_.rank(); }
  [[nodiscard]] rank_t ranks() const noexcept { return window_.ranks(); }
  [[nodiscard]] shape_type const& shape() const noexcept { return shape_; }
  /// How many cells there are in dimension d, on all ranks together.
  [[nodiscard]] std::size_t extent(std::size_t d) const noexcept { return shape_.extent(d); }
  [[nodiscard]] index_type const& extents() const noexcept { return shape_.extents(); }
  /// How many cells there are in all.
  [[nodiscard]] std::size_t size() const noexcept { return box_type{{}, extents()}.size(); }

  /// The first row that this rank owns, and how many; a row of a one-dimensional array is a cell.
  [[nodiscard]] std::size_t first_row() const noexcept { return own_box().first[0]; }
  [[nodiscard]] std::size_t local_rows() const noexcept { return own_box().count[0]; }
  /// The cells that this rank owns, or another one, in global indices.
  [[nodiscard]] box_type own_box() const noexcept { return shape_.box_of(rank()); }
  [[nodiscard]] box_type box_of(rank_t rank) const {
    window_.state().check_rank(rank, "box_of");
    return shape_.box_of(rank);
  }

  /// Which rank owns a cell. Throws errc::out_of_range.
  template <std::integral... Indices>
    requires(sizeof...(Indices) == N)
  [[nodiscard]] rank_t owner(Indices... index) const {
    return owner(index_type{static_cast<std::size_t>(index)...});
  }
  [[nodiscard]] rank_t owner(index_type const& index) const {
    check("owner", index);
    return shape_.rows().owner(index[0]);
  }

  /// Names a cell: `epoch[array.at(i, j)].load()`. Throws errc::out_of_range.
  template <std::integral... Indices>
    requires(sizeof...(Indices) == N)
  [[nodiscard]] global_ptr<T> at(Indices... index) const {
    return at(index_type{static_cast<std::size_t>(index)...});
  }
  [[nodiscard]] global_ptr<T> at(index_type const& index) const {
    check("at", index);
    return {shape_.rows().owner(index[0]), static_cast<std::int64_t>(shape_.offset(index))};
  }

  /// This rank's own cells, counted from its first: a span or, of two dimensions, a matrix_view; where they are not
  /// plain memory, ranges of references that go through this rank's cache. Ghost cells have the indices around.
  /// Do not store to it while a halo exchange, or another exposure, is pending.
  [[nodiscard]] auto local() const noexcept {
    auto const own = own_box();
    std::size_t const first = own.count[0] == 0 ? 0 : shape_.origin();
    auto const all = window_.local();
    if constexpr (N == 1) {
      return all.subspan(first, own.count[0]);
    } else if constexpr (is_contiguous) {
      return matrix_view<T>(all.data() + first, own.count[0], own.count[1], shape_.pitch());
    } else {
      return local_matrix<state_type>(window_.state(), first, own.count[0], own.count[1], shape_.pitch());
    }
  }

  /// Puts a box of cells, given without gaps, into the parts of its owners. One-sided, through an epoch that is
  /// open on this array and to those ranks; complete like the epoch's other bulk puts.
  /// Throws errc::out_of_range with the box and the extents. Costs a strided put for each owner.
  template <class Epoch>
  void put(Epoch& epoch, std::type_identity_t<box_type> const& at, std::span<T const> values) const {
    check_transfer("put", epoch, at, values.size());
    for_each_owner(at, [&](rank_t owner, rows_of block, std::size_t done) {
      epoch.to(owner).put(block, values.data() + done, block.cols);
    });
  }
  /// Gets a box of cells, without gaps, from the parts of its owners; they are here after flush_local of those
  /// ranks, or close. Else like put.
  template <class Epoch>
  void get(Epoch& epoch, std::type_identity_t<box_type> const& at, std::span<T> values) const {
    check_transfer("get", epoch, at, values.size());
    for_each_owner(at, [&](rank_t owner, rows_of block, std::size_t done) {
      epoch.to(owner).get(block, values.data() + done, block.cols);
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

  /// The memory beneath: each rank's part as array_shape lays it out.
  [[nodiscard]] window_type const& window() const noexcept { return window_; }
  /// Who exchanges which rows with whom.
  [[nodiscard]] halo_plan const& plan() const noexcept { return plan_; }

  /// For epochs: an array is opened like its window.
  [[nodiscard]] state_type& state() const noexcept { return window_.state(); }
  [[nodiscard]] detail::kept<state_type> const& shared_state() const noexcept { return window_.shared_state(); }

 private:
  /// Calls move(owner, block in its part, elements before it) for each owner's piece of a box.
  template <class Move>
  void for_each_owner(box_type const& at, Move&& move) const {
    if (at.size() == 0) return;
    index_type index = at.first;
    std::size_t const cols = at.size() / at.count[0];
    for (std::size_t done = 0; done < at.count[0];) {
      index[0] = at.first[0] + done;
      rank_t const owner = shape_.rows().owner(index[0]);
      auto const theirs = shape_.box_of(owner);
      std::size_t const rows = std::min(at.count[0] - done, theirs.first[0] + theirs.count[0] - index[0]);
      move(owner, rows_of{.first = shape_.offset(index), .rows = rows, .cols = cols, .pitch = shape_.pitch()},
           done * cols);
      done += rows;
    }
  }

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
    PGAS_EXPECTS(
        light, shape_.contains(at),
        throw error(errc::out_of_range, rank(), operation,
                    detail::joined(at.count, " x ") + " cells do not fit at (" + detail::joined(at.first, ", ") +
                        ") in an array of " + detail::joined(extents(), " x ")));
    PGAS_EXPECTS(light, values == at.size(),
                 throw error(errc::invalid_argument, rank(), operation,
                             std::to_string(values) + " values given for " + std::to_string(at.size()) + " cells"));
    PGAS_EXPECTS(light, &epoch.state() == &state(),
                 detail::throw_error(errc::invalid_argument, rank(), operation,
                                     "the epoch is open on another array or window; open one on this array"));
  }

  window_type window_;
  shape_type shape_;
  halo_plan plan_;
};

/// True of every global_array.
template <class A>
inline constexpr bool is_global_array = false;
template <class T, std::size_t N, class Backend, class Coherence, class Protocols>
inline constexpr bool is_global_array<global_array<T, N, Backend, Coherence, Protocols>> = true;

/// Whatever its element type, dimensions and policies: what functions on arrays take.
template <class A>
concept any_global_array = is_global_array<std::remove_cvref_t<A>>;

namespace detail {

/// What a rank says about an array it helps to make; all must say the same.
template <std::size_t N>
struct array_offer {
  std::uint64_t dimensions = N;  ///< first, so that it can be read whatever the others' N is
  std::array<std::uint64_t, N> extents{};
  std::array<std::uint64_t, N> widths{};
  std::array<edge, N> edges{};

  friend bool operator==(array_offer const&, array_offer const&) = default;
  [[nodiscard]] std::string text() const {
    if (dimensions != N) return std::to_string(dimensions) + " dimensions";
    std::string shown = joined(extents, " x ") + " with halo " + joined(widths, " x ");
    for (edge e : edges) shown += e == edge::periodic ? " periodic" : " fixed";
    return shown;
  }
};

}  // namespace detail

/// Makes an array of these extents, all cells and ghost cells zero: `make_array<double>(team, {rows, cols})`, or
/// `make_array<double>(team, {rows, cols}, halo{.width = 1, .edges = edge::periodic})`.
///
/// Collective over the team. Extents may be zero, and ranks may own nothing.
/// Throws, on every rank, errc::mismatch when ranks ask for different arrays, errc::no_space when the memory is not
/// there, or no address could say where. Costs what make_window does, and a barrier or two.
template <transportable T, std::size_t N, backend Backend, coherence_policy Coherence, protocol_bundle Protocols>
[[nodiscard]] auto make_array(team<Backend, Coherence, Protocols> const& team,
                              std::array<std::size_t, N> const& extents,
                              std::type_identity_t<halos<N>> const& around = {}) {
  constexpr std::string_view operation = "make_array";
  auto& shared = *team.state();
  shared.deferred->rethrow();

  detail::array_offer<N> mine;
  for (std::size_t d = 0; d < N; ++d) {
    mine.extents[d] = extents[d];
    mine.widths[d] = around[d].width;
    mine.edges[d] = around[d].edges;
  }
  std::vector<detail::array_offer<N>> offers;
  shared.collectives.all_gather(mine, operation, [&](rank_t, auto const& offer) { offers.push_back(offer); });
  rank_t const self = shared.backend.world_rank(team.rank());
  for (std::size_t r = 1; r < offers.size(); ++r) {
    if (offers[r] == offers[0]) continue;
    throw error(errc::mismatch, self, operation,
                "rank " + std::to_string(r) + " makes an array of " + offers[r].text() + ", rank 0 one of " +
                    offers[0].text() + "; all must make the same");
  }
  array_shape<N> const shape(extents, around, team.size());
  if (shape.overflows(sizeof(T))) {
    throw error(errc::no_space, self, operation,
                "an array of " + mine.text() + " has more bytes than there are addresses");
  }
  return global_array<T, N, Backend, Coherence, Protocols>(make_window<T>(team, shape.part_size(team.rank())), shape);
}
template <transportable T, std::size_t N, backend Backend, coherence_policy Coherence, protocol_bundle Protocols>
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
