// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <pgas/vocabulary/rank.hpp>
#include <string_view>

namespace pgas::inline PGAS_ASSERTIONS::detail::checking {

/// The kind of an access to a rank's part.
enum class recorded : std::uint8_t {
  load,           ///< of the own part, at once
  store,          ///< to the own part, at once
  get,            ///< complete at the next flush or flush_local of the target
  put,            ///< complete at the next flush of the target
  atomic_load,    ///< complete at return
  atomic_change,  ///< a change of an element in one step, complete at return
  accumulate,     ///< the same, by an operation without a result
};

/// The name of an access in a report, as a noun.
constexpr std::string_view name_of(recorded kind) noexcept {
  switch (kind) {
    case recorded::load:
      return "load";
    case recorded::store:
      return "store";
    case recorded::get:
      return "get";
    case recorded::put:
      return "put";
    case recorded::atomic_load:
      return "atomic load";
    case recorded::atomic_change:
      return "atomic change";
    case recorded::accumulate:
      return "accumulate";
  }
  return "access";
}

/// One access to bytes of a granule, in a word: the bytes, the rank, the kind, the place in the program, and
/// the rank's clock. The word 0 is no record. A record without bytes is none either, see shadow.
class record {
 public:
  static constexpr unsigned clock_bits = 32;
  static constexpr unsigned place_bits = 15;
  static constexpr std::uint64_t all_bytes = 0xff;

  constexpr record() noexcept = default;
  constexpr explicit record(std::uint64_t bits) noexcept : bits_(bits) {}
  constexpr record(rank_t rank, recorded kind, std::uint32_t place, std::uint32_t clock) noexcept
      : bits_(all_bytes << mask_at | (static_cast<std::uint64_t>(rank) & 0x3fU) << rank_at |
              flags_of(kind) << flags_at | (place & ((std::uint64_t{1} << place_bits) - 1)) << clock_bits |
              clock) {}

  [[nodiscard]] constexpr std::uint64_t bits() const noexcept { return bits_; }
  [[nodiscard]] constexpr std::uint64_t mask() const noexcept { return bits_ >> mask_at; }
  [[nodiscard]] constexpr rank_t rank() const noexcept {
    return static_cast<rank_t>(bits_ >> rank_at & 0x3fU);
  }
  [[nodiscard]] constexpr bool writes() const noexcept { return (bits_ >> flags_at & write_flag) != 0; }
  [[nodiscard]] constexpr bool is_atomic() const noexcept { return (bits_ >> flags_at & atomic_flag) != 0; }
  /// The access is complete no sooner than at a flush.
  [[nodiscard]] constexpr bool is_pending() const noexcept { return is_late() && !is_atomic(); }
  [[nodiscard]] constexpr std::uint32_t place() const noexcept {
    return static_cast<std::uint32_t>(bits_ >> clock_bits & ((std::uint64_t{1} << place_bits) - 1));
  }
  [[nodiscard]] constexpr std::uint32_t clock() const noexcept { return static_cast<std::uint32_t>(bits_); }
  [[nodiscard]] constexpr recorded kind() const noexcept {
    if (is_atomic()) {
      return !writes() ? recorded::atomic_load : is_late() ? recorded::accumulate : recorded::atomic_change;
    }
    if (is_late()) return writes() ? recorded::put : recorded::get;
    return writes() ? recorded::store : recorded::load;
  }

  /// The same access, to these bytes alone.
  [[nodiscard]] constexpr record with_mask(std::uint64_t mask) const noexcept {
    return record((bits_ & ((std::uint64_t{1} << mask_at) - 1)) | mask << mask_at);
  }
  /// True if both are of one rank and one kind.
  [[nodiscard]] constexpr bool is_like(record other) const noexcept {
    return ((bits_ ^ other.bits_) >> flags_at & 0x1ffU) == 0;
  }
  /// True if two accesses to one byte must be ordered.
  [[nodiscard]] constexpr bool conflicts_with(record other) const noexcept {
    return (writes() || other.writes()) && !(is_atomic() && other.is_atomic());
  }
  /// True if each access that conflicts with `other` also conflicts with this one. If `other` is before this
  /// one, its record is no longer needed.
  [[nodiscard]] constexpr bool covers(record other) const noexcept {
    if (writes()) return !is_atomic() || other.is_atomic();
    return !other.writes() && (!is_atomic() || other.is_atomic());
  }

 private:
  static constexpr unsigned flags_at = clock_bits + place_bits;
  static constexpr unsigned rank_at = flags_at + 3;
  static constexpr unsigned mask_at = rank_at + 6;
  static_assert(mask_at + 8 == 64);
  static constexpr std::uint64_t write_flag = 1, atomic_flag = 2, pending_flag = 4;

  [[nodiscard]] constexpr bool is_late() const noexcept { return (bits_ >> flags_at & pending_flag) != 0; }
  static constexpr std::uint64_t flags_of(recorded kind) noexcept {
    switch (kind) {
      case recorded::load:
        return 0;
      case recorded::store:
        return write_flag;
      case recorded::get:
        return pending_flag;
      case recorded::put:
        return pending_flag | write_flag;
      case recorded::atomic_load:
        return atomic_flag;
      case recorded::atomic_change:
        return atomic_flag | write_flag;
      case recorded::accumulate:
        return atomic_flag | pending_flag | write_flag;
    }
    return 0;
  }

  std::uint64_t bits_ = 0;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::checking
