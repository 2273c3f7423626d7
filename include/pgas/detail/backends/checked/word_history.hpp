// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstring>
#include <pgas/concepts/control.hpp>
#include <pgas/detail/backends/checked/clock.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail::checking {

/// The latest values of a control word, each with the knowledge that its releases left there, in memory that
/// all ranks share. Its lock guards the word, too: value and history change together.
///
/// A rank that waits may be slow to look, and the word may have gone on meanwhile. A faster rank would have
/// seen an earlier value. Only the knowledge beside that value is promised to the program, so a wait takes
/// the earliest value that ends it. The chip's oracle has the same rule.
class word_history {
 public:
  word_history(std::byte* at, std::size_t ranks) noexcept : at_(at), ranks_(ranks) {}

  static std::size_t bytes(std::size_t ranks) noexcept {
    return (sizeof(head) + kept * told_bytes(ranks) + 63) / 64 * 64;
  }

  /// A value, and what its readers learn.
  class told {
   public:
    told(std::byte* at, std::size_t ranks) noexcept : at_(at), ranks_(ranks) {}
    [[nodiscard]] word value() const noexcept { return number(0); }
    /// The number of the access that stored it, among those of all ranks.
    [[nodiscard]] std::uint64_t since() const noexcept { return number(1); }
    /// The knowledge of all releases so far, except for those of shared holders.
    [[nodiscard]] shared_clock of_all() const noexcept { return clock(0); }
    /// Stands for the knowledge of all releases so far, for the thread sanitizer.
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
  /// Stands for the releases of shared holders, for the thread sanitizer.
  [[nodiscard]] void const* address_of_holders() const noexcept { return at_; }
  /// The present value.
  [[nodiscard]] told latest() const noexcept { return entry(top().stored); }
  /// The word has got this value. Its knowledge is that of the value before, until the caller adds to it.
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

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::checking
