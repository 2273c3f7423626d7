// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <pgas/vocabulary/rank.hpp>
#include <pgas/vocabulary/rows_of.hpp>
#include <span>
#include <utility>

/// Labelled programs, and the library as they see it. Programs are no templates, so that a unit compiles them
/// once for all backends; world_on.hpp carries their calls to one backend.
namespace races {

using pgas::own_part;
using pgas::rank_t;
using pgas::rows_of;
using element = std::int32_t;

/// Elements from one place to the next: each place has cache lines of its own on every backend.
inline constexpr std::size_t apart = 64;
/// The number of places in each part.
inline constexpr std::size_t places = 8;
/// The number of elements in a bulk access of the programs.
inline constexpr std::size_t bulk = 4;

/// The first element of a place.
constexpr std::size_t place(std::size_t number) noexcept { return number * apart; }

/// An operation under way.
class request {
 public:
  request() = default;
  request(request const&) = delete;
  request& operator=(request const&) = delete;
  virtual ~request() = default;
  virtual void wait() = 0;
};

/// An open epoch of any kind. A member that the kind does not have throws std::logic_error.
class epoch {
 public:
  epoch() = default;
  epoch(epoch const&) = delete;
  epoch& operator=(epoch const&) = delete;
  virtual ~epoch() = default;

  virtual void put(rank_t target, std::size_t i, element value) = 0;
  virtual void put(rank_t target, std::size_t first, std::span<element const> values) = 0;
  virtual void put(rank_t target, rows_of at, std::span<element const> values) = 0;
  virtual void put(rank_t target, std::size_t first, own_part from) = 0;
  virtual element get(rank_t target, std::size_t i) = 0;
  virtual void get(rank_t target, std::size_t first, std::span<element> into) = 0;
  virtual void get(rank_t target, rows_of at, std::span<element> into) = 0;
  virtual void get(rank_t target, std::size_t first, own_part into) = 0;
  virtual std::unique_ptr<request> rput(rank_t target, std::size_t first, std::span<element const> from) = 0;
  virtual std::unique_ptr<request> rget(rank_t target, std::size_t first, std::span<element> into) = 0;

  virtual void accumulate(rank_t target, std::size_t i, element value) = 0;
  virtual void accumulate(rank_t target, std::size_t first, std::span<element const> values) = 0;
  virtual void accumulate_max(rank_t target, std::size_t i, element value) = 0;
  virtual void get_accumulate(rank_t target, std::size_t first, std::span<element const> values,
                              std::span<element> before) = 0;
  virtual element fetch_add(rank_t target, std::size_t i, element value) = 0;
  virtual bool compare_exchange(rank_t target, std::size_t i, element expected, element desired) = 0;
  virtual element atomic_load(rank_t target, std::size_t i) = 0;
  virtual void atomic_store(rank_t target, std::size_t i, element value) = 0;

  virtual void flush(rank_t target) = 0;
  virtual void flush_local(rank_t target) = 0;
  virtual void flush_all() = 0;
  virtual void flush_local_all() = 0;
  virtual void close() = 0;
  virtual void next() = 0;                   ///< of fence
  virtual void sync() = 0;                   ///< of lock_all
  virtual void complete(rank_t target) = 0;  ///< of access
  virtual void signal(rank_t target, std::size_t tag) = 0;
};
using opened = std::unique_ptr<epoch>;

/// One rank's handle on a job with a window. The program's class says what it has beside that: a second
/// window, signals, a queue and a counter, or an array with ghost cells.
class world {
 public:
  world() = default;
  world(world const&) = delete;
  world& operator=(world const&) = delete;
  virtual ~world() = default;

  [[nodiscard]] virtual rank_t rank() const = 0;
  [[nodiscard]] virtual rank_t size() const = 0;

  [[nodiscard]] virtual opened fence() = 0;
  [[nodiscard]] virtual opened fence_other() = 0;                    ///< of the second window
  [[nodiscard]] virtual std::pair<opened, opened> fence_both() = 0;  ///< fence_all of the two windows
  virtual void close_both() = 0;
  [[nodiscard]] virtual opened expose(std::initializer_list<rank_t> origins) = 0;
  [[nodiscard]] virtual opened access(std::initializer_list<rank_t> targets) = 0;
  [[nodiscard]] virtual opened lock(rank_t target) = 0;
  [[nodiscard]] virtual opened lock_shared(rank_t target) = 0;
  [[nodiscard]] virtual opened lock_all() = 0;

  // The own part of the window, through stage
  virtual void store(std::size_t i, element value) = 0;
  virtual void update(std::size_t i, element value) = 0;  ///< read_write
  virtual element load(std::size_t i) = 0;
  virtual element load(std::size_t i, std::size_t first, std::size_t count) = 0;  ///< of a staged range
  // and through local()
  virtual void store_by_view(std::size_t i, element value) = 0;
  virtual element load_by_view(std::size_t i) = 0;

  virtual void barrier() = 0;
  virtual void barrier_of_two(rank_t a, rank_t b) = 0;  ///< of ranks 0 to 2
  virtual element broadcast(element value, rank_t root) = 0;
  virtual element all_reduce(element value) = 0;
  virtual void gather(element value, rank_t root) = 0;
  virtual void scatter(element value, rank_t root) = 0;
  virtual void wait_signal(rank_t source, std::size_t tag = 0) = 0;
  virtual bool test_signal(rank_t source, std::size_t tag = 0) = 0;
  virtual void push(element value) = 0;
  virtual element pop() = 0;
  virtual void add_to_counter() = 0;
  virtual element read_counter() = 0;

  // An array with one ghost cell at each side of a rank's cells. Cell -1 and cell cells() are ghost cells.
  [[nodiscard]] virtual std::ptrdiff_t cells() const = 0;
  virtual void store_cell(std::ptrdiff_t i, element value) = 0;
  virtual element load_cell(std::ptrdiff_t i) = 0;
  virtual element load_all_cells(std::ptrdiff_t i) = 0;  ///< stages all, ghost cells too, and returns one
  virtual void exchange_halo() = 0;
  virtual void begin_exchange() = 0;
  virtual void finish_exchange() = 0;
};

}  // namespace races
