// SPDX-License-Identifier: BSL-1.0
// Leaves out every step of every coherence policy, and finds the program that fails without it, and how. The
// table is tests/coherence/README.md; PGAS_WRITE_MATRIX=1 writes it.
// test: optimized, early, unit searches
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <pgas/backends/process_map.hpp>
#include <pgas/coherence/drop_with_put.hpp>
#include <pgas/coherence/local_and_remote.hpp>
#include <pgas/coherence/separate.hpp>
#include <pgas/coherence/unsafe_none.hpp>
#include <pgas/coherence/whole_cache.hpp>
#include <span>
#include <sstream>
#include <type_traits>

#include "conformance/coherence_programs.hpp"
#include "conformance/exchange_programs.hpp"
#include "support/mutated.hpp"
#include "support/user_memory.hpp"

using namespace pgas_test;
using namespace pgas_test::coherence_programs;
namespace coherence = pgas::coherence;

namespace {

/// The outcome of a program.
enum class outcome { right, wrong_value, reported };

/// Runs the program on two ranks against memory that misbehaves by this seed. `watched`: with the oracle, if
/// the backend has one.
template <class Backend, class Program, class Policy, class Protocols>
outcome play(std::uint64_t seed, bool watched, std::string* report = nullptr) {
  // Seed 0: memory does what it must, as late as it may. The adversary does much with even seeds, less with
  // odd ones.
  incoherent::adversary against{.seed = seed};
  if (seed == 0) against = incoherent::no_adversary;
  if (seed % 2 == 1)
    against = {.seed = seed, .fill = 2, .evict = 64, .deliver = 64, .drain = 64, .delay = 2, .yield = 2};
  incoherent::against const misbehaviour(against);
  pgas::scc::options how;
  how.check = watched;
  if (seed != 0) how.disturb(seed);
  pgas::scc::with_options const emulated(how);
  std::atomic<bool> right{true};
  try {
    pgas::run<Backend>(2, [&right](auto& world) {
      auto team = world.template with<Policy, Protocols>();
      Program::run(team, verdict{&right});
    });
  } catch (pgas::error const& e) {
    if (e.code() != pgas::make_error_code(pgas::errc::stale_copy) &&
        e.code() != pgas::make_error_code(pgas::errc::race)) {
      throw;
    }
    if (report != nullptr) *report = e.what();
    return outcome::reported;
  }
  return right ? outcome::right : outcome::wrong_value;
}

template <class... Programs>
struct noticed_by {};
using every_program = noticed_by<by_fence, by_last_stored, by_last_put, by_neighbours, by_post<false>,
                                 by_post<true>, by_one_way, by_lock, by_flush<>,
                                 by_own_store<dropped_by::opening>, by_own_store<dropped_by::flush>>;
/// For policies whose accesses have steps of their own.
using every_program_and_own_get =
    noticed_by<by_fence, by_last_stored, by_last_put, by_neighbours, by_post<false>, by_post<true>,
               by_one_way, by_lock, by_flush<>, by_own_store<dropped_by::opening>,
               by_own_store<dropped_by::flush>, by_own_store<dropped_by::get>>;

/// Memory of the ranks with a copy for accesses of others.
using two_copies = over_user_memory<pgas::backends::thread_map>;

struct killed {
  std::string_view program;
  std::string missing;  // the oracle's report, in short
};

/// Finds the first program that gives a wrong value, and the oracle's report of it. Empty if no seed up to
/// the limit shows one.
template <class Backend, class Policy, class Protocols, class... Programs>
std::optional<killed> kill(noticed_by<Programs...>, bool lives) {
  // On the chip a seed decides everything. The other memory's ranks are threads: the system decides which is
  // quicker, so a failure may need many more seeds on a busy machine.
  // In memory with two copies nothing misbehaves by a seed.
  std::uint64_t const seeds = std::is_same_v<Backend, two_copies>            ? 3
                              : std::is_same_v<Backend, pgas::backends::scc> ? 100
                              : lives                                        ? 1000
                                                                             : 10000;
  std::optional<killed> found;
  auto const by = [&]<class Program>(std::type_identity<Program>, std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t seed = from; seed < to && !found; ++seed) {
      if (play<Backend, Program, Policy, Protocols>(seed, false) == outcome::right) continue;
      found = killed{Program::name, ""};
      std::string report;
      if (play<Backend, Program, Policy, Protocols>(seed, true, &report) == outcome::reported) {
        for (std::string_view phrase :
             {"did not drop", "never cleaned", "did not drain", "in no cache", "unordered"}) {
          if (report.find(phrase) != std::string::npos) found->missing = phrase;
        }
      }
    }
  };
  // The programs take turns, a hundred seeds each: most of them never fail without this step.
  constexpr std::uint64_t turn = 100;
  for (std::uint64_t from = 0; from < seeds && !found; from += turn) {
    (by(std::type_identity<Programs>{}, from, std::min(from + turn, seeds)), ...);
  }
  return found;
}

