// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <pgas/detail/machines/simulated/mapping.hpp>
#include <pgas/detail/process/fiber.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail::simulated {

/// The stacks of all ranks, in one mapping.
///
/// Up to `most_with_guards` ranks each stack lies above memory that no access may reach; see fiber_stack. All
/// guards together have at most a GiB, and each at least a page. A guard is two mappings more, and the system
/// allows 65,530. More ranks have a mark at the end of each stack: a stack that overflows destroys the mark
/// of the next one, and is found when its fiber gives up its turn.
class stacks {
 public:
  static constexpr rank_t most_with_guards = 16384;

  stacks(rank_t ranks, std::size_t bytes)
      : ranks_(static_cast<std::size_t>(ranks)),
        guard_(ranks <= most_with_guards
                   ? std::min(fiber_stack::guard_bytes, in_pages(most_in_guards / ranks_))
                   : 0),
        step_(in_pages(bytes) + guard_),
        first_(guard_ != 0 ? guard_ : mapping::page),
        all_(first_ + step_ * ranks_ - guard_, -1, "run") {
    all_.guard(0, first_);
    for (std::size_t r = 1; guard_ != 0 && r < ranks_; ++r) all_.guard(r * step_, guard_);
  }

  /// The stack of a rank, to which nothing has been written.
  [[nodiscard]] fiber_stack stack_of(rank_t rank) {
    std::byte* const end = end_of(rank);
    std::size_t const usable = step_ - guard_ - mark_bytes;
    std::memcpy(end - mark_bytes, &mark, sizeof mark);
    return fiber_stack::part_of({end - mark_bytes - usable, usable});
  }
  /// False if the stack of a rank has overflowed.
  [[nodiscard]] bool is_sound(rank_t rank) const noexcept {
    if (guard_ != 0 || rank == 0) return true;
    return std::memcmp(end_of(rank - 1) - mark_bytes, &mark, sizeof mark) == 0;
  }
  /// The rank in whose guard an address lies, or -1.
  [[nodiscard]] rank_t rank_below(std::byte const* at) const noexcept {
    if (at < all_.data() || at >= all_.data() + all_.size()) return -1;
    auto const offset = static_cast<std::size_t>(at - all_.data());
    if (guard_ == 0) return offset < first_ ? 0 : -1;
    return offset % step_ < guard_ ? static_cast<rank_t>(offset / step_) : -1;
  }
  /// The bytes of a stack that were touched, on average.
  [[nodiscard]] std::size_t touched() const { return all_.touched() / ranks_; }

 private:
  static constexpr std::size_t mark_bytes = 64;
  static constexpr std::uint64_t mark = 0x5ac4'6a5d'0b0e'9d1f;
  static constexpr std::size_t most_in_guards = std::size_t{1} << 30U;

  static constexpr std::size_t in_pages(std::size_t bytes) noexcept {
    return (bytes + mapping::page - 1) / mapping::page * mapping::page;
  }
  [[nodiscard]] std::byte* end_of(rank_t rank) const noexcept {
    return all_.data() + first_ + (static_cast<std::size_t>(rank) + 1) * step_ - guard_;
  }

  std::size_t ranks_;
  std::size_t guard_;  ///< the bytes of the guard below each stack; 0: only the first one has a guard
  std::size_t step_;
  std::size_t first_;  ///< the bytes below the first stack
  mapping all_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::simulated
