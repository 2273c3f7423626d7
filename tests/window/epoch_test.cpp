// SPDX-License-Identifier: BSL-1.0
// The promises of the three kinds of epochs, on every model.
// test: addresses, threads, each way, unit window
#include <array>
#include <atomic>
#include <chrono>
#include <pgas/global_array.hpp>
#include <span>
#include <thread>
#include <vector>

#include "support/ranks.hpp"

using namespace pgas_test;
using pgas::make_window;

namespace {

/// A value that tells its writer, round and place.
int mark(rank_t writer, int round, std::size_t at = 0) {
  return writer * 10'000 + round * 10 + static_cast<int>(at) + 1;
}

std::size_t index(rank_t rank) { return static_cast<std::size_t>(rank); }

// These name their models, so the units of single backends leave them out.
#if !defined(PGAS_TEST_ONE_BACKEND)
/// Chooses one of the members that a function lists. A single function that has all calls compiles faster
/// than a lambda for each of them.
class choice {
 public:
  explicit choice(std::size_t which) : which_(which) {}

  /// Chooses none, and collects the names.
  explicit choice(std::vector<char const*>& names) : names_(&names) {}

  /// Returns whether the next member, of this name, is the chosen one.
  bool operator()(char const* name) {
    if (names_ == nullptr) return passed_++ == which_;
    names_->push_back(name);
    return false;
  }

