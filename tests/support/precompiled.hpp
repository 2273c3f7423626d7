// SPDX-License-Identifier: BSL-1.0
// The headers that nearly all tests read. tools/test lets clang read them once for all units of a build.
#pragma once

#include <doctest/doctest.h>

#include <pgas/backends/loopback.hpp>
#include <pgas/backends/scc.hpp>
#include <pgas/backends/self.hpp>
#include <pgas/pgas.hpp>
