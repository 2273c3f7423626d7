// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "make.hpp"

/// The promises of every segment, checked on every backend.
namespace pgas_test {

template <class Backend>
std::vector<std::size_t> even_sizes(Backend const& b, std::size_t bytes) {
  return std::vector<std::size_t>(static_cast<std::size_t>(b.size()), bytes);
}

/// Bytes that tell their writer, place and round.
inline std::vector<std::byte> pattern(rank_t writer, std::size_t at, std::size_t count, unsigned round = 0) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) {
    bytes[i] =
        static_cast<std::byte>(static_cast<std::size_t>(writer) * 37 + (at + i) * 11 + round * 101 + 1);
  }
  return bytes;
}

template <class Segment>
std::vector<std::byte> got(Segment& s, pgas::location at, std::size_t count) {
  std::vector<std::byte> bytes(count, std::byte{0xEE});
  s.get(at, bytes);
  s.flush_local(at.rank);
  return bytes;
}

TEST_CASE("segment: it knows its rank, the number of ranks, and the size of each part") {
  on_every_backend<all_segments>([](auto& b, auto& boot) {
    std::vector<std::size_t> sizes;
    for (rank_t r = 0; r < b.size(); ++r) sizes.push_back(static_cast<std::size_t>((r * 5) % 3) * 100);
    auto s = make_segment(b, boot, "s", sizes);
    require_equal(s.rank(), b.rank(), "rank");
    require_equal(s.size(), b.size(), "size");
    for (rank_t r = 0; r < b.size(); ++r)
      require_equal(s.part_bytes(r), sizes[static_cast<std::size_t>(r)], "part_bytes");
  });
}

TEST_CASE("segment: each part begins at a multiple of part_alignment, whatever its size and its neighbours") {
  on_every_backend<all_segments>([](auto& b, auto& boot) {
    auto const is_aligned = [](void const* at) {
      return reinterpret_cast<std::uintptr_t>(at) % pgas::part_alignment == 0;
    };
    using segment_type = typename std::remove_cvref_t<decltype(b)>::segment_type;
    std::vector<segment_type> kept;  // their parts are no places for the next ones
    std::size_t number = 0;
    for (std::size_t const size :
         std::initializer_list<std::size_t>{1, 64, 200, 1000, 4096, 5000, 70000, 300000}) {
      std::vector<std::size_t> sizes;
      for (rank_t r = 0; r < b.size(); ++r) sizes.push_back(size + static_cast<std::size_t>(r) * 24);
      auto& s = kept.emplace_back(make_segment(b, boot, "s" + std::to_string(number++), sizes));
      if constexpr (pgas::local_segment<segment_type>)
        require(is_aligned(s.local().data()), "the own part is aligned");
      if constexpr (requires { s.own_memory(0); })
        require(is_aligned(s.own_memory(0)), "the own memory is aligned");
      for (rank_t r = 0; r < b.size(); ++r) {
        if constexpr (pgas::shared_segment<segment_type>) require(is_aligned(s.part(r)), "a part is aligned");
        if constexpr (pgas::partly_shared_segment<segment_type>)
          require(is_aligned(s.part_if_near(r)), "a near part is aligned");
      }
    }
  });
}

TEST_CASE("segment: memory is zero at first, also memory that was used before") {
  on_every_backend<all_segments>([](auto& b, auto& boot) {
    for (std::string key : {"first", "second", "third"}) {
      auto s = make_segment(b, boot, key, even_sizes(b, 5000));
      for (rank_t r = 0; r < b.size(); ++r) {
        auto const all = got(s, {r, 0}, 5000);
        require(std::all_of(all.begin(), all.end(), [](std::byte x) { return x == std::byte{}; }),
                "new memory is zero");
      }
      boot.fence();
      s.put({b.rank(), 0}, pattern(b.rank(), 0, 5000));
      s.flush_all();
      boot.fence();
    }
  });
}

