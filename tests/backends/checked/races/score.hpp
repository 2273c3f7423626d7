// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <pgas/run.hpp>
#include <pgas/vocabulary/error.hpp>
#include <string>
#include <type_traits>
#include <vector>

#include "program.hpp"
#include "world_on.hpp"

/// Runs programs under a checker, and counts its right and wrong answers.
namespace races {

/// A checker's answer to one program.
struct answer {
  program const* of;
  bool reports = false;
  std::string report;   ///< the report, if there is one
  std::string failure;  ///< another error than a report, which the program must not have

  [[nodiscard]] std::string full_name() const { return of->full_name(); }
};

/// Runs one program once on a backend whose checker is on.
template <class Backend>
answer ask(program const& p) {
  answer a{&p, false, {}, {}};
  std::function<void(world&)> const& body = p.body;
  try {
    pgas::run<Backend>(p.ranks, [&body, has = p.has](auto& team) {
      world_on<std::remove_cvref_t<decltype(team)>> mine(team, has);
      team.barrier();
      body(mine);
      team.barrier();
    });
  } catch (pgas::error const& e) {
    a.reports = e.code() == pgas::make_error_code(pgas::errc::race) ||
                e.code() == pgas::make_error_code(pgas::errc::stale_copy);
    (a.reports ? a.report : a.failure) = e.what();
  } catch (std::exception const& e) {
    a.failure = e.what();
  }
  return a;
}

/// The answers to all programs of one class, or of all classes.
struct score {
  std::string group;
  std::size_t races_found = 0;
  std::size_t false_alarms = 0;
  std::size_t right_silences = 0;
  std::size_t races_missed = 0;

  void add(answer const& a) {
    ++(a.of->races ? (a.reports ? races_found : races_missed) : (a.reports ? false_alarms : right_silences));
  }
  /// The share of the reports that are right.
  [[nodiscard]] double precision() const { return share(races_found, false_alarms); }
  /// The share of the races that are reported.
  [[nodiscard]] double recall() const { return share(races_found, races_missed); }

 private:
  static double share(std::size_t part, std::size_t rest) {
    return part + rest == 0 ? 1 : static_cast<double>(part) / static_cast<double>(part + rest);
  }
};

/// The answers of one backend's checker.
struct score_table {
  std::string backend;
  std::vector<answer> answers;

  [[nodiscard]] score all() const {
    score sum{.group = "all"};
    for (answer const& a : answers) sum.add(a);
    return sum;
  }
  [[nodiscard]] std::vector<score> by_class() const {
    std::vector<score> each;
    for (answer const& a : answers) {
      auto at =
          std::find_if(each.begin(), each.end(), [&](score const& s) { return s.group == a.of->group; });
      if (at == each.end()) at = each.insert(each.end(), score{.group = a.of->group});
      at->add(a);
    }
    each.push_back(all());
    return each;
  }
  /// A section of a page, with the table and the wrong answers.
  [[nodiscard]] std::string text() const {
    std::string out = "\n### " + backend +
                      "\n\n| class | found | missed | silent | false alarms | precision | recall |\n"
                      "|---|---|---|---|---|---|---|\n";
    for (score const& s : by_class()) {
      out += "| " + s.group + " | " + std::to_string(s.races_found) + " | " + std::to_string(s.races_missed) +
             " | " + std::to_string(s.right_silences) + " | " + std::to_string(s.false_alarms) + " | " +
             two_digits(s.precision()) + " | " + two_digits(s.recall()) + " |\n";
    }
    if (all().recall() > 0.97) out += "\nRecall is above 0.97.\n";
    std::string wrong;
    for (answer const& a : answers) {
      if (a.of->races != a.reports)
        wrong += (a.of->races ? "* missed: " : "* false alarm: ") + a.full_name() + "\n";
    }
    return out + (wrong.empty() ? "" : "\n" + wrong);
  }

 private:
  static std::string two_digits(double share) {
    char text[16];
    std::snprintf(text, sizeof text, "%.2f", share);
    return text;
  }
};

/// True if no request of a backend is open at its return: memory has private copies.
template <class Backend>
inline constexpr bool requests_end_at_return = pgas::cache_controlled<typename Backend::segment_type>;

/// Runs the programs that `wanted` chooses, each once. A program that is wrong on other memory only is left
/// out.
template <class Backend, class Wanted = bool (*)(program const&)>
score_table ask_all(
    std::vector<program> const& programs, Wanted const& wanted = [](program const&) { return true; }) {
  score_table table{.backend = std::string(Backend::name), .answers = {}};
  for (program const& p : programs) {
    if (p.needs_open_request && requests_end_at_return<Backend>) continue;
    if (wanted(p)) table.answers.push_back(ask<Backend>(p));
  }
  return table;
}

}  // namespace races
