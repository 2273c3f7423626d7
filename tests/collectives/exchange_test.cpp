// SPDX-License-Identifier: BSL-1.0
// The collectives on links and pull areas in every order of a few ranks on the emulated chip, whose checker
// reports stale copies and races, and in orders by priorities.
// test: optimized, unit protocols
#include <malloc.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <pgas/team.hpp>

#include "conformance/exchange_programs.hpp"
#include "conformance/make.hpp"

namespace pgas_test::exchanges {

namespace scc = pgas::scc;

/// Runs a program on the chip; returns the fault that was found, or nothing.
template <class Program>
std::string play(rank_t ranks, int rounds) {
  using backend = pgas::backends::scc;
  using media_type = media<backend::control_type, backend::segment_type>;
  try {
    pgas_test::launch<backend>(ranks, [rounds](backend& mine, auto& boot) {
      rank_t const n = mine.size();
      auto words = make_control(mine, boot, "words", media_type::words(n));
      auto memory = make_segment(mine, boot, "memory",
                                 std::vector<std::size_t>(static_cast<std::size_t>(n), media_type::bytes(n)));
      media_type all(words, memory);
      Program::run(all, rounds, [](auto const& is, auto const& should) {
        if (is != should) throw std::runtime_error("wrong elements");
      });
      boot.fence();
    });
  } catch (std::exception const& e) {
    return e.what();
  }
  return {};
}

/// A search makes a chip for each order. Returning its memory to the system each time costs more than the
/// run.
[[maybe_unused]] bool const keeps_memory =
    ::mallopt(M_MMAP_THRESHOLD, 1 << 30) != 0 && ::mallopt(M_TRIM_THRESHOLD, 1 << 30) != 0;

/// Plays something with options that next() changes, until that is over, or time is up.
template <class Play, class Next>
long search(Play const& play_once, Next const& next, double seconds) {
  auto const started = std::chrono::steady_clock::now();
  long runs = 0;
  do {
    ++runs;
    if (!play_once()) break;
  } while (next() &&
           std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count() < seconds);
  return runs;
}

inline double seconds_to_search() {
  char const* const budget = std::getenv("PGAS_TEST_SECONDS");
  return budget != nullptr ? std::atof(budget) : 2.0;
}
constexpr double programs = 18;

TEST_CASE(
    "exchange: collectives on links and pull areas give the right values in every order with few changes of "
    "turns") {
  if (!chosen(pgas::backends::scc::name)) return;
  struct bounds {
    rank_t ranks;
    std::size_t switches;
    double share;  // of the time
  };
  for (bounds const& of : {bounds{2, 1, 0.5}, bounds{2, 2, 0.5}, bounds{3, 1, 1}}) {
    long runs = 0;
    int complete = 0;
    int searches = 0;
    for_each_program([&]<class Program>(Program, char const* algorithm) {
      scc::decisions script;
      script.most_switches = of.switches;
      scc::options how;
      how.schedule = scc::scheduling::script;
      how.script = &script;
      scc::with_options const emulated(how);
      bool more = true;
      std::string wrong;
      auto const once = [&] { return wrong = play<Program>(of.ranks, 3), wrong.empty(); };
      runs += search(
          once, [&] { return more = script.next(); }, seconds_to_search() / programs * of.share);
      CHECK_MESSAGE(wrong == "", algorithm, ", ", std::string(Program::name), ", ", of.ranks,
                    " ranks: ", wrong);
      complete += more ? 0 : 1;
      ++searches;
    });
    std::cout << "covered: " << runs << " orders of " << of.ranks << " cores with up to " << of.switches
              << " changes of turns, " << complete << " of " << searches << " searches to their end\n";
  }
}

TEST_CASE(
    "exchange: collectives on links and pull areas give the right values in orders by priorities, against a "
    "memory that misbehaves") {
  if (!chosen(pgas::backends::scc::name)) return;
  long runs = 0;
  for (rank_t const ranks : {2, 3, 5}) {
    for_each_program([&]<class Program>(Program, char const* algorithm) {
      std::uint64_t seed = 0;
      std::string wrong;
      auto const once = [&] {
        scc::options how;
        how.disturb(++seed);
        how.schedule = seed % 4 == 0 ? scc::scheduling::random : scc::scheduling::priority;
        scc::with_options const emulated(how);
        return wrong = play<Program>(ranks, 4), wrong.empty();
      };
      runs += search(
          once, [] { return true; }, seconds_to_search() / programs / 3);
      CHECK_MESSAGE(wrong == "", algorithm, ", ", std::string(Program::name), ", ", ranks, " ranks, seed ",
                    seed);
    });
  }
  std::cout << "covered: " << runs << " seeds of collectives on 2, 3 and 5 cores\n";
}

}  // namespace pgas_test::exchanges
