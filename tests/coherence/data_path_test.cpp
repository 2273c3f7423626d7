// SPDX-License-Identifier: BSL-1.0
// Copies and combinations of every length do what memcpy and a loop do, and touch no byte beside.
// test: addresses, optimized, unit protocols
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <pgas/array/streamed_copy.hpp>
#include <pgas/detail/copy/cache_sizes.hpp>
#include <pgas/detail/copy/copy_pauses.hpp>
#include <pgas/detail/copy/copy_run.hpp>
#include <pgas/detail/copy/short_copy.hpp>
#include <pgas/detail/copy/streaming_copier.hpp>
#include <pgas/detail/copy/streaming_trial.hpp>
#include <pgas/detail/epoch/element_operations.hpp>
#include <pgas/vocabulary/op.hpp>
#include <vector>

namespace {

namespace op = pgas::op;

constexpr std::byte guard{0xA5};
constexpr std::size_t margin = 80;

std::vector<std::byte> numbered(std::size_t bytes) {
  std::vector<std::byte> all(bytes);
  for (std::size_t i = 0; i < bytes; ++i) all[i] = static_cast<std::byte>(i * 131 + i / 256 * 7 + 1);
  return all;
}

/// Returns whether the bytes arrived and their neighbours are unchanged.
bool is_exact(std::vector<std::byte> const& to, std::size_t at, std::vector<std::byte> const& from,
              std::size_t first, std::size_t bytes) {
  auto const begin = to.begin() + static_cast<std::ptrdiff_t>(at);
  auto const end = begin + static_cast<std::ptrdiff_t>(bytes);
  auto const is_guard = [](std::byte b) { return b == guard; };
  return std::equal(begin, end, from.begin() + static_cast<std::ptrdiff_t>(first)) &&
         std::all_of(to.begin(), begin, is_guard) && std::all_of(end, to.end(), is_guard);
}

template <class T, class Op>
void check_combine(Op op, std::size_t count) {
  std::vector<T> to(count + 2), from(count);
  std::iota(to.begin(), to.end(), T{3});
  std::iota(from.begin(), from.end(), T{1});
  auto expected = to;
  for (std::size_t i = 0; i < count; ++i) expected[i + 1] = op(expected[i + 1], from[i]);
  auto const check = [&](auto combine) {
    auto result = to;
    combine(result.data() + 1, from.data(), count, op);
    REQUIRE_MESSAGE(result == expected, count, " elements");
  };
  check([](auto... a) { pgas::detail::combine(a...); });
#if defined(__x86_64__)  // by name, since a processor chooses registers of one length only
  if (__builtin_cpu_supports("avx2")) check([](auto... a) { pgas::detail::combine_wide(a...); });
  if (__builtin_cpu_supports("avx512f")) check([](auto... a) { pgas::detail::combine_in_lines(a...); });
#endif
}

#if defined(__x86_64__) && !defined(__clang__)  // clang++ optimizes no single function
using wide [[gnu::vector_size(32)]] = int;
constexpr int vectors = 12;  // as many as a caller keeps in registers beside the copy's own four

/// Adds vectors that wait in registers during a copy.
[[gnu::noinline, gnu::target("avx2"), gnu::optimize("O2")]] void add_around_a_copy(int const* values,
                                                                                   int* sums, std::byte* to,
                                                                                   std::byte const* from) {
  wide waiting[vectors];
#pragma GCC unroll 12
  for (int i = 0; i < vectors; ++i) std::memcpy(&waiting[i], values + 8 * i, sizeof waiting[i]);
  pgas::detail::copy_in_four(to, from, 100);
  wide sum = waiting[0];
#pragma GCC unroll 12
  for (int i = 1; i < vectors; ++i) sum += waiting[i];
  std::memcpy(sums, &sum, sizeof sum);
}
#endif

}  // namespace

