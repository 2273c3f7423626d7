// SPDX-License-Identifier: BSL-1.0
// What a shared library does with the team and the calls of a program. It is compiled with hidden symbols and
// with visible ones, and the program links it or loads it by dlopen.
#pragma once

#include <pgas/async/calls.hpp>
#include <pgas/core.hpp>
#include <pgas/detail/job/service.hpp>
#include <pgas/heap.hpp>
#include <pgas/machines/scc/options.hpp>

using team_type = pgas::team<pgas::backends::process_map>;
using calls_type = decltype(pgas::make_calls(std::declval<team_type&>()));

/// The objects that a shared object finds, for a comparison with those of another one.
struct found_objects {
  void* options;
  void* listener;
  void* numbers;
  bool operator==(found_objects const&) const = default;
};
inline found_objects find_objects() {
  return {&pgas::scc::with_options::chosen(), &pgas::detail::listens_to_errors(),
          &pgas::detail::one_per_process<pgas::detail::led_so_far>()};
}

struct library {
  /// Calls functions of the library at the next rank: returns 2000 + a, 3000 + a, ...
  int (*call)(calls_type& calls, int which, int a);
  /// Calls of the library's own.
  int (*call_own)(team_type& team, int a);
  /// Waits for all ranks, in the library's code.
  void (*wait)(team_type& team);
  /// Throws errc::race.
  void (*fail)();
  /// The kind of a failure, as the library sees it: whether it is errc::race.
  bool (*is_race)(pgas::error const& e);
  found_objects (*find)();
};
extern library const all_of_library;
/// Of each library; defined by check.sh.
int library_number();
