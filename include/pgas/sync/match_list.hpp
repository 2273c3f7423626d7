// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <pgas/detail/control/completion_counter.hpp>
#include <pgas/vocabulary/error.hpp>
#include <string>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::sync {

/// This post protocol has a short list of names at each origin, and a completion counter at each target.
///
/// Source: Gerstenberger, Besta and Hoefler 2014, section 2.3, whose memory does not grow with the number of
/// ranks. Triggered: an origin looks for a target's name at its first access. The paper's origin waits for
/// all names when the epoch starts.
///
/// Words     list, cells of the origin: the number plus one of a rank that has posted and that the origin has
///           not completed; or 0, free. A target writes its name into a free cell, the origin takes it out.
///           completion counter: a cell of the target.
/// States    A name is in the list from post until complete takes it out. It is in the list once at most,
///           since a target posts again only after its wait. For the counter see completion_counter.
/// Room      A list has `places` names at a time. A target that finds no place throws errc::no_space. It does
///           not wait, since it may be early by any number of epochs. A place for each neighbour is enough.
/// Differs   from the paper, which takes places from a ring of free ones at the origin. The usual reading is
///           a fetch_add on the ring's head, then a look at that place. It can give one place to two targets:
///           a late look finds the entry of the next round. Here a place is free if its word says so, and a
///           compare_exchange takes it. With places to spare the first attempt succeeds.
/// Memory    places + 1 cells a rank, fewer in small teams; a list of the epoch's targets and a sum of
///           private state.
/// Costs     post takes a compare_exchange for each origin, and more if places are taken; complete a
///           read-modify-write and a reset for each target; wait looks at one sum.
template <std::size_t places = 16>
struct match_list {
  static_assert(places > 0, "match_list: a list needs places, one for each target that may have posted");
  static constexpr std::string_view name = "match_list";
  static constexpr rmw needs = rmw::test_and_set;
  static constexpr bool completes_at_target = true;
  static constexpr control_words words(rank_t ranks) noexcept {
    return {.slots = 0, .cells = 1 + length(ranks)};
  }

  template <control Control>
  class on {
   public:
    on(Control& control, control_words first)
        : control_(&control),
          completions_(control, first.cells),
          list_(first.cells + completions_type::words.cells),
          length_(length(control.size())) {
      for (std::size_t place = 0; place < length_; ++place)
        own_.push_back(control.cell(control.rank(), list_ + place));
    }

    template <boundary Boundary>
    void post(group origins, Boundary& b) {
      b.publish(origins);
      for (rank_t origin : origins) enter_name(origin);
      completions_.expect(origins);
    }

    template <boundary Boundary>
    void wait(group origins, Boundary& b) {
      completions_.wait(origins, b);
    }

    template <boundary Boundary>
    [[nodiscard]] bool test(group origins, Boundary& b) {
      return completions_.test(origins, b);
    }

    template <boundary Boundary>
    void start(group, Boundary&, exposure_state) noexcept {}

    template <boundary Boundary>
    void trigger(rank_t target, Boundary& b, exposure_state) {
      if (is_matched(target)) return;
      match(target, "start");
      b.refresh(group(&target, 1));
    }

    /// Waits also for exposures that are known to be open, since it must find a name to take it out.
    template <boundary Boundary>
    void complete(group targets, Boundary& b, exposure_state) {
      for (rank_t target : targets) {
        if (!is_matched(target)) match(target, "complete");
      }
      b.publish(targets);
      completions_.will_add(targets);
      for (rank_t target : targets) {
        auto const f = find(target);
        // relaxed: the next target that takes the place learns nothing from it. This target posts again only
        // after the completion below.
        own_[f->place].reset_unshared(0, std::memory_order_relaxed);
        matched_.erase(f);
      }
      for (rank_t target : targets) completions_.add(target);
    }

   private:
    using completions_type = detail::completion_counter<Control>;
    struct found {
      rank_t target;
      std::size_t place;
    };
    static constexpr word name_of(rank_t rank) noexcept { return static_cast<word>(rank) + 1; }

    [[nodiscard]] rank_t self() const noexcept { return control_->rank(); }

    void enter_name(rank_t origin) {
      std::size_t const first = static_cast<std::size_t>(self()) % length_;
      for (std::size_t i = 0; i < length_; ++i) {
        std::size_t const place = first + i < length_ ? first + i : first + i - length_;
        word free = 0;
        // release: pairs with the acquire load in trigger and complete of `origin`; carries the publish in
        // post, so that the origin finds this part as this rank left it.
        if (control_->cell(origin, list_ + place)
                .compare_exchange(free, name_of(self()), std::memory_order_release))
          return;
      }
      throw error(
          errc::no_space, self(), "post",
          "the match list of rank " + std::to_string(origin) + " has " + std::to_string(length_) +
              " places, and as many targets have posted for it; choose match_list<places> with a place for "
              "each of its targets, or match_vector");
    }

    [[nodiscard]] auto find(rank_t target) noexcept {
      return std::find_if(matched_.begin(), matched_.end(),
                          [target](found const& f) { return f.target == target; });
    }
    [[nodiscard]] bool is_matched(rank_t target) noexcept { return find(target) != matched_.end(); }

    void match(rank_t target, std::string_view operation) {
      completions_.will_add(target);
      std::size_t const place =
          control_->wait_any(std::span(own_), [target](word w) { return w == name_of(target); },
                             {.operation = operation, .awaited = group(&target, 1)});
      matched_.push_back({target, place});
    }

    Control* control_;
    completions_type completions_;
    std::size_t list_;
    std::size_t length_;
    std::vector<decltype(std::declval<Control&>().cell(0, 0))> own_;  ///< this rank's list
    std::vector<found> matched_;  ///< targets whose posts have been seen in this epoch
  };

 private:
  static constexpr std::size_t length(rank_t ranks) noexcept {
    return std::min(places, static_cast<std::size_t>(ranks));
  }
};
static_assert(post_protocol<match_list<>>);

}  // namespace PGAS_NAMESPACE::sync
