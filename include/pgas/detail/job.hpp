// SPDX-License-Identifier: BSL-1.0
// Temporary forwarder while the launcher is being wired: include pgas/backends/job/job.hpp.
#pragma once
#include <pgas/backends/job/job.hpp>