 private:
  std::vector<char const*>* names_ = nullptr;
  std::size_t which_ = 0;
  std::size_t passed_ = 0;
};

/// Calls the chosen member of those that an epoch of every kind has.
template <class Epoch>
void call_access(Epoch& e, choice& chosen) {
  static std::array<int, 4> some{};
  static std::span<int> const into(some);
  static std::span<int const> const from(some);
  static constexpr pgas::rows_of block{.first = 0, .rows = 2, .cols = 2, .pitch = 2};
  static constexpr pgas::opened_piece piece{.rank = 0, .first = 0, .count = 4};
  using own = pgas::own_part;
  if (chosen("to")) static_cast<void>(e.to(0));
  if (chosen("put")) e.put(0, 0, 1);
  if (chosen("put")) e.put(0, 0, from);
  if (chosen("put")) e.put(0, 0, own{.first = 0, .count = 1});
  if (chosen("put")) e.put(0, block, from);
  if (chosen("put")) e.put(0, block, from.data(), 2);
  if (chosen("put")) e.put(piece, 0, 1);
  if (chosen("put")) e.put(piece, 0, from);
  if (chosen("get")) static_cast<void>(e.get(0, 0));
  if (chosen("get")) e.get(0, 0, into);
  if (chosen("get")) e.get(0, 0, own{.first = 0, .count = 1});
  if (chosen("get")) e.get(0, block, into);
  if (chosen("get")) e.get(0, block, into.data(), 2);
  if (chosen("get")) static_cast<void>(e.get(piece, 0));
  if (chosen("get")) e.get(piece, 0, into);
  if (chosen("rput")) e.rput(0, 0, 1).wait();
  if (chosen("rput")) e.rput(0, 0, from).wait();
  if (chosen("rput")) e.rput(0, 0, own{.first = 0, .count = 1}).wait();
  if (chosen("rput")) e.rput(0, block, from).wait();
  if (chosen("rput")) e.rput(0, block, from.data(), 2).wait();
  if (chosen("rput")) e.rput(piece, 0, from).wait();
  if (chosen("rget")) e.rget(0, 0, some[0]).wait();
  if (chosen("rget")) e.rget(0, 0, into).wait();
  if (chosen("rget")) e.rget(0, 0, own{.first = 0, .count = 1}).wait();
  if (chosen("rget")) e.rget(0, block, into).wait();
  if (chosen("rget")) e.rget(0, block, into.data(), 2).wait();
  if (chosen("rget")) e.rget(piece, 0, into).wait();
  if (chosen("accumulate")) e.accumulate(0, 0, 1);
  if (chosen("accumulate")) e.accumulate(0, 0, from);
  if (chosen("accumulate")) e.accumulate(piece, 0, 1);
  if (chosen("accumulate")) e.accumulate(piece, 0, from);
  if (chosen("get_accumulate")) static_cast<void>(e.get_accumulate(0, 0, 1));
  if (chosen("get_accumulate")) e.get_accumulate(0, 0, from, into);
  if (chosen("accumulate")) e.accumulate(0, block, from);
  if (chosen("get_accumulate")) e.get_accumulate(0, block, from, into);
  if (chosen("get_accumulate")) static_cast<void>(e.get_accumulate(piece, 0, 1));
  if (chosen("get_accumulate")) e.get_accumulate(piece, 0, from, into);
  if (chosen("raccumulate")) e.raccumulate(0, 0, 1).wait();
  if (chosen("raccumulate")) e.raccumulate(0, 0, from).wait();
  if (chosen("raccumulate")) e.raccumulate(0, block, from).wait();
  if (chosen("rget_accumulate")) e.rget_accumulate(0, 0, 1, some[0]).wait();
  if (chosen("rget_accumulate")) e.rget_accumulate(0, 0, from, into).wait();
  if (chosen("rget_accumulate")) e.rget_accumulate(0, block, from, into).wait();
  if (chosen("fetch_add")) static_cast<void>(e.fetch_add(0, 0, 1));
  if (chosen("exchange")) static_cast<void>(e.exchange(0, 0, 1));
  if (chosen("compare_exchange")) static_cast<void>(e.compare_exchange(0, 0, some[0], 1));
  if (chosen("atomic_load")) static_cast<void>(e.atomic_load(0, 0));
  if (chosen("atomic_store")) e.atomic_store(0, 0, 1);
  if (chosen("operator[]")) static_cast<void>(e[pgas::global_ptr<int>{0, 0}]);
  if (chosen("flush")) e.flush(0);
  if (chosen("flush_local")) e.flush_local(0);
  if (chosen("flush_all")) e.flush_all();
  if (chosen("flush_local_all")) e.flush_local_all();
  if constexpr (pgas::array_epoch<Epoch>) {
    using box = typename Epoch::box_type;
    static std::vector<std::size_t> const list{0, 1, 2, 3};
    static std::array const mask{true, true, true, true};
    static box const all{{0}, {4}};
    if (chosen("put")) e.put(all, from);
    if (chosen("put")) e.put(0, from);
    if (chosen("put")) e.put({0}, 1);
    if (chosen("put")) e.put(list, from);
    if (chosen("put")) e.put(all, mask, from);
    if (chosen("get")) e.get(all, into);
    if (chosen("get")) e.get(0, into);
    if (chosen("get")) static_cast<void>(e.get({0}));
    if (chosen("get")) e.get(list, into);
    if (chosen("get")) e.get(all, mask, into);
    if (chosen("accumulate")) e.accumulate(all, from);
    if (chosen("accumulate")) e.accumulate(0, from);
    if (chosen("accumulate")) e.accumulate(list, from);
    if (chosen("accumulate")) e.accumulate(all, mask, from);
    if (chosen("get_accumulate")) e.get_accumulate(all, from, into);
    if (chosen("get_accumulate")) e.get_accumulate(list, from, into);
    if (chosen("get_accumulate")) e.get_accumulate(all, mask, from, into);
    if (chosen("rput")) e.rput(all, from).wait();
    if (chosen("rput")) e.rput(0, from).wait();
    if (chosen("rput")) e.rput({0}, 1).wait();
    if (chosen("rput")) e.rput(list, from).wait();
    if (chosen("rput")) e.rput(all, mask, from).wait();
    if (chosen("rget")) e.rget(all, into).wait();
    if (chosen("rget")) e.rget(0, into).wait();
    if (chosen("rget")) e.rget({0}, some[0]).wait();
    if (chosen("rget")) e.rget(list, into).wait();
    if (chosen("rget")) e.rget(all, mask, into).wait();
    if (chosen("raccumulate")) e.raccumulate(all, from).wait();
    if (chosen("raccumulate")) e.raccumulate(list, from).wait();
    if (chosen("raccumulate")) e.raccumulate(all, mask, from).wait();
    if (chosen("rget_accumulate")) e.rget_accumulate(all, from, into).wait();
    if (chosen("rget_accumulate")) e.rget_accumulate(list, from, into).wait();
    if (chosen("rget_accumulate")) e.rget_accumulate(all, mask, from, into).wait();
  }
}

/// Calls the chosen one of all members of an epoch.
template <class Epoch>
void call_member(Epoch& e, choice& chosen) {
  if constexpr (pgas::open_epoch<Epoch>) call_access(e, chosen);
  if constexpr (requires { e.close(); }) {
    if (chosen("close")) e.close();
  }
  if constexpr (requires { e.next(); }) {
    if (chosen("next")) e.next();
  }
  if constexpr (requires { e.sync(); }) {
    if (chosen("sync")) e.sync();
  }
  if constexpr (requires { e.unlock_all(); }) {
    if (chosen("close")) e.unlock_all();
  }
  if constexpr (requires { e.unlock(); }) {
    if (chosen("to")) static_cast<void>(e.to());
    if (chosen("close")) e.unlock();
  }
  if constexpr (requires { e.wait(); }) {
    if (chosen("close")) e.wait();
  }
  if constexpr (requires { e.complete(); }) {
    static std::array<int, 2> const some{};
    if (chosen("close")) e.complete();
    if (chosen("complete")) e.complete(0);
    if (chosen("put_last")) e.put_last(0, 0, 1);
    if (chosen("put_last")) e.put_last(0, 0, std::span<int const>(some));
  }
}

/// Requires that each member of an epoch of this kind is refused with its name.
template <class Epoch>
void require_refused(Epoch& e, std::string const& kind, std::string const& state) {
  std::vector<char const*> names;
  choice none(names);
  call_member(e, none);
  for (std::size_t i = 0; i < names.size(); ++i) {
    try {
      require_error(errc::wrong_order, {"rank 0: " + std::string(names[i]) + ": the epoch " + state}, [&] {
        choice one(i);
        call_member(e, one);
      });
    } catch (std::exception const& problem) {
      throw std::runtime_error(kind + ": " + names[i] + ": " + problem.what());
    }
  }
  if constexpr (requires { e.template get<0>(); }) require_refused(e.template get<0>(), kind, state);
}

/// Moves the epoch that open() returns and closes it: all members of both objects are then refused.
template <class Open>
void move_and_close(std::string const& kind, Open const& open) {
  auto from = open();
  auto to = std::move(from);
  require_refused(from, kind, "has been moved to another object");  // NOLINT(bugprone-use-after-move)
  require(!from.is_open() && to.is_open(), kind + ": the new object is open, and it alone");
  to.close();
  require_refused(to, kind, "is closed already");
  auto closed = std::move(to);
  require_refused(closed, kind, "is closed already");
}
#endif

}  // namespace

