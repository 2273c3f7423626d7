// SPDX-License-Identifier: BSL-1.0
// ring: a token goes round. Each rank puts it into its right neighbour's part; the neighbour only waits.
#include <cstdio>
#include <pgas/pgas.hpp>
#include <support/backends.hpp>

int main(int argc, char** argv) {
  return pgas::run<example::backends, example::policies>(argc, argv, [](auto& team) {
    auto token = pgas::make_window<long>(team, 1);  // one element on each rank
    int const right = (team.rank() + 1) % team.size();
    int const left = (team.rank() + team.size() - 1) % team.size();
    constexpr int laps = 3;

    for (int lap = 0; lap < laps; ++lap) {
      // Rank 0 gives first and takes last. The others take, add their number, and give.
      auto const give = [&](long value) {
        pgas::access epoch{token, {right}};  // waits for the exposure of `right`
        epoch.put(right, 0, value);
      };  // the access closes: `right` goes on
      auto const take = [&] {
        pgas::exposure epoch{token, {left}};
        epoch.wait();
        return pgas::stage(token, pgas::read_only)[0];
      };
      if (team.rank() == 0) {
        pgas::exposure epoch{token, {left}};  // opened first: a ring of one rank works too
        give(lap == 0 ? 1 : static_cast<long>(lap) * 1000);
        epoch.wait();
        std::printf("lap %d: the token came back as %ld\n", lap, pgas::stage(token, pgas::read_only)[0]);
      } else {
        give(take() + team.rank());
      }
    }
  });
}
// With --pgas-ranks 4:
//   lap 0: the token came back as 7
//   lap 1: the token came back as 1006
//   lap 2: the token came back as 2006
