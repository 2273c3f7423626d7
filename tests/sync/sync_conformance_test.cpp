// SPDX-License-Identifier: BSL-1.0
// Every promise of the synchronization protocols, on every backend whose control words can carry them.
// test: addresses, threads, early, every model, unit conformance
#include "conformance/element_lock.hpp"
#include "conformance/fence_protocol.hpp"
#include "conformance/lock_protocol.hpp"
#include "conformance/mailed_protocol.hpp"
#include "conformance/post_protocol.hpp"
