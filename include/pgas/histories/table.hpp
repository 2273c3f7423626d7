// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <pgas/histories/history.hpp>
#include <pgas/histories/sequential_object.hpp>
#include <pgas/vocabulary/expects.hpp>
#include <string>
#include <vector>

namespace PGAS_NAMESPACE::histories {

/// A history as lines of text, in the order of the calls: rank, operation, result, begin and end. Times count
/// from the first begin.
template <sequential_object S>
[[nodiscard]] std::string table(history<S> const& of) {
  std::vector<record_of<S>> records(of.records().begin(), of.records().end());
  std::stable_sort(records.begin(), records.end(),
                   [](auto const& a, auto const& b) { return a.begin < b.begin; });
  moment const zero = records.empty() ? 0 : records.front().begin;
  using line = std::array<std::string, 5>;
  std::vector<line> lines{{"rank", "operation", "result", "begin", "end"}};
  for (auto const& r : records) {
    lines.push_back({std::to_string(r.rank), S::call_text(r.operation),
                     r.pending() ? "" : std::string(S::result_text(r)), std::to_string(r.begin - zero),
                     r.pending() ? "pending" : std::to_string(r.end - zero)});
  }
  std::array<std::size_t, 5> widths{};
  for (line const& l : lines)
    for (std::size_t i = 0; i < l.size(); ++i) widths[i] = std::max(widths[i], l[i].size());
  std::string text;
  for (line const& l : lines) {
    for (std::size_t i = 0; i < l.size(); ++i) {
      std::string const space(widths[i] - l[i].size(), ' ');
      bool const is_text = i == 1 || i == 2;
      text += (i == 0 ? "  " : "   ") + (is_text ? l[i] + space : space + l[i]);
    }
    text += '\n';
  }
  return text;
}

}  // namespace PGAS_NAMESPACE::histories
