// SPDX-License-Identifier: BSL-1.0
// Each synchronization protocol, beside the accesses to lines that it needs at least, done by hand: the cost
// that its column in include/pgas/sync/README.md states.
#include <climits>
#include <concepts>
#include <pgas/pgas.hpp>
#include <pgas/signals.hpp>
#include <pgas/sync/bakery.hpp>
#include <pgas/sync/central_counter.hpp>
#include <pgas/sync/immediate.hpp>
#include <pgas/sync/lock_messages.hpp>
#include <pgas/sync/mailed_locks.hpp>
#include <pgas/sync/mailed_posts.hpp>
#include <pgas/sync/master_slave.hpp>
#include <pgas/sync/match_list.hpp>
#include <pgas/sync/mcs.hpp>
#include <pgas/sync/mcs_wp.hpp>
#include <pgas/sync/post_array.hpp>
#include <pgas/sync/post_messages.hpp>
#include <pgas/sync/shared_only.hpp>
#include <pgas/sync/tournament.hpp>
#include <pgas/sync/two_level.hpp>
#include <pgas/sync/two_vectors.hpp>
#include <stdexcept>

#include "counted_words.hpp"
#include "program.hpp"
#include "shapes.hpp"

namespace {

namespace sync = pgas::sync;
using pgas::rank_t;

/// The hand-written ways in which one rank tells another that round n has come.
enum class tells { by_store, by_adding, by_taking };

template <tells How>
void tell(bench::raw::word_ref word, std::uint64_t round) {
  if constexpr (How == tells::by_store) {
    word.store(round, std::memory_order_release);
  } else if constexpr (How == tells::by_adding) {
    word.fetch_add(1, std::memory_order_release);
  } else {
    std::uint64_t free = 0;
    word.compare_exchange_strong(free, round, std::memory_order_release);
  }
}

template <class Team>
class protocols {
 public:
  protocols(Team& team, bench::meter& m)
      : m_(m), team_(team), free_(m.free_lines()), counted_(take(lines_counted)) {
    for (rank_t const step :
         {1, team.size() - 1}) {  // the two neighbours in the ring, one if they are the same
      rank_t const other = (team.rank() + step) % team.size();
      if (neighbours_.empty() || neighbours_[0] != other) neighbours_.push_back(other);
    }
  }

  void all() {
    fence<sync::dissemination>(both_ways());
    fence<sync::tournament>(there_and_back());
    fence<sync::master_slave>(there_and_back());
    fence<sync::central_counter>(one_counter());
    fence<sync::guarded_counter>(one_counter(), guarded_counter());
    fence<pgas::default_fence>(one_counter());

    post<sync::match_vector, tells::by_adding, tells::by_adding>();
    post<sync::stamped, tells::by_store, tells::by_store>();
    post<sync::post_array, tells::by_store, tells::by_adding>();
    post<sync::match_list<>, tells::by_taking, tells::by_adding>();
    post<sync::two_vectors, tells::by_adding, tells::by_adding>();
    post<sync::immediate<sync::match_vector>, tells::by_adding, tells::by_adding>();
    post<sync::post_messages, tells::by_store, tells::by_store>();
    post<sync::mailed_posts, tells::by_store, tells::by_store>();

    lock<sync::queued>();
    lock<sync::mcs>();
    lock<sync::mcs_wp>();
    lock<sync::bakery>();
    lock<sync::lock_messages>();
    lock<sync::two_level<>>();
    lock<sync::two_level<sync::waiting_readers::stay, sync::retries::at_once>>();
    lock<sync::two_level<sync::waiting_readers::undo>>();
    lock<sync::two_level<sync::waiting_readers::undo, sync::retries::at_once>>();
    mailed_lock<sync::mailed_locks>();

    if (m_.ranks() == 2) signal();
  }

 private:
  static constexpr std::size_t lines_counted = 64;

  /// A row of one protocol, named like the row of sync.cpp with the default protocol.
  template <class Protocol>
  [[nodiscard]] static bench::row_key row(char const* name, double per_call = 1, char const* unit = "s") {
    return {.row = name, .mode = std::string(Protocol::name), .per_call = per_call, .unit = unit};
  }
  template <class Fence, class Post, class Lock>
  auto window() {
    return pgas::make_window<std::uint64_t>(
        team_.template with<pgas::coherence::coherent, pgas::protocols<Fence, Post, Lock>>(), 16);
  }
  /// Lines that no other row uses, zero at first.
  bench::raw::lines take(std::size_t count) {
    if (count > lines_left_)
      throw std::runtime_error("There are too few lines for so many ranks; start fewer.");
    lines_left_ -= count;
    auto const first = free_;
    free_ = free_.from(count);
    return first;
  }
  [[nodiscard]] int spins() const { return m_.oversubscribed() ? 40 : INT_MAX; }

