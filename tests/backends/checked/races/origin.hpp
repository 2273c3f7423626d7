// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "accesses.hpp"
#include "program.hpp"

/// Races at the origin: on private memory, and on pieces of the own part, that an operation reads or fills.
///
/// Contract (target_view): the source of a bulk put may be reused, and the destination of a bulk get may be
/// read, after flush_local, flush or close; those of rput and rget once the request is done. Accumulates have
/// taken their values at return.
namespace races {

namespace detail {

/// Epochs of rank 1 in which it accesses parts of ranks 0 and 2.
struct access_epoch {
  std::string_view name;
  void (*run)(world&, void (*use)(world&, epoch&, bool), bool);
};

inline constexpr std::array access_epochs{
    access_epoch{"fence",
                 [](world& w, void (*use)(world&, epoch&, bool), bool right) {
                   auto const e = w.fence();
                   if (w.rank() == 1) use(w, *e, right);
                   e->close();
                 }},
    access_epoch{"access",
                 [](world& w, void (*use)(world&, epoch&, bool), bool right) {
                   if (w.rank() == 1) {
                     auto const e = w.access({0, 2});
                     use(w, *e, right);
                     e->close();
                   } else {
                     w.expose({1})->close();
                   }
                 }},
    access_epoch{"lock_all",
                 [](world& w, void (*use)(world&, epoch&, bool), bool right) {
                   if (w.rank() == 1) {
                     auto const e = w.lock_all();
                     use(w, *e, right);
                     e->close();
                   }
                   w.barrier();
                 }},
};

using buffer = std::vector<element>;

// Programs of rank 1. The call that `right` makes is flush_local.

inline void store_to_source(world&, epoch& e, bool right) {
  buffer from(bulk, 1);
  e.put(0, place(1), std::span<element const>(from));
  if (right) e.flush_local(0);
  from[1] = 2;
  e.flush(0);
}
inline void store_to_source_of_rows(world&, epoch& e, bool right) {
  buffer from(bulk, 1);
  e.put(0, rows_of{.first = place(1), .rows = 2, .cols = 2, .pitch = 8}, std::span<element const>(from));
  if (right) e.flush_local(0);
  from[3] = 2;
  e.flush(0);
}
inline void store_to_source_in_loop(world&, epoch& e, bool right) {
  buffer from(bulk);
  for (element round = 1; round < 4; ++round) {
    from.assign(bulk, round);
    e.put(0, place(static_cast<std::size_t>(round)), std::span<element const>(from));
    if (right || round < 2) e.flush_local(0);
  }
  e.flush(0);
}
inline void read_destination(world&, epoch& e, bool right) {
  buffer into(bulk);
  e.get(0, place(2), std::span(into));
  if (right) e.flush_local(0);
  e.put(2, place(3), into[0]);
  e.flush_all();
}
inline void compute_with_destination(world&, epoch& e, bool right) {
  buffer into(bulk);
  e.get(0, place(2), std::span(into));
  if (right) e.flush_local(0);
  e.put(2, place(3), into[0] + into[1] + 1);
  e.flush_all();
}
inline void sum_of_destination(world& w, epoch& e, bool right) {
  buffer into(bulk);
  e.get(0, place(2), std::span(into));
  if (right) e.flush_local(0);
  w.store(place(3), into[2]);
  e.flush_all();
}
inline void read_rows(world&, epoch& e, bool right) {
  buffer into(bulk);
  e.get(0, rows_of{.first = place(2), .rows = 2, .cols = 2, .pitch = 8}, std::span(into));
  if (right) e.flush_local(0);
  e.put(2, place(3), into[3]);
  e.flush_all();
}
inline void store_to_destination(world&, epoch& e, bool right) {
  buffer into(bulk);
  e.get(0, place(2), std::span(into));
  if (right) e.flush_local(0);
  into[1] = 5;
  e.flush(0);
}
inline void get_twice_into_one(world&, epoch& e, bool right) {
  buffer into(bulk);
  e.get(0, place(2), std::span(into));
  if (right) e.flush_local(0);
  e.get(2, place(2), std::span(into));
  e.flush_all();
}
inline void put_what_is_under_way(world&, epoch& e, bool right) {
  buffer both(bulk);
  e.get(0, place(2), std::span(both));
  if (right) e.flush_local(0);
  e.put(2, place(3), std::span<element const>(both));
  e.flush_all();
}
inline void get_into_source(world&, epoch& e, bool right) {
  buffer both(bulk, 1);
  e.put(0, place(3), std::span<element const>(both));
  if (right) e.flush_local(0);
  e.get(2, place(2), std::span(both));
  e.flush_all();
}
inline void overlapping_destinations(world&, epoch& e, bool right) {
  buffer into(2 * bulk);
  e.get(0, place(2), std::span(into).first(bulk));
  e.get(2, place(2), std::span(into).subspan(right ? bulk : bulk - 1, bulk));
  e.flush_all();
}
inline void accumulate_what_is_under_way(world&, epoch& e, bool right) {
  buffer both(bulk);
  e.get(0, place(2), std::span(both));
  if (right) e.flush_local(0);
  e.accumulate(2, place(3), std::span<element const>(both));
  e.flush_all();
}
inline void read_what_rget_fills(world&, epoch& e, bool right) {
  buffer into(bulk);
  auto const under_way = e.rget(0, place(2), std::span(into));
  if (right) under_way->wait();
  e.put(2, place(3), into[0]);
  if (!right) under_way->wait();
  e.flush_all();
}
inline void store_to_what_rget_fills(world&, epoch& e, bool right) {
  buffer into(bulk);
  auto const under_way = e.rget(0, place(2), std::span(into));
  if (right) under_way->wait();
  into[2] = 7;
  if (!right) under_way->wait();
}
inline void store_to_source_of_rput(world&, epoch& e, bool right) {
  buffer from(bulk, 1);
  auto const under_way = e.rput(0, place(1), from);
  if (right) under_way->wait();
  from[0] = 2;
  if (!right) under_way->wait();
  e.flush(0);
}
inline void put_what_rget_fills(world&, epoch& e, bool right) {
  buffer both(bulk);
  auto const under_way = e.rget(0, place(2), std::span(both));
  if (right) under_way->wait();
  e.put(2, place(3), std::span<element const>(both));
  if (!right) under_way->wait();
  e.flush_all();
}
inline void wait_for_another_request(world&, epoch& e, bool right) {
  buffer into(bulk);
  buffer other(bulk);
  auto const first = e.rget(0, place(2), std::span(into));
  auto const second = e.rget(0, place(3), std::span(other));
  right ? first->wait() : second->wait();
  e.put(2, place(3), into[0]);
  right ? second->wait() : first->wait();
  e.flush_all();
}
inline void flush_the_right_target(world&, epoch& e, bool right) {
  buffer from(bulk, 1);
  e.put(0, place(1), std::span<element const>(from));
  e.flush_local(right ? 0 : 2);
  from[1] = 2;
  e.flush(0);
}
inline void flush_the_right_source(world&, epoch& e, bool right) {
  buffer into(bulk);
  e.get(0, place(2), std::span(into));
  e.flush(right ? 0 : 2);
  e.put(2, place(3), into[0]);
  e.flush_all();
}
inline void store_to_own_piece(world& w, epoch& e, bool right) {
  e.put(0, place(1), own_part{.first = place(4), .count = bulk});
  if (right) e.flush_local(0);
  w.store(place(4) + 1, 5);
  e.flush(0);
}
inline void read_own_piece(world& w, epoch& e, bool right) {
  e.get(0, place(2), own_part{.first = place(4), .count = bulk});
  if (right) e.flush_local(0);
  static_cast<void>(w.load(place(4) + 1));
  e.flush(0);
}
inline void get_into_own_piece_twice(world&, epoch& e, bool right) {
  e.get(0, place(2), own_part{.first = place(4), .count = bulk});
  if (right) e.flush_local(0);
  e.get(2, place(2), own_part{.first = place(4), .count = bulk});
  e.flush_all();
}

// Right programs that look like wrong ones.

inline void store_beside_source(world&, epoch& e, bool) {
  buffer all(bulk + 1, 1);
  e.put(0, place(1), std::span<element const>(all).first(bulk));
  all[bulk] = 2;
  e.flush(0);
}
inline void read_beside_destination(world&, epoch& e, bool) {
  buffer all(bulk + 1, 1);
  e.get(0, place(2), std::span(all).first(bulk));
  e.put(2, place(3), all[bulk]);
  e.flush_all();
}
inline void put_twice_from_one(world&, epoch& e, bool) {
  buffer from(bulk, 1);
  e.put(0, place(1), std::span<element const>(from));
  e.put(2, place(1), std::span<element const>(from));
  e.flush_all();
}
inline void read_source(world&, epoch& e, bool) {
  buffer from(bulk, 1);
  e.put(0, place(1), std::span<element const>(from));
  e.put(2, place(3), from[0]);
  e.flush_all();
}
inline void reuse_values_of_accumulate(world&, epoch& e, bool) {
  buffer values(bulk, 1);
  e.accumulate(0, place(1), std::span<element const>(values));
  values[0] = 2;
  e.flush(0);
}
inline void read_values_before(world&, epoch& e, bool) {
  buffer const values(bulk, 1);
  buffer before(bulk);
  e.get_accumulate(0, place(1), values, std::span(before));
  e.put(2, place(3), before[0]);
  e.flush_all();
}
inline void reuse_single_value(world&, epoch& e, bool) {
  element value = 1;
  e.put(0, place(1), value);
  value = 2;
  e.put(2, place(1), value);
  e.flush_all();
}
inline void store_after_flush(world&, epoch& e, bool) {
  buffer from(bulk, 1);
  e.put(0, place(1), std::span<element const>(from));
  e.flush(0);
  from[0] = 2;
}
inline void store_after_flush_all(world&, epoch& e, bool) {
  buffer from(bulk, 1);
  e.put(0, place(1), std::span<element const>(from));
  e.put(2, place(1), std::span<element const>(from));
  e.flush_all();
  from[0] = 2;
}
inline void store_after_flush_local_all(world&, epoch& e, bool) {
  buffer from(bulk, 1);
  e.put(0, place(1), std::span<element const>(from));
  e.put(2, place(1), std::span<element const>(from));
  e.flush_local_all();
  from[0] = 2;
  e.flush_all();
}

struct origin_program {
  std::string_view name;
  std::string_view call;  ///< empty: the program is right
  void (*use)(world&, epoch&, bool right);
};

inline constexpr std::array origin_programs{
    origin_program{"store to the source of a put", "flush_local", store_to_source},
    origin_program{"store to the source of a put of rows", "flush_local", store_to_source_of_rows},
    origin_program{"store to one source in a loop", "flush_local", store_to_source_in_loop},
    origin_program{"put of an element that a get fills", "flush_local", read_destination},
    origin_program{"computation with elements that a get fills", "flush_local", compute_with_destination},
    origin_program{"own store of an element that a get fills", "flush_local", sum_of_destination},
    origin_program{"put of an element that a get of rows fills", "flush_local", read_rows},
    origin_program{"store to the destination of a get", "flush_local", store_to_destination},
    origin_program{"two gets into one buffer", "flush_local", get_twice_into_one},
    origin_program{"bulk put of what a get fills", "flush_local", put_what_is_under_way},
    origin_program{"get into the source of a put", "flush_local", get_into_source},
    origin_program{"two gets into halves of a buffer", "the right bound", overlapping_destinations},
    origin_program{"accumulate of what a get fills", "flush_local", accumulate_what_is_under_way},
    origin_program{"put of an element that an rget fills", "wait", read_what_rget_fills},
    origin_program{"store to the destination of an rget", "wait", store_to_what_rget_fills},
    origin_program{"store to the source of an rput", "wait", store_to_source_of_rput},
    origin_program{"bulk put of what an rget fills", "wait", put_what_rget_fills},
    origin_program{"wait for the request", "that of the buffer", wait_for_another_request},
    origin_program{"flush_local before a store", "that of the target", flush_the_right_target},
    origin_program{"flush before a read", "that of the source", flush_the_right_source},
    origin_program{"store to an own piece that a put reads", "flush_local", store_to_own_piece},
    origin_program{"load of an own piece that a get fills", "flush_local", read_own_piece},
    origin_program{"two gets into one own piece", "flush_local", get_into_own_piece_twice},
    origin_program{"store beside the source of a put", "", store_beside_source},
    origin_program{"read beside the destination of a get", "", read_beside_destination},
    origin_program{"two puts from one source", "", put_twice_from_one},
    origin_program{"read of the source of a put", "", read_source},
    origin_program{"reuse of the values of an accumulate", "", reuse_values_of_accumulate},
    origin_program{"read of the values before an accumulate", "", read_values_before},
    origin_program{"reuse of a single value", "", reuse_single_value},
    origin_program{"store to a source after flush", "", store_after_flush},
    origin_program{"store to a source after flush_all", "", store_after_flush_all},
    origin_program{"store to a source after flush_local_all", "", store_after_flush_local_all},
};

}  // namespace detail

inline void add_origins(program_list& to) {
  for (std::size_t n = 0; n < detail::origin_programs.size(); ++n) {
    auto const& p = detail::origin_programs[n];
    bool const of_requests = p.call == "wait" || p.call == "that of the buffer";
    to.begin(of_requests ? "origin: requests" : "origin", side::origin);
    if (of_requests) to.needs_open_requests();
    for (std::size_t k = 0; k < detail::access_epochs.size(); ++k) {
      // Two of the three kinds of epochs for each.
      if (k == n % detail::access_epochs.size()) continue;
      auto const& in = detail::access_epochs[k];
      std::string const name = std::string(p.name) + " in " + std::string(in.name);
      auto const body = [run = in.run, use = p.use](world& w, bool right) { run(w, use, right); };
      if (p.call.empty()) {
        to.right(name, [body](world& w) { body(w, true); });
      } else {
        to.pair(name, std::string(p.call), body);
      }
    }
  }
}

}  // namespace races
