// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "make.hpp"

/// The promises of every control, checked on every backend.
namespace pgas_test {

TEST_CASE("control: words are zero at first, and none overlaps another") {
  on_every_backend([](auto& b, auto& boot) {
    constexpr pgas::control_words words{.slots = 3, .cells = 2};
    auto c = make_control(b, boot, "c", words);
    require_equal(c.rank(), b.rank(), "rank");
    require_equal(c.size(), b.size(), "size");
    rank_t const self = b.rank();
    for (rank_t owner = 0; owner < b.size(); ++owner) {
      for (std::size_t i = 0; i < words.slots; ++i) {
        require_equal(c.slot(owner, i, owner).load(std::memory_order_acquire), 0U, "a slot");
      }
      for (std::size_t i = 0; i < words.cells; ++i) {
        require_equal(c.cell(owner, i).load(std::memory_order_acquire), 0U, "a cell");
      }
    }
    boot.fence();
    auto const mark = [](rank_t owner, std::size_t i) {
      return static_cast<pgas::word>(owner) * 100 + i + 1;
    };
    for (std::size_t i = 0; i < words.slots; ++i) {
      c.slot(self, i, self).store(mark(self, i), std::memory_order_release);
    }
    for (std::size_t i = 0; i < words.cells; ++i)
      c.cell(self, i).reset_unshared(mark(self, 50 + i), std::memory_order_relaxed);
    boot.fence();
    for (rank_t owner = 0; owner < b.size(); ++owner) {
      for (std::size_t i = 0; i < words.slots; ++i) {
        require_equal(c.slot(owner, i, owner).load(std::memory_order_acquire), mark(owner, i),
                      "a slot after stores");
      }
      for (std::size_t i = 0; i < words.cells; ++i) {
        require_equal(c.cell(owner, i).load(std::memory_order_acquire), mark(owner, 50 + i),
                      "a cell after resets");
      }
    }
    boot.fence();
  });
}

TEST_CASE("control: a token travels through slots of the next rank hundreds of times") {
  on_every_backend([](auto& b, auto& boot) {
    auto c = make_control(b, boot, "c", {.slots = 1, .cells = 0});
    rank_t const next = (b.rank() + 1) % b.size();
    rank_t const previous = (b.rank() - 1 + b.size()) % b.size();
    if (b.size() == 1) return;
    for (pgas::word round = 1; round <= rounds_on(b, pgas::word{320}); ++round) {
      if (b.rank() == 0) c.slot(next, 0, 0).store(round, std::memory_order_release);
      pgas::word const seen =
          c.wait_until(c.slot(b.rank(), 0, previous), [round](pgas::word w) { return w >= round; },
                       {.operation = "token", .awaited = pgas::group(&previous, 1)});
      require_equal(seen, round, "wait_until returns the value that satisfied it");
      if (b.rank() != 0) c.slot(next, 0, b.rank()).store(round, std::memory_order_release);
    }
  });
}

TEST_CASE("control: a load that sees a release store also sees the writer's earlier stores") {
  on_every_backend([](auto& b, auto& boot) {
    auto c = make_control(b, boot, "c", {.slots = 5, .cells = 0});
    rank_t const writer = 0;
    for (pgas::word round = 1; round <= rounds_on(b, pgas::word{320}); ++round) {
      if (b.rank() == writer) {
        for (rank_t to = 1; to < b.size(); ++to) {
          for (std::size_t i = 0; i < 3; ++i)
            c.slot(to, i, writer).store(round * 10 + i, std::memory_order_relaxed);
          c.slot(to, 3, writer).store(round, std::memory_order_release);
        }
        for (rank_t from = 1; from < b.size(); ++from) {
          c.wait_until(c.slot(from, 4, from), [round](pgas::word w) { return w == round; },
                       {.operation = "answer", .awaited = pgas::group(&from, 1)});
        }
      } else {
        c.wait_until(c.slot(b.rank(), 3, writer), [round](pgas::word w) { return w >= round; },
                     {.operation = "message", .awaited = pgas::group(&writer, 1)});
        for (std::size_t i = 0; i < 3; ++i) {
          require_equal(c.slot(b.rank(), i, writer).load(std::memory_order_relaxed), round * 10 + i,
                        "the message");
        }
        c.slot(b.rank(), 4, b.rank()).store(round, std::memory_order_release);
      }
    }
  });
}

TEST_CASE("control: read-modify-writes of one cell by all ranks lose nothing") {
  on_every_backend([](auto& b, auto& boot) {
    auto c = make_control(b, boot, "c", {.slots = 0, .cells = 4});
    if constexpr (decltype(c)::read_modify_write != pgas::rmw::none) {
      pgas::word const times = rounds_on(b, pgas::word{320});
      auto const n = static_cast<pgas::word>(b.size());
      auto const self = static_cast<pgas::word>(b.rank());
      rank_t const owner = b.size() - 1;
      std::vector<pgas::word> seen;
      for (pgas::word i = 0; i < times; ++i) {
        seen.push_back(c.cell(owner, 0).fetch_add(1, std::memory_order_acq_rel));
        c.cell(owner, 1).fetch_xor(pgas::word{1} << self, std::memory_order_acq_rel);
        pgas::word expected = c.cell(owner, 2).load(std::memory_order_acquire);
        while (!c.cell(owner, 2).compare_exchange(expected, expected + 2, std::memory_order_acq_rel)) {}
      }
      for (std::size_t i = 1; i < seen.size(); ++i)
        require(seen[i] > seen[i - 1], "fetch_add returns the old value");
      boot.fence();
      require_equal(c.cell(owner, 0).load(std::memory_order_acquire), times * n, "sum");
      require_equal(c.cell(owner, 1).load(std::memory_order_acquire), pgas::word{0},
                    "an even number of changes");
      require_equal(c.cell(owner, 2).load(std::memory_order_acquire), 2 * times * n, "compare_exchange");
      boot.fence();
      // exchange: each rank leaves a token and takes one; at the end each token is in exactly one place.
      pgas::word const mine = c.cell(owner, 3).exchange(self + 1, std::memory_order_acq_rel);
      c.cell(owner, 0).fetch_add(mine, std::memory_order_acq_rel);
      boot.fence();
      pgas::word const last = c.cell(owner, 3).load(std::memory_order_acquire);
      require_equal(c.cell(owner, 0).load(std::memory_order_acquire) + last, times * n + n * (n + 1) / 2,
                    "tokens");
      boot.fence();
    }
  });
}

TEST_CASE("control: a cell may serve as a lock") {
  on_every_backend([](auto& b, auto& boot) {
    auto c = make_control(b, boot, "c", {.slots = 0, .cells = 2});
    if constexpr (decltype(c)::read_modify_write != pgas::rmw::none) {
      auto const counter = c.cell(0, 1);  // counted in two steps by the holder of the lock
      for (int i = 0; i < rounds_on(b, 100); ++i) {
        while (c.cell(0, 0).exchange(1, std::memory_order_acquire) != 0) {
          c.wait_until(c.cell(0, 0), [](pgas::word w) { return w == 0; }, {.operation = "lock"});
        }
        counter.exchange(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        c.cell(0, 0).exchange(0, std::memory_order_release);
      }
      boot.fence();
      require_equal(counter.load(std::memory_order_relaxed),
                    static_cast<pgas::word>(rounds_on(b, 100) * b.size()), "counted");
      boot.fence();
    }
  });
}

TEST_CASE(
    "control: the holder of a cell may release it by a reset while other ranks try in vain to take it") {
  on_every_backend([](auto& b, auto& boot) {
    auto c = make_control(b, boot, "c", {.slots = 0, .cells = 2});
    if constexpr (decltype(c)::read_modify_write != pgas::rmw::none) {
      auto const lock = c.cell(0, 0);
      auto const counter = c.cell(0, 1);  // counted in two steps by the holder of the lock
      for (int i = 0; i < rounds_on(b, 100); ++i) {
        pgas::word free = 0;
        while (!lock.compare_exchange(free, 1, std::memory_order_acquire)) {
          free = 0;
          b.check("take");
        }
        counter.exchange(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        lock.reset_unshared(0, std::memory_order_release);
      }
      boot.fence();
      require_equal(counter.load(std::memory_order_relaxed),
                    static_cast<pgas::word>(rounds_on(b, 100) * b.size()), "counted");
      boot.fence();
    }
  });
}

TEST_CASE("control: wait_any returns the first word that satisfies its condition, at any position") {
  on_every_backend([](auto& b, auto& boot) {
    constexpr std::size_t n_words = 5;
    auto c = make_control(b, boot, "c", {.slots = n_words + 1, .cells = 0});
    if (b.size() == 1) return;
    rank_t const writer = 1;
    random_source rng(7);
    for (pgas::word round = 1; round <= 100; ++round) {
      std::size_t const which = rng.below(n_words);
      if (b.rank() == writer) {
        c.slot(0, which, writer).store(round, std::memory_order_release);
        rank_t const zero = 0;
        c.wait_until(c.slot(writer, n_words, 0), [round](pgas::word w) { return w == round; },
                     {.operation = "answer", .awaited = pgas::group(&zero, 1)});
      } else if (b.rank() == 0) {
        std::vector<decltype(c.slot(0, 0, 0))> words;
        for (std::size_t i = 0; i < n_words; ++i) words.push_back(c.slot(0, i, writer));
        std::size_t const found = c.wait_any(std::span(words), [round](pgas::word w) { return w == round; },
                                             {.operation = "any", .awaited = pgas::group(&writer, 1)});
        require_equal(found, which, "the word that was stored to");
        c.slot(writer, n_words, 0).store(round, std::memory_order_release);
      }
    }
  });
}

TEST_CASE("control: a wait that reaches its deadline throws timed_out and names rank and operation") {
  on_every_backend([](auto& b, auto& boot) {
    auto c = make_control(b, boot, "never", {.slots = 1, .cells = 1});
    using namespace std::chrono_literals;
    auto const started = std::chrono::steady_clock::now();
    auto const who = "rank " + std::to_string(b.rank());
    require_error(errc::timed_out, {who, "patience"}, [&] {
      c.wait_until(c.slot(b.rank(), 0, b.rank()), [](pgas::word w) { return w == 77; },
                   {.operation = "patience", .deadline = b.now() + 30ms});
    });
    require_error(errc::timed_out, {who, "patience"}, [&] {
      std::vector<decltype(c.cell(0, 0))> words{c.cell(b.rank(), 0)};
      static_cast<void>(c.wait_any(std::span(words), [](pgas::word w) { return w == 77; },
                                   {.operation = "patience", .deadline = b.now() + 30ms}));
    });
    require(std::chrono::steady_clock::now() - started < 5s, "the wait ends soon after the deadline");
    boot.fence();
  });
}

TEST_CASE("control: a pause ends by itself and lets the other ranks run") {
  on_every_backend([](auto& b, auto& boot) {
    auto c = make_control(b, boot, "c", {.slots = 1, .cells = 0});
    // Each rank retries until the rank before it has succeeded.
    rank_t const previous = (b.rank() - 1 + b.size()) % b.size();
    for (unsigned attempt = 0;
         b.rank() != 0 && c.slot(previous, 0, previous).load(std::memory_order_acquire) == 0;)
      c.pause(attempt++, {.operation = "try"});
    c.slot(b.rank(), 0, b.rank()).store(1, std::memory_order_release);
    c.pause(1000, {.operation = "try"});  // a pause is bounded
    boot.fence();
  });
}

TEST_CASE("control: a rank that keeps retrying ends when another rank fails") {
  for_each_model<all_models>([]<class Model>(Model) {
    if (!can_have<typename Model::backend>(3)) return;
    std::string what;
    try {
      static_cast<void>(Model::backend::launch(3, [](auto&& backend, auto& boot) {
        auto mine = backend;
        auto c = make_control(mine, boot, "c", {.slots = 1, .cells = 0});
        if (mine.rank() == 1) throw std::runtime_error("lost interest");
        for (unsigned attempt = 0;; ++attempt) c.pause(attempt, {.operation = "try"});
      }));
    } catch (std::exception const& e) {
      what = e.what();
    }
    CHECK_MESSAGE(what.find("rank 1 threw: lost interest") != std::string::npos, Model::name(), ": ", what);
  });
}

TEST_CASE("control: a wait ends when the awaited rank fails") {
  for_each_model<all_models>([]<class Model>(Model) {
    if (!can_have<typename Model::backend>(3)) return;
    auto const e = error_of<Model>(3, [](auto& team) {
      if (team.rank() == 1) throw std::runtime_error("lost interest");
      team.barrier();
    });
    REQUIRE_MESSAGE(e.has_value(), Model::name());
    CHECK_MESSAGE(std::string(e->what()).find("rank 1 threw: lost interest") != std::string::npos,
                  Model::name(), ": ", std::string(e->what()));
  });
}

}  // namespace pgas_test
