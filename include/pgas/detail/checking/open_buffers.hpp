// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/mman.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <pgas/concepts/access_kind.hpp>
#include <pgas/concepts/segment.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// Finds out whether memory of this process is still mapped, so that a checker does not crash on a buffer
/// that the program has unmapped.
///
/// An object remembers the pages that it has found, so it lives only while many buffers are checked at once.
/// A check costs a system call for each 64 pages.
class mapped_pages {
 public:
  /// Returns whether each page of these bytes is mapped.
  [[nodiscard]] bool hold(bytes_in what) {
    if (what.empty()) return true;
    auto const first = reinterpret_cast<std::uintptr_t>(what.data());
    std::uintptr_t const end = first + what.size();
    if (first >= known_first_ && end <= known_end_) return true;
    std::uintptr_t at = first / page * page;
    // Later buffers are near this one, so the first check covers more than it needs.
    if (end <= at + most * page && are_mapped(at, most)) {
      known_first_ = at;
      known_end_ = at + most * page;
      return true;
    }
    while (at < end) {
      std::size_t const rest = (end - at + page - 1) / page;
      std::size_t const pages = rest < most ? rest : most;
      if (!are_mapped(at, pages)) return false;
      at += pages * page;
    }
    return true;
  }

 private:
  static constexpr std::uintptr_t page = 4096;
  static constexpr std::size_t most = 64;

  static bool are_mapped(std::uintptr_t first, std::size_t pages) noexcept {
    std::array<unsigned char, most> resident{};
    auto* const at = reinterpret_cast<void*>(first);  // NOLINT(performance-no-int-to-ptr): a page's address
    // A system with larger pages, or without this call, returns another error: then nothing is known.
    return ::mincore(at, pages * page, resident.data()) == 0 || errno != ENOMEM;
  }

  std::uintptr_t known_first_ = 0;
  std::uintptr_t known_end_ = 0;
};

