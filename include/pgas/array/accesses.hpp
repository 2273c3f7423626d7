// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <pgas/array/scattered.hpp>
#include <pgas/detail/array/blocks.hpp>
#include <pgas/detail/array/checked_cells.hpp>
#include <pgas/detail/types/anything.hpp>
#include <pgas/epoch/epoch.hpp>
#include <span>
#include <string>
#include <string_view>

namespace PGAS_NAMESPACE::detail {

/// The accesses of an epoch on an array: those of a window's epoch, and the same by the global indices of
/// cells. A window's epoch names elements by rank and place in the part; global indices name cells of any
/// owner.
///
/// All are one-sided. Values lie without gaps in row-major order of their box. Bulk puts and gets of a box
/// complete like the epoch's other bulk transfers, after flush_local or close. If the epoch is not open to an
/// owner, each throws what `to(owner)` throws: errc::outside_group from an access, errc::wrong_order from a
/// lock.
template <class Epoch, class State, hints Hints>
class array_accesses
    : public accesses<Epoch, State, Hints>,
      public checked_cells<Epoch, State>,
      public refuses_temporaries_of_arrays<typename State::value_type, box<State::dimensions>> {
  using base = accesses<Epoch, State, Hints>;
  using refused = refuses_temporaries_of_arrays<typename State::value_type, box<State::dimensions>>;
  using checks = checked_cells<Epoch, State>;

 public:
  /// The number of dimensions of the array.
  static constexpr std::size_t dimensions = State::dimensions;
  using typename base::value_type;
  using box_type = box<dimensions>;
  using index_type = std::array<std::size_t, dimensions>;

  using base::accumulate;
  using base::get;
  using base::get_accumulate;
  using base::put;
  using base::raccumulate;
  using base::rget;
  using base::rget_accumulate;
  using base::rput;
  using refused::get;
  using refused::put;
  using refused::rget;
  using refused::rput;

  using checks::shape;

  /// Puts a box of cells: `epoch.put({{row, col}, {rows, cols}}, values)`.
  ///
  /// Throws errc::out_of_range with the box and the extents, errc::invalid_argument for another number of
  /// values, and for values that are some of these cells in this rank's own part.
  /// Costs a strided put for each tile; in three dimensions one for each plane; for tiles of short rows one
  /// for many tiles. Needs no buffer. MPI_Put with a subarray type; Global Arrays: NGA_Put.
  void put(box_type const& at, std::span<value_type const> values, caller by = here()) {
    check_transfer({"put", by}, at, values);
    for_each_block(layout(), at, {0, dense_pitches(at.count)},
                   [&](rank_t owner, rows_of block, std::size_t first, std::size_t pitch) {
                     epoch().to(owner, by).put(block, values.data() + first, pitch);
                   });
  }
  /// Gets a box of cells. The values are complete after flush_local of the owners, or close. Otherwise like
  /// put. MPI_Get with a subarray type; Global Arrays: NGA_Get.
  void get(box_type const& at, std::span<value_type> values, caller by = here()) {
    check_transfer({"get", by}, at, values);
    for_each_block(layout(), at, {0, dense_pitches(at.count)},
                   [&](rank_t owner, rows_of block, std::size_t first, std::size_t pitch) {
                     epoch().to(owner, by).get(block, values.data() + first, pitch);
                   });
  }
  /// Combines each value of a box into its cell, each in one indivisible step. Otherwise like put. Costs an
  /// accumulate for each row of a tile. MPI_Accumulate; Global Arrays: NGA_Acc.
  template <operation_argument Op = op::sum>
  void accumulate(box_type const& at, std::span<value_type const> values, Op op = {}, caller by = here()) {
    accumulate_as({"accumulate", by}, at, values, op);
  }
  /// Like accumulate; at return `before` holds the cells' values before. Throws errc::invalid_argument if
  /// `values` and `before` overlap. MPI_Get_accumulate.
  template <operation_argument Op = op::sum>
  void get_accumulate(box_type const& at, std::span<value_type const> values, std::span<value_type> before,
                      Op op = {}, caller by = here()) {
    get_accumulate_as({"get_accumulate", by}, at, values, before, op);
  }

  /// The same for cells [first, first + values.size()) of one dimension.
  void put(std::size_t first, std::span<value_type const> values, caller by = here())
    requires(dimensions == 1)
  {
    put(box_type{{first}, {values.size()}}, values, by);
  }
  void get(std::size_t first, std::span<value_type> values, caller by = here())
    requires(dimensions == 1)
  {
    get(box_type{{first}, {values.size()}}, values, by);
  }
  template <operation_argument Op = op::sum>
  void accumulate(std::size_t first, std::span<value_type const> values, Op op = {}, caller by = here())
    requires(dimensions == 1)
  {
    accumulate(box_type{{first}, {values.size()}}, values, op, by);
  }

  /// Like put and get of a box or of one cell, and return a request. An rput's source may be reused, and an
  /// rget's destination may be read, once the request is done. MPI_Rput, MPI_Rget; Global Arrays: NGA_NbPut,
  /// NGA_NbGet.
  [[nodiscard]] auto rput(box_type const& at, std::span<value_type const> values, caller by = here()) {
    check_transfer({"rput", by}, at, values);
    joined_requests<decltype(epoch().to(0).rput(rows_of{}, values.data(), 0))> all;
    for_each_block(layout(), at, {0, dense_pitches(at.count)},
                   [&](rank_t owner, rows_of block, std::size_t first, std::size_t pitch) {
                     all.add(epoch().to(owner, by).rput(block, values.data() + first, pitch));
                   });
    return all;
  }
  [[nodiscard]] auto rget(box_type const& at, std::span<value_type> values, caller by = here()) {
    check_transfer({"rget", by}, at, values);
    joined_requests<decltype(epoch().to(0).rget(rows_of{}, values.data(), 0))> all;
    for_each_block(layout(), at, {0, dense_pitches(at.count)},
                   [&](rank_t owner, rows_of block, std::size_t first, std::size_t pitch) {
                     all.add(epoch().to(owner, by).rget(block, values.data() + first, pitch));
                   });
    return all;
  }
  [[nodiscard]] auto rput(std::size_t first, std::span<value_type const> values, caller by = here())
    requires(dimensions == 1)
  {
    return rput(box_type{{first}, {values.size()}}, values, by);
  }
  [[nodiscard]] auto rget(std::size_t first, std::span<value_type> values, caller by = here())
    requires(dimensions == 1)
  {
    return rget(box_type{{first}, {values.size()}}, values, by);
  }
  [[nodiscard]] done rput(index_type const& index, value_type const& value, caller by = here()) {
    auto const [owner, offset] = place_of({"rput", by}, index);
    return base::rput(owner, offset, value, by);
  }
  [[nodiscard]] done rget(index_type const& index, value_type& into, caller by = here()) {
    auto const [owner, offset] = place_of({"rget", by}, index);
    return base::rget(owner, offset, into, by);
  }
  /// Like accumulate of a box, and returns a request that is done at return. MPI_Raccumulate.
  template <operation_argument Op = op::sum>
  [[nodiscard]] done raccumulate(box_type const& at, std::span<value_type const> values, Op op = {},
                                 caller by = here()) {
    accumulate_as({"raccumulate", by}, at, values, op);
    return {};
  }
  /// Like get_accumulate of a box, and returns a request that is done at return. MPI_Rget_accumulate.
  template <operation_argument Op = op::sum>
  [[nodiscard]] done rget_accumulate(box_type const& at, std::span<value_type const> values,
                                     std::span<value_type> before, Op op = {}, caller by = here()) {
    get_accumulate_as({"rget_accumulate", by}, at, values, before, op);
    return {};
  }

  /// Puts or gets one cell, like load and store of `epoch[array.at(i, j)]`: `epoch.put({i, j}, value)`. When
  /// get returns, the value is complete. Throws errc::out_of_range at assertion level normal. Costs a look-up
  /// of the owner and a store.
  void put(index_type const& index, value_type const& value, caller by = here()) {
    auto const [owner, offset] = place_of({"put", by}, index);
    base::put(owner, offset, value, by);
  }
  [[nodiscard]] value_type get(index_type const& index, caller by = here()) {
    auto const [owner, offset] = place_of({"get", by}, index);
    return base::get(owner, offset, by);
  }

  /// Puts values[k] into the cell with index indices[k], for all k: `epoch.put(indices, values)`. Any ranks
  /// may own the cells. No cell may be named twice.
  ///
  /// Throws errc::out_of_range with the first index that no cell has, before it puts anything. Costs a store
  /// for each cell if parts are plain memory. Otherwise cells are collected by owner, and cells at equal
  /// distances in a part are one transfer; indices in ascending order need no sort and no copy. Global
  /// Arrays: NGA_Scatter; MPI: MPI_Put with indexed types; NumPy: a[indices] = values.
  template <index_list<dimensions> Indices>
  void put(Indices const& indices, std::span<value_type const> values, caller by = here()) {
    check_scattered({"put", by}, indices, values);
    put_cells(epoch(), values, each_of(indices));
  }
  /// Gets values[k] from the cell with index indices[k]. All values are complete when it returns. A cell may
  /// be named twice. Otherwise like put. Global Arrays: NGA_Gather; NumPy: a[indices].
  template <index_list<dimensions> Indices>
  void get(Indices const& indices, std::span<value_type> values, caller by = here()) {
    check_scattered({"get", by}, indices, values);
    get_cells(epoch(), values, each_of(indices));
  }
  /// Combines values[k] into the cell with index indices[k], each in one indivisible step. A cell may be
  /// named twice. Otherwise like put. Global Arrays: NGA_Scatter_acc.
  template <index_list<dimensions> Indices, operation_argument Op = op::sum>
  void accumulate(Indices const& indices, std::span<value_type const> values, Op op = {},
                  caller by = here()) {
    check_scattered({"accumulate", by}, indices, values);
    accumulate_cells(epoch(), values, op, each_of(indices));
  }

  /// Like accumulate of a list; at return before[k] holds the value of its cell before. Otherwise like
  /// put.
  template <index_list<dimensions> Indices, operation_argument Op = op::sum>
  void get_accumulate(Indices const& indices, std::span<value_type const> values,
                      std::span<value_type> before, Op op = {}, caller by = here()) {
    check_scattered({"get_accumulate", by}, indices, values);
    check_before({"get_accumulate", by}, values, before, each_of(indices));
    get_accumulate_cells(epoch(), values, before, op, each_of(indices));
  }
  /// Like put, get, accumulate and get_accumulate of a list, and return a request that is done at return:
  /// sources may be reused, and destinations may be read.
  template <index_list<dimensions> Indices>
  [[nodiscard]] done rput(Indices const& indices, std::span<value_type const> values, caller by = here()) {
    check_scattered({"rput", by}, indices, values);
    put_cells(epoch(), values, each_of(indices));
    return {};
  }
  template <index_list<dimensions> Indices>
  [[nodiscard]] done rget(Indices const& indices, std::span<value_type> values, caller by = here()) {
    check_scattered({"rget", by}, indices, values);
    get_cells(epoch(), values, each_of(indices));
    return {};
  }
  template <index_list<dimensions> Indices, operation_argument Op = op::sum>
  [[nodiscard]] done raccumulate(Indices const& indices, std::span<value_type const> values, Op op = {},
                                 caller by = here()) {
    check_scattered({"raccumulate", by}, indices, values);
    accumulate_cells(epoch(), values, op, each_of(indices));
    return {};
  }
  template <index_list<dimensions> Indices, operation_argument Op = op::sum>
  [[nodiscard]] done rget_accumulate(Indices const& indices, std::span<value_type const> values,
                                     std::span<value_type> before, Op op = {}, caller by = here()) {
    check_scattered({"rget_accumulate", by}, indices, values);
    check_before({"rget_accumulate", by}, values, before, each_of(indices));
    get_accumulate_cells(epoch(), values, before, op, each_of(indices));
    return {};
  }

  /// The same for the cells of a box where a mask is true. The mask has a place for each cell of the box, in
  /// row-major order. There is one value for each chosen cell. Throws errc::out_of_range when the box does
  /// not fit, errc::invalid_argument when the numbers differ. Fortran: UNPACK and PACK; NumPy: a[mask].
  template <cell_mask Mask>
  void put(box_type const& at, Mask const& mask, std::span<value_type const> values, caller by = here()) {
    check_masked({"put", by}, at, mask, values);
    put_cells(epoch(), values, each_in(at, mask));
  }
  template <cell_mask Mask>
  void get(box_type const& at, Mask const& mask, std::span<value_type> values, caller by = here()) {
    check_masked({"get", by}, at, mask, values);
    get_cells(epoch(), values, each_in(at, mask));
  }
  template <cell_mask Mask, operation_argument Op = op::sum>
  void accumulate(box_type const& at, Mask const& mask, std::span<value_type const> values, Op op = {},
                  caller by = here()) {
    check_masked({"accumulate", by}, at, mask, values);
    accumulate_cells(epoch(), values, op, each_in(at, mask));
  }
  template <cell_mask Mask>
  [[nodiscard]] done rput(box_type const& at, Mask const& mask, std::span<value_type const> values,
                          caller by = here()) {
    check_masked({"rput", by}, at, mask, values);
    put_cells(epoch(), values, each_in(at, mask));
    return {};
  }
  template <cell_mask Mask>
  [[nodiscard]] done rget(box_type const& at, Mask const& mask, std::span<value_type> values,
                          caller by = here()) {
    check_masked({"rget", by}, at, mask, values);
    get_cells(epoch(), values, each_in(at, mask));
    return {};
  }
  template <cell_mask Mask, operation_argument Op = op::sum>
  void get_accumulate(box_type const& at, Mask const& mask, std::span<value_type const> values,
                      std::span<value_type> before, Op op = {}, caller by = here()) {
    check_masked({"get_accumulate", by}, at, mask, values);
    check_before({"get_accumulate", by}, values, before, each_in(at, mask));
    get_accumulate_cells(epoch(), values, before, op, each_in(at, mask));
  }
  template <cell_mask Mask, operation_argument Op = op::sum>
  [[nodiscard]] done raccumulate(box_type const& at, Mask const& mask, std::span<value_type const> values,
                                 Op op = {}, caller by = here()) {
    check_masked({"raccumulate", by}, at, mask, values);
    accumulate_cells(epoch(), values, op, each_in(at, mask));
    return {};
  }
  template <cell_mask Mask, operation_argument Op = op::sum>
  [[nodiscard]] done rget_accumulate(box_type const& at, Mask const& mask, std::span<value_type const> values,
                                     std::span<value_type> before, Op op = {}, caller by = here()) {
    check_masked({"rget_accumulate", by}, at, mask, values);
    check_before({"rget_accumulate", by}, values, before, each_in(at, mask));
    get_accumulate_cells(epoch(), values, before, op, each_in(at, mask));
    return {};
  }

  /// Does not compile: says how put is called.
  template <class None = void>
  auto put(anything = {}, anything = {}, anything = {}, anything = {}, anything = {}) {
    static_assert(always_false<None>,
                  "put: write `epoch.put({i, j}, value)` for a cell, `epoch.put({{i, j}, {rows, cols}}, "
                  "values)` for a box with a std::vector or std::span of one value a cell, or "
                  "`epoch.put(rank, index, value)` for a place in a part; values have the type of the cells");
  }
  /// Does not compile: says how get is called.
  template <class None = void>
  auto get(anything = {}, anything = {}, anything = {}, anything = {}, anything = {}) {
    static_assert(always_false<None>,
                  "get: write `epoch.get({i, j})` for a cell, `epoch.get({{i, j}, {rows, cols}}, values)` "
                  "for a box with a std::vector or std::span to fill, or `epoch.get(rank, index)` for a "
                  "place in a part; values have the type of the cells");
  }
  /// Does not compile: says how accumulate is called.
  template <class None = void>
  auto accumulate(anything_but_braces = {}, anything_but_braces = {}, anything_but_braces = {},
                  anything_but_braces = {}, anything_but_braces = {}) {
    static_assert(
        always_false<None>,
        "accumulate: write `epoch.accumulate({{i, j}, {rows, cols}}, values)` for a box with a std::vector "
        "or std::span of one value a cell, or `epoch.accumulate(rank, index, value)` for a place in a part, "
        "perhaps with an operation behind it, such as `pgas::op::max{}`; values have the type of the cells");
  }

 private:
  [[nodiscard]] Epoch& epoch() noexcept { return static_cast<Epoch&>(*this); }
  using checks::check_before;
  using checks::check_masked;
  using checks::check_scattered;
  using checks::check_transfer;
  using checks::each_in;
  using checks::each_of;
  using checks::each_row;
  using checks::layout;
  using checks::place_of;

  template <class Op>
  void accumulate_as(called operation, box_type const& at, std::span<value_type const> values, Op op) {
    check_transfer(operation, at, values);
    for_each_block(layout(), at, {0, dense_pitches(at.count)},
                   [&](rank_t owner, rows_of block, std::size_t first, std::size_t pitch) {
                     auto const target = epoch().to(owner, operation.by());
                     for (std::size_t row = 0; row < block.rows; ++row) {
                       target.accumulate(block.first + row * block.pitch,
                                         values.subspan(first + row * pitch, block.cols), op);
                     }
                   });
  }
  template <class Op>
  void get_accumulate_as(called operation, box_type const& at, std::span<value_type const> values,
                         std::span<value_type> before, Op op) {
    check_transfer(operation, at, values);
    check_before(operation, values, before, each_row(at));
    for_each_block(layout(), at, {0, dense_pitches(at.count)},
                   [&](rank_t owner, rows_of block, std::size_t first, std::size_t pitch) {
                     auto const target = epoch().to(owner, operation.by());
                     for (std::size_t row = 0; row < block.rows; ++row) {
                       std::size_t const here = first + row * pitch;
                       target.get_accumulate(block.first + row * block.pitch,
                                             values.subspan(here, block.cols),
                                             before.subspan(here, block.cols), op);
                     }
                   });
  }
};

}  // namespace PGAS_NAMESPACE::detail
