// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/protocol.hpp>
#include <pgas/detail/control/cells.hpp>
#include <vector>

namespace PGAS_NAMESPACE::sync {

/// This post protocol has two vectors of bits at each rank, one for posts and one for completions.
///
/// Source: MVAPICH on shared memory, as Christgau 2017, section 3.3.2, describes it. Triggered: an origin
/// looks for a target's post at its first access.
///
/// Words     posts, ceil(n / 64) cells of the origin: bit t is changed by rank t only, when it posts.
///           completions, ceil(n / 64) cells of the target: bit o is changed by rank o only, when it
///           completes.
/// States    a bit has the parity of the number of its changes. Bit t of posts differs from the origin's
///           private parity exactly while t's exposure is open and this origin has not completed. Bit o of
///           completions differs from the target's private parity exactly when o has completed and the target
///           has not yet seen it.
/// Differs   from MVAPICH, which sets bits and clears them: parities need no reset. From match_vector: it
///           sends as many signals, but wait looks at a bit for each origin instead of one sum, and a
///           completion names its origin.
/// Memory    2 ceil(n / 64) cells a rank, 3 n bits of private state.
/// Costs     post and complete take a read-modify-write for each rank of the group; wait looks at a bit of
///           each.
struct two_vectors {
  static constexpr std::string_view name = "two_vectors";
  static constexpr rmw needs = rmw::test_and_set;
  static constexpr bool completes_at_target = true;
  static constexpr control_words words(rank_t ranks) noexcept {
    return {.slots = 0, .cells = 2 * cells(ranks)};
  }

  template <control Control>
  class on {
   public:
    on(Control& control, control_words first)
        : control_(&control),
          posts_(first.cells),
          completions_(first.cells + cells(control.size())),
          posted_(cells(control.size())),
          completed_(cells(control.size())),
          matched_(cells(control.size())) {}

    template <boundary Boundary>
    void post(group origins, Boundary& b) {
      b.publish(origins);
      for (rank_t origin : origins) {
        // release: pairs with the acquire load in trigger and complete of `origin`; carries the publish
        // above, so that the origin finds this part as this rank left it.
        detail::flip(detail::unconfirmed(control_->cell(origin, posts_ + index(self()))), bit(self()),
                     std::memory_order_release);
      }
    }

    template <boundary Boundary>
    void wait(group origins, Boundary& b) {
      for (rank_t origin : origins)
        detail::will_change_after_wait(*control_, control_->cell(origin, posts_ + index(self())));
      for (rank_t origin : origins) {
        control_->wait_until(completion_of(origin),
                             [before = completed_[index(origin)] & bit(origin),
                              mask = bit(origin)](word vector) { return (vector & mask) != before; },
                             {.operation = "wait", .awaited = group(&origin, 1)});
      }
      end(origins);
      b.refresh(origins);
    }

    template <boundary Boundary>
    [[nodiscard]] bool test(group origins, Boundary& b) {
      for (rank_t origin : origins) {
        // acquire: pairs with the release of the flip in complete of `origin`.
        word const vector = completion_of(origin).load(std::memory_order_acquire);
        if (((vector ^ completed_[index(origin)]) & bit(origin)) == 0) return false;
      }
      end(origins);
      b.refresh(origins);
      return true;
    }

    template <boundary Boundary>
    void start(group, Boundary&, exposure_state) noexcept {}

    template <boundary Boundary>
    void trigger(rank_t target, Boundary& b, exposure_state exposures) {
      if ((matched_[index(target)] & bit(target)) != 0) return;
      match(target, "start", exposures);
      b.refresh(group(&target, 1));
    }

    template <boundary Boundary>
    void complete(group targets, Boundary& b, exposure_state exposures) {
      for (rank_t target : targets) {
        if ((matched_[index(target)] & bit(target)) == 0) match(target, "complete", exposures);
      }
      b.publish(targets);
      for (rank_t target : targets) {
        matched_[index(target)] &= ~bit(target);
        posted_[index(target)] ^= bit(target);
        // release: pairs with the acquire load in wait and test of `target`; carries this rank's puts, which
        // publish has made complete.
        detail::flip(detail::unconfirmed(control_->cell(target, completions_ + index(self()))), bit(self()),
                     std::memory_order_release);
      }
    }

   private:
    static constexpr std::size_t index(rank_t rank) noexcept { return static_cast<std::size_t>(rank) / bits; }
    static constexpr word bit(rank_t rank) noexcept {
      return word{1} << (static_cast<std::size_t>(rank) % bits);
    }

    [[nodiscard]] rank_t self() const noexcept { return control_->rank(); }
    auto completion_of(rank_t origin) { return control_->cell(self(), completions_ + index(origin)); }

    void end(group origins) noexcept {
      for (rank_t origin : origins) completed_[index(origin)] ^= bit(origin);
    }

    void match(rank_t target, std::string_view operation, exposure_state exposures) {
      matched_[index(target)] |= bit(target);
      if (exposures == exposure_state::known) return;
      detail::will_change_after_wait(*control_, control_->cell(target, completions_ + index(self())));
      control_->wait_until(control_->cell(self(), posts_ + index(target)),
                           [before = posted_[index(target)] & bit(target), mask = bit(target)](word vector) {
                             return (vector & mask) != before;
                           },
                           {.operation = operation, .awaited = group(&target, 1)});
    }

    Control* control_;
    std::size_t posts_;
    std::size_t completions_;
    std::vector<word> posted_;     ///< the parity of each target's bit while its exposure is not open
    std::vector<word> completed_;  ///< the parity of each origin's bit until it completes
    std::vector<word> matched_;    ///< the targets whose posts have been seen in this epoch
  };

 private:
  static constexpr std::size_t bits = 64;
  static constexpr std::size_t cells(rank_t ranks) noexcept {
    return (static_cast<std::size_t>(ranks) + bits - 1) / bits;
  }
};
static_assert(post_protocol<two_vectors>);

}  // namespace PGAS_NAMESPACE::sync
