// SPDX-License-Identifier: BSL-1.0
// The checked backend without one of its rules, or without one of the orders that the interface promises.
// test: no lines, unit races
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <pgas/backends/checked.hpp>
#include <pgas/backends/process_map.hpp>
#include <pgas/containers/make_messenger.hpp>
#include <pgas/pgas.hpp>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include "races/every_program.hpp"
#include "races/score.hpp"

/// Has a name, since frames of coroutines have members of types that the mutant is a part of.
namespace checked_mutants {

using pgas::control_words;

/// A rule of the checker, or an order of the interface, that a mutant lacks.
enum class part : std::uint8_t {
  none,
  // rules
  earliest,
  holders,
  elements,
  atomics,
  locations,
  messages,
  roots,
  completion,
  targets,
  flush,
  flush_local,
  puts_last,
  publication,
  stages,
  calls,
  buffers,
  // orders, by the words that make them
  fences,
  posts,
  locks,
  signals,
  barriers,
  collectives,
  containers,
  last
};

/// The rules of a mutant. Ranks are threads and the mutant is chosen before they start, so this is no race.
struct mutant {
  static inline part without = part::none;

  static bool has(part p) noexcept { return p != without; }
  static bool earliest() noexcept { return has(part::earliest); }
  static bool holders() noexcept { return has(part::holders); }
  static bool elements() noexcept { return has(part::elements); }
  static bool atomics() noexcept { return has(part::atomics); }
  static bool locations() noexcept { return has(part::locations); }
  static bool messages() noexcept { return has(part::messages); }
  static bool roots() noexcept { return has(part::roots); }
  static bool completion() noexcept { return has(part::completion); }
  static bool targets() noexcept { return has(part::targets); }
  static bool flush() noexcept { return has(part::flush); }
  static bool flush_local() noexcept { return has(part::flush_local); }
  static bool puts_last() noexcept { return has(part::puts_last); }
  static bool publication() noexcept { return has(part::publication); }
  static bool stages() noexcept { return has(part::stages); }
  static bool calls() noexcept { return has(part::calls); }
  static bool buffers() noexcept { return has(part::buffers); }

  class control_rule;
};

using thread_map = pgas::backends::thread_map;
using mutant_backend = pgas::backends::checked<thread_map, mutant>;

/// Finds the order that a word makes by its place in its control.
class mutant::control_rule {
 public:
  control_rule(std::string_view label, control_words) : label_(label) {}

  class word_rule {
   public:
    explicit word_rule(part makes) noexcept : makes_(makes) {}
    [[nodiscard]] bool orders() const noexcept { return makes_ == part::none || has(makes_); }

   private:
    part makes_;
  };
  [[nodiscard]] word_rule of_slot(std::size_t i) const {
    return word_rule(made_by(&control_words::slots, i));
  }
  [[nodiscard]] word_rule of_cell(std::size_t i) const {
    return word_rule(made_by(&control_words::cells, i));
  }

 private:
  using sort = std::size_t control_words::*;

  [[nodiscard]] part made_by(sort of, std::size_t i) const {
    if (label_.ends_with("'s signals")) return part::signals;
    if (label_ == "team") return i < pgas::default_fence::words(3).*of ? part::barriers : part::collectives;
    if (label_ == "team's buffers") return part::collectives;
    if (!label_.starts_with("window ")) return part::containers;
    // The words of a window are those of its fence, its posts, its lock, and its elements, in this order.
    using protocols = pgas::default_protocols_on<mutant_backend>;
    std::size_t const fence = protocols::fence::words(3).*of;
    std::size_t const post = fence + protocols::post::words(3).*of;
    std::size_t const lock = post + protocols::lock::words(3).*of;
    if (i < fence) return part::fences;
    if (i < post) return part::posts;
    return i < lock ? part::locks : part::none;
  }

  std::string label_;
};

}  // namespace checked_mutants

