// SPDX-License-Identifier: BSL-1.0
// Random programs on memory that the hardware keeps coherent.
// test: addresses, every model, unit conformance
#include "conformance/random_programs.hpp"

TEST_CASE("random programs give byte-equal values and memory on every coherent model, and in a serial run") {
  using namespace pgas_test;
  random_programs::play_on<coherent_models>();
}