// every kind

#if !defined(PGAS_TEST_ONE_BACKEND)
TEST_CASE("every member of a closed epoch, and of one that was moved from, is refused with its name") {
  everywhere<std::tuple<self_model, scc_model>>(
      [](auto& team) {
        auto const on_memory = [](std::string const& kind, auto const& w) {
          move_and_close("fence of " + kind, [&] { return pgas::fence{w}; });
          move_and_close("lock_all of " + kind, [&] { return pgas::lock_all{w}; });
          move_and_close("lock of " + kind, [&] { return pgas::lock{w, 0, pgas::shared}; });
          move_and_close("exclusive lock of " + kind, [&] { return pgas::lock{w, 0, pgas::exclusive}; });
          {
            pgas::exposure exposed{w, {0}};
            move_and_close("access of " + kind, [&] { return pgas::access{w, {0}}; });
          }
          move_and_close("exposure of " + kind, [&] {
            pgas::exposure exposed{w, {0}};
            pgas::access{w, {0}}.complete();
            return exposed;
          });
          move_and_close("fence_all of " + kind, [&] { return pgas::fence_all{w}; });
        };
        on_memory("a window", make_window<int>(team, 4));
        on_memory("an array", pgas::make_array<int>(team, 4));
      },
      {1});
}

TEST_CASE("exposure: test() on an epoch that was moved from is refused, for the epoch may still be open") {
  everywhere<std::tuple<self_model>>(
      [](auto& team) {
        auto w = make_window<int>(team, 1);
        pgas::exposure from{w, {0}};
        auto to = std::move(from);
        require_error(errc::wrong_order, {"test", "has been moved"},
                      [&] { static_cast<void>(from.test()); });  // NOLINT(bugprone-use-after-move)
        require(!to.test(), "no rank has completed");
        pgas::access{w, {0}}.complete();
        require(to.test() && to.test(), "a test that said yes says it again");
      },
      {1});
}
#endif

// fence

TEST_CASE("fence: after closing an owner sees the values put into its part, in each of many epochs") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, index(team.size()));
    for (int round = 0; round < 20; ++round) {
      pgas::fence epoch{w};
      for (rank_t r = 0; r < team.size(); ++r) epoch.put(r, index(team.rank()), mark(team.rank(), round));
      epoch.close();
      for (rank_t r = 0; r < team.size(); ++r) {
        int const seen = w.local()[index(r)];
        require_equal(seen, mark(r, round), "the value that rank " + std::to_string(r) + " put");
      }
    }
  });
}

