// SPDX-License-Identifier: BSL-1.0
// The oracle of the emulated chip in programs of the library: wrong programs are named in one run without a
// seed, right ones pass, and each rule is needed.
// test: addresses, lines, unit chip
#include <pgas/backends/scc.hpp>
#include <pgas/core.hpp>
#include <pgas/stage.hpp>

#include <doctest/doctest.h>

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using pgas::rank_t;
using pgas::scc::check_rules;
using team_type = pgas::team<pgas::backends::scc>;
using body_type = std::function<void(team_type&)>;

/// The report of a run, or nothing.
std::string said(body_type const& body, check_rules const& rules = {}, rank_t ranks = 2) {
  pgas::scc::options how;
  how.rules = rules;
  pgas::scc::with_options const chosen(how);
  try {
    pgas::run<pgas::backends::scc>(ranks, [&](team_type& team) { body(team); });
  } catch (pgas::error const& e) {
    return e.what();
  }
  return "";
}
bool has(std::string_view text, std::string_view piece) { return text.find(piece) != std::string_view::npos; }
/// True if the text names a line of this file after `piece`. Without the tool that finds lines, an address
/// stands for the line.
bool has_line(std::string_view text, std::string_view piece) {
  auto const at = text.find(piece);
  if (at == std::string_view::npos) return false;
  auto const line = text.substr(at + piece.size());
  return line.starts_with("scc_races_test.cpp:") ||
         line.substr(0, line.find_first_of(",: ")).find("+0x") != std::string_view::npos;
}
/// The rules without one of them.
check_rules without(bool check_rules::*rule) {
  check_rules all;
  all.*rule = false;
  return all;
}
/// Lets one rank go on after another, without an order that the oracle or a program could know.
class after_it {
 public:
  void mark() { done_ = true; }
  void wait(team_type& team) const {
    while (!done_) team.state()->backend.check("test");
  }

 private:
  bool done_ = false;
};

/// Rank 0 acts, then rank 1, in no order that the program could rely on.
template <class First, class Second>
body_type in_no_order(First const& first, Second const& second) {
  return [=](team_type& team) {
    auto w = pgas::make_window<int>(team, 64);
    static after_it done;
    done = {};
    team.barrier();
    if (team.rank() == 0) {
      first(team, w);
      done.mark();
    } else if (team.rank() == 1) {
      done.wait(team);
      second(team, w);
    }
    team.barrier();
  };
}

TEST_CASE("races: two shared holders of a lock are in no order, and an exclusive one is ordered with both") {
  auto const program = [](pgas::lock_kind first, pgas::lock_kind second) {
    return in_no_order(
        [=](team_type&, auto& w) {
          pgas::lock epoch{w, 1, first};
          epoch.put(1, 5, 1);
        },
        [=](team_type&, auto& w) {
          pgas::lock epoch{w, 1, second};
          epoch.put(1, 5, 2);
        });
  };
  using enum pgas::lock_kind;
  auto const wrong = program(shared, shared);
  auto const report = said(wrong);
  INFO(report);
  CHECK(has(report, "rank 1 writes element 5 of rank 1's part of "));
  CHECK(has_line(report, "by put at "));
  CHECK(has_line(report, "unordered with the put of rank 0 at "));
  CHECK(has(report, "take an exclusive lock"));
  CHECK(said(wrong, without(&check_rules::holders)).empty());
  CHECK(said(program(exclusive, exclusive)).empty());
  CHECK(said(program(shared, exclusive)).empty());
  CHECK(said(program(exclusive, shared)).empty());
}

TEST_CASE("races: the epochs of lock_all order nothing") {
  auto const report = said(in_no_order(
      [](team_type&, auto& w) {
        pgas::lock_all epoch{w};
        epoch.put(1, 5, 1);
      },
      [](team_type&, auto& w) {
        pgas::lock_all epoch{w};
        static_cast<void>(epoch.get(1, 5));
      }));
  INFO(report);
  CHECK(has(report, "rank 1 reads element 5 of rank 1's part of "));
  CHECK(has(report, "unordered with the put of rank 0"));
}

