// SPDX-License-Identifier: BSL-1.0
#include "library.hpp"

namespace {

int call(calls_type& calls, int which, int a) {
  pgas::rank_t const next = (calls.rank() + 1) % calls.size();
  if (which == 2)
    return calls
        .call(
            next, [](int x) { return library_number() * 1000 + 20 + x; }, a)
        .value();
  if (which == 1) {
    // The result of a call of a call: the library's function calls another one of the library.
    return calls
        .call(
            next,
            [](auto& site, int x) {
              return site.call(
                  site.from(), [](int y) { return library_number() * 1000 + 10 + y; }, x);
            },
            a)
        .value();
  }
  return calls
      .call(
          next, [](int x) { return library_number() * 1000 + x; }, a)
      .value();
}

int call_own(team_type& team, int a) {
  auto own = pgas::make_calls(team);
  int const result = call(own, 0, a);
  own.finish();
  return result;
}

void wait(team_type& team) { team.barrier(); }

void fail() { throw pgas::error(pgas::errc::race, 0, "fail", "of a library"); }

bool is_race(pgas::error const& e) { return e.code() == pgas::errc::race; }

}  // namespace

extern library const all_of_library{call, call_own, wait, fail, is_race, find_objects};