TEST_CASE("fence: all ranks see the values that an owner stored into its part before opening") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, 3);
    for (int round = 0; round < 20; ++round) {
      for (std::size_t i = 0; i < 3; ++i) w.local()[i] = mark(team.rank(), round, i);
      pgas::fence epoch{w};
      for (rank_t r = 0; r < team.size(); ++r) {
        for (std::size_t i = 0; i < 3; ++i)
          require_equal(epoch.get(r, i), mark(r, round, i), "the value that its owner stored");
      }
    }
  });
}

TEST_CASE("fence: next() closes one epoch and opens another") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, 1);
    rank_t const to = (team.rank() + 1) % team.size();
    w.local()[0] = team.rank();
    pgas::fence epoch{w};
    for (int hops = 0; hops < 20; ++hops) {
      int const here = epoch.get(team.rank(), 0);
      epoch.next();  // all ranks have read before any puts
      epoch.put(to, 0, here);
      epoch.next();
      require_equal(epoch.get(team.rank(), 0), (team.rank() + 20 * team.size() - hops - 1) % team.size(),
                    "the value that came round");
      epoch.next();
    }
    require(epoch.is_open(), "it is open still");
  });
}

TEST_CASE("fence: own stores, puts and gets take turns over many epochs") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, 40);
    rank_t const to = (team.rank() + 1) % team.size();
    rank_t const from = (team.rank() - 1 + team.size()) % team.size();
    for (int round = 0; round < 10; ++round) {
      for (std::size_t i = 0; i < 40; i += 2) w.local()[i] = mark(team.rank(), round, i);
      {
        pgas::fence epoch{w};
        for (std::size_t i = 1; i < 40; i += 2) epoch.put(to, i, mark(team.rank(), round, i));
        for (std::size_t i = 0; i < 40; i += 2)
          require_equal(epoch.get(to, i), mark(to, round, i), "own stores");
      }
      for (std::size_t i = 0; i < 40; ++i) {
        int const seen = w.local()[i];
        require_equal(seen, mark(i % 2 == 0 ? team.rank() : from, round, i),
                      "own stores and puts, side by side");
      }
      {
        pgas::fence epoch{w};
        for (std::size_t i = 0; i < 40; ++i) {
          require_equal(epoch.get(to, i), mark(i % 2 == 0 ? to : team.rank(), round, i),
                        "the same, seen by a get");
        }
      }
    }
  });
}

TEST_CASE("fence: hints that are true do not change results") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, 2);
    rank_t const to = (team.rank() + 1) % team.size();
    rank_t const from = (team.rank() - 1 + team.size()) % team.size();
    for (int round = 0; round < 10; ++round) {
      w.local()[0] = mark(team.rank(), round);
      {
        pgas::fence epoch{w, pgas::read_only, pgas::no_put};
        require_equal(epoch.get(to, 0), mark(to, round), "a get in a read only epoch");
      }
      {
        pgas::fence epoch{w, pgas::write_only, pgas::no_store};
        epoch.put(to, 1, mark(team.rank(), round, 1));
      }
      int const seen = w.local()[1];
      require_equal(seen, mark(from, round, 1), "a put in a write only epoch");
      {
        // The fence above was the last call, so none is needed to open.
        pgas::fence epoch{w, pgas::no_precede, pgas::no_succeed};
        require_equal(epoch.get(to, 1), mark(team.rank(), round, 1),
                      "a get in an epoch opened by the last close");
      }
    }
  });
}

TEST_CASE("fence: a window may be moved while an epoch is open, and so may the epoch") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, 1);
    pgas::fence epoch{w};
    epoch.put((team.rank() + 1) % team.size(), 0, mark(team.rank(), 1));
    auto moved_window = std::move(w);
    auto moved_epoch = std::move(epoch);
    require(!epoch.is_open(), "a moved-from epoch is closed");  // NOLINT(bugprone-use-after-move)
    moved_epoch.close();
    int const seen = moved_window.local()[0];
    require_equal(seen, mark((team.rank() - 1 + team.size()) % team.size(), 1),
                  "the value put before the moves");
  });
}

TEST_CASE("fence: epochs on two windows are independent") {
  everywhere([](auto& team) {
    auto one = make_window<int>(team, 1);
    auto two = make_window<double>(team, 1);
    rank_t const to = (team.rank() + 1) % team.size();
    rank_t const from = (team.rank() - 1 + team.size()) % team.size();
    pgas::fence first{one};
    pgas::fence second{two};
    first.put(to, 0, team.rank());
    second.put(to, 0, team.rank() + 0.5);
    first.close();
    int const seen = one.local()[0];
    require_equal(seen, from, "the first window");
    second.close();
    double const seen_too = two.local()[0];
    require_equal(seen_too, from + 0.5, "the second window");
  });
}

// access and exposure

