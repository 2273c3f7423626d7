// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>

#include "accesses.hpp"
#include "conflict.hpp"
#include "program.hpp"

/// One rank alone, parts of ranges, loops, distance, third ranks and ghost cells.
namespace races {

/// Two accesses of one rank to one element.
///
/// Contract (target_view): two accesses to one element in one epoch, at least one of them a put, are a race.
/// After a flush, later gets see what was put.
inline void add_one_rank(program_list& to) {
  to.begin("one rank", side::target);
  auto const add = [&to](remote_access const& first, remote_access const& second, std::size_t kind) {
    char const* const names[] = {"fence", "lock_all", "lock"};
    to.pair(detail::both(first.name, second.name) + " by one rank in " + names[kind], "flush",
            [first, second, kind](world& w, bool right) {
              if (kind != 0 && w.rank() != 1) return;
              auto const e = kind == 0 ? w.fence() : kind == 1 ? w.lock_all() : w.lock(0);
              if (w.rank() == 1) {
                first.act(w, *e, 0, place(1));
                if (right) e->flush(0);
                second.act(w, *e, 0, place(1));
              }
              e->close();
            });
  };
  add(put_, get_, 0);
  add(bulk_put, get_, 1);
  add(bulk_put, bulk_get, 0);
  add(put_, rget_, 2);
  add(rput_, bulk_get, 1);
  add(put_of_rows, get_, 0);
  add(own_put, get_of_rows, 2);
  add(bulk_put, bulk_put, 0);
  add(put_, bulk_put, 1);
  add(rput_, put_, 2);
  add(bulk_get, bulk_put, 1);
  add(bulk_put, accumulate_, 1);
  add(put_, fetch_add_, 0);
  to.pair("put and get by one rank", "a flush of the target, not of another", [](world& w, bool right) {
    auto const e = w.fence();
    if (w.rank() == 1) {
      e->put(0, place(1), 1);
      e->flush(right ? 0 : 2);
      static_cast<void>(e->get(0, place(1)));
    }
    e->close();
  });
  to.pair("put and get by one rank", "flush, not flush_local", [](world& w, bool right) {
    auto const e = w.fence();
    if (w.rank() == 1) {
      bulk_put.act(w, *e, 0, place(1));
      right ? e->flush(0) : e->flush_local(0);
      static_cast<void>(e->get(0, place(1)));
    }
    e->close();
  });
  to.right("put and get by one rank, with flush_all", [](world& w) {
    auto const e = w.fence();
    if (w.rank() == 1) {
      bulk_put.act(w, *e, 0, place(1));
      e->flush_all();
      get_many(w, *e, 0, place(1));
    }
    e->close();
  });
  to.right("two gets by one rank", [](world& w) {
    auto const e = w.fence();
    if (w.rank() == 1) {
      get_many(w, *e, 0, place(1));
      get_many(w, *e, 0, place(1));
    }
    e->close();
  });
  to.right("two accumulates by one rank", [](world& w) {
    auto const e = w.fence();
    if (w.rank() == 1) {
      e->accumulate(0, place(1), 1);
      e->accumulate(0, place(1), 1);
    }
    e->close();
  });
}

/// Ranges that overlap, or only touch.
inline void add_ranges(program_list& to) {
  to.begin("ranges", side::target);
  struct range_case {
    char const* name;
    void (*act)(world&, epoch&, std::size_t);
  };
  for (range_case const &a :
       {range_case{"bulk put", [](world& w, epoch& e, std::size_t i) { put_many(w, e, 0, i); }},
        range_case{"bulk get", [](world& w, epoch& e, std::size_t i) { get_many(w, e, 0, i); }},
        range_case{"bulk accumulate",
                   [](world& w, epoch& e, std::size_t i) { accumulate_many(w, e, 0, i); }}}) {
    to.pair(std::string(a.name) + " that ends before the element of a put", "the right bound",
            [a](world& w, bool right) {
              auto const e = w.fence();
              if (w.rank() == 1) a.act(w, *e, place(1));
              if (w.rank() == 2) e->put(0, place(1) + (right ? bulk : bulk - 1), 1);
              e->close();
            });
    to.pair(std::string(a.name) + " behind a bulk put", "the right bound", [a](world& w, bool right) {
      auto const e = w.fence();
      if (w.rank() == 1) put_many(w, *e, 0, place(1));
      if (w.rank() == 2) a.act(w, *e, place(1) + (right ? bulk : bulk - 1));
      e->close();
    });
  }
  to.pair("puts of rows that interleave", "the right first column", [](world& w, bool right) {
    auto const e = w.fence();
    std::size_t const first = place(1) + (w.rank() == 1 ? 0 : right ? 2 : 1);
    if (w.rank() != 0)
      e->put(0, rows_of{.first = first, .rows = 2, .cols = 2, .pitch = 4},
             std::span<element const>(private_memory(w, 1)));
    e->close();
  });
  to.pair("get of rows and puts into their gaps", "the right element", [](world& w, bool right) {
    auto const e = w.fence();
    if (w.rank() == 1) get_rows(w, *e, 0, place(1));
    if (w.rank() == 2) e->put(0, place(1) + (right ? 2 : 5), 1);
    e->close();
  });
  to.pair("each rank puts to its own element", "its own number", [](world& w, bool right) {
    auto const e = w.fence();
    if (w.rank() != 0) e->put(0, place(1) + static_cast<std::size_t>(right ? w.rank() : 1), 1);
    e->close();
  });
  to.pair("each rank puts to its neighbour", "its own neighbour", [](world& w, bool right) {
    auto const e = w.fence();
    e->put(right ? (w.rank() + 1) % w.size() : 0, place(1), 1);
    e->close();
  });
  to.pair("put of an own piece that another rank puts to", "a piece of its own", [](world& w, bool right) {
    auto const e = w.fence();
    if (w.rank() == 1) e->put(0, place(1), own_part{.first = place(2), .count = bulk});
    if (w.rank() == 2) e->put(1, place(2) + (right ? bulk : 0), 1);
    e->close();
  });
  to.pair("get into an own piece that another rank reads", "a piece of its own", [](world& w, bool right) {
    auto const e = w.fence();
    if (w.rank() == 1) e->get(0, place(1), own_part{.first = place(2), .count = bulk});
    if (w.rank() == 2) static_cast<void>(e->get(1, place(right ? 3 : 2)));
    e->close();
  });
  to.pair("put to the own part through the epoch, and a get of another rank", "next",
          [](world& w, bool right) {
            auto const e = w.fence();
            if (w.rank() == 0) e->put(0, place(1), 1);
            if (right) e->next();
            if (w.rank() == 2) static_cast<void>(e->get(0, place(1)));
            e->close();
          });
  to.pair("load of the own part, and a put of this rank through the epoch", "flush",
          [](world& w, bool right) {
            auto const e = w.lock_all();
            if (w.rank() == 1) {
              put_many(w, *e, 1, place(1));
              if (right) {
                e->flush(1);
                e->sync();
              }
              static_cast<void>(w.load(place(1)));
            }
            e->close();
          });
}

/// Loops, accesses far apart, and ranks that pass an order on.
inline void add_loops(program_list& to) {
  to.begin("loops and third ranks", side::target, beside::signals_and_containers);
  for (int const rounds : {2, 10}) {
    std::string const text = std::to_string(rounds) + " rounds of ";
    to.pair(text + "put and get in a ring", "next in each", [rounds](world& w, bool right) {
      auto const e = w.fence();
      for (int round = 0; round < rounds; ++round) {
        e->put((w.rank() + 1) % w.size(), place(1), round);
        if (right || round + 1 < rounds) e->next();
        static_cast<void>(e->get(w.rank(), place(1)));
        e->next();
      }
      e->close();
    });
    to.pair(text + "get and put in a ring", "next at the end of each", [rounds](world& w, bool right) {
      auto const e = w.fence();
      for (int round = 0; round < rounds; ++round) {
        e->put((w.rank() + 1) % w.size(), place(1), round);
        e->next();
        static_cast<void>(w.load(place(1)));
        if (right || round + 1 < rounds) e->next();
        e->put((w.rank() + 1) % w.size(), place(1), round);
        e->next();
      }
      e->close();
    });
    to.pair(text + "post and wait", "wait in each", [rounds](world& w, bool right) {
      if (w.rank() == 2) return;
      for (int round = 0; round < rounds; ++round) {
        if (w.rank() == 0) {
          w.store(place(1), round);
          auto const e = w.expose({1});
          if (right || round + 1 < rounds) e->close();
          static_cast<void>(w.load(place(2)));
        } else {
          auto const e = w.access({0});
          static_cast<void>(e->get(0, place(1)));
          e->put(0, place(2), round);
          e->close();
        }
      }
    });
    to.pair(text + "signals there and back", "the wait for the answer", [rounds](world& w, bool right) {
      auto const e = w.lock_all();
      w.barrier();
      for (int round = 0; round < rounds; ++round) {
        if (w.rank() == 1) {
          e->put(0, place(1), round);
          e->signal(0, 0);
          if (right || round + 1 < rounds) w.wait_signal(0, 1);
          e->put(0, place(1), round + 100);
          e->signal(0, 0);
          w.wait_signal(0, 1);
        } else if (w.rank() == 0) {
          for (int half = 0; half < 2; ++half) {
            w.wait_signal(1, 0);
            static_cast<void>(w.load(place(1)));
            e->signal(1, 1);
          }
        }
      }
      e->close();
    });
  }
  for (std::size_t const between : {4U, 60U}) {
    to.pair("put and get with " + std::to_string(between) + " accesses between", "next",
            [between](world& w, bool right) {
              auto const e = w.fence();
              if (w.rank() == 1) e->put(0, place(1), 1);
              for (std::size_t i = 0; i < between; ++i)
                e->put(2, place(2) + i % apart + static_cast<std::size_t>(w.rank()) * apart, 1);
              if (right) e->next();
              for (std::size_t i = 0; i < between; ++i) static_cast<void>(e->get(1, place(6) + i % apart));
              if (w.rank() == 2) static_cast<void>(e->get(0, place(1)));
              e->close();
            });
  }
  to.pair("a signal that a third rank passes on", "the wait of the third rank", [](world& w, bool right) {
    auto const e = w.lock_all();
    w.barrier();
    if (w.rank() == 1) {
      e->put(0, place(1), 1);
      e->flush(0);
      e->signal(2, 0);
    } else if (w.rank() == 2) {
      if (right) w.wait_signal(1, 0);
      e->signal(0, 0);
    } else {
      w.wait_signal(2, 0);
      static_cast<void>(w.load(place(1)));
    }
    e->close();
  });
  to.pair("a signal about a put to a third rank", "flush", [](world& w, bool right) {
    auto const e = w.lock_all();
    w.barrier();
    if (w.rank() == 1) {
      e->put(0, place(1), 1);
      if (right) e->flush(0);
      e->signal(2, 0);
    } else if (w.rank() == 2) {
      w.wait_signal(1, 0);
      e->flush(0);
      static_cast<void>(e->get(0, place(1)));
    }
    e->close();
  });
  to.pair("a wait for one of two signals", "that with the right tag", [](world& w, bool right) {
    auto const e = w.lock_all();
    w.barrier();
    if (w.rank() == 1) {
      e->signal(0, 0);
      e->put(0, place(1), 1);
      e->signal(0, 1);
    } else if (w.rank() == 0) {
      w.wait_signal(1, right ? 1 : 0);
      static_cast<void>(w.load(place(1)));
    }
    e->close();
  });
  to.pair("a wait for one of two sources", "that of the put", [](world& w, bool right) {
    auto const e = w.lock_all();
    w.barrier();
    if (w.rank() == 1) e->put(0, place(1), 1);
    if (w.rank() != 0) {
      e->signal(0, 0);
    } else {
      w.wait_signal(right ? 1 : 2, 0);
      static_cast<void>(w.load(place(1)));
    }
    e->close();
  });
  to.pair("puts after a signal", "a signal after the last", [](world& w, bool right) {
    auto const e = w.lock_all();
    w.barrier();
    if (w.rank() == 1) {
      e->put(0, place(1), 1);
      if (!right) e->signal(0, 0);
      e->put(0, place(2), 1);
      if (right) e->signal(0, 0);
    } else if (w.rank() == 0) {
      w.wait_signal(1, 0);
      static_cast<void>(w.load(place(1)));
      static_cast<void>(w.load(place(2)));
    }
    e->close();
  });
  to.pair("a barrier of some ranks", "both ranks of the accesses", [](world& w, bool right) {
    auto const e = w.lock_all();
    w.barrier();
    if (w.rank() == 1) {
      e->put(0, place(1), 1);
      e->flush(0);
    }
    w.barrier_of_two(right ? 1 : 0, 2);
    if (w.rank() == 2) {
      e->flush(0);
      static_cast<void>(e->get(0, place(1)));
    }
    e->close();
  });
  to.pair("a queue of three ranks", "the element of the rank that put", [](world& w, bool right) {
    auto const e = w.lock_all();
    w.barrier();
    if (w.rank() == 1) {
      if (!right) w.push(1);
      e->put(0, place(1), 1);
      e->flush(0);
      if (right) w.push(1);
    } else if (w.rank() == 2) {
      w.pop();
      e->flush(0);
      static_cast<void>(e->get(0, place(1)));
    }
    e->close();
  });
}

/// Halo exchanges.
///
/// Contract (pending_exchange): while an exchange is pending, a rank reads neither ghost cells nor stores to
/// the array.
inline void add_halos(program_list& to) {
  to.begin("halo", side::target, beside::array);
  to.pair("load of a ghost cell", "finish before it", [](world& w, bool right) {
    w.store_cell(0, 1 + w.rank());
    w.store_cell(w.cells() - 1, 1 + w.rank());
    w.begin_exchange();
    if (right) w.finish_exchange();
    static_cast<void>(w.load_cell(-1));
    if (!right) w.finish_exchange();
  });
  to.pair("load of the last ghost cell", "finish before it", [](world& w, bool right) {
    w.store_cell(0, 1 + w.rank());
    w.begin_exchange();
    if (right) w.finish_exchange();
    static_cast<void>(w.load_cell(w.cells()));
    if (!right) w.finish_exchange();
  });
  to.pair("load of a ghost cell from all staged cells", "finish before it", [](world& w, bool right) {
    w.store_cell(w.cells() - 1, 1 + w.rank());
    w.begin_exchange();
    if (right) w.finish_exchange();
    static_cast<void>(w.load_all_cells(-1));
    if (!right) w.finish_exchange();
  });
  to.begin("halo", side::origin, beside::array);
  to.pair("store to a cell at the edge", "finish before it", [](world& w, bool right) {
    w.store_cell(0, 1 + w.rank());
    w.begin_exchange();
    if (right) w.finish_exchange();
    w.store_cell(0, 10 + w.rank());
    if (!right) w.finish_exchange();
  });
  to.begin("halo", side::target, beside::array);
  to.pair("store to a ghost cell", "finish before it", [](world& w, bool right) {
    w.store_cell(0, 1 + w.rank());
    w.begin_exchange();
    if (right) w.finish_exchange();
    w.store_cell(w.cells(), 10 + w.rank());
    if (!right) w.finish_exchange();
  });
  to.right("load of own cells while an exchange is pending", [](world& w) {
    w.store_cell(0, 1 + w.rank());
    w.begin_exchange();
    static_cast<void>(w.load_cell(0));
    static_cast<void>(w.load_cell(5));
    w.finish_exchange();
  });
  to.pair("ten steps of a stencil", "finish before the last step's ghost cells", [](world& w, bool right) {
    for (int step = 0; step < 10; ++step) {
      bool const early = !right && step == 9;
      w.begin_exchange();
      if (!early) w.finish_exchange();
      element const sum = w.load_cell(-1) + w.load_cell(w.cells());
      if (early) w.finish_exchange();
      w.store_cell(0, sum + 1);
      w.store_cell(w.cells() - 1, sum + 2);
    }
  });
  to.right("ten steps of exchange_halo and stores", [](world& w) {
    for (int step = 0; step < 10; ++step) {
      w.exchange_halo();
      element const sum = w.load_cell(-1) + w.load_all_cells(w.cells());
      w.store_cell(0, sum + 1);
      w.store_cell(w.cells() - 1, sum + 2);
    }
  });
}

}  // namespace races