  // Fences. By hand two ranks signal each other, and do nothing else. More ranks share cores, as in sync.cpp.

  bench::way both_ways() {
    auto const lines = take(2);
    auto const self = static_cast<std::size_t>(m_.rank() % 2);
    return bench::everybody("flags", [pair = bench::raw::pair_barrier{
                                          lines.at(self), lines.at(1 - self)}]() mutable { pair.pass(); });
  }
  bench::way there_and_back() {
    auto const lines = take(2);
    return bench::everybody("a flag and back", [lines, self = m_.rank(), n = std::uint64_t{0}]() mutable {
      ++n;
      if (self == 1) lines.at(0).store(n, std::memory_order_release);
      bench::raw::spin_until(lines.at(self == 1 ? 1 : 0), n);
      if (self == 0) lines.at(1).store(n, std::memory_order_release);
    });
  }
  bench::way one_counter() {
    auto const counter = take(1).at(0);
    return bench::everybody("counter", [counter, n = std::uint64_t{0}]() mutable {
      if (counter.fetch_add(1, std::memory_order_acq_rel) + 1 < (n += 2)) bench::raw::spin_until(counter, n);
    });
  }

  /// The guard is part of the protocol. It is bit 0 of the counter's word.
  bench::way guarded_counter() {
    auto const counter = take(1).at(0);
    return bench::everybody("counter behind a guard", [counter, n = std::uint64_t{0}]() mutable {
      std::uint64_t seen = counter.load(std::memory_order_relaxed) & ~std::uint64_t{1};
      while (!counter.compare_exchange_strong(seen, seen + 1, std::memory_order_acquire))
        seen &= ~std::uint64_t{1};
      counter.store(seen + 2, std::memory_order_release);
      if (seen + 2 < (n += 4)) bench::raw::spin_until(counter, n);
    });
  }

  template <class Fence>
  void fence(std::same_as<bench::way> auto const&... of_two) {
    auto const w = window<Fence, sync::match_vector, sync::shared_only>();
    pgas::fence epoch{w};
    auto const ours = bench::everybody("", [&] { epoch.next(); });
    if (m_.ranks() == 2) return m_.measure(row<Fence>("fence"), {ours, of_two...});
    auto const lines = take(2);
    bench::raw::central_barrier const central{lines.at(0), lines.at(1),
                                              static_cast<std::uint64_t>(m_.ranks())};
    m_.measure(row<Fence>("fence"),
               {ours, bench::everybody("spin, yield", [=, this] { central.pass(spins()); })});
  }

  // Post, start, one put of eight bytes to each neighbour, complete, wait.

  template <class Post, tells Posts, tells Completes>
  void post() {
    auto const w = window<pgas::default_fence, Post, sync::shared_only>();
    auto const ours = [&] {
      pgas::exposure exposed{w, neighbours_};
      {
        pgas::access epoch{w, neighbours_};
        for (rank_t const to : neighbours_) epoch.put(to, 0, 1);
      }
      exposed.wait();
    };
    rank_t const ranks = m_.ranks();
    auto const lines = take(4 * static_cast<std::size_t>(ranks));
    auto const between = [=](rank_t to, rank_t from, std::size_t which) {
      std::size_t const side = from == (to + 1) % ranks ? 0 : 1;
      return lines.at(4 * static_cast<std::size_t>(to) + 2 * side + which);
    };
    std::uint64_t round = 0;
    auto const by_hand = [&, self = m_.rank()] {
      ++round;
      for (rank_t const to : neighbours_) tell<Posts>(between(to, self, 0), round);
      for (rank_t const to : neighbours_) {
        bench::raw::spin_then_yield_until(between(self, to, 0), round, spins());
        w.part(to)[0] = 1;
      }
      for (rank_t const to : neighbours_) {
        if constexpr (Posts == tells::by_taking) between(self, to, 0).store(0, std::memory_order_relaxed);
        tell<Completes>(between(to, self, 1), round);
      }
      for (rank_t const from : neighbours_)
        bench::raw::spin_then_yield_until(between(self, from, 1), round, spins());
    };
    m_.measure(row<Post>("pscw"), {bench::everybody("", ours), bench::everybody("flags", by_hand)});
  }

