// SPDX-License-Identifier: BSL-1.0
// Random programs on memory with private copies.
// test: addresses in full, threads in full, every model, unit conformance
#include <pgas/coherence/unsafe_none.hpp>

#include "conformance/random_programs.hpp"

TEST_CASE(
    "random programs give byte-equal values and memory on every incoherent model, and in a serial run") {
  pgas_test::random_programs::play_on<pgas_test::incoherent_models>();
}

TEST_CASE("random programs are able to fail: with a policy that does nothing, some give wrong values") {
  using namespace pgas_test;
  int wrong = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    incoherent::against const misbehaviour({.seed = seed});
    auto const e = error_of<model<incoherent::backend, pgas::coherence::unsafe_none>>(
        static_cast<rank_t>(seed % 3 + 2), [seed](auto& team) { random_programs::play(team, seed); });
    if (e) ++wrong;
  }
  CHECK(wrong > 20);
}