TEST_CASE(
    "access and exposure: ranks of a ring access their neighbours round after round, by close, by destructor "
    "and by "
    "test") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, 4);
    rank_t const to = (team.rank() + 1) % team.size();
    rank_t const from = (team.rank() - 1 + team.size()) % team.size();
    for (int round = 0; round < 30; ++round) {
      w.local()[1] = mark(team.rank(), round, 1);
      if (round % 3 == 0) {
        pgas::exposure exposed{w, {from}};
        pgas::access epoch{w, {to}};
        epoch.put(to, 0, mark(team.rank(), round));
        require_equal(epoch.get(to, 1), mark(to, round, 1),
                      "the value that the target stored before it posted");
        epoch.complete();
        exposed.wait();
      } else if (round % 3 == 1) {
        pgas::exposure exposed{w, {from}};
        pgas::access epoch{w, {to}};
        auto const target = epoch.to(to);
        target.put(0, mark(team.rank(), round));
        require_equal(target.get(1), mark(to, round, 1), "the value that the target stored before it posted");
      } else {
        pgas::exposure exposed{w, {from}};
        {
          pgas::access epoch{w, {to}};
          epoch.put(to, 0, mark(team.rank(), round));
          require_equal(epoch.get(to, 1), mark(to, round, 1),
                        "the value that the target stored before it posted");
        }
        while (!exposed.test()) {
          team.state()->backend.check("test");
          std::this_thread::yield();
        }
        require(!exposed.is_open() && exposed.test(), "a test that said yes says it again");
      }
      int const seen = w.local()[0];
      require_equal(seen, mark(from, round), "the value that the neighbour put");
    }
  });
}

TEST_CASE("access and exposure: groups may be empty, contain every rank, and change") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, index(team.size()));
    random_source rng(4);
    for (int round = 0; round < 40; ++round) {
      rank_t const hub = rng.rank_below(team.size());
      bool const inward = rng.one_in(2);
      std::vector<rank_t> others;
      for (rank_t r = 0; r < team.size(); ++r) {
        if (!rng.one_in(3)) others.push_back(r);
      }
      bool const in = std::find(others.begin(), others.end(), team.rank()) != others.end();
      std::vector<rank_t> origins;
      std::vector<rank_t> targets;
      if (inward) {
        if (team.rank() == hub) origins = others;
        if (in) targets = {hub};
      } else {
        if (in) origins = {hub};
        if (team.rank() == hub) targets = others;
      }
      {
        pgas::exposure exposed{w, origins};
        pgas::access epoch{w, targets};
        for (rank_t t : targets) epoch.put(t, index(team.rank()), mark(team.rank(), round));
        epoch.complete();
        exposed.wait();
      }
      for (rank_t o : origins) {
        int const seen = w.local()[index(o)];
        require_equal(seen, mark(o, round), "the value that an origin put");
      }
    }
  });
}

TEST_CASE("access: flush_all flushes the puts to each target, and waits for no exposure") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, index(team.size()) + 1);
    std::size_t const mine = index(team.rank());
    std::vector<rank_t> all;
    for (rank_t r = 0; r < team.size(); ++r) all.push_back(r);
    for (int round = 1; round < 20; ++round) {
      pgas::access epoch{w, all};
      epoch.flush_all();  // no rank needs to have exposed its part yet
      epoch.flush_local_all();
      team.barrier();
      pgas::exposure exposed{w, all};
      for (rank_t r : all) {
        static_cast<void>(epoch.get(r, mine));  // a copy that will be out of date
        epoch.put(r, mine, mark(team.rank(), round));
      }
      epoch.flush_all();
      for (rank_t r : all) require_equal(epoch.get(r, mine), mark(team.rank(), round), "after flush_all");
      std::vector<int> into(1);
      epoch.get(all.back(), mine, into);
      epoch.flush_local_all();
      require_equal(into[0], mark(team.rank(), round), "after flush_local_all");
      epoch.complete(all.front());
      require_equal(pgas::group(epoch.open_to()).size(), all.size() - 1, "ranks that are not completed");
      epoch.flush_all();
      epoch.complete();
      exposed.wait();
    }
  });
}

TEST_CASE("access and exposure: an origin that accesses nothing still meets its targets") {
  everywhere(
      [](auto& team) {
        auto w = make_window<int>(team, 1);
        std::vector<rank_t> all;
        for (rank_t r = 0; r < team.size(); ++r) all.push_back(r);
        for (int round = 0; round < 20; ++round) {
          pgas::exposure exposed{w, all};
          pgas::access epoch{w, all};
          if (round % 2 == 0) epoch.put((team.rank() + round) % team.size(), 0, round);
          epoch.complete();
          exposed.wait();
        }
      },
      {1, 2, 3, 7, 10});
}