TEST_CASE("segment: every rank gets exactly the bytes that were put and flushed, at any alignment") {
  on_every_backend<all_segments>([](auto& b, auto& boot) {
    rank_t const n = b.size();
    std::size_t const share = 61;  // neither a multiple of a line nor of a word, so neighbours share lines
    std::size_t const bytes = share * static_cast<std::size_t>(n);
    auto s = make_segment(b, boot, "s", even_sizes(b, bytes));
    for (unsigned round = 0; round < 3; ++round) {
      for (rank_t r = 0; r < n; ++r) {
        std::size_t const at = static_cast<std::size_t>(b.rank()) * share;
        s.put({r, at}, pattern(b.rank(), at, share, round));
      }
      if (round == 1) {
        for (rank_t r = 0; r < n; ++r) s.flush(r);
      } else {
        s.flush_all();
      }
      boot.fence();
      for (rank_t r = 0; r < n; ++r) {
        for (rank_t writer = 0; writer < n; ++writer) {
          std::size_t const at = static_cast<std::size_t>(writer) * share;
          require(got(s, {r, at}, share) == pattern(writer, at, share, round), "every byte is its writer's");
        }
      }
      boot.fence();
    }
  });
}

TEST_CASE("segment: the source of a put may be reused after flush_local") {
  on_every_backend<all_segments>([](auto& b, auto& boot) {
    auto s = make_segment(b, boot, "s", even_sizes(b, 4096));
    rank_t const to = (b.rank() + 1) % b.size();
    std::vector<std::byte> source = pattern(b.rank(), 0, 4096);
    s.put({to, 0}, source);
    s.flush_local(to);
    std::fill(source.begin(), source.end(), std::byte{0xFF});
    s.flush(to);
    boot.fence();
    rank_t const from = (b.rank() - 1 + b.size()) % b.size();
    require(got(s, {b.rank(), 0}, 4096) == pattern(from, 0, 4096),
            "the bytes are those at the time of the put");
  });
}

TEST_CASE("segment: a request completes, may be tested again, and its data have then arrived") {
  on_every_backend<all_segments>([](auto& b, auto& boot) {
    auto s = make_segment(b, boot, "s", even_sizes(b, 1000));
    rank_t const to = (b.rank() + 1) % b.size();
    auto const source = pattern(b.rank(), 7, 900);
    {
      auto put = s.rput({to, 7}, source);
      while (!put.test()) std::this_thread::yield();
      put.wait();
      require(put.test(), "a request that is done stays done");
    }
    s.flush(to);
    boot.fence();
    std::vector<std::byte> into(900);
    auto get = s.rget({to, 7}, into);
    get.wait();
    require(get.test() && into == source, "a get's destination holds the data when its request is done");
    boot.fence();
  });
}

TEST_CASE("segment: transfers of no bytes are allowed, also at the end of a part and into an empty part") {
  on_every_backend<all_segments>([](auto& b, auto& boot) {
    std::vector<std::size_t> sizes = even_sizes(b, 16);
    sizes.back() = b.size() > 1 ? 0 : 16;
    auto s = make_segment(b, boot, "s", sizes);
    for (rank_t r = 0; r < b.size(); ++r) {
      s.put({r, sizes[static_cast<std::size_t>(r)]}, {});
      s.get({r, sizes[static_cast<std::size_t>(r)]}, {});
      auto put = s.rput({r, 0}, {});
      put.wait();
      auto get = s.rget({r, 0}, {});
      get.wait();
    }
    s.flush_all();
    s.flush_local_all();
    boot.fence();
  });
}

TEST_CASE("segment: two segments have different memory") {
  on_every_backend<all_segments>([](auto& b, auto& boot) {
    auto one = make_segment(b, boot, "one", even_sizes(b, 256));
    auto two = make_segment(b, boot, "two", even_sizes(b, 256));
    rank_t const to = (b.rank() + 1) % b.size();
    one.put({to, 0}, pattern(1, 0, 256));
    two.put({to, 0}, pattern(2, 0, 256));
    one.flush_all();
    two.flush_all();
    boot.fence();
    require(got(one, {b.rank(), 0}, 256) == pattern(1, 0, 256), "the first segment holds its own bytes");
    require(got(two, {b.rank(), 0}, 256) == pattern(2, 0, 256), "the second segment holds its own bytes");
    auto moved = std::move(one);
    require(got(moved, {b.rank(), 0}, 256) == pattern(1, 0, 256), "a moved segment is the same memory");
    boot.fence();
  });
}

