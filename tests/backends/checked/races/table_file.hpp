// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include "score.hpp"

namespace races {

/// The tables of README.md: a section for each backend, from a mark to the end of the page.
///
/// A section has the classes and the programs that its checker answers wrongly. So no number is typed by
/// hand, and a change of a checker shows in the page.
class table_file {
 public:
  explicit table_file(std::string path) : path_(std::move(path)) {
    std::ifstream file(path_);
    std::string const all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    std::size_t const at = all.find(mark);
    if (at == std::string::npos) return;
    before_ = all.substr(0, at + mark.size());
    tables_ = all.substr(at + mark.size());
  }

  [[nodiscard]] bool has_place() const noexcept { return !before_.empty(); }

  /// The section of a backend; empty if there is none.
  [[nodiscard]] std::string section(std::string const& backend) const {
    auto const [from, to] = bounds(backend);
    return tables_.substr(from, to - from);
  }
  /// Replaces the section of a backend, or adds it as the last one.
  void replace(std::string const& backend, std::string const& text) {
    auto const [from, to] = bounds(backend);
    tables_ = tables_.substr(0, from) + text + tables_.substr(to);
  }
  void write() const { std::ofstream(path_) << before_ << tables_; }

  /// The wrong answers that a section lists.
  static std::set<std::string> wrong_answers(std::string const& section) {
    std::set<std::string> all;
    std::istringstream lines(section);
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with("* ")) all.insert(line);
    return all;
  }

 private:
  static constexpr std::string_view mark = "<!-- generated from here on -->\n";

  struct range {
    std::size_t from;
    std::size_t to;
  };
  [[nodiscard]] range bounds(std::string const& backend) const {
    std::size_t const from = tables_.find("\n### " + backend + "\n");
    if (from == std::string::npos) return {tables_.size(), tables_.size()};
    return {from, std::min(tables_.find("\n### ", from + 1), tables_.size())};
  }

  std::string path_;
  std::string before_;
  std::string tables_;
};

}  // namespace races
