// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <numeric>
#include <pgas/concepts/distribution.hpp>
#include <pgas/concepts/layout.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/vocabulary/grid.hpp>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE {

namespace detail {

/// True if D is a dimension that no grid divides.
template <class D>
constexpr bool is_undivided() noexcept {
  if constexpr (requires { D::max_ranks; }) {
    return D::max_ranks == 1;
  } else {
    return false;
  }
}

}  // namespace detail

/// One distribution per dimension, over a grid of ranks: `tiled{block{}, block{}}.on(grid{2, 3})`.
///
/// A rank's own cells form one array in its part, in row-major order of local indices. The tiles of
/// block-cyclic dimensions lie side by side in it, with its pitch as leading dimension.
/// `padded(64)` makes every row of own cells start on a line of 64 bytes, if parts do. Rows of at least 1 KiB
/// with ghost cells beside them do so by default: a stencil would else read and write across lines, which
/// takes a tenth longer. The default grid is as square as possible.
/// Ferreras 2008 proposes a grid (section 5.3.2) without a formula; ScaLAPACK: block-cyclic matrices; HPF:
/// DISTRIBUTE (...) ONTO.
template <distribution... D>
class tiled {
  static_assert(sizeof...(D) >= 1 && sizeof...(D) <= 4, "tiled: arrays have one to four dimensions");

 public:
  static constexpr std::size_t dimensions = sizeof...(D);
  static constexpr bool one_box = (contiguous_distribution<D> && ...);
  using index_type = std::array<std::size_t, dimensions>;
  using place_type = std::array<rank_t, dimensions>;
  using box_type = box<dimensions>;
  using tile_type = tile<dimensions>;

  constexpr tiled() = default;
  /// One distribution for each dimension. Not explicit: a distribution is a layout.
  constexpr tiled(D const&... each) noexcept
    requires(dimensions > 0)
      : each_(each...) {}

  /// The same layout on this grid. If the grid has fewer places than there are ranks, the last ranks own no
  /// cells.
  [[nodiscard]] constexpr tiled on(grid<dimensions> const& places) const noexcept {
    tiled other = *this;
    other.asked_ = places;
    return other;
  }
  /// The same layout with rows that start on lines of `line_bytes` bytes.
  [[nodiscard]] constexpr tiled padded(std::size_t line_bytes) const noexcept {
    tiled other = *this;
    other.line_bytes_ = line_bytes;
    return other;
  }

  [[nodiscard]] constexpr tiled over(index_type const& extents, rank_t ranks, std::size_t element_bytes = 1,
                                     margins<dimensions> const& around = {}) const {
    tiled other = *this;
    other.extents_ = extents;
    other.ranks_ = ranks;
    other.grid_ = asked_.over(ranks, undivided);
    std::size_t const line_bytes = other.line_of_rows(element_bytes, around);
    other.padding_ = line_bytes == 0 ? 1 : line_bytes / std::gcd(line_bytes, element_bytes);
    other.around_ = around;
    other.around_.before[last] = other.rounded(around.before[last]);
    with_each([&](auto d) {
      std::get<d>(other.each_) = std::get<d>(each_).over(extents[d], other.grid_.extent(d));
    });
    return other;
  }
  [[nodiscard]] std::optional<std::string> error_for(index_type const& extents, rank_t ranks) const {
    std::optional<std::string> found = asked_.error_for(ranks, undivided);
    if (found) return found;
    auto const places = asked_.over(ranks, undivided);
    with_each([&](auto d) {
      auto const& one = std::get<d>(each_);
      std::optional<std::string> mine;
      if constexpr (requires { one.error_for(extents[d], ranks); })
        mine = one.error_for(extents[d], places.extent(d));
      if (detail::is_undivided<std::tuple_element_t<d, std::tuple<D...>>>() && places.extent(d) != 1) {
        mine = detail::text_of({"it is undivided, but the grid of ", places.describe(), " divides it"});
      }
      if (!found && mine) found = detail::text_of({"dimension ", d(), ": ", *mine});
    });
    return found;
  }
  [[nodiscard]] std::string describe() const {
    std::string text;
    with_each([&](auto d) {
      detail::append_text(text, {text.empty() ? "tiled(" : ", ", std::get<d>(each_).describe()});
    });
    text += ")";
    if (asked_ != grid<dimensions>{}) detail::append_text(text, {" on ", asked_.describe()});
    if (line_bytes_ != 0) detail::append_text(text, {" padded to ", detail::as_given(line_bytes_)});
    return text;
  }