TEST_CASE("races: a shared holder passes on the order that its lock has taught it, and no other") {
  // Rank 0 writes under an exclusive lock, and hands it to rank 1, which hands it to rank 2. Both share it.
  auto const read_by_third = [](check_rules const& rules, bool rank_1_writes) {
    pgas::detail::scc::checker oracle(3, rules);
    pgas::detail::scc::word_history first;
    pgas::detail::scc::word_history second;
    std::array<std::byte, 4> const value{};
    auto const write = [&](rank_t rank) {
      CHECK(oracle.wrote(rank, 64, value, false, 0).what == pgas::detail::scc::checker::fault::none);
    };
    write(0);
    oracle.stored(0, first, 1, true);
    for (rank_t const rank : {1, 2}) oracle.enter(rank, pgas::order_scope::shared_holder);
    oracle.acquire(1, first.latest().knowledge);
    if (rank_1_writes) write(1);
    oracle.stored(1, second, 1, true);
    oracle.acquire(2, second.latest().knowledge);
    return oracle.read(2, 64, value, false, 0).what;
  };
  using enum pgas::detail::scc::checker::fault;
  CHECK(read_by_third({}, false) == none);
  CHECK(read_by_third({}, true) == race);
  CHECK(read_by_third(without(&check_rules::passed_on), false) == race);
  CHECK(read_by_third(without(&check_rules::holders), true) == none);
}

TEST_CASE("races: a wait takes the order of the earliest value that ends it, and of no later one") {
  auto const read_after = [](check_rules const& rules, pgas::word awaited) {
    pgas::detail::scc::checker oracle(2, rules);
    pgas::detail::scc::word_history signal;
    std::array<std::byte, 4> const value{};
    oracle.stored(0, signal, 1, true);
    static_cast<void>(oracle.wrote(0, 64, value, false, 0));
    oracle.stored(0, signal, 2, true);
    oracle.ended_wait(1, signal, [=](pgas::word seen) { return seen >= awaited; });
    return oracle.read(1, 64, value, false, 0).what;
  };
  using enum pgas::detail::scc::checker::fault;
  CHECK(read_after({}, 1) == race);
  CHECK(read_after({}, 2) == none);
  CHECK(read_after(without(&check_rules::earliest), 1) == none);
}

TEST_CASE("races: accumulates are in order with each other, and order nothing else") {
  auto const program = [](bool same) {
    return in_no_order(
        [=](team_type&, auto& w) {
          pgas::lock_all epoch{w};
          epoch.put(1, 5, 1);
          epoch.flush(1);
          epoch.accumulate(1, 0, 1);
        },
        [=](team_type&, auto& w) {
          pgas::lock_all epoch{w};
          epoch.accumulate(1, 0, 1);
          static_cast<void>(epoch.get(1, same ? 5 : 6));
        });
  };
  auto const report = said(program(true));
  INFO(report);
  CHECK(has(report, "rank 1 reads element 5 of rank 1's part of "));
  CHECK(said(program(false)).empty());
  CHECK(said(program(true), without(&check_rules::elements)).empty());
  CHECK(has(said(program(false), without(&check_rules::atomics)), "of rank 1's part of "));
}

TEST_CASE("races: an accumulate and a put of one element race, and the report says what each is") {
  auto const report = said(in_no_order(
      [](team_type&, auto& w) {
        pgas::lock_all epoch{w};
        epoch.accumulate(1, 5, 1);
      },
      [](team_type&, auto& w) {
        pgas::lock_all epoch{w};
        epoch.put(1, 5, 1);
      }));
  INFO(report);
  CHECK(has(report, "rank 1 writes element 5"));
  CHECK(has(report, "unordered with the accumulate of rank 0"));
  CHECK(has(report, "make both atomic operations"));
}

TEST_CASE("races: an atomic load that finds an atomic store comes after what was flushed before the store") {
  auto const program = [](bool flushes) -> body_type {
    return [=](team_type& team) {
      auto w = pgas::make_window<int>(team, 64);
      {
        pgas::lock_all epoch{w};
        if (team.rank() == 0) {
          epoch.put(1, 5, 7);
          if (flushes) epoch.flush(1);
          epoch.to(1).atomic_store(0, 1);
        } else {
          while (epoch.to(1).atomic_load(0) == 0) {}
          static_cast<void>(epoch.get(1, 5));
        }
      }
      team.barrier();
    };
  };
  CHECK(said(program(true)) == "");
  CHECK(has(said(program(true), without(&check_rules::locations)), "element 5"));
  auto const report = said(program(false));
  INFO(report);
  CHECK(has(report, "let rank 0 flush the target, or close the epoch, before it signals"));
  CHECK(said(program(false), without(&check_rules::completion)).empty());
}

