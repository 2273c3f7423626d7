// SPDX-License-Identifier: BSL-1.0
#pragma once

namespace pgas_test {

/// Makes the processes of a program agree on an answer of the clock. mpi/main.cpp sets it; any other program
/// is one process.
inline bool (*agreed)(bool) = [](bool answer) { return answer; };

}  // namespace pgas_test
