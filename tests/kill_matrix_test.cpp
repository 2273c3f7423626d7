// SPDX-License-Identifier: BSL-1.0
// Every step of every coherence policy, left out: which program notices, and how. The table is
// tests/coherence/README.md; PGAS_WRITE_MATRIX=1 writes it anew.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <pgas/coherence/drop_with_put.hpp>
#include <pgas/coherence/local_and_remote.hpp>
#include <pgas/coherence/mutated.hpp>
#include <pgas/coherence/unsafe_none.hpp>
#include <pgas/coherence/whole_cache.hpp>
#include <sstream>

#include "conformance/coherence_programs.hpp"

using namespace pgas_test;
using namespace pgas_test::coherence_programs;
namespace coherence = pgas::coherence;
using coherence::step;

namespace {

/// What became of a program.
enum class outcome { right, wrong_value, reported };

/// Runs it on two ranks against memory that misbehaves as this seed says. `watched`: with the oracle, where there is
/// one.
template <class Backend, class Program, class Policy>
outcome play(std::uint64_t seed, bool watched, std::string* report = nullptr) {
  incoherent::adversary against{.seed = seed};
  if (seed == 0) against = incoherent::no_adversary;
  incoherent::against const misbehaviour(against);
  pgas::scc::options how;
  how.check = watched;
  if (seed != 0) how.disturb(seed);
  pgas::scc::with_options const emulated(how);
  std::atomic<bool> right{true};
  try {
    pgas::run<Backend>(2, [&right](auto& world) {
      auto team = world.template with<Policy, pgas::default_protocols>();
      Program::run(team, verdict{&right});
    });
  } catch (pgas::error const& e) {
    if (e.code() != pgas::make_error_code(pgas::errc::stale_copy)) throw;
    if (report != nullptr) *report = e.what();
    return outcome::reported;
  }
  return right ? outcome::right : outcome::wrong_value;
}

struct killed {
  std::string program;
  std::string missing;  ///< what the oracle says, in short
};

/// The first program that gives a wrong value within so many seeds, and what the oracle says of it.
template <class Backend, class Policy>
std::optional<killed> kill() {
  constexpr std::uint64_t seeds = 60;
  std::optional<killed> found;
  auto const by = [&]<class Program>(Program, char const* name) {
    for (std::uint64_t seed = 0; seed < seeds && !found; ++seed) {
      if (play<Backend, Program, Policy>(seed, false) == outcome::right) continue;
      found = killed{name, ""};
      std::string report;
      if (play<Backend, Program, Policy>(seed, true, &report) == outcome::reported) {
        for (std::string_view phrase : {"did not drop", "never cleaned", "did not drain", "in no cache"}) {
          if (report.find(phrase) != std::string::npos) found->missing = phrase;
        }
      }
    }
  };
  by(by_fence{}, "fence");
  by(by_post<false>{}, "post, start, complete, wait");
  by(by_post<true>{}, "post, start, complete, test");
  by(by_one_way{}, "one exposes, one accesses");
  by(by_lock{}, "lock_all");
  by(by_flush<>{}, "flush and sync");
  by(by_own_store<dropped_by::opening>{}, "own stores before lock_all");
  by(by_own_store<dropped_by::flush>{}, "own stores before flush");
  return found;
}

constexpr std::array<std::pair<step, char const*>, 6> steps{{{step::clean_own, "clean_own"},
                                                             {step::clean_remote, "clean_remote"},
                                                             {step::drop_own, "drop_own"},
                                                             {step::drop_remote, "drop_remote"},
                                                             {step::drain_stores, "drain_stores"},
                                                             {step::drain_all, "drain_all"}}};

/// Why a mutant may live: its step does nothing. Whatever is not listed must be killed, and what is must live.
struct nothing_to_kill {
  std::string_view policy;
  std::string_view backend;
  std::string_view step;
  char const* why;
};
constexpr char const* writes_through = "empty: stores go through, nothing is modified in a cache alone";
constexpr char const* puts_past = "empty: puts go past the cache, or through it";
constexpr char const* in_order = "does nothing there: cores are in order, a drop is over when the next load begins";
constexpr char const* flush_drains =
    "does nothing more there: remote completion has drained the buffer, which all stores past the cache share";
constexpr std::array survivors{
    nothing_to_kill{"write_through", "scc", "clean_own", writes_through},
    nothing_to_kill{"write_through", "scc", "clean_remote", puts_past},
    nothing_to_kill{"write_through", "scc", "drain_all", in_order},
    nothing_to_kill{"drop_with_put", "scc", "clean_own", writes_through},
    nothing_to_kill{"drop_with_put", "scc", "clean_remote", puts_past},
    nothing_to_kill{"drop_with_put", "scc", "drop_own", "empty: each put drops its target's copies"},
    nothing_to_kill{"drop_with_put", "scc", "drain_all", in_order},
    nothing_to_kill{"write_back", "scc", "clean_remote", puts_past},
    nothing_to_kill{"write_back", "scc", "drain_stores", flush_drains},
    nothing_to_kill{"write_back", "scc", "drain_all", in_order},
    nothing_to_kill{"whole_cache", "scc", "clean_remote", puts_past},
    nothing_to_kill{"whole_cache", "scc", "drain_stores", flush_drains},
    nothing_to_kill{"whole_cache", "scc", "drain_all", in_order},
};

template <class Backend, class Policy>
void rows_of(std::ostream& table, bool& as_expected) {
  auto const row = [&]<step Missing>() {
    using mutant = coherence::mutated<Policy, Missing>;
    char const* const name = steps[static_cast<std::size_t>(Missing)].second;
    auto const found = kill<Backend, mutant>();
    nothing_to_kill const* listed = nullptr;
    for (auto const& s : survivors) {
      if (s.policy == Policy::name && s.backend == Backend::name && s.step == name) listed = &s;
    }
    bool const right = found.has_value() == (listed == nullptr);
    CHECK_MESSAGE(right, std::string(Policy::name), " without ", std::string(name), " on ", std::string(Backend::name),
                  found ? " is killed by " + found->program + ", but listed as a survivor" : " survives");
    as_expected = as_expected && right;
    table << "| `" << Policy::name << "` | " << Backend::name << " | `" << name << "` | "
          << (found ? found->program : "survives") << " | "
          << (found ? (found->missing.empty() ? "" : "\"" + found->missing + "\"")
                    : (listed != nullptr ? listed->why : "?"))
          << " |\n";
  };
  row.template operator()<step::clean_own>();
  row.template operator()<step::clean_remote>();
  row.template operator()<step::drop_own>();
  row.template operator()<step::drop_remote>();
  row.template operator()<step::drain_stores>();
  row.template operator()<step::drain_all>();
}

template <class Backend, class Policy>
void check_right() {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    auto const by = [&]<class Program>(Program) {
      CHECK_MESSAGE((play<Backend, Program, Policy>(seed, true) == outcome::right), std::string(Policy::name),
                    ", seed ", seed);
    };
    by(by_fence{});
    by(by_post<false>{});
    by(by_post<true>{});
    by(by_one_way{});
    by(by_lock{});
    by(by_flush<>{});
    by(by_own_store<dropped_by::opening>{});
    by(by_own_store<dropped_by::flush>{});
    by(by_own_store<dropped_by::get>{});
  }
}

