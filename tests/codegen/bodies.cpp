// SPDX-License-Identifier: BSL-1.0
// check.py compiles this to assembly, and compares the loop of each body with that of `plain`, a function
// that main calls. The number of a sweep is its line in BODIES of check.py.
#include <pgas/async/calls.hpp>
#include <pgas/async/scheduler.hpp>
#include <pgas/async/task.hpp>
#include <pgas/pgas.hpp>
#if __has_include(<mpi.h>)
#include <pgas/mpi.hpp>
#endif

/// A loop over `from` between two marks. Inlined, so that it is compiled as its body is.
template <int Body>
[[gnu::always_inline]] inline void sweep(double* from) {
  asm volatile("# begin body_%c1" : "+r"(from) : "i"(Body) : "memory");
  for (int i = 0; i < 4096; ++i) from[i] = 0.5 * from[i] + 1.0;
  asm volatile("# end body_%c0" : : "i"(Body) : "memory");
}

double memory[4096];
[[gnu::noinline]] void plain() { sweep<0>(memory); }

/// The mutant of the test.
[[gnu::cold, gnu::noinline]] void mutant() { sweep<9>(memory); }

/// A body that is a function object.
struct function_object {
  template <class Team>
  int operator()(Team& team) const {
    auto window = pgas::make_window<double>(team, 4096);
    sweep<1>(window.local().data());
    return 0;
  }
};

using process_map = pgas::backends::process_map;

template <class Team>
pgas::task<> coroutine(Team&) {
  sweep<2>(memory);
  co_return;
}

int main(int argc, char** argv) {
  plain();
  mutant();
#if __has_include(<mpi.h>)
  pgas::mpi::run<pgas::backends::mpi>(MPI_COMM_WORLD, [](auto& team) {
    auto window = pgas::make_window<double>(team, 4096);
    sweep<8>(window.local().data());
  });
#endif
  // An array, an epoch, a collective: a body is not cold because it calls the library.
  pgas::run<process_map>(2, [](auto& team) {
    auto array = pgas::make_array<double>(team, {128, 128}, pgas::halo{.width = 1});
    pgas::exchange_halo(array);
    sweep<3>(&array.local()(0, 0));
    return team.all_reduce(array.local()(0, 0));
  });
  pgas::run<process_map>([](auto& team) {
    auto window = pgas::make_window<double>(team, 4096);
    pgas::fence epoch{window};
    sweep<4>(window.local().data());
    epoch.put(0, 0, 1.0);
  });
  pgas::run<process_map>(2, function_object{});
  pgas::run<process_map>(2, [](auto& team) {
    auto calls = pgas::make_calls(team);
    calls.send(
        0, [](int) { sweep<5>(memory); }, 1);
    calls
        .call(
            0,
            [](int given) {
              sweep<6>(memory);
              return given;
            },
            1)
        .wait();
    calls.finish();
    pgas::sync_wait(team, coroutine(team));
  });
  using both = pgas::backend_list<process_map, pgas::backends::thread_map>;
  return pgas::run<both>(argc, argv, [](auto& team, auto const&) {
    team.barrier();
    sweep<7>(memory);
    return 0;
  });
}
