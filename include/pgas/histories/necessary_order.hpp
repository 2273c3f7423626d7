// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <pgas/histories/history.hpp>
#include <pgas/histories/sequential_object.hpp>
#include <span>
#include <type_traits>
#include <vector>

namespace PGAS_NAMESPACE::histories {

/// An object that gives each value once, and the oldest first.
///
/// `pushed(record)` and `popped(record)` return the value that an operation has put in or got out, or
/// nothing. `finds_empty(record)` is true if the object had no value. `breaks_order(record)` is true of an
/// operation that does not take the oldest value.
template <class S>
concept object_in_order = sequential_object<S> && requires(record_of<S> const& r) {
  { S::pushed(r).has_value() } -> std::same_as<bool>;
  { S::popped(r).has_value() } -> std::same_as<bool>;
  { S::finds_empty(r) } -> std::same_as<bool>;
  { S::breaks_order(r) } -> std::same_as<bool>;
};

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

/// Which operations of a history precede which ones, as a set of those before each operation.
class precedence {
 public:
  explicit precedence(std::size_t operations)
      : size_(operations), words_((operations + 63) / 64), before_(operations * words_) {}

  [[nodiscard]] bool precedes(std::size_t a, std::size_t b) const {
    return (before_[b * words_ + a / 64] >> (a % 64) & 1U) != 0;
  }
  /// Returns true if this is new.
  bool add(std::size_t a, std::size_t b) {
    if (precedes(a, b)) return false;
    before_[b * words_ + a / 64] |= std::uint64_t{1} << (a % 64);
    return true;
  }
  /// Each rank's operations precede its later ones, and if `real_time` also those that began after their end.
  template <class Records>
  void add_known(Records const& records, bool real_time) {
    std::map<int, std::size_t> last;  // completed operation of each rank
    for (std::size_t i = 0; i < size_; ++i) {
      if (auto const found = last.find(records[i].rank); found != last.end()) add(found->second, i);
      if (!records[i].pending()) last[records[i].rank] = i;
      for (std::size_t k = 0; k < size_ && real_time; ++k)
        if (records[k].end < records[i].begin) add(k, i);
    }
  }
  /// Lets all that precedes an operation precede what that operation precedes: Warshall's algorithm. Returns
  /// false if an operation precedes itself.
  [[nodiscard]] bool close() {
    for (std::size_t k = 0; k < size_; ++k)
      for (std::size_t i = 0; i < size_; ++i)
        if (precedes(k, i))
          for (std::size_t w = 0; w < words_; ++w) before_[i * words_ + w] |= before_[k * words_ + w];
    for (std::size_t i = 0; i < size_; ++i)
      if (precedes(i, i)) return false;
    return true;
  }

 private:
  std::size_t size_;
  std::size_t words_;                  ///< of a set of operations
  std::vector<std::uint64_t> before_;  ///< for each operation
};

/// Which operations on registers precede which ones in every order that keeps the programs and explains the
/// results.
///
/// A read follows the only write that may have given its value. Another write of the same part comes before
/// that write or after the read, so one that precedes the read precedes the write, and one that follows the
/// write follows the read. A cycle proves that there is no order. Without a cycle there may be none.
/// Source: Gibbons and Korach 1997, for reads whose writes are known.
template <object_of_registers S>
class register_order {
 public:
  explicit register_order(std::span<record_of<S> const> records) : all_(records), order_(records.size()) {
    order_.add_known(records, false);
    find_writes();
    do is_impossible_ = is_impossible_ || !order_.close();
    while (!is_impossible_ && add_what_follows());
  }

  /// True if there is no order.
  [[nodiscard]] bool is_impossible() const noexcept { return is_impossible_; }

  [[nodiscard]] precedence const& order() const noexcept { return order_; }

