// SPDX-License-Identifier: BSL-1.0
// Single operations between two ranks in the shapes of OSU's one-sided benchmarks, and the same by hand on
// the same memory, which shows the machine's own cost. bench/peers/ has the same rows for other libraries.
#include <pgas/pgas.hpp>

#include "program.hpp"
#include "shapes.hpp"

namespace {

using bench::mib;

template <class Team>
class micro {
 public:
  micro(Team& team, bench::meter& m)
      : m_(m),
        team_(team),
        bytes_(pgas::make_window<std::byte>(team, bench::region)),
        words_(pgas::make_window<std::uint64_t>(team, bench::region / 8)),
        locked_(pgas::make_window<std::uint64_t>(team, bench::kib)),
        other_(1 - team.rank()) {
    std::fill(bytes_.local().begin(), bytes_.local().end(), std::byte{0});
    std::fill(words_.local().begin(), words_.local().end(), 0);
    std::fill(locked_.local().begin(), locked_.local().end(), 0);
    team.barrier();
  }

  void all() {
    with_flush();
    accumulate_blocks();
    with_lock();
    with_fence();
    with_post();
  }

 private:
  void with_flush() {
    pgas::lock_all epoch{bytes_};
    pgas::lock_all word_epoch{words_};
    auto const target = epoch.to(other_);
    auto const word = word_epoch.to(other_);
    std::byte* const there = bytes_.part(other_).data();
    std::uint64_t* const word_there = words_.part(other_).data();
    std::byte* const here = private_.data();

    m_.measure(bench::latency_key("put_latency", "flush", 8),
               {bench::origin_only(m_, "",
                                   [=] {
                                     word.put(0, 7);
                                     word.flush();
                                   }),
                bench::origin_only(m_, "store", [=] {
                  word_there[0] = 7;
                  std::atomic_signal_fence(std::memory_order_seq_cst);
                })});
    m_.measure(bench::latency_key("get_latency", "flush", 8),
               {bench::origin_only(m_, "",
                                   [=] {
                                     bench::keep(word.get(0));
                                     word.flush();
                                   }),
                bench::origin_only(m_, "load", [=] { bench::keep(word_there[0]); })});

    for (std::size_t const bytes : bench::latency_sizes(m_.quick())) {
      if (bytes == 8) continue;
      std::span<std::byte const> const from(here, bytes);
      std::span<std::byte> const into(here, bytes);
      auto const put = bench::origin_only(m_, "", [=] {
        target.put(0, from);
        target.flush();
      });
      auto const get = bench::origin_only(m_, "", [=] {
        target.get(0, into);
        target.flush();
      });
      measure_copy(bench::latency_key("put_latency", "flush", bytes), put, there, here);
      measure_copy(bench::latency_key("get_latency", "flush", bytes), get, here, there);
    }
    for (std::size_t const bytes : bench::bandwidth_sizes(m_.quick())) {
      auto const walk = bench::window_of(
          bytes, bench::in_flight,
          [=](std::size_t at, std::size_t size) {
            target.put(at, std::span<std::byte const>(here + at, size));
          },
          [=] { target.flush(); });
      measure_walk(bench::bandwidth_key("put_bw", bytes), walk, there, here, false);
      measure_walk(bench::bandwidth_key("put_bibw", bytes), walk, there, here, true);
      auto const gets = bench::window_of(
          bytes, bench::in_flight,
          [=](std::size_t at, std::size_t size) { target.get(at, std::span<std::byte>(here + at, size)); },
          [=] { target.flush(); });
      measure_walk(bench::bandwidth_key("get_bw", bytes), gets, here, there, false);
    }
    m_.measure(bench::rate_key("put_mr"), {bench::origin_only(m_, "",
                                                              [=] {
                                                                for (std::size_t i = 0;
                                                                     i < bench::small_in_flight; ++i)
                                                                  word.put(i, i);
                                                                word.flush();
                                                              }),
                                           bench::origin_only(m_, "store", [=] {
                                             for (std::size_t i = 0; i < bench::small_in_flight; ++i)
                                               word_there[i] = i;
                                             std::atomic_signal_fence(std::memory_order_seq_cst);
                                           })});

    m_.measure(bench::latency_key("acc_latency", "flush", 8),
               {bench::origin_only(m_, "",
                                   [=] {
                                     word.accumulate(0, 1);
                                     word.flush();
                                   }),
                bench::origin_only(m_, "atomic", [=] {
                  std::atomic_ref(word_there[0]).fetch_add(1, std::memory_order_acq_rel);
                })});
    m_.measure(bench::latency_key("fop_latency", "flush", 8),
               {bench::origin_only(m_, "",
                                   [=] {
                                     bench::keep(word.fetch_add(0, 1));
                                     word.flush();
                                   }),
                bench::origin_only(m_, "atomic", [=] {
                  bench::keep(std::atomic_ref(word_there[0]).fetch_add(1, std::memory_order_acq_rel));
                })});
    m_.measure(bench::latency_key("cas_latency", "flush", 8),
               {bench::origin_only(m_, "",
                                   [=] {
                                     std::uint64_t expected = 1;
                                     bench::keep(word.compare_exchange(0, expected, 1));
                                     word.flush();
                                   }),
                bench::origin_only(m_, "atomic", [=] {
                  std::uint64_t expected = 1;
                  bench::keep(std::atomic_ref(word_there[0])
                                  .compare_exchange_strong(expected, 1, std::memory_order_acq_rel,
                                                           std::memory_order_acquire));
                })});
    m_.measure(bench::latency_key("put_target_busy", "flush", 8), {bench::put_to_busy_target(m_, [=] {
                 word.put(0, 7);
                 word.flush();
               })});
    chained(word, word_there);
    strided(word, word_there);
    overlap(target, there, here);
  }

