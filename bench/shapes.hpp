// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "meter.hpp"

/// The shapes of rows that every library measures, under OSU's names without osu_, or IMB's if OSU has none.
/// A program brings the operations. The repetitions, sizes and calling ranks are defined here, once.
namespace bench {

inline constexpr std::size_t kib = 1024;
inline constexpr std::size_t mib = 1024 * kib;
inline constexpr std::size_t gib = 1024 * mib;

/// The bytes that the rows with many operations in flight walk over.
inline constexpr std::size_t region = 16 * mib;
inline constexpr std::size_t in_flight = 64;
inline constexpr std::size_t small_in_flight = 1024;

/// A matrix of doubles, and the square block of it that the strided row moves.
inline constexpr std::size_t block_edge = 16;
inline constexpr std::size_t block_pitch = 64;

inline std::vector<std::size_t> latency_sizes(bool quick) {
  if (quick) return {8, 64, 512, 4 * kib, 32 * kib, 256 * kib, 2 * mib, 8 * mib};
  std::vector<std::size_t> sizes;
  for (std::size_t bytes = 8; bytes <= 8 * mib; bytes *= 2) sizes.push_back(bytes);
  return sizes;
}

inline std::vector<std::size_t> bandwidth_sizes(bool quick) {
  if (quick) return {8, 4 * kib, 64 * kib, 1 * mib};
  return {8, 64, 512, 4 * kib, 16 * kib, 64 * kib, 256 * kib, 1 * mib, 4 * mib};
}

/// Private memory of one region, touched, on a page boundary: the same for every library.
class buffer {
 public:
  buffer() : data_(static_cast<std::byte*>(std::aligned_alloc(4096, region))) {
    std::memset(data(), 1, region);
  }
  [[nodiscard]] std::byte* data() const noexcept { return data_.get(); }

 private:
  struct give_back {
    void operator()(std::byte* p) const noexcept { std::free(p); }
  };
  std::unique_ptr<std::byte, give_back> data_;
};

/// About 50 us of computation without memory accesses.
inline void compute() {
  double x = 1;
  for (int i = 0; i < 12'500; ++i) {
    x = x * 0.999 + 0.5;
    keep(x);
  }
}

/// Runs `step` on rank 0 alone; the other ranks return at once and rest.
template <class Step>
way origin_only(meter const& m, std::string_view name, Step step) {
  return {name, [works = m.rank() == 0, step](std::size_t n) mutable {
            if (!works) return;
            for (; n > 0; --n) step();
          }};
}

/// Runs `step` on every rank.
template <class Step>
way everybody(std::string_view name, Step step) {
  return {.name = name,
          .run =
              [step](std::size_t n) mutable {
                for (; n > 0; --n) step();
              },
          .is_of_all = true};
}

/// Runs `step` on every rank, until all have done it that many times: the slowest rank counts.
template <class Step>
way all_of(meter const& m, std::string_view name, Step step) {
  return {name, [&m, step](std::size_t n) mutable {
            for (; n > 0; --n) step();
            m.align();
          }};
}

/// Many operations of one size in flight, walking through the region, and then one completion.
/// `start(offset, bytes)` begins one, `finish()` completes them all.
template <class Start, class Finish>
auto window_of(std::size_t bytes, std::size_t count, Start start, Finish finish) {
  return [=, at = std::size_t{0}]() mutable {
    for (std::size_t k = 0; k < count; ++k) {
      start(at, bytes);
      at += bytes;
      if (at + bytes > region) at = 0;
    }
    finish();
  };
}

/// Copies and additions by hand: in each program the same, on the memory that its row moves. A row of another
/// library has one beside it, so what the pages of its process cost stands on both sides.
inline constexpr std::size_t has_copy_beside = 4 * kib;  ///< bytes of an operation, at least

template <class Copy>
way one_copy(meter const& m, std::string_view name, std::byte* to, std::byte const* from, std::size_t bytes,
             Copy copy) {
  return origin_only(m, name, [=] {
    copy(to, from, bytes);
    forget();
  });
}
/// Walks as the rows of many operations do; `both`: on every rank.
template <class Copy>
way walk_of_copies(meter const& m, std::string_view name, std::byte* to, std::byte const* from,
                   std::size_t bytes, bool both, Copy copy) {
  auto const walk = window_of(
      bytes, in_flight, [=](std::size_t at, std::size_t size) { copy(to + at, from + at, size); },
      [] { forget(); });
  return both ? everybody(name, walk) : origin_only(m, name, walk);
}
/// Has a type of its own, so that the call is inlined.
inline constexpr auto copy_by_memcpy = [](std::byte* to, std::byte const* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
};
/// Not inlined: no program's compiler knows more about the two places.
[[gnu::noinline]] inline void add_plainly(std::uint64_t* to, std::uint64_t const* from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] += from[i];
}
inline way plain_loop(meter const& m, std::uint64_t* to, std::uint64_t const* from, std::size_t count) {
  return origin_only(m, "plain loop", [=] {
    add_plainly(to, from, count);
    forget();
  });
}

/// Measures a copy of another library, and from 4 KiB on a memcpy on the same memory in turns with it.
template <class Step>
void beside_copy(meter& m, row_key const& key, Step step, std::byte* to, std::byte const* from) {
  std::vector<way> ways{origin_only(m, "", step)};
  if (key.bytes >= has_copy_beside)
    ways.push_back(one_copy(m, "memcpy", to, from, key.bytes, copy_by_memcpy));
  m.measure(key, ways);
}
/// The same for many of them.
template <class Walk>
void beside_walk(meter& m, row_key const& key, Walk walk, std::byte* to, std::byte const* from, bool both) {
  std::vector<way> ways{both ? everybody("", walk) : origin_only(m, "", walk)};
  if (key.bytes >= has_copy_beside)
    ways.push_back(walk_of_copies(m, "memcpy", to, from, key.bytes, both, copy_by_memcpy));
  m.measure(key, ways);
}