/// The paper's measured shortcut: the own part cached without maintenance, the others' written through.
using shortcut = coherence::local_and_remote<coherence::unsafe_none, coherence::write_through>;
/// The same made right.
using cached_own_part = coherence::local_and_remote<coherence::write_back, coherence::write_through>;

}  // namespace

TEST_CASE("on the chip, each policy gives the right values in every kind of epoch, against every seed") {
  using chip = pgas::backends::scc;
  check_right<chip, coherence::write_through>();
  check_right<chip, coherence::write_back>();
  check_right<chip, coherence::whole_cache>();
  check_right<chip, coherence::drop_with_put>();
  check_right<chip, coherence::at_get>();
  check_right<chip, coherence::uncached>();
  check_right<chip, cached_own_part>();
}

TEST_CASE("the paper's shortcut, an own part cached without maintenance, gives wrong values") {
  auto const found = kill<pgas::backends::scc, shortcut>();
  REQUIRE(found.has_value());
  CHECK(found->missing != "");
}

TEST_CASE("kill matrix: a policy without one of its steps is wrong, and the table says who noticed") {
  std::ostringstream table;
  bool as_expected = true;
  rows_of<pgas::backends::scc, coherence::write_through>(table, as_expected);
  rows_of<pgas::backends::scc, coherence::drop_with_put>(table, as_expected);
  rows_of<pgas::backends::scc, coherence::write_back>(table, as_expected);
  rows_of<pgas::backends::scc, coherence::whole_cache>(table, as_expected);
  char const* const path = std::getenv("PGAS_KILL_MATRIX");
  if (path == nullptr) return;
  std::ifstream file(path);
  std::string const before((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::string const begin = "<!-- generated from here on -->\n";
  auto const at = before.find(begin);
  REQUIRE_MESSAGE(at != std::string::npos, std::string(path), " has no place for the table");
  std::string const now =
      before.substr(0, at) + begin +
      "| policy | backend | without | noticed by | the oracle says, or why nobody can |\n|---|---|---|---|---|\n" +
      table.str();
  if (std::getenv("PGAS_WRITE_MATRIX") != nullptr && as_expected) {
    std::ofstream(path) << now;
  } else {
    CHECK_MESSAGE(now == before, std::string(path), " is not what the test finds: PGAS_WRITE_MATRIX=1 writes it anew");
  }
}
