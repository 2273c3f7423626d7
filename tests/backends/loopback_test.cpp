// SPDX-License-Identifier: BSL-1.0
// The promises of loopback beyond the conformance suites: order, remote completion, reachability, bounds,
// ends.
// test: only addresses, threads, unit job
#include <pgas/backends/loopback.hpp>
#include <thread>

#include <doctest/doctest.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <memory>
#include <numeric>
#include <pgas/concepts/boundary.hpp>
#include <pgas/sync/dissemination.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using pgas::bytes_in;
using pgas::errc;
using pgas::rank_t;
using pgas::word;
using backend = pgas::backends::loopback;
using bytes = std::vector<std::byte>;

// A check in a rank throws; launch carries the first exception to the test.
void require(bool condition, std::string const& sentence) {
  if (!condition) throw std::runtime_error("not true: " + sentence);
}

std::size_t at(rank_t rank) { return static_cast<std::size_t>(rank); }

bytes pattern(std::size_t count, std::size_t seed) {
  bytes made(count);
  for (std::size_t i = 0; i < count; ++i) made[i] = static_cast<std::byte>(i * 7 + i / 251 + seed * 31);
  return made;
}

/// The objects of one rank. All ranks of its team make them together.
class member {
 public:
  template <class Boot>
  member(backend b, Boot& boot) : backend_(std::move(b)) {
    pgas::control_words const words =
        fence_words() + pgas::control_words{.slots = 1 + at(size()), .cells = 0};
    auto handle = backend::handle{};
    auto const raw = std::as_writable_bytes(std::span(&handle, 1));
    if (rank() == 0) {
      handle = backend_.reserve_control(words);
      boot.put("words", raw);
    }
    boot.fence();
    boot.get("words", raw);
    words_ = std::make_unique<backend::control_type>(backend_.attach_control(handle, words, "test"));
    fence_ = std::make_unique<fence>(*words_, pgas::control_words{});
    boot.fence();
  }

  [[nodiscard]] rank_t rank() const { return backend_.rank(); }
  [[nodiscard]] rank_t size() const { return backend_.size(); }
  [[nodiscard]] backend& how() { return backend_; }

  void barrier() {
    pgas::no_boundary none;
    fence_->fence(none, "barrier");
  }
  /// Returns rank 0's number on every rank.
  word share(word mine) {
    for (rank_t to = 0; rank() == 0 && to < size(); ++to) {
      words_->slot(to, shared_slot(), 0).store(mine, std::memory_order_relaxed);
    }
    barrier();
    word const shared = words_->slot(rank(), shared_slot(), 0).load(std::memory_order_relaxed);
    barrier();
    return shared;
  }

  backend::segment_type segment(std::vector<std::size_t> const& sizes) {
    auto const handle = share(rank() == 0 ? backend_.reserve_segment(sizes) : 0);
    auto made = backend_.attach_segment(handle, sizes[at(rank())]);
    barrier();
    return made;
  }
  backend::segment_type segment(std::size_t count) {
    return segment(std::vector<std::size_t>(at(size()), count));
  }
  backend::control_type control(pgas::control_words words, std::string_view label = "words") {
    auto const handle = share(rank() == 0 ? backend_.reserve_control(words) : 0);
    auto made = backend_.attach_control(handle, words, label);
    barrier();
    return made;
  }
  backend::mailbox_type mailbox() {
    auto const handle = share(rank() == 0 ? backend_.reserve_mailbox() : 0);
    auto made = backend_.attach_mailbox(handle);
    barrier();
    return made;
  }

 private:
  using fence = pgas::sync::dissemination::on<backend::control_type>;

  [[nodiscard]] pgas::control_words fence_words() const { return pgas::sync::dissemination::words(size()); }
  [[nodiscard]] std::size_t shared_slot() const { return fence_words().slots; }

  backend backend_;
  std::unique_ptr<backend::control_type> words_;
  std::unique_ptr<fence> fence_;
};

template <class Body>
void on(rank_t ranks, Body const& body) {
  backend::launch(ranks, [&](auto&& b, auto& boot) {
    member me(b, boot);
    body(me);
    boot.fence();
  });
}