/// The private buffers of one rank that belong to unfinished puts and gets.
///
/// The source of a put may be read, and not written, until its completion. The checker compares a hash then.
/// The destination of a get may be neither read nor written. Until completion it holds poison, and its data
/// arrive with the completion. An early load reads the poison, which is also a quiet NaN; a store destroys
/// it. Source: ours. RMASanitizer (Schwitanski and others 2024) runs each operation as a fiber of the thread
/// sanitizer, and thus sees each load and store of the program.
class open_buffers {
 public:
  /// The fault of a buffer.
  enum class fault {
    none,
    read_early,     ///< an operation reads the destination of an unfinished get
    written_early,  ///< an operation writes to the buffer of an unfinished put or get
    source_stored,  ///< the program has stored to the source of a put
    target_stored,  ///< the program has stored to the destination of a get
    poison_copied,  ///< the program passes on what it loaded from the destination of a get
    unmapped,       ///< the program has given the memory of the buffer back to the system
  };
  struct verdict {
    fault what = fault::none;
    access_kind of = access_kind::own;  ///< the unfinished operation: put or get
    std::uint32_t where = 0;            ///< its place
    rank_t target = 0;                  ///< its target
  };

  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }

  /// Checks an operation or an own access that reads private memory.
  [[nodiscard]] verdict reads(bytes_in from) const {
    earliest found;
    for_each_overlap(from, [&](buffer const& b) {
      if (b.kind == access_kind::get) found.take(fault::read_early, b);
    });
    if (found.said.what == fault::none && holds_poison(from)) {
      for (auto const& [first, b] : all_) {
        if (b.kind == access_kind::get) found.take(fault::poison_copied, b);
      }
    }
    return found.said;
  }
  /// Checks an operation that writes to private memory.
  [[nodiscard]] verdict writes(bytes_in into) const {
    earliest found;
    for_each_overlap(into, [&](buffer const& b) { found.take(fault::written_early, b); });
    return found.said;
  }

  /// Begins a put. `window` and `target` name its completion. Returns its number, for complete_one.
  std::uint64_t begin_put(void const* window, rank_t target, bytes_in from, std::uint32_t where) {
    if (from.empty()) return 0;
    return begin(from, {.hash = hash_of(from),
                        .window = window,
                        .target = target,
                        .where = where,
                        .kind = access_kind::put});
  }
  /// Begins a get that has read its bytes into `into`. They are kept for its completion.
  std::uint64_t begin_get(void const* window, rank_t target, bytes_out into, std::uint32_t where) {
    if (into.empty()) return 0;
    auto const number = begin(into, {.destination = into.data(),
                                     .arrived = {into.begin(), into.end()},
                                     .window = window,
                                     .target = target,
                                     .where = where,
                                     .kind = access_kind::get});
    fill_with_poison(into);
    return number;
  }

  /// Begins a get that fills a piece of the own part. The checker sees each access there, so it needs no
  /// poison.
  void begin_fill(void const* window, rank_t target, bytes_in into, std::uint32_t where) {
    if (into.empty()) return;
    begin(into, {.window = window, .target = target, .where = where, .kind = access_kind::get});
  }

  /// Ends the operations of a window towards a target. Returns the fault of the first of them that has one.
  verdict complete(void const* window, rank_t target) {
    earliest found;
    for (auto i = all_.begin(); i != all_.end();)
      i = i->second.window == window && i->second.target == target ? end(i, found) : std::next(i);
    return found.said;
  }
  /// Ends one operation, if it has not ended.
  verdict complete_one(std::uint64_t number) {
    earliest found;
    if (auto const one = by_number_.find(number); one != by_number_.end()) end(one->second, found);
    return found.said;
  }
  /// Ends the operations of a window without a completion.
  void forget(void const* window) noexcept {
    std::erase_if(by_number_, [&](auto const& one) { return one.second->second.window == window; });
    std::erase_if(all_, [&](auto const& one) { return one.second.window == window; });
  }

 private:
  struct buffer {
    std::byte* destination = nullptr;  ///< of a get into private memory
    std::size_t bytes = 0;
    std::uint64_t hash = 0;            ///< of a put's source
    std::vector<std::byte> arrived{};  ///< a get's data
    void const* window = nullptr;
    rank_t target = 0;
    std::uint32_t where = 0;
    access_kind kind = access_kind::own;
    std::uint64_t number = 0;  ///< the order of the begins
  };
  /// By their first bytes, since an epoch may have many thousands.
  using buffers = std::multimap<std::byte const*, buffer>;

  /// The fault of the operation that began first. Addresses would give another order in each run.
  struct earliest {
    verdict said;
    std::uint64_t number = 0;
    mapped_pages mapped{};

    void take(fault what, buffer const& b) noexcept {
      if (said.what != fault::none && number < b.number) return;
      said = {what, b.kind, b.where, b.target};
      number = b.number;
    }
  };

  /// A quiet NaN as a float and, twice, as a double: sums of it have the same bits.
  static constexpr std::uint32_t poison = 0xfffcdea7U;

  std::uint64_t begin(bytes_in range, buffer one) {
    one.bytes = range.size();
    one.number = ++begun_;
    longest_ = std::max(longest_, one.bytes);
    by_number_.emplace(begun_, all_.emplace(range.data(), std::move(one)));
    return begun_;
  }
  /// Ends an operation: checks its buffer and lets its data arrive.
  buffers::iterator end(buffers::iterator at, earliest& found) {
    auto const& [first, b] = *at;
    if (!found.mapped.hold({first, b.bytes})) {
      found.take(fault::unmapped, b);
    } else if (b.kind == access_kind::put) {
      if (hash_of({first, b.bytes}) != b.hash) found.take(fault::source_stored, b);
    } else if (b.destination != nullptr) {
      bytes_out const into(b.destination, b.bytes);
      // Unmapped memory, or memory that the allocator has reused, may belong to others.
      if (is_poison(into)) {
        std::copy(b.arrived.begin(), b.arrived.end(), into.begin());
      } else {
        found.take(fault::target_stored, b);
      }
    }
    by_number_.erase(b.number);
    return all_.erase(at);
  }
  /// A buffer that overlaps the range begins at most the length of the longest one before it.
  template <class Visit>
  void for_each_overlap(bytes_in range, Visit const& visit) const {
    auto const first = reinterpret_cast<std::uintptr_t>(range.data());
    auto const lowest = reinterpret_cast<std::byte const*>(first - std::min(first, longest_));
    auto const last = all_.lower_bound(range.data() + range.size());
    for (auto i = all_.upper_bound(lowest); i != last; ++i) {
      if (i->first + i->second.bytes > range.data()) visit(i->second);
    }
  }

  // Few buffers would end one of these loops early. They run to the end, so that compilers can vectorize
  // them.
  static void fill_with_poison(bytes_out into) noexcept {
    std::size_t i = 0;
    for (; i + sizeof poison <= into.size(); i += sizeof poison)
      std::memcpy(into.data() + i, &poison, sizeof poison);
    std::memcpy(into.data() + i, &poison, into.size() - i);
  }
  static bool is_poison(bytes_in what) noexcept {
    std::uint32_t differing = 0;
    std::size_t i = 0;
    for (; i + sizeof poison <= what.size(); i += sizeof poison) differing |= word_at(what, i) ^ poison;
    return differing == 0 && std::memcmp(what.data() + i, &poison, what.size() - i) == 0;
  }
  static bool holds_poison(bytes_in what) noexcept {
    bool found = false;
    for (std::size_t i = 0; i + sizeof poison <= what.size(); i += sizeof poison)
      found |= word_at(what, i) == poison;
    return found;
  }
  static std::uint32_t word_at(bytes_in what, std::size_t i) noexcept {
    std::uint32_t value = 0;
    std::memcpy(&value, what.data() + i, sizeof value);
    return value;
  }
  /// Four sums side by side, so that their multiplications overlap.
  static std::uint64_t hash_of(bytes_in what) noexcept {
    constexpr std::uint64_t factor = 0x9e3779b97f4a7c15U;
    std::array<std::uint64_t, 4> sums{what.size(), 1, 2, 3};
    auto const add = [](std::uint64_t sum, std::uint64_t piece) {
      sum = (sum ^ piece) * factor;
      return sum ^ sum >> 32U;
    };
    std::size_t i = 0;
    for (; i + sizeof sums <= what.size(); i += sizeof sums) {
      std::array<std::uint64_t, 4> pieces{};
      std::memcpy(pieces.data(), what.data() + i, sizeof pieces);
      for (std::size_t k = 0; k < sums.size(); ++k) sums[k] = add(sums[k], pieces[k]);
    }
    for (; i < what.size(); ++i) sums[0] = add(sums[0], std::to_integer<std::uint64_t>(what[i]));
    return add(add(add(sums[0], sums[1]), sums[2]), sums[3]);
  }

  buffers all_;
  std::unordered_map<std::uint64_t, buffers::iterator> by_number_;
  std::size_t longest_ = 0;  ///< the bytes of the longest buffer so far
  std::uint64_t begun_ = 0;
};

}  // namespace PGAS_NAMESPACE::detail
