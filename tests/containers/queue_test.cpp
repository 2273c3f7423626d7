// SPDX-License-Identifier: BSL-1.0
// Bounded queues of a team: order, bounds, closing, bulk operations, and what an element tells of other
// memory.
// test: addresses, threads, unit containers
#include <algorithm>
#include <array>
#include <deque>
#include <iostream>
#include <map>
#include <pgas/containers/counter.hpp>
#include <pgas/containers/distributed_queue.hpp>
#include <vector>

#include "support/where_cells_are.hpp"

using namespace pgas_test;
using pgas::make_inbox;
using pgas::make_queue;

namespace pgas_test::queue_suite {

/// An element of 100 bytes: who pushed it, its number there, and bytes that follow from the two.
struct parcel {
  std::int32_t from = 0;
  std::int32_t number = 0;
  std::array<std::int32_t, 23> filler{};

  static parcel of(rank_t from, std::int32_t number) {
    parcel p{from, number, {}};
    for (std::size_t i = 0; i < p.filler.size(); ++i) p.filler[i] = from * 7919 + number * 31 + int(i);
    return p;
  }
  friend bool operator==(parcel const&, parcel const&) = default;
};
static_assert(sizeof(parcel) == 100);

/// Takes note of popped elements: each must be whole, and the next of its rank among those noted here.
class order_by_rank {
 public:
  void note(parcel const& p) {
    require(p == parcel::of(p.from, p.number), "an element is whole");
    auto const [last, is_first] = last_.emplace(p.from, -1);
    require(p.number > last->second, "a rank's elements are popped in their order");
    last->second = p.number;
    ++noted_;
    sum_ += p.from * 1'000'000 + p.number;
  }
  [[nodiscard]] long noted() const { return noted_; }
  [[nodiscard]] long sum() const { return sum_; }

 private:
  std::map<rank_t, std::int32_t> last_;
  long noted_ = 0;
  long sum_ = 0;
};

/// Pushes numbered elements, one or many at a time.
template <class Queue>
void push_all(Queue& queue, rank_t self, std::int32_t count, random_source& rng) {
  for (std::int32_t i = 0; i < count;) {
    std::vector<parcel> some;
    std::size_t const many = rng.one_in(3) ? 1 + rng.below(5) : 1;
    for (; some.size() < many && i < count; ++i) some.push_back(parcel::of(self, i));
    if (some.size() == 1 && rng.one_in(2)) {
      require(queue.try_push(some[0]) || queue.push(some[0]), "one is pushed");
    } else {
      require_equal(queue.push(std::span<parcel const>(some)), some.size(), "all are pushed");
    }
    dawdle(rng);
  }
}
/// Pops until the queue is closed and empty.
template <class Queue>
order_by_rank pop_all(Queue& queue, random_source& rng) {
  order_by_rank order;
  std::array<parcel, 4> some;
  for (;;) {
    if (rng.one_in(3)) {
      if (auto const one = queue.try_pop()) order.note(*one);
    }
    std::size_t const n = queue.pop(std::span(some).first(1 + rng.below(4)));
    if (n == 0) return order;
    for (std::size_t i = 0; i < n; ++i) order.note(some[i]);
    dawdle(rng);
  }
}

/// Ranks below `pushers` push, the others pop, or the one pops that may; then all elements must have come
/// once.
template <class Team, class Queue>
void pass_all(Team& team, Queue queue, rank_t pushers, bool pops, std::int32_t count, std::uint64_t seed) {
  random_source rng(seed * 64 + static_cast<std::uint64_t>(team.rank()));
  auto const none = order_by_rank();
  auto ended = pgas::make_counter(team);
  if (team.rank() < pushers) {
    push_all(queue, team.rank(), count, rng);
    if (ended.fetch_add() == pushers - 1) queue.close();
  }
  order_by_rank const got = pops ? pop_all(queue, rng) : none;
  long sum = 0;
  for (rank_t r = 0; r < pushers; ++r) {
    for (std::int32_t i = 0; i < count; ++i) sum += r * 1'000'000 + i;
  }
  require_equal(team.all_reduce(got.noted()), long{pushers} * count, "the number of popped elements");
  require_equal(team.all_reduce(got.sum()), sum, "the elements themselves");
  require_equal(queue.size(), 0U, "what is left");
  team.barrier();
}

}  // namespace pgas_test::queue_suite
using namespace pgas_test::queue_suite;

TEST_CASE("queue: an inbox gets every element of every rank once, each rank's in order") {
  where_cells_are(
      [seed = next_seed()](auto& team) {
        auto const count = rounds_on(team.state()->backend, 30);
        rank_t const last = team.size() - 1;
        for (std::size_t const capacity : {1U, 2U, 7U}) {
          pass_all(team, make_inbox<parcel>(team, capacity, last), last, team.rank() == last, count, seed);
        }
      },
      {2, 3, 5});
}

