// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/detail/text/text.hpp>

namespace example {

using pgas::detail::in_quotes;

}  // namespace example
