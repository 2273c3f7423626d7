// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/vocabulary/expects.hpp>

namespace pgas::inline PGAS_ASSERTIONS::histories::detail {

/// The step that a wrong variant of the search leaves out, for tests.
enum class search_fault {
  none,                   ///< the right search
  ignores_times,          ///< an operation may come before one that ended before its call
  ignores_pending_begin,  ///< a pending operation may take effect before its call
  pending_overtakes,      ///< a pending operation may take effect before earlier ones of its rank
  pending_must_happen,    ///< a pending operation takes effect in any case
  one_branch,             ///< no second operation is tried where a first one fits
  forgets_the_object,     ///< two positions are one although the object differs
  no_necessary_order,     ///< the search does not know which operations must come first
  takes_any_write,        ///< a read has one write, although several may have given its value
  ignores_sums,           ///< a read of a sum has a write, too
  ignores_takes,          ///< values leave in the order in which they came, although some take the newest
  values_are_unique,      ///< a value that occurs twice is taken for one
  pending_pops_nothing,   ///< a value without a pop stays, although a pop is pending
};

}  // namespace pgas::inline PGAS_ASSERTIONS::histories::detail