namespace {

using checked_mutants::mutant;
using checked_mutants::mutant_backend;
using checked_mutants::part;

/// Chooses a mutant for a while.
class chosen_mutant {
 public:
  explicit chosen_mutant(part without) noexcept { mutant::without = without; }
  chosen_mutant(chosen_mutant const&) = delete;
  chosen_mutant& operator=(chosen_mutant const&) = delete;
  ~chosen_mutant() { mutant::without = part::none; }
};

bool reports(races::program const& p, part without) {
  chosen_mutant const now(without);
  return races::ask<mutant_backend>(p).reports;
}

/// Rank 0 puts, flushes and sends a message; rank 1 receives it and gets the element. No words order the two.
bool reports_messages(part without) {
  chosen_mutant const now(without);
  try {
    pgas::run<mutant_backend>(2, [](auto& team) {
      auto window = pgas::make_window<int>(team, std::size_t{1});
      auto messages = pgas::make_messenger(team);
      int value = 7;
      {
        auto epoch = pgas::lock_all(window);
        if (team.rank() == 0) {
          epoch.put(1, 0, value);
          epoch.flush_all();
          messages.send(1, 1, std::as_bytes(std::span(&value, 1)));
        } else {
          messages.receive(0, 1, std::as_writable_bytes(std::span(&value, 1)));
          static_cast<void>(epoch.get(1, 0));
        }
      }
      team.barrier();
    });
  } catch (pgas::error const& e) {
    REQUIRE(e.code() == pgas::make_error_code(pgas::errc::race));
    return true;
  }
  return false;
}

/// Rank 0 puts and then accumulates; later rank 1 accumulates to the same element and then gets. The lock of
/// elements of this type orders the two accumulates, and nothing else.
bool reports_elements(part without) {
  chosen_mutant const now(without);
  std::atomic<bool> has_accumulated{false};  // ranks are threads, and the checker does not see it
  try {
    pgas::run<mutant_backend>(3, [&](auto& team) {
      auto window = pgas::make_window<std::complex<double>>(team, std::size_t{2});
      auto epoch = pgas::lock_all(window);
      if (team.rank() == 0) {
        epoch.put(2, 1, {1, 1});
        epoch.flush_all();
        epoch.accumulate(2, 0, {1, 1});
        has_accumulated = true;
      }
      if (team.rank() == 1) {
        while (!has_accumulated) std::this_thread::yield();
        epoch.accumulate(2, 0, {1, 1});
        static_cast<void>(epoch.get(2, 1));
      }
    });
  } catch (pgas::error const& e) {
    REQUIRE(e.code() == pgas::make_error_code(pgas::errc::race));
    return true;
  }
  return false;
}

/// The end of two ranks of which one closes a fence and the other one meets it in a barrier.
pgas::errc end_of_two_calls(part without) {
  chosen_mutant const now(without);
  try {
    pgas::run<mutant_backend>(2, [](auto& team) {
      auto window = pgas::make_window<int>(team, std::size_t{1});
      pgas::fence epoch{window};
      if (team.rank() == 0) team.barrier();
      epoch.close();
    });
  } catch (pgas::error const& e) {
    return static_cast<pgas::errc>(e.code().value());
  }
  return {};
}

std::string_view name_of(part p) {
  static constexpr std::array names{"nothing",   "earliest",    "holders",     "elements",    "atomics",
                                    "locations", "messages",    "roots",       "completion",  "targets",
                                    "flush",     "flush_local", "puts_last",   "publication", "stages",
                                    "calls",     "buffers",     "fences",      "posts",       "locks",
                                    "signals",   "barriers",    "collectives", "containers"};
  static_assert(names.size() == static_cast<std::size_t>(part::last));
  return names[static_cast<std::size_t>(p)];
}

}  // namespace

TEST_CASE("checked: the programs whose names have the text in PGAS_RACE print the mutants they tell apart") {
  char const* const only = std::getenv("PGAS_RACE");
  if (only == nullptr) return;
  auto const programs = races::every_program();
  for (races::program const& p : programs.all()) {
    if (p.full_name().find(only) == std::string::npos) continue;
    std::string found;
    bool const whole = reports(p, part::none);
    for (int i = 1; i < static_cast<int>(part::last); ++i) {
      if (reports(p, static_cast<part>(i)) != whole)
        found += " " + std::string(name_of(static_cast<part>(i)));
    }
    if (!found.empty()) MESSAGE((p.races ? "wrong: " : "right: "), p.full_name(), ":", found);
  }
}

/// The first labelled program whose answer changes without the part, and is right with all parts. Programs
/// with this text in their names come first.
std::string told_apart_by(part without, std::string_view text) {
  static auto const programs = races::every_program();
  for (bool const has_text : {true, false}) {
    for (races::program const& p : programs.all()) {
      if ((p.full_name().find(text) != std::string::npos) != has_text) continue;
      if (reports(p, without) != p.races && reports(p, part::none) == p.races) return p.full_name();
    }
  }
  return {};
}

