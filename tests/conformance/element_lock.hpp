// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/detail/elements/bulk_accumulate_lock.hpp>
#include <pgas/detail/elements/element_lock.hpp>
#include <thread>

#include "make.hpp"

/// The promises of every lock that guards elements, checked on every backend whose control words can carry
/// it.
namespace pgas_test {

/// Each rank adds one to a number in `home`'s part, in three steps that the lock must keep together.
template <template <class> class Lock, class Backend, class Boot>
void count_under(Backend& b, Boot& boot, std::string_view key) {
  using lock = Lock<typename Backend::control_type>;
  constexpr int times = 60;
  // A slot and a cell before those of the lock, which the lock must not touch.
  constexpr pgas::control_words before{.slots = 1, .cells = 1};
  auto control = make_control(b, boot, std::string(key) + "c", before + lock::words());
  auto segment =
      make_segment(b, boot, std::string(key) + "s",
                   std::vector<std::size_t>(static_cast<std::size_t>(b.size()), sizeof(std::int64_t)));
  rank_t const home = b.size() - 1;
  for (int i = 0; i < times; ++i) {
    lock const hold(control, before, home);
    std::int64_t number = 0;
    segment.get({home, 0}, std::as_writable_bytes(std::span(&number, 1)));
    segment.flush_local(home);
    if (i % 4 == 0) std::this_thread::yield();
    ++number;
    segment.put({home, 0}, std::as_bytes(std::span(&number, 1)));
    segment.flush(home);
  }
  boot.fence();
  std::int64_t sum = 0;
  segment.get({home, 0}, std::as_writable_bytes(std::span(&sum, 1)));
  segment.flush_local(home);
  require_equal(sum, std::int64_t{times} * b.size(), "the sum of the additions under the lock");
  for (rank_t r = 0; r < b.size(); ++r) {
    require_equal(control.slot(r, 0, r).load(std::memory_order_acquire), pgas::word{0},
                  "a slot before those of the lock");
    require_equal(control.cell(r, 0).load(std::memory_order_acquire), pgas::word{0},
                  "a cell before those of the lock");
  }
  boot.fence();
}

/// Each rank adds to a number in `home`'s part: in three steps if it has the part alone, else in one. Each
/// modifies single elements for a while, in turn and also during the test.
template <class Backend, class Boot>
void count_in_both_modes(Backend& b, Boot& boot) {
  using modes_type = pgas::detail::bulk_accumulate_lock<typename Backend::control_type>;
  constexpr int turn = 30;
  constexpr pgas::control_words before{.slots = 1, .cells = 1};
  auto control = make_control(b, boot, "modes c", before + modes_type::words());
  auto segment = make_segment(
      b, boot, "modes s", std::vector<std::size_t>(static_cast<std::size_t>(b.size()), sizeof(std::int64_t)));
  rank_t const home = 0;
  modes_type modes(control, before);
  auto const singly = [&] { segment.template fetch_op<std::int64_t>({home, 0}, 1, pgas::op::sum{}); };
  int at_once = 0;
  int const times = 2 * turn * b.size();
  for (int i = 0; i < times; ++i) {
    if (i / turn == 2 * b.rank()) {
      modes.announce(home, false);
      singly();
      modes.withdraw_if_asked(home);
      if (i % turn == turn - 1) modes.withdraw(home);
      continue;
    }
    bool const all_in_one = modes.many_at_once(home, [&] {
      std::int64_t number = 0;
      segment.get({home, 0}, std::as_writable_bytes(std::span(&number, 1)));
      segment.flush_local(home);
      if (i % 4 == 0) std::this_thread::yield();
      ++number;
      segment.put({home, 0}, std::as_bytes(std::span(&number, 1)));
      segment.flush(home);
    });
    if (all_in_one) {
      ++at_once;
    } else {
      singly();
      modes.withdraw(home);
    }
  }
  boot.fence();
  require_equal(segment.template atomic_load<std::int64_t>({home, 0}), std::int64_t{times} * b.size(),
                "the sum of the additions in both modes");
  if (b.size() == 1) require_equal(at_once, times - turn, "combinations of many elements by a lone rank");
  boot.fence();
  // A handle that remembers the mode keeps its own rank from combining many elements until it is destroyed.
  rank_t const own = b.rank();
  bool const first = modes.many_at_once(own, [] {});
  modes.announce(own, true);
  bool const second = modes.many_at_once(own, [] {});
  modes.end_view(own);
  bool const third = modes.many_at_once(own, [] {});
  modes.announce(own, true);
  modes.withdraw_all();
  bool const fourth = modes.many_at_once(own, [] {});
  require(first && !second && third && fourth,
          "combining many elements is refused only while a user remembers the mode");
  boot.fence();
  require_equal(control.cell(own, before.cells).load(std::memory_order_acquire), pgas::word{0},
                "all have left");
  boot.fence();
  // A rank that pauses keeps the others from combining many elements until one of them asks.
  rank_t const last = b.size() - 1;
  if (last == home) return;
  auto const modify_and_pause = [&] {
    if (b.rank() == last) {
      modes.announce(home, false);
      modes.withdraw_if_asked(home);
    }
    boot.fence();
  };
  auto const home_combines_alone = [&] {
    bool alone = false;
    if (b.rank() == home) {
      alone = modes.many_at_once(home, [] {});
      modes.withdraw_all();
    }
    boot.fence();
    return alone;
  };
  modify_and_pause();
  bool const before_asking = home_combines_alone();
  modify_and_pause();
  bool const after_asking = home_combines_alone();
  require(!before_asking, "a rank that pauses before it is asked stays announced");
  require(b.rank() != home || after_asking, "a rank that was asked withdraws when it pauses");
}

TEST_CASE(
    "element modes: no update is lost while some ranks modify single elements and others combine many") {
  on_every_backend([]<class Backend>(Backend& b, auto& boot) {
    if constexpr (Backend::control_type::read_modify_write != pgas::rmw::none &&
                  pgas::atomic_segment<typename Backend::segment_type, std::int64_t, pgas::op::sum>) {
      count_in_both_modes(b, boot);
    }
  });
}

TEST_CASE("element lock: no update under it is lost, with any kind of control words") {
  on_every_backend([]<class Backend>(Backend& b, auto& boot) {
    count_under<pgas::detail::bakery_lock>(b, boot, "bakery");
    if constexpr (Backend::control_type::read_modify_write != pgas::rmw::none) {
      count_under<pgas::detail::exchange_lock>(b, boot, "exchange");
    }
  });
}

}  // namespace pgas_test
