// SPDX-License-Identifier: BSL-1.0
// Runs jobs from constructors and destructors of static objects: static_objects [main]
#include <cstdio>
#include <cstdlib>
#include <pgas/async/calls.hpp>
#include <pgas/core.hpp>
#include <string>
#if __has_include(<boost/context/detail/fcontext.hpp>)
#include <pgas/backends/scc.hpp>
#endif

namespace {

/// Called functions have numbers when all static objects have been made.
enum class phase { early, usual };

template <class Backend, phase When>
void run_jobs(char const* when) {
  int const sum = pgas::run<Backend>(2, [](auto& team) {
    int mine = 20;
    if constexpr (When == phase::usual) {
      auto calls = pgas::make_calls(team);
      mine = calls
                 .call(
                     1 - team.rank(), [](int x) { return x; }, 20)
                 .value();
      calls.finish();
    }
    auto w = pgas::make_window<int>(team, 2);
    {
      pgas::fence epoch{w};
      epoch.put(1 - team.rank(), 1, mine);
    }
    int const told = w.local()[1];
    return team.all_reduce(told);
  });
  std::string text;
  try {
    pgas::run<Backend>(2, [](auto& team) {
      if (team.rank() == 1) throw std::runtime_error("of its own");
      team.barrier();
    });
  } catch (pgas::error const& e) {
    text = std::string(e.what()) + " (" + e.code().category().name() + ", " + e.code().message() + ")";
  }
  std::printf("%s: %d, %s\n", when, sum, text.c_str());
}
template <phase When = phase::usual>
void run_all(char const* when) {
  run_jobs<pgas::backends::process_map, When>(when);
#if __has_include(<boost/context/detail/fcontext.hpp>)
  run_jobs<pgas::backends::scc, When>(when);
#endif
}

struct at_end {
  ~at_end() { run_all("destructor"); }
};
struct at_begin {
  at_begin() { run_all<phase::early>("constructor"); }
};
at_end const last;
at_begin const first;

}  // namespace

int main(int argc, char**) {
  if (argc > 1) run_all("main");
  std::atexit([] { run_all("atexit"); });
}
