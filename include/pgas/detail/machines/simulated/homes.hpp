// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <pgas/concepts/control.hpp>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/machines/simulated/mapping.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/vocabulary/error.hpp>
#include <span>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail::simulated {

/// The parts of a segment.
struct home_parts {
  /// Throws errc::no_space if the machine that simulates has too little memory for all parts together.
  static std::shared_ptr<home_parts> of(std::span<std::size_t const> sizes, rank_t self) {
    auto const most = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) * mapping::page;
    std::vector<std::size_t> first;
    first.reserve(sizes.size());
    std::size_t all = 0;
    for (std::size_t const bytes : sizes) {
      first.push_back(all);
      if (bytes > most || all > most - bytes) {
        throw error(errc::no_space, self, "reserve",
                    text_of({"all parts together are larger than this machine's memory, ", most,
                             " bytes; take less, or fewer ranks"}));
      }
      all += (bytes + part_alignment - 1) / part_alignment * part_alignment;
    }
    return std::make_shared<home_parts>(mapping(all, self, "reserve"), std::move(first),
                                        std::vector<std::size_t>(sizes.begin(), sizes.end()));
  }

  home_parts(mapping m, std::vector<std::size_t> f, std::vector<std::size_t> s) noexcept
      : memory(std::move(m)), first(std::move(f)), sizes(std::move(s)) {}

  [[nodiscard]] rank_t size() const noexcept { return static_cast<rank_t>(sizes.size()); }
  [[nodiscard]] std::size_t bytes_of(rank_t rank) const noexcept {
    return sizes[static_cast<std::size_t>(rank)];
  }

  mapping memory;
  std::vector<std::size_t> first;  ///< the offset of each part
  std::vector<std::size_t> sizes;
};

/// The words of a control.
struct home_words {
  static std::shared_ptr<home_words> of(control_words words, rank_t ranks, rank_t self) {
    std::size_t const each = words.slots + words.cells;
    return std::make_shared<home_words>(
        mapping(each * static_cast<std::size_t>(ranks) * sizeof(word), self, "reserve"), words);
  }

  home_words(mapping m, control_words w) noexcept : memory(std::move(m)), words(w) {}

  [[nodiscard]] std::size_t each() const noexcept { return words.slots + words.cells; }
  [[nodiscard]] word& at(rank_t owner, std::size_t i) const noexcept {
    return reinterpret_cast<word*>(memory.data())[static_cast<std::size_t>(owner) * each() + i];
  }

  mapping memory;
  control_words words;
};

struct home_boxes;

/// A message of a mailbox, under way or in its receiver's box.
struct letter {
  static constexpr std::size_t most = 56;

  std::shared_ptr<home_boxes> home;  ///< under way
  rank_t to, from;                   ///< numbers in the team
  std::size_t size;
  std::array<std::byte, most> bytes;
};

/// The boxes of a mailbox.
struct home_boxes {
  static constexpr std::size_t room = 64;
  struct box {
    std::deque<letter> arrived;
    std::size_t taken = 0;          ///< the room of those that have arrived or are under way
    std::vector<rank_t> want_room;  ///< the ranks that were refused, as numbers in the job
  };

  explicit home_boxes(rank_t ranks) : boxes(static_cast<std::size_t>(ranks)) {}
  [[nodiscard]] box& of(rank_t rank) noexcept { return boxes[static_cast<std::size_t>(rank)]; }

  std::vector<box> boxes;
};

}  // namespace PGAS_NAMESPACE::detail::simulated
