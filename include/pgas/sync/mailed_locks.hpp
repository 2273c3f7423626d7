// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <numeric>
#include <pgas/detail/mail/mail_office.hpp>
#include <vector>

namespace PGAS_NAMESPACE::sync {

/// This lock protocol sends its messages by the backend's mailbox. Each rank manages the lock of its own
/// part: a rank asks the part's owner and waits for the answer, first come, first served.
///
/// Source: MPICH over the message buffers of RCKMPI, as Christgau and Schnor 2019, section 4.4, describe it.
///
/// Words     those of a mail_line. The lock itself is private memory of the part's owner.
/// States    A request joins the owner's queue; a release makes room. Then the owner answers the first
///           requests of the queue that may hold the part together. It answers a try at once: no, if other
///           ranks hold the part or wait for it. A try may overtake the release of another rank, which the
///           sender does not await; then the answer is no although the part is free, so try again.
/// Progress  polled: an owner answers while it waits in a call of the library, whatever it waits for, and not
///           while it computes. So `lock` may wait as long as the owner computes, also for a free part.
///           try_lock waits for the owner's answer, too. An owner must not end, nor destroy the window, while
///           another rank may still ask: a barrier before the end suffices. A rank that then waits alone gets
///           errc::deadlock.
/// Bound     in the order in which requests arrive. Each other rank overtakes a request that has arrived
///           once at most.
/// lock_all  a shared lock on each part, in the order of ranks, when it opens. A rank that holds parts must
///           not wait behind a rank that waits for one of them. Nor must a shared holder wait for a rank that
///           still has to lock the same part shared: an exclusive request may stand between them.
/// Differs   from RCKMPI's, where immediate locks of both kinds on more than two ranks waited for ever, since
///           waiting ranks did not answer (2019, section 6.3.2). Here every wait answers. The operations are
///           stores and travel in no message, so a deferred epoch with one access sends three messages and
///           not one. Immediate; `deferred` makes the other form. In `lock_messages` any rank that sends
///           receives for the target, so a lock there asks nothing of its owner.
/// Memory    a request for each rank that waits for the own part; 4 n bytes for the ranks that a wait names.
/// Costs     3 messages for each lock: request, answer, release; none on the own part. lock_all: 3 (n - 1).
struct mailed_locks {
  static constexpr std::string_view name = "mailed_locks";
  static constexpr rmw needs = rmw::none;
  static constexpr progress progress_by = progress::polled;
  static constexpr control_words words(rank_t ranks) noexcept {
    return detail::mail_line<detail::mailing_archetype>::words(ranks);
  }

  template <mailing_control Control>
  class on {
   public:
    on(Control& control, control_words first)
        : self_(control.rank()),
          others_(static_cast<std::size_t>(control.size())),
          line_(control, first, *this, true) {
      std::iota(others_.begin(), others_.end(), rank_t{0});
      others_.erase(others_.begin() + self_);
    }

    template <boundary Boundary>
    void lock(rank_t target, lock_kind kind, Boundary& b) {
      ask(target, kind == lock_kind::shared ? wants_shared : wants_exclusive, "lock");
      b.refresh(group(&target, 1));
    }
    template <boundary Boundary>
    [[nodiscard]] bool try_lock(rank_t target, lock_kind kind, Boundary& b) {
      // A try of the own part waits for no message, so nothing else would receive the releases that are here.
      if (target == self_) line_.poll();
      if (!ask(target, kind == lock_kind::shared ? tries_shared : tries_exclusive, "try_lock")) return false;
      b.refresh(group(&target, 1));
      return true;
    }
    template <boundary Boundary>
    void unlock(rank_t target, lock_kind, Boundary& b) {
      b.publish(group(&target, 1));
      tell(target, releases, "unlock");
    }

    template <boundary Boundary>
    void lock_all(Boundary& b) {
      for (rank_t target = 0; target < ranks(); ++target) ask(target, wants_shared, "lock_all");
      b.refresh(everyone);
    }
    template <boundary Boundary>
    void trigger(rank_t, Boundary&) noexcept {}
    template <boundary Boundary>
    void unlock_all(Boundary& b) {
      b.publish(everyone);
      for (rank_t target = 0; target < ranks(); ++target) tell(target, releases, "unlock_all");
    }

    /// For the line.
    void receive(rank_t from, word what) {
      switch (what) {
        case yes:
        case no:
          answer_ = what;
          return;
        case releases:
          holders_ = holders_ == alone ? 0 : holders_ - 1;
          break;
        case wants_shared:
        case wants_exclusive: {
          bool const exclusively = what == wants_exclusive;
          // The first of the queue may not hold the part yet, so nor may a request behind it.
          if (!queue_.empty() || !may_hold(exclusively)) return queue_.push_back({from, exclusively});
          return let_in(from, exclusively);
        }
        default: {
          bool const exclusively = what == tries_exclusive;
          if (!queue_.empty() || !may_hold(exclusively)) return reply(from, no);
          let_in(from, exclusively);
        }
      }
      for (; !queue_.empty() && may_hold(queue_.front().exclusively); queue_.erase(queue_.begin()))
        let_in(queue_.front().from, queue_.front().exclusively);
    }

   private:
    enum message : word {
      nothing,
      wants_shared,
      wants_exclusive,
      tries_shared,
      tries_exclusive,
      releases,
      yes,
      no
    };
    struct request {
      rank_t from;
      bool exclusively;
    };
    static constexpr rank_t alone = -1;

    [[nodiscard]] rank_t ranks() const noexcept { return static_cast<rank_t>(others_.size()) + 1; }
    [[nodiscard]] bool may_hold(bool exclusively) const noexcept {
      return exclusively ? holders_ == 0 : holders_ != alone;
    }

    /// Sends a request and returns whether the answer is yes.
    bool ask(rank_t target, message what, std::string_view operation) {
      answer_ = nothing;
      tell(target, what, operation);
      // The answer may hang on any rank that holds the part, and the owner does not tell which.
      line_.exchange(
          [this] { return answer_ != nothing; }, target,
          {.operation = operation, .awaited = others_, .acquires = target, .alone = what == wants_exclusive});
      return answer_ == yes;
    }
    void tell(rank_t target, message what, std::string_view operation) {
      target == self_ ? receive(self_, what) : line_.send(target, what, operation);
    }
    void let_in(rank_t who, bool exclusively) {
      holders_ = exclusively ? alone : holders_ + 1;
      reply(who, yes);
    }
    void reply(rank_t to, message what) {
      if (to == self_) {
        answer_ = what;
      } else {
        line_.answer(to, what);
      }
    }

    rank_t self_;
    rank_t holders_ = 0;          ///< of the own part: the number of shared ones, or `alone`
    std::vector<request> queue_;  ///< for the own part
    word answer_ = nothing;       ///< to this rank's request
    std::vector<rank_t> others_;
    detail::mail_line<Control> line_;
  };
};
static_assert(target_lock_protocol<mailed_locks>);

}  // namespace PGAS_NAMESPACE::sync
