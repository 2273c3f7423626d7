// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <exception>
#include <pgas/detail/control/collective_call.hpp>
#include <pgas/detail/exchange/notes.hpp>
#include <pgas/detail/exchange/steps.hpp>
#include <pgas/detail/types/shared_owner.hpp>
#include <string_view>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// A collective that has been asked for and may not have ended yet. Its functions take it by its base, since
/// they know what lies behind it.
struct started_collective {
  std::string_view operation;
  collective_call call;
  steps (*begin)(started_collective&) = nullptr;
  /// Of one whose note is written: it is over when the notes of others are read.
  bool (*read)(started_collective&, notes) = nullptr;
  steps run;  ///< none before it begins, and after it has ended
  std::exception_ptr error;
  bool is_done = false;
  shared_owner<started_collective> next;  ///< in the queue of its team
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
