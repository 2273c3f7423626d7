// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/detail/mail/mail_office.hpp>
#include <vector>

namespace PGAS_NAMESPACE::sync {

/// This post protocol sends its messages by the backend's mailbox: one to each origin when a target posts,
/// one to each target when an origin completes.
///
/// Source: MPICH over the message buffers of RCKMPI, deferred and immediate after Gropp and Thakur 2005, as
/// Christgau 2017, sections 3.3.1 and 3.4.1, describes them.
///
/// Words     those of a mail_line.
/// States    A pair goes through these in turn: the target has posted; the origin has received that; the
///           origin has completed; the target has received that. A rank receives a message in any wait, and
///           notes it for the epoch that needs it.
/// Progress  polled: a rank that computes receives nothing. `post` and `complete` wait if the mailbox has no
///           room for the message, until its receiver waits in a call of the library. `post_messages` never
///           waits there.
/// Differs   from MPICH, where operations are messages as well, and wait in a queue until the origin
///           completes. Here a put is a store, so "deferred" only moves the wait to the first access, or to
///           `complete` without any. `immediate` waits in start. An origin that knows that its target has
///           posted receives the message all the same.
/// Memory    3 bytes for each rank, and the mailbox's.
/// Costs     2 messages for each pair of origin and target.
struct mailed_posts {
  static constexpr std::string_view name = "mailed_posts";
  static constexpr rmw needs = rmw::none;
  static constexpr progress progress_by = progress::polled;
  static constexpr control_words words(rank_t ranks) noexcept {
    return detail::mail_line<detail::mailing_archetype>::words(ranks);
  }

  template <mailing_control Control>
  class on {
   public:
    on(Control& control, control_words first)
        : heard_(static_cast<std::size_t>(control.size())), line_(control, first, *this) {}

    template <boundary Boundary>
    void post(group origins, Boundary& b) {
      b.publish(origins);
      for (rank_t origin : origins) line_.send(origin, posted, "post");
    }

    template <boundary Boundary>
    void wait(group origins, Boundary& b) {
      for (rank_t origin : origins) {
        line_.exchange([&h = of(origin)] { return h.has_completed; }, origin,
                       {.operation = "wait", .awaited = group(&origin, 1)});
      }
      forget_completions(origins);
      b.refresh(origins);
    }

    template <boundary Boundary>
    [[nodiscard]] bool test(group origins, Boundary& b) {
      line_.poll();
      for (rank_t origin : origins) {
        if (!of(origin).has_completed) return false;
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
        line_.send(target, completed, "complete");
      }
    }

    /// For the line.
    void receive(rank_t from, word what) noexcept {
      (what == posted ? of(from).has_posted : of(from).has_completed) = true;
    }

   private:
    enum message : word { posted, completed };

    /// The messages heard from one rank, and the state of the access epoch to it.
    struct heard {
      bool has_posted = false;
      bool has_completed = false;
      bool is_open = false;  ///< this rank's epoch has received the rank's post
    };

    heard& of(rank_t rank) noexcept { return heard_[static_cast<std::size_t>(rank)]; }
    void forget_completions(group origins) noexcept {
      for (rank_t origin : origins) of(origin).has_completed = false;
    }
    void open(rank_t target, std::string_view operation) {
      line_.exchange([&h = of(target)] { return h.has_posted; }, target,
                     {.operation = operation, .awaited = group(&target, 1)});
      of(target).has_posted = false;
      of(target).is_open = true;
    }

    std::vector<heard> heard_;
    detail::mail_line<Control> line_;
  };
};
static_assert(post_protocol<mailed_posts>);

}  // namespace PGAS_NAMESPACE::sync
