// SPDX-License-Identifier: BSL-1.0
// Synchronization of any number of ranks, each row beside its hand-written equivalent: barrier, fence, a
// round of post and start with the neighbours, a flag that travels one way, the creation of a window.
#include <linux/futex.h>
#include <sys/syscall.h>

#include <climits>
#include <pgas/pgas.hpp>

#include "program.hpp"
#include "shapes.hpp"

namespace {

/// The central barrier, whose ranks sleep in the kernel until the last rank comes.
struct sleeping_barrier {
  bench::raw::word_ref arrived;
  std::uint32_t* generation;
  std::uint64_t ranks;

  void pass() const {
    std::atomic_ref<std::uint32_t> const word(*generation);
    std::uint32_t const before = word.load(std::memory_order_relaxed);
    if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == ranks) {
      arrived.store(0, std::memory_order_relaxed);
      word.store(before + 1, std::memory_order_release);
      ::syscall(SYS_futex, generation, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    } else {
      while (word.load(std::memory_order_acquire) == before) {
        ::syscall(SYS_futex, generation, FUTEX_WAIT, before, nullptr, nullptr, 0);
      }
    }
  }
};

/// The neighbours of this rank in a ring: one if there are two ranks.
std::vector<pgas::rank_t> neighbours_of(int rank, int ranks) {
  if (ranks == 2) return {1 - rank};
  return {(rank + ranks - 1) % ranks, (rank + 1) % ranks};
}

template <class Team>
class meetings {
 public:
  meetings(Team& team, bench::meter& m)
      : m_(m),
        team_(team),
        lines_(m.free_lines()),
        window_(pgas::make_window<std::uint64_t>(team, bench::mib)),
        locked_(pgas::make_window<std::uint64_t>(team, 64)),
        neighbours_(neighbours_of(team.rank(), team.size())) {
    std::fill(window_.local().begin(), window_.local().end(), 0);
    std::fill(locked_.local().begin(), locked_.local().end(), 0);
    team.barrier();
  }

  void all() {
    if (m_.large()) return make_window(bench::gib);
    meet("barrier", [this] { team_.barrier(); });
    {
      pgas::fence epoch{window_};
      meet("fence", [&] { epoch.next(); });
    }
    post_and_start();
    if (m_.ranks() <= 4) contended();
    if (m_.ranks() == 2) {
      hand_over();
      free_locks();
      come_late();
      flag();
      for (std::size_t const bytes : bench::message_sizes) message(bytes);
      make_window(20 * bench::mib);
    }
  }

 private:
  [[nodiscard]] static bench::row_key row(char const* name) { return {.row = name, .mode = ""}; }

  template <class Ours>
  void meet(char const* name, Ours const& ours) {
    auto const ranks = static_cast<std::uint64_t>(m_.ranks());
    bench::raw::central_barrier const central{lines_.at(0), lines_.at(1), ranks};
    auto const by_hand = [&](std::string_view how, int spins) {
      return bench::everybody(how, [=] { central.pass(spins); });
    };
    auto const mine = bench::everybody("", ours);
    if (m_.oversubscribed()) {
      sleeping_barrier const asleep{lines_.at(2), word_of(lines_, 3), ranks};
      m_.measure(row(name),
                 {mine, by_hand("yield", 0), by_hand("spin 40, yield", 40), by_hand("spin 400, yield", 400),
                  bench::everybody("futex", [=] { asleep.pass(); })});
    } else if (ranks == 2) {
      auto const self = static_cast<std::size_t>(m_.rank());
      bench::raw::word_ref const own = lines_.at(4 + self);
      bench::raw::word_ref const other = lines_.at(5 - self);
      own.store(0, std::memory_order_relaxed);
      m_.align();
      m_.measure(row(name),
                 {mine, by_hand("spin on a counter", INT_MAX),
                  bench::everybody("spin on flags", [pair = bench::raw::pair_barrier{own, other}]() mutable {
                    pair.pass();
                  })});
    } else {
      m_.measure(row(name), {mine, by_hand("spin on a counter", INT_MAX)});
    }
  }

  /// By hand: take a free word and give it back, or count a reader in and out.
  void free_locks() {
    auto const word = lines_.at(10);
    m_.measure(bench::lock_key("lock_exclusive"),
               {bench::origin_only(m_, "",
                                   [this] {
                                     pgas::lock epoch{locked_, 1, pgas::exclusive};
                                   }),
                bench::origin_only(m_, "compare-exchange, store", [=] {
                  std::uint64_t seen = 0;
                  bench::keep(word.compare_exchange_strong(seen, 1, std::memory_order_acquire));
                  word.store(0, std::memory_order_release);
                })});
    m_.measure(bench::lock_key("lock_shared"),
               {bench::origin_only(m_, "",
                                   [this] {
                                     pgas::lock epoch{locked_, 1, pgas::shared};
                                   }),
                bench::origin_only(m_, "two fetch_adds", [=] {
                  bench::keep(word.fetch_add(2, std::memory_order_acquire));
                  bench::keep(word.fetch_sub(2, std::memory_order_release));
                })});
  }

