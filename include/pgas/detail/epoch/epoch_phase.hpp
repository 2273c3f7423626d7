// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/vocabulary/error.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The state of an epoch object.
enum class epoch_phase : unsigned char {
  open,    ///< accesses are allowed
  closed,  ///< the epoch has ended
  moved,   ///< the epoch goes on in another object
};

/// Refuses a member of an epoch that is not open. Out of line and cold, so that a check costs a compare and a
/// branch.
template <class State>
[[noreturn, gnu::cold, gnu::noinline]] void refuse_epoch(State const& state, char const* operation, caller by,
                                                         epoch_phase phase) {
  throw_error_at(
      errc::wrong_order, state.job_rank(), {operation, by},
      {phase == epoch_phase::moved ? "the epoch has been moved to another object; call that object's member"
                                   : "the epoch is closed already; open another one"});
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
