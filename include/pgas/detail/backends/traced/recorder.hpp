// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <pgas/concepts/control.hpp>
#include <pgas/concepts/recorder.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// One operation of a rank, with its times. Ranks are numbers in the job.
struct traced_event {
  std::int64_t begin = 0, end = 0;  ///< nanoseconds of the rank's clock
  rank_t rank = 0;
  span_kind kind{};
  std::uint64_t bytes = 0;
  std::string name;           ///< of the operation
  std::string place;          ///< "window 3", or empty
  std::vector<rank_t> ranks;  ///< the other ranks of the operation
};

/// Events as bytes, in chunks with a checkable end: a rank that dies during a write leaves an incomplete
/// chunk.
class traced_chunk {
 public:
  traced_chunk() { clear(); }

  void add(traced_event const& e) {
    append(fixed{e.begin, e.end, e.bytes, e.rank, static_cast<std::uint32_t>(e.kind),
                 static_cast<std::uint32_t>(e.name.size()), static_cast<std::uint32_t>(e.place.size()),
                 static_cast<std::uint32_t>(e.ranks.size())});
    bytes_ += e.name;
    bytes_ += e.place;
    for (rank_t r : e.ranks) append(r);
  }
  [[nodiscard]] bool is_empty() const noexcept { return bytes_.size() == header; }
  [[nodiscard]] std::string_view finished() {
    bytes_ += end_mark;
    std::uint64_t const size = bytes_.size();
    std::memcpy(bytes_.data() + mark.size(), &size, sizeof size);
    return bytes_;
  }
  void clear() {
    bytes_.assign(mark);
    bytes_.resize(header);
  }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }

  /// All events of the complete chunks.
  static std::vector<traced_event> read(std::string_view all) {
    std::vector<traced_event> events;
    for (std::size_t at = all.find(mark); at != all.npos; at = all.find(mark, at)) {
      std::uint64_t size = 0;
      if (all.size() - at >= header) std::memcpy(&size, all.data() + at + mark.size(), sizeof size);
      bool const is_whole = size >= header + end_mark.size() && size <= all.size() - at &&
                            all.substr(at, size).ends_with(end_mark);
      if (!is_whole) {
        ++at;
        continue;
      }
      for (std::string_view left = all.substr(at + header, size - header - end_mark.size()); !left.empty();)
        events.push_back(next(left));
      at += size;
    }
    return events;
  }

 private:
  struct fixed {
    std::int64_t begin, end;
    std::uint64_t bytes;
    rank_t rank;
    std::uint32_t kind, name, place, ranks;
  };
  static constexpr std::string_view mark = "pgas\x01trace\x02";
  static constexpr std::string_view end_mark = "pgas\x01whole\x02";
  static constexpr std::size_t header = mark.size() + sizeof(std::uint64_t);

  template <class T>
  void append(T const& value) {
    std::array<char, sizeof(T)> raw;
    std::memcpy(raw.data(), &value, sizeof(T));
    bytes_.append(raw.data(), raw.size());
  }
  template <class T>
  static T take(std::string_view& from) {
    T value;
    std::memcpy(&value, from.data(), sizeof(T));
    from.remove_prefix(sizeof(T));
    return value;
  }
  static traced_event next(std::string_view& left) {
    auto const f = take<fixed>(left);
    traced_event e{.begin = f.begin,
                   .end = f.end,
                   .rank = f.rank,
                   .kind = static_cast<span_kind>(f.kind),
                   .bytes = f.bytes,
                   .name = std::string(left.substr(0, f.name)),
                   .place = std::string(left.substr(f.name, f.place)),
                   .ranks = {}};
    left.remove_prefix(std::size_t{f.name} + f.place);
    for (std::uint32_t i = 0; i < f.ranks; ++i) e.ranks.push_back(take<rank_t>(left));
    return e;
  }

  std::string bytes_;
};

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

/// Records the operations of one rank in its own memory. It appends them to a file that all ranks have open,
/// when many have accumulated and at the end.
class recorder {
 public:
  recorder(int file, rank_t rank, std::function<time_point()> now)
      : file_(file), rank_(rank), now_(std::move(now)) {}
  recorder(recorder const&) = delete;
  recorder& operator=(recorder const&) = delete;
  ~recorder() { write(); }

  [[nodiscard]] std::int64_t now() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(now_().time_since_epoch()).count();
  }
  void add(traced_event&& e) {
    e.rank = rank_;
    e.end = now();
    // A cache operation often has nothing to do, and takes no time.
    if (e.kind == span_kind::memory && e.end == e.begin) return;
    chunk_.add(e);
    if (chunk_.size() >= much) write();
  }

 private:
  static constexpr std::size_t much = std::size_t{1} << 18U;

  void write() noexcept {
    if (chunk_.is_empty()) return;
    // A single call appends a chunk, so the chunks of several ranks do not mix.
    auto const bytes = chunk_.finished();
    ssize_t written = 0;
    do written = ::write(file_, bytes.data(), bytes.size());
    while (written < 0 && errno == EINTR);
    if (written != static_cast<ssize_t>(bytes.size()) && !std::exchange(complained_, true)) {
      std::fprintf(stderr, "pgas: rank %d: its trace is incomplete, since a write failed: %s\n", rank_,
                   std::generic_category().message(written < 0 ? errno : ENOSPC).c_str());
    }
    chunk_.clear();
  }

  int file_;
  rank_t rank_;
  std::function<time_point()> now_;
  traced_chunk chunk_;
  bool complained_ = false;
};

/// A span of the trace from its construction to its destruction; an empty one records nothing.
class recorded_span {
 public:
  recorded_span() = default;
  recorded_span(std::shared_ptr<recorder> to, traced_event what)
      : to_(std::move(to)), what_(std::move(what)) {
    what_.begin = to_->now();
  }
  recorded_span(recorded_span&&) noexcept = default;
  recorded_span& operator=(recorded_span&& other) noexcept {
    end();
    to_ = std::move(other.to_);
    what_ = std::move(other.what_);
    return *this;
  }
  ~recorded_span() { end(); }

  void end() {
    if (auto const to = std::exchange(to_, nullptr)) to->add(std::move(what_));
  }
  /// Discards the span.
  void forget() noexcept { to_ = nullptr; }

 private:
  std::shared_ptr<recorder> to_;
  traced_event what_;
};

/// A source of spans: a control or a segment of one team.
class span_source {
 public:
  span_source(std::shared_ptr<recorder> to, std::vector<rank_t> world, std::string_view place)
      : to_(std::move(to)), world_(std::move(world)), place_(place) {}

  [[nodiscard]] recorded_span begin(span_kind kind, std::string_view operation, group ranks,
                                    std::size_t bytes) const {
    if (!to_) return {};
    traced_event e{
        .kind = kind, .bytes = bytes, .name = std::string(operation), .place = place_, .ranks = {}};
    for (rank_t r : ranks) {
      // A rank that does not exist is skipped: the operation is about to be refused.
      if (r >= 0 && static_cast<std::size_t>(r) < world_.size())
        e.ranks.push_back(world_[static_cast<std::size_t>(r)]);
    }
    return {to_, std::move(e)};
  }

 private:
  std::shared_ptr<recorder> to_;  ///< null: nothing is recorded
  std::vector<rank_t> world_;     ///< the team's ranks, as numbers in the job
  std::string place_;
};

}  // namespace PGAS_NAMESPACE::detail
