// SPDX-License-Identifier: BSL-1.0
// Uses two shared libraries: program WHAT [LIBRARY LIBRARY [LIBRARY OF ONE RANK]]. Ends with 0 if the promise
// WHAT holds.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "library.hpp"

extern "C" {
[[gnu::weak]] library const* first();  // null: not linked
[[gnu::weak]] library const* second();
}

namespace {

void require(bool condition, char const* promise) {
  if (!condition) throw std::runtime_error(std::string("broken: ") + promise);
}

library const& load(char const* file, char const* name) {
  void* const handle = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
  require(handle != nullptr, "a library can be loaded");
  return *reinterpret_cast<library const* (*)()>(::dlsym(handle, name))();
}

/// A function of the program under each number that a function of a library may have.
template <int I>
int call_program(calls_type& calls, int a) {
  return calls.call((calls.rank() + 1) % calls.size(), [](int x) { return 7000 + I + x; }, a).value();
}

void call_each_other(team_type& team, library const& a, library const& b) {
  auto calls = pgas::make_calls(team);
  int const r = team.rank();
  require(call_program<0>(calls, r) == 7000 + r && call_program<3>(calls, r) == 7003 + r,
          "the program's functions run");
  for (int which : {0, 1, 2}) {
    require(a.call(calls, which, r) == 1000 + which * 10 + r, "a library's function runs");
    require(b.call(calls, which, r) == 2000 + which * 10 + r, "the other library's function runs");
  }
  require(call_program<2>(calls, r) == 7002 + r && call_program<1>(calls, r) == 7001 + r,
          "the program's functions still run");
  calls.finish();
  require(a.call_own(team, r) == 1000 + r && b.call_own(team, r) == 2000 + r,
          "calls that a library has made run its functions");
}

/// Rank 0 waits in a library's code. Its waits serve the calls that the program has made.
void wait_in_library(team_type& team, library const& a) {
  auto calls = pgas::make_calls(team);
  if (team.rank() == 0) {
    a.wait(team);
  } else {
    require(calls.call(
                     0, [](int x) { return x + 1; }, 41)
                    .value() == 42,
            "a wait serves calls");
    team.barrier();
  }
  calls.finish();
}

template <class Failing>
void compare_codes(library const& other, Failing const& fails) {
  try {
    fails();
  } catch (pgas::error const& e) {
    require(e.code() == pgas::errc::race && pgas::errc::race == e.code(), "a code equals its errc");
    require(e.code() != pgas::errc::gone && !(e.code() == pgas::errc::gone), "a code differs from others");
    require(e.code() == make_error_code(pgas::errc::race), "codes are equal");
    require(e.code().category() == pgas::category(), "categories are equal");
    std::error_code const there = static_cast<std::system_error const&>(e).code();
    require(there == pgas::errc::race && there != pgas::errc::gone, "a code of the base class is equal");
    require(there == std::error_condition(static_cast<int>(pgas::errc::race), pgas::category()),
            "a code equals its condition");
    require(there != std::make_error_code(static_cast<std::errc>(pgas::errc::race)),
            "a code of another category differs");
    require(other.is_race(e), "the library sees the same kind");
  }
}

/// Only rank 0 has the library: another rank refuses its function.
void call_unknown(team_type& team, char const* file) {
  auto calls = pgas::make_calls(team);
  if (team.rank() == 0) {
    library const& mine = load(file, "third");
    try {
      mine.call(calls, 0, 5);
      require(false, "a function that is not there is refused");
    } catch (pgas::error const& e) {
      require(e.code() == pgas::errc::mismatch, "the refusal says that ranks differ");
      require(e.sentence().find("has not loaded") != e.sentence().npos, "the refusal says what is missing");
    }
  }
  calls.finish();
}

/// Ranks load two libraries in different orders.
void load_in_any_order(team_type& team, char const* a, char const* b) {
  bool const is_even = team.rank() % 2 == 0;
  if (is_even) load(a, "first");
  load(b, "second");
  call_each_other(team, load(a, "first"), load(b, "second"));
}

}  // namespace

int main(int argc, char** argv) try {
  std::string_view const what = argv[1];
  auto const run = [](auto const& body) { pgas::run<pgas::backends::process_map>(3, body); };
  if (what == "any order") {
    run([&](team_type& team) { load_in_any_order(team, argv[2], argv[3]); });
    return 0;
  }
  if (what == "unknown") {
    run([&](team_type& team) { call_unknown(team, argv[4]); });
    return 0;
  }
  library const& a = first != nullptr ? *first() : load(argv[2], "first");
  library const& b = second != nullptr ? *second() : load(argv[3], "second");
  if (what == "calls") run([&](team_type& team) { call_each_other(team, a, b); });
  if (what == "waits") run([&](team_type& team) { wait_in_library(team, a); });
  if (what == "codes") {
    compare_codes(b, [&] { a.fail(); });
    compare_codes(a, [] { throw pgas::error(pgas::errc::race, 0, "fail", "of the program"); });
  }
  if (what == "objects") {
    require(a.find() == find_objects() && b.find() == find_objects(), "shared objects have one of each");
  }
  return 0;
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
