// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <pgas/detail/job/bell.hpp>
#include <pgas/detail/job/deadlock_search.hpp>
#include <pgas/detail/job/held_locks.hpp>
#include <pgas/detail/job/job.hpp>
#include <pgas/detail/job/ranks.hpp>
#include <pgas/detail/job/service.hpp>
#include <pgas/detail/process/cores.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/detail/types/function_ref.hpp>

namespace PGAS_NAMESPACE::detail {

/// A wait that has outlasted its spinning and its first yields. It continues to yield, and then sleeps if the
/// job's wait_policy allows that. Meanwhile it detects whatever makes the wait futile.
///
/// `pause()` throws errc::rank_failed, or the code of the failure, when the job has failed. It throws
/// errc::timed_out past the deadline, and errc::deadlock when this rank and all ranks that could signal it
/// wait for each other.
///
/// A sleep lasts at most an eighth of the time waited so far, so that a wait notices its deadline and the
/// job's failure in time. A wait with bells sleeps for up to `longest_sleep`, since a store to an awaited
/// word wakes it. A wait without bells sleeps for up to `longest_nap`.
class long_wait {
 public:
  long_wait(job const& j, waiting_for const& why, std::string_view label)
      : job_(j), why_(why), label_(label), started_(now()), deadline_(in_nanoseconds(why.deadline)) {
    if (double const seconds = j.block().timeout_seconds; seconds > 0) {
      std::int64_t const allowed = started_ + static_cast<std::int64_t>(seconds * double{second});
      is_of_job_ = allowed < deadline_;
      deadline_ = std::min(deadline_, allowed);
    }
  }
  long_wait(long_wait const&) = delete;
  long_wait& operator=(long_wait const&) = delete;
  ~long_wait() {
    if (looks_) job_.block().looker.store(0, std::memory_order_release);
    if (published_) job_.record().wait.fetch_add(1, std::memory_order_release);  // even: over
  }

  /// Adds ranks whose signal may end the wait, as numbers in the job. Call it before the first pause.
  void awaits(group ranks) noexcept {
    for (rank_t const rank : ranks) {
      auto const r = static_cast<std::size_t>(rank);
      awaited_[r / 64] |= std::uint64_t{1} << (r % 64);
    }
  }
  /// The same for those that `why` names, and the lock that it acquires.
  void awaits(team_ranks const& ranks, waiting_for const& why) {
    why_ = ranks.in_job(why);
    awaits(ranks.awaited(why));
  }
  /// Adds the bells of the awaited words: a store to one of the words then wakes this rank.
  void sleeps_on(std::span<std::uint32_t* const> bells) noexcept {
    for (std::size_t i = 0; i < bells.size(); ++i) bells_.add(bells[i]);
  }
  /// Adds the bells of this thread's services to those of the awaited words.
  void serves() {
    if (!bells_.empty()) service::add_bells(job_.block(), bells_);
  }

  /// For a wait that no store can wake.
  void pause() {
    if (auto const longest = go_on(longest_nap); longest > 0) sleep_nanoseconds(longest);
  }

  /// For a wait for words that have bells; condition() is the end of the wait.
  void pause(function_ref<bool()> condition) {
    auto const bells = bells_.all();
    bool const wakes = !bells.empty() && job_.block().without_fences.load(std::memory_order_relaxed) == 0;
    bool const sleeps = wakes && !service::must_look(job_.block());
    auto const longest = go_on(sleeps ? std::max(longest_sleep, job_.size() * millisecond) : longest_nap);
    if (longest <= 0 || (wakes && bell::sleep(bells, longest, condition))) return;
    sleep_nanoseconds(std::min(longest, longest_nap));
  }

 private:
  // Times are nanoseconds on the steady clock. The types of <chrono> would cost each program the compilation
  // of fifty functions.
  static constexpr std::int64_t microsecond = 1000;
  static constexpr std::int64_t millisecond = 1000 * microsecond;
  static constexpr std::int64_t second = 1000 * millisecond;
  static constexpr std::size_t words = job_block::max_ranks / 64;
  /// The time of yields before the first sleep. A sleep that a store ends costs less than the yields to other
  /// processes, which take whole time slices.
  static constexpr std::int64_t soon = 50 * microsecond;
  static constexpr std::int64_t late = 1000 * microsecond;
  static constexpr std::int64_t longest_nap = millisecond;
  static constexpr std::int64_t longest_sleep = 100 * millisecond;  ///< or 1 ms for each rank
  static constexpr std::int64_t between_checks = 50 * millisecond;
  static constexpr std::int64_t first_interval = 500 * millisecond;
  static constexpr std::int64_t longest_interval = 4 * second;

  static std::int64_t in_nanoseconds(time_point at) noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(at.time_since_epoch()).count();
  }
  static std::int64_t now() noexcept { return in_nanoseconds(std::chrono::steady_clock::now()); }

