// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <pgas/detail/machines/scc/cache.hpp>
#include <pgas/detail/machines/scc/memory.hpp>
#include <unordered_map>

namespace pgas::inline PGAS_ASSERTIONS::detail::scc {

/// A number for each line of the chip that was accessed, for the oracle: the line's first record. Lines are
/// kept in chunks, since accesses to neighbours follow each other.
class line_heads {
 public:
  /// The number of the line at an address, to change; 0 at first.
  [[nodiscard]] std::uint32_t& of(system_address at) {
    std::uint64_t const n = at / line_bytes;
    if (!is_last(n)) {
      auto& c = chunks_[n / chunk_lines];
      if (!c) c = std::make_unique<chunk>();
      last_number_ = n / chunk_lines;
      last_ = c.get();
    }
    return (*last_)[n % chunk_lines];
  }
  /// The same to read, without memory for a line that has none.
  [[nodiscard]] std::uint32_t known(system_address at) {
    std::uint64_t const n = at / line_bytes;
    if (!is_last(n)) {
      auto const it = chunks_.find(n / chunk_lines);
      if (it == chunks_.end()) return 0;
      last_number_ = n / chunk_lines;
      last_ = it->second.get();
    }
    return (*last_)[n % chunk_lines];
  }
  /// Calls use(number) for the lines of a range that have memory.
  template <class Use>
  void for_each(system_address first, std::uint64_t bytes, Use&& use) {
    for (std::uint64_t n = first / line_bytes; n * line_bytes < first + bytes; ++n) {
      auto const it = chunks_.find(n / chunk_lines);
      if (it == chunks_.end()) {
        n = (n / chunk_lines + 1) * chunk_lines - 1;
        continue;
      }
      use((*it->second)[n % chunk_lines]);
    }
  }

 private:
  static constexpr std::size_t chunk_lines = 2048;
  using chunk = std::array<std::uint32_t, chunk_lines>;

  [[nodiscard]] bool is_last(std::uint64_t number) const noexcept {
    return number / chunk_lines == last_number_ && last_ != nullptr;
  }

  std::unordered_map<std::uint64_t, std::unique_ptr<chunk>> chunks_;
  std::uint64_t last_number_ = 0;
  chunk* last_ = nullptr;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::scc