struct named_step {
  step what;
  char const* name;
};
constexpr std::array steps{
    named_step{step::clean_own, "clean_own"},       named_step{step::clean_remote, "clean_remote"},
    named_step{step::drop_own, "drop_own"},         named_step{step::drop_remote, "drop_remote"},
    named_step{step::drain_stores, "drain_stores"}, named_step{step::drain_all, "drain_all"},
};
/// Steps of the policies that clean and drop by ranges and put past the cache.
constexpr std::array parts_of_steps{
    named_step{step::last_line_of_clean, "last line of clean"},
    named_step{step::last_line_of_drop, "last line of drop"},
    named_step{step::fence_kind, "fence kind"},
    named_step{step::byte_mask, "byte mask"},
};

/// Steps within accesses.
constexpr std::array step_of_get{named_step{step::drop_of_get, "drop of get"}};
constexpr std::array step_of_stores{named_step{step::clean_own, "clean_own"}};
constexpr std::array step_of_load{named_step{step::flush_of_load, "flush of load"}};
constexpr std::array step_of_own_get{named_step{step::publish_of_get, "publish of own get"}};

/// Steps of links and pull areas, without which the programs below fail.
struct named_exchange_step {
  exchanges::step what;
  char const* name;
};
constexpr std::array steps_of_links{
    named_exchange_step{exchanges::step::flush_of_push, "flush before the flag"},
    named_exchange_step{exchanges::step::flag_after_piece, "flag after the piece"},
    named_exchange_step{exchanges::step::flush_of_pull, "flush of the get"},
    named_exchange_step{exchanges::step::room_after_read, "room after the read"},
    named_exchange_step{exchanges::step::wait_for_room, "wait for room"},
    named_exchange_step{exchanges::step::wait_for_piece, "wait for the piece"},
};
constexpr std::array steps_of_pull_areas{
    named_exchange_step{exchanges::step::flush_of_meet, "flush before the meeting"},
    named_exchange_step{exchanges::step::flush_of_settle, "flush of the fetches"},
    named_exchange_step{exchanges::step::second_buffer, "second buffer"},
};
// Ranks of the incoherent memory are threads. Which program notices another order of steps there depends on
// the system, so those rows are the chip's.
constexpr std::array flushes_of_links{
    named_exchange_step{exchanges::step::flush_of_push, "flush before the flag"},
    named_exchange_step{exchanges::step::flush_of_pull, "flush of the get"},
};
constexpr std::array flushes_of_pull_areas{
    named_exchange_step{exchanges::step::flush_of_meet, "flush before the meeting"},
    named_exchange_step{exchanges::step::flush_of_settle, "flush of the fetches"},
};

/// A program of collectives on words and memory that a team has reserved.
template <class Program>
struct on_media {
  static constexpr std::string_view name = Program::name;
  static void run(auto& team, verdict v) {
    auto& backend = team.state()->backend;
    using backend_type = std::remove_cvref_t<decltype(backend)>;
    using media = exchanges::media<typename backend_type::control_type, typename backend_type::segment_type>;
    rank_t const ranks = team.size();
    bool const is_first = team.rank() == 0;
    using handle = typename backend_type::handle;
    std::vector<std::size_t> const sizes(static_cast<std::size_t>(ranks), media::bytes(ranks));
    handle const of_words =
        team.broadcast(is_first ? backend.reserve_control(media::words(ranks)) : handle{});
    handle const of_memory = team.broadcast(is_first ? backend.reserve_segment(sizes) : handle{});
    auto words = backend.attach_control(of_words, media::words(ranks), "links");
    auto memory = backend.attach_segment(of_memory, sizes[0]);
    media all(words, memory);
    Program::run(all, 6, [v](auto const& is, auto const& should) { v.expect(is == should ? 1 : 0, 1); });
    team.barrier();
  }
};
using programs_on_links =
    noticed_by<on_media<exchanges::by_messages>,
               on_media<exchanges::by_broadcast<pgas::collectives::binomial>>,
               on_media<exchanges::by_all_reduce<pgas::collectives::recursive_doubling>>>;