TEST_CASE("races: a rank's own put and get of one element need a flush between them") {
  auto const program = [](bool flushes, bool puts_twice) -> body_type {
    return [=](team_type& team) {
      auto w = pgas::make_window<int>(team, 64);
      {
        pgas::fence epoch{w};
        if (team.rank() == 0) {
          epoch.put(1, 5, 1);
          if (flushes) epoch.flush(1);
          if (puts_twice) {
            epoch.put(1, 5, 2);
          } else {
            static_cast<void>(epoch.get(1, 5));
          }
          static_cast<void>(epoch.get(1, 6));
        }
      }
      team.barrier();
    };
  };
  auto const report = said(program(false, false));
  INFO(report);
  CHECK(has(report, "rank 0 reads element 5 of rank 1's part of "));
  CHECK(has(report, "unordered with its own put at "));
  CHECK(has(report, "flush the target between the two"));
  CHECK(has(said(program(false, true)), "writes element 5"));
  CHECK(said(program(true, false)).empty());
  CHECK(said(program(true, true)).empty());
  CHECK(said(program(false, false), without(&check_rules::completion)).empty());
}

TEST_CASE("races: the flush of one target completes nothing at another") {
  auto const program = [](rank_t flushed) -> body_type {
    return [=](team_type& team) {
      auto w = pgas::make_window<int>(team, 64);
      {
        pgas::lock_all epoch{w};
        if (team.rank() == 0) {
          epoch.put(1, 5, 1);
          epoch.flush(flushed);
        }
        team.barrier();
        if (team.rank() == 1) static_cast<void>(epoch.get(1, 5));
      }
      team.barrier();
    };
  };
  CHECK(said(program(1), {}, 3) == "");
  CHECK(has(said(program(2), {}, 3), "let rank 0 flush the target"));
  CHECK(said(program(2), without(&check_rules::targets), 3).empty());
}

TEST_CASE("races: a fence, a wait or a sync publishes the stores to the own part, and a barrier does not") {
  auto const program = [](bool syncs) -> body_type {
    return [=](team_type& team) {
      auto w = pgas::make_window<int>(team, 64);
      {
        pgas::lock_all epoch{w};
        if (team.rank() == 1) {
          w.local()[5] = 7;
          if (syncs) epoch.sync();
          for (int i = 0; i < 64; ++i)
            w.local()[static_cast<std::size_t>(8 + i % 8)] = i;  // pushes the store out of the chip's buffer
          if (syncs) epoch.sync();
        }
        team.barrier();
        if (team.rank() == 0) static_cast<void>(epoch.get(1, 5));
      }
      team.barrier();
    };
  };
  CHECK(said(program(true)) == "");
  auto const report = said(program(false));
  INFO(report);
  CHECK(has(report, "rank 0 reads element 5 of rank 1's part of "));
  CHECK(has(report, "let rank 1 sync, or end an epoch on the window, after its store and before it signals"));
  CHECK(said(program(false), without(&check_rules::publication)).empty());
}

TEST_CASE("races: stage reads what it hands out") {
  auto const program = [](std::size_t element) {
    return in_no_order(
        [](team_type&, auto& w) {
          pgas::lock_all epoch{w};
          epoch.put(1, 5, 1);
        },
        [=](team_type&, auto& w) { static_cast<void>(pgas::stage(w, element, 4, pgas::read_only)); });
  };
  auto const report = said(program(4));
  INFO(report);
  CHECK(has(report, "rank 1 reads element 5 of rank 1's part of "));
  CHECK(has_line(report, "by stage at "));
  CHECK(said(program(6)).empty());
  CHECK(said(program(4), without(&check_rules::stages)).empty());
}

/// Rank 0 uses private buffers in an epoch; the others do nothing.
template <class Use>
body_type with_buffers(Use const& use) {
  return [=](team_type& team) {
    auto w = pgas::make_window<int>(team, 64);
    std::vector<int> buffer(4, 3);  // it outlives the epoch, and so every operation
    {
      pgas::fence epoch{w};
      if (team.rank() == 0) use(epoch, buffer);
    }
    team.barrier();
  };
}

TEST_CASE("races: the source of a put belongs to the put until flush_local") {
  auto const program = [](rank_t flushed) {
    return with_buffers([=](auto& epoch, std::vector<int>& buffer) {
      epoch.put(1, 0, std::span<int const>(buffer));
      if (flushed >= 0) epoch.flush_local(flushed);
      buffer[2] = 9;
    });
  };
  auto const report = said(program(-1));
  INFO(report);
  CHECK(has_line(report, "rank 0 has stored to the source of its put at "));
  CHECK(has(report, "call flush_local(1) before the store"));
  CHECK(has(said(program(0)), "the source of its put"));
  CHECK(said(program(1)).empty());
  CHECK(said(program(-1), without(&check_rules::buffers)).empty());
}

