// SPDX-License-Identifier: BSL-1.0
#pragma once

/// stage: a rank's own part, or its own cells, as plain memory on every backend.
#include <pgas/array/any_global_array.hpp>
#include <pgas/array/box_view.hpp>
#include <pgas/detail/array/blocks.hpp>
#include <pgas/detail/array/unaliased.hpp>
#include <pgas/epoch/staged.hpp>

namespace PGAS_NAMESPACE {

/// The mode of stage that reads own cells, see read_own.
struct read_own_t {};
/// A mode of stage: read_only for a time when peers may be writing to ghost cells.
inline constexpr read_own_t read_own{};

namespace detail {

/// A rank's own cells as plain memory: in place if the part is plain memory, else a copy, which the
/// destructor writes back. `ReadsGhosts`: for a checker of races, the program reads the ghost cells, too.
template <hints Mode, class Array, bool ReadsGhosts = true>
class staged_array {
  using window_type = typename Array::window_type;
  using value_type = typename Array::value_type;
  using element = std::conditional_t<Mode.read_only, value_type const, value_type>;
  static constexpr std::size_t dimensions = Array::dimensions;
  // A staged array that writes all own cells must not write the ghost cells between them, so it copies own
  // cells only.
  static constexpr bool is_recorded = recorded_in_place<window_type>;
  static constexpr bool copies_own_cells = Mode.write_only && !Array::is_contiguous && !is_recorded;
  static constexpr bool loads_by_pieces = !ReadsGhosts && !Array::is_contiguous;
  static constexpr bool records_own_cells = Mode.write_only && is_recorded;
  static constexpr bool checks_indices = assertions >= assertion_level::heavy;

 public:
  [[gnu::always_inline]] explicit staged_array(Array const& a)
      : window_(a.window()),
        own_(a.local_extents()),
        place_(a.local_place()),
        memory_(make(a)),
        data_(memory_.data()),
        copy_pitches_(place_.pitches),
        first_(first_of(a)) {
    if constexpr (copies_own_cells) {
      copy_pitches_ = detail::dense_pitches(own_);
    } else {
      data_ += place_.first;
    }
    before_ = static_cast<std::ptrdiff_t>(detail::element_at(first_, copy_pitches_));
    if constexpr (loads_by_pieces) load_by_pieces();
    data_ = unaliased(data_);
    if constexpr (checks_indices) around_ = a.shape().halos().around();
  }
  staged_array(staged_array const&) = delete;
  staged_array& operator=(staged_array const&) = delete;
  ~staged_array() {
    give_up_unaliased(data_);
    if constexpr (copies_own_cells) write_back();
    if constexpr (records_own_cells) {
      for_each_plane([&](std::size_t byte, std::size_t pitch, row_shape rows) {
        memory_.record_store(byte, pitch, rows);
      });
    }
  }

  /// The own cells: a span, a matrix_view or a box_view. Call it before a loop.
  [[nodiscard]] auto view() const noexcept { return detail::view_of_memory(data_, own_, copy_pitches_); }
  /// A cell, counted from the first own one. Ghost cells around the own cells are included unless the mode is
  /// write_only.
  template <std::integral... Indices>
    requires(sizeof...(Indices) == dimensions)
  [[nodiscard]] element& operator()(Indices... index) const noexcept(!checks_indices) {
    if constexpr (checks_indices) check({static_cast<std::ptrdiff_t>(index)...});
    if constexpr (dimensions == 1) {
      return data_[(static_cast<std::ptrdiff_t>(index), ...)];
    } else {
      return view()(index...);
    }
  }

  /// Does not compile: says how a cell is named.
  template <class... Indices>
    requires(sizeof...(Indices) != dimensions || !(std::integral<Indices> && ...))
  element& operator()(Indices const&...) const {
    static_assert(always_false<Indices...>,
                  "stage: a cell has one whole number for each dimension of the array, `own(i, j)`");
    return *data_;
  }
  template <class Index>
    requires(dimensions > 1)
  auto operator[](Index const&) const {
    static_assert(always_false<Index>,
                  "stage: write `own(i, j)` with one whole number for each dimension, not `own[i][j]`");
  }

