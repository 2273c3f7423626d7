// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <string>

#include "accesses.hpp"
#include "conflict.hpp"
#include "program.hpp"
#include "sync.hpp"

/// Atomic operations: among each other, against plain accesses, beside them, and as an order.
///
/// Contract (target_view, atomic_segment): atomic operations on one element are no race, whatever they are.
/// An atomic and a plain access are one. atomic_load acquires and atomic_store releases; an accumulate orders
/// nothing.
namespace races {

namespace detail {

inline void accumulate_maximum(world&, epoch& e, rank_t target, std::size_t i) {
  e.accumulate_max(target, i, 5);
}
inline constexpr remote_access maximum{"accumulate of a maximum", true, true, false, accumulate_maximum};

inline constexpr std::array atomic_kinds{&accumulate_,       &maximum,       &bulk_accumulate, &fetch_add_,
                                         &compare_exchange_, &atomic_store_, &atomic_load_};

/// Opens an epoch in which ranks do not order each other.
inline opened epoch_of(world& w, std::size_t number) {
  return number == 0 ? w.fence() : number == 1 ? w.lock_all() : w.lock_shared(0);
}
inline constexpr std::array epoch_names{"fence", "lock_all", "shared lock"};

}  // namespace detail

inline void add_atomics(program_list& to) {
  using namespace detail;
  to.begin("atomic", side::target);
  std::size_t n = 0;
  // Among each other
  for (std::size_t a = 0; a < atomic_kinds.size(); ++a) {
    for (std::size_t b = a; b < atomic_kinds.size(); ++b) {
      remote_access const& first = *atomic_kinds[a];
      remote_access const& second = *atomic_kinds[b];
      std::size_t const in = ++n % epoch_names.size();
      to.right(both(first.name, second.name) + " in " + epoch_names[in], [first, second, in](world& w) {
        auto const e = epoch_of(w, in);
        if (w.rank() == 1) first.act(w, *e, 0, place(1));
        if (w.rank() == 2) second.act(w, *e, 0, place(1));
        e->close();
      });
    }
  }
  // Against plain accesses, on one element and on the next one of the line
  for (remote_access const* const atomic : atomic_kinds) {
    for (remote_access const* const plain : {&put_, &get_, &bulk_put, &rget_}) {
      if (!conflict(*atomic, *plain)) continue;
      std::size_t const in = ++n % epoch_names.size();
      auto const body = [atomic, plain, in](world& w, bool right) {
        auto const e = epoch_of(w, in);
        if (w.rank() == 1) atomic->act(w, *e, 0, place(1));
        if (w.rank() == 2) plain->act(w, *e, 0, place(1) + (right ? bulk : 0));
        e->close();
      };
      std::string const name = both(atomic->name, plain->name) + " in " + epoch_names[in];
      to.right(name + ", beside each other", [body](world& w) { body(w, true); });
      to.wrong(name + ", of one element", [body](world& w) { body(w, false); });
    }
  }
  for (remote_access const* const atomic : atomic_kinds) {
    for (own_access const* const own : {&store_, &load_}) {
      if (!conflict(*atomic, *own)) continue;
      to.pair(both(own->name, atomic->name), "a barrier between", [atomic, own](world& w, bool right) {
        if (w.rank() == 0) own->act(w, place(1));
        opened e;
        if (right) {
          w.fence()->close();
        }
        e = w.lock_shared(0);
        if (w.rank() == 1) atomic->act(w, *e, 0, place(1));
        e->close();
      });
    }
  }
  // As an order: rank 1 puts to one element, and rank 2 gets it when it has seen another one change.
  to.pair("put before get, ordered by an atomic flag", "atomic_store in place of put",
          [](world& w, bool right) {
            auto const e = w.lock_all();
            w.barrier();
            if (w.rank() == 1) {
              e->put(0, place(1), 1);
              e->flush(0);
              right ? e->atomic_store(0, flag, 1) : e->put(0, flag, 1);
            }
            if (w.rank() == 2) {
              for (int turn = 0; e->atomic_load(0, flag) == 0 && (right || turn < 3); ++turn) {}
              if (right) {
                e->flush(0);
                static_cast<void>(e->get(0, place(1)));
              }
            }
            e->close();
          });
  for (bool const many : {false, true}) {
    remote_access const& first = many ? bulk_accumulate : accumulate_;
    to.wrong("put before get, with a " + std::string(first.name) + " of one element by each rank between",
             [first](world& w) {
               auto const e = w.lock_all();
               w.barrier();
               if (w.rank() == 1) {
                 e->put(0, place(1), 1);
                 e->flush(0);
                 first.act(w, *e, 0, place(2));
                 e->flush(0);
               }
               if (w.rank() == 2) {
                 first.act(w, *e, 0, place(2));
                 e->flush(0);
                 static_cast<void>(e->get(0, place(1)));
               }
               e->close();
             });
  }
  to.right("a counter of tickets gives each rank its own element", [](world& w) {
    auto const e = w.lock_all();
    for (int round = 0; round < 3; ++round) {
      auto const mine = static_cast<std::size_t>(e->fetch_add(0, place(2), 1));
      e->put(0, place(3) + mine, w.rank());
    }
    e->close();
  });
  to.wrong("a counter of tickets that wraps gives two ranks one element", [](world& w) {
    auto const e = w.lock_all();
    for (int round = 0; round < 3; ++round) {
      auto const mine = static_cast<std::size_t>(e->fetch_add(0, place(2), 1));
      e->put(0, place(3) + mine % 2, w.rank());
    }
    e->close();
  });
  to.pair("two chains of bulk accumulates", "the same bounds", [](world& w, bool right) {
    auto const e = w.fence();
    if (w.rank() != 0) {
      for (std::size_t i = 0; i < 3; ++i) bulk_accumulate.act(w, *e, 0, place(1) + i * bulk);
      if (!right && w.rank() == 2) e->put(0, place(1) + 3 * bulk - 1, 1);
    }
    e->close();
  });
}

}  // namespace races