TEST_CASE("races: the destination of a get belongs to the get until flush_local") {
  auto const program = [](auto const& use, bool flushes) {
    return with_buffers([=](auto& epoch, std::vector<int>& buffer) {
      epoch.get(1, 0, std::span<int>(buffer));
      if (flushes) epoch.flush_local(1);
      use(epoch, buffer);
    });
  };
  auto const check = [&](auto const& use, std::string_view piece) {
    auto const report = said(program(use, false));
    INFO(report);
    CHECK(has(report, piece));
    CHECK(has(report, "call flush_local(1) before"));
    CHECK(said(program(use, true)) == "");
    CHECK(said(program(use, false), without(&check_rules::buffers)).empty());
  };
  check([](auto&, std::vector<int>& b) { b[2] = 9; }, "rank 0 has stored to the destination of its get at ");
  check([](auto& epoch, std::vector<int>& b) { epoch.put(0, 8, b[1]); }, "reads at ");
  check(
      [](auto& epoch, std::vector<int>& b) {
        int const loaded = b[1];
        epoch.put(0, 8, loaded);
      },
      "passes on at ");
  check([](auto& epoch, std::vector<int>& b) { epoch.get(0, 8, std::span<int>(b)); }, "writes at ");
}

TEST_CASE("races: the data of a get arrive with the end of its epoch, and a right program sees them") {
  std::array<int, 2> seen{};
  body_type const body = [&](team_type& team) {
    auto w = pgas::make_window<int>(team, 64);
    w.local()[3] = 10 + team.rank();
    std::array<int, 2> bulk{};
    {
      pgas::fence epoch{w};
      epoch.next();
      epoch.get(1 - team.rank(), 2, std::span<int>(bulk));
    }
    seen[static_cast<std::size_t>(team.rank())] = bulk[1];
  };
  CHECK(said(body) == "");
  CHECK(seen[0] == 11);
  CHECK(seen[1] == 10);
}

TEST_CASE(
    "races: a search of schedules stops at the first report, and names the seed and the changes of turns") {
  // Rank 1 reads before rank 0 puts, unless it is slow. Both are in no order only if the flag is seen late.
  int runs = 0;
  body_type const body = [&](team_type& team) {
    if (team.rank() == 0) ++runs;
    auto w = pgas::make_window<int>(team, 64);
    {
      pgas::lock_all epoch{w};
      if (team.rank() == 0) {
        epoch.to(1).atomic_store(0, 1);
        epoch.put(1, 5, 7);
      } else if (epoch.to(1).atomic_load(0) == 0) {
        epoch.put(1, 5, 8);  // only a rank that looks early
      }
    }
    team.barrier();
  };
  auto const report_of = [&](unsigned schedules) {
    runs = 0;
    pgas::scc::options how;
    how.schedules = schedules;
    pgas::scc::with_options const chosen(how);
    try {
      pgas::run<pgas::backends::scc>(2, [&](team_type& team) { body(team); });
    } catch (pgas::error const& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  bool const at_once = !report_of(1).empty();
  CHECK(runs == 1);
  auto const report = report_of(50);
  INFO(report);
  CHECK(has(report, "rank 1's part of "));
  CHECK(has(report, "; found by schedule "));
  CHECK(has(report, " of 50"));
  CHECK((at_once || has(report, ", which PGAS_SEED=")));
  CHECK(has(report, ", and shown by: "));
  // A right program runs by every schedule.
  int rights = 0;
  pgas::scc::options how;
  how.schedules = 7;
  pgas::scc::with_options const chosen(how);
  pgas::run<pgas::backends::scc>(2, [&](team_type& team) { rights += team.rank() == 0 ? 1 : 0; });
  CHECK(rights == 7);
}

/// The place of a call, as the oracle keeps it.
[[gnu::noinline]] pgas::detail::scc::place here() {
  auto const found = pgas::detail::scc::place_of_caller();
  asm volatile("");  // keeps a compiler from making one call of two
  return found;
}

}  // namespace

TEST_CASE("scc: the lines of a report take one start of addr2line, and those of its repetition none") {
  auto const first = pgas::detail::addresses_of_calls(here().calls);
  auto const second = pgas::detail::addresses_of_calls(here().calls);
  REQUIRE(first != second);
  pgas::detail::line_lookup together;
  std::array const both{first, second};
  together.ask_for(both);
  auto const lines = together.of(second);
  together.ask_for(both);
  CHECK(together.starts() == 1);
  pgas::detail::line_lookup apart;
  CHECK(apart.of(first) == together.of(first));
  CHECK(apart.of(second) == lines);
  CHECK(apart.starts() == 2);
}
