// SPDX-License-Identifier: BSL-1.0
#pragma once

/// stage: a rank's own part, or its own cells, as plain memory on every backend.
#include <pgas/array/staged.hpp>
#include <pgas/epoch/staged.hpp>
