// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <pgas/concepts/control.hpp>
#include <pgas/concepts/order_scope.hpp>
#include <pgas/detail/backends/checked/completions.hpp>
#include <pgas/detail/backends/checked/memory.hpp>
#include <pgas/detail/backends/checked/record.hpp>
#include <pgas/detail/backends/checked/shadow.hpp>
#include <pgas/detail/checking/compared_calls.hpp>
#include <pgas/detail/checking/known_places.hpp>
#include <pgas/detail/checking/line_of_calls.hpp>
#include <pgas/detail/checking/open_buffers.hpp>
#include <pgas/detail/job/job.hpp>
#include <pgas/detail/types/scoped_value.hpp>
#include <pgas/machines/schedule.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace PGAS_NAMESPACE::detail::checking {

/// The places of a rank's operations, numbered in the memory that all ranks share.
using places = known_places<memory>;

/// Random pauses of one rank at its accesses and control words, so that ranks meet in other orders.
///
/// A seed chooses the pauses of each rank: the same seed pauses at the same calls. The machine still
/// schedules the ranks, so the same seed makes the same order likely, but not certain. Seed 0 makes no pause.
/// Source: pauses at synchronizations by chance, ConTest (Edelstein and others 2002).
class delays {
 public:
  delays(std::uint64_t seed, rank_t rank) noexcept
      : dice_(seed * 64 + static_cast<std::uint64_t>(rank)), is_on_(seed != 0) {}

  void pause() noexcept {
    if (is_on_) [[unlikely]]
      pause_by_chance();
  }

 private:
  [[gnu::noinline]] void pause_by_chance() noexcept {
    if (!dice_.one_in(8)) return;
    if (dice_.one_in(2)) return std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(1 + dice_.below(200)));
  }

  emulation::dice dice_;
  bool is_on_;
};

/// The rules of the checker beside "control words order the ranks", all of them on.
///
/// A test uses a type of its own instead, and switches rules off to show that each is needed. The values are
/// constants here, so a program tests no rule at run time.
struct every_rule {
  static constexpr bool earliest() noexcept { return true; }    ///< a wait takes the earliest ending value
  static constexpr bool holders() noexcept { return true; }     ///< shared holders are in no order
  static constexpr bool elements() noexcept { return true; }    ///< the lock of elements orders elements only
  static constexpr bool atomics() noexcept { return true; }     ///< atomic operations race not with another
  static constexpr bool locations() noexcept { return true; }   ///< an atomic store releases, a load acquires
  static constexpr bool messages() noexcept { return true; }    ///< a message carries its sender's knowledge
  static constexpr bool roots() noexcept { return true; }       ///< a collective with a root orders one way
  static constexpr bool completion() noexcept { return true; }  ///< a transfer lasts until its flush
  static constexpr bool targets() noexcept { return true; }     ///< a flush is of one target
  static constexpr bool flush() noexcept { return true; }       ///< a flush completes puts and gets
  static constexpr bool flush_local() noexcept { return true; }  ///< flush_local completes gets
  static constexpr bool puts_last() noexcept { return true; }    ///< flush_local completes no put
  static constexpr bool publication() noexcept { return true; }  ///< a boundary publishes own stores
  static constexpr bool stages() noexcept { return true; }       ///< stage reads the elements it hands out
  static constexpr bool calls() noexcept { return true; }        ///< ranks call the same collectives
  static constexpr bool buffers() noexcept { return true; }      ///< a transfer owns its buffer

  /// The words of a control that order the ranks: all of them.
  class control_rule {
   public:
    constexpr control_rule(std::string_view, control_words) noexcept {}
    /// The rule of one word, a slot or a cell with this number.
    class word_rule {
     public:
      static constexpr bool orders() noexcept { return true; }
    };
    [[nodiscard]] static constexpr word_rule of_slot(std::size_t) noexcept { return {}; }
    [[nodiscard]] static constexpr word_rule of_cell(std::size_t) noexcept { return {}; }
  };
};

/// The element that an access begins at, as a report names it.
struct accessed_part {
  std::string_view window;        ///< "window 3"
  rank_t owner = 0;               ///< in the window's team
  rank_t owner_in_job = 0;        ///< the same rank's number in the job
  std::uint64_t first = 0;        ///< byte of the part
  std::size_t element_bytes = 0;  ///< the size of an element, or 0 if it is unknown
  completions* ends = nullptr;    ///< of the window's accesses
};