template <class Body>
pgas::error failure_of(rank_t ranks, Body const& body) {
  try {
    on(ranks, body);
  } catch (pgas::error const& e) {
    return e;
  }
  throw std::runtime_error("the job did not fail");
}

bytes got(backend::segment_type& s, pgas::location from, std::size_t count) {
  bytes into(count, std::byte{0xEE});
  s.get(from, into);
  s.flush_local(from.rank);
  return into;
}

TEST_CASE("every pair of ranks puts and gets, between parts of different sizes") {
  for (rank_t ranks : {1, 2, 3, 5}) {
    on(ranks, [](member& me) {
      std::size_t const piece = 1000;
      std::vector<std::size_t> sizes;
      for (rank_t r = 0; r < me.size(); ++r) sizes.push_back(piece * at(me.size()) + at(r));
      auto s = me.segment(sizes);
      for (rank_t r = 0; r < me.size(); ++r) {
        require(s.part_bytes(r) == sizes[at(r)], "an owner tells the size of its part");
        s.put({r, at(me.rank()) * piece}, pattern(piece, at(me.rank() + r)));
      }
      s.flush_all();
      me.barrier();
      for (rank_t r = 0; r < me.size(); ++r) {
        for (rank_t from = 0; from < me.size(); ++from) {
          require(got(s, {r, at(from) * piece}, piece) == pattern(piece, at(from + r)),
                  "a get finds the put");
        }
      }
      me.barrier();
    });
  }
}

TEST_CASE("rows of any length arrive at their places, also rows longer than a message") {
  on(2, [](member& me) {
    std::size_t const part = std::size_t{5} << 20U;
    auto s = me.segment(part);
    rank_t const other = 1 - me.rank();
    for (pgas::row_shape const shape : {pgas::row_shape{7, 3}, pgas::row_shape{3000, 1000},
                                        pgas::row_shape{3, (std::size_t{1} << 20U) + 1}}) {
      std::size_t const pitch = shape.row_bytes + 500;
      std::size_t const packed = shape.row_bytes + 1;
      auto const source = pattern(shape.rows * packed, at(me.rank()) + shape.rows);
      s.put_rows({other, 5}, pitch, source.data(), packed, shape);
      s.flush(other);
      me.barrier();
      auto const mine = pattern(shape.rows * packed, at(other) + shape.rows);
      for (std::size_t row = 0; row < shape.rows; ++row) {
        auto const local = s.local().subspan(5 + row * pitch, shape.row_bytes + 1);
        require(std::equal(local.begin(), local.end() - 1, mine.data() + row * packed),
                "a row that was put arrives");
      }
      bytes back(source.size(), std::byte{0xEE});
      s.get_rows({other, 5}, pitch, back.data(), packed, shape);
      s.flush_local(other);
      for (std::size_t row = 0; row < shape.rows; ++row) {
        auto const* const first = back.data() + row * packed;
        require(std::equal(first, first + shape.row_bytes, source.data() + row * packed),
                "a row that was got arrives");
        require(first[shape.row_bytes] == std::byte{0xEE}, "the bytes between rows keep their values");
      }
      me.barrier();
    }
  });
}

TEST_CASE("transfers of megabytes pass each other in both directions") {
  on(3, [](member& me) {
    std::size_t const big = std::size_t{5} << 20U;
    auto s = me.segment(big * 3);
    std::array<bytes, 3> into;
    for (rank_t r = 0; r < 3; ++r) s.put({r, big * at(me.rank())}, pattern(big, at(r * 3 + me.rank())));
    s.flush_all();
    me.barrier();
    for (rank_t r = 0; r < 3; ++r) {
      into[at(r)].resize(big);
      s.get({r, big * at(me.rank())}, into[at(r)]);
    }
    s.flush_local_all();
    for (rank_t r = 0; r < 3; ++r)
      require(into[at(r)] == pattern(big, at(r * 3 + me.rank())), "all bytes have arrived");
    me.barrier();
  });
}

