// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The algorithms of <algorithm> on iterators. Those on ranges and those with execution policies, together
/// with the hash tables that these bring, would be a tenth of the text that a program with pgas compiles.
/// This is all of <algorithm> if the standard library has no such part.
#if __has_include(<bits/stl_algo.h>)
#include <bits/stl_algobase.h>

#include <bits/stl_algo.h>
#else
#include <algorithm>
#endif