  // Locks. Free: the protocol's own accesses, counted. Contended: test and set, which is unordered.

  template <class Lock>
  void lock() {
    auto const w = window<pgas::default_fence, sync::match_vector, Lock>();
    auto const lines = take(2);
    if (m_.ranks() == 2) {
      free_lock<Lock>(
          "lock_exclusive",
          [&] {
            pgas::lock const epoch{w, 1, pgas::exclusive};
          },
          [](auto& protocol, auto& b, auto&) {
            protocol.lock(1, pgas::lock_kind::exclusive, b);
            protocol.unlock(1, pgas::lock_kind::exclusive, b);
          });
      free_lock<Lock>(
          "lock_shared",
          [&] {
            pgas::lock const epoch{w, 1, pgas::shared};
          },
          [](auto& protocol, auto& b, auto&) {
            protocol.lock(1, pgas::lock_kind::shared, b);
            protocol.unlock(1, pgas::lock_kind::shared, b);
          });
      free_lock<Lock>(
          "lock_all",
          [&] {
            pgas::lock_all epoch{w};
            epoch.put(1, 0, 1);
          },
          [](auto& protocol, auto& b, auto& words) {
            protocol.lock_all(b);
            protocol.trigger(1, b);
            // The put of ours is a store, and a locked instruction waits for the stores before it.
            words.put();
            protocol.unlock_all(b);
          });
    }
    bench::raw::spin_lock const word{lines.at(0), 40};
    auto const counted = lines.at(1);
    auto const exclusive = [&] {
      pgas::lock epoch{w, 0, pgas::exclusive};
      auto const there = epoch.to();
      there.put(0, there.get(0) + 1);
    };
    auto const by_hand = [=] {
      word.lock();
      counted.store(counted.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      word.unlock();
    };
    constexpr std::string_view name = "test and set 40 times, yield";
    m_.measure(row<Lock>("lock_contended", m_.ranks()),
               {bench::all_of(m_, "", exclusive), bench::all_of(m_, name, by_hand)});
    m_.measure(row<Lock>("lock_mixed", 2 * m_.ranks()), {bench::all_of(m_, "", [&] {
                 exclusive();
                 pgas::lock epoch{w, 0, pgas::shared};
                 bench::keep(epoch.get(0, 0));
               })});
    m_.measure(row<Lock>("lock_unfairness", 1, "times"),
               {unfairness("", exclusive), unfairness(name, by_hand)});
    if (m_.ranks() != 2) return;
    m_.measure(row<Lock>("lock_hand_over", 2), {bench::hand_over(m_, "",
                                                                 [&](auto const& inside) {
                                                                   pgas::lock epoch{w, 0, pgas::exclusive};
                                                                   inside();
                                                                 }),
                                                bench::hand_over(m_, name, [&](auto const& inside) {
                                                  word.lock();
                                                  inside();
                                                  word.unlock();
                                                })});
  }

  template <class Lock, class Ours, class Alone>
  void free_lock(char const* name, Ours const& ours, Alone const& alone) {
    auto const by_hand = bench::by_hand(bench::counted<Lock>(m_.ranks(), alone), counted_);
    m_.measure(row<Lock>(name),
               {bench::origin_only(m_, "", ours), bench::origin_only(m_, "its own accesses", by_hand)});
  }

  // Locks by mail. The owner answers in a call of the library: it waits in the barrier that ends each sample.
  // By hand the owner spins on the request and stores the answer.

  template <class Lock>
  void mailed_lock() {
    auto const w = window<pgas::default_fence, sync::match_vector, Lock>();
    if (m_.ranks() == 2) {
      auto const free_row = [&](char const* name, auto const& ours) {
        m_.measure(row<Lock>(name), {bench::origin_only(m_, "", ours), asked_owner()});
      };
      free_row("lock_exclusive", [&] { pgas::lock const epoch{w, 1, pgas::exclusive}; });
      free_row("lock_shared", [&] { pgas::lock const epoch{w, 1, pgas::shared}; });
      free_row("lock_all", [&] {
        pgas::lock_all epoch{w};
        epoch.put(1, 0, 1);
      });
    }
    bench::way const contended{"", [&](std::size_t n) {
                                 for (; n > 0; --n) {
                                   pgas::lock epoch{w, 0, pgas::exclusive};
                                   auto const there = epoch.to();
                                   there.put(0, there.get(0) + 1);
                                 }
                                 team_.barrier();
                               }};
    auto const lines = take(2);
    bench::raw::spin_lock const word{lines.at(0), 40};
    m_.measure(row<Lock>("lock_contended", m_.ranks()),
               {contended, bench::all_of(m_, "test and set 40 times, yield", [=, counted = lines.at(1)] {
                  word.lock();
                  counted.store(counted.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
                  word.unlock();
                })});
  }

  /// Rank 0 asks, rank 1 answers, and rank 0 says that it is done: three stores to lines of their own.
  bench::way asked_owner() {
    auto const lines = take(3);
    return bench::everybody("request, answer, release",
                            [lines, asks = m_.rank() == 0, n = std::uint64_t{0}]() mutable {
                              ++n;
                              if (asks) {
                                lines.at(0).store(n, std::memory_order_release);
                                bench::raw::spin_until(lines.at(1), n);
                                lines.at(2).store(n, std::memory_order_release);
                              } else {
                                bench::raw::spin_until(lines.at(0), n);
                                lines.at(1).store(n, std::memory_order_release);
                                bench::raw::spin_until(lines.at(2), n);
                              }
                            });
  }

  /// All ranks take the lock as often as they can for a while. The result is a fair share over the share of
  /// the least lucky rank.
  template <class Step>
  bench::way unfairness(std::string_view name, Step step) {
    return {name, {}, [this, step, shares = bench::raw::lines(shares_)](std::size_t n) {
              using clock = std::chrono::steady_clock;
              auto const while_for = std::chrono::milliseconds(m_.oversubscribed() ? 16 : 2);
              double sum = 0;
              for (; n > 0; --n) {
                std::uint64_t mine = 0;
                m_.align();
                for (auto const end = clock::now() + while_for; mine % 8 != 0 || clock::now() < end; ++mine)
                  step();
                shares.at(static_cast<std::size_t>(m_.rank())).store(mine, std::memory_order_relaxed);
                m_.align();
                std::uint64_t all = 0;
                std::uint64_t least = mine;
                for (std::size_t r = 0; r < static_cast<std::size_t>(m_.ranks()); ++r) {
                  std::uint64_t const got = shares.at(r).load(std::memory_order_relaxed);
                  all += got;
                  least = std::min(least, got);
                }
                sum += static_cast<double>(all) / m_.ranks() /
                       static_cast<double>(std::max<std::uint64_t>(least, 1));
              }
              return sum;
            }};
  }

  /// The ranks signal each other in turn.
  void signal() {
    auto const w = window<pgas::default_fence, sync::match_vector, sync::shared_only>();
    auto signals = pgas::make_signals(w);
    pgas::lock_all epoch{w};
    rank_t const other = 1 - m_.rank();
    bool const first = m_.rank() == 0;
    auto const lines = take(2);
    auto const mine = lines.at(first ? 0 : 1);
    auto const there = lines.at(first ? 1 : 0);
    auto const in_turns = [first](auto send, auto wait) {
      return [=]() mutable {
        if (first) send();
        wait();
        if (!first) send();
      };
    };
    bench::row_key const key{
        .row = "signal",
        .mode = std::string(sync::signal_counts<typename Team::backend_type::control_type>::name),
        .per_call = 2};
    m_.measure(
        key, {bench::everybody(
                  "", in_turns([&] { signals.signal(epoch, other); }, [&] { signals.wait({other}); })),
              bench::everybody(
                  "flag",
                  in_turns([there,
                            n = std::uint64_t{0}]() mutable { there.store(++n, std::memory_order_release); },
                           [mine, n = std::uint64_t{0}]() mutable { bench::raw::spin_until(mine, ++n); }))});
  }

  bench::meter& m_;
  Team& team_;
  bench::raw::lines free_;
  std::size_t lines_left_ = bench::meeting_place::lines_free;
  bench::raw::lines counted_;
  bench::raw::lines shares_ = take(static_cast<std::size_t>(m_.ranks()));
  std::vector<rank_t> neighbours_;
};

}  // namespace

int main(int argc, char** argv) {
  bench::measure_on_ranks(argc, argv, [](auto& team, bench::meter& m) { protocols(team, m).all(); });
  return 0;
}