TEST_CASE(
    "access and exposure: a target that is completed first goes on while another target has not posted") {
  everywhere(
      [](auto& team) {
        auto w = make_window<int>(team, 1);
        auto go = make_window<int>(team, 1);
        rank_t const self = team.rank();
        for (int round = 1; round <= 10; ++round) {
          if (self == 0) {
            pgas::access epoch{w, {1, 2}};
            if (round % 2 == 0) {
              epoch.put(1, 0, round);
              epoch.complete(1);
            } else {
              epoch.put_last(1, 0, round);
            }
            require_error(errc::outside_group, {"rank 1", "completed"}, [&] { epoch.put(1, 0, 0); });
            require_error(errc::outside_group, {"rank 1", "completed"}, [&] { epoch.complete(1); });
            epoch.put(2, 0, -round);
          } else if (self == 1) {
            pgas::exposure exposed{w, {0}};
            exposed.wait();
            int const seen = w.local()[0];
            require_equal(seen, round, "the value that the origin put");
            pgas::access epoch{go, {2}};
          } else if (self == 2) {
            { pgas::exposure exposed{go, {1}}; }
            pgas::exposure exposed{w, {0}};
            exposed.wait();
            int const seen = w.local()[0];
            require_equal(seen, -round, "the value that the origin put later");
          }
        }
      },
      {3, 4});
}

TEST_CASE(
    "access and exposure: an epoch may have more targets than it stores inline, completed in any order") {
  everywhere(
      [](auto& team) {
        auto w = make_window<int>(team, index(team.size()));
        std::vector<rank_t> all;
        for (rank_t r = 0; r < team.size(); ++r) all.push_back(r);
        for (int round = 0; round < 5; ++round) {
          pgas::exposure exposed{w, all};
          {
            pgas::access epoch{w, all};
            for (rank_t k = 0; k < team.size(); k += 2) {
              rank_t const to = (team.rank() * 3 + k) % team.size();
              epoch.put(to, index(team.rank()), mark(team.rank(), round));
              epoch.complete(to);
            }
            for (rank_t k = 1; k < team.size(); k += 2) {
              epoch.put((team.rank() * 3 + k) % team.size(), index(team.rank()), mark(team.rank(), round));
            }
          }
          exposed.wait();
          for (rank_t from : all) {
            int const seen = w.local()[index(from)];
            require_equal(seen, mark(from, round), "the value that an origin put");
          }
        }
      },
      {10});
}

TEST_CASE("access and exposure: epochs on two windows may overlap") {
  everywhere([](auto& team) {
    auto one = make_window<int>(team, 1);
    auto two = make_window<int>(team, 1);
    rank_t const to = (team.rank() + 1) % team.size();
    rank_t const from = (team.rank() - 1 + team.size()) % team.size();
    for (int round = 0; round < 20; ++round) {
      pgas::exposure exposed_one{one, {from}};
      pgas::exposure exposed_two{two, {from}};
      pgas::access second{two, {to}};
      pgas::access first{one, {to}};
      second.put(to, 0, round + 100);
      first.put(to, 0, round);
      first.complete();
      exposed_one.wait();
      int const seen = one.local()[0];
      require_equal(seen, round, "the first window");
      second.complete();
      exposed_two.wait();
      int const seen_too = two.local()[0];
      require_equal(seen_too, round + 100, "the second window");
    }
  });
}

TEST_CASE("access and exposure: hints that are true do not change results") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, 2);
    rank_t const to = (team.rank() + 1) % team.size();
    rank_t const from = (team.rank() - 1 + team.size()) % team.size();
    for (int round = 0; round < 10; ++round) {
      w.local()[0] = mark(team.rank(), round);
      {
        pgas::exposure exposed{w, {from}, pgas::no_put};
        pgas::access epoch{w, {to}, pgas::read_only};
        require_equal(epoch.get(to, 0), mark(to, round), "a get in a read only epoch");
      }
      {
        pgas::exposure exposed{w, {from}, pgas::no_store};
        pgas::access epoch{w, {to}, pgas::write_only};
        epoch.put(to, 1, mark(team.rank(), round, 1));
      }
      int const seen = w.local()[1];
      require_equal(seen, mark(from, round, 1), "a put in a write only epoch");
      {
        pgas::exposure exposed{w, {from}};
        team.barrier();  // every rank has posted
        pgas::access epoch{w, {to}, pgas::no_check};
        require_equal(epoch.get(to, 1), mark(team.rank(), round, 1), "a get from a rank without a wait");
      }
    }
  });
}

