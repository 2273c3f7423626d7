// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <concepts>
#include <optional>
#include <pgas/concepts/epoch.hpp>
#include <pgas/concepts/layout.hpp>
#include <pgas/vocabulary/error.hpp>
#include <pgas/vocabulary/op.hpp>
#include <pgas/vocabulary/rows_of.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace PGAS_NAMESPACE {

/// A list of cells by their indices: a vector, a span or an array. An index is an array of N numbers, or in
/// one dimension a number.
template <class R, std::size_t N>
concept index_list = requires(R const& list, std::size_t k) {
  { list.size() } -> std::convertible_to<std::size_t>;
  requires std::same_as<std::remove_cvref_t<decltype(list[k])>, std::array<std::size_t, N>> ||
               (N == 1 && std::integral<std::remove_cvref_t<decltype(list[k])>>);
};

/// A mask that chooses cells of a box, in row-major order: a vector, a span or an array of bool, or of a type
/// that converts to bool.
template <class R>
concept cell_mask = requires(R const& mask, std::size_t k) {
  { mask.size() } -> std::convertible_to<std::size_t>;
  { mask[k] } -> std::convertible_to<bool>;
};

/// Transfers of cells that form no box. Their argument `for_each_cell` calls use(owner, offset in its part)
/// for each cell, in the order of the values.
namespace detail {

template <std::size_t N, index_list<N> Indices>
constexpr std::array<std::size_t, N> index_at(Indices const& list, std::size_t k) noexcept {
  if constexpr (std::integral<std::remove_cvref_t<decltype(list[k])>>) {
    return {static_cast<std::size_t>(list[k])};
  } else {
    return list[k];
  }
}

/// Throws errc::invalid_argument when the numbers of cells and of values differ.
template <class Indices>
void check_list(rank_t self, called operation, Indices const& list, std::size_t values) {
  PGAS_EXPECTS(
      light, values == list.size(),
      throw_error_at(errc::invalid_argument, self, operation,
                     {values, " values given for ", list.size(), " indices; give one value for each index"}));
}

/// The same for a mask: it must have as many places as its box has cells, and choose as many cells as there
/// are values.
template <std::size_t N, cell_mask Mask>
void check_mask(rank_t self, called operation, box<N> const& at, Mask const& mask, std::size_t values) {
  PGAS_EXPECTS(light, mask.size() == at.size(),
               throw_error_at(errc::invalid_argument, self, operation,
                              {"a mask of ", mask.size(), " given for a box of ", joined(at.count, " x "),
                               " cells; give one place for each cell"}));
  if constexpr (assertions >= assertion_level::light) {
    std::size_t chosen = 0;
    for (std::size_t k = 0; k < mask.size(); ++k) chosen += static_cast<bool>(mask[k]) ? 1 : 0;
    PGAS_EXPECTS(light, values == chosen,
                 throw_error_at(errc::invalid_argument, self, operation,
                                {values, " values given for ", chosen,
                                 " cells that the mask chooses; give one value for each"}));
  }
}

/// Calls use(owner, offset) for each cell of a list.
template <layout L, index_list<L::dimensions> Indices, class Use>
void for_each_listed(L const& l, Indices const& list, Use&& use) {
  for (std::size_t k = 0; k < list.size(); ++k) {
    auto const index = index_at<L::dimensions>(list, k);
    if constexpr (requires { l.owner_and_offset(index); }) {
      auto const [owner, offset] = l.owner_and_offset(index);
      use(owner, offset);
    } else {
      use(l.owner(index), l.offset(index));
    }
  }
}

/// The same for each cell of a box where the mask is true. It needs no division from cell to cell.
template <layout L, cell_mask Mask, class Use>
void for_each_masked(L const& l, box<L::dimensions> const& cells, Mask const& mask, Use&& use) {
  constexpr std::size_t last = L::dimensions - 1;
  if (cells.size() == 0) return;
  box<L::dimensions> row{{}, {}};
  row.count.fill(1);
  row.count[last] = cells.count[last];
  std::array<std::size_t, L::dimensions> at{};
  std::size_t k = 0;
  do {
    for (std::size_t d = 0; d <= last; ++d) row.first[d] = cells.first[d] + at[d];
    for_each_tile(l, row, [&](auto const& in, auto const& piece) {
      std::size_t const first = in.offset_of(piece.first);
      for (std::size_t i = 0; i < piece.count[last]; ++i, ++k) {
        if (static_cast<bool>(mask[k])) use(in.owner, first + i);
      }
    });
  } while (advance(at, cells.count, last));
}

/// For parts that are plain memory: keeps the target of the last cell, which is often that of the next cell,
/// too.
template <open_epoch Epoch>
class last_target {
  using target_type = decltype(std::declval<Epoch&>().to(0));

