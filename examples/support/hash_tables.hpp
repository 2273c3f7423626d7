// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstdint>
#include <pgas/containers/distributed_map.hpp>
#include <pgas/containers/locked_parts.hpp>
#include <pgas/lock_all.hpp>
#include <pgas/window.hpp>
#include <stdexcept>

namespace example {

/// A set of numbers, by the library's map: each number with how often it was inserted.
template <class Team>
class mapped_table {
 public:
  /// Collective. Makes room for `capacity` numbers on each rank.
  mapped_table(Team& team, std::size_t capacity)
      : times_(pgas::make_map<std::uint64_t, std::uint64_t, pgas::counting>(team, {.capacity = capacity})) {}

  /// One-sided.
  void insert(std::uint64_t key) { times_.insert_or_accumulate(key, 1); }
  /// One-sided.
  [[nodiscard]] bool contains(std::uint64_t key) { return times_.contains(key); }
  /// Calls use(key) for each number in this rank's part.
  template <class Use>
  void for_each_own(Use&& use) {
    times_.for_each_own([&](std::uint64_t key, std::uint64_t) { use(key); });
  }

 private:
  pgas::map_on<Team, std::uint64_t, std::uint64_t, pgas::counting> times_;
};

/// The same under locks, as in Christgau and Schnor 2019: an insertion takes an exclusive lock on the owner's
/// part, a look-up a shared one.
template <class Team>
class locked_table {
 public:
  /// Collective. Makes room for `capacity` numbers on each rank.
  locked_table(Team& team, std::size_t capacity)
      : times_(
            pgas::make_map<std::uint64_t, std::uint64_t, pgas::locked_parts>(team, {.capacity = capacity})) {}

  /// One-sided.
  void insert(std::uint64_t key) { times_.insert_or_accumulate(key, 1); }
  /// One-sided.
  [[nodiscard]] bool contains(std::uint64_t key) { return times_.contains(key); }
  /// Calls use(key) for each number in this rank's part.
  template <class Use>
  void for_each_own(Use&& use) {
    times_.for_each_own([&](std::uint64_t key, std::uint64_t) { use(key); });
  }

 private:
  pgas::map_on<Team, std::uint64_t, std::uint64_t, pgas::locked_parts> times_;
};

/// A set of numbers other than 0, distributed over all ranks without locks, as in Gerstenberger, Besta and
/// Hoefler 2014. A compare-and-swap takes a place. A number whose place is taken goes into a chain of cells
/// from a heap beside the table. The owner of a place takes no part in its use.
///
/// Each part is its buckets, then its heap. Both consist of cells: a number and the next cell of the chain, 0
/// if none. A cell is complete in memory before a compare-and-swap of the bucket's chain links it, so
/// concurrent insertions are safe. The printed form swaps two words one after the other, and loses a number
/// when three ranks meet in a bucket.
template <class Team>
class atomic_table {
 public:
  /// Collective. Makes room on each rank for `capacity` numbers whose bucket is taken.
  atomic_table(Team& team, std::size_t capacity)
      : buckets_(capacity),
        words_(pgas::make_window<std::uint64_t>(team, 1 + 2 * (2 * capacity))),
        epoch_(words_) {}

  /// One-sided.
  void insert(std::uint64_t key) {
    auto const part = epoch_.to(owner_of(key));
    std::size_t const bucket = bucket_of(key);
    std::uint64_t found = 0;
    if (part.compare_exchange(number(bucket), found, key)) return;
    std::uint64_t const cell = buckets_ + part.fetch_add(used, 1);
    if (next(cell) >= part.size())
      throw std::runtime_error("the heap is full on rank " + std::to_string(part.rank()) +
                               "; give the table more places");
    part.atomic_store(number(cell), key);
    for (std::uint64_t first = part.atomic_load(next(bucket));;) {
      part.atomic_store(next(cell), first);
      part.flush();  // the cell is complete before other ranks can find it
      if (part.compare_exchange(next(bucket), first, cell)) return;
    }
  }
  /// One-sided.
  [[nodiscard]] bool contains(std::uint64_t key) {
    auto const part = epoch_.to(owner_of(key));
    std::uint64_t cell = bucket_of(key);
    while (part.atomic_load(number(cell)) != key) {
      cell = part.atomic_load(next(cell));
      if (cell == 0) return false;
    }
    return true;
  }
  /// Calls use(key) for each number that can be reached in this rank's part.
  template <class Use>
  void for_each_own(Use&& use) {
    auto const part = epoch_.to(words_.rank());
    for (std::size_t bucket = 0; bucket < buckets_; ++bucket) {
      std::uint64_t cell = bucket;
      if (part.atomic_load(number(cell)) == 0) continue;
      do {
        use(part.atomic_load(number(cell)));
        cell = part.atomic_load(next(cell));
      } while (cell != 0);
    }
  }

 private:
  static constexpr std::size_t used = 0;  // number of heap cells in use
  static std::size_t number(std::uint64_t cell) { return 1 + 2 * cell; }
  static std::size_t next(std::uint64_t cell) { return 2 + 2 * cell; }

  [[nodiscard]] pgas::rank_t owner_of(std::uint64_t key) const {
    return static_cast<pgas::rank_t>(key % static_cast<std::uint64_t>(words_.ranks()));
  }
  [[nodiscard]] std::size_t bucket_of(std::uint64_t key) const {
    return key / static_cast<std::uint64_t>(words_.ranks()) % buckets_;
  }

  using window_type = pgas::window_on<Team, std::uint64_t>;

  std::size_t buckets_;
  window_type words_;
  decltype(pgas::lock_all{std::declval<window_type&>()}) epoch_;
};

}  // namespace example
