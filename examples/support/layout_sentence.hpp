// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <pgas/array/halo_plan.hpp>
#include <pgas/describe.hpp>
#include <pgas/distributions/block.hpp>
#include <pgas/distributions/block_cyclic.hpp>
#include <pgas/distributions/cyclic.hpp>
#include <pgas/distributions/irregular.hpp>
#include <pgas/distributions/single_owner.hpp>
#include <pgas/distributions/whole.hpp>
#include <pgas/layouts/cyclic_tiles.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "in_quotes.hpp"

namespace example {

/// The contents of a picture of a layout: the meaning of a sentence like "tiled(4x4) grid(2x3) 16x24", as
/// plain numbers.
struct drawn_layout {
  struct tile {
    std::array<std::size_t, 2> first;
    std::array<std::size_t, 2> count;
    pgas::rank_t owner;
  };

  std::string rule;         // as the library writes it
  std::string description;  // the text of pgas::describe
  std::size_t dimensions = 2;
  std::array<std::size_t, 2> extents{};  // rows and columns; one row if one-dimensional
  pgas::rank_t ranks = 1;
  std::vector<tile> tiles;
  std::vector<std::size_t> cells;      ///< of each rank
  std::string exchange;                // the operation that causes the traffic
  std::vector<std::uint64_t> traffic;  ///< bytes from rank r to rank s, at r * ranks + s
};

/// One of several distributions, chosen at run time: a distribution itself.
template <class... D>
class one_of {
 public:
  static constexpr bool one_block = (pgas::contiguous_distribution<D> && ...);

  one_of() = default;
  template <class One>
    requires(std::same_as<One, D> || ...)
  one_of(One const& one) : each_(one) {}  // NOLINT(google-explicit-constructor): it is one of them

  [[nodiscard]] std::size_t extent() const noexcept {
    return ask([](auto const& d) { return d.extent(); });
  }
  [[nodiscard]] pgas::rank_t ranks() const noexcept {
    return ask([](auto const& d) { return d.ranks(); });
  }
  [[nodiscard]] pgas::rank_t owner(std::size_t i) const noexcept {
    return ask([&](auto const& d) { return d.owner(i); });
  }
  [[nodiscard]] std::size_t local_size(pgas::rank_t r) const noexcept {
    return ask([&](auto const& d) { return d.local_size(r); });
  }
  [[nodiscard]] std::size_t first(pgas::rank_t r) const noexcept
    requires one_block
  {
    return ask([&](auto const& d) { return d.first(r); });
  }
  [[nodiscard]] std::size_t local_index(std::size_t i) const noexcept {
    return ask([&](auto const& d) { return d.local_index(i); });
  }
  [[nodiscard]] std::size_t global_index(pgas::rank_t r, std::size_t i) const noexcept {
    return ask([&](auto const& d) { return d.global_index(r, i); });
  }
  [[nodiscard]] std::size_t phase(std::size_t i) const noexcept {
    return ask([&](auto const& d) { return d.phase(i); });
  }
  [[nodiscard]] std::size_t local_block(std::size_t i) const noexcept {
    return ask([&](auto const& d) { return d.local_block(i); });
  }
  [[nodiscard]] std::size_t blocks(pgas::rank_t r) const noexcept {
    return ask([&](auto const& d) { return d.blocks(r); });
  }
  [[nodiscard]] pgas::index_range block_of(pgas::rank_t r, std::size_t i) const noexcept {
    return ask([&](auto const& d) { return d.block_of(r, i); });
  }
  [[nodiscard]] one_of over(std::size_t extent, pgas::rank_t ranks) const {
    return ask([&](auto const& d) { return one_of(d.over(extent, ranks)); });
  }
  [[nodiscard]] std::optional<std::string> error_for(std::size_t extent, pgas::rank_t ranks) const {
    return ask([&](auto const& d) -> std::optional<std::string> {
      if constexpr (requires { d.error_for(extent, ranks); }) return d.error_for(extent, ranks);
      return std::nullopt;
    });
  }
  [[nodiscard]] std::string describe() const {
    return ask([](auto const& d) { return d.describe(); });
  }
  template <class One>
  [[nodiscard]] One const* as() const noexcept {
    return std::get_if<One>(&each_);
  }