TEST_CASE("copy: every length up to 1100 bytes, from and to any place in a line, is exact") {
  pgas::detail::streaming_copier copy;
  auto const from = numbered(1300);
  for (std::size_t bytes = 0; bytes <= 1100; ++bytes) {
    for (std::size_t const shift : {0U, 1U, 7U, 16U, 63U}) {
      std::vector<std::byte> to(bytes + 2 * margin, guard);
      copy(to.data() + margin - shift, from.data() + shift / 2, bytes);
      REQUIRE_MESSAGE(is_exact(to, margin - shift, from, shift / 2, bytes), bytes, " bytes, shifted by ",
                      shift);
    }
  }
}

#if defined(__x86_64__)
namespace {

/// Checks a copy of each of these lengths to every place in a line, from several places in a line.
template <class Copy>
void check_at_every_place(Copy copy, std::size_t least, std::size_t most, std::size_t step = 1) {
  auto const from = numbered(most + 64);
  std::size_t wrong = 0;
  for (std::size_t bytes = least; bytes <= most; bytes += step) {
    std::vector<std::byte> to(bytes + 64 + 2 * margin);
    auto expected = to;
    for (std::size_t place = 0; place < 64; ++place) {
      std::byte const* const source = from.data() + (place * 5 + bytes) % 64;
      std::memset(to.data(), 0xA5, to.size());
      std::memset(expected.data(), 0xA5, to.size());
      std::memcpy(expected.data() + margin + place, source, bytes);
      copy(to.data() + margin + place, source, bytes);
      wrong += std::memcmp(to.data(), expected.data(), to.size()) != 0 ? 1 : 0;
    }
  }
  CHECK(wrong == 0);
}

/// The same for a copy of rows, of which each place gets two.
template <class Copy>
void check_rows_at_every_place(Copy copy, std::size_t least, std::size_t most, std::size_t step) {
  check_at_every_place(
      [copy](std::byte* to, std::byte const* from, std::size_t bytes) {
        std::size_t const half = bytes / 2;
        copy(to, bytes - half, from, bytes - half, 2, half);
        if (half != bytes - half) to[half] = from[half];
      },
      2 * least, 2 * most, step);
}

}  // namespace

// The functions are called by name, since a processor chooses registers of one length only.
TEST_CASE("copy: registers of 32 and of 64 bytes copy every length exactly, to every place in a line") {
  using namespace pgas::detail;
  if (!copies_in_assembly) return;
  if (__builtin_cpu_supports("avx2")) {
    check_at_every_place([](auto... a) { copy_in_two(a...); }, 32, 64);
    check_at_every_place([](auto... a) { copy_in_four(a...); }, 64, 128);
    check_at_every_place([](auto... a) { copy_in_eight(a...); }, 128, 256);
    check_at_every_place(copy_wide, 64, 700);
    check_at_every_place(copy_wide, 700, most_wide, 257);
    check_rows_at_every_place(copy_wide_rows, 64, 600, 7);
  }
  if (__builtin_cpu_supports("avx512f")) {
    check_at_every_place([](auto... a) { copy_in_two_lines(a...); }, 64, 128);
    check_at_every_place([](auto... a) { copy_in_four_lines(a...); }, 128, 256);
    check_at_every_place(copy_in_lines, 256, 900);
    check_at_every_place(copy_in_lines, 900, most_wide, 257);
    check_at_every_place(copy_in_lines, most_asked - 1, most_asked + 2);
    check_at_every_place(copy_asked_lines, long_copy, long_copy + 300, 37);
    check_at_every_place(copy_asked_lines, least_asked, most_asked, 4099);
    check_rows_at_every_place(copy_rows_in_lines, 64, 600, 7);
  }
  check_at_every_place(copy_cached, 257, 700);
  check_at_every_place(copy_cached, most_wide - 1, most_wide + 2);
}
#endif