  /// The same cell by its indices in the whole array.
  template <std::integral... Indices>
    requires(sizeof...(Indices) == dimensions && box_layout<typename Array::layout_type>)
  [[nodiscard]] element& at(Indices... index) const noexcept(!checks_indices) {
    if constexpr (checks_indices) {
      auto at = first_;
      std::size_t d = 0;
      ((at[d] = static_cast<std::size_t>(index) - first_[d], ++d), ...);
      check(std::apply([](auto... i) { return std::array{static_cast<std::ptrdiff_t>(i)...}; }, at));
    }
    if constexpr (dimensions == 1) {
      return data_[(static_cast<std::ptrdiff_t>(index), ...) - before_];
    } else {
      // Subtracted from the pointer once: a subtraction per index would take another register in the loop.
      return detail::view_of_memory(data_ - before_, own_, copy_pitches_)(index...);
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return box<dimensions>{{}, own_}.size(); }
  [[nodiscard]] element* data() const noexcept { return data_; }
  [[nodiscard]] element* begin() const noexcept
    requires(dimensions == 1)
  {
    return data_;
  }
  [[nodiscard]] element* end() const noexcept
    requires(dimensions == 1)
  {
    return data_ + size();
  }
  [[nodiscard]] element& operator[](std::size_t i) const noexcept(!checks_indices)
    requires(dimensions == 1)
  {
    return (*this)(i);
  }

 private:
  static constexpr bool is_in_place = Array::is_contiguous;
  struct plain_memory {
    element* data_;
    [[nodiscard]] element* data() const noexcept { return data_; }
  };
  using memory = std::conditional_t<
      is_in_place, plain_memory,
      std::conditional_t<copies_own_cells, std::vector<value_type>, staged<Mode, window_type>>>;

  /// The first own cell's place in the whole array, if its own cells are a box.
  static typename Array::index_type first_of(Array const& a) {
    if constexpr (box_layout<typename Array::layout_type>) {
      return a.own_box().first;
    } else {
      return {};
    }
  }
  [[gnu::always_inline]] static memory make(Array const& a) {
    if constexpr (is_in_place) {
      return {a.window().local().data()};
    } else if constexpr (copies_own_cells) {
      return memory(box<dimensions>{{}, a.local_extents()}.size());
    } else if constexpr (loads_by_pieces || records_own_cells) {
      return memory(a.window(), 0, a.window().size(), by_pieces_t{});
    } else {
      return memory(a.window(), 0, a.window().size());
    }
  }
  /// Calls use(first byte, pitch, rows) for the own cells, plane by plane.
  template <class Use>
  void for_each_plane(Use const& use) const {
    if (size() == 0) return;
    constexpr std::size_t in_plane = dimensions >= 2 ? 2 : 1;
    row_shape rows{1, own_[dimensions - 1] * sizeof(value_type)};
    std::size_t pitch = rows.row_bytes;
    if constexpr (dimensions >= 2) {
      rows.rows = own_[dimensions - 2];
      pitch = place_.pitches[dimensions - 2] * sizeof(value_type);
    }
    typename Array::index_type plane{};
    do {
      use((place_.first + detail::element_at(plane, place_.pitches)) * sizeof(value_type), pitch, rows);
    } while (detail::advance(plane, own_, dimensions - in_plane));
  }

  /// Loads the part in ascending order; only the rows of own cells count as read.
  [[gnu::always_inline]] void load_by_pieces() {
    if constexpr (is_recorded) {
      for_each_plane([&](std::size_t byte, std::size_t pitch, row_shape rows) {
        memory_.record_load(byte, pitch, rows);
      });
    } else {
      load_rows();
    }
  }
  [[gnu::always_inline]] void load_rows() {
    std::size_t loaded = 0;
    if (size() != 0) {
      std::size_t const length = own_[dimensions - 1];
      typename Array::index_type row{};
      do {
        std::size_t const first = place_.first + detail::element_at(row, place_.pitches);
        memory_.load(loaded, first - loaded, false);
        memory_.load(first, length, true);
        loaded = first + length;
      } while (detail::advance(row, own_, dimensions - 1));
    }
    memory_.load(loaded, memory_.size() - loaded, false);
  }
  void write_back() noexcept {
    if (size() == 0) return;
    std::size_t const length = own_[dimensions - 1];
    typename Array::index_type row{};
    try {
      do {
        auto const piece =
            stage(window_, place_.first + detail::element_at(row, place_.pitches), length, write_only);
        std::copy_n(data_ + detail::element_at(row, copy_pitches_), length, piece.begin());
      } while (detail::advance(row, own_, dimensions - 1));
    } catch (...) {
      window_.state().team->deferred->record(std::current_exception());
    }
  }

  void check(std::array<std::ptrdiff_t, dimensions> const& index) const {
    for (std::size_t d = 0; d < dimensions; ++d) {
      auto const before = copies_own_cells ? 0 : static_cast<std::ptrdiff_t>(around_.before[d]);
      auto const after = copies_own_cells ? 0 : static_cast<std::ptrdiff_t>(around_.after[d]);
      auto const own = static_cast<std::ptrdiff_t>(own_[d]);
      if (index[d] >= -before && index[d] < own + after) continue;
      throw_error(errc::out_of_range, window_.state().job_rank(), "stage",
                  {"index ", index[d], " of dimension ", d, " is neither an own cell, 0 to ", own - 1,
                   ", nor one of the ghost cells, ", before, " before and ", after,
                   " after them; make the array with a wider halo"});
    }
  }

  window_type window_;  ///< its own handle, since the array may be moved, swapped or destroyed
  typename Array::index_type own_;
  box_in<dimensions> place_;
  memory memory_;
  element* data_;
  typename Array::index_type copy_pitches_;
  typename Array::index_type first_;  ///< the own cells' place in the whole array
  std::ptrdiff_t before_ = 0;         ///< the distance of the whole array's first cell
  margins<dimensions> around_{};      ///< for the check of indices
};

/// A tile of staged cells, with the members of own_tile.
template <class T, std::size_t N>
class staged_tile {
 public:
  staged_tile(T* part, tile<N> const& t) noexcept : data_(part + t.offset), tile_(t) {}

