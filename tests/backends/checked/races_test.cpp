// SPDX-License-Identifier: BSL-1.0
// test: no lines, unit races
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <pgas/backends/checked.hpp>
#include <pgas/backends/scc.hpp>
#include <pgas/containers/make_messenger.hpp>
#include <pgas/pgas.hpp>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "races/chip_orders.hpp"
#include "races/every_program.hpp"
#include "races/score.hpp"
#include "races/table_file.hpp"
#include "support/ranks.hpp"

namespace {

/// The backends with a checker. A name more is a backend more.
using checked_backends = std::tuple<pgas::backends::scc, pgas::backends::checked<pgas::backends::process_map>,
                                    pgas::backends::checked<pgas::backends::thread_map>>;

/// The share of races that a checker must report for good, once it has reported that much in the table.
constexpr double enough = 0.97;

/// Ranks are fibers, in one order without a seed, so the answers of two runs are the same.
template <class Backend>
inline constexpr bool repeats = std::is_same_v<Backend, pgas::backends::scc>;

bool writes_table() { return std::getenv("PGAS_WRITE_MATRIX") != nullptr; }

/// Runs all programs on a backend, and compares the answers with the page's section, or writes it.
template <class Backend>
void check_backend(races::program_list const& programs, races::table_file& page) {
  auto const table = races::ask_all<Backend>(programs.all());
  for (races::answer const& a : table.answers) {
    CHECK_MESSAGE(a.failure.empty(), table.backend, ": ", a.full_name(), ": ", a.failure);
    CHECK_MESSAGE((a.of->races || !a.reports), table.backend, ": a false alarm: ", a.full_name(), ": ",
                  a.report);
  }
  std::string const text = table.text();
  std::string const before = page.section(table.backend);
  bool const was_enough = before.find("\nRecall is above 0.97.\n") != std::string::npos;
  CHECK_MESSAGE((!was_enough || table.all().recall() > enough), table.backend,
                ": recall was above 0.97, and is now ", table.all().recall());
  if (writes_table()) {
    page.replace(table.backend, text);
  } else if (repeats<Backend>) {
    CHECK_MESSAGE(text == before, table.backend,
                  ": the table in tests/backends/checked/races/README.md is not what the test finds: "
                  "PGAS_WRITE_MATRIX=1 writes "
                  "it anew. Found now:\n",
                  text);
  } else {
    auto const known = races::table_file::wrong_answers(before);
    for (std::string const& wrong : races::table_file::wrong_answers(text))
      CHECK_MESSAGE(known.contains(wrong), table.backend,
                    ": not in tests/backends/checked/races/README.md: ", wrong);
  }
}

template <class Use>
void on_each_checked_backend(Use const& use) {
  [&]<class... Backends>(std::type_identity<std::tuple<Backends...>>) {
    ((pgas_test::chosen(Backends::name) ? use(std::type_identity<Backends>{}) : void()), ...);
  }(std::type_identity<checked_backends>{});
}

/// Runs a program on the chip without an order.
bool chip_reports(races::program const& p, races::chip_order const& without) {
  auto how = pgas::scc::with_options::chosen();
  without.remove(how.rules);
  pgas::scc::with_options const now(how);
  return races::ask<pgas::backends::scc>(p).reports;
}

/// The first program whose answer is right, and wrong without the order. Programs with its text come first.
std::string told_apart_by(std::vector<races::program> const& programs, races::chip_order const& order) {
  for (bool const has_text : {true, false}) {
    for (races::program const& p : programs) {
      if ((p.full_name().find(order.text) != std::string::npos) != has_text) continue;
      if (p.needs_open_request && races::requests_end_at_return<pgas::backends::scc>) continue;
      if (chip_reports(p, order) == p.races) continue;
      if (races::ask<pgas::backends::scc>(p).reports == p.races)
        return (p.races ? "passes the wrong program " : "refuses the right program ") + p.full_name();
    }
  }
  return {};
}

}  // namespace

TEST_CASE("races: without any one rule or order the chip refuses a right program or passes a wrong one") {
  auto const programs = races::every_program();
  for (races::chip_order const& order : races::chip_orders()) {
    std::string const found = told_apart_by(programs.all(), order);
    CHECK_MESSAGE(!found.empty(), "no program needs the order ", order.name);
    if (!found.empty()) MESSAGE("the chip without ", order.name, " ", found);
  }
}

TEST_CASE("races: a message orders the put before it on the chip, and without that order the chip reports") {
  auto const reports = [](bool messages) {
    auto how = pgas::scc::with_options::chosen();
    how.rules.messages = messages;
    pgas::scc::with_options const now(how);
    try {
      pgas::run<pgas::backends::scc>(2, [](auto& team) {
        auto window = pgas::make_window<int>(team, std::size_t{1});
        auto mail = pgas::make_messenger(team);
        int value = 7;
        auto epoch = pgas::lock_all(window);
        if (team.rank() == 0) {
          epoch.put(1, 0, value);
          epoch.flush_all();
          mail.send(1, 1, std::as_bytes(std::span(&value, 1)));
        } else {
          mail.receive(0, 1, std::as_writable_bytes(std::span(&value, 1)));
          static_cast<void>(epoch.get(1, 0));
        }
        epoch.close();
        team.barrier();
      });
    } catch (pgas::error const& e) {
      CHECK(e.code() == pgas::make_error_code(pgas::errc::race));
      return true;
    }
    return false;
  };
  CHECK_FALSE(reports(true));
  CHECK(reports(false));
}

TEST_CASE("races: no two labelled programs have one name, and three hundred or more are wrong") {
  auto const programs = races::every_program();
  std::set<std::string> names;
  std::size_t wrong = 0;
  for (races::program const& p : programs.all()) {
    CHECK_MESSAGE(names.insert(p.full_name()).second, "twice: ", p.full_name());
    wrong += p.races ? 1 : 0;
  }
  CHECK(wrong >= 300);
}

TEST_CASE(
    "races: a checker is silent on each right program, and reports the wrong ones that its table says") {
  char const* const path = std::getenv("PGAS_RACE_TABLE");
  if (path == nullptr) return;
  races::table_file page(path);
  REQUIRE_MESSAGE(page.has_place(), path, " has no place for the tables");
  auto const programs = races::every_program();
  on_each_checked_backend(
      [&]<class Backend>(std::type_identity<Backend>) { check_backend<Backend>(programs, page); });
  if (writes_table()) page.write();
}

TEST_CASE("races: the programs whose names have the text in PGAS_RACE print their answers") {
  char const* const only = std::getenv("PGAS_RACE");
  if (only == nullptr) return;
  auto const programs = races::every_program();
  on_each_checked_backend([&]<class Backend>(std::type_identity<Backend>) {
    auto const table = races::ask_all<Backend>(programs.all(), [only](races::program const& p) {
      return p.full_name().find(only) != std::string::npos;
    });
    for (races::answer const& a : table.answers) {
      MESSAGE(table.backend, ": ", a.full_name(), ": ",
              a.reports           ? a.report
              : a.failure.empty() ? std::string("silent")
                                  : a.failure);
    }
    MESSAGE(table.text());
  });
}
