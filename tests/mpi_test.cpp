// SPDX-License-Identifier: BSL-1.0
// The conformance suites on MPI: tests/meson.build builds them with each MPI, and mpirun starts them.
#include "mpi/one_backend.hpp"

#include "conformance/bootstrap.hpp"
#include "conformance/control.hpp"
#include "conformance/element_lock.hpp"
#include "conformance/fence_protocol.hpp"
#include "conformance/lock_protocol.hpp"
#include "conformance/post_protocol.hpp"
#include "conformance/segment.hpp"