TEST_CASE(
    "copy: runs of long copies are exact, also when they become too long for the caches and bypass them") {
  std::size_t const all = std::size_t{9} << 20U;
  auto const from = numbered(all + 100);
  for (std::size_t const piece :
       {std::size_t{4096}, std::size_t{4096 + 64 + 3}, std::size_t{1} << 20U, all}) {
    pgas::detail::streaming_copier copy;
    std::vector<std::byte> to(all + 2 * margin, guard);
    // The second walk begins again in the middle of a run. From the fourth on, a machine may stream again.
    for (int walk = 0; walk < 6; ++walk) {
      std::fill(to.begin(), to.end(), guard);
      for (std::size_t done = 0; done < all; done += piece) {
        copy(to.data() + margin + done, from.data() + 5 + done, std::min(piece, all - done));
      }
      REQUIRE_MESSAGE(is_exact(to, margin, from, 5, all), "pieces of ", piece, " bytes, walk ", walk);
    }
  }
}

#if defined(__x86_64__) && !defined(__clang__)
TEST_CASE("copy: vectors that its caller keeps in registers are whole after it") {
  if (!__builtin_cpu_supports("avx2")) return;
  std::vector<int> values(8 * vectors), sums(8), expected(8);
  for (std::size_t i = 0; i < values.size(); ++i) expected[i % 8] += values[i] = static_cast<int>(i * i + 1);
  auto const from = numbered(100);
  std::vector<std::byte> to(100);
  add_around_a_copy(values.data(), sums.data(), to.data(), from.data());
  CHECK(to == from);
  CHECK(sums == expected);
}
#endif

