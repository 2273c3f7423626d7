// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <pgas/concepts/control.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <span>
#include <string_view>

namespace PGAS_NAMESPACE::detail::checking {

/// The most ranks of a checked job: a record has six bits for its rank.
inline constexpr rank_t most_ranks = 64;

/// One rank's knowledge of the others: the number of releases of each rank that happened before.
using vector_clock = std::array<std::uint32_t, most_ranks>;
/// The same in memory that all ranks share, for as many ranks as the job has.
using shared_clock = std::span<std::uint32_t>;

/// Adds the knowledge of `b` to `a`.
inline void join(std::span<std::uint32_t> a, std::span<std::uint32_t const> b) noexcept {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = std::max(a[i], b[i]);
}

/// The latest values of a control word, each with the knowledge that its releases left there, in memory that
/// all ranks share. Its lock guards the word, too: value and history change together.
/// A waiting rank may be slow, and the word may have changed again meanwhile. A faster rank would have seen
/// an earlier value. Only the knowledge at that value is promised to the program, so a wait ends at the
/// earliest value that satisfies it. The chip's oracle has the same rule.
class word_history {
 public:
  word_history(std::byte* at, std::size_t ranks) noexcept : at_(at), ranks_(ranks) {}

  static std::size_t bytes(std::size_t ranks) noexcept {
    return (sizeof(head) + kept * told_bytes(ranks) + 63) / 64 * 64;
  }

  /// A value, and what its readers acquire.
  class told {
   public:
    told(std::byte* at, std::size_t ranks) noexcept : at_(at), ranks_(ranks) {}
    [[nodiscard]] word value() const noexcept { return number(0); }
    /// The number of the access that stored it, among those of all ranks.
    [[nodiscard]] std::uint64_t since() const noexcept { return number(1); }
    /// The knowledge of all releases so far, except for those of shared holders.
    [[nodiscard]] shared_clock of_all() const noexcept { return clock(0); }
    /// An address that stands for the knowledge of all releases so far, for the thread sanitizer.
    [[nodiscard]] void const* address() const noexcept { return at_; }
    /// The knowledge of the releases of shared holders.
    [[nodiscard]] shared_clock of_holders() const noexcept { return clock(ranks_); }

   private:
    friend word_history;
    [[nodiscard]] std::uint64_t number(std::size_t i) const noexcept {
      return reinterpret_cast<std::uint64_t const*>(at_)[i];
    }
    [[nodiscard]] shared_clock clock(std::size_t first) const noexcept {
      return {reinterpret_cast<std::uint32_t*>(at_ + 2 * sizeof(std::uint64_t)) + first, ranks_};
    }
    std::byte* at_;
    std::size_t ranks_;
  };

  [[nodiscard]] std::uint32_t& lock() const noexcept { return top().lock; }
  /// An address that stands for the releases of shared holders, for the thread sanitizer.
  [[nodiscard]] void const* address_of_holders() const noexcept { return at_; }
  /// The present value.
  [[nodiscard]] told latest() const noexcept { return entry(top().stored); }
  /// Stores a new value. Its knowledge is that of the previous value, until the caller adds to it.
  [[nodiscard]] told store(word value, std::uint64_t since) const noexcept {
    told const before = latest();
    ++top().stored;
    told const now = latest();
    std::memcpy(now.at_, before.at_, told_bytes(ranks_));
    reinterpret_cast<std::uint64_t*>(now.at_)[0] = value;
    reinterpret_cast<std::uint64_t*>(now.at_)[1] = since;
    return now;
  }
  /// The earliest value that satisfies the predicate, among those that the word had after access `after`; if
  /// none does, the present one.
  template <class Predicate>
  [[nodiscard]] told earliest(std::uint64_t after, Predicate&& predicate) const {
    std::uint64_t const stored = top().stored;
    for (std::uint64_t i = stored + 1 > kept ? stored + 1 - kept : 0; i < stored; ++i) {
      if (entry(i + 1).since() > after && predicate(entry(i).value())) return entry(i);
    }
    return latest();
  }

 private:
  struct head {
    std::uint32_t lock;
    std::uint32_t unused;
    std::uint64_t stored;  ///< not counting the zero that each word begins with
  };
  static constexpr std::uint64_t kept = 8;  ///< with more, few waits would find an earlier value

  static std::size_t told_bytes(std::size_t ranks) noexcept {
    return 2 * sizeof(std::uint64_t) + 2 * ranks * sizeof(std::uint32_t);
  }
  [[nodiscard]] head& top() const noexcept { return *reinterpret_cast<head*>(at_); }
  [[nodiscard]] told entry(std::uint64_t i) const noexcept {
    return {at_ + sizeof(head) + i % kept * told_bytes(ranks_), ranks_};
  }

  std::byte* at_;
  std::size_t ranks_;
};

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
  /// The access is not complete before a flush.
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

}  // namespace PGAS_NAMESPACE::detail::checking
