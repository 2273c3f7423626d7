// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <pgas/vocabulary/expects.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The most bytes of a copy that a core's own second level cache holds together with their source.
inline std::size_t half_of_second_level() noexcept {
  static long const bytes = ::sysconf(_SC_LEVEL2_CACHE_SIZE);  // slow: a virtual machine's host answers it
  return bytes > 0 ? static_cast<std::size_t>(bytes) / 2 : std::size_t{1} << 20U;
}

/// The beginning of a short file of the system; all zeros if it is not there.
inline std::array<char, 256> system_text(char const* path) noexcept {
  std::array<char, 256> text{};
  if (int const file = ::open(path, O_RDONLY | O_CLOEXEC); file >= 0) {
    if (::read(file, text.data(), text.size()) < 0) text.fill('\0');
    ::close(file);
  }
  return text;
}

/// The number with which such a text begins.
inline std::size_t number_in(std::array<char, 256> const& text) noexcept {
  std::size_t number = 0;
  for (std::size_t i = 0; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i)
    number = number * 10 + static_cast<std::size_t>(text[i] - '0');
  return number;
}

/// The number of bits in the hexadecimal digits of such a text.
inline std::size_t bits_in(std::array<char, 256> const& text) noexcept {
  std::size_t bits = 0;
  for (char const c : text) {
    bool const is_letter = c >= 'a' && c <= 'f';
    if (!is_letter && (c < '0' || c > '9')) continue;
    bits +=
        static_cast<std::size_t>(std::popcount(static_cast<unsigned>(is_letter ? c - 'a' + 10 : c - '0')));
  }
  return bits;
}

/// The bytes of the third level cache over the number of cores that share it; 0 if the system does not say.
///
/// sysconf() would add the caches of all sockets, and some hosts give the sum of a whole machine to a part of
/// it. Costs two files of the system, so callers keep the answer.
inline std::size_t share_of_third_level() noexcept {
  constexpr std::size_t kib = 1024;
  std::size_t const size = number_in(system_text("/sys/devices/system/cpu/cpu0/cache/index3/size"));
  std::size_t const cores = bits_in(system_text("/sys/devices/system/cpu/cpu0/cache/index3/shared_cpu_map"));
  return cores == 0 ? 0 : size * kib / cores;
}

/// The most bytes of a copy that the caches keep together with their source and as much of other data: a
/// quarter of this core's share of the third level, and at least half of its second level.
inline std::size_t kept_in_third_level() noexcept {
  static std::size_t const bytes = std::max(share_of_third_level() / 4, half_of_second_level());
  return bytes;
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
