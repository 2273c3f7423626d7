// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The durations and clocks of <chrono>, without its calendar. The calendar brings streams, which would be a
/// tenth of the text that a program with pgas compiles. Where the standard library has no such part, this is
/// all of <chrono>.
#if __has_include(<bits/chrono.h>)
#include <bits/chrono.h>
#else
#include <chrono>
#endif
