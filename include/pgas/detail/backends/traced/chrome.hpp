// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <pgas/detail/backends/traced/event.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Chooses the row of each event in its rank's drawing, so that the events of a row nest. Sorts events by
/// rank and time.
///
/// Most epochs of a rank nest. An epoch that overlaps another without nesting goes to a row below: an
/// exposure beside an access, or locks on several parts.
inline std::vector<std::size_t> rows_of_trace(std::vector<traced_event>& events) {
  // Of two events with equal times the later record ended later, so it encloses the other.
  std::reverse(events.begin(), events.end());
  std::stable_sort(events.begin(), events.end(), [](traced_event const& a, traced_event const& b) {
    return a.rank != b.rank ? a.rank < b.rank : a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  std::vector<std::size_t> rows;
  std::vector<std::vector<std::int64_t>> open;  // of each row of this rank: the ends of open events
  rank_t rank = -1;
  for (auto const& e : events) {
    if (std::exchange(rank, e.rank) != e.rank) open.clear();
    std::size_t row = 0;
    for (;; ++row) {
      if (row == open.size()) open.emplace_back();
      auto& ends = open[row];
      while (!ends.empty() && ends.back() <= e.begin && ends.back() < e.end) ends.pop_back();
      if (ends.empty() || e.end <= ends.back()) break;
    }
    open[row].push_back(e.end);
    rows.push_back(row);
  }
  return rows;
}

/// A trace in the format of chrome://tracing and Perfetto (ui.perfetto.dev). Ranks are rows, and times are
/// microseconds since the first event.
/// Source: Trace Event Format, Google 2016: an array of complete events (X) and metadata (M).
inline std::string chrome_trace(std::vector<traced_event> events, std::string_view program) {
  auto const rows = rows_of_trace(events);
  std::int64_t first = events.empty() ? 0 : events.front().begin;
  for (auto const& e : events) first = std::min(first, e.begin);
  std::size_t const most_rows = rows.empty() ? 1 : *std::max_element(rows.begin(), rows.end()) + 1;

  auto const quoted = [](std::string_view text) {
    std::string all = "\"";
    for (char const c : text) {
      if (c == '"' || c == '\\') all += '\\';
      all += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
    return all + '"';
  };
  auto const microseconds = [](std::int64_t ns) {
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), "%lld.%03lld", static_cast<long long>(ns / 1000),
                  static_cast<long long>(ns % 1000));
    return std::string(text.data());
  };
  auto const number_of_row = [&](rank_t rank, std::size_t row) {
    return std::to_string(static_cast<std::size_t>(rank) * most_rows + row);
  };

  std::string text = "[\n";
  std::map<std::string, std::string> named;
  for (std::size_t i = 0; i < events.size(); ++i) {
    named.emplace(number_of_row(events[i].rank, rows[i]),
                  "rank " + std::to_string(events[i].rank) + (rows[i] == 0 ? "" : ", beside it"));
  }
  text += R"({"ph":"M","name":"process_name","pid":1,"args":{"name":)" + quoted(program) + "}}";
  for (auto const& [number, name] : named) {
    text.append(R"(,
{"ph":"M","name":"thread_name","pid":1,"tid":)")
        .append(number)
        .append(R"(,"args":{"name":)")
        .append(quoted(name))
        .append("}}");
    text.append(R"(,
{"ph":"M","name":"thread_sort_index","pid":1,"tid":)")
        .append(number)
        .append(R"(,"args":{"sort_index":)")
        .append(number)
        .append("}}");
  }
  for (std::size_t i = 0; i < events.size(); ++i) {
    auto const& e = events[i];
    std::string const name = e.kind == span_kind::wait ? "waits in " + e.name : e.name;
    text += ",\n{\"ph\":\"X\",\"name\":" + quoted(name) + ",\"cat\":" + quoted(name_of(e.kind)) +
            ",\"pid\":1,\"tid\":" + number_of_row(e.rank, rows[i]) +
            ",\"ts\":" + microseconds(e.begin - first) + ",\"dur\":" + microseconds(e.end - e.begin) +
            ",\"args\":{";
    std::string between;
    if (!e.place.empty()) text += std::exchange(between, ",") + "\"of\":" + quoted(e.place);
    if (!e.ranks.empty()) {
      text += std::exchange(between, ",") + (e.kind == span_kind::wait ? "\"for ranks\":[" : "\"ranks\":[");
      for (std::size_t r = 0; r < e.ranks.size(); ++r)
        text += (r == 0 ? "" : ",") + std::to_string(e.ranks[r]);
      text += ']';
    }
    if (e.bytes != 0) text += between + "\"bytes\":" + std::to_string(e.bytes);
    text += "}}";
  }
  return text + "\n]\n";
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