TEST_CASE("flush is remote completion: a third rank sees the bytes after it, by any way of synchronization") {
  on(3, [](member& me) {
    auto s = me.segment(300000);
    auto c = me.control({.slots = 1, .cells = 0});
    for (word round = 1; round <= 20; ++round) {
      if (me.rank() == 0) {
        s.put({1, 0}, pattern(300000, round));
        s.flush(1);
        c.slot(2, 0, 0).store(round, std::memory_order_release);
      } else if (me.rank() == 2) {
        rank_t const zero = 0;
        c.wait_until(c.slot(2, 0, 0), [&](word w) { return w == round; },
                     {.operation = "news", .awaited = pgas::group(&zero, 1)});
        require(
            got(s, {1, 299000}, 1000) ==
                [&] {
                  auto all = pattern(300000, round);
                  return bytes(all.end() - 1000, all.end());
                }(),
            "the last bytes have arrived");
      }
      me.barrier();
    }
  });
}

TEST_CASE("a release promises the visibility of stores at third ranks too") {
  on(3, [](member& me) {
    auto c = me.control({.slots = 2, .cells = 1});
    rank_t const zero = 0;
    for (word round = 1; round <= 200; ++round) {
      if (me.rank() == 0) {
        c.slot(1, 0, 0).store(round, std::memory_order_relaxed);
        // The three ways to signal: a slot of another rank, an own slot, a cell.
        if (round % 3 == 0) c.slot(2, 1, 0).store(round, std::memory_order_release);
        if (round % 3 == 1) c.slot(0, 1, 0).store(round, std::memory_order_release);
        if (round % 3 == 2) c.cell(2, 0).exchange(round, std::memory_order_acq_rel);
      } else if (me.rank() == 2) {
        pgas::waiting_for const why{.operation = "news", .awaited = pgas::group(&zero, 1)};
        auto const here = [&](word w) { return w == round; };
        if (round % 3 == 0) c.wait_until(c.slot(2, 1, 0), here, why);
        if (round % 3 == 1) c.wait_until(c.slot(0, 1, 0), here, why);
        if (round % 3 == 2) c.wait_until(c.cell(2, 0), here, why);
        require(c.slot(1, 0, 0).load(std::memory_order_relaxed) == round, "the earlier store is visible");
      }
      me.barrier();
    }
  });
}

TEST_CASE("of two ranks that store and then load the other's word, one sees the other's store") {
  on(2, [](member& me) {
    auto c = me.control({.slots = 2, .cells = 1});
    rank_t const other = 1 - me.rank();
    for (word round = 1; round <= 150; ++round) {
      // Both words belong to rank 0: the own, direct way for one rank, a message for the other.
      c.slot(0, at(me.rank()), me.rank()).store(round, std::memory_order_seq_cst);
      bool const saw = c.slot(0, at(other), other).load(std::memory_order_seq_cst) == round;
      if (saw) c.cell(0, 0).fetch_add(1, std::memory_order_acq_rel);
      me.barrier();
      if (me.rank() == 0)
        require(c.cell(0, 0).exchange(0, std::memory_order_acquire) >= 1, "one rank saw the other's store");
      me.barrier();
    }
  });
}

