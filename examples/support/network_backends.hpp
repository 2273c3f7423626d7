// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/backends/simulated.hpp>
#include <support/backends.hpp>

namespace example {

/// A list of backends with one more at its end.
template <class List, class Backend>
struct with_backend;
template <class... Backends, class Backend>
struct with_backend<pgas::backend_list<Backends...>, Backend> {
  using type = pgas::backend_list<Backends..., Backend>;
};

/// The backends of a program that also shows what grows with ranks: `--pgas-backend simulated`, in virtual
/// time.
using network_backends = with_backend<backends, pgas::backends::simulated>::type;

}  // namespace example