/// One rank's view of the order of all accesses, and the judge of its own.
///
/// Control words order the ranks. A release leaves the rank's knowledge in the word; an acquire adds the
/// word's knowledge to the rank's. A wait adds only the knowledge of the earliest value that would have ended
/// it. A put, get or accumulate is complete at a later flush. Before that it is ordered with no access, not
/// even with those of its own rank: the log of flushes says when. The result of an access that is unordered
/// with a conflicting one is errc::race on all ranks.
template <class Rules = every_rule>
class checker {
 public:
  /// `seed` chooses the rank's delays; 0: none.
  checker(std::shared_ptr<memory> m, job const& of, std::uint64_t seed = 0)
      : memory_(std::move(m)),
        job_(of),
        self_(of.rank()),
        places_(*memory_),
        shadow_(*memory_, job_),
        delays_(seed, self_) {
    known_[index(self_)] = 1;
  }
  checker(checker const&) = delete;
  checker& operator=(checker const&) = delete;

  [[nodiscard]] memory& shared() const noexcept { return *memory_; }
  [[nodiscard]] job const& of_job() const noexcept { return job_; }

  // Order

  /// A scope of order from its construction to its destruction.
  [[nodiscard]] scoped_value<order_scope> order_as(order_scope scope) noexcept { return {scope_, scope}; }
  [[nodiscard]] bool is_at_element() const noexcept { return scope_ == order_scope::element; }

  // The caller holds the lock of the word's history.

  /// This rank has accessed a control word, and acquires the knowledge at its value if `acquires`.
  void loaded(word_history const& of, bool acquires) {
    accessed();
    if (acquires) acquire(of, of.latest());
  }
  /// This rank has stored to a control word.
  void stored(word_history const& of, word value, bool releases) {
    accessed();
    auto const now = of.store(value, last_access_);
    // Also without a release: the knowledge at the earlier value is also at this one.
    hidden_from_sanitizer::tell_release(is_holder() ? of.address_of_holders() : now.address());
    if (!releases || (is_at_element() && Rules::elements())) return;
    release(is_holder() ? now.of_holders() : now.of_all());
  }
  /// A wait of this rank has ended at `seen`, and acquires unless a test disables that. Returns the value
  /// that ends the wait: the earliest one since the rank's previous access that does.
  template <class Predicate>
  word ended_wait(word_history const& of, word seen, bool acquires, Predicate&& predicate) {
    auto const taken = Rules::earliest() ? of.earliest(last_access_, predicate) : of.latest();
    if (acquires) acquire(of, taken);
    if (!predicate(taken.value())) return accessed(), seen;  // the word has gone on, and its history too
    // A faster rank would have seen this value at once, so a later wait may find values from then on.
    last_access_ = std::max(last_access_, taken.since());
    return taken.value();
  }
  /// For the thread sanitizer: this rank acquires what the word's value carries, so that the next value
  /// carries it, too.
  void pass_on(word_history const& of) noexcept {
    hidden_from_sanitizer::tell_acquire(of.latest().address());
  }
  /// Called before an access to a control word, and before its lock: a test's delay.
  void pause() noexcept { delays_.pause(); }
  void accessed() noexcept { last_access_ = memory_->next_access(); }

  /// Leaves this rank's knowledge at a location or with a message, or acquires it.
  void release(memory::locked_clock const& at) {
    spin_lock const hold(*at.lock, job_);
    hidden_from_sanitizer::tell_release(at.lock);
    release(at.knowledge);
  }
  void acquire(memory::locked_clock const& at) {
    spin_lock const hold(*at.lock, job_);
    hidden_from_sanitizer::tell_acquire(at.lock);
    join(mine(), at.knowledge);
  }

  /// The same at the end of a scope; does nothing if the job has failed.
  void try_acquire(memory::locked_clock const& at) noexcept {
    try {
      acquire(at);
    } catch (error const&) {  // the rank's next call throws it
    }
  }

  /// This rank begins a collective, inside which it may rely on all that earlier collectives have ordered.
  /// Returns what the program may rely on.
  [[nodiscard]] vector_clock begin_collective() noexcept {
    vector_clock const promised = known_;
    join(known_, of_collectives_);
    return promised;
  }
  /// This rank ends it. It keeps this knowledge, and that of its own accesses.
  void end_collective(vector_clock const& promised) noexcept {
    of_collectives_ = known_;
    known_ = promised;
    known_[index(self_)] = of_collectives_[index(self_)];
  }

  // Accesses

  /// The number of a place of the program. `frame` is that of the segment's operation.
  [[nodiscard]] std::uint32_t number_of_place(void* frame) { return places_.number_of(frame); }

