// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

namespace bench {

/// The arguments of a program of rows.
struct settings {
  double row_seconds = 0.04;       // time of a row, for all its contenders together
  double sample_seconds = 0.2e-3;  // time of one run, unless one iteration takes longer
  double seconds = 0;              // no row begins so long after the start; 0: no limit
  bool quick = false;
  bool large = false;  // only the rows that need much memory and time
  int ranks = 2;
  std::uint64_t keys = 1'000'000;  ///< of a map: a test takes fewer
  std::string shared;              // a file that all ranks map; empty: memory that forked ranks inherit
  std::set<std::string> only;      ///< names of rows; empty: all
  std::set<std::string> skip;      ///< names of rows to leave out
  std::string after;               ///< begin with the row after this one; empty: with the first

  settings(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
      std::string_view const argument = argv[i];
      auto const value = [&] { return i + 1 < argc ? argv[++i] : throw_usage(argv[0]); };
      if (argument == "--quick") {
        quick = true;
      } else if (argument == "--large") {
        large = true;
      } else if (argument == "--row-seconds") {
        row_seconds = std::atof(value());
      } else if (argument == "--seconds") {
        seconds = std::atof(value());
      } else if (argument == "--ranks") {
        ranks = std::atoi(value());
      } else if (argument == "--keys") {
        keys = std::strtoull(value(), nullptr, 10);
      } else if (argument == "--shared") {
        shared = value();
      } else if (argument == "--only") {
        only.insert(value());
      } else if (argument == "--skip") {
        skip.insert(value());
      } else if (argument == "--after") {
        after = value();
      } else {
        throw_usage(argv[0]);
      }
    }
  }

 private:
  [[noreturn]] static char const* throw_usage(char const* program) {
    std::fprintf(stderr,
                 "usage: %s [--quick] [--large] [--ranks N] [--row-seconds S] [--seconds S] [--keys N] "
                 "[--shared FILE] [--only ROW]... [--skip ROW]... [--after ROW]\n",
                 program);
    std::exit(2);
  }
};

}  // namespace bench
