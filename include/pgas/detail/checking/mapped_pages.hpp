// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/mman.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <pgas/concepts/segment.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Finds out whether memory of this process is still mapped, so that a checker does not die of a buffer that
/// the program has given back.
///
/// An object remembers the pages that it has found, so it lives no longer than one look at many buffers. A
/// look costs a system call for each 64 pages.
class mapped_pages {
 public:
  /// Returns whether each page of these bytes is mapped.
  [[nodiscard]] bool hold(bytes_in what) {
    if (what.empty()) return true;
    auto const first = reinterpret_cast<std::uintptr_t>(what.data());
    std::uintptr_t const end = first + what.size();
    if (first >= known_first_ && end <= known_end_) return true;
    std::uintptr_t at = first / page * page;
    // Later buffers lie near this one, so the first look is at more than it needs.
    if (end <= at + most * page && are_mapped(at, most)) {
      known_first_ = at;
      known_end_ = at + most * page;
      return true;
    }
    while (at < end) {
      std::size_t const rest = (end - at + page - 1) / page;
      std::size_t const pages = rest < most ? rest : most;
      if (!are_mapped(at, pages)) return false;
      at += pages * page;
    }
    return true;
  }

 private:
  static constexpr std::uintptr_t page = 4096;
  static constexpr std::size_t most = 64;

  static bool are_mapped(std::uintptr_t first, std::size_t pages) noexcept {
    std::array<unsigned char, most> resident{};
    auto* const at = reinterpret_cast<void*>(first);  // NOLINT(performance-no-int-to-ptr): a page's address
    // A system with larger pages, or without this call, gives another error: then nothing is known.
    return ::mincore(at, pages * page, resident.data()) == 0 || errno != ENOMEM;
  }

  std::uintptr_t known_first_ = 0;
  std::uintptr_t known_end_ = 0;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
