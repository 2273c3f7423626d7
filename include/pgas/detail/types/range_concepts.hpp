// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The concepts of <ranges>, without its views. Where the standard library has no such part, this is all of
/// <ranges>.
#if __has_include(<bits/ranges_base.h>)
#include <iterator>

#include <bits/ranges_base.h>
#else
#include <ranges>
#endif
