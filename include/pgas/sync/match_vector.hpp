// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/detail/control/completion_counter.hpp>
#include <pgas/detail/types/plain_list.hpp>

namespace PGAS_NAMESPACE::sync {

/// This post protocol has a vector of bits at each origin, and a completion counter at each target.
///
/// Source: Christgau 2017, algorithms 1 and 2. The origin owns a vector with a bit for each possible target.
/// A target that posts changes its bit, and waits until its counter says that all origins of its group have
/// completed. Triggered: an origin looks for the bit at its first access.
///
/// Words     match vector: ceil(n / 64) cells of the origin; bit t is changed by rank t only.
///           completion counter: a cell of the target.
/// States    bit t has the parity of the number of times that t has posted for this origin. It differs from
///           this origin's private parity exactly while t's exposure is open and this origin has not
///           completed. For the counter see completion_counter.
/// Differs   from the paper, which clears the bit without a lock, so that a post may meet the reset and be
///           lost. Parity needs no reset, and no line is taken back for a store of zero. Each target is
///           signalled on its own, so none waits for a later one's post.
/// Memory    ceil(n / 64) + 1 cells a rank, 2 n bits and one sum of private state.
/// Costs     post and complete take a read-modify-write for each rank of the group; wait looks at one sum.
struct match_vector {
  static constexpr std::string_view name = "match_vector";
  static constexpr rmw needs = rmw::test_and_set;
  static constexpr bool completes_at_target = true;
  static constexpr control_words words(rank_t ranks) noexcept {
    return {.slots = 0, .cells = 1 + (static_cast<std::size_t>(ranks) + bits - 1) / bits};
  }

  template <control Control>
  class on {
   public:
    on(Control& control, control_words first)
        : control_(&control),
          completions_(control, first.cells),
          vector_(first.cells + completions_type::words.cells),
          further_targets_(index(control.size() - 1)) {}

    template <boundary Boundary>
    void post(group origins, Boundary& b) {
      b.publish(origins);
      if (origins.size() > 1) {
        for (rank_t origin : origins)
          detail::will_change(vector_of(origin));  // all lines are requested at once
      }
      for (rank_t origin : origins) {
        // release: pairs with the acquire load in trigger and complete of `origin`; carries the publish
        // above, so that the origin finds this part as this rank left it.
        detail::flip(detail::unconfirmed(vector_of(origin)), bit(self()), std::memory_order_release);
      }
      completions_.expect(origins);
    }

    template <boundary Boundary>
    void wait(group origins, Boundary& b) {
      for (rank_t origin : origins) detail::will_change_after_wait(*control_, vector_of(origin));
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
      if ((known(target).matched & bit(target)) != 0) return;
      match(target, "start", exposures);
      b.refresh(group(&target, 1));
    }

    template <boundary Boundary>
    void complete(group targets, Boundary& b, exposure_state exposures) {
      for (rank_t target : targets) {
        if ((known(target).matched & bit(target)) == 0) match(target, "complete", exposures);
      }
      b.publish(targets);
      completions_.will_add(targets);
      for (rank_t target : targets) {
        known(target).matched &= ~bit(target);
        known(target).parity ^= bit(target);
        completions_.add(target);
      }
    }

   private:
    using completions_type = detail::completion_counter<Control>;
    /// The state of as many targets as a word has bits, as this rank knows it.
    struct known_bits {
      word parity = 0;   ///< of each target's bit while its exposure is not open
      word matched = 0;  ///< a bit for each target whose post has been seen in this epoch
    };

    static constexpr std::size_t index(rank_t rank) noexcept { return static_cast<std::size_t>(rank) / bits; }
    static constexpr word bit(rank_t rank) noexcept {
      return word{1} << (static_cast<std::size_t>(rank) % bits);
    }

    [[nodiscard]] rank_t self() const noexcept { return control_->rank(); }
    [[nodiscard]] std::size_t vector_word(rank_t target) const noexcept { return vector_ + index(target); }

    [[nodiscard]] known_bits& known(rank_t target) noexcept {
      std::size_t const at = index(target);
      return at == 0 ? first_targets_ : further_targets_[at - 1];
    }

    /// The word that this rank changes when it posts for an origin.
    auto vector_of(rank_t origin) { return control_->cell(origin, vector_word(self())); }

    void match(rank_t target, std::string_view operation, exposure_state exposures) {
      known(target).matched |= bit(target);
      if (exposures == exposure_state::known) return;
      completions_.will_add(target);
      control_->wait_until(control_->cell(self(), vector_word(target)),
                           [before = known(target).parity & bit(target), mask = bit(target)](word vector) {
                             return (vector & mask) != before;
                           },
                           {.operation = operation, .awaited = group(&target, 1)});
    }

    Control* control_;
    completions_type completions_;
    std::size_t vector_;
    known_bits first_targets_;  ///< in place: a list would be on another page
    detail::plain_list<known_bits> further_targets_;
  };

 private:
  static constexpr std::size_t bits = 64;
};
static_assert(post_protocol<match_vector>);

}  // namespace PGAS_NAMESPACE::sync