using programs_on_pull_areas =
    noticed_by<on_media<exchanges::by_all_gather<pgas::collectives::pulled>>,
               on_media<exchanges::by_gather_and_scatter<pgas::collectives::pulled>>>;

struct named_call {
  call what;
  char const* name;
};
constexpr std::array calls{
    named_call{call::fence_publish, "publish of fence"},
    named_call{call::fence_refresh, "refresh of fence"},
    named_call{call::post_publish, "publish of post"},
    named_call{call::trigger_refresh, "refresh of start"},
    named_call{call::complete_publish, "publish of complete"},
    named_call{call::wait_refresh, "refresh of wait"},
    named_call{call::test_refresh, "refresh of test"},
    named_call{call::lock_refresh, "refresh of lock_all"},
    named_call{call::unlock_publish, "publish of unlock_all"},
};

constexpr std::array calls_of_part_locks{
    named_call{call::part_lock_refresh, "refresh of lock"},
    named_call{call::try_lock_refresh, "refresh of try_lock"},
    named_call{call::part_unlock_publish, "publish of unlock"},
};
/// Calls whose boundary no protocol sees.
constexpr std::array calls_of_epochs{
    named_call{call::flush, "flush"},
    named_call{call::sync_publish, "publish of sync"},
    named_call{call::sync_refresh, "refresh of sync"},
    named_call{call::signal_publish, "publish of signal"},
    named_call{call::signal_wait_refresh, "refresh of wait for a signal"},
    named_call{call::signal_test_refresh, "refresh of test for a signal"},
    named_call{call::signal_any_refresh, "refresh of wait for any signal"},
};
/// Calls of a halo exchange by notified puts.
constexpr std::array calls_of_notified_halos{
    named_call{call::halo_finish_refresh, "refresh of a notified halo"},
};

/// The reason why a mutant may live: its step does nothing. Each listed mutant must live, and each other one
/// must be killed.
struct nothing_to_kill {
  std::string_view policy;
  std::string_view backend;
  std::string_view step;
  char const* why;
};
constexpr char const* writes_through = "empty: stores go through, nothing is modified in a cache alone";
constexpr char const* puts_past = "empty: puts go past the cache, or through it";
constexpr char const* in_order =
    "does nothing there: cores are in order, a drop is over when the next load begins";
constexpr char const* flush_drains =
    "does nothing more there: remote completion has drained the buffer, which all stores past the cache "
    "share";
constexpr char const* past_any_cache = "empty: no access leaves a copy behind";
constexpr char const* stores_drain = "does nothing more there: drain_stores drains the same buffer";
constexpr char const* own_buffer = "does nothing there: a core sees its own stores in order";
constexpr char const* one_copy_for_all = "empty: other ranks put to and get from the copy itself";
constexpr char const* copied_at_once = "empty: the copies are made at once, in memory that is coherent";
constexpr char const* gets_at_once = "empty: a get is complete when it returns";
constexpr std::array listed_survivors{
    nothing_to_kill{"drop_at_get", "scc", "clean_remote", puts_past},
    nothing_to_kill{"drop_at_get", "scc", "drop_remote", "empty: each get drops its own range"},
    nothing_to_kill{"drop_at_get", "scc", "drain_stores", flush_drains},
    nothing_to_kill{"drop_at_get", "scc", "drain_all", in_order},
    nothing_to_kill{"uncached", "scc", "clean_own", stores_drain},
    nothing_to_kill{"uncached", "scc", "clean_remote", past_any_cache},
    nothing_to_kill{"uncached", "scc", "drop_own", past_any_cache},
    nothing_to_kill{"uncached", "scc", "drop_remote", past_any_cache},
    nothing_to_kill{"uncached", "scc", "drain_stores", flush_drains},
    nothing_to_kill{"uncached", "scc", "drain_all", past_any_cache},
    nothing_to_kill{"uncached", "scc", "flush of load", own_buffer},
    nothing_to_kill{"local_and_remote", "scc", "clean_remote", puts_past},
    nothing_to_kill{"local_and_remote", "scc", "drain_stores", flush_drains},
    nothing_to_kill{"local_and_remote", "scc", "drain_all", in_order},
    nothing_to_kill{"separate", "user_memory", "clean_remote", one_copy_for_all},
    nothing_to_kill{"separate", "user_memory", "drop_remote", one_copy_for_all},
    nothing_to_kill{"separate", "user_memory", "drain_stores", copied_at_once},
    nothing_to_kill{"separate", "user_memory", "drain_all", copied_at_once},
    nothing_to_kill{"write_through", "scc", "publish of sync", flush_drains},
    nothing_to_kill{"write_through", "scc", "publish of signal", flush_drains},
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
    nothing_to_kill{"write_back", "scc", "fence kind", in_order},
    nothing_to_kill{"whole_cache", "scc", "clean_remote", puts_past},
    nothing_to_kill{"whole_cache", "scc", "drain_stores", flush_drains},
    nothing_to_kill{"whole_cache", "scc", "drain_all", in_order},
    nothing_to_kill{"write_back", "incoherent", "clean_remote", puts_past},
    nothing_to_kill{"links", "scc", "flush of the get", gets_at_once},
    nothing_to_kill{"pull areas", "scc", "flush of the fetches", gets_at_once},
};

