// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <optional>
#include <pgas/detail/machines/scc/memory.hpp>
#include <pgas/machines/scc/options.hpp>

namespace PGAS_NAMESPACE::detail::scc {

using pgas::scc::dice;

/// The adversary of one core: options and seed decide when its caches act unasked, and on which lines.
class cache_adversary {
 public:
  struct fetched_line {
    line_number number = ~line_number{0};  ///< the number of no line
    bool tagged = false;
  };

  cache_adversary(pgas::scc::adversary const& how, std::uint64_t seed) noexcept : how_(how), dice_(seed) {}

  [[nodiscard]] bool evicts() noexcept { return dice_.one_in(how_.evict); }
  [[nodiscard]] bool fills() noexcept { return dice_.one_in(how_.fill); }
  [[nodiscard]] bool drains() noexcept { return dice_.one_in(how_.drain); }

  /// Remembers a line that came from memory. The adversary may fetch the latest ones again.
  void fetched(fetched_line f) noexcept {
    last_ = f.number;
    fetched_[next_++ % fetched_.size()] = f;
  }
  void forget(line_number first, line_number last) noexcept {
    for (auto& f : fetched_) {
      if (f.number >= first && f.number <= last) f = {};
    }
  }

  /// The place to evict: in half of the cases in the set of the last fill, else anywhere.
  template <class Cache>
  [[nodiscard]] std::size_t victim(Cache const& c) noexcept {
    return dice_.one_in(2) ? last_ % c.sets * c.ways + dice_.below(c.ways) : dice_.below(c.lines);
  }
  /// One of the latest lines, or a neighbour in the same page, since another page may have another type.
  [[nodiscard]] std::optional<fetched_line> line_to_fill() noexcept {
    auto const [near, tagged] = fetched_[dice_.below(fetched_.size())];
    if (near == fetched_line{}.number) return std::nullopt;
    constexpr auto page_lines = static_cast<line_number>(table_page_bytes / line_bytes);
    line_number const number = dice_.one_in(2) ? near : near + static_cast<line_number>(dice_.below(3)) - 1;
    if (number / page_lines != near / page_lines) return std::nullopt;
    return fetched_line{number, tagged};
  }

 private:
  pgas::scc::adversary how_;
  dice dice_;
  line_number last_ = 0;  ///< the latest line
  std::array<fetched_line, 8> fetched_{};
  std::size_t next_ = 0;
};

}  // namespace PGAS_NAMESPACE::detail::scc
