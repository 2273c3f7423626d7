// SPDX-License-Identifier: BSL-1.0
// Compiled once for all programs of this folder.
#include <pgas/pgas.hpp>
