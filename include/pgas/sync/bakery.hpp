// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <pgas/concepts/protocol.hpp>
#include <pgas/detail/control/word_rows.hpp>

namespace PGAS_NAMESPACE::sync {

/// This lock protocol gives tickets for each rank's part, by loads and stores only: first come, first served.
///
/// Source: Lamport 1974, the bakery algorithm, which has exclusive locks only.
///
/// Words     slot r of a target, written by rank r only. 0: r wants nothing. 1: r chooses a ticket. 4 k: r
///           has ticket k > 0 for an exclusive lock. 4 k + 2: for a shared one.
/// States    Rank r says that it chooses, looks at all tickets, takes the next number and says so. Then it
///           waits for each other rank in turn, until that rank neither chooses nor has an earlier ticket
///           that excludes its own. Two shared tickets do not exclude each other. Of two equal numbers the
///           lower rank's is the earlier one. A store of 0 gives a ticket back.
/// Order     If two ranks each store and then look at the other's store, one of them must see it. So the
///           stores that choose and take a ticket are seq_cst, and so is the first look at each other rank
///           afterwards. A wait that follows such a look sees that value or later ones.
/// Bound     No later rank overtakes a rank with a ticket, except that shared tickets overtake each other.
/// lock_all  a shared lock on each part, in the order of ranks, when it opens. A rank that holds parts must
///           not wait behind a rank that waits for one of them. Nor must a shared holder wait for a rank that
///           still has to lock the same part shared: an exclusive request may stand between them.
/// Differs   from the paper, which has no shared locks, and keeps choosing and number in two words. Here one
///           store ends the choice and tells the number. Numbers grow only while some rank has a ticket; they
///           have 62 bits.
/// try_lock  takes a ticket, and gives it back if it is not its turn. It waits for ranks that choose, and no
///           others.
/// Memory    n slots a rank.
/// Costs     without conflict 2 stores and 2 (n - 1) loads to get a lock, all at the target, and a store to
///           release it; no read-modify-write. Waiting is by loads at the target. lock_all costs n locks.
struct bakery {
  static constexpr std::string_view name = "bakery";
  static constexpr rmw needs = rmw::none;
  static constexpr control_words words(rank_t ranks) noexcept {
    return {.slots = static_cast<std::size_t>(ranks), .cells = 0};
  }

  template <control Control>
  class on {
   public:
    on(Control& control, control_words first) : control_(&control), words_(control, first) {}

    template <boundary Boundary>
    void lock(rank_t target, lock_kind kind, Boundary& b) {
      take(target, kind, "lock");
      b.refresh(group(&target, 1));
    }
    template <boundary Boundary>
    [[nodiscard]] bool try_lock(rank_t target, lock_kind kind, Boundary& b) {
      word const mine = take_ticket(target, kind);
      for (rank_t other = 0; other < control_->size(); ++other) {
        if (other == self()) continue;
        word now = look(target, other);
        if (now == chooses) {
          // This is no wait for a lock: the other rank looks at the tickets and waits for no rank meanwhile.
          now = control_->wait_until(ticket(target, other), [](word later) { return later != chooses; },
                                     {.operation = "try_lock",
                                      .awaited = group(&other, 1),
                                      .acquires = target,
                                      .alone = kind == lock_kind::exclusive});
        }
        if (lets_pass(mine, other, now)) continue;
        give_back(target);
        return false;
      }
      b.refresh(group(&target, 1));
      return true;
    }
    template <boundary Boundary>
    void unlock(rank_t target, lock_kind, Boundary& b) {
      b.publish(group(&target, 1));
      give_back(target);
    }

    template <boundary Boundary>
    void lock_all(Boundary& b) {
      for (rank_t target = 0; target < control_->size(); ++target)
        take(target, lock_kind::shared, "lock_all");
      b.refresh(everyone);
    }
    template <boundary Boundary>
    void trigger(rank_t, Boundary&) noexcept {}
    template <boundary Boundary>
    void unlock_all(Boundary& b) {
      b.publish(everyone);
      for (rank_t target = 0; target < control_->size(); ++target) give_back(target);
    }

   private:
    static constexpr word chooses = 1;
    static constexpr word is_shared = 2;
    static constexpr word one_ticket = 4;

    [[nodiscard]] rank_t self() const noexcept { return self_; }
    auto ticket(rank_t target, rank_t of) { return words_.slot(target, static_cast<std::size_t>(of), of); }
    // seq_cst: see Order above. As an acquire it pairs with the release in give_back.
    word look(rank_t target, rank_t other) { return ticket(target, other).load(std::memory_order_seq_cst); }

    /// Returns whether a rank with ticket `mine` need not wait for rank `other`, whose word is `now`.
    [[nodiscard]] bool lets_pass(word mine, rank_t other, word now) const noexcept {
      if (now == 0) return true;
      if (now == chooses) return false;
      if ((now & mine & is_shared) != 0) return true;
      word const number = mine / one_ticket;
      word const others = now / one_ticket;
      return others > number || (others == number && other > self());
    }

    word take_ticket(rank_t target, lock_kind kind) {
      auto const mine = ticket(target, self());
      mine.store(chooses, std::memory_order_seq_cst);  // see Order above
      word last = 0;
      rank_t const ranks = control_->size();
      for (rank_t other = 0; other < ranks; ++other) {
        if (other != self()) last = std::max(last, look(target, other) / one_ticket);
      }
      word const taken = (last + 1) * one_ticket + (kind == lock_kind::shared ? is_shared : 0);
      mine.store(taken, std::memory_order_seq_cst);  // see Order above
      return taken;
    }

    void take(rank_t target, lock_kind kind, std::string_view operation) {
      word const mine = take_ticket(target, kind);
      rank_t const ranks = control_->size();
      for (rank_t other = 0; other < ranks; ++other) {
        if (other == self() || lets_pass(mine, other, look(target, other))) continue;
        wait_for(target, mine, other, operation);
      }
    }
    [[gnu::noinline]] void wait_for(rank_t target, word mine, rank_t other, std::string_view operation) {
      control_->wait_until(ticket(target, other),
                           [this, mine, other](word now) { return lets_pass(mine, other, now); },
                           {.operation = operation,
                            .awaited = group(&other, 1),
                            .acquires = target,
                            .alone = (mine & is_shared) == 0});
    }

    void give_back(rank_t target) {
      // release: pairs with the acquire of a rank that sees this value, or a later one of this word; carries
      // the accesses that publish has completed.
      ticket(target, self()).store(0, std::memory_order_release);
    }

    Control* control_;
    detail::word_rows<Control> words_;
    rank_t self_ = control_->rank();
  };
};
static_assert(target_lock_protocol<bakery>);

}  // namespace PGAS_NAMESPACE::sync