TEST_CASE("access and exposure: two ranks do thousands of rounds") {
  everywhere(
      [](auto& team) {
        auto w = make_window<int>(team, 1);
        rank_t const other = team.size() - 1 - team.rank();
        for (int round = 1; round <= 2000; ++round) {
          if ((team.rank() == 0) == (round % 2 == 0)) {
            pgas::access epoch{w, {other}};
            epoch.put(other, 0, round);
          } else {
            pgas::exposure exposed{w, {other}};
            exposed.wait();
            int const seen = w.local()[0];
            require_equal(seen, round, "the ball");
          }
        }
      },
      {2});
}

// lock_all

TEST_CASE(
    "lock_all: after a flush and a barrier, other ranks see the puts, and gets return no older values") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, index(team.size()));
    pgas::lock_all epoch{w};
    for (int round = 0; round < 20; ++round) {
      rank_t const to = (team.rank() + round) % team.size();
      epoch.put(to, index(team.rank()), mark(team.rank(), round));
      if (round % 2 == 0) {
        epoch.flush(to);
      } else {
        epoch.flush_all();
      }
      team.barrier();
      rank_t const from = (team.rank() - round % team.size() + team.size()) % team.size();
      epoch.sync();
      int const seen = w.local()[index(from)];
      require_equal(seen, mark(from, round), "the value put here");
      for (rank_t r = 0; r < team.size(); ++r) {
        rank_t const its_target = (r + round) % team.size();
        if (round % 2 == 0) {
          epoch.flush(its_target);
        } else {
          epoch.flush_all();
        }
        require_equal(epoch.get(its_target, index(r)), mark(r, round), "the value put to any rank");
      }
      team.barrier();
    }
  });
}

TEST_CASE("lock_all: sync makes own stores visible to others") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, 2);
    pgas::lock_all epoch{w};
    for (int round = 0; round < 20; ++round) {
      w.local()[0] = mark(team.rank(), round);
      epoch.sync();
      team.barrier();
      epoch.sync();
      rank_t const other = (team.rank() + 1 + round) % team.size();
      require_equal(epoch.get(other, 0), mark(other, round), "the value that its owner stored");
      team.barrier();
    }
  });
}

TEST_CASE("lock_all: closing acts as flush, and opening as sync") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, index(team.size()));
    for (int round = 0; round < 10; ++round) {
      rank_t const to = (team.rank() + 1) % team.size();
      {
        pgas::lock_all epoch{w};
        epoch.put(to, index(team.rank()), mark(team.rank(), round));
      }
      team.barrier();
      {
        pgas::lock_all epoch{w};
        rank_t const from = (team.rank() - 1 + team.size()) % team.size();
        int const seen = w.local()[index(from)];
        require_equal(seen, mark(from, round), "the value put here, without a sync");
        require_equal(epoch.get(to, index(team.rank())), mark(team.rank(), round),
                      "the value that this rank put");
        epoch.unlock_all();
      }
      team.barrier();
    }
  });
}

TEST_CASE("lock_all: flush_all flushes the puts to every rank, this one included") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, index(team.size()));
    pgas::lock_all epoch{w};
    std::size_t const mine = index(team.rank());
    for (int round = 1; round < 20; ++round) {
      for (rank_t r = 0; r < team.size(); ++r) {
        static_cast<void>(epoch.get(r, mine));  // a copy that will be out of date
        epoch.put(r, mine, mark(team.rank(), round));
      }
      if (round % 2 == 0) {
        epoch.flush_all();
      } else {
        for (rank_t r = 0; r < team.size(); ++r) epoch.flush(r);
      }
      for (rank_t r = 0; r < team.size(); ++r)
        require_equal(epoch.get(r, mine), mark(team.rank(), round), "on rank " + std::to_string(r));
    }
  });
}

