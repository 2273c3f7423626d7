// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/detail/control/cells.hpp>
#include <pgas/detail/control/word_channel.hpp>

namespace PGAS_NAMESPACE::sync {

/// This post protocol sends a message to each origin when a target posts, and to each target when an origin
/// completes.
///
/// Source: MPICH over the message buffers of RCKMPI, deferred and immediate after Gropp and Thakur 2005, as
/// Christgau 2017, sections 3.3.1 and 3.4.1, describes them. The paper compares the other protocols with this
/// one. Here a message is a store to a word; `mailed_posts` sends it by the backend's mailbox.
///
/// Words     those of a word_channel.
/// States    A pair goes through these in turn: the target has posted; the origin has received that; the
///           origin has completed; the target has received that. So at most one post and one completion are
///           on their way from one rank to another. A rank that waits for one kind counts a message of the
///           other kind that comes first.
/// Differs   from MPICH, where operations are messages as well, wait in a queue until the origin completes,
///           and are executed by the target. Here a put is a store and a get returns its value, so "deferred"
///           only moves the wait. It comes at the first access, or in `complete` without any. `immediate`
///           waits in start. An origin that knows that its target has posted receives the message all the
///           same. Messages have no header of 32 bytes, no copy, and no progress engine: a rank receives a
///           message when it waits for it.
/// Memory    2 n slots a rank; 3 n words of private state.
/// Costs     post and complete send a message, one store, to each rank of the group; wait looks at a place of
///           each.
struct post_messages {
  static constexpr std::string_view name = "post_messages";
  static constexpr rmw needs = rmw::none;
  static constexpr bool completes_at_target = true;
  static constexpr control_words words(rank_t ranks) noexcept {
    return detail::word_channel<detail::control_archetype>::words(ranks);
  }

  template <control Control>
  class on {
   public:
    on(Control& control, control_words first)
        : control_(&control), channel_(control, first), heard_(static_cast<std::size_t>(control.size())) {}

    template <boundary Boundary>
    void post(group origins, Boundary& b) {
      b.publish(origins);
      for (rank_t origin : origins) channel_.send(origin, posted);
    }

    template <boundary Boundary>
    void wait(group origins, Boundary& b) {
      for (rank_t origin : origins) {
        receive_until(origin, "wait", [](heard const& h) { return h.has_completed; });
      }
      forget_completions(origins);
      b.refresh(origins);
    }

    template <boundary Boundary>
    [[nodiscard]] bool test(group origins, Boundary& b) {
      for (rank_t origin : origins) {
        while (!of(origin).has_completed) {
          // acquire: pairs with the release in send by `origin`.
          word const there = next_from(origin).load(std::memory_order_acquire);
          if (!channel_type::holds(there, of(origin).messages + 1)) return false;
          count(of(origin), there);
        }
      }
      forget_completions(origins);
      b.refresh(origins);
      return true;
    }

    template <boundary Boundary>
    void start(group, Boundary&, exposure_state) noexcept {}

    template <boundary Boundary>
    void trigger(rank_t target, Boundary& b, exposure_state) {
      if (of(target).is_open) return;
      open(target, "start");
      b.refresh(group(&target, 1));
    }

    template <boundary Boundary>
    void complete(group targets, Boundary& b, exposure_state) {
      for (rank_t target : targets) {
        if (!of(target).is_open) open(target, "complete");
      }
      b.publish(targets);
      for (rank_t target : targets) {
        of(target).is_open = false;
        channel_.send(target, completed);
      }
    }

   private:
    using channel_type = detail::word_channel<Control>;
    enum message : word { posted, completed };

    /// The messages heard from one rank.
    struct heard {
      word messages = 0;  ///< the number of messages received
      bool has_posted = false;
      bool has_completed = false;
      bool is_open = false;  ///< this rank's epoch has received the rank's post
    };

    heard& of(rank_t rank) noexcept { return heard_[static_cast<std::size_t>(rank)]; }
    auto next_from(rank_t rank) { return channel_.place(control_->rank(), rank, of(rank).messages + 1); }

    static void count(heard& h, word value) noexcept {
      ++h.messages;
      (channel_type::message_in(value) == posted ? h.has_posted : h.has_completed) = true;
    }
    void forget_completions(group origins) noexcept {
      for (rank_t origin : origins) of(origin).has_completed = false;
    }

    template <class Enough>
    void receive_until(rank_t from, std::string_view operation, Enough const& enough) {
      heard& h = of(from);
      while (!enough(h)) {
        detail::will_change_after_wait(*control_, channel_.next_place(from));
        count(h, control_->wait_until(
                     next_from(from),
                     [number = h.messages + 1](word value) { return channel_type::holds(value, number); },
                     {.operation = operation, .awaited = group(&from, 1)}));
      }
    }

    void open(rank_t target, std::string_view operation) {
      receive_until(target, operation, [](heard const& h) { return h.has_posted; });
      of(target).has_posted = false;
      of(target).is_open = true;
    }

    Control* control_;
    channel_type channel_;
    std::vector<heard> heard_;
  };
};
static_assert(post_protocol<post_messages>);

}  // namespace PGAS_NAMESPACE::sync