  /// Does what a wait has to do between two polls, and returns how long it may sleep then; 0: not at all.
  [[nodiscard]] std::int64_t go_on(std::int64_t longest) {
    auto const at = now();
    auto const waited = at - started_;
    wait_policy const how = job_.waits();
    if (waited < (longest > longest_nap ? soon : late) && how != wait_policy::park) {
      if (how != wait_policy::spin) give_up_core();
      return 0;
    }
    job_.check(why_.operation);
    if (at >= deadline_) time_out(waited);
    if (is_nested()) return sleep_for(waited, longest, at);
    publish();
    // release: a search for a deadlock that reads this count knows that the condition was false at that time.
    job_.record().checks.fetch_add(1, std::memory_order_release);
    if (at >= next_look_) look_for_deadlock(at);
    return sleep_for(waited, longest, at);
  }
  [[nodiscard]] std::int64_t sleep_for(std::int64_t waited, std::int64_t longest, std::int64_t at) const {
    wait_policy const how = job_.waits();
    if (how == wait_policy::yield) give_up_core();
    if (how != wait_policy::adaptive && how != wait_policy::park) return 0;
    return std::min(std::clamp(waited / 8, microsecond, longest), deadline_ - at);
  }
  /// Returns whether this wait is part of another wait of this rank, which has published itself.
  [[nodiscard]] bool is_nested() const noexcept {
    return !published_ && job_.rank() >= 0 && job_.record().wait.load(std::memory_order_relaxed) % 2 == 1;
  }

  void publish() {
    if (published_) return check_locks();
    if (job_.rank() < 0) return;
    auto& record = job_.record();
    auto const copy = [](auto& to, std::string_view from) {
      for (std::size_t i = 0; i < to.size(); ++i) {
        to[i].store(i < from.size() && i + 1 < to.size() ? from[i] : '\0', std::memory_order_relaxed);
      }
    };
    copy(record.operation, why_.operation);
    copy(record.label, label_);
    for (std::size_t i = 0; i < words; ++i) record.awaited[i].store(awaited_[i], std::memory_order_relaxed);
    bool const names_part = why_.acquires != waiting_for::no_part && why_.alone;
    bool const of_part = names_part && why_.acquires >= 0;
    record.acquires.store(why_.acquires, std::memory_order_relaxed);
    record.wants[0].store(names_part ? key_of_lock(why_.window, why_.acquires) : 0,
                          std::memory_order_relaxed);
    record.wants[1].store(of_part ? key_of_lock(why_.window, whole_window) : 0, std::memory_order_relaxed);
    publish_locks(job_.locks().during(why_));
    record.wait.fetch_add(1, std::memory_order_release);  // odd: published; pairs with the acquire in stuck()
    published_ = true;
    next_look_ = started_ + second;
  }

  void publish_locks(plain_list<lock_key> held) {
    auto& holds = job_.record().holds;
    held.resize(std::min(held.size(), holds.size()));
    for (std::size_t i = 0; i < held.size(); ++i) holds[i].store(held[i], std::memory_order_relaxed);
    if (held.size() < holds.size()) holds[held.size()].store(0, std::memory_order_relaxed);
    held_ = std::move(held);
  }
  /// Messages of other ranks that this rank serves during its wait may take and release locks. Then it
  /// publishes a new wait.
  void check_locks() {
    auto const at = now();
    if (at < next_check_) return;
    next_check_ = at + between_checks;
    auto now_held = job_.locks().during(why_);
    now_held.resize(std::min(now_held.size(), job_block::max_locks));
    bool same = now_held.size() == held_.size();
    for (std::size_t i = 0; same && i < held_.size(); ++i) same = now_held[i] == held_[i];
    if (same) return;
    auto& wait = job_.record().wait;
    wait.fetch_add(1, std::memory_order_release);  // even: none, while its locks change
    publish_locks(std::move(now_held));
    wait.fetch_add(1, std::memory_order_release);
  }

