// SPDX-License-Identifier: BSL-1.0
// Every promise of layer 2 about memory and its words, on every backend.
// test: addresses, threads, every model, unit conformance
#include "conformance/bootstrap.hpp"
#include "conformance/control.hpp"
#include "conformance/mailbox.hpp"
#include "conformance/segment.hpp"