TEST_CASE("segment: a large part arrives whole") {
  on_every_backend<all_segments>(
      [](auto& b, auto& boot) {
        std::size_t const bytes = (std::size_t{1} << 20U) + 13;
        auto s = make_segment(b, boot, "s", even_sizes(b, bytes));
        rank_t const to = (b.rank() + 1) % b.size();
        s.put({to, 0}, pattern(b.rank(), 0, bytes));
        s.flush(to);
        boot.fence();
        require(got(s, {to, 0}, bytes) == pattern(b.rank(), 0, bytes),
                "a part of a megabyte and some bytes arrives whole");
        boot.fence();
      },
      {1, 2, 3});
}

TEST_CASE("segment: a transfer of rows reaches the places of row by row transfers, and no other") {
  on_every_backend<all_segments>([](auto& b, auto& boot) {
    auto s = make_segment(b, boot, "s", even_sizes(b, 600));
    if constexpr (pgas::strided_segment<decltype(s)>) {
      rank_t const to = (b.rank() + 1) % b.size();
      constexpr pgas::row_shape shape{.rows = 5, .row_bytes = 24};
      std::size_t const pitch = 100;
      std::size_t const private_pitch = 40;
      auto const source = pattern(b.rank(), 0, 5 * private_pitch);
      s.put_rows({to, 16}, pitch, source.data(), private_pitch, shape);
      s.flush(to);
      boot.fence();
      rank_t const from = (b.rank() - 1 + b.size()) % b.size();
      auto const written = pattern(from, 0, 5 * private_pitch);
      std::vector<std::byte> expected(600);
      for (std::size_t row = 0; row < 5; ++row) {
        for (std::size_t i = 0; i < 24; ++i)
          expected[16 + row * pitch + i] = written[row * private_pitch + i];
      }
      require(got(s, {b.rank(), 0}, 600) == expected, "put_rows changes the named places only");
      std::vector<std::byte> back(5 * private_pitch);
      s.get_rows({b.rank(), 16}, pitch, back.data(), private_pitch, shape);
      s.flush_local(b.rank());
      for (std::size_t row = 0; row < 5; ++row) {
        for (std::size_t i = 0; i < private_pitch; ++i) {
          std::size_t const at = row * private_pitch + i;
          require(back[at] == (i < 24 ? written[at] : std::byte{}), "get_rows reads the named places only");
        }
      }
      boot.fence();
    }
  });
}

TEST_CASE("segment: a put is a store on segments whose parts are reached by load and store") {
  on_every_backend<all_segments>([](auto& b, auto& boot) {
    auto s = make_segment(b, boot, "s", even_sizes(b, 128));
    if constexpr (pgas::shared_segment<decltype(s)>) {
      rank_t const to = (b.rank() + 1) % b.size();
      std::memcpy(s.part(to), pattern(b.rank(), 0, 128).data(), 128);
      boot.fence();
      rank_t const from = (b.rank() - 1 + b.size()) % b.size();
      require(got(s, {b.rank(), 0}, 128) == pattern(from, 0, 128), "a store is seen by a get");
      require(std::equal(s.local().begin(), s.local().end(), pattern(from, 0, 128).begin()),
              "local() is the own part");
      boot.fence();
    }
  });
}

TEST_CASE("segment: a near part has an address, where a store is seen by every rank; a far part has none") {
  on_every_backend<all_segments>([](auto& b, auto& boot) {
    auto s = make_segment(b, boot, "s", even_sizes(b, 128));
    if constexpr (pgas::partly_shared_segment<decltype(s)>) {
      require(s.part_if_near(b.rank()) == s.local().data(), "the own part is near");
      rank_t const to = (b.rank() + 1) % b.size();
      require((s.part_if_near(to) != nullptr) == (b.locality_of(to) != pgas::locality::remote),
              "the parts of this rank's node are near");
      if (std::byte* const part = s.part_if_near(to)) {
        std::memcpy(part, pattern(b.rank(), 0, 128).data(), 128);
      } else {
        s.put({to, 0}, pattern(b.rank(), 0, 128));
        s.flush(to);
      }
      boot.fence();
      for (rank_t r = 0; r < b.size(); ++r) {
        rank_t const from = (r - 1 + b.size()) % b.size();
        require(got(s, {r, 0}, 128) == pattern(from, 0, 128), "a store and a put are seen by a get");
      }
      boot.fence();
    }
  });
}