  /// Its cells in global indices.
  [[nodiscard]] box<N> const& cells() const noexcept { return tile_.cells; }
  [[nodiscard]] std::size_t size() const noexcept { return tile_.cells.size(); }
  /// Its cells, counted from its first: a span, a matrix_view or a box_view.
  [[nodiscard]] auto view() const noexcept { return view_of_memory(data_, tile_.cells.count, tile_.pitches); }

 private:
  T* data_;
  tile<N> tile_;
};

/// A rank's own cells as plain memory, tile by tile, for layouts in which they are no one array.
template <hints Mode, class Array>
class staged_tiles {
  using memory = staged<Mode, typename Array::window_type>;
  using tile_type = staged_tile<typename memory::element, Array::dimensions>;

 public:
  explicit staged_tiles(Array const& a) : memory_(a.window(), 0, a.window().size()) {
    tiles_.reserve(a.layout().tiles(a.rank()));
    for (std::size_t k = 0; k < a.layout().tiles(a.rank()); ++k) {
      tiles_.emplace_back(memory_.data(), a.layout().tile_of(a.rank(), k));
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return tiles_.size(); }
  [[nodiscard]] bool empty() const noexcept { return tiles_.empty(); }
  [[nodiscard]] tile_type const& operator[](std::size_t k) const noexcept { return tiles_[k]; }
  [[nodiscard]] auto begin() const noexcept { return tiles_.begin(); }
  [[nodiscard]] auto end() const noexcept { return tiles_.end(); }

 private:
  memory memory_;
  std::vector<tile_type> tiles_;
};

}  // namespace detail

/// Gives this rank's own cells as plain memory, on every backend: `auto in = stage(array, pgas::read_only);`.
/// Local.
///
/// With read_only and read_write the result includes the ghost cells around the own cells, as they are when
/// stage is called. write_only overwrites all own cells and no ghost cell. Costs nothing if memory is plain,
/// else copies. Staged cells are those of the memory that the array had when stage was called: after a swap
/// of two arrays they are the other array's. At assertion level `heavy` an index past the ghost cells throws
/// errc::out_of_range.
/// Requires that the program reaches cells that it writes through one staged object alone, as long as that
/// object lives. The compiler may therefore assume that staged cells of two calls are different memory, as if
/// their pointers were `__restrict`: it vectorizes loops over several fields.
///
/// If a layout's own cells are no one array, as with cyclic_tiles, the result is a range of tiles, like
/// tiles(): `auto const in = stage(array, pgas::read_only); for (auto const& tile : in) use(tile.view());`.
template <any_global_array Array, hints Mode>
[[nodiscard, gnu::always_inline]] inline auto stage(Array const& a, hint<Mode>) {
  if constexpr (matrix_layout<typename Array::layout_type>) {
    return detail::staged_array<Mode, Array>(a);
  } else {
    return detail::staged_tiles<Mode, Array>(a);
  }
}

/// The same as read_only for a loop over own cells while ghost cells arrive: `stage(array, read_own)`. Local.
///
/// The result includes the ghost cells, but the program looks only at those that no peer is writing to. A
/// checker of races counts own cells alone as read. Costs what read_only does.
template <any_global_array Array>
[[nodiscard, gnu::always_inline]] inline auto stage(Array const& a, read_own_t /*mode*/) {
  if constexpr (matrix_layout<typename Array::layout_type>) {
    return detail::staged_array<read_only.value, Array, false>(a);
  } else {
    return stage(a, read_only);  // such layouts have no ghost cells
  }
}

}  // namespace PGAS_NAMESPACE