 private:
  struct known_read {
    std::size_t read;
    std::size_t write;                       ///< all_.size(): the part is as it was at first
    std::vector<std::size_t> const* writes;  ///< of the part; a pending one without effect may come last
  };

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
        if (source != all_.size()) order_.add(source, i);
      }
    }
  }

  /// Returns false if nothing is new.
  bool add_what_follows() {
    bool is_new = false;
    for (known_read const& one : known_) {
      for (std::size_t other : *one.writes) {
        if (other == one.write || other == one.read) continue;
        if (one.write == all_.size() || order_.precedes(one.write, other))
          is_new = order_.add(one.read, other) || is_new;
        if (one.write != all_.size() && order_.precedes(other, one.read))
          is_new = order_.add(other, one.write) || is_new;
      }
    }
    return is_new;
  }

  std::span<record_of<S> const> all_;
  precedence order_;
  std::vector<std::vector<std::size_t>> writes_;
  std::vector<known_read> known_;
  bool is_impossible_ = false;
};

/// Which operations on an object in order precede which ones in every order that explains the results.
///
/// Values leave in the order in which they came. A value that stays came after each one that left. All values
/// that came before an operation that found none left before it, too. This helps if each value is unique.
template <object_in_order S>
class fifo_order {
 public:
  fifo_order(std::span<record_of<S> const> records, bool real_time) : order_(records.size()) {
    if (std::any_of(records.begin(), records.end(), S::breaks_order)) return;
    order_.add_known(records, real_time);
    if (!find_values(records)) return;
    do is_impossible_ = is_impossible_ || !order_.close();
    while (!is_impossible_ && add_what_follows());
  }

  /// True if there is no order.
  [[nodiscard]] bool is_impossible() const noexcept { return is_impossible_; }

  [[nodiscard]] precedence const& order() const noexcept { return order_; }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  struct one_value {
    std::size_t push;
    std::size_t pop;  ///< or none
    bool stays;       ///< true if no operation can have popped it
    bool is_there;    ///< false if nobody knows whether it was pushed
  };

  /// Returns false if a value occurs twice.
  bool find_values(std::span<record_of<S> const> records) {
    bool has_pending_pop = false;
    for (std::size_t i = 0; i < records.size(); ++i) {
      auto const value = S::pushed(records[i]);
      if (S::finds_empty(records[i])) empty_.push_back(i);
      has_pending_pop = has_pending_pop || (records[i].pending() && !value);
      if (!value) continue;
      one_value one{i, none, false, !records[i].pending()};
      for (std::size_t k = 0; k < records.size(); ++k) {
        if (k != i && S::pushed(records[k]) == value) return false;
        if (S::popped(records[k]) != value) continue;
        one.pop = k;
        order_.add(i, k);
      }
      values_.push_back(one);
    }
    std::size_t pops = 0;
    for (auto const& r : records) pops += S::popped(r) ? 1 : 0;
    for (one_value& one : values_) {
      one.stays = one.pop == none && !has_pending_pop;
      pops -= one.pop != none ? 1 : 0;
    }
    is_impossible_ = is_impossible_ || pops != 0;  // a value that was never pushed, or popped twice
    return true;
  }

  /// Returns false if nothing is new.
  bool add_what_follows() {
    bool is_new = false;
    auto const add = [&](std::size_t a, std::size_t b) { is_new = order_.add(a, b) || is_new; };
    for (one_value const& a : values_) {
      for (one_value const& b : values_) {
        if (a.push == b.push || a.pop == none) continue;
        if (b.pop == none) {
          if (b.stays) add(a.push, b.push);
        } else {
          if (order_.precedes(a.pop, b.pop)) add(a.push, b.push);
          if (order_.precedes(a.push, b.push)) add(a.pop, b.pop);
        }
      }
      for (std::size_t empty : empty_) {
        if (a.pop != none && order_.precedes(a.push, empty)) add(a.pop, empty);
        if (a.pop != none ? order_.precedes(empty, a.pop) : a.stays && a.is_there) add(empty, a.push);
      }
    }
    return is_new;
  }

  precedence order_;
  std::vector<one_value> values_;
  std::vector<std::size_t> empty_;  ///< the operations that found no value
  bool is_impossible_ = false;
};

}  // namespace detail

}  // namespace PGAS_NAMESPACE::histories