template <class T>
void contend(member& me, backend::segment_type& s) {
  static_assert(pgas::atomic_segment<backend::segment_type, T, pgas::op::sum>);
  pgas::location const sum{0, 0};
  pgas::location const swaps{0, 8};
  pgas::location const others{0, 16};
  constexpr int times = 30;  // small enough for a signed byte to count the additions of three ranks
  T seen{};
  for (int i = 0; i < times; ++i) {
    static_cast<void>(s.fetch_op<T>(sum, T{1}, pgas::op::sum{}));
    for (;;) {
      T const found = s.compare_exchange<T>(swaps, seen, static_cast<T>(seen + T{1}));
      if (std::exchange(seen, found) == found) break;
    }
  }
  me.barrier();
  T const all = static_cast<T>(times * me.size());
  require(s.atomic_load<T>(sum) == all && s.atomic_load<T>(swaps) == all, "no addition is lost");
  me.barrier();
  if (me.rank() == me.size() - 1) {  // the operations one by one, as messages if there is another rank
    s.atomic_store<T>(others, T{6});
    auto const apply = [&](T value, auto op, T after) {
      T const before = s.atomic_load<T>(others);
      require(s.fetch_op<T>(others, value, op) == before, "the old value is returned");
      require(s.atomic_load<T>(others) == after, "the element has the new value");
    };
    apply(T{7}, pgas::op::product{}, T{42});
    apply(T{40}, pgas::op::min{}, T{40});
    apply(T{50}, pgas::op::max{}, T{50});
    apply(T{9}, pgas::op::no_op{}, T{50});
    apply(T{5}, pgas::op::replace{}, T{5});
    if constexpr (std::is_integral_v<T>) {
      apply(T{6}, pgas::op::bit_and{}, T{4});
      apply(T{3}, pgas::op::bit_or{}, T{7});
      apply(T{2}, pgas::op::bit_xor{}, T{5});
    }
    if constexpr (std::is_signed_v<T>) {
      s.atomic_store<T>(others, static_cast<T>(-3));
      apply(T{2}, pgas::op::min{}, static_cast<T>(-3));
      apply(T{1}, pgas::op::sum{}, static_cast<T>(-2));
    }
  }
  me.barrier();
  if (me.rank() == 0) std::fill_n(s.local().begin(), 24, std::byte{});
  me.barrier();
}

TEST_CASE("atomics work on elements of every kind, with the owner among the competing ranks") {
  for (rank_t ranks : {1, 3}) {
    on(ranks, [](member& me) {
      auto s = me.segment(64);
      contend<std::int8_t>(me, s);
      contend<std::int16_t>(me, s);
      contend<std::int32_t>(me, s);
      contend<std::int64_t>(me, s);
      contend<std::uint8_t>(me, s);
      contend<std::uint16_t>(me, s);
      contend<std::uint32_t>(me, s);
      contend<std::uint64_t>(me, s);
      contend<char>(me, s);
      contend<long long>(me, s);
      contend<float>(me, s);
      contend<double>(me, s);
    });
  }
}

TEST_CASE("a rank that only computes can be reached") {
  std::atomic<bool> reached{false};  // the test's own word: the computation may end
  on(2, [&](member& me) {
    auto s = me.segment(1000);
    auto c = me.control({.slots = 0, .cells = 1});
    if (me.rank() == 0) {
      while (!reached.load()) {}
      require(s.local()[0] == std::byte{9}, "the value put in the meantime has arrived");
    } else {
      s.put({0, 0}, bytes(1000, std::byte{9}));
      s.flush(0);
      require(got(s, {0, 999}, 1) == bytes{std::byte{9}}, "a get is answered");
      require(c.cell(0, 0).fetch_add(3, std::memory_order_acq_rel) == 0,
              "a change of a control word is answered");
      require(s.fetch_op<std::int32_t>({0, 500}, 1, pgas::op::sum{}) == 0x09090909,
              "a change of an element is answered");
      reached.store(true);
    }
    me.barrier();
  });
}

TEST_CASE("requests are asynchronous, and their bytes arrive in the test or wait that completes them") {
  on(2, [](member& me) {
    std::size_t const big = std::size_t{3} << 20U;
    auto s = me.segment(big);
    rank_t const other = 1 - me.rank();
    bytes source = pattern(big, at(me.rank()));
    auto put = s.rput({other, 0}, source);
    while (!put.test()) std::this_thread::yield();
    me.barrier();
    bytes into(big);
    auto get = s.rget({other, 0}, into);
    auto moved = std::move(get);
    while (!moved.test()) std::this_thread::yield();
    require(moved.test() && into == source, "a request that is done stays done");
    bytes dropped(1000);
    { auto const unasked = s.rget({other, 0}, dropped); }
    s.flush(other);
    require(std::equal(dropped.begin(), dropped.end(), source.begin()),
            "a flush completes transfers without a wait");
    me.barrier();
  });
}

