// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "file.hpp"

namespace example {

/// A life-like rule: the numbers of living neighbours with which a cell is born, and those with which it
/// survives.
struct life_rule {
  std::bitset<9> birth{1U << 3};
  std::bitset<9> survive{1U << 2 | 1U << 3};

  [[nodiscard]] bool next(bool alive, std::size_t neighbours) const noexcept {
    return (alive ? survive : birth)[neighbours];
  }
  friend bool operator==(life_rule const&, life_rule const&) = default;
};

inline std::string to_string(life_rule const& rule) {
  std::string text = "B";
  for (std::size_t n = 0; n < 9; ++n)
    if (rule.birth[n]) text += static_cast<char>('0' + n);
  text += "/S";
  for (std::size_t n = 0; n < 9; ++n)
    if (rule.survive[n]) text += static_cast<char>('0' + n);
  return text;
}

struct pattern {
  std::string name;
  life_rule rule;
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::vector<std::uint8_t> cells;  ///< row major, 1 is alive

  /// Every cell outside of the pattern is dead. So `p(row - top, col - left)` places it on a larger board:
  /// indices above or to the left wrap around to large numbers, which are outside too.
  [[nodiscard]] std::uint8_t operator()(std::size_t row, std::size_t col) const noexcept {
    return row < rows && col < cols ? cells[row * cols + col] : std::uint8_t{0};
  }
};

namespace detail {

class rle_parser {
 public:
  rle_parser(std::string_view name, std::string_view text) : name_(name), text_(text) {}

  [[nodiscard]] pattern parse() {
    pattern result;
    std::optional<life_rule> remark_rule;
    for (skip_blanks(); peek() == '#'; skip_blanks()) remark(result, remark_rule);
    header(result, remark_rule);
    result.cells.assign(result.rows * result.cols, 0);
    body(result);
    return result;
  }

 private:
  struct place {
    std::size_t line = 1;
    std::size_t column = 1;
  };

  static constexpr char end =
      '\0';  // also the result of peek() at the end; a real NUL is an unknown character
  static constexpr std::size_t max_cells = std::size_t{1} << 28;

  static bool blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
  static bool digit(char c) noexcept { return c >= '0' && c <= '9'; }
  static char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

  [[nodiscard]] bool at_end() const noexcept { return at_ == text_.size(); }
  [[nodiscard]] char peek() const noexcept { return at_end() ? end : text_[at_]; }

  void advance() noexcept {
    if (text_[at_++] == '\n') {
      ++here_.line;
      here_.column = 1;
    } else {
      ++here_.column;
    }
  }
  void skip_blanks() noexcept {
    while (blank(peek())) advance();
  }
  void skip_spaces() noexcept {  // stays in the line; the \r of a Windows line end counts as a space
    while (blank(peek()) && peek() != '\n') advance();
  }

  [[noreturn]] void fail(place where, std::string const& what) const {
    cannot_read(name_, "line " + std::to_string(where.line) + ", column " + std::to_string(where.column) +
                           ": " + what);
  }
  [[nodiscard]] std::string found() const {
    if (at_end()) return "found the end of the file";
    char const c = peek();
    if (c == '\n' || c == '\r') return "found the end of the line";
    if (c > ' ' && c <= '~') return std::string("found '") + c + "'";
    char code[24];
    std::snprintf(code, sizeof code, "found byte 0x%02x",
                  static_cast<unsigned>(static_cast<unsigned char>(c)));
    return code;
  }
  [[noreturn]] void expected(std::string const& what) const {
    fail(here_, "expected " + what + ", " + found());
  }

  [[nodiscard]] std::size_t number() noexcept {
    std::size_t value = 0;
    for (; digit(peek()); advance())
      // Saturates: such a large number is refused anyway, and must not wrap around to a small one.
      value = std::min(value * 10 + static_cast<std::size_t>(peek() - '0'), std::size_t{1} << 40);
    return value;
  }

  /// A '#' line: N names the pattern, r gives the rule (survival first), all others are remarks for readers.
  void remark(pattern& result, std::optional<life_rule>& rule) {
    advance();
    char const kind = peek();
    if (kind == 'N' || kind == 'r') {
      advance();
      skip_spaces();
      if (kind == 'r') {
        rule = this->rule();
      } else {
        std::size_t const from = at_;
        while (!at_end() && peek() != '\n') advance();
        result.name = text_.substr(from, at_ - from);
        while (!result.name.empty() && blank(result.name.back())) result.name.pop_back();
      }
    }
    while (!at_end() && peek() != '\n') advance();
  }

  [[nodiscard]] std::size_t extent(char key) {
    std::string const form = std::string("the header 'x = <columns>, y = <rows>', here '") + key + "'";
    if (peek() != key) expected(form);
    advance();
    skip_spaces();
    if (peek() != '=') expected(std::string("'=' after '") + key + "'");
    advance();
    skip_spaces();
    place const where = here_;
    if (!digit(peek())) expected(std::string("the number ") + key);
    std::size_t const value = number();
    if (value == 0) fail(where, std::string("expected ") + key + " of at least 1, found 0");
    if (value > max_cells)
      fail(where,
           std::string("expected ") + key + " of at most " + std::to_string(max_cells) + ", found more");
    skip_spaces();
    return value;
  }

