// SPDX-License-Identifier: BSL-1.0
#include <pgas/backends/tile.hpp>

#define PGAS_TEST_ONE_BACKEND pgas::backends::tile
#include "support/launches.hpp"

template <>
struct pgas_test::bootstrap_of<pgas::backends::tile> {
  using type = pgas::detail::tile_machine::rank_bootstrap;
};

#include "conformance/bootstrap.hpp"
#include "conformance/channel.hpp"
#include "conformance/control.hpp"
#include "conformance/element_lock.hpp"
#include "conformance/fence_protocol.hpp"
#include "conformance/lock_protocol.hpp"
#include "conformance/mailbox.hpp"
#include "conformance/post_protocol.hpp"
#include "conformance/random_programs.hpp"
#include "conformance/segment.hpp"