  friend bool operator==(one_of const&, one_of const&) = default;

 private:
  template <class Question>
  [[nodiscard]] auto ask(Question const& question) const {
    return std::visit(question, each_);
  }
  std::variant<D...> each_;
};

using any_distribution =
    one_of<pgas::block, pgas::whole, pgas::single_owner, pgas::irregular, pgas::cyclic, pgas::block_cyclic<>>;
using any_contiguous = one_of<pgas::block, pgas::whole, pgas::single_owner, pgas::irregular>;
static_assert(pgas::distribution<any_distribution> && pgas::contiguous_distribution<any_contiguous>);

namespace detail {

/// The sizes of cyclic tiles for which this program is compiled; the library takes any.
template <std::size_t... B>
struct sizes {};
using dealt_sizes = sizes<2, 3, 4, 8>;

/// Reads a sentence word by word; an error marks the wrong word.
class layout_reader {
 public:
  explicit layout_reader(std::string_view sentence) noexcept : all_(sentence) {}

  drawn_layout read() {
    for (std::string_view rest = all_; !(rest = trimmed(rest)).empty();) {
      std::size_t const length = length_of_word(rest);
      take(as_word(rest.substr(0, length)));
      rest.remove_prefix(length);
    }
    if (extents_.empty())
      wrong(all_, "the extents of the array are missing", "rows and columns, as 16x24, or one number");
    std::size_t const dimensions = extents_.size();
    if (!rule_) rule_ = word{"rows", std::nullopt, all_};
    if (grid_.size() != dimensions && !grid_.empty()) {
      wrong(grid_word_, "the grid has " + count(grid_.size()) + ", but the array has " + count(dimensions),
            "grid(2x3) for 16x24");
    }
    return dimensions == 1 ? built<1>() : built<2>();
  }

 private:
  struct word {
    std::string_view name;
    std::optional<std::string_view> inside;  // the text in its parentheses
    std::string_view all;
  };

  static constexpr std::string_view layouts =
      "rows, tiled(4x4), tiled(block, cyclic), cyclic_tiles(4x4), or a distribution for an array of one "
      "dimension";
  static constexpr std::string_view distributions =
      "block, cyclic, block_cyclic(4), whole, single_owner(1), irregular(5, 0, 12)";
  static constexpr std::string_view others =
      "grid(2x3), ranks(6), padded(64), halo(1), periodic, bytes(8), and the extents, 16x24";