inline row_key latency_key(char const* row, std::string mode, std::size_t bytes) {
  return {.row = row, .mode = std::move(mode), .bytes = bytes, .warm_up = bytes < 256 * kib ? 0U : 3U};
}
/// An iteration makes each rank origin once and target once, as in OSU: half of a round trip.
inline row_key post_key(char const* row, std::size_t bytes) {
  row_key key = latency_key(row, "post", bytes);
  key.per_call = 2;
  return key;
}
/// The ranks send to each other in turn: half of a round trip.
inline row_key there_and_back(char const* row, std::size_t bytes) {
  return {.row = row, .mode = "", .bytes = bytes, .per_call = 2};
}
/// Takes and releases a free lock on another rank's part.
inline row_key lock_key(char const* row) { return {.row = row, .mode = ""}; }
/// All ranks want one lock at once: the time for which each of them has it.
inline row_key contended_key(int ranks) {
  return {.row = "lock_contended", .mode = "", .per_call = static_cast<double>(ranks)};
}
/// The same in turns, from one rank to the other.
inline row_key hand_over_key() { return {.row = "lock_hand_over", .mode = "", .per_call = 2}; }
inline row_key window_key(std::size_t bytes) { return {.row = "win_create", .mode = "", .bytes = bytes}; }
/// Each get depends on the one before: a word holds the place of the next one, in a cycle over all words of 4
/// KiB. Successive words lie on different lines, in an order that hardware cannot predict.
inline constexpr std::size_t chain_words = 512;
inline std::vector<std::uint64_t> chain() {
  std::vector<std::uint64_t> next(chain_words);
  constexpr std::size_t step = 197;  // odd, so that it visits all places of a power of two
  for (std::size_t i = 0; i < chain_words; ++i) next[i] = (i + step) % chain_words;
  return next;
}
inline constexpr std::array<std::size_t, 3> message_sizes{64, 4 * kib, 64 * kib};
/// The warm-up is three whole walks over the region if the caches' contents matter, since another way may
/// have bypassed the caches. Experiment, walks of memcpy after one past the caches on an Emerald
/// Rapids: 6.7, 6.7, 9.6, 10.1 and 10.7 GB/s. A walk past the caches after memcpy: 8.3, then 12.0.
inline row_key bandwidth_key(char const* row, std::size_t bytes) {
  return {.row = row,
          .mode = "flush",
          .bytes = bytes,
          .per_call = in_flight,
          .unit = "B/s",
          .warm_up = bytes < 4 * kib ? 0 : 3 * region / (bytes * in_flight)};
}
inline row_key rate_key(char const* row) {
  return {.row = row, .mode = "flush", .bytes = 8, .per_call = small_in_flight, .unit = "op/s"};
}

/// `step` takes a lock, calls its argument, and releases the lock: two ranks in turns, each waiting for the
/// lock while the other has it. Without turns, a rank that releases a quick lock takes it again before the
/// other has seen it free.
template <class Step>
way hand_over(meter const& m, std::string_view name, Step step) {
  return {name, [&m, step](std::size_t n) mutable {
            auto const holder = m.word();
            auto const self = static_cast<std::uint64_t>(m.rank()) + 1;
            if (m.rank() == 0) holder.store(0, std::memory_order_relaxed);
            m.align();
            for (; n > 0; --n) {
              step([&] { holder.store(self, std::memory_order_relaxed); });
              for (unsigned looks = 1; n > 1 && holder.load(std::memory_order_relaxed) == self; ++looks) {
                if (looks % 64 == 0) m.poll();  // a lock made of messages, which its owner must receive
              }
            }
            m.align();
          }};
}

/// The time for which a rank lets the others wait in `late`: longer than any of them spins.
inline constexpr double late_by = 2e-3;

/// A rank that comes late: the time from its arrival until a waiting rank goes on. `meet(rank)` is the
/// meeting.
template <class Meet>
way late(meter const& m, std::string_view name, Meet meet) {
  return {name, {}, [&m, meet, round = std::uint64_t{0}](std::size_t n) mutable {
            auto const went_on = m.word();
            if (m.rank() == 0) went_on.store(0, std::memory_order_relaxed);
            m.align();
            round = 0;
            double seconds = 0;
            for (; n > 0; --n) {
              ++round;
              if (m.rank() == 0) {
                auto const arrives =
                    std::chrono::steady_clock::now() + std::chrono::duration<double>(late_by);
                while (std::chrono::steady_clock::now() < arrives) {}
              }
              auto const before = std::chrono::steady_clock::now();
              meet();
              if (m.rank() == 0) {
                raw::spin_until(went_on, round);
                seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
              } else {
                went_on.store(round, std::memory_order_release);
              }
            }
            return seconds;
          }};
}

/// The longest computation of a target during a put to it, so that a dependence on the target shows.
inline constexpr double computes_for = 20e-3;

/// A put that must complete while its target computes without calling the library. Rank 0 is timed.
template <class Put>
way put_to_busy_target(meter const& m, Put put) {
  return {
      "", [&m, put, round = std::uint64_t{0}](std::size_t n) mutable {
        auto const arrived = m.word();
        ++round;
        if (m.rank() == 0) {
          for (; n > 0; --n) put();
          arrived.store(round, std::memory_order_release);
        } else {
          auto const end = std::chrono::steady_clock::now() + std::chrono::duration<double>(computes_for);
          while (arrived.load(std::memory_order_acquire) < round && std::chrono::steady_clock::now() < end) {}
        }
      }};
}

}  // namespace bench