  /// This rank accesses bytes of the arena. Throws errc::race.
  void access(recorded kind, accessed_part const& at, std::uint64_t offset, std::size_t bytes,
              std::uint32_t where) {
    if (bytes == 0) return;
    delays_.pause();
    record const x(self_, Rules::atomics() ? kind : as_plain(kind), where, clock());
    at.ends->begin(x, at.owner_in_job);
    std::uint64_t known_good = 0;  // most bytes of an access have one earlier record
    auto const found = shadow_.access(offset, bytes, x, [&](record r) {
      if (r.with_mask(0).bits() == known_good) return true;
      if (!is_before(r, at)) return false;
      known_good = r.with_mask(0).bits();
      return true;
    });
    if (found.with.bits() != 0) [[unlikely]]
      complain(x, found.with, at, at.first + (found.byte - offset));
  }
  /// Puts and gets of this rank towards the target are complete, or its gets alone.
  void flush(completions& of, rank_t target, bool of_gets_alone) {
    if (!(of_gets_alone ? Rules::flush_local() : Rules::flush())) return;
    if (is_at_element() && Rules::elements()) return;  // the library's, and no promise to the program
    if (of.flush(target, clock(), of_gets_alone)) ++known_[index(self_)];
  }
  /// A boundary publishes the stores of this rank in its own part.
  void publish(completions& of) {
    if (Rules::publication() && of.publish(clock())) ++known_[index(self_)];
  }

  // Collectives

  /// This rank begins a collective of a team, whose calls these are. Throws errc::mismatch if calls differ.
  void compare_call(compared_calls const& all, collective_call const& call, std::string_view label,
                    rank_t in_team, std::uint32_t where) {
    placed_call const mine(call, label, self_, in_team, where);
    auto const other = [&] {
      spin_lock const hold(all.lock(), job_);
      return all.enter(mine);
    }();
    if (!other) return;
    fail(report_of(mine, *other, [&](std::uint32_t n) { return line_of(n); }), errc::mismatch);
  }

  // Buffers

  /// The private memory that unfinished transfers of this rank use.
  [[nodiscard]] open_buffers& buffers() noexcept { return buffers_; }
  /// An operation of this rank reads private memory, or writes it.
  void reads_private(bytes_in from, recorded kind, std::uint32_t where) {
    if (!buffers_.empty()) judge(buffers_.reads(from), kind, where);
  }
  void writes_private(bytes_in into, recorded kind, std::uint32_t where) {
    if (!buffers_.empty()) judge(buffers_.writes(into), kind, where);
  }
  /// The transfers of a window towards a target no longer use their buffers.
  void end_buffers(void const* window, rank_t target) {
    if (!buffers_.empty()) judge(buffers_.complete(window, target), {}, 0);
  }
  void end_request(std::uint64_t id) {
    if (!buffers_.empty()) judge(buffers_.complete_one(id), {}, 0);
  }

 private:
  static std::size_t index(rank_t rank) noexcept { return static_cast<std::size_t>(rank); }
  [[nodiscard]] std::uint32_t clock() const noexcept { return known_[index(self_)]; }
  [[nodiscard]] std::span<std::uint32_t> mine() noexcept { return std::span(known_).first(memory_->ranks()); }

  void release(shared_clock to) {
    join(to, mine());
    ++known_[index(self_)];
  }
  void acquire(word_history const& of, word_history::told const& what) {
    hidden_from_sanitizer::tell_acquire(what.address());
    if (!is_holder()) hidden_from_sanitizer::tell_acquire(of.address_of_holders());
    if (is_at_element() && Rules::elements()) return;
    join(mine(), what.of_all());
    if (!is_holder()) join(mine(), what.of_holders());
  }

  [[nodiscard]] bool is_holder() const noexcept {
    return Rules::holders() && scope_ == order_scope::shared_holder;
  }
  static constexpr recorded as_plain(recorded kind) noexcept {
    if (kind == recorded::atomic_load) return recorded::load;
    return kind == recorded::atomic_change || kind == recorded::accumulate ? recorded::store : kind;
  }

  [[nodiscard]] bool is_before(record r, accessed_part const& at) const {
    if (!Rules::completion()) return r.rank() == self_ || known_[index(r.rank())] >= r.clock();
    if (r.rank() == self_) return at.ends->has_ended(r, at.owner_in_job);
    std::uint32_t const known = known_[index(r.rank())];
    return known >= r.clock() && known >= at.ends->end_of(r, at.owner_in_job);
  }

