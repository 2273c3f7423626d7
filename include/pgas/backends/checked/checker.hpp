// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <limits>
#include <memory>
#include <pgas/backends/checked/places.hpp>
#include <pgas/backends/checked/shadow.hpp>
#include <pgas/backends/checked/word_history.hpp>
#include <pgas/concepts/order_scope.hpp>
#include <pgas/platform/checking/line_of_calls.hpp>
#include <pgas/platform/job/job.hpp>
#include <string>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS::detail::checking {

/// The element that an access begins at, as a report names it.
struct accessed_part {
  std::string_view window;        ///< "window 3"
  rank_t owner = 0;               ///< in the window's team
  rank_t owner_in_job = 0;        ///< the same rank's number in the job
  std::uint64_t first = 0;        ///< byte of the part
  std::size_t element_bytes = 1;  ///< the size of an element, if it is known
};

/// One rank's view of the order of all accesses, and the judge of its own.
///
/// Control words order the ranks. A release leaves the rank's knowledge in the word; an acquire adds the
/// word's knowledge to the rank's. A wait adds no more than the earliest value left that would have ended it.
/// A put, get or accumulate is complete at a later flush, and before that in no order with any access, also
/// with those of its own rank: the log of flushes says when. The result of an access that is unordered with a
/// conflicting one is errc::race on all ranks.
class checker {
 public:
  checker(std::shared_ptr<memory> m, job const& of)
      : memory_(std::move(m)),
        job_(of),
        self_(of.rank()),
        places_(*memory_),
        shadow_(*memory_, job_),
        flushed_puts_(memory_->ranks()),
        flushed_gets_(memory_->ranks()),
        pending_(memory_->ranks()) {
    known_[index(self_)] = 1;
  }
  checker(checker const&) = delete;
  checker& operator=(checker const&) = delete;

  [[nodiscard]] memory& shared() const noexcept { return *memory_; }
  [[nodiscard]] job const& of_job() const noexcept { return job_; }

  // Order

  /// A scope of order from its construction to its destruction.
  class scope_guard {
   public:
    scope_guard(checker& c, order_scope scope) noexcept
        : checker_(&c), before_(std::exchange(c.scope_, scope)) {}
    scope_guard(scope_guard const&) = delete;
    scope_guard& operator=(scope_guard const&) = delete;
    ~scope_guard() { checker_->scope_ = before_; }

   private:
    checker* checker_;
    order_scope before_;
  };
  [[nodiscard]] scope_guard order_as(order_scope scope) noexcept { return {*this, scope}; }
  [[nodiscard]] bool is_at_element() const noexcept { return scope_ == order_scope::element; }

  // The caller holds the lock of the word's history.

  /// This rank has accessed a control word, and learns what its value tells if it acquires.
  void loaded(word_history const& of, bool acquires) {
    accessed();
    if (acquires) acquire(of.latest());
  }
  /// This rank has stored to a control word.
  void stored(word_history const& of, word value, bool releases) {
    accessed();
    auto const now = of.store(value, last_access_);
    if (!releases || is_at_element()) return;
    release(scope_ == order_scope::shared_holder ? now.of_holders() : now.of_all());
  }
  /// A wait of this rank has ended at `seen`. Returns the value that the wait takes: the earliest since the
  /// rank's access before that ends it.
  template <class Predicate>
  word ended_wait(word_history const& of, word seen, Predicate&& predicate) {
    auto const taken = of.earliest(last_access_, predicate);
    accessed();
    acquire(taken);
    return predicate(taken.value()) ? taken.value() : seen;
  }
  void accessed() noexcept { last_access_ = memory_->next_access(); }

  /// Leaves this rank's knowledge at a location or with a message, or takes it over.
  void release(memory::locked_clock const& at) {
    spin_lock const hold(*at.lock, job_);
    release(at.knowledge);
  }
  void acquire(memory::locked_clock const& at) {
    spin_lock const hold(*at.lock, job_);
    join(mine(), at.knowledge);
  }

  // Accesses

  /// This rank accesses bytes of the arena. `frame` is that of the segment's operation. Throws errc::race.
  void access(access_kind kind, accessed_part const& at, std::uint64_t offset, std::size_t bytes,
              void* frame) {
    if (bytes == 0) return;
    record const x(self_, kind, places_.number_of(frame), clock());
    if (x.is_pending()) (x.writes() ? pending_[index(at.owner_in_job)].puts
                                    : pending_[index(at.owner_in_job)].gets) = true;
    std::uint64_t known_good = 0;  // most bytes of an access have one earlier record
    auto const found = shadow_.access(offset, bytes, x, [&](record r) {
      if (r.with_mask(0).bits() == known_good) return true;
      if (!is_before(r, at.owner_in_job)) return false;
      known_good = r.with_mask(0).bits();
      return true;
    });
    if (found.with.bits() != 0) [[unlikely]]
      complain(x, found.with, at, at.first + (found.byte - offset));
  }
  /// Puts, gets and accumulates of this rank towards the target are complete.
  void flush(rank_t target) {
    if (is_at_element()) return;  // the library's, and no promise to the program
    auto& p = pending_[index(target)];
    if (!p.puts && !p.gets) return;
    if (p.puts) log(memory_->log_of(self_, target, true), flushed_puts_[index(target)]);
    if (p.gets) log(memory_->log_of(self_, target, false), flushed_gets_[index(target)]);
    p = {};
    ++known_[index(self_)];
  }
  /// Gets of this rank from the target are complete.
  void flush_local(rank_t target) {
    auto& p = pending_[index(target)];
    if (!p.gets || is_at_element()) return;
    p.gets = false;
    log(memory_->log_of(self_, target, false), flushed_gets_[index(target)]);
    ++known_[index(self_)];
  }

