// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <pgas/detail/text/text_of.hpp>
#include <pgas/vocabulary/error.hpp>
#include <string>
#include <string_view>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Throws errc::out_of_range unless `owner` is one of `ranks` ranks and has a control word `i` of `count`.
/// `self` is this rank's number in the job, and `label` names the words' window or team.
inline void check_word(rank_t self, called operation, rank_t owner, rank_t ranks, std::size_t i,
                       std::size_t count, std::string const& label) {
  if (owner < 0 || owner >= ranks) throw_bad_rank(self, operation, owner, ranks);
  if (i >= count) {
    throw error(
        errc::out_of_range, self, operation,
        text_of({"word ", i, " of rank ", owner, " (", label, ") does not exist, there are ", count}));
  }
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
