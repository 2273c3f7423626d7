// SPDX-License-Identifier: BSL-1.0
// Cache maintenance of this processor: the lines that it touches, and the bytes that a put changes.
// coherence/opcodes.py checks the instruction of each primitive.
// test: addresses, optimized, unit protocols
#include <doctest/doctest.h>

#include <cstring>
#include <pgas/detail/processor/processor.hpp>
#include <set>
#include <string>
#include <vector>

namespace {

namespace processor = pgas::processor;

constexpr std::size_t line = 64;

struct alignas(4096) page {
  std::byte bytes[4096];
};

/// The lines that a walk over a range visits, in order, as numbers in the page.
template <class Walk>
std::vector<std::size_t> visited(Walk const& walk, page& p, std::size_t offset, std::size_t bytes) {
  std::vector<std::size_t> lines;
  walk(p.bytes + offset, bytes, line, [&](std::byte* at) {
    auto const distance = static_cast<std::size_t>(at - p.bytes);
    lines.push_back(distance % line == 0 ? distance / line : ~std::size_t{0});
  });
  return lines;
}

/// The lines that hold a byte of the range, found byte by byte.
std::vector<std::size_t> touched(std::size_t offset, std::size_t bytes) {
  std::set<std::size_t> lines;
  for (std::size_t i = 0; i < bytes; ++i) lines.insert((offset + i) / line);
  return {lines.begin(), lines.end()};
}

/// True if a walk visits each line once and no other, for every offset in a line and every length to four
/// lines.
template <class Walk>
bool visits_every_line(Walk const& walk) {
  static page p;
  for (std::size_t offset = line; offset < 2 * line; ++offset) {
    for (std::size_t bytes = 0; bytes <= 4 * line; ++bytes) {
      if (visited(walk, p, offset, bytes) != touched(offset, bytes)) return false;
    }
  }
  return true;
}

auto const each_line = [](std::byte* address, std::size_t bytes, std::size_t length, auto&& step) {
  processor::each_line(address, bytes, length, step);
};

using lines = std::vector<std::size_t>;

TEST_CASE("every line that a range touches is visited once, its ragged ends included") {
  static page p;
  CHECK(visited(each_line, p, 0, 0) == lines{});
  CHECK(visited(each_line, p, 100, 0) == lines{});
  CHECK(visited(each_line, p, 0, 1) == lines{0});
  CHECK(visited(each_line, p, 63, 1) == lines{0});
  CHECK(visited(each_line, p, 63, 2) == lines{0, 1});
  CHECK(visited(each_line, p, 64, 64) == lines{1});
  CHECK(visited(each_line, p, 64, 128) == lines{1, 2});
  CHECK(visited(each_line, p, 65, 128) == lines{1, 2, 3});
  CHECK(visits_every_line(each_line));
}

TEST_CASE("a walk that forgets the last line, or goes one too far, is detected") {
  auto const from_the_first_byte = [](std::byte* address, std::size_t bytes, std::size_t length,
                                      auto&& step) {
    for (std::size_t i = 0; i < bytes; i += length) {
      std::byte* const at = address + i;
      step(at - reinterpret_cast<std::uintptr_t>(at) % length);
    }
  };
  auto const by_division = [](std::byte* address, std::size_t bytes, std::size_t length, auto&& step) {
    std::byte* const first = address - reinterpret_cast<std::uintptr_t>(address) % length;
    for (std::size_t i = 0; i < bytes / length + 1; ++i) step(first + i * length);
  };
  CHECK_FALSE(visits_every_line(from_the_first_byte));
  CHECK_FALSE(visits_every_line(by_division));
}

TEST_CASE("a put past the cache changes the bytes it names and no others, at every alignment and length") {
  constexpr std::size_t most = 200;
  constexpr std::size_t around = 64;
  static page memory;
  static page expected;
  std::vector<std::byte> source(most + 8);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 7 + 1);
  std::size_t wrong = 0;
  for (std::size_t alignment = 0; alignment < line; ++alignment) {
    for (std::size_t bytes = 0; bytes <= most; ++bytes) {
      std::memset(memory.bytes, 0xa5, sizeof memory.bytes);
      std::memcpy(expected.bytes, memory.bytes, sizeof expected.bytes);
      std::byte const* const from = source.data() + bytes % 8;
      processor::put_past(memory.bytes + around + alignment, from, bytes);
      processor::drain_all();
      std::memcpy(expected.bytes + around + alignment, from, bytes);
      wrong += std::memcmp(memory.bytes, expected.bytes, sizeof expected.bytes) != 0 ? 1 : 0;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("a put past the cache touches no other page, at either end of a page") {
  static page pages[3];
  std::byte const value[16]{std::byte{1}, std::byte{2}, std::byte{3}};
  for (std::size_t bytes = 1; bytes <= 16; ++bytes) {
    processor::put_past(pages[1].bytes, value, bytes);
    processor::put_past(pages[1].bytes + sizeof pages[1].bytes - bytes, value, bytes);
    processor::drain_stores();
    CHECK(pages[0].bytes[4095] == std::byte{0});
    CHECK(pages[2].bytes[0] == std::byte{0});
    CHECK(std::memcmp(pages[1].bytes, value, bytes) == 0);
    CHECK(std::memcmp(pages[1].bytes + sizeof pages[1].bytes - bytes, value, bytes) == 0);
    std::memset(pages[1].bytes, 0, sizeof pages[1].bytes);
  }
}

TEST_CASE("clean and drop change no value, even when they write modified lines back") {
  static page p;
  for (std::size_t i = 0; i < sizeof p.bytes; ++i) p.bytes[i] = static_cast<std::byte>(i * 3);
  processor::clean(p.bytes + 1, 1000);
  processor::drain_stores();
  p.bytes[5] = std::byte{77};
  processor::drop(p.bytes + 3, 2000);
  processor::drain_all();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < sizeof p.bytes; ++i) {
    wrong += p.bytes[i] != (i == 5 ? std::byte{77} : static_cast<std::byte>(i * 3)) ? 1 : 0;
  }
  CHECK(wrong == 0);
}

TEST_CASE("the processor's primitives can be reported, and a drop never keeps the line") {
  std::size_t const length = processor::line_bytes();
  CHECK((length >= 16 && length <= 256 && (length & (length - 1)) == 0));
  CHECK(std::strlen(processor::clean_instruction()) > 0);
  CHECK(std::strcmp(processor::drop_instruction(), "clwb") != 0);
  CHECK(std::strcmp(processor::drop_instruction(), "dc cvac") != 0);
  CHECK(std::strcmp(processor::drop_instruction(), "cbo.clean") != 0);
  MESSAGE("clean by ", std::string(processor::clean_instruction()), ", drop by ",
          std::string(processor::drop_instruction()));
}

}  // namespace
