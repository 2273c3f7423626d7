// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <atomic>
#include <pgas/global_array.hpp>
#include <pgas/notified_halo.hpp>
#include <pgas/signals.hpp>
#include <span>
#include <string_view>
#include <thread>

#include "../support/ranks.hpp"

/// Programs whose values are right only if copies are made to agree, and protocols that forget a step of it.
namespace pgas_test::coherence_programs {

using pgas::group;
using pgas::make_window;

// ---- protocols that forget one call of their boundary -----------------------------------------------------

enum class call {
  none,
  fence_publish,
  fence_refresh,
  post_publish,
  wait_refresh,
  test_refresh,
  trigger_refresh,
  complete_publish,
  lock_refresh,
  unlock_publish,
  part_lock_refresh,  // of one part
  try_lock_refresh,
  part_unlock_publish,
  flush,
  sync_publish,
  sync_refresh,
  signal_publish,
  signal_wait_refresh,
  signal_test_refresh,
  signal_any_refresh,
  halo_finish_refresh  // of a halo exchange by notified puts
};

/// While an object of this class lives, `forgetful` protocols leave out this call, on every rank that is
/// launched.
class forgetting {
 public:
  explicit forgetting(call c) noexcept : before_(forgotten().exchange(c, std::memory_order_relaxed)) {}
  forgetting(forgetting const&) = delete;
  forgetting& operator=(forgetting const&) = delete;
  ~forgetting() { forgotten().store(before_, std::memory_order_relaxed); }

  /// Relaxed: a launch starts its ranks after the store.
  static bool is(call c) noexcept { return forgotten().load(std::memory_order_relaxed) == c; }

 private:
  static std::atomic<call>& forgotten() noexcept {
    static std::atomic<call> instance{call::none};
    return instance;
  }