  /// Each operation needs the one before: this is latency. The rows above show how many operations a core has
  /// under way.
  template <class Target>
  void chained(Target const& word, std::uint64_t* there) {
    std::vector<std::uint64_t> const chain = bench::chain();
    if (team_.rank() == 0) {
      word.put(0, chain);
      word.flush();
    }
    m_.measure(bench::latency_key("get_chain", "flush", 8),
               {bench::origin_only(m_, "",
                                   [=, at = std::size_t{0}]() mutable {
                                     at = word.get(at);
                                     word.flush();
                                   }),
                bench::origin_only(m_, "load", [=, at = std::size_t{0}]() mutable {
                  at = there[at];
                  bench::forget();
                })});
    m_.measure(bench::latency_key("put_get_chain", "flush", 8),
               {bench::origin_only(m_, "",
                                   [=, value = std::uint64_t{0}]() mutable {
                                     word.put(0, value + 1);
                                     word.flush();
                                     value = word.get(0);
                                     word.flush();
                                   }),
                bench::origin_only(m_, "store, load", [=, value = std::uint64_t{0}]() mutable {
                  there[0] = value + 1;
                  bench::forget();
                  value = there[0];
                  bench::forget();
                })});
  }

  /// The operations measured in each kind of epoch: `use(row, bytes, step)`; step(there) does the operation.
  template <class Use>
  void each_operation(Use const& use) const {
    std::span<std::uint64_t const> const from(reinterpret_cast<std::uint64_t const*>(private_.data()),
                                              4 * bench::kib / 8);
    use("put_latency", std::size_t{8}, [](auto const& there) { there.put(0, 7); });
    use("put_latency", 4 * bench::kib, [from](auto const& there) { there.put(0, from); });
    use("get_latency", std::size_t{8}, [](auto const& there) { bench::keep(there.get(0)); });
    use("acc_latency", std::size_t{8}, [](auto const& there) { there.accumulate(0, 1); });
    use("fop_latency", std::size_t{8}, [](auto const& there) { bench::keep(there.fetch_add(0, 1)); });
    use("cas_latency", std::size_t{8}, [](auto const& there) {
      std::uint64_t expected = 1;
      bench::keep(there.compare_exchange(0, expected, 1));
    });
  }

  /// In an epoch of its own: in an epoch that keeps handles of single elements, blocks go element by element.
  void accumulate_blocks() {
    pgas::lock_all epoch{words_};
    auto const word = epoch.to(other_);
    std::uint64_t* const there = words_.part(other_).data();
    for (std::size_t const bytes : {4 * bench::kib, 1 * mib}) {
      std::span<std::uint64_t const> const from(reinterpret_cast<std::uint64_t const*>(private_.data()),
                                                bytes / 8);
      m_.measure(bench::latency_key("acc_latency", "flush", bytes),
                 {bench::origin_only(m_, "",
                                     [=] {
                                       word.accumulate(0, from);
                                       word.flush();
                                     }),
                  bench::plain_loop(m_, there, from.data(), from.size())});
    }
  }

  /// One epoch of the target alone for each operation.
  void with_lock() {
    each_operation([this](char const* row, std::size_t bytes, auto step) {
      m_.measure(bench::latency_key(row, "lock", bytes), {bench::origin_only(m_, "", [=, this] {
                   pgas::lock epoch{locked_, other_, pgas::exclusive};
                   step(epoch.to());
                 })});
      m_.measure(bench::latency_key(row, "lock_shared", bytes), {bench::origin_only(m_, "", [=, this] {
                   pgas::lock epoch{locked_, other_, pgas::shared};
                   step(epoch.to());
                 })});
    });
  }