nothing_to_kill const* listed_survivor(std::string_view policy, std::string_view backend,
                                       std::string_view step) {
  auto const* const found = std::find_if(
      listed_survivors.begin(), listed_survivors.end(),
      [&](nothing_to_kill const& s) { return s.policy == policy && s.backend == backend && s.step == step; });
  return found == listed_survivors.end() ? nullptr : found;
}

/// The table, row by row; every row is checked against the list.
struct matrix {
  std::ostringstream table;
  bool as_expected = true;

  void row(std::string_view policy, std::string_view backend, std::string_view without,
           std::optional<killed> const& found) {
    nothing_to_kill const* const listed = listed_survivor(policy, backend, without);
    bool const right = found.has_value() == (listed == nullptr);
    CHECK_MESSAGE(
        right, std::string(policy), " without ", std::string(without), " on ", std::string(backend),
        found ? " is killed by " + std::string(found->program) + ", but listed as a survivor" : " survives");
    as_expected = as_expected && right;
    table << "| `" << policy << "` | " << backend << " | " << without << " | "
          << (found ? found->program : "survives") << " | "
          << (found ? (found->missing.empty() ? "-" : "\"" + found->missing + "\"")
                    : (listed != nullptr ? listed->why : "?"))
          << " |\n";
  }

  template <class Backend, class Policy, class Programs = every_program>
  void without_each_of(std::span<named_step const> which) {
    for (auto const& s : which) {
      lacking const mutant(s.what);
      row(Policy::name, Backend::name, s.name,
          kill<Backend, mutated<Policy>, pgas::default_protocols>(
              Programs{}, listed_survivor(Policy::name, Backend::name, s.name) != nullptr));
    }
  }
  template <class Backend, class Policy, class Protocols, class Programs>
  void without_each_of(std::span<named_call const> which, Programs programs) {
    for (auto const& c : which) {
      forgetting const mutant(c.what);
      bool const lives = listed_survivor(Policy::name, Backend::name, c.name) != nullptr;
      row(Policy::name, Backend::name, c.name, kill<Backend, Policy, Protocols>(programs, lives));
    }
  }
  template <class Backend, class Programs>
  void without_each_of(std::string_view medium, std::span<named_exchange_step const> which,
                       Programs programs) {
    for (auto const& s : which) {
      exchanges::lacking const mutant(s.what);
      bool const lives = listed_survivor(medium, Backend::name, s.name) != nullptr;
      row(medium, Backend::name, s.name,
          kill<Backend, typename Backend::default_coherence, pgas::default_protocols>(programs, lives));
    }
  }
  template <class Backend, class Policy>
  void without_each_call() {
    without_each_of<Backend, Policy, forgetful>(
        calls, noticed_by<by_fence, by_post<false>, by_post<true>, by_one_way, by_lock>{});
    without_each_of<Backend, Policy, forgetful_parts>(calls_of_part_locks,
                                                      noticed_by<by_part_lock<false>, by_part_lock<true>>{});
    without_each_of<Backend, forgetful_policy<Policy>, pgas::default_protocols>(
        calls_of_epochs, noticed_by<by_flush<>, by_sync, by_signal<awaited_by::test>,
                                    by_signal<awaited_by::wait>, by_signal<awaited_by::any>>{});
    without_each_of<Backend, forgetful_policy<Policy>, pgas::default_protocols>(
        calls_of_notified_halos, noticed_by<by_notified_halo>{});
  }
};