  call before_;
};

/// A boundary that does not pass on the forgotten call.
template <class Boundary>
struct forgetful_boundary {
  Boundary& to;
  bool publishes = true;
  bool refreshes = true;
  void publish(auto targets) {
    if (publishes) to.publish(targets);
  }
  void refresh(auto targets) {
    if (refreshes) to.refresh(targets);
  }
};
template <class Boundary>
auto without_publish(Boundary& b, call c) {
  return forgetful_boundary<Boundary>{b, !forgetting::is(c), true};
}
template <class Boundary>
auto without_refresh(Boundary& b, call c) {
  return forgetful_boundary<Boundary>{b, true, !forgetting::is(c)};
}

template <class Protocol>
struct forgetful_fence : Protocol {
  static constexpr std::string_view name = "forgetful_fence";
  template <pgas::control Control>
  struct on {
    typename Protocol::template on<Control> right;
    on(Control& c, pgas::control_words first) : right(c, first) {}
    void fence(pgas::boundary auto& b, std::string_view operation) {
      auto wrong = without_publish(b, call::fence_publish);
      wrong.refreshes = !forgetting::is(call::fence_refresh);
      right.fence(wrong, operation);
    }
  };
};

template <class Protocol>
struct forgetful_post : Protocol {
  static constexpr std::string_view name = "forgetful_post";
  template <pgas::control Control>
  struct on {
    typename Protocol::template on<Control> right;
    on(Control& c, pgas::control_words first) : right(c, first) {}
    void post(group g, pgas::boundary auto& b) {
      auto wrong = without_publish(b, call::post_publish);
      right.post(g, wrong);
    }
    void wait(group g, pgas::boundary auto& b) {
      auto wrong = without_refresh(b, call::wait_refresh);
      right.wait(g, wrong);
    }
    bool test(group g, pgas::boundary auto& b) {
      auto wrong = without_refresh(b, call::test_refresh);
      return right.test(g, wrong);
    }
    void start(group g, pgas::boundary auto& b, pgas::exposure_state exposures) {
      auto wrong = without_refresh(b, call::trigger_refresh);
      right.start(g, wrong, exposures);
    }
    void trigger(rank_t target, pgas::boundary auto& b, pgas::exposure_state exposures) {
      auto wrong = without_refresh(b, call::trigger_refresh);
      right.trigger(target, wrong, exposures);
    }
    void complete(group g, pgas::boundary auto& b, pgas::exposure_state exposures) {
      auto wrong = without_publish(b, call::complete_publish);
      right.complete(g, wrong, exposures);
    }
  };
};

template <class Protocol>
struct forgetful_lock : Protocol {
  static constexpr std::string_view name = "forgetful_lock";
  template <pgas::control Control>
  struct on {
    typename Protocol::template on<Control> right;
    on(Control& c, pgas::control_words first) : right(c, first) {}
    void lock_all(pgas::boundary auto& b) {
      auto wrong = without_refresh(b, call::lock_refresh);
      right.lock_all(wrong);
    }
    void trigger(rank_t target, pgas::boundary auto& b) { right.trigger(target, b); }
    void unlock_all(pgas::boundary auto& b) {
      auto wrong = without_publish(b, call::unlock_publish);
      right.unlock_all(wrong);
    }
    void lock(rank_t target, pgas::lock_kind kind, pgas::boundary auto& b) {
      auto wrong = without_refresh(b, call::part_lock_refresh);
      right.lock(target, kind, wrong);
    }
    bool try_lock(rank_t target, pgas::lock_kind kind, pgas::boundary auto& b) {
      auto wrong = without_refresh(b, call::try_lock_refresh);
      return right.try_lock(target, kind, wrong);
    }
    void unlock(rank_t target, pgas::lock_kind kind, pgas::boundary auto& b) {
      auto wrong = without_publish(b, call::part_unlock_publish);
      right.unlock(target, kind, wrong);
    }
  };
};

using forgetful =
    pgas::protocols<forgetful_fence<pgas::sync::dissemination>, forgetful_post<pgas::sync::match_vector>,
                    forgetful_lock<pgas::sync::shared_only>>;

/// The same with locks of one part.
using forgetful_parts =
    pgas::protocols<forgetful_fence<pgas::sync::dissemination>, forgetful_post<pgas::sync::match_vector>,
                    forgetful_lock<pgas::sync::queued>>;

/// While an object of this class lives, a `forgetful_policy` leaves out the steps of a forgotten call on one
/// rank. For calls whose boundary no protocol sees: sync, and those of signals.
class within {
 public:
  within(rank_t rank, call publishes, call refreshes) noexcept : rank_(rank) {
    omitted(rank).store(
        (forgetting::is(publishes) ? publish : 0U) | (forgetting::is(refreshes) ? refresh : 0U),
        std::memory_order_relaxed);
  }
  within(within const&) = delete;
  within& operator=(within const&) = delete;
  ~within() { omitted(rank_).store(0, std::memory_order_relaxed); }

  static bool omits_publish(rank_t rank) noexcept { return (of(rank) & publish) != 0; }
  static bool omits_refresh(rank_t rank) noexcept { return (of(rank) & refresh) != 0; }

 private:
  static constexpr unsigned publish = 1;
  static constexpr unsigned refresh = 2;
  static std::atomic<unsigned>& omitted(rank_t rank) noexcept {
    static std::array<std::atomic<unsigned>, 2> each{};
    return each.at(static_cast<std::size_t>(rank));
  }
  /// Relaxed: only the rank itself stores and loads it.
  static unsigned of(rank_t rank) noexcept { return omitted(rank).load(std::memory_order_relaxed); }

