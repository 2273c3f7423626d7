// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <pgas/histories/history.hpp>
#include <pgas/histories/sequential_object.hpp>
#include <span>
#include <type_traits>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::histories {

/// An object of registers: a read returns what the last write of its part wrote.
///
/// `reads(record)` is true if the result tells what was written last, and `gives(write, read)` if it may be
/// this write. `gives_at_first(read)` is true if the result may be that of a new object. `writes(record)` is
/// true of an operation that overwrites, and `adds(record)` of one that makes a value from the one before.
template <class S>
concept object_of_registers = object_of_parts<S> && requires(record_of<S> const& r) {
  { S::reads(r) } -> std::same_as<bool>;
  { S::writes(r) } -> std::same_as<bool>;
  { S::adds(r) } -> std::same_as<bool>;
  { S::gives(r, r) } -> std::same_as<bool>;
  { S::gives_at_first(r) } -> std::same_as<bool>;
};

namespace detail {

/// Which operations precede which ones in every order that keeps the programs and explains the results.
///
/// A read follows the only write that may have given its value. Another write of the same part comes before
/// that write or after the read, so one that precedes the read precedes the write, and one that follows the
/// write follows the read. A circle proves that there is no order. Without a circle there may be none.
/// Source: Gibbons and Korach 1997, for reads whose writes are known.
template <object_of_registers S>
class necessary_order {
 public:
  explicit necessary_order(std::span<record_of<S> const> records)
      : all_(records), words_((records.size() + 63) / 64), before_(records.size() * words_) {
    std::map<int, std::size_t> last;  // completed operation of each rank
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (auto const found = last.find(all_[i].rank); found != last.end()) add(found->second, i);
      if (!all_[i].pending()) last[all_[i].rank] = i;
    }
    find_writes();
    do close();
    while (!is_impossible_ && add_what_follows());
  }

  /// True if there is no order.
  [[nodiscard]] bool is_impossible() const noexcept { return is_impossible_; }

  [[nodiscard]] bool precedes(std::size_t a, std::size_t b) const {
    return (before_[b * words_ + a / 64] >> (a % 64) & 1U) != 0;
  }

 private:
  struct known_read {
    std::size_t read;
    std::size_t write;                       ///< all_.size(): the part is as it was at first
    std::vector<std::size_t> const* writes;  ///< of the part; a pending one without effect may come last
  };

  void add(std::size_t a, std::size_t b) { before_[b * words_ + a / 64] |= std::uint64_t{1} << (a % 64); }

  void find_writes() {
    using name = std::remove_cvref_t<decltype(S::part_of(all_[0].operation))>;
    struct part {
      std::vector<std::size_t> writes;
      bool has_sums = false;
    };
    std::map<name, part> parts;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      part& its = parts[S::part_of(all_[i].operation)];
      its.has_sums = its.has_sums || S::adds(all_[i]);
      if (S::writes(all_[i])) its.writes.push_back(i);
    }
    writes_.reserve(parts.size());
    for (auto& [key, its] : parts) {
      if (its.has_sums) continue;
      writes_.push_back(its.writes);
      for (std::size_t i = 0; i < all_.size(); ++i) {
        if (all_[i].pending() || !S::reads(all_[i]) || S::part_of(all_[i].operation) != key) continue;
        std::size_t sources = S::gives_at_first(all_[i]) ? 1 : 0;
        std::size_t source = all_.size();
        for (std::size_t k : its.writes) {
          if (k == i || !S::gives(all_[k], all_[i])) continue;
          ++sources;
          source = k;
        }
        is_impossible_ = is_impossible_ || sources == 0;
        if (sources != 1) continue;
        known_.push_back({i, source, &writes_.back()});
        if (source != all_.size()) add(source, i);
      }
    }
  }

  /// Lets all that precedes an operation precede what that operation precedes: Warshall's algorithm.
  void close() {
    for (std::size_t k = 0; k < all_.size(); ++k)
      for (std::size_t i = 0; i < all_.size(); ++i)
        if (precedes(k, i))
          for (std::size_t w = 0; w < words_; ++w) before_[i * words_ + w] |= before_[k * words_ + w];
    for (std::size_t i = 0; i < all_.size(); ++i) is_impossible_ = is_impossible_ || precedes(i, i);
  }

  /// Returns false if nothing is new.
  bool add_what_follows() {
    bool is_new = false;
    auto const add_new = [&](std::size_t a, std::size_t b) {
      if (precedes(a, b)) return;
      add(a, b);
      is_new = true;
    };
    for (known_read const& one : known_) {
      for (std::size_t other : *one.writes) {
        if (other == one.write || other == one.read) continue;
        if (one.write == all_.size() || precedes(one.write, other)) add_new(one.read, other);
        if (one.write != all_.size() && precedes(other, one.read)) add_new(other, one.write);
      }
    }
    return is_new;
  }

  std::span<record_of<S> const> all_;
  std::size_t words_;                  ///< of a set of operations
  std::vector<std::uint64_t> before_;  ///< for each operation the set of those that precede it
  std::vector<std::vector<std::size_t>> writes_;
  std::vector<known_read> known_;
  bool is_impossible_ = false;
};

}  // namespace detail

}  // namespace pgas::inline PGAS_ASSERTIONS::histories