TEST_CASE("copy: rows of every size reach their places, and no byte between them changes") {
  constexpr std::size_t most = std::size_t{1} << 20U;
  auto const from = numbered(most);
  pgas::detail::streaming_copier copy;
  for (std::size_t const row_bytes : {8U, 64U, 1000U, 4096U, 40'000U}) {
    for (std::size_t const rows : {1U, 3U, 25U}) {
      std::size_t const pitch = row_bytes + 40;
      std::vector<std::byte> to(rows * pitch + margin, guard);
      auto expected = to;
      for (std::size_t i = 0; i < rows * row_bytes; ++i) {
        std::size_t const row = i / row_bytes;
        expected[margin + row * pitch + i % row_bytes] = from[row * (row_bytes + 7) + i % row_bytes];
      }
      for (int again = 0; again < 3; ++again)
        copy.copy_rows(to.data() + margin, pitch, from.data(), row_bytes + 7, rows, row_bytes);
      REQUIRE_MESSAGE(to == expected, rows, " rows of ", row_bytes, " bytes");
    }
  }
}

TEST_CASE("cache_sizes: the third level keeps at least as long a copy as the second") {
  using namespace pgas::detail;
  CHECK(kept_in_third_level() >= half_of_second_level());
}

TEST_CASE("copy_run: a long copy passes the caches, and the next one to the same place does not") {
  std::vector<std::byte> memory(5000);
  auto* const at = memory.data();
  pgas::detail::copy_run run(100, 1000);
  auto const passes = [&](std::size_t first, std::size_t bytes) {
    return run.passes_caches(at + first, at + first + bytes, bytes);
  };
  CHECK_FALSE(passes(0, 100));
  CHECK(passes(2000, 400));
  for (int again = 0; again < 3; ++again) CHECK_FALSE(passes(2000, 400));
  CHECK(passes(100, 400));
  CHECK(passes(2000, 400));  // another copy came between
  CHECK_FALSE(passes(2000, 400));
  CHECK_FALSE(passes(50, 50));  // a short copy after a long one that stayed in the caches
  for (int again = 0; again < 3; ++again) CHECK(passes(3000, 1001));  // longer than all that the caches keep
}

TEST_CASE("copy_run: a walk in pieces stays in the caches from its second time on, if they keep all of it") {
  std::vector<std::byte> memory(3000);
  auto* const at = memory.data();
  for (std::size_t const length : {150U, 950U, 1000U, 1050U, 3000U}) {
    pgas::detail::copy_run run(100, 1000);
    auto const walk = [&](std::size_t piece) {
      std::size_t passed = 0;
      for (std::size_t done = 0; done < length; done += piece) {
        if (run.is_worth_a_look(at + done, piece)) {
          passed += run.passes_caches(at + done, at + done + piece, piece) ? piece : 0;
        } else {
          run.begin(at + done, at + done + piece, piece);
        }
      }
      return passed;
    };
    CHECK(walk(50) == length - 100);  // the first two are short together
    for (int again = 0; again < 3; ++again) CHECK(walk(50) == (length <= 1000 ? 0 : length));
  }
}

TEST_CASE("copy_run: blocks side by side in the same rows are no copy to the same place") {
  std::vector<std::byte> memory(5000);
  auto* const at = memory.data();
  pgas::detail::copy_run run(100, 1000);
  for (std::size_t block = 0; block < 4; ++block)
    CHECK(run.passes_caches(at + 50 * block, at + 50 * block + 850, 300));
}

TEST_CASE("copy_run: only copies to a place that is used again are so, and the first of them is known") {
  std::vector<std::byte> memory(5000);
  auto* const at = memory.data();
  pgas::detail::copy_run run(100, 1000);
  auto const copy = [&](std::size_t first, std::size_t bytes) {
    (void)run.passes_caches(at + first, at + first + bytes, bytes);
    return run.is_again() ? run.is_first_again(bytes) ? 1 : 2 : 0;
  };
  CHECK(copy(0, 200) == 0);
  CHECK(copy(200, 200) == 0);
  for (int again = 0; again < 3; ++again) {
    CHECK(copy(0, 200) == 1);
    CHECK(copy(200, 200) == 2);
  }
  CHECK(copy(1000, 200) == 0);
}

namespace {

/// Runs of copies at a time that passes as told.
class timed_runs {
 public:
  /// Copies `pieces` of 10,000 ticks with a pause before each, a very long one before piece `slow`, and a
  /// pause after them all.
  void run(std::size_t pieces, std::uint64_t pause, std::uint64_t at_end, std::size_t source_step = 10,
           std::size_t slow = 0) {
    for (std::size_t i = 0; i < pieces; ++i) {
      if (i > 0) now_ += i == slow ? 100'000'000 : pause;
      pauses_.begin(i == 0, &source_[i * source_step], now_);
      now_ += 10'000;
      pauses_.end(&source_[i * source_step + 10], now_);
    }
    now_ += at_end;
  }
  [[nodiscard]] bool is_unread() { return pauses_.is_unread(); }

 private:
  pgas::detail::copy_pauses pauses_;
  std::vector<std::byte> source_ = std::vector<std::byte>(1000);
  std::uint64_t now_ = 1000;
};

}  // namespace

TEST_CASE("copy_pauses: copies that follow at once are unread, and pauses after two of them mean a reader") {
  timed_runs runs;
  CHECK_FALSE(runs.is_unread());
  runs.run(1, 0, 500);
  CHECK_FALSE(runs.is_unread());  // nothing is known before the second copy to the place
  runs.run(1, 0, 500);
  CHECK(runs.is_unread());
  runs.run(1, 0, 5000);
  runs.run(1, 0, 500);  // after one pause: the program may have done anything else
  CHECK(runs.is_unread());
  runs.run(1, 0, 5000);
  CHECK(runs.is_unread());
  runs.run(1, 0, 5000);
  CHECK(runs.is_unread());
  runs.run(1, 0, 500);  // after the second pause in succession
  CHECK_FALSE(runs.is_unread());
  runs.run(1, 0, 500);
  CHECK(runs.is_unread());
}

TEST_CASE(
    "copy_pauses: a pause inside of a run counts as long as a piece at most, and often as much as it is") {
  timed_runs runs;
  for (int i = 0; i < 3; ++i) runs.run(40, 0, 500);
  CHECK(runs.is_unread());
  SUBCASE("one long pause in many pieces") {
    for (int i = 0; i < 4; ++i) {
      runs.run(40, 0, 500, 10, 17);
      CHECK(runs.is_unread());
    }
  }
  SUBCASE("the clock is read before a piece has come") {
    for (int i = 0; i < 4; ++i) {
      runs.run(40, 900, 500);
      CHECK(runs.is_unread());
    }
  }
  SUBCASE("each piece is read in part before the next") {
    for (int i = 0; i < 4; ++i) runs.run(40, 1200, 500);
    CHECK_FALSE(runs.is_unread());
  }
  SUBCASE("each piece is read before the next") {
    for (int i = 0; i < 4; ++i) runs.run(40, 3000, 500);
    CHECK_FALSE(runs.is_unread());
  }
  SUBCASE("all pieces are read after the last") {
    for (int i = 0; i < 4; ++i) runs.run(40, 0, 200'000);
    CHECK_FALSE(runs.is_unread());
  }
  SUBCASE("all pieces come from the same source") {
    for (int i = 0; i < 4; ++i) runs.run(40, 0, 500, 0);
    CHECK_FALSE(runs.is_unread());
  }
}

TEST_CASE("streaming_trial: the way whose copies take clearly less time is the quicker one") {
  constexpr std::size_t bytes = std::size_t{1} << 20U;
  auto const once = [](std::byte* to, std::byte const* from, std::size_t n) { std::memcpy(to, from, n); };
  auto const often = [](std::byte* to, std::byte const* from, std::size_t n) {
    for (int i = 0; i < 10; ++i) {
      std::memcpy(to, from, n);
      asm volatile("" : : : "memory");
    }
  };
  if constexpr (pgas::detail::copies_in_assembly)
    CHECK(pgas::detail::streaming_trial(bytes, once, often).is_quicker());
  CHECK_FALSE(pgas::detail::streaming_trial(bytes, often, once).is_quicker());
  CHECK_FALSE(pgas::detail::streaming_trial(std::size_t{1} << 60U, once, often).is_quicker());  // no memory
}

TEST_CASE("cache_sizes: the texts of the system are read as numbers and as masks of cores") {
  CHECK(pgas::detail::number_in({"32768K\n"}) == 32768);
  CHECK(pgas::detail::number_in({""}) == 0);
  CHECK(pgas::detail::bits_in({"00000001,0000f00a\n"}) == 7);
  CHECK(pgas::detail::bits_in({""}) == 0);
  CHECK(pgas::detail::number_in(pgas::detail::system_text("/no/such/file")) == 0);
}

TEST_CASE(
    "streamed_copy: rows of every length, at any place in a line, are exact, through the caches and past "
    "them") {
  constexpr std::size_t rows = 3;
  constexpr std::size_t from_pitch = 1200;
  auto const from = numbered(rows * from_pitch);
  for (std::size_t const in_all :
       {std::size_t{0},
        std::size_t{1} << 40U}) {  // a total that the caches hold, and one that no cache holds
    for (std::size_t cols = 0; cols <= 1100; ++cols) {
      std::size_t const pitch = cols + cols % 67;
      std::size_t const first = margin + cols % 64;
      std::vector<std::byte> to(first + rows * pitch + margin, guard);
      auto expected = to;
      for (std::size_t row = 0; row < rows; ++row) {
        for (std::size_t i = 0; i < cols; ++i) expected[first + row * pitch + i] = from[row * from_pitch + i];
      }
      {
        pgas::streamed_copy const copy(in_all);
        copy(pgas::matrix_view(from.data(), rows, cols, from_pitch),
             pgas::matrix_view(to.data() + first, rows, cols, pitch));
      }
      REQUIRE_MESSAGE(to == expected, cols, " bytes in a row");
    }
  }
}

TEST_CASE("streamed_copy: views of different extents are refused, with both extents") {
  auto from = numbered(60);
  CHECK_THROWS_WITH(
      pgas::streamed_copy(0)(pgas::matrix_view(from.data(), 2, 3), pgas::matrix_view(&from[30], 3, 2)),
      doctest::Contains("2 x 3 cells do not fit 3 x 2"));
}

TEST_CASE("combine: every number of elements up to 100 gives the result of a loop") {
  for (std::size_t count = 0; count <= 100; ++count) {
    check_combine<std::uint64_t>(op::sum{}, count);
    check_combine<double>(op::product{}, count);
    check_combine<std::int8_t>(op::max{}, count);
    check_combine<std::int32_t>(op::min{}, count);
    check_combine<std::uint16_t>(op::bit_xor{}, count);
    check_combine<float>(op::replace{}, count);
  }
}
