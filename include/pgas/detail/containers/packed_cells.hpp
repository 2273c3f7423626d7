// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <pgas/concepts/control.hpp>
#include <pgas/detail/containers/ring_places.hpp>
#include <pgas/detail/numbers/divisor.hpp>
#include <pgas/vocabulary/transportable.hpp>
#include <type_traits>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// All parts of such a window are arrays of this process, and one instruction changes a word of them.
template <class Window>
inline constexpr bool packs_cells =
    Window::state_type::is_direct && Window::state_type::has_native_elements &&
    std::is_same_v<typename Window::value_type, std::uint64_t>;

/// The cells of a ring in a window of words: each has a turn and, on the next bytes, its element.
///
/// Four cells of 8-byte elements share a line. A line that comes from another core thus brings four turns and
/// four elements. Elements are plain memory: the turns order all accesses to them.
template <transportable T, class Window>
class packed_cells {
 public:
  using value_type = T;
  /// The words of a cell.
  static constexpr std::size_t cell_words =
      1 + (sizeof(T) + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);

  /// The looks of a waiting rank at a turn before it awaits a control word: about a microsecond, in which a
  /// line goes several times from core to core.
  static constexpr int looks = 1000;

  packed_cells(Window const& memory, ring_places const& places)
      : owners_(static_cast<std::size_t>(places.owners)) {
    if (places.owners == 1) {
      parts_.push_back(memory.state().part_if_near(places.home));
    } else {
      for (rank_t r = 0; r < places.owners; ++r) parts_.push_back(memory.state().part_if_near(r));
    }
    first_ = parts_[0];
  }

  /// One cell.
  class cell_type {
   public:
    explicit cell_type(std::uint64_t* at) noexcept : at_(at) {}
    [[nodiscard]] word load_turn(std::memory_order order) const noexcept {
      return std::atomic_ref(*at_).load(order);
    }
    void store_turn(word turn, std::memory_order order) const noexcept {
      std::atomic_ref(*at_).store(turn, order);
    }
    void write(T const& value) const noexcept {
      std::memcpy(at_ + 1, static_cast<void const*>(&value), sizeof(T));
    }
    void read(T& value) const noexcept { std::memcpy(static_cast<void*>(&value), at_ + 1, sizeof(T)); }

   private:
    std::uint64_t* at_;
  };
  [[nodiscard]] cell_type cell(std::size_t i) const noexcept {
    if (owners_.value() == 1) [[likely]]
      return cell_type(first_ + i * cell_words);
    return cell_type(parts_[owners_.remainder(i)] + owners_.quotient(i) * cell_words);
  }

 private:
  divisor owners_;
  std::uint64_t* first_ = nullptr;
  std::vector<std::uint64_t*> parts_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
