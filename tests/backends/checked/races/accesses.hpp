// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "world.hpp"

/// The accesses that programs combine.
namespace races {

/// An access to a place of a target's part through an open epoch. Its private memory lives until the program
/// ends, so that it has no race at the origin.
struct remote_access {
  std::string_view name;
  bool writes;
  bool is_atomic;
  bool is_complete;  ///< at its return: nothing is left for a flush
  void (*act)(world&, epoch&, rank_t target, std::size_t i);
};

/// An access of a rank to its own part.
struct own_access {
  std::string_view name;
  bool writes;
  void (*act)(world&, std::size_t i);
};

/// Private memory that outlives every epoch: one for each access of this thread.
inline std::span<element> private_memory(world const& w, element value = 0) {
  static thread_local std::vector<std::array<element, bulk>> all(4096);
  static thread_local std::size_t next = 0;
  auto& mine = all[next++ % all.size()];
  mine.fill(value == 0 ? 0 : value + w.rank());
  return mine;
}

inline void put_one(world& w, epoch& e, rank_t target, std::size_t i) { e.put(target, i, 10 + w.rank()); }
inline void put_many(world& w, epoch& e, rank_t target, std::size_t i) {
  e.put(target, i, std::span<element const>(private_memory(w, 20)));
}
inline void put_by_request(world& w, epoch& e, rank_t target, std::size_t i) {
  e.rput(target, i, private_memory(w, 30))->wait();
}
inline void put_rows(world& w, epoch& e, rank_t target, std::size_t i) {
  e.put(target, rows_of{.first = i, .rows = 2, .cols = 2, .pitch = 4},
        std::span<element const>(private_memory(w, 40)));
}
inline void put_own_piece(world&, epoch& e, rank_t target, std::size_t i) {
  e.put(target, i, own_part{.first = place(7), .count = bulk});
}
inline void get_one(world&, epoch& e, rank_t target, std::size_t i) { static_cast<void>(e.get(target, i)); }
inline void get_many(world& w, epoch& e, rank_t target, std::size_t i) {
  e.get(target, i, private_memory(w));
}
inline void get_by_request(world& w, epoch& e, rank_t target, std::size_t i) {
  e.rget(target, i, private_memory(w))->wait();
}
inline void get_rows(world& w, epoch& e, rank_t target, std::size_t i) {
  e.get(target, rows_of{.first = i, .rows = 2, .cols = 2, .pitch = 4}, private_memory(w));
}
inline void accumulate_one(world&, epoch& e, rank_t target, std::size_t i) { e.accumulate(target, i, 1); }
inline void accumulate_many(world& w, epoch& e, rank_t target, std::size_t i) {
  e.accumulate(target, i, std::span<element const>(private_memory(w, 1)));
}
inline void fetch_add(world&, epoch& e, rank_t target, std::size_t i) {
  static_cast<void>(e.fetch_add(target, i, 1));
}
inline void compare_exchange(world&, epoch& e, rank_t target, std::size_t i) {
  static_cast<void>(e.compare_exchange(target, i, 0, 50));
}
inline void atomic_store(world&, epoch& e, rank_t target, std::size_t i) { e.atomic_store(target, i, 60); }
inline void atomic_load(world&, epoch& e, rank_t target, std::size_t i) {
  static_cast<void>(e.atomic_load(target, i));
}

inline constexpr remote_access put_{"put", true, false, false, put_one};
inline constexpr remote_access bulk_put{"bulk put", true, false, false, put_many};
inline constexpr remote_access rput_{"rput", true, false, false, put_by_request};
inline constexpr remote_access put_of_rows{"put of rows", true, false, false, put_rows};
inline constexpr remote_access own_put{"put of an own piece", true, false, false, put_own_piece};
inline constexpr remote_access get_{"get", false, false, true, get_one};
inline constexpr remote_access bulk_get{"bulk get", false, false, false, get_many};
inline constexpr remote_access rget_{"rget", false, false, true, get_by_request};
inline constexpr remote_access get_of_rows{"get of rows", false, false, false, get_rows};
inline constexpr remote_access accumulate_{"accumulate", true, true, false, accumulate_one};
inline constexpr remote_access bulk_accumulate{"bulk accumulate", true, true, false, accumulate_many};
inline constexpr remote_access fetch_add_{"fetch_add", true, true, true, fetch_add};
inline constexpr remote_access compare_exchange_{"compare_exchange", true, true, true, compare_exchange};
inline constexpr remote_access atomic_store_{"atomic_store", true, true, true, atomic_store};
inline constexpr remote_access atomic_load_{"atomic_load", false, true, true, atomic_load};

inline constexpr own_access store_{"own store", true, [](world& w, std::size_t i) { w.store(i, 70); }};
inline constexpr own_access update_{"own update", true, [](world& w, std::size_t i) { w.update(i, 80); }};
inline constexpr own_access load_{"own load", false,
                                  [](world& w, std::size_t i) { static_cast<void>(w.load(i)); }};
inline constexpr own_access load_among{
    "own load of a range", false, [](world& w, std::size_t i) { static_cast<void>(w.load(i, i, apart)); }};
inline constexpr own_access view_store{"store through local()", true,
                                       [](world& w, std::size_t i) { w.store_by_view(i, 90); }};
inline constexpr own_access view_load{"load through local()", false,
                                      [](world& w, std::size_t i) { static_cast<void>(w.load_by_view(i)); }};

/// True if two remote accesses to one element conflict.
constexpr bool conflict(remote_access const& a, remote_access const& b) noexcept {
  return (a.writes || b.writes) && !(a.is_atomic && b.is_atomic);
}
/// A remote access and one of the owner conflict, also if the remote one is atomic.
constexpr bool conflict(remote_access const& a, own_access const& b) noexcept { return a.writes || b.writes; }

}  // namespace races