 private:
  struct pending {
    bool puts = false;
    bool gets = false;
  };

  static std::size_t index(rank_t rank) noexcept { return static_cast<std::size_t>(rank); }
  [[nodiscard]] std::uint32_t clock() const noexcept { return known_[index(self_)]; }
  [[nodiscard]] std::span<std::uint32_t> mine() noexcept {
    return std::span(known_).first(memory_->ranks());
  }

  void release(shared_clock to) {
    join(to, mine());
    ++known_[index(self_)];
  }
  void acquire(word_history::told const& what) {
    if (is_at_element()) return;
    join(mine(), what.of_all());
    if (scope_ != order_scope::shared_holder) join(mine(), what.of_holders());
  }

  void log(memory::flush_log& to, std::uint32_t& own) {
    own = clock();
    std::atomic_ref<std::uint32_t> count(to.count);
    std::uint32_t const n = count.load(std::memory_order_relaxed);
    std::atomic_ref(to.clocks[n % to.kept]).store(clock(), std::memory_order_relaxed);
    // release: pairs with the acquire in completion; another rank reads the log at any time.
    count.store(n + 1, std::memory_order_release);
  }
  /// The clock of a rank at which its access was complete, as far as the log knows; the largest if it is not.
  [[nodiscard]] std::uint32_t completion(record r, rank_t target) const {
    auto& log = memory_->log_of(r.rank(), target, r.writes());
    // acquire: pairs with the release in log.
    std::uint32_t const count = std::atomic_ref(log.count).load(std::memory_order_acquire);
    std::uint32_t first = std::numeric_limits<std::uint32_t>::max();
    std::uint32_t const kept = std::min<std::uint32_t>(count, log.kept);
    for (std::uint32_t i = 1; i <= kept; ++i) {
      std::uint32_t const at =
          std::atomic_ref(log.clocks[(count - i) % log.kept]).load(std::memory_order_relaxed);
      if (at < r.clock()) return first;
      first = std::min(first, at);
    }
    return count > log.kept ? r.clock() : first;  // an old access: its flush is forgotten
  }
  [[nodiscard]] bool is_before(record r, rank_t target) const {
    if (r.rank() == self_) {
      return !r.is_pending() ||
             (r.writes() ? flushed_puts_ : flushed_gets_)[index(target)] >= r.clock();
    }
    std::uint32_t const known = known_[index(r.rank())];
    return known >= r.clock() && (!r.is_pending() || known >= completion(r, target));
  }

  [[noreturn, gnu::cold, gnu::noinline]] void complain(record x, record other, accessed_part const& at,
                                                       std::uint64_t byte) {
    std::string const me = "rank " + std::to_string(self_);
    std::string const they = "rank " + std::to_string(other.rank());
    std::string const owner = "rank " + std::to_string(at.owner);
    std::string text = "the " + std::string(name_of(x.kind())) + " of " + me + " at " + line_of(x);
    text += " is unordered with the " + std::string(name_of(other.kind())) + " of " +
            (other.rank() == self_ ? "the same rank" : they) + " at " + line_of(other) + ": both access ";
    text += at.element_bytes > 1 ? "element " + std::to_string(byte / at.element_bytes)
                                 : "byte " + std::to_string(byte);
    text += " of " + owner + "'s part of " + std::string(at.window) + "; " + advice(x, other, at);
    job_.mark_failed(self_, text, errc::race);
    throw error(errc::race, self_, text);
  }
  [[nodiscard]] std::string advice(record x, record other, accessed_part const& at) const {
    std::string const owner = "rank " + std::to_string(at.owner);
    if (other.rank() == self_) return "flush " + owner + " between the two";
    if (known_[index(other.rank())] >= other.clock()) {
      return "rank " + std::to_string(other.rank()) + " has sent a signal, but it must flush " + owner +
             " before";
    }
    if (x.is_atomic() != other.is_atomic()) {
      return "make both atomic operations, or end the epoch of the first, or flush and send a signal, before "
             "the second";
    }
    return "end the epoch of the first, or flush and send a signal, before the second";
  }
  [[nodiscard]] std::string line_of(record r) const {
    return r.place() == 0 ? "an unknown place" : line_of_calls(memory_->place_of(r.place()).calls);
  }

  std::shared_ptr<memory> memory_;
  job job_;
  rank_t self_;
  places places_;
  shadow shadow_;
  vector_clock known_{};
  std::uint64_t last_access_ = 0;  ///< to a control word, among those of all ranks
  order_scope scope_ = order_scope::all;
  std::vector<std::uint32_t> flushed_puts_;  ///< by target: this rank's clock at its latest flush
  std::vector<std::uint32_t> flushed_gets_;
  std::vector<pending> pending_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::checking