  [[nodiscard]] constexpr index_type const& extents() const noexcept { return extents_; }
  [[nodiscard]] constexpr rank_t ranks() const noexcept { return ranks_; }
  /// The arrangement of the ranks.
  [[nodiscard]] constexpr grid<dimensions> const& places() const noexcept { return grid_; }
  /// The number of elements around own cells: the margins asked for, or more before rows that start on lines.
  [[nodiscard]] constexpr margins<dimensions> const& room() const noexcept { return around_; }
  /// The distribution of the indices of dimension d over the ranks along that dimension.
  template <std::size_t d>
  [[nodiscard]] constexpr auto const& along() const noexcept {
    return std::get<d>(each_);
  }

  [[nodiscard]] constexpr rank_t owner(index_type const& index) const noexcept {
    return grid_.rank(place_of(index));
  }
  [[nodiscard]] constexpr std::size_t offset(index_type const& index) const noexcept {
    return place_and_offset(index).second;
  }
  /// The owner and the offset of a cell; costs less than both calls.
  [[nodiscard]] constexpr std::pair<rank_t, std::size_t> owner_and_offset(
      index_type const& index) const noexcept {
    auto const [place, offset] = place_and_offset(index);
    return {grid_.rank(place), offset};
  }
  [[nodiscard]] constexpr index_type global_index(rank_t rank, std::size_t offset) const noexcept {
    auto const place = grid_.place(rank);
    auto const pitch = pitches_at(place);
    index_type index{};
    with_each([&](auto d) {
      index[d] = std::get<d>(each_).global_index(place[d], offset / pitch[d] - around_.before[d]);
      offset %= pitch[d];
    });
    return index;
  }

  /// The offset of a rank's first own cell in its part.
  [[nodiscard]] constexpr std::size_t origin(rank_t rank) const noexcept {
    auto const pitch = pitches(rank);
    std::size_t first = 0;
    for (std::size_t d = 0; d < dimensions; ++d) first += around_.before[d] * pitch[d];
    return first;
  }
  /// The number of own cells of a rank along each dimension.
  [[nodiscard]] constexpr index_type local_extents(rank_t rank) const noexcept {
    return grid_.has(rank) ? local_extents_at(grid_.place(rank)) : index_type{};
  }
  /// The distance in elements between neighbours of a part along each dimension.
  [[nodiscard]] constexpr index_type pitches(rank_t rank) const noexcept {
    return pitches_at(grid_.has(rank) ? grid_.place(rank) : place_type{});
  }
  /// The number of elements of a part along each dimension, margins and padding included.
  [[nodiscard]] constexpr index_type part_extents(rank_t rank) const noexcept {
    index_type all = local_extents(rank);
    if (box_type{{}, all}.size() == 0) return {};
    for (std::size_t d = 0; d < dimensions; ++d) all[d] = part_extent(d, all[d]);
    return all;
  }
  /// The number of elements of a part; 0 for a rank without cells.
  [[nodiscard]] constexpr std::size_t part_size(rank_t rank) const noexcept {
    return box_type{{}, part_extents(rank)}.size();
  }

