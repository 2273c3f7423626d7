// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/protocol.hpp>
#include <pgas/detail/control/cells.hpp>
#include <vector>

namespace PGAS_NAMESPACE::sync {

/// This post protocol counts posts and completions in slots that only grow, two for each pair of ranks.
///
/// Source: event counts, Reed and Kanodia 1979: one process advances a count, others await it. Triggered: an
/// origin looks for a target's post at its first access.
///
/// Words     slot t of origin o, written by t only: the number of times that t has posted for o.
///           slot n + o of target t, written by o only: the number of t's exposures that o has completed.
/// States    posted - completed of a pair is 1 while t's exposure is open and o has not completed, else 0.
///           Target t posts again only after its wait, which saw o's completion. Both counts only grow.
/// Differs   from event counts, which many processes may advance. Here each count has one writer, so a store
///           is enough, and no read-modify-write is needed. From match_vector: a pair has a word instead of a
///           bit, and wait looks at n words instead of one sum.
/// Memory    2 n slots a rank; 2 n words and n flags of private state.
/// Costs     post and complete store once for each rank of the group; wait looks at a slot of each.
struct stamped {
  static constexpr std::string_view name = "stamped";
  static constexpr rmw needs = rmw::none;
  static constexpr bool completes_at_target = true;
  static constexpr control_words words(rank_t ranks) noexcept {
    return {.slots = 2 * static_cast<std::size_t>(ranks), .cells = 0};
  }

  template <control Control>
  class on {
   public:
    on(Control& control, control_words first)
        : control_(&control), first_(first.slots), exposed_(size()), completed_(size()), matched_(size()) {}

    template <boundary Boundary>
    void post(group origins, Boundary& b) {
      b.publish(origins);
      for (rank_t origin : origins) {
        // release: pairs with the acquire load in trigger and complete of `origin`; carries the publish
        // above, so that the origin finds this part as this rank left it.
        detail::store_now(post_of(self(), origin), ++exposed_[index(origin)], std::memory_order_release);
      }
    }

    template <boundary Boundary>
    void wait(group origins, Boundary& b) {
      for (rank_t origin : origins) detail::will_change_after_wait(*control_, post_of(self(), origin));
      for (rank_t origin : origins) {
        control_->wait_until(completion_of(origin, self()),
                             [expected = exposed_[index(origin)]](word seen) { return seen == expected; },
                             {.operation = "wait", .awaited = group(&origin, 1)});
      }
      b.refresh(origins);
    }

    template <boundary Boundary>
    [[nodiscard]] bool test(group origins, Boundary& b) {
      for (rank_t origin : origins) {
        // acquire: pairs with the release store in complete of `origin`.
        if (completion_of(origin, self()).load(std::memory_order_acquire) != exposed_[index(origin)])
          return false;
      }
      b.refresh(origins);
      return true;
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
      for (rank_t target : targets) {
        matched_[index(target)] = false;
        // release: pairs with the acquire load in wait and test of `target`; carries this rank's puts, which
        // publish has made complete.
        detail::store_now(completion_of(self(), target), ++completed_[index(target)],
                          std::memory_order_release);
      }
    }

   private:
    static constexpr std::size_t index(rank_t rank) noexcept { return static_cast<std::size_t>(rank); }

    [[nodiscard]] rank_t self() const noexcept { return control_->rank(); }
    [[nodiscard]] std::size_t size() const noexcept { return index(control_->size()); }
    // Each slot lies with the rank that waits for it.
    auto post_of(rank_t target, rank_t origin) {
      return control_->slot(origin, first_ + index(target), target);
    }
    auto completion_of(rank_t origin, rank_t target) {
      return control_->slot(target, first_ + size() + index(origin), origin);
    }

    void match(rank_t target, std::string_view operation, exposure_state exposures) {
      matched_[index(target)] = true;
      if (exposures == exposure_state::known) return;
      detail::will_change_after_wait(*control_, completion_of(self(), target));
      control_->wait_until(
          post_of(target, self()),
          [completed = completed_[index(target)]](word posted) { return posted != completed; },
          {.operation = operation, .awaited = group(&target, 1)});
    }

    Control* control_;
    std::size_t first_;
    std::vector<word> exposed_;    ///< the number of this rank's posts for each origin
    std::vector<word> completed_;  ///< the number of each target's exposures that this rank has completed
    std::vector<bool> matched_;    ///< the targets whose posts have been seen in this epoch
  };
};
static_assert(post_protocol<stamped>);

}  // namespace PGAS_NAMESPACE::sync