  void judge(open_buffers::verdict const& v, recorded kind, std::uint32_t where) {
    if (Rules::buffers() && v.what != open_buffers::fault::none) [[unlikely]]
      complain(v, kind, where);
  }
  [[noreturn, gnu::cold, gnu::noinline]] void complain(open_buffers::verdict const& v, recorded kind,
                                                       std::uint32_t where) {
    find_lines(where, v.where);
    std::string const me = "rank " + std::to_string(self_);
    bool const is_put = v.of == access_kind::put;
    std::string const transfer = std::string(is_put ? "put to" : "get from") + " rank " +
                                 std::to_string(v.target) + " at " + line_of(v.where);
    std::string const mine = "the " + std::string(name_of(kind)) + " of " + me + " at " + line_of(where);
    std::string text;
    switch (v.what) {
      case open_buffers::fault::read_early:
        text = mine + " reads the destination of the " + transfer + ", which is not complete";
        break;
      case open_buffers::fault::written_early:
        text = mine + " writes the " + (is_put ? "source" : "destination") + " of the " + transfer +
               ", which is not complete";
        break;
      case open_buffers::fault::source_stored:
        text =
            me + " has changed the source of its " + transfer + ", or freed it, before the put was complete";
        break;
      case open_buffers::fault::target_stored:
        text = me + " has stored to the destination of its " + transfer +
               ", or freed it, before the get was complete";
        break;
      case open_buffers::fault::poison_copied:
        text = mine + " takes a value from the destination of the " + transfer + ", which is not complete";
        break;
      case open_buffers::fault::unmapped:
        text = me + " has freed the " + (is_put ? "source" : "destination") + " of its " + transfer +
               " before the transfer was complete";
        break;
      case open_buffers::fault::none:
        break;
    }
    fail(text + "; wait for its request, or call flush_local for rank " + std::to_string(v.target) +
         ", before");
  }
  [[noreturn]] void fail(std::string const& text, errc code = errc::race) const {
    job_.mark_failed(self_, text, code);
    throw error(code, self_, text);
  }

  [[noreturn, gnu::cold, gnu::noinline]] void complain(record x, record other, accessed_part const& at,
                                                       std::uint64_t byte) {
    find_lines(x.place(), other.place());
    std::string const me = "rank " + std::to_string(self_);
    std::string const they = "rank " + std::to_string(other.rank());
    std::string const owner = "rank " + std::to_string(at.owner);
    std::string text = "the " + std::string(name_of(x.kind())) + " of " + me + " at " + line_of(x.place());
    text += " is unordered with the " + std::string(name_of(other.kind())) + " of " +
            (other.rank() == self_ ? "the same rank" : they) + " at " + line_of(other.place()) +
            ": both access ";
    text += at.element_bytes != 0 ? "element " + std::to_string(byte / at.element_bytes)
                                  : "byte " + std::to_string(byte);
    text += " of " + owner + "'s part of " + std::string(at.window) + "; " + advice(x, other, at);
    fail(text);
  }
  [[nodiscard]] std::string advice(record x, record other, accessed_part const& at) const {
    std::string const owner = "rank " + std::to_string(at.owner);
    if (other.rank() == self_) return "flush " + owner + " between the two";
    if (known_[index(other.rank())] >= other.clock()) {
      return "rank " + std::to_string(other.rank()) + " has sent a signal, but it must " +
             (other.is_pending() ? "flush " + owner : "end its epoch, or call sync,") + " before";
    }
    if (x.is_atomic() != other.is_atomic()) {
      return "make both atomic operations, or end the epoch of the first, or flush and send a signal, before "
             "the second";
    }
    return "end the epoch of the first, or flush and send a signal, before the second";
  }
  /// Looks up the lines of two places at once, for line_of.
  void find_lines(std::uint32_t a, std::uint32_t b) const {
    find_lines_of_calls(memory_->place_of(a).calls, memory_->place_of(b).calls);
  }
  [[nodiscard]] std::string line_of(std::uint32_t place) const {
    return place == 0 ? "an unknown place" : line_of_calls(memory_->place_of(place).calls);
  }

  std::shared_ptr<memory> memory_;
  job job_;
  rank_t self_;
  places places_;
  shadow shadow_;
  vector_clock known_{};
  vector_clock of_collectives_{};  ///< acquired inside collectives, and not promised to the program
  std::uint64_t last_access_ = 0;  ///< to a control word, among those of all ranks
  order_scope scope_ = order_scope::all;
  open_buffers buffers_;
  delays delays_;
};

}  // namespace PGAS_NAMESPACE::detail::checking