 public:
  explicit last_target(Epoch& epoch) noexcept : epoch_(&epoch) {}

  target_type const& operator()(rank_t owner) {
    if (!target_ || target_->rank() != owner) target_.emplace(epoch_->to(owner).for_one_access());
    return *target_;
  }

 private:
  Epoch* epoch_;
  std::optional<target_type> target_;
};

/// For parts that are reached by messages: collects cells by owner, in the order of their memory. Neighbours,
/// and cells at equal distances, then travel together.
class collected_cells {
 public:
  template <class ForEachCell>
  explicit collected_cells(std::size_t count, ForEachCell const& for_each_cell) {
    cells_.reserve(count);
    for_each_cell([this](rank_t owner, std::size_t offset) {
      cells_.push_back({owner, offset, cells_.size()});
    });
    auto const before = [](cell const& a, cell const& b) {
      if (a.owner != b.owner) return a.owner < b.owner;
      return a.offset != b.offset ? a.offset < b.offset : a.value < b.value;
    };
    in_order_ = std::is_sorted(cells_.begin(), cells_.end(), before);
    if (!in_order_) std::sort(cells_.begin(), cells_.end(), before);
  }

  /// The values in the order of the cells: the given memory if it has that order, else a copy.
  template <class T>
  [[nodiscard]] T const* sorted(T const* values, std::vector<T>& copy) const {
    if (in_order_) return values;
    copy.reserve(cells_.size());
    for (cell const& c : cells_) copy.push_back(values[c.value]);
    return copy.data();
  }
  /// The memory for values in the order of the cells: the caller's if it has that order, else `aside`, until
  /// `spread`.
  template <class T>
  [[nodiscard]] T* room(T* values, std::vector<T>& aside) const {
    if (in_order_) return values;
    aside.resize(cells_.size());
    return aside.data();
  }
  template <class T>
  void spread(std::vector<T> const& aside, T* values) const {
    for (std::size_t i = 0; i < aside.size(); ++i) values[cells_[i].value] = aside[i];
  }

  /// Calls use(owner, block of its part, number of its first cell) for each run of cells at equal distances,
  /// or of neighbours only.
  template <class Use>
  void for_each_run(bool neighbours_only, Use&& use) const {
    for (std::size_t i = 0, end = 0; i < cells_.size(); i = end) {
      cell const& c = cells_[i];
      end = i + 1;
      std::size_t const step = step_after(i);
      if (step == 1 || (step != 0 && !neighbours_only)) {
        while (step_after(end - 1) == step) ++end;
      }
      std::size_t const count = end - i;
      use(c.owner,
          count == 1 || step == 1 ? rows_of{.first = c.offset, .rows = 1, .cols = count, .pitch = count}
                                  : strided(c.offset, count, step),
          i);
    }
  }
  template <class Use>
  void for_each_owner(Use&& use) const {
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if (i == 0 || cells_[i - 1].owner != cells_[i].owner) use(cells_[i].owner);
    }
  }

 private:
  struct cell {
    rank_t owner;
    std::size_t offset;
    std::size_t value;
  };

