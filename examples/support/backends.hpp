// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/backends/loopback.hpp>
#include <pgas/pgas.hpp>

namespace example {

/// Where an example can run: `--pgas-backend NAME`, the first unless told otherwise.
using backends = pgas::choices<pgas::backends::process_map, pgas::backends::thread_map, pgas::backends::loopback>;

}  // namespace example
