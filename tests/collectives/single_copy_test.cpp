// SPDX-License-Identifier: BSL-1.0
// Long collectives on shared memory that copy straight between the ranks' memory.
// test: addresses, threads in full, each way, unit collectives
#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <pgas/window.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "support/ranks.hpp"
#include "support/user_memory.hpp"

namespace pgas_test::single_copy {

using pgas::collective_medium;
using pgas::make_window;
using pgas::memory_place;
using number = std::uint32_t;
using pgas::collectives::direct;

using shared_models = std::tuple<process_model>;  // under sanitizers, threads

number element(rank_t r, std::size_t i, std::size_t step) {
  return static_cast<number>((static_cast<std::size_t>(r) + 1) * 2654435761U ^ i * 40503U ^ step * 977U);
}

/// The high half of the left operand, the low byte of the right one, and a sum between them: the order of
/// operands matters, and all of them do.
struct ends_and_sum {
  number operator()(number a, number b) const {
    return (a & 0xffff0000U) | (((a & 0xff00U) + (b & 0xff00U)) & 0xff00U) | (b & 0xffU);
  }
};

/// Memory of a rank for the operands or the results of many collectives: a window's part, and private memory.
template <class Team>
class memory {
 public:
  memory(Team& team, std::size_t most) : window_(make_window<number>(team, most)), own_(most) {}
  std::span<number> take(bool in_window, std::size_t first, std::size_t count) {
    std::span<number> const all = in_window ? std::span<number>(window_.local()) : std::span<number>(own_);
    return all.subspan(first, count);
  }

 private:
  decltype(make_window<number>(std::declval<Team&>(), 1)) window_;
  std::vector<number> own_;
};

void require_all(std::span<number const> is, auto const& should, std::string const& what) {
  for (std::size_t i = 0; i < is.size(); ++i) {
    if (is[i] != should(i))
      require(false, what + ": element " + std::to_string(i) + " of " + std::to_string(is.size()));
  }
}

// Lengths on both sides of each length at which ranks turn to another way, in elements of four bytes.
constexpr std::array<std::size_t, 9> counts{2047, 2048, 2049, 8191, 8192, 8200, 16383, 16384, 33001};
constexpr std::size_t longest = 33001;

/// A sequence of collectives. Each rank takes windows or private memory, overwrites its operands as soon as
/// the call has returned, and is late at random.
template <class Team>
void random_sequence(Team& team, std::uint64_t seed) {
  random_source rng(seed);
  random_source own(seed * 31 + static_cast<std::uint64_t>(team.rank()));
  rank_t const ranks = team.size();
  auto const n = static_cast<std::size_t>(ranks);
  auto const self = static_cast<std::size_t>(team.rank());
  memory operands(team, longest * n + 4);
  memory results(team, longest * n + 4);
  for (std::size_t step = 0; step < 30; ++step) {
    std::size_t const which = rng.below(9);
    std::size_t const count = counts[rng.below(counts.size())];
    rank_t const root = rng.rank_below(ranks);
    std::size_t const places = rng.below(3);  // private, in windows, or as each rank likes
    bool const starts = rng.one_in(2);
    bool const is_root = team.rank() == root;
    auto const in_window = [&] { return places == 2 ? own.one_in(2) : places == 1; };
    bool const is_in_place = own.one_in(3);
    auto const from = operands.take(in_window(), own.below(4), count * n);
    auto const mine = from.first(count);
    auto const into = results.take(in_window(), own.below(4), count * n);
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = element(team.rank(), i, step);
    if (own.one_in(4)) std::this_thread::sleep_for(std::chrono::microseconds(own.below(300)));
    auto const call = [&](auto const& collective) {
      if (starts) {
        collective(team.start()).wait();
      } else {
        collective(team);
      }
    };
    auto const folded_before = [&](rank_t end) {
      return [&, end](std::size_t i) {
        number all = element(0, i, step);
        for (rank_t r = 1; r < end; ++r) all = ends_and_sum{}(all, element(r, i, step));
        return all;
      };
    };
    auto const folded = folded_before(ranks);
    std::string const what = "step " + std::to_string(step) + ", operation " + std::to_string(which) + ", " +
                             std::to_string(count) + " elements, root " + std::to_string(root);
    std::span<number const> const all = from;
    if (which == 0) {
      call([&](auto const& t) { return t.broadcast(mine, root); });
      require_all(
          mine, [&](std::size_t i) { return element(root, i, step); }, what);
    } else if (which == 1) {
      auto const gathered = into.first(is_root ? count * n : 0);
      call([&](auto const& t) { return t.gather(mine, gathered, root); });
      require_all(
          gathered, [&](std::size_t i) { return element(static_cast<rank_t>(i / count), i % count, step); },
          what);
    } else if (which == 2) {
      auto const block = into.first(count);
      call([&](auto const& t) { return t.scatter(all.first(is_root ? all.size() : 0), block, root); });
      require_all(
          block, [&](std::size_t i) { return element(root, self * count + i, step); }, what);
    } else if (which == 3) {
      call([&](auto const& t) { return t.all_gather(mine, into); });
      require_all(
          into, [&](std::size_t i) { return element(static_cast<rank_t>(i / count), i % count, step); },
          what);
    } else if (which == 4) {
      auto const came = is_in_place ? from : into;
      call([&](auto const& t) { return t.all_to_all(all, came); });
      require_all(
          came,
          [&](std::size_t i) {
            return element(static_cast<rank_t>(i / count), self * count + i % count, step);
          },
          what);
    } else if (which == 5) {
      auto const result = is_in_place ? mine : into.first(count);
      call([&](auto const& t) { return t.all_reduce(mine, result, ends_and_sum{}); });
      require_all(result, folded, what);
    } else if (which == 6) {
      auto const result = is_in_place && is_root ? mine : into.first(is_root ? count : 0);
      call([&](auto const& t) { return t.reduce(mine, result, root, ends_and_sum{}); });
      require_all(result, folded, what);
    } else if (which == 7) {
      auto const result = is_in_place ? mine : into.first(count);
      call([&](auto const& t) { return t.exclusive_scan(mine, result, ends_and_sum{}); });
      if (self != 0) require_all(result, folded_before(team.rank()), what);
    } else {
      auto const block = is_in_place ? from.subspan(own.below(n) * count, count) : into.first(count);
      call([&](auto const& t) { return t.reduce_scatter(all, block, ends_and_sum{}); });
      require_all(
          block, [&](std::size_t i) { return folded(self * count + i); }, what);
    }
    std::fill(from.begin(), from.end(), ~number{0});
  }
  team.barrier();
}

TEST_CASE(
    "single copies: ranks may overwrite private memory and windows that they gave once their call returns") {
  char const* const budget = std::getenv("PGAS_TEST_SECONDS");
  double const seconds = budget != nullptr ? std::atof(budget) : 2.0;
  for_each_model<shared_models>([&]<class Model>(Model) {
    auto const end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds / 2);
    std::uint64_t seed = next_seed();
    std::uint64_t const first = seed;
    do {
      on<Model>(2 + static_cast<rank_t>(seed % 3) % 3, [seed](auto& team) { random_sequence(team, seed); });
    } while (++seed, agreed(std::chrono::steady_clock::now() < end));
    std::cout << "covered: " << seed - first << " sequences of long collectives on " << Model::name() << "\n";
  });
}

