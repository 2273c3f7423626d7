// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <pgas/concepts/control.hpp>
#include <pgas/concepts/recorder.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail {

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

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