  [[noreturn]] void wrong(std::string_view where, std::string const& what, std::string_view possible) const {
    auto const at = static_cast<std::size_t>(where.data() - all_.data());
    std::string shown(all_);
    for (char& c : shown)
      c = static_cast<unsigned char>(c) < ' ' || c == '\x7f' ? '?' : c;  // one column each
    throw std::runtime_error(what + "\n  " + shown + "\n  " + std::string(at, ' ') + "^" +
                             std::string(where.empty() ? 0 : where.size() - 1, '~') +
                             "\npossible: " + std::string(possible));
  }
  static std::string count(std::size_t dimensions) {
    return dimensions == 1 ? "one dimension" : std::to_string(dimensions) + " dimensions";
  }
  static std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
  }
  /// The length up to a blank, or a comma, outside of parentheses.
  std::size_t length_of_word(std::string_view text) const {
    std::size_t depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '(') ++depth;
      if (text[i] == ')') {
        if (depth == 0) wrong(text.substr(i, 1), "this parenthesis was never opened", layouts);
        if (--depth == 0 && i + 1 < text.size() && text[i + 1] != ' ' && text[i + 1] != ',') {
          wrong(text.substr(i + 1, 1), "text follows the parenthesis directly", "a blank between words");
        }
      }
      if (depth == 0 && (text[i] == ' ' || text[i] == ',')) return i == 0 ? 1 : i;
    }
    if (depth != 0) wrong(text, "a parenthesis is not closed", "a ')' at the end of the word");
    return text.size();
  }
  word as_word(std::string_view text) const {
    std::size_t const open = text.find('(');
    if (open == std::string_view::npos) return {text, std::nullopt, text};
    return {text.substr(0, open), trimmed(text.substr(open + 1, text.size() - open - 2)), text};
  }
  [[nodiscard]] std::string_view inside(word const& w, std::string_view example) const {
    if (!w.inside || w.inside->empty()) wrong(w.all, "the text in its parentheses is missing", example);
    return *w.inside;
  }
  std::vector<std::string_view> listed(word const& w) const {
    std::vector<std::string_view> items;
    std::string_view rest = w.inside.value_or("");
    while (!(rest = trimmed(rest)).empty()) {
      std::size_t const length = length_of_word(rest);
      items.push_back(rest.substr(0, length));
      rest = trimmed(rest.substr(length));
      if (!rest.empty() && rest.front() != ',')
        wrong(rest.substr(0, 1), "a comma should be here", "block, cyclic");
      if (!rest.empty()) rest.remove_prefix(1);
    }
    return items;
  }

  [[nodiscard]] std::size_t number(std::string_view text, std::size_t least, std::size_t most) const {
    std::size_t value = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most) {
      wrong(text, in_quotes(text) + " is not a number that can be here",
            std::to_string(least) + " to " + std::to_string(most));
    }
    return value;
  }
  /// One number in parentheses.
  [[nodiscard]] std::size_t number_of(word const& w, std::size_t least, std::size_t most) const {
    return number(
        inside(w, std::string(w.name) + "(" + std::to_string(std::max<std::size_t>(1, least)) + ")"), least,
        most);
  }
  /// Numbers as in 16x24.
  [[nodiscard]] std::vector<std::size_t> product(std::string_view text, std::size_t least,
                                                 std::size_t most) const {
    std::vector<std::size_t> numbers;
    std::string_view const all = text;
    for (;;) {
      std::size_t const end = text.find('x');
      numbers.push_back(number(trimmed(text.substr(0, end)), least, most));
      if (end == std::string_view::npos) break;
      text.remove_prefix(end + 1);
    }
    if (numbers.size() > 2) wrong(all, "a picture has one or two dimensions", "16x24, 100");
    return numbers;
  }

  void take(word const& w) {
    std::string_view const name = w.name;
    if (name.empty() && !w.inside) return;
    bool const is_number = !name.empty() && name[0] >= '0' && name[0] <= '9';
    if (name == ",") wrong(w.all, "blanks separate words, not commas", "tiled(4x4) grid(2x3) 16x24");
    if (is_number && !w.inside) {
      if (!extents_.empty()) wrong(w.all, "the extents are given twice", "one of them");
      extents_ = product(name, 0, 100000);
    } else if (name == "grid") {
      grid_word_ = w.all;
      grid_ = product(inside(w, "grid(2x3)"), 0, most_ranks);
    } else if (name == "ranks") {
      ranks_ = number_of(w, 1, most_ranks);
    } else if (name == "padded") {
      padded_ = number_of(w, 1, 4096);
    } else if (name == "halo") {
      halo_ = number_of(w, 1, 16);
    } else if (name == "bytes") {
      bytes_ = number_of(w, 1, 4096);
    } else if (name == "periodic" && !w.inside) {
      is_periodic_ = true;
    } else if (name == "rows" || name == "tiled" || name == "cyclic_tiles" || is_distribution(name)) {
      if (rule_) wrong(w.all, in_quotes(rule_->all) + " is a layout already", "one layout");
      rule_ = w;
    } else {
      wrong(w.all, in_quotes(name) + " is no word for a layout",
            std::string(layouts) + "; " + std::string(distributions) + "; " + std::string(others));
    }
  }

  static bool is_distribution(std::string_view name) {
    return name == "block" || name == "cyclic" || name == "block_cyclic" || name == "whole" ||
           name == "single_owner" || name == "irregular";
  }
  [[nodiscard]] any_distribution distribution(word const& w) const {
    if (w.name == "block" && !w.inside) return pgas::block{};
    if (w.name == "cyclic" && !w.inside) return pgas::cyclic{};
    if (w.name == "whole" && !w.inside) return pgas::whole{};
    if (w.name == "block_cyclic") return pgas::block_cyclic<>{number_of(w, 1, 100000)};
    if (w.name == "single_owner") {
      return pgas::single_owner{static_cast<pgas::rank_t>(w.inside ? number_of(w, 0, most_ranks - 1) : 0)};
    }
    if (w.name == "irregular") {
      std::vector<std::size_t> each;
      for (std::string_view const item : listed(w)) each.push_back(number(item, 0, 100000));
      if (each.empty()) wrong(w.all, "the sizes of the blocks are missing", "irregular(5, 0, 12)");
      return pgas::irregular{each};
    }
    wrong(w.all, in_quotes(w.all) + " is no distribution", distributions);
  }
  /// The layout's distribution of each dimension.
  [[nodiscard]] std::vector<any_distribution> each_dimension() const {
    std::vector<any_distribution> each;
    word const& w = *rule_;
    if (w.name == "rows") {
      each.assign(extents_.size(), pgas::whole{});
      each[0] = pgas::block{};
      return each;
    }
    if (w.name != "tiled") {
      each.push_back(distribution(w));
    } else if (w.inside && !w.inside->empty() && w.inside->front() >= '0' && w.inside->front() <= '9') {
      for (std::size_t const n : product(*w.inside, 1, 100000)) each.push_back(pgas::block_cyclic<>{n});
    } else {
      for (std::string_view const item : listed(w)) each.push_back(distribution(as_word(item)));
    }
    if (each.size() != extents_.size()) {
      wrong(w.all, "this layout has " + count(each.size()) + ", but the array has " + count(extents_.size()),
            extents_.size() == 1 ? "tiled(4), cyclic" : "tiled(4x4), tiled(cyclic, whole)");
    }
    return each;
  }

  template <std::size_t N>
  [[nodiscard]] drawn_layout built() const {
    std::array<std::size_t, N> extents;
    std::copy_n(extents_.begin(), N, extents.begin());
    if (rule_->name == "cyclic_tiles") return cyclic_tiles<N>(extents);
    auto const each = each_dimension();
    pgas::rank_t ranks = ranks_ != 0 ? static_cast<pgas::rank_t>(ranks_) : 0;
    std::array<pgas::rank_t, N> grid{};
    for (std::size_t d = 0; d < N; ++d) {
      if (!grid_.empty()) grid[d] = static_cast<pgas::rank_t>(grid_[d]);
      auto const* const table = each[d].template as<pgas::irregular>();
      if (grid[d] == 0 && table != nullptr) grid[d] = table->ranks();
      if (each[d].template as<pgas::whole>() == nullptr) continue;
      if (grid[d] > 1)
        wrong(grid_word_, "dimension " + std::to_string(d) + " is whole, so the grid cannot divide it",
              "1 there");
      grid[d] = 1;
    }
    if (ranks == 0) {
      ranks = 1;
      bool is_free = false;
      for (pgas::rank_t const g : grid) {
        is_free = is_free || g == 0;
        ranks *= std::max(g, 1);
      }
      if (is_free && ranks < 4) ranks *= 4 / ranks;
    }
    bool const is_box = std::all_of(each.begin(), each.end(), [](any_distribution const& d) {
      return d.as<pgas::cyclic>() == nullptr && d.as<pgas::block_cyclic<>>() == nullptr;
    });
    return is_box ? tiles_of<any_contiguous>(each, extents, ranks, pgas::grid<N>(grid))
                  : tiles_of<any_distribution>(each, extents, ranks, pgas::grid<N>(grid));
  }
  template <class D, std::size_t N>
  [[nodiscard]] drawn_layout tiles_of(std::vector<any_distribution> const& each,
                                      std::array<std::size_t, N> const& extents, pgas::rank_t ranks,
                                      pgas::grid<N> const& places) const {
    auto const rule = [&]<std::size_t... d>(std::index_sequence<d...>) {
      return pgas::tiled(narrowed<D>(each[d])...).padded(padded_);
    }(std::make_index_sequence<N>{});
    if (auto const wrong_with = rule.on(places).error_for(extents, ranks)) {
      wrong(rule_->all, *wrong_with, "another grid(), or another number of ranks()");
    }
    return drawn(rule.on(places.over(ranks)), extents, ranks);
  }
  template <class D>
  static D narrowed(any_distribution const& any) {
    if constexpr (std::is_same_v<D, any_distribution>) {
      return any;
    } else {
      if (auto const* d = any.as<pgas::block>()) return *d;
      if (auto const* d = any.as<pgas::whole>()) return *d;
      if (auto const* d = any.as<pgas::single_owner>()) return *d;
      return *any.as<pgas::irregular>();
    }
  }

  template <std::size_t N>
  [[nodiscard]] drawn_layout cyclic_tiles(std::array<std::size_t, N> const& extents) const {
    if (!grid_.empty()) wrong(grid_word_, "cyclic tiles go to the ranks in turn, without a grid", "ranks(6)");
    auto const wanted = product(inside(*rule_, "cyclic_tiles(4x4)"), 1, 100000);
    if (wanted.size() != N) {
      wrong(rule_->all, "its tiles have " + count(wanted.size()) + ", but the array has " + count(N),
            "cyclic_tiles(4x4) for 16x24");
    }
    auto const ranks = static_cast<pgas::rank_t>(ranks_ != 0 ? ranks_ : 4);
    std::optional<drawn_layout> found;
    auto const with = [&]<std::size_t... B>(pgas::cyclic_tiles<B...> const& rule) {
      std::array<std::size_t, N> const mine{B...};
      if (!found && std::equal(mine.begin(), mine.end(), wanted.begin())) {
        found = drawn(rule.padded(padded_), extents, ranks);
      }
    };
    [&]<std::size_t... B>(sizes<B...>) {
      if constexpr (N == 1) {
        (with(pgas::cyclic_tiles<B>{}), ...);
      } else {
        auto const row = [&]<std::size_t R>(std::integral_constant<std::size_t, R>) {
          (with(pgas::cyclic_tiles<R, B>{}), ...);
        };
        (row(std::integral_constant<std::size_t, B>{}), ...);
      }
    }(dealt_sizes{});
    if (found) return *found;
    wrong(*rule_->inside, "this program was not compiled for cyclic tiles of this size",
          "2, 3, 4 and 8 in each dimension");
  }

  template <pgas::layout L>
  [[nodiscard]] drawn_layout drawn(L const& rule, std::array<std::size_t, L::dimensions> const& extents,
                                   pgas::rank_t ranks) const {
    constexpr std::size_t last = L::dimensions - 1;
    pgas::halo const around{.width = halo_, .edges = is_periodic_ ? pgas::edge::periodic : pgas::edge::fixed};
    pgas::margins<L::dimensions> room;
    if constexpr (pgas::box_layout<L>) room = pgas::halos<L::dimensions>(around).around();
    L const l = rule.over(extents, ranks, bytes_, room);
    drawn_layout all;
    all.rule = rule.describe();
    all.description = pgas::describe(l);
    all.dimensions = L::dimensions;
    all.extents = {last == 0 ? 1 : extents[0], extents[last]};
    all.ranks = ranks;
    for (pgas::rank_t r = 0; r < ranks; ++r) {
      std::size_t cells = 0;
      for (std::size_t k = 0; k < l.tiles(r); ++k) {
        auto const t = l.tile_of(r, k).cells;
        cells += t.size();
        all.tiles.push_back(
            {{last == 0 ? 0 : t.first[0], t.first[last]}, {last == 0 ? 1 : t.count[0], t.count[last]}, r});
        if (all.tiles.size() > most_tiles) {
          wrong(rule_->all,
                "it has more than " + std::to_string(most_tiles) + " tiles, too many for a picture",
                "a smaller array, larger tiles");
        }
      }
      all.cells.push_back(cells);
    }
    auto const n = static_cast<std::size_t>(ranks);
    all.traffic.resize(n * n);
    if constexpr (pgas::box_layout<L>) {
      all.exchange = "one halo exchange, of width " + std::to_string(halo_);
      for (pgas::rank_t r = 0; r < ranks; ++r) {
        pgas::array_shape<L::dimensions, L> const shape(extents, around, ranks, rule, bytes_);
        pgas::halo_plan<L::dimensions> const plan(shape, r);
        for (auto const& put : plan.puts()) {
          all.traffic[static_cast<std::size_t>(r) * n + static_cast<std::size_t>(put.target)] +=
              pgas::box<L::dimensions>{{}, put.count}.size() * bytes_;
        }
      }
    } else {
      all.exchange = "the neighbours that a stencil of width " + std::to_string(halo_) + " reads";
      read_neighbours(l, all);
    }
    return all;
  }

  /// Counts each cell next to cells of another rank once for that rank. Parts that are no boxes have no ghost
  /// cells to count.
  template <pgas::layout L>
  void read_neighbours(L const& l, drawn_layout& all) const {
    auto const [rows, cols] = all.extents;
    if (rows * cols > std::size_t{1} << 18U) {
      wrong(rule_->all, "the layout has too many neighbours to be counted one by one", "a smaller array");
    }
    constexpr std::size_t last = L::dimensions - 1;
    auto const n = static_cast<std::size_t>(all.ranks);
    auto const owner = [&](std::size_t i, std::size_t j) {
      std::array<std::size_t, L::dimensions> at{};
      at[0] = i;
      at[last] = j;
      return l.owner(at);
    };
    auto const width = static_cast<std::ptrdiff_t>(halo_);
    /// The index beside another one, or none beyond an edge.
    auto const beside = [&](std::size_t i, std::ptrdiff_t step,
                            std::size_t extent) -> std::optional<std::size_t> {
      auto const e = static_cast<std::ptrdiff_t>(extent);
      auto const at = static_cast<std::ptrdiff_t>(i) + step;
      if (at >= 0 && at < e) return static_cast<std::size_t>(at);
      if (!is_periodic_) return std::nullopt;
      return static_cast<std::size_t>((at % e + e) % e);
    };
    std::vector<pgas::rank_t> readers;
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < cols; ++j) {
        readers.clear();
        for (std::ptrdiff_t di = last == 0 ? 0 : -width; di <= (last == 0 ? 0 : width); ++di) {
          for (std::ptrdiff_t dj = -width; dj <= width; ++dj) {
            auto const row = beside(i, di, rows);
            auto const col = beside(j, dj, cols);
            if (row && col) readers.push_back(owner(*row, *col));
          }
        }
        std::sort(readers.begin(), readers.end());
        readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
        pgas::rank_t const mine = owner(i, j);
        for (pgas::rank_t const r : readers) {
          if (r != mine)
            all.traffic[static_cast<std::size_t>(mine) * n + static_cast<std::size_t>(r)] += bytes_;
        }
      }
    }
  }

  static constexpr std::size_t most_ranks = 64;
  static constexpr std::size_t most_tiles = 20000;

  std::string_view all_;
  std::optional<word> rule_;
  std::vector<std::size_t> extents_;
  std::vector<std::size_t> grid_;
  std::string_view grid_word_;
  std::size_t ranks_ = 0;
  std::size_t padded_ = 0;
  std::size_t halo_ = 1;
  std::size_t bytes_ = 8;
  bool is_periodic_ = false;
};

}  // namespace detail

/// The meaning of a sentence about a layout: "tiled(4x4) grid(2x3) 16x24". Throws std::runtime_error with the
/// wrong word and the possible ones.
inline drawn_layout read_layout(std::string_view sentence) { return detail::layout_reader(sentence).read(); }

}  // namespace example
