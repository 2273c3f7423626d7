// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "accesses.hpp"
#include "program.hpp"

/// Every way to order two accesses, right, and with one call missing, moved or turned round.
namespace races {

/// An access by one rank, and another one that must come after it.
struct ordered_pair {
  rank_t from;  ///< the rank of the first access
  rank_t to;    ///< the rank of the second
  remote_access const* first_remote = nullptr;
  own_access const* first_own = nullptr;
  remote_access const* second_remote = nullptr;
  own_access const* second_own = nullptr;

  [[nodiscard]] std::string name() const {
    std::string_view const a = first_remote != nullptr ? first_remote->name : first_own->name;
    std::string_view const b = second_remote != nullptr ? second_remote->name : second_own->name;
    return std::string(a) + " before " + std::string(b);
  }
  /// The first access leaves something to a flush.
  [[nodiscard]] bool needs_flush() const { return first_remote != nullptr && !first_remote->is_complete; }
  /// The first access is a store of the owner, which a sync publishes.
  [[nodiscard]] bool needs_sync() const { return first_own != nullptr && first_own->writes; }
  void first(world& w, epoch& e) const {
    if (w.rank() == from)
      first_remote != nullptr ? first_remote->act(w, e, 0, place(1)) : first_own->act(w, place(1));
  }
  void second(world& w, epoch& e) const {
    if (w.rank() == to)
      second_remote != nullptr ? second_remote->act(w, e, 0, place(1)) : second_own->act(w, place(1));
  }
};

namespace detail {

inline constexpr ordered_pair remotes(remote_access const& a, remote_access const& b) {
  return {.from = 1, .to = 2, .first_remote = &a, .second_remote = &b};
}
inline constexpr ordered_pair to_owner(remote_access const& a, own_access const& b) {
  return {.from = 1, .to = 0, .first_remote = &a, .second_own = &b};
}
inline constexpr ordered_pair from_owner(own_access const& a, remote_access const& b) {
  return {.from = 0, .to = 1, .first_own = &a, .second_remote = &b};
}

inline constexpr std::size_t flag = place(6);

/// A way for one rank to learn that another one has come to a point of the program.
struct ordering {
  std::string_view name;
  std::string_view last_call;  ///< empty if all ranks make one call together
  bool has_direction;
  void (*order)(world&, epoch&, rank_t from, rank_t to, bool with_last_call);
  void (*prepare)(world&) = [](world&) {};
};

inline void by_barrier(world& w, epoch&, rank_t, rank_t, bool) { w.barrier(); }
inline void by_all_reduce(world& w, epoch&, rank_t, rank_t, bool) { w.all_reduce(1); }
inline void by_broadcast(world& w, epoch&, rank_t from, rank_t, bool) { w.broadcast(1, from); }
inline void by_gather(world& w, epoch&, rank_t, rank_t to, bool) { w.gather(1, to); }
inline void by_scatter(world& w, epoch&, rank_t from, rank_t, bool) { w.scatter(1, from); }
inline void by_signal(world& w, epoch& e, rank_t from, rank_t to, bool waits) {
  if (w.rank() == from) e.signal(to, 0);
  if (w.rank() == to && waits) w.wait_signal(from);
}
inline void by_flag(world& w, epoch& e, rank_t from, rank_t to, bool waits) {
  if (w.rank() == from) e.atomic_store(0, flag, 1);
  if (w.rank() == to && waits) {
    while (e.atomic_load(0, flag) == 0) {}
  }
}
inline void by_queue(world& w, epoch&, rank_t from, rank_t to, bool waits) {
  if (w.rank() == from) w.push(1);
  if (w.rank() == to && waits) w.pop();
}
inline void by_counter(world& w, epoch&, rank_t from, rank_t to, bool waits) {
  if (w.rank() == from) w.add_to_counter();
  if (w.rank() == to && waits) {
    while (w.read_counter() == 0) {}
  }
}

inline constexpr std::array orderings{
    ordering{"barrier", "", false, by_barrier},
    ordering{"all_reduce", "", false, by_all_reduce},
    ordering{"broadcast", "", true, by_broadcast},
    ordering{"gather", "", true, by_gather, [](world& w) { w.gather(0, 0); }},
    ordering{"scatter", "", true, by_scatter, [](world& w) { w.scatter(0, 0); }},
    ordering{"signal", "the wait for the signal", true, by_signal},
    ordering{"atomic flag", "the loop of loads", true, by_flag},
    ordering{"queue", "pop", true, by_queue},
    ordering{"counter", "the loop of reads", true, by_counter},
};

/// Calls that a wrong program leaves out or moves.
enum class fault {
  none,
  no_flush,
  flush_local,
  flush_elsewhere,
  no_sync,
  no_order,
  no_last_call,
  early,
  reversed
};

/// Two accesses in lock_all epochs, with an ordering between them.
///
/// Contract (lock_all): a rank flushes to make its puts visible to ranks that flush afterwards; sync
/// publishes its own stores; the program orders its ranks itself.
inline void in_lock_all(world& w, ordered_pair const& p, ordering const& by, fault f) {
  by.prepare(w);
  auto const e = w.lock_all();
  w.barrier();
  if (f == fault::early) by.order(w, *e, p.from, p.to, true);
  p.first(w, *e);
  if (w.rank() == p.from) {
    if (p.needs_flush()) {
      if (f == fault::flush_local) e->flush_local(0);
      if (f == fault::flush_elsewhere) e->flush(2);
      if (f != fault::no_flush && f != fault::flush_local && f != fault::flush_elsewhere) e->flush(0);
    } else if (f != fault::no_sync) {
      e->sync();
    }
  }
  if (f == fault::reversed) {
    by.order(w, *e, p.to, p.from, true);
  } else if (f != fault::no_order && f != fault::early) {
    by.order(w, *e, p.from, p.to, f != fault::no_last_call);
  }
  if (w.rank() == p.to) {
    if (p.second_own != nullptr) {
      e->sync();
    } else {
      e->flush(0);
    }
  }
  p.second(w, *e);
  e->close();
}

inline void add_orderings(program_list& to) {
  to.begin("sync: lock_all", side::target, beside::signals_and_containers);
  std::array const pairs{remotes(put_, get_),          to_owner(bulk_put, load_),
                         from_owner(store_, bulk_get), remotes(bulk_get, bulk_put),
                         to_owner(accumulate_, load_), from_owner(load_, put_),
                         remotes(accumulate_, get_)};
  for (std::size_t o = 0; o < orderings.size(); ++o) {
    ordering const& by = orderings[o];
    for (std::size_t n = 0; n < 4; ++n) {
      ordered_pair const& p = pairs[(o * 4 + n) % pairs.size()];
      auto const name = p.name() + ", ordered by " + std::string(by.name);
      auto const add_wrong = [&](std::string const& text, fault f) {
        to.wrong(name + ", " + text, [p, by, f](world& w) { in_lock_all(w, p, by, f); });
      };
      to.right(name, [p, by](world& w) { in_lock_all(w, p, by, fault::none); });
      // The last rank's lone wait lets the others run on, as a missing collective would not.
      if (n % 2 == 0) {
        if (by.last_call.empty()) {
          add_wrong("left out", fault::no_order);
        } else {
          add_wrong("without " + std::string(by.last_call), fault::no_last_call);
        }
      } else {
        add_wrong("moved before the first access", fault::early);
      }
      if (by.has_direction && n < 2) add_wrong("turned round", fault::reversed);
      // A signal to the target's owner needs no flush, and atomic operations have happened at their return on
      // shared memory.
      bool const flush_is_missed =
          p.needs_flush() && !p.first_remote->is_atomic && !(by.name == "signal" && p.second_own != nullptr);
      if (p.needs_flush() && !flush_is_missed && !p.first_remote->is_atomic) {
        to.right(name + ", without flush", [p, by](world& w) { in_lock_all(w, p, by, fault::no_flush); });
      }
      if (flush_is_missed) add_wrong("without flush", fault::no_flush);
      if (flush_is_missed && p.first_remote->writes && n % 2 == 0)
        add_wrong("with flush_local in place of flush", fault::flush_local);
      if (flush_is_missed && p.first_remote->writes && n % 2 == 1)
        add_wrong("with a flush of another target", fault::flush_elsewhere);
      if (p.needs_sync() && by.name != "signal") add_wrong("without sync", fault::no_sync);
    }
  }
}

}  // namespace detail

/// Post, start, complete and wait.
///
/// Contract (exposure, access): the owner's stores before post are visible to the named ranks; puts are
/// visible after wait; in between the owner must not store.
inline void add_posts(program_list& to) {
  using namespace detail;
  to.begin("sync: post and wait", side::target, beside::signals_and_containers);
  for (ordered_pair const& p :
       {to_owner(put_, load_), to_owner(bulk_put, load_among), to_owner(bulk_put, update_),
        to_owner(rput_, store_), to_owner(accumulate_, load_), to_owner(bulk_get, store_),
        to_owner(fetch_add_, load_), to_owner(own_put, load_), to_owner(get_, update_)}) {
    to.pair(p.name(), "wait before it", [p](world& w, bool right) {
      if (w.rank() == 0) {
        auto const e = w.expose({1});
        if (right) e->close();
        p.second(w, *e);
        if (!right) e->close();
      } else if (w.rank() == 1) {
        auto const e = w.access({0});
        p.first(w, *e);
        e->close();
      }
    });
  }
  for (ordered_pair const& p :
       {from_owner(store_, get_), from_owner(store_, bulk_get), from_owner(update_, bulk_put),
        from_owner(load_, put_), from_owner(load_among, bulk_put), from_owner(store_, accumulate_),
        from_owner(store_, rget_)}) {
    to.pair(p.name(), "post after it", [p](world& w, bool right) {
      if (w.rank() == 0) {
        opened e;
        if (!right) e = w.expose({1});
        p.first_own->act(w, place(1));
        if (right) e = w.expose({1});
        e->close();
      } else if (w.rank() == 1) {
        auto const e = w.access({0});
        p.second(w, *e);
        e->close();
      }
    });
  }
  for (ordered_pair const& p : {remotes(put_, get_), remotes(bulk_put, bulk_put), remotes(bulk_get, rput_),
                                remotes(accumulate_, get_), remotes(put_of_rows, rget_)}) {
    to.pair(p.name(), "a post for each", [p](world& w, bool right) {
      if (w.rank() == 0) {
        if (right) {
          w.expose({1})->close();
          w.expose({2})->close();
        } else {
          w.expose({1, 2})->close();
        }
      } else {
        auto const e = w.access({0});
        p.first(w, *e);
        p.second(w, *e);
        e->close();
      }
    });
  }
}

/// Fences: the opening, next and the closing one, and several windows at once.
inline void add_fences(program_list& to) {
  using namespace detail;
  to.begin("sync: fence", side::target, beside::signals_and_containers);
  for (ordered_pair const& p : {from_owner(store_, get_), from_owner(update_, bulk_put),
                                from_owner(load_among, rput_), from_owner(store_, accumulate_)}) {
    to.pair(p.name(), "the first before the fence opens", [p](world& w, bool right) {
      if (right && w.rank() == 0) p.first_own->act(w, place(1));
      auto const e = w.fence();
      if (!right && w.rank() == 0) p.first_own->act(w, place(1));
      p.second(w, *e);
      e->close();
    });
  }
  for (ordered_pair const& p : {to_owner(bulk_put, load_), to_owner(rput_, update_),
                                to_owner(get_of_rows, store_), to_owner(fetch_add_, load_)}) {
    to.pair(p.name(), "close before it", [p](world& w, bool right) {
      auto const e = w.fence();
      p.first(w, *e);
      if (right) e->close();
      p.second(w, *e);
      if (!right) e->close();
    });
  }
  for (ordered_pair const& p :
       {remotes(put_, bulk_get), remotes(bulk_put, put_), remotes(get_, put_), remotes(accumulate_, rget_)}) {
    to.pair(p.name(), "a fence for each", [p](world& w, bool right) {
      auto e = w.fence();
      p.first(w, *e);
      if (right) {
        e->close();
        e = w.fence();
      }
      p.second(w, *e);
      e->close();
    });
    to.pair(p.name() + " in fence_all", "a fence_all for each", [p](world& w, bool right) {
      auto both = w.fence_both();
      p.first(w, *both.first);
      if (right) {
        w.close_both();
        both = w.fence_both();
      }
      p.second(w, *both.first);
      w.close_both();
    });
    if (p.first_remote->is_atomic || !p.needs_flush()) continue;
    to.pair(p.name() + ", and a fence of the other window between", "flush", [p](world& w, bool right) {
      auto const e = w.lock_all();
      w.barrier();
      p.first(w, *e);
      if (right) e->flush(0);
      w.fence_other()->close();
      if (w.rank() == p.to) e->flush(0);
      p.second(w, *e);
      e->close();
    });
  }
  to.right("put and get in the two windows of a fence_all", [](world& w) {
    auto const both = w.fence_both();
    if (w.rank() == 1) both.first->put(0, place(1), 1);
    if (w.rank() == 2) static_cast<void>(both.second->get(0, place(1)));
    w.close_both();
  });
}

/// Locks on a part.
///
/// Contract (lock): an exclusive lock excludes all other locks and lock_all; shared locks exclude exclusive
/// ones alone; the owner, too, accesses its part under a lock.
inline void add_locks(program_list& to) {
  using namespace detail;
  to.begin("sync: lock", side::target, beside::signals_and_containers);
  auto const under = [](world& w, std::string_view kind) {
    return kind == "exclusive" ? w.lock(0) : kind == "shared" ? w.lock_shared(0) : w.lock_all();
  };
  auto const name_of = [](ordered_pair const& p, std::string_view a, std::string_view b) {
    return p.name() + ", " + std::string(a) + " and " + std::string(b);
  };
  auto const body_of = [under](ordered_pair const& p, std::string_view a, std::string_view b) {
    return [p, a, b, under](world& w) {
      if (w.rank() == p.from) {
        auto const e = under(w, a);
        p.first(w, *e);
        e->close();
      }
      if (w.rank() == p.to) {
        auto const e = under(w, b);
        p.second(w, *e);
        e->close();
      }
    };
  };
  constexpr std::string_view exclusive = "exclusive", shared = "shared", all = "lock_all";
  std::array const pairs{remotes(put_, get_),        remotes(bulk_put, bulk_get),
                         remotes(rput_, put_),       remotes(bulk_get, put_of_rows),
                         remotes(accumulate_, get_), remotes(fetch_add_, bulk_put),
                         to_owner(bulk_put, load_),  to_owner(accumulate_, load_),
                         to_owner(bulk_get, store_), from_owner(store_, rget_),
                         from_owner(update_, put_)};
  for (ordered_pair const& p : pairs) {
    to.right(name_of(p, exclusive, exclusive), body_of(p, exclusive, exclusive));
    to.right(name_of(p, exclusive, shared), body_of(p, exclusive, shared));
    to.wrong(name_of(p, shared, shared), body_of(p, shared, shared));
  }
  for (ordered_pair const& p : {pairs[0], pairs[3], pairs[4]}) {
    to.right(name_of(p, all, exclusive), body_of(p, all, exclusive));
    to.wrong(name_of(p, all, shared), body_of(p, all, shared));
    to.wrong(name_of(p, shared, all), body_of(p, shared, all));
    to.wrong(name_of(p, all, all), body_of(p, all, all));
  }
  for (ordered_pair const& p : {pairs[6], pairs[7], pairs[8], pairs[9], pairs[10]}) {
    to.pair(p.name(), "a lock of the owner", [p](world& w, bool right) {
      bool const owner_first = p.first_own != nullptr;
      if (w.rank() == 0) {
        opened e;
        if (right) e = w.lock(0);
        (owner_first ? p.first_own : p.second_own)->act(w, place(1));
        if (e) e->close();
      } else if (w.rank() == 1) {
        auto const e = w.lock(0);
        (owner_first ? p.second_remote : p.first_remote)->act(w, *e, 0, place(1));
        e->close();
      }
    });
  }
  for (std::string_view const kind : {shared, all}) {
    to.right(name_of(remotes(get_, bulk_get), kind, kind), body_of(remotes(get_, bulk_get), kind, kind));
    to.right(name_of(remotes(accumulate_, fetch_add_), kind, kind),
             body_of(remotes(accumulate_, fetch_add_), kind, kind));
  }
}

inline void add_syncs(program_list& to) {
  detail::add_orderings(to);
  add_posts(to);
  add_fences(to);
  add_locks(to);
}

}  // namespace races