  /// All ranks add one to a word of rank 0 under its lock.
  void contended() {
    auto const counted = lines_.at(12);
    auto const by_hand = [=, this](std::string_view name, int spins) {
      return bench::all_of(m_, name, [=, held = bench::raw::spin_lock{lines_.at(11), spins}] {
        held.lock();
        counted.store(counted.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        held.unlock();
      });
    };
    auto const ours = [this] {
      pgas::lock epoch{locked_, 0, pgas::exclusive};
      auto const there = epoch.to();
      there.put(0, there.get(0) + 1);
    };
    m_.measure(bench::contended_key(m_.ranks()),
               {bench::all_of(m_, "", ours), by_hand("test and set, yield", 0),
                by_hand("test and set 40 times, yield", 40)});
  }

  void hand_over() {
    auto const by_hand = [this](std::string_view name, int spins) {
      return bench::hand_over(m_, name,
                              [held = bench::raw::spin_lock{lines_.at(11), spins}](auto const& inside) {
                                held.lock();
                                inside();
                                held.unlock();
                              });
    };
    m_.measure(bench::hand_over_key(),
               {bench::hand_over(m_, "",
                                 [this](auto const& inside) {
                                   pgas::lock epoch{locked_, 0, pgas::exclusive};
                                   inside();
                                 }),
                by_hand("test and set, yield", 0), by_hand("test and set 40 times, yield", 40)});
  }

  /// A barrier whose last rank comes when the other has waited for long. By hand, the other rank sleeps until
  /// it is woken.
  void come_late() {
    auto const ranks = static_cast<std::uint64_t>(m_.ranks());
    sleeping_barrier const asleep{lines_.at(2), word_of(lines_, 3), ranks};
    bench::raw::central_barrier const central{lines_.at(0), lines_.at(1), ranks};
    m_.measure(
        {.row = "barrier_late", .mode = ""},
        {bench::late(m_, "", [this] { team_.barrier(); }), bench::late(m_, "futex", [=] { asleep.pass(); }),
         bench::late(m_, "spin on a counter", [=] { central.pass(INT_MAX); })});
  }

  static std::uint32_t* word_of(bench::raw::lines lines, std::size_t i) {
    static_assert(std::endian::native == std::endian::little);
    return reinterpret_cast<std::uint32_t*>(lines.address(i));
  }

  /// Each rank lets its neighbours put eight bytes and puts to them. By hand: "you may", the bytes, "done".
  void post_and_start() {
    meet_neighbours(
        "pscw", [](auto&, pgas::rank_t) {}, false);
    // Each neighbour is signalled as soon as it has its bytes, and not when all have theirs.
    meet_neighbours(
        "pscw_each", [](auto& epoch, pgas::rank_t to) { epoch.complete(to); }, true);
  }

  template <class AfterPut>
  void meet_neighbours(char const* name, AfterPut after_put, bool tells_each) {
    std::uint64_t round = 0;
    auto const ours = [this, after_put] {
      pgas::exposure exposed{window_, neighbours_};
      {
        pgas::access epoch{window_, neighbours_};
        for (pgas::rank_t const to : neighbours_) {
          epoch.put(to, 0, 1);
          after_put(epoch, to);
        }
      }
      exposed.wait();
    };
    for (pgas::rank_t const from : neighbours_) {  // the values of the row before
      may(m_.rank(), from).store(0, std::memory_order_relaxed);
      done(m_.rank(), from).store(0, std::memory_order_relaxed);
    }
    m_.align();
    int const spins = m_.oversubscribed() ? 40 : INT_MAX;
    auto const by_hand = [this, spins, tells_each, &round] {
      ++round;
      for (pgas::rank_t const to : neighbours_) may(to, m_.rank()).store(round, std::memory_order_release);
      for (pgas::rank_t const to : neighbours_) {
        bench::raw::spin_then_yield_until(may(m_.rank(), to), round, spins);
        window_.part(to)[0] = 1;
        if (tells_each) done(to, m_.rank()).store(round, std::memory_order_release);
      }
      for (pgas::rank_t const to : neighbours_) {
        if (!tells_each) done(to, m_.rank()).store(round, std::memory_order_release);
      }
      for (pgas::rank_t const from : neighbours_) {
        bench::raw::spin_then_yield_until(done(m_.rank(), from), round, spins);
      }
    };
    m_.measure(row(name), {bench::everybody("", ours), bench::everybody("flags", by_hand)});
  }

  /// Words that `from` writes and `to` reads. A neighbour is on one side or the other, on both if there are
  /// two ranks.
  [[nodiscard]] bench::raw::word_ref may(int to, int from) const { return word_between(to, from, 0); }
  [[nodiscard]] bench::raw::word_ref done(int to, int from) const { return word_between(to, from, 1); }
  [[nodiscard]] bench::raw::word_ref word_between(int to, int from, std::size_t which) const {
    std::size_t const side = (from + 1) % m_.ranks() == to ? 0 : 1;
    return lines_.at(16 + 4 * static_cast<std::size_t>(to) + 2 * side + which);
  }

  void flag() {
    pgas::lock_all epoch{window_};
    auto const there = epoch.to(1 - m_.rank());
    auto const here = epoch.to(m_.rank());
    constexpr std::size_t at = 16;
    auto const ours = in_turns([=](std::uint64_t n) { there.atomic_store(at, n); },
                               [=](std::uint64_t n) {
                                 while (here.atomic_load(at) < n) {}
                               });
    auto const self = static_cast<std::size_t>(m_.rank());
    auto const mine = lines_.at(8 + self);
    auto const other = lines_.at(9 - self);
    mine.store(0, std::memory_order_relaxed);
    m_.align();
    auto const by_hand = in_turns([=](std::uint64_t n) { other.store(n, std::memory_order_release); },
                                  [=](std::uint64_t n) { bench::raw::spin_until(mine, n); });
    m_.measure(bench::there_and_back("flag", 0),
               {bench::everybody("", ours), bench::everybody("store", by_hand)});
  }

  /// Bytes, and then a flag that signals their arrival.
  void message(std::size_t bytes) {
    pgas::lock_all epoch{window_};
    auto const there = epoch.to(1 - m_.rank());
    auto const here = epoch.to(m_.rank());
    std::size_t const flag_at = 1024 + bytes;  // one for each size, on a line of its own
    std::size_t const data_at = 65536;
    std::span<std::uint64_t const> const from(reinterpret_cast<std::uint64_t const*>(private_.data()),
                                              bytes / 8);
    auto const ours = in_turns(
        [=](std::uint64_t n) {
          there.put(data_at, from);
          there.flush();
          there.atomic_store(flag_at, n);
        },
        [=](std::uint64_t n) {
          while (here.atomic_load(flag_at) < n) {}
        });
    std::uint64_t* const data = window_.part(1 - m_.rank()).data() + data_at;
    auto const other = bench::raw::word_ref(window_.part(1 - m_.rank())[flag_at + 16]);
    auto const mine = bench::raw::word_ref(window_.part(m_.rank())[flag_at + 16]);
    auto const by_hand = in_turns(
        [=](std::uint64_t n) {
          std::memcpy(data, from.data(), from.size_bytes());
          other.store(n, std::memory_order_release);
        },
        [=](std::uint64_t n) { bench::raw::spin_until(mine, n); });
    m_.measure(bench::there_and_back("pingpong", bytes),
               {bench::everybody("", ours), bench::everybody("memcpy, store", by_hand)});
  }

  /// Rank 0 sends and then waits; rank 1 waits and then sends.
  template <class Send, class Wait>
  auto in_turns(Send send, Wait wait) const {
    return [send, wait, first = m_.rank() == 0, n = std::uint64_t{0}]() mutable {
      ++n;
      if (first) send(n);
      wait(n);
      if (!first) send(n);
    };
  }

  /// The creation of a window, touched page by page by its owner, and its end; by hand a mapping, touched.
  void make_window(std::size_t bytes) {
    auto const key = bench::window_key(bytes);
    if (!m_.has_memory(key, bytes * static_cast<std::size_t>(m_.ranks()))) return;
    m_.measure(key, {bench::everybody("",
                                      [=, this] {
                                        auto window = pgas::make_window<std::byte>(team_, bytes);
                                        touch(window.local().data(), bytes);
                                        team_.barrier();
                                      }),
                     bench::everybody("mmap and touch", [=, this] {
                       void* const at =
                           ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
                       if (at == MAP_FAILED) std::abort();
                       touch(static_cast<std::byte*>(at), bytes);
                       ::munmap(at, bytes);
                       m_.align();
                     })});
  }
  static void touch(std::byte* at, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; i += 4096) at[i] = std::byte{1};
    bench::forget();
  }

  bench::meter& m_;
  Team& team_;
  bench::raw::lines lines_;
  decltype(pgas::make_window<std::uint64_t>(std::declval<Team&>(), 0)) window_;
  decltype(pgas::make_window<std::uint64_t>(std::declval<Team&>(), 0)) locked_;
  bench::buffer private_;
  std::vector<pgas::rank_t> neighbours_;
};

}  // namespace

int main(int argc, char** argv) {
  bench::measure_on_ranks(argc, argv, [](auto& team, bench::meter& m) { meetings(team, m).all(); });
  return 0;
}