TEST_CASE("sub-teams have their own numbers, words, memory and messages at the same time") {
  on(5, [](member& me) {
    // Odd and even ranks in reverse order; the first rank of each reserves for all of them.
    std::vector<rank_t> members;
    for (rank_t r = me.size(); r-- > 0;) {
      if (r % 2 == me.rank() % 2) members.push_back(r);
    }
    auto const found = std::find(members.begin(), members.end(), me.rank());
    auto sub = me.how().sub_team(members, static_cast<rank_t>(found - members.begin()));
    auto c = me.control({.slots = 6, .cells = 0});
    auto s_handle = backend::handle{};
    auto c_handle = backend::handle{};
    auto m_handle = backend::handle{};
    std::size_t const first = static_cast<std::size_t>(me.rank() % 2) * 3;
    if (sub.rank() == 0) {
      s_handle = sub.reserve_segment(std::vector<std::size_t>(members.size(), 8));
      c_handle = sub.reserve_control({.slots = 1, .cells = 0});
      m_handle = sub.reserve_mailbox();
      for (rank_t to : members) {
        c.slot(to, first, me.rank()).store(s_handle, std::memory_order_relaxed);
        c.slot(to, first + 1, me.rank()).store(c_handle, std::memory_order_relaxed);
        c.slot(to, first + 2, me.rank()).store(m_handle, std::memory_order_relaxed);
      }
    }
    me.barrier();
    s_handle = c.slot(me.rank(), first, members[0]).load(std::memory_order_relaxed);
    c_handle = c.slot(me.rank(), first + 1, members[0]).load(std::memory_order_relaxed);
    m_handle = c.slot(me.rank(), first + 2, members[0]).load(std::memory_order_relaxed);
    auto s = sub.attach_segment(s_handle, 8);
    auto words = sub.attach_control(c_handle, {.slots = 1, .cells = 0}, "sub-team");
    auto letters = sub.attach_mailbox(m_handle);
    me.barrier();
    rank_t const next = (sub.rank() + 1) % sub.size();
    rank_t const previous = (sub.rank() + sub.size() - 1) % sub.size();
    std::uint64_t const mine = at(me.rank()) + 100;
    s.put({next, 0}, std::as_bytes(std::span(&mine, 1)));
    require(letters.try_send(next, std::as_bytes(std::span(&mine, 1))), "an empty mailbox has room");
    words.slot(next, 0, sub.rank()).store(mine, std::memory_order_release);
    word const seen = words.wait_until(words.slot(sub.rank(), 0, previous), [](word w) { return w != 0; },
                                       {.operation = "signal", .awaited = pgas::group(&previous, 1)});
    std::uint64_t here = 0;
    std::memcpy(&here, s.local().data(), sizeof here);
    auto const expected = at(sub.world_rank(previous)) + 100;
    require(seen == expected && here == expected, "the put value and the signal are the neighbour's");
    std::size_t handled = 0;
    while (handled == 0) {
      handled = letters.poll([&](rank_t from, bytes_in letter) {
        std::memcpy(&here, letter.data(), sizeof here);
        require(from == previous && here == expected, "the letter is the neighbour's");
      });
    }
    me.barrier();
  });
}

TEST_CASE("launch throws the first failure, and every wait ends with it") {
  for (int way = 0; way < 5; ++way) {
    CAPTURE(way);
    auto const e = failure_of(3, [&](member& me) {
      auto s = me.segment(100);
      auto c = me.control({.slots = 1, .cells = 1});
      auto m = me.mailbox();
      if (me.rank() == 1) throw std::runtime_error("the milk is sour");
      rank_t const one = 1;
      pgas::waiting_for const why{.operation = "milk", .awaited = pgas::group(&one, 1)};
      auto const never = [](word w) { return w == 77; };
      bytes into(100);
      switch (way) {
        case 0:
          me.barrier();
          break;
        case 1:
          c.wait_until(c.slot(me.rank(), 0, 1), never, why);
          break;
        case 2:
          c.wait_until(c.cell(1, 0), never, why);
          break;
        case 3:
          for (;;) me.how().check("milk"), static_cast<void>(m.poll([](rank_t, bytes_in) {}));
        default:
          for (;;) s.get({1, 0}, into), s.flush_local(1);
      }
    });
    CHECK(e.rank() == 1);
    CHECK(std::string(e.what()).find("the milk is sour") != std::string::npos);
    CHECK(e.code() == pgas::make_error_code(errc::rank_failed));
  }
}

