// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <string>

#include "fence_protocol.hpp"

/// The promises of every lock protocol, checked on every backend whose control words can carry it.
namespace pgas_test {

/// One rank's state of a protocol, and three numbers in each part that stand for payload. The protocol alone
/// orders their relaxed accesses. Each number is a cell, or a slot for each rank on a backend whose cells
/// cannot be modified.
template <class Protocol, class Backend>
class lock_fixture {
 public:
  using control_type = control_for<Protocol, Backend>;
  enum payload : std::size_t { counted, writers, readers, payload_words };
  static constexpr bool has_cells = control_type::read_modify_write != pgas::rmw::none;

  template <class Boot>
  lock_fixture(Backend& b, Boot& boot, std::string const& key)
      : own_(Protocol::words(b.size())),
        control(make_control_for<Protocol>(b, boot, key + std::string(Protocol::name),
                                           own_ + payload_of(b.size()))),
        protocol(control, {}) {}

  pgas::word read(rank_t target, payload which) {
    if constexpr (has_cells) return cell_of(target, which).load(std::memory_order_relaxed);
    pgas::word all = 0;
    for (rank_t r = 0; r < control.size(); ++r) {
      auto const one = slot_of(target, which, r).load(std::memory_order_relaxed);
      all = which == counted ? std::max(all, one) : all + one;
    }
    return all;
  }
  void add(rank_t target, payload which, pgas::word value) {
    if constexpr (has_cells) {
      cell_of(target, which).fetch_add(value, std::memory_order_relaxed);
    } else {
      auto const mine = slot_of(target, which, control.rank());
      mine.store(mine.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
    }
  }
  /// Counts in two steps, so that two concurrent counts lose one.
  void count(rank_t target, random_source& rng) {
    auto const seen = read(target, counted);
    dawdle(rng);
    if constexpr (has_cells) {
      cell_of(target, counted).exchange(seen + 1, std::memory_order_relaxed);
    } else {
      slot_of(target, counted, control.rank()).store(seen + 1, std::memory_order_relaxed);
    }
  }

 private:
  static pgas::control_words payload_of(rank_t ranks) {
    if (has_cells) return {.slots = 0, .cells = payload_words};
    return {.slots = payload_words * static_cast<std::size_t>(ranks), .cells = 0};
  }
  auto cell_of(rank_t target, payload which) { return control.cell(target, own_.cells + which); }
  auto slot_of(rank_t target, payload which, rank_t writer) {
    auto const row = which * static_cast<std::size_t>(control.size());
    return control.slot(target, own_.slots + row + static_cast<std::size_t>(writer), writer);
  }

  pgas::control_words own_;

 public:
  control_type control;
  typename Protocol::template on<control_type> protocol;
};

/// Calls body(fixture, backend, bootstrap) for each protocol with locks on single parts that the backend can
/// carry.
template <class Body>
void with_each_target_lock(std::string const& key, Body const& body) {
  with_protocols<lock_protocols>([&]<class Protocol, class Backend>(Protocol, Backend& b, auto& boot) {
    if constexpr (pgas::target_lock_protocol<Protocol>) {
      lock_fixture<Protocol, Backend> f(b, boot, key);
      body(f, b, boot);
      boot.fence();
    }
  });
}

TEST_CASE("lock protocols: an exclusive holder is alone, and sees the writes of earlier holders") {
  with_each_target_lock("alone ", [](auto& f, auto& b, auto& boot) {
    random_source rng(static_cast<std::uint64_t>(b.rank()) + 1);
    pgas::no_boundary nothing;
    int const rounds = rounds_on(b, 60);
    std::vector<pgas::word> mine(static_cast<std::size_t>(b.size()));
    for (int round = 0; round < rounds; ++round) {
      auto const target = static_cast<rank_t>(rng.below(static_cast<std::size_t>(b.size())));
      hold(f.protocol, target, pgas::lock_kind::exclusive, nothing);
      f.count(target, rng);
      f.protocol.unlock(target, pgas::lock_kind::exclusive, nothing);
    }
    boot.fence();
    pgas::word all = 0;
    for (rank_t r = 0; r < b.size(); ++r) all += f.read(r, f.counted);
    require_equal(all, static_cast<pgas::word>(rounds * b.size()), "counted");
  });
}

TEST_CASE("lock protocols: no shared holder and no lock_all coincides with an exclusive holder") {
  with_each_target_lock("beside ", [](auto& f, auto& b, auto&) {
    random_source rng(static_cast<std::uint64_t>(b.rank()) + 1);
    pgas::no_boundary nothing;
    auto const read_once = [&](rank_t target) {
      f.add(target, f.readers, 1);
      require_equal(f.read(target, f.writers), pgas::word{0}, "writers beside a reader");
      dawdle(rng);
      require_equal(f.read(target, f.writers), pgas::word{0}, "writers beside a reader, later");
      f.add(target, f.readers, ~pgas::word{0});
    };
    for (int round = 0; round < rounds_on(b, 60); ++round) {
      auto const target = static_cast<rank_t>(rng.below(static_cast<std::size_t>(b.size())));
      switch (rng.below(3)) {
        case 0:
          hold(f.protocol, target, pgas::lock_kind::exclusive, nothing);
          f.add(target, f.writers, 1);
          require_equal(f.read(target, f.writers), pgas::word{1}, "writers");
          require_equal(f.read(target, f.readers), pgas::word{0}, "readers beside a writer");
          dawdle(rng);
          require_equal(f.read(target, f.readers), pgas::word{0}, "readers beside a writer, later");
          f.add(target, f.writers, ~pgas::word{0});
          f.protocol.unlock(target, pgas::lock_kind::exclusive, nothing);
          break;
        case 1:
          hold(f.protocol, target, pgas::lock_kind::shared, nothing);
          read_once(target);
          f.protocol.unlock(target, pgas::lock_kind::shared, nothing);
          break;
        default:
          f.protocol.lock_all(nothing);
          // All parts, in another order on each rank, while exclusive locks wait for some of them.
          for (rank_t i = 0; i < b.size(); ++i) {
            rank_t const one = (target + i) % b.size();
            f.protocol.trigger(one, nothing);
            read_once(one);
          }
          f.protocol.unlock_all(nothing);
      }
    }
  });
}

TEST_CASE("lock protocols: shared holders of a part and holders of lock_all coexist") {
  with_each_target_lock("together ", [](auto& f, auto& b, auto& boot) {
    pgas::no_boundary nothing;
    for (int round = 0; round < 5; ++round) {
      bool const by_all = (b.rank() + round) % 2 == 0;
      if (by_all) {
        f.protocol.lock_all(nothing);
        f.protocol.trigger(0, nothing);
      } else {
        hold(f.protocol, 0, pgas::lock_kind::shared, nothing);
      }
      boot.fence();  // no rank passes before all hold it
      if (by_all) {
        f.protocol.unlock_all(nothing);
      } else {
        f.protocol.unlock(0, pgas::lock_kind::shared, nothing);
      }
    }
  });
}

TEST_CASE("lock protocols: try_lock takes a free lock, and changes nothing when it would have to wait") {
  with_each_target_lock("try ", []<class Protocol, class B>(lock_fixture<Protocol, B>& f, B& b, auto& boot) {
    using enum pgas::lock_kind;
    pgas::no_boundary nothing;
    for (auto const held : {shared, exclusive}) {
      for (auto const wanted : {shared, exclusive}) {
        if (b.rank() == 0) hold(f.protocol, 0, held, nothing);
        boot.fence();
        if (b.rank() != 0) {
          bool const got = f.protocol.try_lock(0, wanted, nothing);
          require(!got || (held == shared && wanted == shared),
                  "a lock held in a conflicting mode is not got");
          require(got || held == exclusive || wanted == exclusive, "shared beside shared is got");
          if (got) f.protocol.unlock(0, wanted, nothing);
        }
        boot.fence();
        if (b.rank() == 0) f.protocol.unlock(0, held, nothing);
        boot.fence();
        for (rank_t r = 0; r < b.size(); ++r) {
          if (b.rank() == r) {
            bool got = f.protocol.try_lock(0, exclusive, nothing);
            // A try may overtake the release that another rank has mailed before the fence.
            while (!got && pgas::is_mailed<Protocol>) got = f.protocol.try_lock(0, exclusive, nothing);
            require(got, "a free lock is got");
            f.protocol.unlock(0, exclusive, nothing);
          }
          boot.fence();
        }
      }
    }
  });
}

TEST_CASE(
    "lock protocols: locks on several parts are held at once, and each release frees its own part only") {
  with_each_target_lock("several ", [](auto& f, auto& b, auto& boot) {
    using enum pgas::lock_kind;
    random_source rng(static_cast<std::uint64_t>(b.rank()) + 1);
    pgas::no_boundary nothing;
    int const rounds = rounds_on(b, 20);
    for (int round = 0; round < rounds; ++round) {
      for (rank_t r = 0; r < b.size(); ++r) hold(f.protocol, r, exclusive, nothing);  // all in the same order
      for (rank_t r = 0; r < b.size(); ++r) f.count(r, rng);
      for (rank_t r = 0; r < b.size(); ++r) f.protocol.unlock(r, exclusive, nothing);
    }
    boot.fence();
    for (rank_t r = 0; r < b.size(); ++r)
      require_equal(f.read(r, f.counted), static_cast<pgas::word>(rounds * b.size()), "counted");
  });
}

TEST_CASE("lock protocols: the locks of two windows, side by side in one control, do not interfere") {
  with_two_windows<lock_protocols>("side ",
                                   []<class Protocol>(Protocol, auto& one, auto& two, auto& b, auto& boot) {
                                     if constexpr (pgas::target_lock_protocol<Protocol>) {
                                       using enum pgas::lock_kind;
                                       pgas::no_boundary nothing;
                                       rank_t const last = b.size() - 1;
                                       for (int round = 0; round < rounds_on(b, 10); ++round) {
                                         if (b.rank() == last) hold(one, 0, exclusive, nothing);
                                         boot.fence();
                                         if (b.rank() == 0) {
                                           require(two.try_lock(0, exclusive, nothing),
                                                   "a lock on the part in another window does not interfere");
                                           two.unlock(0, exclusive, nothing);
                                         }
                                         boot.fence();
                                         if (b.rank() == last) one.unlock(0, exclusive, nothing);
                                         // Both at once, in the same order on each rank.
                                         hold(one, round % b.size(), exclusive, nothing);
                                         two.lock_all(nothing);
                                         two.trigger(last, nothing);
                                         one.unlock(round % b.size(), exclusive, nothing);
                                         two.unlock_all(nothing);
                                         boot.fence();
                                       }
                                     }
                                   });
}

}  // namespace pgas_test