  [[nodiscard]] constexpr std::size_t tiles(rank_t rank) const noexcept {
    return grid_.has(rank) ? box_type{{}, blocks_at(grid_.place(rank))}.size() : 0;
  }
  [[nodiscard]] constexpr tile_type tile_of(rank_t rank, std::size_t k) const noexcept {
    auto const place = grid_.place(rank);
    auto const blocks = blocks_at(place);
    index_type local_block{};
    for (std::size_t d = dimensions; d-- > 0;) {
      local_block[d] = k % blocks[d];
      k /= blocks[d];
    }
    return tile_at(place, local_block);
  }
  [[nodiscard]] constexpr tile_type tile_at(index_type const& index) const noexcept {
    return tile_at(place_of(index),
                   each([&](auto const& one, std::size_t d) { return one.local_block(index[d]); }));
  }
  /// True if for_each_share is faster than for_each_tile: the rows of tiles are short, and there are many.
  [[nodiscard]] constexpr bool has_many_short_rows(box_type const& cells) const noexcept {
    if constexpr (one_box) {
      return false;
    } else {
      return cells.size() >= 64 && 4 * tile_at(cells.first).cells.count[last] <= cells.count[last] &&
             tile_at(cells.first).cells.count[last] < 64;
    }
  }
  /// Calls use(share) until all of `cells` are covered: a few shares per owner, however many tiles it has.
  template <class Use>
  void for_each_share(box_type const& cells, Use&& use) const {
    std::array<std::vector<band>, dimensions> bands;
    with_each([&](auto d) { bands[d] = bands_of(std::get<d>(each_), {cells.first[d], cells.count[d]}); });
    index_type counts{};
    for (std::size_t d = 0; d < dimensions; ++d) counts[d] = bands[d].size();
    if (box_type{{}, counts}.size() == 0) return;
    index_type which{};
    do {
      share<dimensions> one;
      place_type place{};
      for (std::size_t d = 0; d < dimensions; ++d) place[d] = bands[d][which[d]].owner;
      one.owner = grid_.rank(place);
      one.pitches = pitches_at(place);
      for (std::size_t d = 0; d < dimensions; ++d) {
        band const& b = bands[d][which[d]];
        one.first[d] = b.first;
        one.blocks[d] = b.blocks;
        one.length[d] = b.length;
        one.step[d] = b.step;
        one.offset += (around_.before[d] + b.local) * one.pitches[d];
      }
      use(std::as_const(one));
    } while (detail::advance(which, counts));
  }
  /// The box of cells that a rank owns.
  [[nodiscard]] constexpr box_type box_of(rank_t rank) const noexcept
    requires one_box
  {
    box_type own;
    auto const place = grid_.has(rank) ? grid_.place(rank) : place_type{};
    with_each([&](auto d) { own.first[d] = std::get<d>(each_).first(place[d]); });
    own.count = local_extents(rank);
    return own;
  }

  /// True if a number of elements or bytes overflows the address space.
  [[nodiscard]] constexpr bool overflows(std::size_t element_bytes) const noexcept {
    constexpr std::size_t most = PTRDIFF_MAX;
    std::size_t bytes = element_bytes;
    for (std::size_t d = 0; d < dimensions; ++d) {
      std::size_t const before = around_.before[d];
      std::size_t const after = around_.after[d];
      if (before > most / 4 || after > most / 4 || padding_ > most / 4) return true;
      if (extents_[d] > most - before - after - padding_) return true;
      std::size_t const cells = part_extent(d, extents_[d]);
      if (cells != 0 && bytes > most / cells) return true;
      bytes *= cells;
    }
    return false;
  }

  friend constexpr bool operator==(tiled const&, tiled const&) = default;

 private:
  static constexpr std::size_t last = dimensions - 1;
  static constexpr std::array<bool, dimensions> undivided{detail::is_undivided<D>()...};

  /// Blocks of one owner along one dimension, at equal distances.
  struct band {
    rank_t owner = 0;
    std::size_t first = 0;
    std::size_t local = 0;
    std::size_t blocks = 1;
    std::size_t length = 0;
    std::size_t step = 0;
  };
  template <distribution One>
  static std::vector<band> bands_of(One const& one, index_range range) {
    std::vector<band> found;
    std::vector<std::size_t> last_of(static_cast<std::size_t>(one.ranks()),
                                     SIZE_MAX);  // each owner's last band
    std::size_t const end = range.first + range.count;
    for (std::size_t i = range.first; i < end;) {
      rank_t const owner = one.owner(i);
      auto const block = one.block_of(owner, one.local_block(i));
      std::size_t const length = std::min(block.first + block.count, end) - i;
      std::size_t const local = one.local_index(i);
      std::size_t& known = last_of[static_cast<std::size_t>(owner)];
      band* const before = known == SIZE_MAX ? nullptr : &found[known];
      if (before != nullptr && before->length == length && before->local + before->blocks * length == local &&
          (before->blocks == 1 || before->first + before->blocks * before->step == i)) {
        if (before->blocks++ == 1) before->step = i - before->first;
      } else {
        known = found.size();
        found.push_back(
            {.owner = owner, .first = i, .local = local, .blocks = 1, .length = length, .step = 0});
      }
      i += length;
    }
    return found;
  }