TEST_CASE("checked: without any one rule or order, a right program is refused or a wrong one passes") {
  struct need {
    part without;
    std::string_view text;  ///< of programs that tell the two apart
  };
  static constexpr std::array needs{
      need{part::holders, "sync: lock: "},
      need{part::atomics, "atomic: "},
      need{part::locations, "put before get, ordered by an atomic flag"},
      need{part::roots, "turned round"},
      need{part::completion, "put and get by one rank"},
      need{part::targets, "a flush of the target, not of another"},
      need{part::flush, "put and get by one rank"},
      need{part::flush_local, "sync: lock: accumulate before get"},
      need{part::puts_last, "flush, not flush_local"},
      need{part::publication, "sync: lock_all: own store"},
      need{part::stages, "own load"},
      need{part::buffers, "origin: "},
      need{part::fences, "sync: fence: "},
      need{part::posts, "sync: post and wait: "},
      need{part::locks, "sync: lock: "},
      need{part::signals, "ordered by signal"},
      need{part::barriers, "ordered by barrier"},
      need{part::collectives, "ordered by scatter"},
      need{part::containers, "ordered by queue"},
  };
  for (need const& n : needs) {
    std::string const found = told_apart_by(n.without, n.text);
    CHECK_MESSAGE(!found.empty(), "no program needs the ", name_of(n.without));
  }
}

TEST_CASE("checked: a wait that ends late takes the first signal's order, and with a mutant the second's") {
  // Ranks are threads, and the checker does not see these.
  std::atomic<bool> has_opened{false};
  std::atomic<bool> both_sent{false};
  races::program const wrong{.group = "mutants",
                             .name = "put between two signals",
                             .races = true,
                             .where = races::side::target,
                             .needs_open_request = false,
                             .ranks = 3,
                             .has = races::beside::signals_and_containers,
                             .body = [&](races::world& w) {
                               auto const e = w.lock_all();
                               if (w.rank() == 0) {
                                 // A wait never goes back behind an earlier access of its own rank.
                                 while (!has_opened) std::this_thread::yield();
                                 e->signal(1, 0);
                                 e->put(2, 0, 1);
                                 e->flush(2);
                                 e->signal(1, 0);
                                 both_sent = true;
                               }
                               if (w.rank() == 1) {
                                 has_opened = true;
                                 while (!both_sent) std::this_thread::yield();
                                 w.wait_signal(0, 0);
                                 e->get(2, 0);
                               }
                             }};
  CHECK(reports(wrong, part::none));
  has_opened = both_sent = false;
  CHECK_FALSE(reports(wrong, part::earliest));
}

TEST_CASE("checked: a message orders the put before it, and the order is gone without the rule of messages") {
  CHECK_FALSE(reports_messages(part::none));
  CHECK(reports_messages(part::messages));
}

TEST_CASE("checked: the lock of elements orders no other accesses, except with a mutant") {
  CHECK(reports_elements(part::none));
  CHECK_FALSE(reports_elements(part::elements));
}

TEST_CASE("checked: a search of schedules runs a right program by all seeds, and names that of a report") {
  auto& chosen = pgas::detail::checking::schedules::chosen();
  auto const before = chosen;
  // The runs are counted in this process: ranks are threads.
  std::atomic<int> runs{0};
  auto const run = [&](int wrong_from) {
    runs = 0;
    pgas::run<mutant_backend>(2, [&](auto& team) {
      auto window = pgas::make_window<int>(team, std::size_t{1});
      int const now = team.broadcast(team.rank() == 0 ? ++runs : 0, 0);
      auto epoch = pgas::fence(window);
      if (team.rank() == 0 || now >= wrong_from) epoch.put(0, 0, 1);
    });
  };
  chosen = {.seed = 0, .runs = 4};
  run(5);
  CHECK(runs == 4);
  std::string report;
  try {
    run(3);
  } catch (pgas::error const& e) {
    report = e.what();
  }
  chosen = before;
  CHECK(runs == 3);
  CHECK_MESSAGE(report.find("found by schedule 3 of 4, whose delays PGAS_SEED=2 makes again") != report.npos,
                report);
}

TEST_CASE("checked: without the comparison of calls, a fence against a barrier ends as a deadlock alone") {
  CHECK(end_of_two_calls(part::none) == pgas::errc::mismatch);
  CHECK(end_of_two_calls(part::calls) == pgas::errc::deadlock);
}