TEST_CASE("single copies: where the system forbids them, ranks agree on it and results are the same") {
  for_each_model<std::tuple<process_model>>([&]<class Model>(Model) {
    if constexpr (std::is_same_v<Model, process_model>) {
      for (rank_t const who : {0, 1, -1}) {
        on<Model>(2, [who](auto& team) {
          if (who < 0 || who == team.rank()) forbid_process_memory();
          random_sequence(team, 7);
          std::vector<std::byte> mine(100'000);
          auto const place =
              team.state()->operations.template medium<collective_medium::shared_areas>().place_of(
                  std::span<std::byte const>(mine));
          require(!place.is_there(), "no rank offers private memory");
        });
      }
    }
  });
}

TEST_CASE(
    "shared areas: a rank that only gives posts three messages of four pieces before a reader has come") {
  everywhere<shared_models>(
      [](auto& team) {
        std::vector<number> some(1000);
        team.broadcast(some);  // makes the shared areas
        auto& area = team.state()->operations.template medium<collective_medium::shared_areas>();
        constexpr int messages = 3;
        constexpr std::size_t pieces = 4;
        team.barrier();  // the reader has ended the broadcast
        if (team.rank() != 0) team.barrier();
        for (int c = 0; c < messages; ++c) {
          area.begin(area.buffer_bytes);
          for (std::size_t i = 0; i < pieces; ++i) {
            if (team.rank() == 0) {
              require(area.is_free(i), "no piece lies where an unread one lies");
              std::memcpy(area.own(i), &i, sizeof i);
              area.post(i);
            } else {
              area.wait_posted(0, i);
              require(std::memcmp(area.piece(0, i), &i, sizeof i) == 0, "each piece is there");
            }
          }
          area.end();
        }
        if (team.rank() == 0) team.barrier();
        team.barrier();
      },
      {2});
}

TEST_CASE("single copies: where the system allows them, ranks offer private memory and the arena's") {
  everywhere<shared_models>(
      [](auto& team) {
        std::vector<number> mine(20'000, static_cast<number>(team.rank()));
        team.broadcast(mine);
        auto w = make_window<number>(team, 10);
        auto& area = team.state()->operations.template medium<collective_medium::shared_areas>();
        using reach = memory_place::reach;
        bool const are_processes = std::is_same_v<typename std::remove_cvref_t<decltype(team)>::backend_type,
                                                  pgas::backends::process_map>;
        require(
            area.place_of(std::as_bytes(std::span(mine))).by == (are_processes ? reach::call : reach::none),
            "private memory is in reach of calls between processes, and not between threads");
        require(area.place_of(std::as_bytes(w.local())).by == reach::access,
                "the arena is in reach of loads");
      },
      {2});
}

TEST_CASE("single copies: a system that forbids them later gives an error that names the rank") {
  for_each_model<std::tuple<process_model>>([&]<class Model>(Model) {
    if constexpr (std::is_same_v<Model, process_model>) {
      auto const e = error_of<Model>(2, [](auto& team) {
        std::vector<number> mine(50'000);
        std::vector<number> const all(team.rank() == 0 ? 2 * mine.size() : 0);
        team.scatter(all, mine, 0);
        if (team.rank() == 1) forbid_process_memory();
        team.scatter(all, mine, 0);
      });
      REQUIRE(e.has_value());
      std::string const text = e->what();
      CHECK_MESSAGE(text.find("scatter: the memory that rank 0 gave cannot be reached") != std::string::npos,
                    text);
    }
  });
}

TEST_CASE("single copies: the failure of a rank is the cause, and not the memory that it has freed") {
  for_each_model<std::tuple<process_model>>([&]<class Model>(Model) {
    if constexpr (std::is_same_v<Model, process_model>) {
      auto const e = error_of<Model>(2, [](auto& team) {
        std::vector<number> mine(50'000);
        team.broadcast(mine);
        if (team.rank() == 1) {
          std::this_thread::sleep_for(std::chrono::milliseconds(20));  // as long as a rank frees memory
          throw std::runtime_error("rank 1 gives up");
        }
        memory_place const freed{.at = 8, .by = memory_place::reach::call};  // no page is there
        team.state()->backend.write_to(1, freed, std::as_bytes(std::span(mine)), "broadcast");
      });
      REQUIRE(e.has_value());
      std::string const text = e->what();
      CHECK_MESSAGE(text.find("rank 1 gives up") != std::string::npos, text);
    }
  });
}

TEST_CASE("single copies: source and result may be one block of a window") {
  everywhere<shared_models>(
      [](auto& team) {
        constexpr std::size_t count = 20'000;
        auto const n = static_cast<std::size_t>(team.size());
        auto w = make_window<number>(team, count * n);
        auto const of_root = w.part(0);
        auto const mine = of_root.subspan(static_cast<std::size_t>(team.rank()) * count, count);
        for (std::size_t i = 0; i < count; ++i) mine[i] = element(team.rank(), i, 0);
        team.gather(mine, of_root.first(team.rank() == 0 ? count * n : 0));
        team.barrier();
        require_all(
            of_root, [&](std::size_t i) { return element(static_cast<rank_t>(i / count), i % count, 0); },
            "blocks that were in their place before");
        team.broadcast(of_root.first(count));
        team.scatter(of_root.first(team.rank() == 0 ? count * n : 0), mine);
        require_all(
            mine, [&](std::size_t i) { return element(team.rank(), i, 0); }, "a block in its place");
        team.barrier();
      },
      {2, 3});
}

/// The shared area of a team with one step changed.
template <class Area, class Change>
class changed_area {
 public:
  static constexpr std::size_t buffers = Area::buffers;
  static constexpr std::size_t buffer_bytes = Area::buffer_bytes;

  changed_area(Area& area, Change change) : area_(&area), change_(change) {}
  [[nodiscard]] rank_t rank() const { return area_->rank(); }
  [[nodiscard]] rank_t size() const { return area_->size(); }
  void begin(std::size_t longest_piece) { area_->begin(longest_piece); }
  void end() { area_->end(); }
  [[nodiscard]] std::byte* own(std::size_t i) const { return area_->own(i); }
  [[nodiscard]] std::byte* piece(rank_t r, std::size_t i) const { return area_->piece(r, i); }
  bool is_free(std::size_t i) { return area_->is_free(i); }
  auto until_free(std::size_t i) { return area_->until_free(i); }
  void post(std::size_t i) { area_->post(i); }
  auto posted(rank_t r, std::size_t i) { return area_->posted(r, i); }
  void done_to(std::size_t i) { area_->done_to(i); }
  void announce(std::size_t block) { area_->announce(block); }
  void compare_announced(rank_t r, std::size_t block) const { area_->compare_announced(r, block); }
  void compare_blocks(rank_t r, std::size_t theirs, std::size_t mine) const {
    area_->compare_blocks(r, theirs, mine);
  }
  [[nodiscard]] memory_place place_of(pgas::bytes_in memory) const { return area_->place_of(memory); }
  void offer(std::size_t i, memory_place place) { area_->offer(i, place); }
  [[nodiscard]] memory_place offered(rank_t r, std::size_t i) const { return area_->offered(r, i); }
  [[nodiscard]] std::byte* address_of(memory_place place) const { return area_->address_of(place); }
  void fetch(rank_t r, memory_place place, std::size_t first, pgas::bytes_out into) {
    change_.before_fetch();
    area_->fetch(r, place, first, into);
  }
  void deliver(rank_t r, memory_place place, std::size_t first, pgas::bytes_in from) {
    area_->deliver(r, place, first, from);
  }
  auto read_by(rank_t r, std::size_t i) {
    // Piece 0 of the collective before has been read.
    return Change::waits_for_readers ? area_->read_by(r, i) : area_->read_by(area_->rank(), i);
  }

 private:
  Area* area_;
  Change change_;
};
struct no_change {
  static constexpr bool waits_for_readers = true;
  void before_fetch() const {}
};
/// The sender's rank has ended its reads at its start, so that waiting for itself is no wait.
struct hasty : no_change {
  static constexpr bool waits_for_readers = false;
};
struct dying : no_change {
  rank_t who = -1;
  rank_t self = -1;
  void before_fetch() const {
    if (self == who) ::raise(SIGKILL);
  }
};

/// Broadcasts from a window of rank 0 to ranks that are late. Rank 0 overwrites the memory after its return.
template <class Change, class Team>
bool broadcasts_right(Team& team, Change change) {
  auto w = make_window<number>(team, 20'000);
  auto const mine = std::span<number>(w.local());
  for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = element(team.rank(), i, 0);
  std::vector<number> some(1000);
  team.broadcast(some);  // makes the shared areas
  auto& operations = team.state()->operations;
  auto& area = operations.template medium<collective_medium::shared_areas>();
  changed_area medium(area, change);
  if (team.rank() != 0) std::this_thread::sleep_for(std::chrono::milliseconds(30));
  operations.run("broadcast", pgas::detail::collective_call("broadcast", mine.size_bytes(), 0),
                 [&] { return direct::broadcast(medium, std::as_writable_bytes(mine), 0); });
  bool is_right = true;
  for (std::size_t i = 0; i < mine.size(); ++i) is_right = is_right && mine[i] == element(0, i, 0);
  if (team.rank() == 0) std::fill(mine.begin(), mine.end(), 0U);
  team.barrier();
  return team.all_reduce(is_right ? 1 : 0, pgas::op::min{}) != 0;
}

TEST_CASE("single copies: a sender that does not wait for its readers is found out") {
  for_each_model<std::tuple<process_model>>([&]<class Model>(Model) {
    if constexpr (std::is_same_v<Model, process_model>) {
      on<Model>(3, [](auto& team) {
        require(broadcasts_right(team, no_change{}), "the true sender waits");
        require(!broadcasts_right(team, hasty{}), "the hasty sender's readers read what came later");
      });
    }
  });
}

TEST_CASE("single copies: a reader that dies before it has read is named by the sender") {
  for_each_model<std::tuple<process_model>>([&]<class Model>(Model) {
    if constexpr (std::is_same_v<Model, process_model>) {
      for (rank_t const ranks : {2, 3}) {
        auto const e = error_of<Model>(ranks, [](auto& team) {
          dying change;
          change.who = 1;
          change.self = team.rank();
          broadcasts_right(team, change);
        });
        REQUIRE(e.has_value());
        CHECK(e->code() == pgas::make_error_code(errc::rank_failed));
        CHECK_MESSAGE(std::string(e->what()).find("rank 1") != std::string::npos, std::string(e->what()));
      }
    }
  });
}

}  // namespace pgas_test::single_copy