TEST_CASE("no_put: the hint covers the epoch that it is given to, and none before") {
  // The test reads early on purpose, so that copies are out of date.
  auto unwatched = pgas::scc::with_options::chosen();
  unwatched.check = false;
  pgas::scc::with_options const no_oracle(unwatched);
  everywhere([]<class Team>(Team& team) {
    // Without copies, an early read would be nothing but a race.
    constexpr bool copies = !std::is_same_v<typename Team::coherence_type, pgas::coherence::coherent>;
    auto w = make_window<int>(team, 2);
    rank_t const to = (team.rank() + 1) % team.size();
    rank_t const from = (team.rank() - 1 + team.size()) % team.size();
    for (int round = 0; round < 10; ++round) {
      int before = 0;
      if constexpr (copies) before = w.local()[0];  // will be out of date
      {
        pgas::lock_all epoch{w};
        epoch.put(to, 0, mark(team.rank(), round));
        epoch.put(to, 1, mark(team.rank(), round, 1));
      }
      if constexpr (copies) before = w.local()[1];
      team.barrier();
      if (round % 2 == 0) {
        pgas::fence epoch{w, pgas::no_put};
        int const seen = w.local()[0];
        require_equal(seen, mark(from, round), "put in a lock_all before the fence");
      } else {
        pgas::lock_all epoch{w, pgas::no_put};
        int const seen = w.local()[1];
        require_equal(seen, mark(from, round, 1), "put in another lock_all before");
      }
      static_cast<void>(before);
      team.barrier();
    }
  });
}

TEST_CASE("lock_all: one rank may hold it while other ranks fence another window") {
  everywhere([](auto& team) {
    auto one = make_window<int>(team, 1);
    auto two = make_window<int>(team, 1);
    pgas::lock_all held{one};
    for (int round = 0; round < 5; ++round) {
      pgas::fence epoch{two};
      epoch.put((team.rank() + 1) % team.size(), 0, round);
    }
    held.put(team.rank(), 0, 5);
  });
}

#if !defined(PGAS_TEST_ONE_BACKEND)
TEST_CASE(
    "epochs: a second thread of a rank is refused while the first opens or closes one, on whatever window") {
  for_each_model<std::tuple<thread_model>>([]<class Model>(Model) {
    std::string what;
    std::atomic<bool> is_refused = false;
    pgas::run<typename Model::backend>(2, [&](auto& team) {
      auto one = make_window<int>(team, 1);
      auto two = make_window<int>(team, 1);
      auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
      auto const in_time = [&] { return std::chrono::steady_clock::now() < deadline; };
      if (team.rank() == 1) {  // it keeps a thread of rank 0 in its fence until one of them is refused
        while (!is_refused && in_time()) std::this_thread::yield();
        pgas::fence const epoch{one};
        return;
      }
      auto const calls = [&](auto const& call) {
        try {
          call();
          return true;
        } catch (pgas::error const& e) {
          if (!is_refused.exchange(true)) what = e.what();
          return false;
        }
      };
      pgas::lock_all epoch{two};
      std::thread other([&] {
        while (!is_refused && in_time()) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          calls([&] { epoch.sync(); });
        }
      });
      while (!calls([&] { pgas::fence const in_one{one}; }) && in_time()) {}
      other.join();
    });
    bool const says_so = what.find("another thread of this rank opens, synchronizes or closes") != what.npos;
    CHECK_MESSAGE(is_refused.load(), "no call is refused");
    CHECK_MESSAGE(says_so, what);
  });
}

TEST_CASE("epochs: a lock that is refused during another thread's call leaves the window as it was") {
  for_each_model<std::tuple<thread_model>>([]<class Model>(Model) {
    pgas::run<typename Model::backend>(2, [](auto& team) {
      auto w = make_window<int>(team, 1);
      std::atomic<bool>& is_in_call = w.state().deferred->is_in_call;
      is_in_call = true;
      require_error(errc::wrong_order, {"lock", "another thread of this rank"}, [&] {
        pgas::lock const refused{w, team.rank(), pgas::exclusive};
      });
      is_in_call = false;
      pgas::lock held{w, team.rank(), pgas::exclusive};
      held.put(team.rank(), 0, 1);
    });
  });
}
#endif

TEST_CASE("epochs of different kinds follow each other on one window") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, 8);
    rank_t const to = (team.rank() + 1) % team.size();
    rank_t const from = (team.rank() - 1 + team.size()) % team.size();
    random_source rng(17);  // the same choices on every rank
    for (int round = 0; round < 40; ++round) {
      std::size_t const at = rng.below(8);
      switch (rng.below(3)) {
        case 0: {
          pgas::fence epoch{w};
          epoch.put(to, at, mark(team.rank(), round));
          break;
        }
        case 1: {
          pgas::exposure exposed{w, {from}};
          pgas::access epoch{w, {to}};
          epoch.put(to, at, mark(team.rank(), round));
          break;
        }
        default: {
          {
            pgas::lock_all epoch{w};
            epoch.put(to, at, mark(team.rank(), round));
          }
          team.barrier();
          pgas::lock_all see{w};
        }
      }
      int const seen = w.local()[at];
      require_equal(seen, mark(from, round), "the value put in this round");
      // No rank may put the next value before this one has been read.
      team.barrier();
    }
  });
}
