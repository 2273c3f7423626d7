// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The std::function and the function objects of <functional>, without its searchers, which bring hash
/// tables. Where the standard library has no such part, this is all of <functional>.
#if __has_include(<bits/std_function.h>)

#include <bits/std_function.h>
#include <bits/stl_function.h>
#else
#include <functional>
#endif