  void header(pattern& result, std::optional<life_rule> const& remark_rule) {
    place const where = here_;
    result.cols = extent('x');
    if (peek() != ',') expected("',' and 'y = <rows>'");
    advance();
    skip_spaces();
    result.rows = extent('y');
    if (result.rows > max_cells / result.cols)
      fail(where, "expected at most " + std::to_string(max_cells) + " cells, found " +
                      std::to_string(result.cols) + " x " + std::to_string(result.rows));
    if (remark_rule) result.rule = *remark_rule;
    if (peek() == ',') {
      advance();
      skip_spaces();
      for (char const c : std::string_view("rule")) {
        if (peek() != c) expected("'rule = <rule>'");
        advance();
      }
      skip_spaces();
      if (peek() != '=') expected("'=' after 'rule'");
      advance();
      skip_spaces();
      result.rule = rule();
    }
    skip_spaces();
    if (!at_end() && peek() != '\n') expected("the end of the header line");
  }

  [[nodiscard]] std::bitset<9> neighbour_counts() {
    std::bitset<9> counts;
    for (; digit(peek()); advance()) {
      if (peek() == '9') expected("a number of neighbours from 0 to 8");
      counts.set(static_cast<std::size_t>(peek() - '0'));
    }
    return counts;
  }

  /// "B3/S23", in either order and case and with or without the slash, or the older "23/3", which names
  /// survival first.
  [[nodiscard]] life_rule rule() {
    life_rule result;
    char const first = lower(peek());
    if (first == 'b' || first == 's') {
      advance();
      (first == 'b' ? result.birth : result.survive) = neighbour_counts();
      if (peek() == '/') advance();
      char const second = first == 'b' ? 's' : 'b';
      if (lower(peek()) != second)
        expected(std::string("'") + (second == 's' ? 'S' : 'B') + "' in a rule such as B3/S23");
      advance();
      (second == 'b' ? result.birth : result.survive) = neighbour_counts();
    } else {
      if (!digit(first) && first != '/') expected("a rule such as B3/S23 or 23/3");
      result.survive = neighbour_counts();
      if (peek() != '/') expected("'/' in a rule such as 23/3");
      advance();
      result.birth = neighbour_counts();
    }
    if (!at_end() && !blank(peek())) expected("the end of the rule");
    return result;
  }

  void body(pattern& result) {
    std::size_t row = 0;
    std::size_t col = 0;
    for (;;) {
      skip_blanks();
      if (peek() == '#' && here_.column == 1) {
        while (!at_end() && peek() != '\n') advance();
        continue;
      }
      place const start = here_;
      bool const counted = digit(peek());
      std::size_t const count = counted ? number() : 1;
      if (count == 0) fail(start, "expected a run count of at least 1, found 0");
      if (counted) skip_blanks();  // a long line may have been folded here
      char const tag = peek();
      if (counted && (at_end() || tag == '!' || digit(tag)))
        fail(start, "expected b, o or $ after the run count " + std::to_string(count) + ", " + found());
      if (at_end()) expected("'!' at the end of the pattern");
      if (tag == '!') return;
      if (tag == '$') {
        row = std::min(row + count, max_cells);  // empty rows past the last may be counted, cells may not
        col = 0;
      } else {
        // Editors for more than two states write '.' for dead and A to X for the others.
        bool const dead = tag == 'b' || tag == '.';
        if (!dead && tag != 'o' && !(tag >= 'A' && tag <= 'X'))
          expected("b (dead), o (alive), $ (end of row), ! (end) or a run count");
        if (row >= result.rows)
          fail(start, "expected at most y = " + std::to_string(result.rows) + " rows, found cells in row " +
                          std::to_string(row + 1));
        if (count > result.cols - col)
          fail(start, "expected at most x = " + std::to_string(result.cols) + " cells in a row, found " +
                          std::to_string(col + count));
        if (!dead)
          std::fill_n(result.cells.begin() + static_cast<std::ptrdiff_t>(row * result.cols + col), count,
                      std::uint8_t{1});
        col += count;
      }
      advance();
    }
  }

  std::string_view name_;
  std::string_view text_;
  std::size_t at_ = 0;
  place here_;
};

}  // namespace detail

/// Parses a pattern in the run-length encoded format of Life programs; the name appears in messages. Throws
/// std::runtime_error with line, column and the expected text.
[[nodiscard]] inline pattern parse_rle(std::string_view name, std::string_view text) {
  return detail::rle_parser(name, text).parse();
}

/// Reads an RLE file. Throws std::runtime_error: "cannot read 'x.rle': line 3, column 7: expected ..., found
/// ...".
[[nodiscard]] inline pattern read_rle(std::filesystem::path const& path) {
  return parse_rle(path.string(), read_file(path, std::size_t{1} << 28));
}

}  // namespace example
