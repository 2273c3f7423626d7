// SPDX-License-Identifier: BSL-1.0
// The conformance suites again on a checked backend, which must be silent: they are right programs. Those of
// raw segments are not among them. Their ranks meet in the bootstrap alone, which the checker does not see.
#include <pgas/backends/checked.hpp>
#include <pgas/backends/process_map.hpp>

#define PGAS_TEST_ONE_BACKEND pgas::backends::checked<pgas::backends::process_map>
#include "conformance/control.hpp"
#include "conformance/fence_protocol.hpp"
#include "conformance/lock_protocol.hpp"
#include "conformance/mailbox.hpp"
#include "conformance/post_protocol.hpp"
#include "conformance/random_arrays.hpp"
#include "conformance/random_programs.hpp"

static_assert(std::is_same_v<pgas_test::all_backends, std::tuple<PGAS_TEST_ONE_BACKEND>>);
