// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/// The baselines: code written by hand on the same mapping, without a library.
namespace bench::raw {

using word_ref = std::atomic_ref<std::uint64_t>;

/// Words alone on their lines; two lines apart, since processors fetch them in pairs.
class lines {
 public:
  static constexpr std::size_t stride = 16;  ///< words
  static constexpr std::size_t bytes = stride * sizeof(std::uint64_t);

  lines() = default;
  explicit lines(std::uint64_t* base) noexcept : base_(base) {}

  [[nodiscard]] word_ref at(std::size_t i) const noexcept { return word_ref(base_[i * stride]); }
  [[nodiscard]] std::uint64_t* address(std::size_t i) const noexcept { return base_ + i * stride; }
  [[nodiscard]] lines from(std::size_t i) const noexcept { return lines(base_ + i * stride); }

 private:
  std::uint64_t* base_ = nullptr;
};

/// Notices a store in the quickest way: by loads in a loop without anything else.
inline void spin_until(word_ref word, std::uint64_t at_least) noexcept {
  while (word.load(std::memory_order_acquire) < at_least) {}
}

inline void spin_then_yield_until(word_ref word, std::uint64_t at_least, int spins) noexcept {
  for (int i = 0; i < spins; ++i) {
    if (word.load(std::memory_order_acquire) >= at_least) return;
  }
  while (word.load(std::memory_order_acquire) < at_least) std::this_thread::yield();
}

/// Test and set, then yield: unordered, and the rank that releases it is the likeliest to get it next.
struct spin_lock {
  word_ref word;
  int spins;

  void lock() const noexcept {
    for (int i = 0; word.exchange(1, std::memory_order_acquire) != 0; ++i) {
      if (i >= spins) std::this_thread::yield();
    }
  }
  void unlock() const noexcept { word.store(0, std::memory_order_release); }
};

/// The textbook barrier of a counter and a generation: the last rank to arrive releases the others.
struct central_barrier {
  word_ref arrived;
  word_ref generation;
  std::uint64_t ranks;

  void pass(int spins) const noexcept {
    std::uint64_t const before = generation.load(std::memory_order_relaxed);
    if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == ranks) {
      arrived.store(0, std::memory_order_relaxed);
      generation.store(before + 1, std::memory_order_release);
    } else {
      spin_then_yield_until(generation, before + 1, spins);
    }
  }
};

/// A barrier of two ranks: each tells the other on a line of its own.
struct pair_barrier {
  word_ref mine;
  word_ref other;
  std::uint64_t reached = 0;

  void pass() noexcept {
    mine.store(++reached, std::memory_order_release);
    spin_until(other, reached);
  }
};

/// Copies past the caches. Sizes and addresses are multiples of 64 in the rows that use it.
#if defined(__x86_64__)
inline void stream_sse2(void* to, void const* from, std::size_t bytes) noexcept {
  auto* d = static_cast<__m128i*>(to);
  auto const* s = static_cast<__m128i const*>(from);
  for (std::size_t i = 0; i < bytes / 16; i += 4) {
    __m128i const a = _mm_loadu_si128(s + i);
    __m128i const b = _mm_loadu_si128(s + i + 1);
    __m128i const c = _mm_loadu_si128(s + i + 2);
    __m128i const e = _mm_loadu_si128(s + i + 3);
    _mm_stream_si128(d + i, a);
    _mm_stream_si128(d + i + 1, b);
    _mm_stream_si128(d + i + 2, c);
    _mm_stream_si128(d + i + 3, e);
  }
  _mm_sfence();
}

[[gnu::target("avx512f")]] inline void stream_avx512(void* to, void const* from, std::size_t bytes) noexcept {
  auto* d = static_cast<std::byte*>(to);
  auto const* s = static_cast<std::byte const*>(from);
  for (std::size_t i = 0; i < bytes; i += 64) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(d + i), _mm512_loadu_si512(s + i));
  }
  _mm_sfence();
}
inline bool has_avx512() noexcept { return __builtin_cpu_supports("avx512f") != 0; }
#endif

}  // namespace bench::raw
