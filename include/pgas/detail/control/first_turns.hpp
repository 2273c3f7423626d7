// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <pgas/concepts/mailbox.hpp>
#include <pgas/concepts/recorder.hpp>
#include <pgas/detail/control/cells.hpp>
#include <pgas/detail/control/collective_call.hpp>
#include <pgas/detail/job/service.hpp>
#include <pgas/detail/process/cores.hpp>
#include <pgas/vocabulary/wait_policy.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The words of such a control are in shared memory, its job has a wait policy, and nobody records, checks or
/// needs its waits.
template <class C>
concept control_in_turns = control_of_cores<C> && !recording_control<C> && !comparing_control<C> &&
                           !mailing_control<C> && requires(C const& c) {
                             { c.owner().waits() } noexcept -> std::same_as<wait_policy>;
                           };

/// Whether other ranks on this rank's core have not arrived yet.
enum class place_on_core { unknown, last, before_others };

/// The beginning of a wait where ranks share cores: looks, and turns of other ranks, before wait_until.
///
/// A turn of another rank costs a switch, which takes as long as a thousand looks. After a switch the caches
/// of addresses are cold, so each page that a wait touches counts: this one touches the word and itself. It
/// ends after `most` turns, since only wait_until notices a deadline, the job's failure, and ranks that wait
/// for each other. It ends sooner if the rank has messages to answer, and takes no turns by a policy that
/// does not yield. Memory: two numbers.
template <control Control>
class first_turns {
 public:
  explicit first_turns(Control const& c) noexcept
      : at_once_(shared_cores(c)),
        stays_for_(static_cast<word>(c.size()) <= most_on_core * at_once_ ? at_once_ : 0),
        inlined_(at_once_ != 0 && stays_for_ == 0 ? most_inlined : 0),
        asks_for_place_(stays_for_ != 0 && static_cast<word>(c.size()) > guesses_on_core * at_once_) {}

  /// Asks for the line of a word that this rank changes after the wait that comes now. Not where ranks share
  /// cores: others run before the wait ends, and take the line back.
  template <class Word>
  void will_change_after(Word const& w) const noexcept {
    if (at_once_ == 0) will_change(w);
  }

  /// Looks once at the word of a wait that comes now, before the caller prepares it. A wait that is over
  /// costs this look alone. Returns false where a look is more than a load.
  template <class Word, std::predicate<word> Predicate>
  [[nodiscard]] static bool is_over(Word const& w, Predicate const& predicate) noexcept {
    if constexpr (control_in_turns<Control>) {
      return predicate(w.load(std::memory_order_acquire));  // acquire: as in look
    } else {
      return false;
    }
  }

  /// Takes the first turns of wait_until where ranks share cores. Returns false if the wait is not over then.
  ///
  /// Inlined: the page of a longer wait would be cold after each switch, and that of the caller is needed.
  template <class Word, std::predicate<word> Predicate>
  [[nodiscard, gnu::always_inline]] bool ends_soon(Word const& w, Predicate const& predicate) const {
    return ends_within(at_once_ != 0 ? most_inlined : 0, w, predicate);
  }

  /// Likewise of wait_for_all, where many ranks share a core: with few, the last one of them keeps its core.
  /// A core keeps the addresses of few processes, so it forgets them where many ranks share it.
  template <class Word, std::predicate<word> Predicate>
  [[nodiscard, gnu::always_inline]] bool all_come_soon(Word const& sum, Predicate const& predicate) const {
    return ends_within(inlined_, sum, predicate);
  }

  /// Is control.wait_until(w, predicate, why).
  template <class Word, std::predicate<word> Predicate>
  word wait_until(Control& c, Word const& w, Predicate const& predicate, waiting_for const& why) const {
    return wait_from(0, c, w, predicate, why);
  }
  /// The rest of such a wait, after ends_soon.
  template <class Word, std::predicate<word> Predicate>
  word wait_longer(Control& c, Word const& w, Predicate const& predicate, waiting_for const& why) const {
    return wait_from(most_inlined, c, w, predicate, why);
  }