TEST_CASE("ranks that wait for each other get an error") {
  auto const e = failure_of(2, [](member& me) {
    auto c = me.control({.slots = 1, .cells = 0}, "table");
    rank_t const other = 1 - me.rank();
    // One rank polls its own word, the other that rank's word. The messages of the polls must not count as
    // progress.
    c.wait_until(c.slot(0, 0, 0), [](word w) { return w == 1; },
                 {.operation = "after you", .awaited = pgas::group(&other, 1)});
  });
  CHECK(e.code() == pgas::make_error_code(errc::deadlock));
  CHECK(std::string(e.what()).find("rank 0 waits in after you (table) for rank 1") != std::string::npos);
  CHECK(std::string(e.what()).find("rank 1 waits in after you (table) for rank 0") != std::string::npos);
}

TEST_CASE("a bad handle or a range past the end is an error of the caller, and of no other rank") {
  on(2, [](member& me) {
    auto s = me.segment(std::vector<std::size_t>{64, 10});
    auto const refused = [](errc code, auto&& act) {
      try {
        act();
      } catch (pgas::error const& e) {
        require(e.code() == pgas::make_error_code(code),
                "the error has another code: " + std::string(e.what()));
        return;
      }
      require(false, "the call throws");
    };
    if (me.rank() == 0) {
      bytes big(100);
      refused(errc::out_of_range, [&] { got(s, {1, 8}, 3); });
      refused(errc::out_of_range, [&] { got(s, {1, ~std::size_t{0} - 2}, 8); });
      refused(errc::out_of_range, [&] { s.put({1, 0}, big), s.flush(1); });
      refused(errc::out_of_range, [&] { s.rput({1, 0}, big).wait(); });
      refused(errc::out_of_range, [&] {
        s.put_rows({1, 0}, ~std::size_t{0} / 2, big.data(), 1, {3, 1}), s.flush(1);
      });
      refused(errc::out_of_range, [&] { static_cast<void>(s.atomic_load<std::int32_t>({1, 8})); });
      refused(errc::out_of_range, [&] { static_cast<void>(s.atomic_load<std::int32_t>({1, 2})); });
      s.flush_all();
      auto const handle = me.how().reserve_segment(std::vector<std::size_t>{8, 8});
      auto lonely = me.how().attach_segment(handle, 8);  // rank 1 never will
      refused(errc::wrong_order, [&] { got(lonely, {1, 0}, 8); });
      refused(errc::wrong_order, [&] { lonely.put({1, 0}, pattern(8, 0)), lonely.flush(1); });
      refused(errc::wrong_order, [&] { static_cast<void>(lonely.part_bytes(1)); });
      require(got(s, {1, 0}, 10) == bytes(10), "nothing was written");
      try {
        static_cast<void>(me.how().reserve_segment(std::vector<std::size_t>{~std::size_t{0}, 8}));
        require(false, "a segment larger than any memory is refused");
      } catch (pgas::error const& e) {
        require(e.code() == pgas::make_error_code(errc::no_space), "the error is no_space");
        require(std::string(e.what()).find("18446744073709551615 bytes were asked for") != std::string::npos,
                e.what());
      }
    }
    me.barrier();
  });
}