  /// One rank at a time searches for all: the first whose wait has lasted long, until that wait ends. The
  /// time between its searches doubles, so that a wait that is only long costs little. Rank 0 also searches
  /// if it receives copies of records, since it alone counts them.
  void look_for_deadlock(std::int64_t at) {
    auto& looker = job_.block().looker;
    bool const counts_copies =
        job_.rank() == 0 && job_.block().has_copies.load(std::memory_order_relaxed) != 0;
    if (!looks_ && !counts_copies) {
      std::uint32_t nobody = 0;
      // acquire, release: the searches of one rank precede those of the next.
      looks_ = looker.load(std::memory_order_relaxed) == 0 &&
               looker.compare_exchange_strong(nobody, static_cast<std::uint32_t>(job_.rank()) + 1,
                                              std::memory_order_acq_rel);
      if (!looks_) {
        next_look_ = at + first_interval;
        return;
      }
    }
    job_.block().looks.fetch_add(1, std::memory_order_relaxed);
    auto set = blocked_ranks(job_.block(), job_.rank() == 0);
    // A set may be a deadlock: the next search follows soon.
    interval_ = set.empty() ? std::min(2 * interval_, longest_interval) : first_interval;
    next_look_ = at + interval_;
    // The set is stable if its waits are the same as at the last look and each has found its condition false
    // since.
    bool same = set.size() == last_.size();
    for (std::size_t i = 0; same && i < set.size(); ++i) same = set[i] == last_[i];
    bool stable = same && !set.empty();
    for (std::size_t i = 0; stable && i < set.size(); ++i)
      stable = set[i].finished || set[i].checks >= last_[i].checks + 2;
    if (stable) {
      // This rank reports the set as its own failure if it belongs to it, else as that of the first waiting
      // rank.
      sighting const* found = nullptr;
      for (auto const& s : set) {
        if (s.rank == job_.rank() || (found == nullptr && !s.finished)) found = &s;
      }
      job_.mark_failed(found->rank, describe(set), errc::deadlock);
      job_.check(why_.operation);
    }
    if (!same) last_ = std::move(set);
  }

  [[nodiscard]] std::string describe(plain_list<sighting> const& set) const {
    auto const text = [](auto const& from) {
      std::string s;
      for (auto const& c : from) {
        if (c.load(std::memory_order_relaxed) == '\0') break;
        s += c.load(std::memory_order_relaxed);
      }
      return s;
    };
    std::string sentence;
    for (auto const& member : set) {
      auto const& record = job_.record(member.rank);
      append_text(sentence, {sentence.empty() ? "rank " : "; rank ", member.rank});
      if (record.phase.load() == job_block::finished) {
        sentence += " has returned";
        continue;
      }
      append_text(sentence, {" waits in ", text(record.operation), " (", text(record.label), ") for "});
      awaited_ranks awaited{};
      for (auto const& other : set) {
        if (holds_wanted(job_.record(other.rank), record) && other.rank != member.rank)
          awaited[word_of(other.rank)] |= bit_of(other.rank);
      }
      if (awaited == awaited_ranks{}) {
        for (std::size_t i = 0; i < words; ++i)
          awaited[i] = record.awaited[i].load(std::memory_order_relaxed);
      }
      append_awaited(sentence, awaited, record.acquires.load(std::memory_order_relaxed));
    }
    sentence += "; none of them can go on";
    return sentence;
  }

  using awaited_ranks = std::array<std::uint64_t, words>;  ///< one bit for each rank of the job
  static constexpr std::size_t word_of(rank_t rank) noexcept { return static_cast<std::size_t>(rank) / 64; }
  static constexpr std::uint64_t bit_of(rank_t rank) noexcept {
    return std::uint64_t{1} << (static_cast<std::size_t>(rank) % 64);
  }

  /// Appends the numbers of awaited ranks, or what is awaited if no rank is known.
  void append_awaited(std::string& sentence, awaited_ranks const& awaited, rank_t acquires) const {
    if (awaited == awaited_ranks{}) {
      sentence += awaited_otherwise(acquires);
      return;
    }
    char const* separator = "rank ";
    for (rank_t other = 0; other < job_.size(); ++other) {
      if ((awaited[word_of(other)] & bit_of(other)) != 0)
        append_text(sentence, {std::exchange(separator, ","), other});
    }
  }

  [[noreturn]] void time_out(std::int64_t waited) {
    std::string sentence = text_of({"this rank waited ", waited / millisecond, " ms (", label_, ") for "});
    bool const names_none = why_.acquires != waiting_for::no_part && why_.awaited.empty();
    append_awaited(sentence, names_none ? awaited_ranks{} : awaited_, why_.acquires);
    if (is_of_job_) sentence += ", longer than PGAS_TIMEOUT allows";
    throw_error(errc::timed_out, job_.rank(), why_.operation, {sentence});
  }

  job const& job_;
  waiting_for why_;
  std::string_view label_;
  std::int64_t started_;
  std::int64_t deadline_;
  bool is_of_job_ = false;  ///< whether PGAS_TIMEOUT sets the deadline
  std::int64_t next_look_ = 0;
  std::int64_t interval_ = first_interval / 2;
  bool looks_ = false;  ///< whether this wait looks for deadlocks
  std::array<std::uint64_t, words> awaited_{};
  plain_list<lock_key> held_;  ///< the locks of the rank that it has published
  std::int64_t next_check_ = 0;
  bell::list bells_;
  plain_list<sighting> last_;
  bool published_ = false;
};

}  // namespace PGAS_NAMESPACE::detail