TEST_CASE("queue: ranks that pop from one queue get every element once, each rank's in order") {
  where_cells_are(
      [seed = next_seed()](auto& team) {
        auto const count = rounds_on(team.state()->backend, 30);
        rank_t const half = team.size() / 2;
        for (auto const cells : {pgas::cells_at::home, pgas::cells_at::all_ranks}) {
          for (std::size_t const capacity : {1U, 5U}) {
            pass_all(team, make_queue<parcel>(team, {.capacity = capacity, .home = half, .cells = cells}),
                     half, team.rank() >= half, count, seed);
          }
        }
      },
      {2, 4, 5});
}

TEST_CASE("queue: a queue of one rank does what a serial queue does, in bulk and one by one") {
  where_cells_are(
      [seed = next_seed()](auto& team) {
        random_source rng(seed);
        auto const compare = [&](auto queue, std::size_t capacity) {
          std::deque<int> serial;
          int next = 0;
          for (int step = rounds_on(team.state()->backend, 300); step > 0; --step) {
            std::vector<int> some(1 + rng.below(capacity + 2));
            if (rng.one_in(2)) {
              for (auto& each : some) each = next++;
              std::size_t const room = std::min(some.size(), capacity - serial.size());
              if (some.size() == 1) {
                require_equal(queue.try_push(some[0]), room == 1, "one is pushed if there is room");
              } else {
                require_equal(queue.try_push(std::span<int const>(some)), room, "those with room are pushed");
              }
              serial.insert(serial.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(room));
            } else {
              std::size_t const ready = std::min(some.size(), serial.size());
              if (some.size() == 1) {
                auto const one = queue.try_pop();
                require_equal(one.has_value(), ready == 1, "one is popped if there is one");
                if (one) some[0] = *one;
              } else {
                require_equal(queue.try_pop(std::span(some)), ready, "those that are there are popped");
              }
              require(
                  std::equal(some.begin(), some.begin() + static_cast<std::ptrdiff_t>(ready), serial.begin()),
                  "the oldest elements are popped");
              serial.erase(serial.begin(), serial.begin() + static_cast<std::ptrdiff_t>(ready));
            }
            require_equal(queue.size(), serial.size(), "the size");
          }
        };
        for (std::size_t const capacity : {1U, 3U, 8U}) {
          compare(make_inbox<int>(team, capacity), capacity);
          compare(make_queue<int>(team, {.capacity = capacity}), capacity);
          compare(make_queue<int>(team, {.capacity = capacity, .cells = pgas::cells_at::all_ranks}),
                  capacity);
        }
      },
      {1});
}

TEST_CASE("queue: a bulk push stays together where it did not wait, also over the end of the ring") {
  where_cells_are(
      [](auto& team) {
        for (auto const cells : {pgas::cells_at::home, pgas::cells_at::all_ranks}) {
          auto queue = make_queue<int>(team, {.capacity = 5, .cells = cells});
          for (int lap = 0; lap < 8; ++lap) {
            if (team.rank() == lap % team.size()) {
              std::array const three{lap, lap + 100, lap + 200};
              require_equal(queue.try_push(std::span<int const>(three)), 3U, "three are pushed");
            }
            team.barrier();
            if (team.rank() == (lap + 1) % team.size()) {
              std::array<int, 5> got{};
              require_equal(queue.try_pop(std::span(got)), 3U, "three are popped");
              require(got[0] == lap && got[1] == lap + 100 && got[2] == lap + 200, "in their order");
            }
            team.barrier();
          }
        }
      },
      {1, 3});
}

TEST_CASE("queue: a push to a full queue waits until an element has been popped") {
  where_cells_are(
      [](auto& team) {
        auto const fill = [&](auto queue) {
          rank_t const other = team.size() - 1;
          if (team.rank() == other) {
            for (int i = 0; i < 3; ++i) require(queue.try_push(i), "there is room");
            require(!queue.try_push(3), "the queue is full");
            team.barrier();
            require(queue.push(3), "a push waits for room");
            require(queue.push(4), "a push waits for room");
          } else {
            team.barrier();
          }
          if (team.rank() == 0) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the other rank waits by then
            for (int i = 0; i < 5; ++i) require_equal(*queue.pop(), i, "an element");
          }
          team.barrier();
        };
        fill(make_inbox<int>(team, 3));
        fill(make_queue<int>(team, {.capacity = 3}));
        fill(make_queue<int>(team, {.capacity = 3, .home = 1, .cells = pgas::cells_at::all_ranks}));
      },
      {2, 3});
}

