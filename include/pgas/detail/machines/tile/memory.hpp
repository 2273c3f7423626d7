// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <deque>
#include <pgas/concepts/control.hpp>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/machines/turn_order.hpp>
#include <span>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail::tile_machine {

using emulation::waiters;

/// The parts of one window: plain memory that all cores share.
struct home_parts {
  struct alignas(part_alignment) line {
    std::byte bytes[part_alignment];
  };

  explicit home_parts(std::span<std::size_t const> wanted) : sizes(wanted.begin(), wanted.end()) {
    for (std::size_t const size : sizes) memory.emplace_back(size / sizeof(line) + 1);
  }

  std::vector<std::size_t> sizes;
  std::vector<std::vector<line>> memory;
};

/// A control word, and the cores that wait for its change.
struct shared_word {
  word value = 0;
  rank_t writer = -1;  ///< of a slot, once it has been stored to
  waiters waiting = 0;
};

/// The control words of one team or window.
struct home_words {
  home_words(rank_t ranks, control_words w)
      : words(w), all(static_cast<std::size_t>(ranks) * (w.slots + w.cells)) {}

  [[nodiscard]] shared_word& at(rank_t owner, std::size_t i) noexcept {
    return all[static_cast<std::size_t>(owner) * (words.slots + words.cells) + i];
  }

  control_words words;
  std::vector<shared_word> all;
};

/// The letters of one mailbox, for each receiver and sender.
struct home_letters {
  using letters = std::deque<std::vector<std::byte>>;
  static constexpr std::size_t room = 16;  ///< of a sender at each receiver

  explicit home_letters(rank_t ranks)
      : size(static_cast<std::size_t>(ranks)), all(size * size), room_is_wanted(size * size) {}

  [[nodiscard]] std::size_t number(rank_t to, rank_t from) const noexcept {
    return static_cast<std::size_t>(to) * size + static_cast<std::size_t>(from);
  }

  std::size_t size;
  std::vector<letters> all;
  std::vector<char> room_is_wanted;  ///< whether the sender has found no room
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::tile_machine