TEST_CASE("mailbox messages keep their order, are bounded at each receiver, and none is lost") {
  on(3, [](member& me) {
    auto m = me.mailbox();
    std::vector<unsigned> sent(3);
    std::vector<unsigned> heard(3);
    unsigned most = 0;
    auto const handler = [&](rank_t from, bytes_in letter) {
      unsigned i = 0;
      std::memcpy(&i, letter.data(), sizeof i);
      require(i == heard[at(from)]++, "letters arrive in the order of their sending");
    };
    auto const send = [&](rank_t to) {
      bool const done = m.try_send(to, std::as_bytes(std::span(&sent[at(to)], 1)));
      if (done) ++sent[at(to)];
      return done;
    };
    for (rank_t to = 0; to < 3; ++to) {
      while (send(to)) require(++most < 100, "a mailbox is full after less than 100 letters");
    }
    require(most == 3 * 16, "16 letters fit for each receiver");
    me.barrier();
    while (*std::min_element(heard.begin(), heard.end()) < 200 ||
           *std::min_element(sent.begin(), sent.end()) < 200) {
      for (rank_t to = 0; to < 3; ++to) {
        while (sent[at(to)] < 200 && send(to)) {}
      }
      if (m.poll(handler) == 0) std::this_thread::yield();
      me.how().check("letters");
    }
    try {
      static_cast<void>(m.try_send(0, bytes(m.max_message_bytes + 1)));
      require(false, "a letter that is too long is refused");
    } catch (pgas::error const& e) {
      require(e.code() == pgas::make_error_code(errc::invalid_argument), "the error is invalid_argument");
    }
    me.barrier();
  });
}

TEST_CASE("hundreds of segments are made, used to the end and destroyed, without a wait between them") {
  on(3, [](member& me) {
    rank_t const next = (me.rank() + 1) % 3;
    for (unsigned i = 0; i < 200; ++i) {
      auto s = me.segment(10'000);
      require(got(s, {next, 9000}, 1000) == bytes(1000), "new memory is zero");
      s.put({next, 9000}, pattern(1000, i));
      if (i % 2 == 0) s.flush(next);  // else a transfer under way may find the memory gone
    }
    me.barrier();
  });
}

TEST_CASE("a job leaves no descriptor and no thread, after success and after failure") {
  auto const count = [](char const* folder) {
    std::filesystem::directory_iterator const all(folder);
    return std::distance(begin(all), end(all));
  };
  on(1, [](member&) {});  // allocates everything that is made once and kept
  auto const descriptors = count("/proc/self/fd");
  auto const threads = count("/proc/self/task");
  for (rank_t ranks : {1, 2, 5}) {
    on(ranks, [](member& me) { me.barrier(); });
    static_cast<void>(failure_of(ranks, [](member& me) {
      if (me.rank() == 0) throw std::runtime_error("enough");
      me.barrier();
    }));
  }
  CHECK(count("/proc/self/fd") == descriptors);
  CHECK(count("/proc/self/task") == threads);
}

TEST_CASE(
    "ranks that all talk to each other need no descriptor, so a limit of descriptors is no limit of ranks") {
  auto const count = [] {
    std::filesystem::directory_iterator const all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  rlimit old{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &old) == 0);
  rlimit small = old;
  small.rlim_cur = 30;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &small) == 0);
  constexpr rank_t ranks = 24;
  auto const before = count();
  std::atomic<std::ptrdiff_t> during = 0;
  on(ranks, [&](member& me) {
    auto s = me.segment(8);
    for (rank_t step = 1; step < ranks; ++step) {
      s.put({(me.rank() + step) % ranks, 0}, pattern(8, 1));
      s.flush((me.rank() + step) % ranks);
    }
    me.barrier();
    if (me.rank() == 0) during = count();
    me.barrier();  // no rank goes on before rank 0 has counted
  });
  CHECK(during == before);
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &old) == 0);
}

TEST_CASE("handles that outlive their job throw, and do not hang") {
  std::unique_ptr<backend::segment_type> kept;
  on(2, [&](member& me) {
    auto s = me.segment(8);
    if (me.rank() == 0) kept = std::make_unique<backend::segment_type>(std::move(s));
    me.barrier();
  });
  CHECK_THROWS_AS(got(*kept, {1, 0}, 8), pgas::error);
}

TEST_CASE("under a launcher, loopback says that its ranks are threads of one process") {
  ::setenv("PGAS_JOB_FD", "3", 1);
  std::string what;
  try {
    on(2, [](member&) {});
  } catch (pgas::error const& e) {
    what = e.what();
    CHECK(e.code() == pgas::make_error_code(errc::unsupported));
  }
  ::unsetenv("PGAS_JOB_FD");
  CHECK(what.find("start the program itself, without pgas-run") != std::string::npos);
}

}  // namespace