  /// Compared with memcpy and, for large copies, with stores that bypass the caches.
  void measure_copy(bench::row_key const& key, bench::way const& ours, std::byte* to, std::byte const* from) {
    auto const by = [&](std::string_view name, auto copy) {
      return bench::one_copy(m_, name, to, from, key.bytes, copy);
    };
    measure_beside(key, ours, 256 * bench::kib, by);
  }

  template <class Walk>
  void measure_walk(bench::row_key const& key, Walk const& walk, std::byte* to, std::byte const* from,
                    bool both) {
    auto const by = [&](std::string_view name, auto copy) {
      return bench::walk_of_copies(m_, name, to, from, key.bytes, both, copy);
    };
    measure_beside(key, both ? bench::everybody("", walk) : bench::origin_only(m_, "", walk), 4 * bench::kib,
                   by);
  }

  /// Measures a row beside copies by hand: `by(name, copy)`. Copies of `streams` bytes or more may bypass the
  /// caches.
  template <class By>
  void measure_beside(bench::row_key const& key, bench::way const& ours, std::size_t streams, By const& by) {
    auto const plain = by("memcpy", bench::copy_by_memcpy);
#if defined(__x86_64__)
    if (key.bytes >= streams) {
      m_.measure(key, {ours, plain, by("non-temporal", non_temporal)});
      return;
    }
#endif
    m_.measure(key, {ours, plain});
  }

#if defined(__x86_64__)
  static void non_temporal(std::byte* to, std::byte const* from, std::size_t bytes) {
    static bool const wide = bench::raw::has_avx512();
    if (wide) {
      bench::raw::stream_avx512(to, from, bytes);
    } else {
      bench::raw::stream_sse2(to, from, bytes);
    }
  }
#endif

  /// A block of doubles out of rows that lie further apart. Stored as words, whose meaning is irrelevant.
  template <class Target>
  void strided(Target const& word, std::uint64_t* there) {
    constexpr std::size_t edge = bench::block_edge;
    constexpr std::size_t pitch = bench::block_pitch;
    auto const* const from = reinterpret_cast<std::uint64_t const*>(private_.data());
    m_.measure(
        bench::latency_key("put_block", "flush", edge * edge * 8),
        {bench::origin_only(m_, "",
                            [=] {
                              word.put(pgas::rows_of{.first = 0, .rows = edge, .cols = edge, .pitch = pitch},
                                       from, pitch);
                              word.flush();
                            }),
         bench::origin_only(m_, "loop", [=] {
           for (std::size_t i = 0; i < edge; ++i) {
             for (std::size_t j = 0; j < edge; ++j) there[i * pitch + j] = from[i * pitch + j];
           }
           bench::forget();
         })});
  }

  /// A put of 1 MiB and a computation as long as the put, started one after the other: the time of 1 MiB if
  /// they overlap, twice that if not. On shared memory the core itself does the put, so nothing can overlap.
  template <class Target>
  void overlap(Target const& target, std::byte* there, std::byte const* here) {
    std::span<std::byte const> const from(here, mib);
    m_.measure(bench::latency_key("put_overlap", "flush", mib),
               {bench::origin_only(m_, "",
                                   [=] {
                                     auto request = target.rput(0, from);
                                     bench::compute();
                                     request.wait();
                                     target.flush();
                                   }),
                bench::origin_only(m_, "memcpy, then compute", [=] {
                  std::memcpy(there, here, mib);
                  bench::compute();
                })});
  }

  void with_fence() {
    pgas::fence epoch{words_};
    bool const works = team_.rank() == 0;
    each_operation([&](char const* row, std::size_t bytes, auto step) {
      m_.measure(bench::latency_key(row, "fence", bytes), {bench::everybody("", [&, step] {
                   if (works) step(epoch.to(other_));
                   epoch.next();
                 })});
    });
  }

  void with_post() {
    bool const first = team_.rank() == 0;
    auto const expose = [this] {
      pgas::exposure epoch{words_, {other_}};
      epoch.wait();
    };
    each_operation([&](char const* row, std::size_t bytes, auto step) {
      auto const access = [this, step] {
        pgas::access epoch{words_, {other_}};
        step(epoch.to(other_));
      };
      m_.measure(bench::post_key(row, bytes), {bench::everybody("", [=] {
                   if (first) access();
                   expose();
                   if (!first) access();
                 })});
    });
  }

  bench::meter& m_;
  Team& team_;
  decltype(pgas::make_window<std::byte>(std::declval<Team&>(), 0)) bytes_;
  decltype(pgas::make_window<std::uint64_t>(std::declval<Team&>(), 0)) words_;
  decltype(pgas::make_window<std::uint64_t>(std::declval<Team&>(), 0)) locked_;
  bench::buffer private_;
  pgas::rank_t other_;
};

}  // namespace

int main(int argc, char** argv) {
  bench::measure_on_ranks(argc, argv, [](auto& team, bench::meter& m) { micro(team, m).all(); });
  return 0;
}
