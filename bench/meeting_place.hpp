// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "raw.hpp"
#include "settings.hpp"

namespace bench {

/// The words through which the ranks of a meter agree. Without a file it must be made before the ranks are
/// forked.
class meeting_place {
 public:
  static constexpr std::size_t bytes = std::size_t{1} << 20U;
  static constexpr std::size_t first_free = 16;
  static constexpr std::size_t lines_free = bytes / raw::lines::bytes - first_free;

  explicit meeting_place(settings const& s) {
    int const file = s.shared.empty() ? -1 : ::open(s.shared.c_str(), O_RDWR | O_CREAT, 0600);
    if (file >= 0 && ::ftruncate(file, bytes) != 0) fail();
    int const flags = file >= 0 ? MAP_SHARED : MAP_SHARED | MAP_ANONYMOUS;
    void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, file, 0);
    if (file >= 0) ::close(file);
    if (at == MAP_FAILED) fail();
    lines_ = raw::lines(static_cast<std::uint64_t*>(at));
  }

  /// A word alone on its line, zero at first.
  [[nodiscard]] raw::word_ref at(std::size_t i) const noexcept { return lines_.at(i); }
  /// Lines for hand-written baselines, not used by the meter.
  [[nodiscard]] raw::lines free_lines() const noexcept { return lines_.from(first_free); }

 private:
  [[noreturn]] static void fail() {
    std::perror("bench: no memory that all ranks share");
    std::exit(1);
  }
  raw::lines lines_;
};

}  // namespace bench
