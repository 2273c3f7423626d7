// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/detail/control/completion_counter.hpp>
#include <vector>

namespace PGAS_NAMESPACE::sync {

/// This post protocol has an array of posts at each origin, and a completion counter at each target.
///
/// Source: the published code of foMPI, which Gerstenberger, Besta and Hoefler 2014 describe otherwise (see
/// match_list); Christgau 2017, section 3.3.4, and Open MPI since 2.0. Triggered: an origin looks for a
/// target's post at its first access. foMPI's origin waits for all posts when the epoch starts.
///
/// Words     slot t of origin o, written by t only: the number of times that t has posted for o.
///           counter, a cell of the target: every origin adds one when it completes.
/// States    posted - completed of a pair is 1 while t's exposure is open and o has not completed, else 0.
///           The counter is the number of completions since the window was made.
/// Differs   from foMPI's code: a post is a store by its only writer, not an atomic addition. Nothing is
///           reset, so no post can meet a reset. Counts have 64 bits on both sides; foMPI has 32 on one, and
///           8 for the counter of ranks on the same node. From stamped: wait looks at one word instead of one
///           for each origin, and complete takes a read-modify-write for each target.
/// Memory    n slots and 1 cell a rank; n words, n flags and a sum of private state.
/// Costs     post stores once for each origin; complete takes a read-modify-write for each target; wait looks
///           at one sum.
struct post_array {
  static constexpr std::string_view name = "post_array";
  static constexpr rmw needs = rmw::test_and_set;
  static constexpr bool completes_at_target = true;
  static constexpr control_words words(rank_t ranks) noexcept {
    return {.slots = static_cast<std::size_t>(ranks), .cells = 1};
  }

  template <control Control>
  class on {
   public:
    on(Control& control, control_words first)
        : control_(&control),
          first_(first.slots),
          completions_(control, first.cells),
          exposed_(size()),
          completed_(size()),
          matched_(size()) {}

    template <boundary Boundary>
    void post(group origins, Boundary& b) {
      b.publish(origins);
      for (rank_t origin : origins) {
        // release: pairs with the acquire load in trigger and complete of `origin`; carries the publish
        // above, so that the origin finds this part as this rank left it.
        detail::store_now(post_of(self(), origin), ++exposed_[index(origin)], std::memory_order_release);
      }
      completions_.expect(origins);
    }

    template <boundary Boundary>
    void wait(group origins, Boundary& b) {
      for (rank_t origin : origins) detail::will_change_after_wait(*control_, post_of(self(), origin));
      completions_.wait(origins, b);
    }

    template <boundary Boundary>
    [[nodiscard]] bool test(group origins, Boundary& b) {
      return completions_.test(origins, b);
    }

    template <boundary Boundary>
    void start(group, Boundary&, exposure_state) noexcept {}

    template <boundary Boundary>
    void trigger(rank_t target, Boundary& b, exposure_state exposures) {
      if (matched_[index(target)]) return;
      match(target, "start", exposures);
      b.refresh(group(&target, 1));
    }

    template <boundary Boundary>
    void complete(group targets, Boundary& b, exposure_state exposures) {
      for (rank_t target : targets) {
        if (!matched_[index(target)]) match(target, "complete", exposures);
      }
      b.publish(targets);
      completions_.will_add(targets);
      for (rank_t target : targets) {
        matched_[index(target)] = false;
        ++completed_[index(target)];
        completions_.add(target);
      }
    }

   private:
    static constexpr std::size_t index(rank_t rank) noexcept { return static_cast<std::size_t>(rank); }

    [[nodiscard]] rank_t self() const noexcept { return control_->rank(); }
    [[nodiscard]] std::size_t size() const noexcept { return index(control_->size()); }
    auto post_of(rank_t target, rank_t origin) {
      return control_->slot(origin, first_ + index(target), target);
    }

    void match(rank_t target, std::string_view operation, exposure_state exposures) {
      matched_[index(target)] = true;
      if (exposures == exposure_state::known) return;
      completions_.will_add(target);
      control_->wait_until(
          post_of(target, self()),
          [completed = completed_[index(target)]](word posted) { return posted != completed; },
          {.operation = operation, .awaited = group(&target, 1)});
    }

    Control* control_;
    std::size_t first_;
    detail::completion_counter<Control> completions_;
    std::vector<word> exposed_;    ///< the number of this rank's posts for each origin
    std::vector<word> completed_;  ///< the number of each target's exposures that this rank has completed
    std::vector<bool> matched_;    ///< the targets whose posts have been seen in this epoch
  };
};
static_assert(post_protocol<post_array>);

}  // namespace PGAS_NAMESPACE::sync