  rank_t rank_;
};

template <class Policy>
struct forgetful_policy : Policy {
  static void clean_own(pgas::segment auto& s) {
    if (!within::omits_publish(s.rank())) Policy::clean_own(s);
  }
  static void clean_remote(pgas::segment auto& s, rank_t rank) {
    if (!within::omits_publish(s.rank())) Policy::clean_remote(s, rank);
  }
  static void drain_stores(pgas::segment auto& s) {
    if (!within::omits_publish(s.rank())) Policy::drain_stores(s);
  }
  static void drop_own(pgas::segment auto& s) {
    if (!within::omits_refresh(s.rank())) Policy::drop_own(s);
  }
  static void drop_remote(pgas::segment auto& s, rank_t rank) {
    if (!within::omits_refresh(s.rank())) Policy::drop_remote(s, rank);
  }
  static void drain_all(pgas::segment auto& s) {
    if (!within::omits_refresh(s.rank())) Policy::drain_all(s);
  }
};

// ---- programs: each gives only right values if copies are made to agree -----------------------------------

/// The findings of a program on all of its ranks. Ranks are threads here.
struct verdict {
  std::atomic<bool>* right;
  void expect(int seen, int expected) const {
    if (seen != expected) right->store(false, std::memory_order_relaxed);
  }
};

constexpr int rounds = 4;
// Elements that different ranks write lie on different lines, as in every right program.
constexpr std::size_t stored = 0;
constexpr std::size_t put = 64;
constexpr std::size_t part = 128;

/// Stores, and loads the value again. A cache that does not allocate on a store then holds the line, and the
/// next store modifies it there.
void store_own(auto& w, int value, verdict v) {
  w.local()[stored] = value;
  int const seen = w.local()[stored];
  v.expect(seen, value);
}

/// Messages both ways by fences: other ranks get own stores, and the owner loads what was put.
struct by_fence {
  static constexpr std::string_view name = "fence";
  static void run(auto& team, verdict v) {
    auto w = make_window<int>(team, part);
    rank_t const to = (team.rank() + 1) % team.size();
    for (int round = 1; round <= rounds; ++round) {
      store_own(w, round, v);
      {
        pgas::fence epoch{w};
        v.expect(epoch.get(to, stored), round);
        epoch.put(to, put, round);
      }
      int const seen = w.local()[put];
      v.expect(seen, round);
      pgas::fence epoch{w};
      v.expect(epoch.get(to, put), round);
      epoch.next();
      v.expect(epoch.get(to, stored), round);
    }
  }
};

/// Own stores and puts at the very end of a part, by fences.
template <std::size_t Stored, std::size_t Put>
struct by_places {
  static constexpr std::string_view name =
      Stored > Put ? "fence, the last element stored" : "fence, the last element put";
  static void run(auto& team, verdict v) {
    auto w = make_window<int>(team, part);
    rank_t const to = (team.rank() + 1) % team.size();
    for (int round = 1; round <= rounds; ++round) {
      int const before = w.local()[Stored];  // the next store finds its line in the cache
      v.expect(before, round - 1);
      w.local()[Stored] = round;
      {
        pgas::fence epoch{w};
        v.expect(epoch.get(to, Stored), round);
        epoch.put(to, Put, round);
      }
      int const seen = w.local()[Put];
      v.expect(seen, round);
    }
  }
};
using by_last_stored = by_places<part - 1, 0>;
using by_last_put = by_places<0, part - 1>;

/// All ranks put to adjacent elements, all in one line.
struct by_neighbours {
  static constexpr std::string_view name = "fence, neighbours put";
  static void run(auto& team, verdict v) {
    auto w = make_window<int>(team, part);
    for (int round = 1; round <= rounds; ++round) {
      {
        pgas::fence epoch{w};
        epoch.put(0, static_cast<std::size_t>(team.rank()), round);
      }
      if (team.rank() == 0) {
        for (rank_t r = 0; r < team.size(); ++r) {
          int const seen = w.local()[static_cast<std::size_t>(r)];
          v.expect(seen, round);
        }
      }
    }
  }
};

/// The same by post, start, complete and wait.
template <bool ByTest>
struct by_post {
  static constexpr std::string_view name =
      ByTest ? "post, start, complete, test" : "post, start, complete, wait";
  static void run(auto& team, verdict v) {
    auto w = make_window<int>(team, part);
    rank_t const to = (team.rank() + 1) % team.size();
    rank_t const from = (team.rank() - 1 + team.size()) % team.size();
    for (int round = 1; round <= rounds; ++round) {
      store_own(w, round, v);
      {
        pgas::exposure exposed{w, {from}};
        {
          pgas::access epoch{w, {to}};
          v.expect(epoch.get(to, stored), round);
          epoch.put(to, put, round);
        }
        if constexpr (ByTest) {
          while (!exposed.test()) {
            team.state()->backend.check("test");
            std::this_thread::yield();
          }
        }
      }
      int const seen = w.local()[put];
      v.expect(seen, round);
    }
  }
};

/// One rank only exposes and the other only accesses, so neither does the other's part of a boundary.
struct by_one_way {
  static constexpr std::string_view name = "one exposes, one accesses";
  static void run(auto& team, verdict v) {
    auto w = make_window<int>(team, part);
    for (int round = 1; round <= rounds; ++round) {
      if (team.rank() == 0) {
        store_own(w, round, v);
        { pgas::exposure exposed{w, {1}}; }
        int const seen = w.local()[put];
        v.expect(seen, round);
      } else if (team.rank() == 1) {
        pgas::access epoch{w, {0}};
        v.expect(epoch.get(0, stored), round);
        epoch.put(0, put, round);
      }
    }
  }
};

/// The same by lock_all and barriers, epochs opened and closed.
struct by_lock {
  static constexpr std::string_view name = "lock_all";
  static void run(auto& team, verdict v) {
    auto w = make_window<int>(team, part);
    rank_t const to = (team.rank() + 1) % team.size();
    for (int round = 1; round <= rounds; ++round) {
      {
        pgas::lock_all epoch{w};
        store_own(w, round, v);
        epoch.put(to, put, round);
      }
      team.barrier();
      {
        pgas::lock_all epoch{w};
        int const seen = w.local()[put];  // first, since under lock_all a get drops and drains everything
        v.expect(seen, round);
        v.expect(epoch.get(to, stored), round);
        v.expect(epoch.get(to, put), round);
      }
      team.barrier();
    }
  }
};

/// The same in one lock_all epoch, by flush and sync, or without one of them.
template <bool Flushes = true, bool SyncsBefore = true, bool SyncsAfter = true>
struct by_flush {
  static constexpr std::string_view name = "flush and sync";
  static void run(auto& team, verdict v) {
    auto w = make_window<int>(team, part);
    rank_t const to = (team.rank() + 1) % team.size();
    pgas::lock_all stores{w};
    for (int round = 1; round <= rounds; ++round) {
      w.local()[stored] = round;
      if constexpr (SyncsBefore) stores.sync();
      stores.put(to, put, round);
      if (Flushes && !forgetting::is(call::flush)) stores.flush(to);
      team.barrier();
      if constexpr (SyncsAfter) stores.sync();
      v.expect(stores.get(to, stored), round);
      int const seen = w.local()[put];
      v.expect(seen, round);
      team.barrier();
    }
  }
};

/// One rank puts and gets, the other one stores, loads and syncs: it makes no access that drops its copies.
struct by_sync {
  static constexpr std::string_view name = "sync by the owner alone";
  static void run(auto& team, verdict v) {
    auto w = make_window<int>(team, part);
    pgas::lock_all epoch{w};
    auto const sync = [&] {
      within const omission(team.rank(), call::sync_publish, call::sync_refresh);
      epoch.sync();
    };
    for (int round = 1; round <= rounds; ++round) {
      if (team.rank() == 0) {
        epoch.put(1, put, round);
        epoch.flush(1);
      } else {
        w.local()[stored] = round;
        sync();
      }
      team.barrier();
      if (team.rank() == 0) {
        v.expect(epoch.get(1, stored), round);
      } else {
        sync();
        int const seen = w.local()[put];
        v.expect(seen, round);
      }
      team.barrier();
    }
  }
};

/// All ranks count in rank 0's part, under exclusive locks of that part alone.
template <bool ByTry>
struct by_part_lock {
  static constexpr std::string_view name = ByTry ? "try_lock of one part" : "lock of one part";
  static void run(auto& team, verdict v) {
    auto w = make_window<int>(team, part);
    auto const locked = [&](auto const& use) {
      if constexpr (ByTry) {
        for (;;) {
          if (auto epoch = pgas::try_lock(w, 0, pgas::exclusive)) return use(*epoch);
          team.state()->backend.check("try_lock");
          std::this_thread::yield();
        }
      } else {
        pgas::lock epoch{w, 0, pgas::exclusive};
        use(epoch);
      }
    };
    for (int round = 1; round <= rounds; ++round) {
      locked([&](auto& epoch) {
        if (team.rank() == 0) {
          int const before = w.local()[put];
          w.local()[put] = before + 1;
        } else {
          epoch.put(0, put, epoch.get(0, put) + 1);
        }
      });
      team.barrier();
      locked([&](auto& epoch) {
        int const seen = team.rank() == 0 ? int(w.local()[put]) : epoch.get(0, put);
        v.expect(seen, round * team.size());
      });
      team.barrier();
    }
  }
};

/// Puts and own stores that a signal announces, in one lock_all epoch. `How` is the way in which the other
/// rank learns of the signal.
enum class awaited_by { wait, test, any };
template <awaited_by How>
struct by_signal {
  static constexpr std::string_view name = How == awaited_by::wait   ? "signal and wait"
                                           : How == awaited_by::test ? "signal and test"
                                                                     : "signal and wait_any";
  static void run(auto& team, verdict v) {
    auto w = make_window<int>(team, part);
    auto signals = pgas::make_signals(w, 2);
    rank_t const other = (team.rank() + 1) % team.size();
    pgas::lock_all epoch{w};
    auto const signal = [&](std::size_t tag) {
      within const omission(team.rank(), call::signal_publish, call::none);
      signals.signal(epoch, other, tag);
    };
    auto const wait = [&](pgas::signal_from from) {
      constexpr call forgotten = How == awaited_by::wait   ? call::signal_wait_refresh
                                 : How == awaited_by::test ? call::signal_test_refresh
                                                           : call::signal_any_refresh;
      within const omission(team.rank(), call::none, forgotten);
      if constexpr (How == awaited_by::wait) {
        signals.wait(from);
      } else if constexpr (How == awaited_by::test) {
        while (!signals.test(from)) {
          team.state()->backend.check("test");
          std::this_thread::yield();
        }
      } else {
        static_cast<void>(signals.wait_any(std::span(&from, 1)));
      }
    };
    for (int round = 1; round <= rounds; ++round) {
      w.local()[stored] = round;
      epoch.put(other, put, round);
      signal(0);
      wait({other, 0});
      int const seen = w.local()[put];
      v.expect(seen, round);
      v.expect(epoch.get(other, stored), round);
      signal(1);  // the other rank may change both again
      wait({other, 1});
    }
  }
};

/// Ghost cells by notified puts, from both sides: finish refreshes before it copies cells out of the inbox.
struct by_notified_halo {
  static constexpr std::string_view name = "halo by notified puts";
  static void run(auto& team, verdict v) {
    constexpr std::size_t cells = 32;
    constexpr std::size_t width = 16;
    auto a = pgas::make_array<int>(team, cells * static_cast<std::size_t>(team.size()),
                                   pgas::halo{.width = width, .edges = pgas::edge::periodic});
    auto halos = pgas::make_notified_halo(a);
    auto const value = [&](rank_t rank, int round) { return 100 * round + rank; };
    rank_t const other = (team.rank() + 1) % team.size();
    for (int round = 1; round <= rounds; ++round) {
      {
        auto const own = pgas::stage(a, pgas::write_only);
        for (std::size_t i = 0; i < cells; ++i)
          own(static_cast<std::ptrdiff_t>(i)) = value(team.rank(), round);
      }
      auto exchange = halos.begin_exchange(a);
      {
        within const omission(team.rank(), call::none, call::halo_finish_refresh);
        exchange.finish();
      }
      auto const seen = pgas::stage(a, pgas::read_only);
      for (std::ptrdiff_t i = 1; i <= static_cast<std::ptrdiff_t>(width); ++i) {
        v.expect(seen(-i), value(other, round));
        v.expect(seen(static_cast<std::ptrdiff_t>(cells) - 1 + i), value(other, round));
      }
    }
  }
};

/// A rank's own stores under lock_all survive the drops of its own part.
enum class dropped_by { opening, flush, get };
template <dropped_by By>
struct by_own_store {
  static constexpr std::string_view name = By == dropped_by::opening ? "own stores before lock_all"
                                           : By == dropped_by::flush ? "own stores before flush"
                                                                     : "own stores before get";
  static void run(auto& team, verdict v) {
    auto w = make_window<int>(team, part);
    for (int round = 1; round <= rounds; ++round) {
      if constexpr (By == dropped_by::opening) w.local()[stored] = round;
      pgas::lock_all epoch{w};
      if constexpr (By != dropped_by::opening) w.local()[stored] = round;
      if constexpr (By == dropped_by::flush) epoch.flush(team.rank());
      if constexpr (By == dropped_by::get) v.expect(epoch.get(team.rank(), stored), round);
      int const seen = w.local()[stored];
      v.expect(seen, round);
    }
  }
};

}  // namespace pgas_test::coherence_programs
