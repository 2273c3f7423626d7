// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <pgas/vocabulary/expects.hpp>

namespace PGAS_NAMESPACE::detail::scc {

inline constexpr std::size_t line_bytes = 32;

/// An address as a core's program sees it, before the look-up table. The caches know only these.
using physical_address = std::uint32_t;
/// A physical address without its low five bits.
using line_number = std::uint32_t;
constexpr line_number line_of(physical_address at) noexcept { return at / line_bytes; }

using line = std::array<std::byte, line_bytes>;

/// Calls use(address, bytes before it, bytes) for each line's piece of a range. Any type of address will do.
template <std::unsigned_integral Address, class Use>
void each_line(Address at, std::size_t bytes, Use&& use) {
  std::size_t const first = std::min(bytes, line_bytes - at % line_bytes);
  if (first == bytes) {
    if (bytes != 0) use(at, std::size_t{0}, bytes);
    return;
  }
  use(at, std::size_t{0}, first);
  for (std::size_t done = first; done < bytes; done += line_bytes) {
    use(static_cast<Address>(at + done), done, std::min(line_bytes, bytes - done));
  }
}

/// A set-associative cache of 32-byte lines, which evicts the least recently used.
///
/// Lines may be tagged. One step forgets all tagged lines, like CL1INVMB; a count of generations makes this
/// possible.
template <std::size_t Bytes, std::size_t Ways>
class cache {
 public:
  static constexpr std::size_t lines = Bytes / line_bytes;
  static constexpr std::size_t ways = Ways;
  static constexpr std::size_t sets = lines / Ways;
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  static_assert((sets & (sets - 1)) == 0 && Ways == 4);

  /// The place of a line, or `none`. The line becomes the most recently used.
  [[nodiscard]] std::size_t find(line_number number) noexcept {
    std::size_t const set = number % sets;
    std::uint32_t const wanted = number + 1;
    for (std::size_t way = 0; way < Ways; ++way) {
      std::size_t const at = set * Ways + way;
      if (numbers_[at] == wanted && is_current(at)) {
        touch(set, way);
        return at;
      }
    }
    return none;
  }
  /// The place of a line, or `none`, without a change to the order of use.
  [[nodiscard]] std::size_t look(line_number number) const noexcept {
    std::size_t const first = number % sets * Ways;
    for (std::size_t at = first; at < first + Ways; ++at) {
      if (numbers_[at] == number + 1 && is_current(at)) return at;
    }
    return none;
  }

  /// The place that a new line of this number takes. The caller evicts the line that is there.
  [[nodiscard]] std::size_t place_for(line_number number) const noexcept {
    std::size_t const set = number % sets;
    for (std::size_t at = set * Ways; at < (set + 1) * Ways; ++at) {
      if (numbers_[at] == 0 || !is_current(at)) return at;
    }
    return set * Ways + (order_[set] >> 6U & 3U);
  }

  void put(std::size_t at, line_number number, line const& bytes, bool tagged) noexcept {
    numbers_[at] = number + 1;
    generations_[at] = tagged ? generation_ : 0;
    modified_[at] = false;
    bytes_[at] = bytes;
    touch(at / Ways, at % Ways);
  }
  void forget(std::size_t at) noexcept {
    numbers_[at] = 0;
    modified_[at] = false;
  }
  void forget_lines(line_number first, line_number last) noexcept {
    for (std::size_t at = 0; at < lines; ++at) {
      if (holds(at) && number(at) >= first && number(at) <= last) forget(at);
    }
  }
  void forget_tagged() noexcept { ++generation_; }

  [[nodiscard]] bool holds(std::size_t at) const noexcept { return numbers_[at] != 0 && is_current(at); }
  [[nodiscard]] line_number number(std::size_t at) const noexcept { return numbers_[at] - 1; }
  [[nodiscard]] bool is_tagged(std::size_t at) const noexcept { return generations_[at] != 0; }
  [[nodiscard]] bool is_modified(std::size_t at) const noexcept { return modified_[at]; }
  void set_modified(std::size_t at, bool modified) noexcept { modified_[at] = modified; }
  [[nodiscard]] line& bytes(std::size_t at) noexcept { return bytes_[at]; }
  [[nodiscard]] line const& bytes(std::size_t at) const noexcept { return bytes_[at]; }

 private:
  [[nodiscard]] bool is_current(std::size_t at) const noexcept {
    return generations_[at] == 0 || generations_[at] == generation_;
  }

  /// Makes a way the most recently used of its set. An order has two bits for each way.
  void touch(std::size_t set, std::size_t way) noexcept {
    unsigned const order = order_[set];
    if ((order & 3U) == way) return;
    unsigned kept = static_cast<unsigned>(way);
    unsigned shift = 2;
    for (unsigned from = 0; from < 8; from += 2) {
      unsigned const w = order >> from & 3U;
      if (w == way) continue;
      kept |= w << shift;
      shift += 2;
    }
    order_[set] = static_cast<std::uint8_t>(kept);
  }

  static constexpr std::array<std::uint8_t, sets> first_order() noexcept {
    std::array<std::uint8_t, sets> all{};
    all.fill(0b11100100);
    return all;
  }

  std::array<std::uint32_t, lines> numbers_{};  ///< the line's number plus one; 0: empty
  std::array<std::uint32_t, lines> generations_{};
  std::array<bool, lines> modified_{};
  std::array<std::uint8_t, sets> order_ = first_order();
  std::uint32_t generation_ = 1;
  std::array<line, lines> bytes_{};
};

}  // namespace PGAS_NAMESPACE::detail::scc