TEST_CASE("segment: puts in order arrive before a later change of a control word of their target") {
  on_every_backend<all_segments>([](auto& b, auto& boot) {
    auto const ranks = static_cast<std::size_t>(b.size());
    std::size_t const bytes = 4096;
    auto s = make_segment(b, boot, "s", even_sizes(b, 2 * bytes));
    if constexpr (pgas::ordered_segment<decltype(s)>) {
      auto c = make_control(b, boot, "c", {.slots = ranks, .cells = 1});
      rank_t const to = (b.rank() + 1) % b.size();
      rank_t const from = (b.rank() - 1 + b.size()) % b.size();
      for (unsigned round = 1; round <= 40; ++round) {
        s.put({to, 0}, pattern(b.rank(), 0, bytes, round));
        s.order_puts(to);
        c.slot(to, static_cast<std::size_t>(b.rank()), b.rank()).store(round, std::memory_order_release);
        c.wait_until(c.slot(b.rank(), static_cast<std::size_t>(from), from),
                     [round](pgas::word seen) { return seen == round; }, {.operation = "test"});
        auto const first = pattern(from, 0, bytes, round);
        require(std::equal(first.begin(), first.end(), s.local().begin()), "a slot came after the put");
        boot.fence();
        s.put({to, bytes}, pattern(b.rank(), bytes, bytes, round));
        s.order_puts(to);
        c.cell(to, 0).fetch_add(1, std::memory_order_release);
        c.wait_until(c.cell(b.rank(), 0), [round](pgas::word seen) { return seen == round; },
                     {.operation = "test"});
        auto const second = pattern(from, bytes, bytes, round);
        require(std::equal(second.begin(), second.end(), s.local().begin() + bytes),
                "a read-modify-write came after the put");
        boot.fence();
      }
    }
  });
}

TEST_CASE("segment: atomic operations by the processor on a near part lose no update to those of far ranks") {
  on_every_backend<all_segments>([](auto& b, auto& boot) {
    auto s = make_segment(b, boot, "s", even_sizes(b, 64));
    if constexpr (pgas::partly_shared_segment<decltype(s)>) {
      constexpr int times = 300;
      for (int i = 0; i < times; ++i) {
        if (std::byte* const part = s.part_if_near(0)) {
          std::atomic_ref(*reinterpret_cast<std::int64_t*>(part)).fetch_add(1, std::memory_order_acq_rel);
        } else {
          s.template fetch_op<std::int64_t>({0, 0}, 1, pgas::op::sum{});
        }
      }
      s.flush_all();
      boot.fence();
      require_equal(s.template atomic_load<std::int64_t>({0, 0}), std::int64_t{times} * b.size(),
                    "the sum of all");
      boot.fence();
    }
  });
}

TEST_CASE("segment: atomic operations on one element lose no update under contention") {
  on_every_backend<all_segments>([](auto& b, auto& boot) {
    auto memory = make_segment(b, boot, "s", even_sizes(b, 64));
    int const times = rounds_on(b, 300);
    auto const contend = [&]<class Segment, class T>(Segment& s, std::size_t offset, T) {
      if constexpr (pgas::atomic_segment<Segment, T, pgas::op::sum>) {
        pgas::location const at{0, offset};
        for (int i = 0; i < times; ++i) {
          T const before = s.template fetch_op<T>(at, T{1}, pgas::op::sum{});
          require(before >= T{0}, "a sum of ones is not negative");
        }
        s.flush_all();
        boot.fence();
        require_equal(s.template atomic_load<T>(at), static_cast<T>(times * b.size()), "the sum of all");
        boot.fence();
        T seen = s.template atomic_load<T>(at);
        for (int i = 0; i < times; ++i) {
          for (;;) {  // compare_exchange returns the value it found, and replaced it if that was the expected
                      // one
            T const found = s.template compare_exchange<T>(at, seen, static_cast<T>(seen + 1));
            if (found == seen) break;
            seen = found;
          }
          ++seen;
        }
        boot.fence();
        require_equal(s.template atomic_load<T>(at), static_cast<T>(2 * times * b.size()),
                      "the sum of all exchanges");
        boot.fence();  // all ranks have read
        if (b.rank() == 0) s.template atomic_store<T>(at, T{5});
        boot.fence();
        require_equal(s.template fetch_op<T>(at, T{9}, pgas::op::no_op{}), T{5}, "no_op is an atomic get");
        boot.fence();
      }
    };
    contend(memory, 0, std::int64_t{});
    contend(memory, 8, double{});
    contend(memory, 16, std::int32_t{});
    contend(memory, 20, float{});
  });
}

}  // namespace pgas_test
