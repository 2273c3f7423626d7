// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <cstring>
#include <pgas/backends/simulated/mapping.hpp>
#include <pgas/platform/fiber.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail::simulated {

/// The stacks of all ranks, in one mapping.
///
/// Up to `most_with_guards` ranks each stack lies above a page that no access may reach. A guard is two
/// mappings more, and the system allows 65,530. More ranks have a mark at the end of each stack: a stack that
/// overflows destroys the mark of the next one, and is found when its fiber gives up its turn.
class stacks {
 public:
  static constexpr rank_t most_with_guards = 16384;

  stacks(rank_t ranks, std::size_t bytes)
      : guarded_(ranks <= most_with_guards),
        step_((bytes + mapping::page - 1) / mapping::page * mapping::page + (guarded_ ? mapping::page : 0)),
        ranks_(static_cast<std::size_t>(ranks)),
        all_(mapping::page + step_ * ranks_, -1, "run") {
    all_.guard(0);
    for (std::size_t r = 1; guarded_ && r < ranks_; ++r) all_.guard(mapping::page + r * step_);
  }

  /// The stack of a rank, to which nothing has been written.
  [[nodiscard]] fiber_stack stack_of(rank_t rank) {
    std::byte* const end = end_of(rank);
    std::size_t const usable = step_ - (guarded_ ? mapping::page : 0) - mark_bytes;
    std::memcpy(end - mark_bytes, &mark, sizeof mark);
    return fiber_stack::part_of({end - mark_bytes - usable, usable});
  }
  /// False if the stack of a rank has overflowed.
  [[nodiscard]] bool is_sound(rank_t rank) const noexcept {
    if (guarded_ || rank == 0) return true;
    return std::memcmp(end_of(rank - 1) - mark_bytes, &mark, sizeof mark) == 0;
  }
  /// The bytes of a stack that were touched, on average.
  [[nodiscard]] std::size_t touched() const { return all_.touched() / ranks_; }

 private:
  static constexpr std::size_t mark_bytes = 64;
  static constexpr std::uint64_t mark = 0x5ac4'6a5d'0b0e'9d1f;

  [[nodiscard]] std::byte* end_of(rank_t rank) const noexcept {
    return all_.data() + mapping::page + (static_cast<std::size_t>(rank) + 1) * step_;
  }

  bool guarded_;
  std::size_t step_;
  std::size_t ranks_;
  mapping all_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::simulated
