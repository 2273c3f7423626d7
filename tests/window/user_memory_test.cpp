// SPDX-License-Identifier: BSL-1.0
// Windows over memory that the ranks had before: the promises of segments again, random programs, and the
// errors for memory that cannot be reached.
#include <sys/mman.h>

#include <csignal>
#include <vector>

#include "support/user_memory.hpp"

namespace pgas_test {

using user_memory_backend = over_user_memory<pgas::backends::process_map>;
static_assert(pgas::backend<user_memory_backend> && !pgas::shared_segment<user_memory_backend::segment_type>);

}  // namespace pgas_test

#define PGAS_TEST_SEGMENTS pgas_test::user_memory_backend
#include "conformance/random_programs.hpp"
#include "conformance/segment.hpp"
#include "support/leftovers.hpp"
#include "support/mutated.hpp"

namespace pgas_test {
namespace {

using pgas::make_window;
using pgas::reach;

/// Calls body(team, how) on every backend with such windows, with each way to reach the memory.
template <class Body>
void on_each_way(Body const& body, std::initializer_list<rank_t> sizes = {1, 2, 3}) {
  for (reach const how : {reach::in_place, reach::copies}) {
    everywhere<std::tuple<self_model, thread_model, process_model, loopback_model>>(
        [&](auto& team) { body(team, how); }, sizes);
  }
}

/// A page whose end is followed by unmapped memory.
class page_before_nothing {
 public:
  explicit page_before_nothing(int protection = PROT_READ | PROT_WRITE)
      : at_(::mmap(nullptr, 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    ::mprotect(at_, bytes, protection);
  }
  page_before_nothing(page_before_nothing const&) = delete;
  page_before_nothing& operator=(page_before_nothing const&) = delete;
  ~page_before_nothing() { ::munmap(at_, 2 * bytes); }

  static constexpr std::size_t bytes = 4096;
  [[nodiscard]] std::span<int> span(std::size_t count) const { return {static_cast<int*>(at_), count}; }
  void take_away() const { ::mprotect(at_, bytes, PROT_NONE); }

 private:
  void* at_;
};

/// `separate` without the missing step.
struct separate_lacking : pgas::coherence::separate {
  static void clean_own(pgas::separate_segment auto& s) {
    if (!lacking::is(step::clean_own)) separate::clean_own(s);
  }
  static void drop_own(pgas::separate_segment auto& s) {
    if (!lacking::is(step::drop_own)) separate::drop_own(s);
  }
};

std::size_t index(rank_t rank) { return static_cast<std::size_t>(rank); }

}  // namespace

TEST_CASE("random programs over memory of the ranks give byte-equal values, in place and through copies") {
  random_programs::play_on<std::tuple<model<user_memory_backend>>>();
}

TEST_CASE("a window over a rank's memory is that memory, with its contents, and parts may be of any size") {
  on_each_way([](auto& team, reach how) {
    rank_t const n = team.size();
    std::vector<int> mine(5 * index(team.rank()), team.rank() + 1);  // none on rank 0
    {
      auto w = make_window<int>(team, mine, how);
      require(w.local().data() == mine.data(), "local() is the memory");
      pgas::lock_all epoch{w};
      for (rank_t r = 0; r < n; ++r) {
        require_equal(w.size(r), 5 * index(r), "size");
        if (r != 0) require_equal(epoch.get(r, 4), r + 1, "the value before the window");
      }
      epoch.close();
      team.barrier();  // all ranks have read the old contents
      pgas::fence steps{w};
      for (rank_t r = 1; r < n; ++r) steps.put(r, index(team.rank()), 100 * (team.rank() + 1));
      for (rank_t r = 1; r < n; ++r) steps.accumulate(r, 4, 1);
    }
    for (std::size_t i = 0; i < mine.size(); ++i) {  // the window is gone, and the memory remains
      int const before = team.rank() + 1;
      require_equal(mine[i],
                    i < index(n) ? 100 * (static_cast<int>(i) + 1)
                    : i == 4     ? before + n
                                 : before,
                    "the memory after the window is destroyed");
    }
    team.barrier();
  });
}

TEST_CASE("after the boundary, adjacent bytes hold both the owner's stores and its peers' puts") {
  on_each_way([](auto& team, reach how) {
    rank_t const n = team.size();
    std::vector<unsigned char> mine(1000, 255);
    auto w = make_window<unsigned char>(team, mine, how);
    for (int round = 0; round < 3; ++round) {
      pgas::fence epoch{w};
      for (std::size_t i = 0; i < mine.size(); i += index(n) + 1) mine[i] = static_cast<unsigned char>(round);
      rank_t const to = (team.rank() + 1) % n;
      for (std::size_t i = 1; i < mine.size(); i += index(n) + 1)
        epoch.put(to, i, static_cast<unsigned char>(100 + round));
      epoch.close();
      for (std::size_t i = 0; i < mine.size(); ++i) {
        auto const which = i % (index(n) + 1);
        require_equal(int{mine[i]}, which == 0 ? round : which == 1 ? 100 + round : 255, "a byte");
      }
      team.barrier();
    }
  });
}

TEST_CASE(
    "under lock_all a rank gets its own stores from its own part, and sync shows it the other ranks' puts") {
  on_each_way([](auto& team, reach how) {
    std::vector<int> mine(100);
    auto w = make_window<int>(team, mine, how);
    pgas::lock_all epoch{w};
    mine[70] = 7;
    require_equal(epoch.get(team.rank(), 70), 7, "the own stored value");
    rank_t const to = (team.rank() + 1) % team.size();
    epoch.put(to, 71, 8);
    epoch.sync();
    team.barrier();
    epoch.sync();
    require_equal(mine[71], 8, "the value put");
    require_equal(epoch.get(to, 70), 7, "the value that the other rank has stored");
    team.barrier();
  });
}

TEST_CASE("each step of the policy that keeps copies is needed") {
  using mutant = model<user_memory_backend, separate_lacking>;
  auto const wrong = [] {
    return error_of<mutant>(2, [](auto& team) {
      auto w = make_window<int>(team, 2);
      rank_t const other = 1 - team.rank();
      pgas::fence epoch{w};
      w.local()[0] = 5;
      epoch.put(other, 1, 6);
      epoch.next();
      require_equal(w.local()[1], 6, "the value put");
      require_equal(epoch.get(other, 0), 5, "the value that the other rank has stored");
    });
  };
  CHECK(!wrong().has_value());
  for (auto const& [missing, noticed] :
       {std::pair(step::clean_own, "stored"), std::pair(step::drop_own, "put")}) {
    lacking const without(missing);
    auto const e = wrong();
    REQUIRE(e.has_value());
    CHECK_MESSAGE(std::string(e->what()).find(noticed) != std::string::npos, std::string(e->what()));
  }
}

TEST_CASE("more rows than one system call takes arrive, with gaps on either side or none") {
  on_each_way([](auto& team, reach how) {
    constexpr std::size_t rows = 1100;
    std::vector<int> mine(4 * rows);
    auto w = make_window<int>(team, mine, how);
    rank_t const to = (team.rank() + 1) % team.size();
    std::vector<int> values(3 * rows);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i) + 1;
    {
      pgas::fence epoch{w};
      epoch.put(to, pgas::rows_of{.first = 1, .rows = rows, .cols = 3, .pitch = 4}, values);
    }
    for (std::size_t i = 0; i < mine.size(); ++i)
      require_equal(mine[i], i % 4 == 0 ? 0 : values[i / 4 * 3 + i % 4 - 1], "a put element");
    pgas::fence epoch{w};
    std::vector<int> back(4 * rows);
    epoch.get(to, pgas::rows_of{.first = 1, .rows = rows, .cols = 3, .pitch = 4}, back.data(), 4);
    epoch.next();
    for (std::size_t i = 0; i < back.size(); ++i)
      require_equal(back[i], i % 4 == 3 ? 0 : values[i / 4 * 3 + i % 4], "a got element");
    std::vector<int> whole(mine.size());
    epoch.get(to, pgas::rows_of{.first = 0, .rows = rows, .cols = 4, .pitch = 4}, whole.data(), 4);
    epoch.flush_local(to);
    require(whole == mine, "rows without gaps arrive");
  });
}

TEST_CASE("signals work with a window over such memory as with any other") {
  on_each_way([](auto& team, reach how) {
    std::vector<double> mine(8);
    auto w = make_window<double>(team, mine, how);
    auto signals = make_signals(w);
    rank_t const to = (team.rank() + 1) % team.size();
    rank_t const from = (team.rank() + team.size() - 1) % team.size();
    {
      pgas::lock_all epoch{w};
      epoch.put(to, 3, 1.5 + team.rank());
      signals.signal(epoch, to);
      signals.wait({from});
    }
    require_equal(mine[3], 1.5 + from, "the value sent before the signal");
    team.barrier();
  });
}

TEST_CASE(
    "a trial finds out that processes may not reach each other's memory, and gives an error or copies") {
  leftovers const before;
  everywhere<std::tuple<process_model>>(
      [](auto& team) {
        forbid_process_memory();
        std::vector<int> mine(10, team.rank());
        require_error(errc::unsupported,
                      {"rank " + std::to_string(team.rank()) +
                           ": make_window: rank 0 cannot reach the memory of rank 1",
                       "Operation not permitted", "ptrace_scope", "reach::in_place_or_copies"},
                      [&] { static_cast<void>(make_window<int>(team, mine)); });
        auto w = make_window<int>(team, mine, reach::in_place_or_copies);  // and the team works on
        require(!w.state().segment.is_in_place(), "the window works through copies");
        rank_t const to = (team.rank() + 1) % team.size();
        {
          pgas::fence epoch{w};
          require_equal(epoch.get(to, 5), to, "the old value");
          epoch.put(to, 0, -1);
          epoch.accumulate(0, 7, 1);
        }
        require_equal(mine[0], -1, "the value put");
        if (team.rank() == 0) require_equal(mine[7], team.size(), "the value added");
        team.barrier();
      },
      {2, 3});
  everywhere<std::tuple<process_model>>(
      [](auto& team) {
        std::vector<int> mine(1);
        auto w = make_window<int>(team, mine, reach::in_place_or_copies);
        require(w.state().segment.is_in_place(), "the window is in place if the system allows it");
        team.barrier();
      },
      {2, 3});
  before.check("forbidden memory");
}

TEST_CASE("memory that became unreachable after the window was made is an error of the put or get") {
  everywhere<std::tuple<process_model>>(
      [](auto& team) {
        std::vector<int> mine(10);
        auto w = make_window<int>(team, mine);
        forbid_process_memory();
        pgas::lock_all epoch{w};
        rank_t const to = (team.rank() + 1) % team.size();
        std::string const there = "4 bytes at byte 12 of the memory of rank " + std::to_string(to);
        require_error(errc::unsupported, {"put: " + there, "Operation not permitted"},
                      [&] { epoch.put(to, 3, 1); });
        require_error(errc::unsupported, {"get: " + there}, [&] { static_cast<void>(epoch.get(to, 3)); });
        epoch.put(team.rank(), 3, 1);  // own memory needs no permission
        epoch.close();
        team.barrier();
      },
      {2});
}

TEST_CASE("one unreachable rank is enough for an error on every rank of the window, and on no other rank") {
  everywhere<std::tuple<process_model>>(
      [](auto& team) {
        if (team.rank() == 2) forbid_process_memory();
        std::vector<int> mine(team.rank() == 1 ? 0U : 10U);  // rank 1 has nothing to reach
        require_error(errc::unsupported, {"rank 2 cannot reach the memory of rank 0"},
                      [&] { static_cast<void>(make_window<int>(team, mine)); });
        auto sub = team.split(team.rank() == 0 ? 0 : 1);  // rank 2 does not need the memory of rank 1
        auto w = make_window<int>(sub, mine);
        require(w.state().segment.is_in_place(), "the window is in place");
        team.barrier();
      },
      {3});
}

TEST_CASE(
    "memory that its own rank cannot read is refused on every rank, with that rank's number in the job, and "
    "the team "
    "works on") {
  on_each_way(
      [](auto& team, reach how) {
        if constexpr (requires {
                        team.state()->backend.attach_user_segment({}, {}).probe(pgas::probed_parts::all);
                      }) {
          page_before_nothing const page;
          auto sub = team.split(0, -team.rank());
          bool const too_much = team.rank() == 1;
          require_error(errc::invalid_argument,
                        {"rank " + std::to_string(team.rank()) +
                             ": make_window: the memory that rank 1 gives, 4100 bytes",
                         "Bad address"},
                        [&] { static_cast<void>(make_window(sub, page.span(too_much ? 1025 : 1024), how)); });
          auto w = make_window(sub, page.span(1024), how);
          pgas::fence epoch{w};
          epoch.put(sub.rank(), 1023, 1);
        }
      },
      {2, 3});
}

TEST_CASE(
    "memory that its own rank cannot read is refused even if copies would help against another rank's "
    "obstacle") {
  everywhere<std::tuple<process_model>>(
      [](auto& team) {
        if (team.rank() == 0) forbid_process_memory();
        page_before_nothing const page;
        auto const given = page.span(team.rank() == 1 ? 1025 : 1024);
        require_error(errc::invalid_argument, {"rank 1 gives"},
                      [&] { static_cast<void>(make_window(team, given, reach::in_place_or_copies)); });
        team.barrier();
      },
      {2});
}

TEST_CASE("unmapped or read-only memory is an error of the put or get with rank, place and count") {
  everywhere<std::tuple<process_model>>(
      [](auto& team) {
        page_before_nothing const page(team.rank() == 0 ? PROT_READ : PROT_READ | PROT_WRITE);
        auto w = make_window(team, page.span(1024));
        if (team.rank() == 1) page.take_away();
        team.barrier();
        std::vector<int> three(3);
        pgas::lock_all epoch{w};
        auto const refused = [&](std::string const& operation, std::string const& what, auto&& act) {
          require_error(errc::invalid_argument,
                        {"rank " + std::to_string(team.rank()) + ": " + operation + ": " + what,
                         "Bad address", "keep the memory"},
                        act);
        };
        if (team.rank() == 2) {
          refused("put", "12 bytes at byte 8 of the memory of rank 0 (process ",
                  [&] { epoch.put(0, 2, three); });
          require_equal(epoch.get(0, 2), 0, "an element of read-only memory");
          refused("get", "4 bytes at byte 40 of the memory of rank 1",
                  [&] { static_cast<void>(epoch.get(1, 10)); });
          refused("put", "44 bytes at byte 0 of the memory of rank 1", [&] {
            std::vector<int> six(6);
            epoch.put(1, pgas::rows_of{.first = 0, .rows = 3, .cols = 1, .pitch = 5}, three);
          });
        }
        epoch.close();
        team.barrier();
      },
      {3});
}

TEST_CASE("ranks that ask for different windows get an error that says so") {
  on_each_way(
      [](auto& team, reach how) {
        std::vector<int> mine(4);
        auto const different = [&](std::string const& text, auto&& act) {
          require_error(errc::mismatch, {"make_window", "rank 1 makes a window of", text}, act);
        };
        different("4-byte elements with own memory", [&] {
          if (team.rank() == 1) {
            static_cast<void>(make_window<int>(team, mine, how));
          } else {
            static_cast<void>(make_window<int>(team, 4));
          }
        });
        different("own memory or copies+", [&] {
          static_cast<void>(make_window<int>(team, mine, team.rank() == 1 ? reach::in_place_or_copies : how));
        });
      },
      {2, 3});
}

TEST_CASE(
    "a killed rank ends the job with an error that names it, also while other ranks access its memory") {
  leftovers const before;
  auto const e = error_of<process_model>(3, [](auto& team) {
    std::vector<int> mine(100);
    auto w = make_window<int>(team, mine);
    pgas::lock_all epoch{w};
    if (team.rank() == 1) ::raise(SIGKILL);
    for (;;) epoch.put(1, 0, mine);
  });
  REQUIRE(e.has_value());
  CHECK(e->code() == pgas::make_error_code(errc::rank_failed));
  CHECK_MESSAGE(std::string(e->what()).find("rank 1") != std::string::npos, std::string(e->what()));
  before.check("a killed rank");
}

}  // namespace pgas_test
