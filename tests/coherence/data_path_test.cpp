// SPDX-License-Identifier: BSL-1.0
// Copies and combinations of every length do what memcpy and a loop do, and touch no byte beside.
// test: addresses, optimized, unit protocols
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <pgas/array/streamed_copy.hpp>
#include <pgas/detail/copy/bulk_copy.hpp>
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
  check([](auto... a) { pgas::detail::combine_blocks<pgas::detail::combined_at_once>(a...); });
}

}  // namespace

TEST_CASE("copy: every length up to 1100 bytes, from and to any place in a line, is exact") {
  auto const from = numbered(1300);
  for (auto* const copy : {pgas::detail::copy_short, pgas::detail::stream_part}) {
    for (std::size_t bytes = 0; bytes <= 1100; ++bytes) {
      for (std::size_t const shift : {0U, 1U, 7U, 16U, 63U}) {
        std::vector<std::byte> to(bytes + 2 * margin, guard);
        copy(to.data() + margin - shift, from.data() + shift / 2, bytes);
        REQUIRE_MESSAGE(is_exact(to, margin - shift, from, shift / 2, bytes), bytes, " bytes, shifted by ",
                        shift);
      }
    }
  }
  pgas::detail::end_streaming();
}

TEST_CASE("copy: long copies are exact, also those that pass the caches") {
  std::size_t const limit = pgas::detail::longest_cached_copy();
  auto const from = numbered(limit + 200);
  for (std::size_t const bytes :
       {std::size_t{4096}, std::size_t{4096 + 64 + 3}, limit, limit + 1, limit + 100}) {
    std::vector<std::byte> to(bytes + 2 * margin, guard);
    pgas::detail::bulk_copy(to.data() + margin, from.data() + 5, bytes);
    REQUIRE_MESSAGE(is_exact(to, margin, from, 5, bytes), bytes, " bytes");
  }
}

TEST_CASE("copy: rows of every size reach their places, and no byte between them changes") {
  constexpr std::size_t most = std::size_t{1} << 20U;
  auto const from = numbered(most);
  for (std::size_t const row_bytes : {8U, 64U, 1000U, 4096U, 40'000U}) {
    for (std::size_t const rows : {1U, 3U, 25U}) {
      std::size_t const pitch = row_bytes + 40;
      std::vector<std::byte> to(rows * pitch + margin, guard);
      auto expected = to;
      for (std::size_t i = 0; i < rows * row_bytes; ++i) {
        std::size_t const row = i / row_bytes;
        expected[margin + row * pitch + i % row_bytes] = from[row * (row_bytes + 7) + i % row_bytes];
      }
      for (bool const streams : {false, true}) {
        std::fill(to.begin(), to.end(), guard);
        pgas::detail::copy_rows(to.data() + margin, pitch, from.data(), row_bytes + 7, rows, row_bytes,
                                streams);
        pgas::detail::end_streaming();
        REQUIRE_MESSAGE(to == expected, rows, " rows of ", row_bytes, " bytes");
      }
    }
  }
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