  /// Returns whether wait_for_all needs a place to know whether it keeps its core. Two ranks on each core
  /// guess as well, and more than four never keep theirs.
  [[nodiscard]] bool asks_for_place() const noexcept { return asks_for_place_; }

  /// Waits for a sum of arrivals, which is `all` or more when every rank has come. Each of them adds `One`.
  /// A rank that knows to be the last one on its core keeps the core for the time of a switch. It thus goes
  /// on at once, which saves one of the core's switches. A rank that does not know keeps its core while so
  /// few ranks are missing that all of them may run on other cores now. With many ranks on a core that is
  /// less than the looks for a rank that needs this core.
  template <word One = 1, class Word>
  void wait_for_all(Control& c, Word const& sum, word all, waiting_for const& why,
                    place_on_core place = place_on_core::unknown) const {
    auto const is_over = [all](word seen) { return seen >= all; };
    if constexpr (control_in_turns<Control>) {
      word seen = 0;
      auto const stays = [all, place, most = One * stays_for_](word now) {
        return place == place_on_core::unknown ? all - now < most : place == place_on_core::last;
      };
      if (at_once_ != 0 && look<true>(sum, seen, is_over, stays, inlined_)) return;
    }
    c.wait_until(sum, is_over, why);
  }

 private:
  static constexpr int most = 32;             ///< turns of other ranks
  static constexpr int most_inlined = 4;      ///< of them, in the caller
  static constexpr word most_on_core = 4;     ///< ranks of which the last one keeps its core
  static constexpr word guesses_on_core = 2;  ///< ranks of which the last one need not know that it is
  static constexpr int brief_looks = 8;       ///< before each turn
  static constexpr int patient_looks = 2000;  ///< about the time of a turn

  /// The number of ranks that can run at once if ranks share cores and may yield them, else 0.
  static word shared_cores([[maybe_unused]] Control const& c) noexcept {
    if constexpr (control_in_turns<Control>) {
      wait_policy const how = c.owner().waits();
      bool const yields = how == wait_policy::adaptive || how == wait_policy::yield;
      if (yields && c.most_at_once() < c.size()) return static_cast<word>(c.most_at_once());
    }
    return 0;
  }

  template <class Word, class Predicate>
  word wait_from([[maybe_unused]] int turn, Control& c, Word const& w, Predicate const& predicate,
                 waiting_for const& why) const {
    if constexpr (control_in_turns<Control>) {
      word seen = 0;
      if (at_once_ != 0 && look<false>(
                               w, seen, predicate, [](word) { return false; }, turn))
        return seen;
    }
    return c.wait_until(w, predicate, why);
  }

  template <class Word, class Predicate>
  [[nodiscard, gnu::always_inline]] static bool ends_within([[maybe_unused]] int turns, Word const& w,
                                                            Predicate const& predicate) {
    if constexpr (control_in_turns<Control>) {
      for (; turns != 0; --turns) {
        give_up_core();
        if (predicate(w.load(std::memory_order_acquire))) return true;  // acquire: as in look
      }
    }
    return false;
  }

  /// `changes`: this rank changes the word as soon as the wait is over. It asks for the line after each turn
  /// where few ranks share a core. With many, most turns find that the wait is not over, and the ranks of
  /// another core would have to fetch the line again.
  template <bool changes, class Word, class Predicate, class Stays>
  [[nodiscard]] bool look(Word const& w, word& seen, Predicate const& predicate, Stays const& stays,
                          int turn = 0) const {
    for (;; ++turn) {
      for (int i = 0; i < brief_looks || (i < patient_looks && stays(seen)); ++i) {
        // acquire: pairs with the release of the rank that changes the word, as in wait_until.
        seen = w.load(std::memory_order_acquire);
        if (predicate(seen)) return true;
      }
      // Not at each turn: services are on another page.
      if (turn == most || (turn % 8 == 7 && service::any())) return false;
      give_up_core();
      if (changes && stays_for_ != 0) will_change(w);
    }
  }

  word at_once_;    ///< 0: no turns
  word stays_for_;  ///< keeps its core while fewer ranks are missing
  int inlined_;     ///< turns in all_come_soon
  bool asks_for_place_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
