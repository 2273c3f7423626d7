// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <pgas/concepts/access_kind.hpp>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The private buffers of one rank that belong to unfinished puts and gets.
///
/// The source of a put may be read, and not written, until its completion. The oracle compares a hash then.
/// The destination of a get may be neither read nor written. Until completion it holds poison, and its data
/// arrive with the completion. An early load finds the poison, which is also a quiet NaN; a store breaks it.
/// Source: ours. RMASanitizer (Schwitanski and others 2024) runs each operation as a fiber of the thread
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
  };
  struct verdict {
    fault what = fault::none;
    access_kind of = access_kind::own;  ///< the unfinished operation: put or get
    std::uint32_t where = 0;            ///< its place
    rank_t target = 0;                  ///< its target
  };

  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }

  /// An operation or an own access reads private memory.
  [[nodiscard]] verdict reads(bytes_in from) const {
    for (buffer const& b : all_) {
      if (b.kind == access_kind::get && overlap(b, from)) return said(fault::read_early, b);
    }
    if (holds_poison(from)) {
      for (buffer const& b : all_) {
        if (b.kind == access_kind::get) return said(fault::poison_copied, b);
      }
    }
    return {};
  }
  /// An operation writes to private memory.
  [[nodiscard]] verdict writes(bytes_in into) const {
    for (buffer const& b : all_) {
      if (overlap(b, into)) return said(fault::written_early, b);
    }
    return {};
  }

  /// A put begins. `window` and `target` name its completion. Returns its number, for complete_one.
  std::uint64_t begin_put(void const* window, rank_t target, bytes_in from, std::uint32_t where) {
    if (from.empty()) return 0;
    all_.push_back({from.data(),
                    nullptr,
                    from.size(),
                    hash_of(from),
                    {},
                    window,
                    target,
                    where,
                    access_kind::put,
                    ++begun_});
    return begun_;
  }
  /// A get has read its bytes into `into`. They are kept for its completion.
  std::uint64_t begin_get(void const* window, rank_t target, bytes_out into, std::uint32_t where) {
    if (into.empty()) return 0;
    all_.push_back({into.data(),
                    into.data(),
                    into.size(),
                    0,
                    {into.begin(), into.end()},
                    window,
                    target,
                    where,
                    access_kind::get,
                    ++begun_});
    fill_with_poison(into);
    return begun_;
  }

  /// A get fills a piece of the own part, to which the checker sees each access: it needs no poison.
  void begin_fill(void const* window, rank_t target, bytes_in into, std::uint32_t where) {
    if (into.empty()) return;
    all_.push_back({into.data(), nullptr, into.size(), 0, {}, window, target, where, access_kind::get, 0});
  }

  /// The operations of a window towards a target end. Returns the first fault.
  verdict complete(void const* window, rank_t target) {
    return complete_if([&](buffer const& b) { return b.window == window && b.target == target; });
  }
  /// One operation ends, if it has not.
  verdict complete_one(std::uint64_t number) {
    return complete_if([&](buffer const& b) { return b.number == number && number != 0; });
  }
  /// The operations of a window end without a completion.
  void forget(void const* window) noexcept {
    std::erase_if(all_, [&](buffer const& b) { return b.window == window; });
  }

 private:
  struct buffer {
    std::byte const* first;
    std::byte* destination;  ///< of a get
    std::size_t bytes;
    std::uint64_t hash;              ///< of a put's source
    std::vector<std::byte> arrived;  ///< a get's data
    void const* window;
    rank_t target;
    std::uint32_t where;
    access_kind kind;
    std::uint64_t number;  ///< 0: complete_one does not find it
  };

  /// A quiet NaN as a float and, twice, as a double: sums of it have the same bits.
  static constexpr std::uint32_t poison = 0xfffcdea7U;

  template <class Ends>
  verdict complete_if(Ends const& ends) {
    verdict first;
    std::erase_if(all_, [&](buffer& b) {
      if (!ends(b)) return false;
      if (b.kind == access_kind::put) {
        if (first.what == fault::none && hash_of({b.first, b.bytes}) != b.hash)
          first = said(fault::source_stored, b);
      } else if (b.destination != nullptr) {
        bytes_out const into(b.destination, b.bytes);
        if (first.what == fault::none && !is_poison(into)) first = said(fault::target_stored, b);
        std::copy(b.arrived.begin(), b.arrived.end(), into.begin());
      }
      return true;
    });
    return first;
  }

  static verdict said(fault what, buffer const& b) noexcept { return {what, b.kind, b.where, b.target}; }
  static bool overlap(buffer const& b, bytes_in range) noexcept {
    std::less<std::byte const*> const before;  // also for pointers into different objects
    return before(b.first, range.data() + range.size()) && before(range.data(), b.first + b.bytes);
  }
  static std::byte poison_at(std::size_t i) noexcept {
    return static_cast<std::byte>((poison >> (8 * (i % sizeof poison))) & 0xffU);
  }
  static void fill_with_poison(bytes_out into) noexcept {
    for (std::size_t i = 0; i < into.size(); ++i) into[i] = poison_at(i);
  }
  static bool is_poison(bytes_in what) noexcept {
    for (std::size_t i = 0; i < what.size(); ++i) {
      if (what[i] != poison_at(i)) return false;
    }
    return true;
  }
  static bool holds_poison(bytes_in what) noexcept {
    for (std::size_t i = 0; i + sizeof poison <= what.size(); i += sizeof poison) {
      std::uint32_t value = 0;
      std::memcpy(&value, what.data() + i, sizeof value);
      if (value == poison) return true;
    }
    return false;
  }
  static std::uint64_t hash_of(bytes_in what) noexcept {
    std::uint64_t all = what.size();
    std::size_t i = 0;
    for (; i + sizeof all <= what.size(); i += sizeof all) {
      std::uint64_t piece = 0;
      std::memcpy(&piece, what.data() + i, sizeof piece);
      all = (all ^ piece) * 0x9e3779b97f4a7c15U;
      all ^= all >> 32U;
    }
    for (; i < what.size(); ++i) all = (all ^ std::to_integer<std::uint64_t>(what[i])) * 0x9e3779b97f4a7c15U;
    return all;
  }

  std::vector<buffer> all_;
  std::uint64_t begun_ = 0;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