TEST_CASE("queue: a closed queue gives its elements, and then nothing, on every rank that pops") {
  where_cells_are(
      [](auto& team) {
        auto queue = make_queue<int>(team, {.capacity = 4});
        if (team.rank() == 0) {
          require_equal(queue.push(std::span<int const>(std::array{1, 2, 3})), 3U, "three are pushed");
          queue.close();
          queue.close();  // a second time does nothing
          require(!queue.push(4) && !queue.try_push(4), "a closed queue takes no element");
        }
        int got = 0;
        int sum = 0;
        while (auto const one = queue.pop()) ++got, sum += *one;
        require(queue.is_closed(), "the queue is closed");
        require_equal(team.all_reduce(got), 3, "the elements that were popped");
        require_equal(team.all_reduce(sum), 6, "their sum");
        team.barrier();
      },
      {1, 2, 5});
}

TEST_CASE("queue: closing a queue ends the waits of ranks that pop and of ranks that push") {
  where_cells_are(
      [](auto& team) {
        auto empty = make_queue<int>(team, {.capacity = 2, .home = 1});
        auto full = make_inbox<int>(team, 1, 0);
        if (team.rank() == 0) {
          require(full.push(1), "there is room");
          team.barrier();
          std::this_thread::sleep_for(std::chrono::milliseconds(3));  // most others wait by then
          empty.close();
          full.close();
        } else {
          team.barrier();
          if (team.rank() % 2 == 0) {
            require(!empty.pop().has_value(), "the wait for an element ends");
          } else {
            require(!full.push(2), "the wait for room ends");
          }
        }
        team.barrier();
        if (team.rank() == 0) require_equal(*full.pop(), 1, "the element in the closed inbox");
        team.barrier();
      },
      {2, 4});
}

TEST_CASE("queue: a rank that pops an element finds what was flushed before its push") {
  where_cells_are(
      [](auto& team) {
        auto values = pgas::make_window<int>(team, 1);
        std::vector<decltype(make_inbox<int>(team))> inboxes;
        for (rank_t owner = 0; owner < team.size(); ++owner)
          inboxes.push_back(make_inbox<int>(team, 1, owner));
        auto const inbox_of = [&](rank_t rank) -> auto& { return inboxes[static_cast<std::size_t>(rank)]; };
        pgas::lock_all epoch{values};
        // A token goes around; each rank that gets it increments the values of all ranks.
        if (team.rank() == 0) inbox_of(0).push(0);
        for (int round = rounds_on(team.state()->backend, 20); round > 0; --round) {
          int const token = *inbox_of(team.rank()).pop();
          for (rank_t r = 0; r < team.size(); ++r) {
            require_equal(epoch.get(r, 0), token, "the value that the last holder has left");
            epoch.put(r, 0, token + 1);
            epoch.flush(r);
          }
          inbox_of((team.rank() + 1) % team.size()).push(token + 1);
        }
        epoch.close();
        team.barrier();
      },
      {1, 2, 3});
}

TEST_CASE("queue: a wait that goes past its deadline, or in which all ranks are, ends in an error") {
  for_each_model<std::tuple<process_model, loopback_model, scc_model>>([]<class Model>(Model) {
    on<Model>(2, [](auto& team) {
      auto queue = make_queue<int>(team, {.capacity = 1});
      auto const soon = [&] { return team.now() + std::chrono::milliseconds(5); };
      if (team.rank() == 0) {
        require_error(errc::timed_out, {"pop"}, [&] { static_cast<void>(queue.pop(soon())); });
        require(queue.push(1), "there is room");
        require_error(errc::timed_out, {"push"}, [&] { queue.push(2, soon()); });
      }
      team.barrier();
    });
    for (rank_t const ranks : {1, 2}) {
      auto const e = error_of<Model>(ranks, [](auto& team) {
        auto queue = make_queue<int>(team);
        static_cast<void>(queue.pop());
      });
      REQUIRE_MESSAGE(e.has_value(), Model::name());
      CHECK_MESSAGE(e->code() == pgas::make_error_code(errc::deadlock),
                    Model::name() << ": " << std::string(e->what()));
    }
  });
}

TEST_CASE("queue: a wrong capacity, home or rank gets an error that says so") {
  for_each_model_with_cells([]<class Model>(Model) {
    if (!can_have<typename Model::backend>(2)) return;
    on<Model>(2, [](auto& team) {
      require_error(errc::invalid_argument, {"make_queue", "without cells"},
                    [&] { static_cast<void>(make_queue<int>(team, {.capacity = 0})); });
      require_error(errc::mismatch, {"make_inbox", "as the capacity"}, [&] {
        static_cast<void>(make_inbox<int>(team, static_cast<std::size_t>(team.rank()) + 1));
      });
      require_error(errc::out_of_range, {"make_inbox", "rank 2"},
                    [&] { static_cast<void>(make_inbox<int>(team, 1, 2)); });
      auto inbox = make_inbox<int>(team, 1, 1);
      if (team.rank() == 0) {
        require_error(errc::wrong_order, {"rank 0", "try_pop", "only rank 1"},
                      [&] { static_cast<void>(inbox.try_pop()); });
      }
      team.barrier();
    });
  });
}