template <class Backend, class Policy>
void check_right() {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    auto const by = [&]<class Program>(Program) {
      CHECK_MESSAGE((play<Backend, Program, Policy, pgas::default_protocols>(seed, true) == outcome::right),
                    std::string(Policy::name), ", seed ", seed);
    };
    by(by_fence{});
    by(by_last_stored{});
    by(by_last_put{});
    by(by_neighbours{});
    by(by_post<false>{});
    by(by_post<true>{});
    by(by_one_way{});
    by(by_lock{});
    by(by_sync{});
    by(by_part_lock<false>{});
    by(by_part_lock<true>{});
    by(by_signal<awaited_by::wait>{});
    by(by_signal<awaited_by::test>{});
    by(by_signal<awaited_by::any>{});
    by(by_notified_halo{});
    by(by_flush<>{});
    by(by_own_store<dropped_by::opening>{});
    by(by_own_store<dropped_by::flush>{});
    by(by_own_store<dropped_by::get>{});
  }
}

/// The shortcut measured in the paper: the own part cached without maintenance, the others' parts written
/// through.
using shortcut = coherence::local_and_remote<coherence::unsafe_none, coherence::write_through>;
/// The same, with the maintenance that it needs.
using cached_own_part = coherence::local_and_remote<coherence::write_back, coherence::write_through>;

}  // namespace

TEST_CASE("each policy gives the right values on the chip in every kind of epoch, against every seed") {
  using chip = pgas::backends::scc;
  check_right<chip, coherence::write_through>();
  check_right<chip, coherence::write_back>();
  check_right<chip, coherence::whole_cache>();
  check_right<chip, coherence::drop_with_put>();
  check_right<chip, coherence::drop_at_get>();
  check_right<chip, coherence::uncached>();
  check_right<chip, cached_own_part>();
}

TEST_CASE("the paper's shortcut, an own part cached without maintenance, gives wrong values") {
  auto const found = kill<pgas::backends::scc, shortcut, pgas::default_protocols>(every_program{}, false);
  REQUIRE(found.has_value());
  CHECK(found->missing != "");
}

TEST_CASE(
    "kill matrix: a policy without one of its steps is wrong, and the table names the program that noticed" *
    doctest::test_suite("long")) {
  using chip = pgas::backends::scc;
  matrix m;
  m.without_each_of<chip, coherence::write_through>(steps);
  m.without_each_of<chip, coherence::drop_with_put>(steps);
  m.without_each_of<chip, coherence::whole_cache>(steps);
  m.without_each_of<chip, coherence::write_back>(steps);
  m.without_each_of<chip, coherence::write_back>(parts_of_steps);
  m.without_each_of<chip, coherence::drop_at_get>(steps);
  m.without_each_of<chip, coherence::drop_at_get>(step_of_get);
  m.without_each_of<chip, coherence::uncached>(steps);
  m.without_each_of<chip, coherence::uncached, every_program_and_own_get>(step_of_load);
  m.without_each_of<chip, cached_own_part>(steps);
  m.without_each_of<two_copies, coherence::separate>(steps);
  m.without_each_of<two_copies, coherence::separate, every_program_and_own_get>(step_of_own_get);
  m.without_each_of<incoherent::backend, coherence::uncached>(step_of_stores);
  m.without_each_of<incoherent::backend, coherence::write_back>(steps);
  m.without_each_of<incoherent::backend, coherence::write_back>(parts_of_steps);
  m.without_each_call<chip, coherence::write_through>();
  m.without_each_call<incoherent::backend, coherence::write_back>();
  m.without_each_of<chip>("links", steps_of_links, programs_on_links{});
  m.without_each_of<chip>("pull areas", steps_of_pull_areas, programs_on_pull_areas{});
  m.without_each_of<incoherent::backend>("links", flushes_of_links, programs_on_links{});
  m.without_each_of<incoherent::backend>("pull areas", flushes_of_pull_areas, programs_on_pull_areas{});
  char const* const path = std::getenv("PGAS_KILL_MATRIX");
  if (path == nullptr) return;
  std::ifstream file(path);
  std::string const before((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::string const begin = "<!-- generated from here on -->\n";
  auto const at = before.find(begin);
  REQUIRE_MESSAGE(at != std::string::npos, std::string(path), " has no place for the table");
  std::string const now = before.substr(0, at) + begin +
                          "| policy, or medium of collectives | backend | without | noticed by | the oracle "
                          "says, or why nobody can "
                          "|\n|---|---|---|---|---|\n" +
                          m.table.str();
  if (std::getenv("PGAS_WRITE_MATRIX") != nullptr && m.as_expected) {
    std::ofstream(path) << now;
  } else {
    CHECK_MESSAGE(now == before, std::string(path),
                  " is not what the test finds: PGAS_WRITE_MATRIX=1 writes it anew");
  }
}