  /// The distance to the next cell. It is 0 if there is none, if another rank owns it, or if it is the same
  /// cell.
  [[nodiscard]] std::size_t step_after(std::size_t i) const noexcept {
    return i + 1 == cells_.size() || cells_[i + 1].owner != cells_[i].owner
               ? 0
               : cells_[i + 1].offset - cells_[i].offset;
  }

  std::vector<cell> cells_;
  bool in_order_ = true;
};

template <open_epoch Epoch>
inline constexpr bool has_direct_parts =
    std::remove_cvref_t<decltype(std::declval<Epoch&>().state())>::is_direct;

template <open_epoch Epoch, class T, class ForEachCell>
void put_cells(Epoch& epoch, std::span<T const> values, ForEachCell const& for_each_cell) {
  if constexpr (has_direct_parts<Epoch>) {
    last_target to(epoch);
    T const* value = values.data();
    for_each_cell([&](rank_t owner, std::size_t offset) { to(owner).put(offset, *value++); });
  } else {
    collected_cells const cells(values.size(), for_each_cell);
    std::vector<T> copy;
    T const* const from = cells.sorted(values.data(), copy);
    cells.for_each_run(false, [&](rank_t owner, rows_of block, std::size_t i) {
      epoch.to(owner).put(block, from + i, block.cols);
    });
    if (!copy.empty()) cells.for_each_owner([&](rank_t owner) { epoch.to(owner).flush_local(); });
  }
}

template <open_epoch Epoch, class T, class ForEachCell>
void get_cells(Epoch& epoch, std::span<T> values, ForEachCell const& for_each_cell) {
  if constexpr (has_direct_parts<Epoch>) {
    last_target to(epoch);
    T* value = values.data();
    for_each_cell([&](rank_t owner, std::size_t offset) { *value++ = to(owner).get(offset); });
  } else {
    collected_cells const cells(values.size(), for_each_cell);
    std::vector<T> aside;
    T* const into = cells.room(values.data(), aside);
    cells.for_each_run(false, [&](rank_t owner, rows_of block, std::size_t i) {
      epoch.to(owner).get(block, into + i, block.cols);
    });
    cells.for_each_owner([&](rank_t owner) { epoch.to(owner).flush_local(); });
    cells.spread(aside, values.data());
  }
}

template <open_epoch Epoch, class T, class Op, class ForEachCell>
void accumulate_cells(Epoch& epoch, std::span<T const> values, Op op, ForEachCell const& for_each_cell) {
  if constexpr (has_direct_parts<Epoch>) {
    last_target to(epoch);
    T const* value = values.data();
    for_each_cell([&](rank_t owner, std::size_t offset) { to(owner).accumulate(offset, *value++, op); });
  } else {
    collected_cells const cells(values.size(), for_each_cell);
    std::vector<T> copy;
    T const* const from = cells.sorted(values.data(), copy);
    cells.for_each_run(true, [&](rank_t owner, rows_of block, std::size_t i) {
      epoch.to(owner).accumulate(block.first, std::span<T const>(from + i, block.cols), op);
    });
  }
}

template <open_epoch Epoch, class T, class Op, class ForEachCell>
void get_accumulate_cells(Epoch& epoch, std::span<T const> values, std::span<T> before, Op op,
                          ForEachCell const& for_each_cell) {
  if constexpr (has_direct_parts<Epoch>) {
    last_target to(epoch);
    std::size_t k = 0;
    for_each_cell([&](rank_t owner, std::size_t offset) {
      before[k] = to(owner).get_accumulate(offset, values[k], op);
      ++k;
    });
  } else {
    collected_cells const cells(values.size(), for_each_cell);
    std::vector<T> copy;
    std::vector<T> aside;
    T const* const from = cells.sorted(values.data(), copy);
    T* const into = cells.room(before.data(), aside);
    cells.for_each_run(true, [&](rank_t owner, rows_of block, std::size_t i) {
      epoch.to(owner).get_accumulate(block.first, std::span<T const>(from + i, block.cols),
                                     std::span<T>(into + i, block.cols), op);
    });
    cells.spread(aside, before.data());
  }
}

}  // namespace detail

}  // namespace PGAS_NAMESPACE
