// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <pgas/backends/scc.hpp>
#include <string>
#include <string_view>
#include <tuple>

#include "races/every_program.hpp"
#include "races/score.hpp"

namespace {

/// The backends with a checker: a name here adds one.
using checked_backends = std::tuple<pgas::backends::scc>;

/// Calls use(backend) for each backend with a checker.
template <class Use>
void on_each(Use const& use) {
  std::apply([&]<class... Backends>(Backends*...) { (use(static_cast<Backends*>(nullptr)), ...); },
             std::tuple<pgas::backends::scc*>{});
}

}  // namespace

TEST_CASE("a checker reports the programs that race, and no other") {
  auto const programs = races::every_program();
  char const* const only = std::getenv("PGAS_RACE");
  auto const wanted = [only](races::program const& p) {
    return only == nullptr || (p.group + ": " + p.name).find(only) != std::string::npos;
  };
  std::string tables;
  on_each([&]<class Backend>(Backend*) {
    auto const table = races::ask_all<Backend>(programs.all(), wanted);
    for (races::answer const& a : table.answers) {
      CHECK_MESSAGE(a.failure.empty(), table.backend, ": ", a.of->group, ": ", a.of->name, ": ", a.failure);
      if (only != nullptr) MESSAGE(a.of->group, ": ", a.of->name, ": ", a.reports ? a.report : "silent");
    }
    tables += table.text() + "\n";
  });
  std::fputs(tables.c_str(), stdout);
}
