// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <optional>
#include <pgas/sync/policy.hpp>

namespace pgas::inline PGAS_ASSERTIONS::sync {

/// Fence by one of two protocols: `Few` up to `most` ranks where words have native read-modify-writes, else `Many`.
///
/// All ranks of a team have the same size and the same kind of words, so they choose alike. Costs one predicted
/// branch a fence, and the words of both.
template <fence_protocol Few, fence_protocol Many, rank_t most>
struct by_size {
  static constexpr std::string_view name = "by_size";
  static constexpr rmw needs = Many::needs;
  static constexpr control_words words(rank_t ranks) noexcept { return Few::words(ranks) + Many::words(ranks); }

  template <control Control>
  class on {
   public:
    on(Control& control, control_words first) {
      if (Control::read_modify_write == rmw::native && control.size() <= most) {
        few_.emplace(control, first);
      } else {
        many_.emplace(control, first + Few::words(control.size()));
      }
    }

    template <boundary Boundary>
    void fence(Boundary& b, std::string_view operation) {
      if (few_) {
        few_->fence(b, operation);
      } else {
        many_->fence(b, operation);
      }
    }

   private:
    std::optional<typename Few::template on<Control>> few_;
    std::optional<typename Many::template on<Control>> many_;
  };
};

}  // namespace pgas::inline PGAS_ASSERTIONS::sync