  /// Calls use(d) for each dimension in order, with d a constant.
  template <class Use>
  static constexpr void with_each(Use&& use) {
    [&]<std::size_t... d>(std::index_sequence<d...>) {
      (use(std::integral_constant<std::size_t, d>{}), ...);
    }(std::index_sequence_for<D...>{});
  }
  /// The array of value(distribution, d) over all dimensions d.
  template <class Value>
  [[nodiscard]] constexpr auto each(Value&& value) const {
    return [&]<std::size_t... d>(std::index_sequence<d...>) {
      return std::array{value(std::get<d>(each_), d)...};
    }(std::index_sequence_for<D...>{});
  }

  /// The bytes of the lines on which rows start; 0 if they start anywhere.
  [[nodiscard]] constexpr std::size_t line_of_rows(std::size_t element_bytes,
                                                   margins<dimensions> const& around) const noexcept {
    constexpr std::size_t line = 64;
    constexpr std::size_t long_row = 16 * line;  // such a row grows by an eighth at most
    if (line_bytes_ != 0) return line_bytes_;
    bool const has_ghosts = around.before[last] != 0 || around.after[last] != 0;
    std::size_t const cells = extents_[last] / static_cast<std::size_t>(grid_.extent(last));
    return has_ghosts && dimensions > 1 && cells >= long_row / element_bytes ? line : 0;
  }
  [[nodiscard]] constexpr std::size_t rounded(std::size_t elements) const noexcept {
    return padding_ == 1 ? elements : (elements + padding_ - 1) / padding_ * padding_;
  }
  [[nodiscard]] constexpr std::size_t part_extent(std::size_t d, std::size_t own) const noexcept {
    std::size_t const all = around_.before[d] + own + around_.after[d];
    return d == last && dimensions > 1 ? rounded(all) : all;
  }

  [[nodiscard]] constexpr place_type place_of(index_type const& index) const noexcept {
    return each([&](auto const& one, std::size_t d) { return one.owner(index[d]); });
  }
  [[nodiscard]] constexpr index_type local_extents_at(place_type const& place) const noexcept {
    return each([&](auto const& one, std::size_t d) { return one.local_size(place[d]); });
  }
  [[nodiscard]] constexpr index_type blocks_at(place_type const& place) const noexcept {
    return each([&](auto const& one, std::size_t d) { return one.blocks(place[d]); });
  }
  [[nodiscard]] constexpr index_type pitches_at(place_type const& place) const noexcept {
    index_type pitch{};
    pitch[last] = 1;
    auto const own = local_extents_at(place);
    for (std::size_t d = last; d > 0; --d) pitch[d - 1] = pitch[d] * part_extent(d, own[d]);
    return pitch;
  }
  [[nodiscard]] constexpr std::pair<place_type, std::size_t> place_and_offset(
      index_type const& index) const noexcept {
    auto const place = place_of(index);
    auto const pitch = pitches_at(place);
    std::size_t at = 0;
    with_each(
        [&](auto d) { at += (around_.before[d] + std::get<d>(each_).local_index(index[d])) * pitch[d]; });
    return {place, at};
  }
  [[nodiscard]] constexpr tile_type tile_at(place_type const& place,
                                            index_type const& local_block) const noexcept {
    tile_type found{.owner = grid_.rank(place), .cells = {}, .offset = 0, .pitches = pitches_at(place)};
    with_each([&](auto d) {
      auto const& one = std::get<d>(each_);
      auto const block = one.block_of(place[d], local_block[d]);
      found.cells.first[d] = block.first;
      found.cells.count[d] = block.count;
      found.offset += (around_.before[d] + one.local_index(block.first)) * found.pitches[d];
    });
    return found;
  }

  std::tuple<D...> each_{};
  grid<dimensions> asked_{};
  std::size_t line_bytes_ = 0;
  // For an array:
  index_type extents_{};
  rank_t ranks_ = 1;
  grid<dimensions> grid_ = grid<dimensions>{}.over(1);
  std::size_t padding_ = 1;  ///< rows start at multiples of this number of elements
  margins<dimensions> around_{};
};

}  // namespace PGAS_NAMESPACE
