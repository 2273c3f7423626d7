// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <bit>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <pgas/detail/checking/error_log.hpp>
#include <pgas/detail/checking/line_of_calls.hpp>
#include <pgas/detail/checking/open_buffers.hpp>
#include <pgas/detail/machines/bootstrap.hpp>
#include <pgas/detail/machines/control.hpp>
#include <pgas/detail/machines/scc/checker.hpp>
#include <pgas/detail/machines/scc/clock.hpp>
#include <pgas/detail/machines/scc/core.hpp>
#include <pgas/detail/machines/scc/interrupt_pin.hpp>
#include <pgas/detail/machines/scc/report.hpp>
#include <pgas/detail/machines/scc/rooted_order.hpp>
#include <pgas/detail/machines/scc/turns.hpp>
#include <string>
#include <vector>

namespace PGAS_NAMESPACE::detail::scc {

/// A core's test-and-set register. A read returns 1 if it was free, and takes it; any write frees it.
struct test_and_set {
  bool taken = false;
  waiters waiting = 0;
};

class chip;

/// The place of one part of a window.
struct part_place {
  rank_t owner = 0;          ///< the core that owns it
  std::uint64_t offset = 0;  ///< in the owner's memory
  std::uint64_t bytes = 0;
};

/// The parts of one window. The last rank that releases the window frees the memory.
class home_parts {
 public:
  home_parts(chip& c, std::vector<part_place> parts, std::uint64_t number) noexcept
      : chip_(&c), parts_(std::move(parts)), number_(number) {}
  home_parts(home_parts const&) = delete;
  home_parts& operator=(home_parts const&) = delete;
  ~home_parts();

  [[nodiscard]] std::vector<part_place> const& parts() const noexcept { return parts_; }
  [[nodiscard]] rank_t size() const noexcept { return static_cast<rank_t>(parts_.size()); }
  [[nodiscard]] std::uint64_t bytes_of(rank_t rank) const noexcept {
    return parts_[static_cast<std::size_t>(rank)].bytes;
  }
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

 private:
  chip* chip_;
  std::vector<part_place> parts_;
  std::uint64_t number_;
};

/// A control word, in its owner's memory; accesses pass all caches.
struct chip_word : emulation::shared_word {
  std::unique_ptr<word_history> history;  ///< if the oracle is on, since the first store
};

/// The control words of one team or window.
struct home_words : emulation::home_words<chip_word> {
  home_words(rank_t ranks, control_words w) : emulation::home_words<chip_word>(ranks, w), roots(ranks) {}

  call_records calls;  ///< of collectives, for the oracle
  root_clocks roots;   ///< for the oracle
};

/// The sections of one mailbox: the place of each sender's section in each receiver's buffer.
class home_sections;

/// The chip of one launch: its cores, their memory and registers, the order of their turns, and the oracle.
class chip {
 public:
  chip(job const& j, options const& how)
      : job_(j),
        turns_(j, how),
        memory_(j.size(), how.own_pages),
        buffers_(static_cast<std::size_t>(j.size())),
        registers_(static_cast<std::size_t>(j.size())),
        services_(static_cast<std::size_t>(j.size())) {
    if (how.clock != nullptr) clock_.emplace(*how.clock, turns_);
    if (how.check) {
      oracle_.emplace(j.size(), how.rules);
      errors_.resize(static_cast<std::size_t>(j.size()));
    }
    for (rank_t r = 0; r < j.size(); ++r) {
      auto& pin = pins_.emplace_back(r, turns_, time(), oracle());
      cores_.push_back(std::make_unique<core>(r, memory_, turns_, time(), pin));
    }
  }

  [[nodiscard]] job const& of_job() const noexcept { return job_; }
  [[nodiscard]] scheduler& turns() noexcept { return turns_; }
  [[nodiscard]] memory& dram() noexcept { return memory_; }
  [[nodiscard]] core& at(rank_t rank) noexcept { return *cores_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] interrupt_pin& pin_of(rank_t rank) noexcept { return pins_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] test_and_set& register_of(rank_t rank) noexcept {
    return registers_[static_cast<std::size_t>(rank)];
  }
  /// The increment registers of the system interface: two for each core that the chip can have.
  [[nodiscard]] std::array<std::int64_t, 2 * std::size_t{scheduler::most_cores}>& increments() noexcept {
    return increments_;
  }
  [[nodiscard]] clock* time() noexcept { return clock_ ? &*clock_ : nullptr; }
  /// The running core looks for interrupts, and gives up its turn.
  void look(rank_t self) {
    pin_of(self).look();
    turns_.point();
  }
  /// The running core accesses a station outside its caches. Returns when the access takes place.
  void reach(rank_t self, station where, asks what) {
    if (!clock_) return look(self);
    pin_of(self).look();
    clock_->access(self, where, what);
  }
  /// The station that holds a core's control words.
  [[nodiscard]] station words_of(rank_t owner) const noexcept {
    auto const& how = turns_.how();
    return how.words == pgas::scc::placement::central
               ? station::at(station::controller, how.central_controller % 4)
               : station::memory_of(owner);
  }
  /// The buffers of a core's unfinished puts and gets, for the oracle.
  [[nodiscard]] open_buffers& buffers_of(rank_t rank) noexcept {
    return buffers_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] checker* oracle() noexcept { return oracle_ ? &*oracle_ : nullptr; }
  /// The errors of the ranks; empty without the oracle.
  [[nodiscard]] error_log errors() noexcept { return error_log(errors_); }
  /// A core has begun a collective of a team, whose calls these are. Ends the job if calls differ.
  void compare_call(compared_calls const& all, placed_call const& mine) {
    auto const other = all.enter(mine);
    if (!other) return;
    auto const line_of = [&](std::uint32_t n) { return collective_places_.line_of(n); };
    end_with(errc::mismatch, mine.in_job, detail::report_of(mine, *other, line_of));
  }
  [[nodiscard]] scc::collective_places& collective_places() noexcept { return collective_places_; }

  [[nodiscard]] std::shared_ptr<home_parts> reserve_parts(std::vector<part_place> wanted) {
    std::size_t done = 0;
    try {
      for (; done < wanted.size(); ++done) {
        auto& p = wanted[done];
        if (p.bytes != 0) p.offset = memory_.reserve(p.owner, p.bytes);
      }
    } catch (...) {
      while (done-- > 0) {
        if (wanted[done].bytes != 0)
          memory_.release(wanted[done].owner, wanted[done].offset, wanted[done].bytes);
      }
      throw;
    }
    auto made = std::make_shared<home_parts>(*this, std::move(wanted), windows_++);
    for (rank_t r = 0; r < static_cast<rank_t>(made->parts().size()); ++r) {
      auto const& p = made->parts()[static_cast<std::size_t>(r)];
      if (p.bytes != 0) places_[address(p)] = {p, made->number(), r};
    }
    return made;
  }
  void release_parts(std::vector<part_place> const& all) {
    for (auto const& p : all) {
      if (p.bytes == 0) continue;
      places_.erase(address(p));
      if (oracle_) oracle_->forget(address(p), p.bytes);
      memory_.release(p.owner, p.offset, p.bytes);
    }
  }

  [[nodiscard]] emulation::meeting_place& meeting() noexcept { return meeting_; }
  /// All ranks have called the bootstrap's fence.
  void all_met() {
    if (oracle_) oracle_->all_met();
  }

  void begin_service(rank_t core, emulation::service<chip>& one) {
    services_[static_cast<std::size_t>(core)].push_back(&one);
  }
  void end_service(rank_t core, emulation::service<chip>& one) noexcept {
    std::erase(services_[static_cast<std::size_t>(core)], &one);
  }
  /// A service of a core that polls words itself: each store of another core to a word calls it.
  class work : public emulation::service<chip> {
   public:
    work(std::shared_ptr<chip> c, rank_t core, std::function<void()> run)
        : service(std::move(c), core, std::move(run)) {
      ++machine_->at_work_[static_cast<std::size_t>(core)];
      machine_->working_ |= bit(core);
      machine_->call_services(core);  // for what was stored before
    }
    ~work() {
      if (--machine_->at_work_[static_cast<std::size_t>(rank_)] == 0) machine_->working_ &= ~bit(rank_);
    }
  };
  /// A core has stored to a word: the others that work while they wait poll theirs.
  void stored(rank_t by) noexcept {
    waiters const others = working_ & ~bit(by);
    if (others == 0) return;
    called_ |= others;
    turns_.wake(others);
  }
  /// Makes a core call its services, at once if it waits.
  void call_services(rank_t core) noexcept {
    called_ |= bit(core);
    turns_.wake(bit(core));
  }
  /// Called by a waiting core. Returns whether it called a service: then the core must check its condition
  /// again, since other cores may have run meanwhile.
  bool serve(rank_t core) {
    auto const& all = services_[static_cast<std::size_t>(core)];
    if ((called_ & bit(core)) == 0 || (serving_ & bit(core)) != 0 || all.empty()) return false;
    auto const no_interrupts = pin_of(core).mask();  // a handler that waits could not be served
    struct serving {
      chip& of;
      waiters which;
      ~serving() { of.serving_ &= ~which; }
    } const ends{*this, bit(core)};
    // The services are no part of what waits.
    checker_scope const any_order(oracle(), core, order_scope::all);
    checker_scope const any_access(oracle(), core, access_kind::own);
    serving_ |= bit(core);
    while ((called_ & bit(core)) != 0) {
      called_ &= ~bit(core);
      for (std::size_t i = 0; i < all.size(); ++i) all[i]->run();
    }
    if (clock_) turns_.wake(bit(core));  // the time of this look is not that of the next
    return true;
  }

  /// Remembers the last wait of a rank, for a later report.
  void waited(rank_t rank, std::string_view operation) {
    if (oracle_) last_wait_[rank] = operation;
  }

  /// Reports name this window, and its elements instead of bytes.
  void describe_parts(home_parts const& of, std::string_view label, std::size_t element_bytes) {
    if (!oracle_) return;
    for (auto const& p : of.parts()) {
      if (p.bytes == 0) continue;
      auto& known = places_[address(p)];
      known.label = label;
      known.element_bytes = element_bytes;
    }
  }

  /// Ends the job with a report of the oracle's verdict, and throws it.
  [[noreturn]] void complain(checker::verdict const& v, rank_t self, system_address at, std::uint32_t where,
                             bool writes) {
    checker::access const now{self, where, oracle_->kind_of(self), !writes};
    system_address const byte = at / line_bytes * line_bytes + v.byte;
    bool const is_stale = v.what == checker::fault::stale;
    find_lines(where, v.last.where);
    end_with(is_stale ? errc::stale_copy : errc::race, self,
             report_of(v, now, describe(byte), line_of(where), line_of(v.last.where),
                       is_stale ? missing(v, self, byte) : std::string()));
  }
  /// The same for a verdict about a private buffer, at an operation or at its completion.
  [[noreturn]] void complain(open_buffers::verdict const& v, rank_t self, std::uint32_t where) {
    find_lines(where, v.where);
    end_with(errc::race, self, report_of(v, self, line_of(where), line_of(v.where)));
  }
  /// Ends the job with a report, and throws it.
  [[noreturn]] void end_with(errc code, rank_t self, std::string const& text) {
    job_.mark_failed(self, text, code);
    turns_.wake_all();
    throw error(code, self, text);
  }
  /// The program's line at a place that the oracle knows.
  [[nodiscard]] std::string line_of(std::uint32_t where) const {
    return line_of_calls(oracle_->known_places.at(where).calls);
  }
  /// Looks up the lines of two places at once, for line_of.
  void find_lines(std::uint32_t a, std::uint32_t b) const {
    find_lines_of_calls(oracle_->known_places.at(a).calls, oracle_->known_places.at(b).calls);
  }
  /// The element at an address, or the byte of a part that no window has described.
  [[nodiscard]] std::string describe(system_address at) const {
    auto it = places_.upper_bound(at);
    if (it == places_.begin()) return "memory of no window";
    --it;
    auto const& [where, window, rank, label, element_bytes] = it->second;
    std::string const of = " of rank " + std::to_string(rank) + "'s part of ";
    if (element_bytes == 0)
      return "byte " + std::to_string(at - it->first) + of + "memory " + std::to_string(window);
    return "element " + std::to_string((at - it->first) / element_bytes) + of + label;
  }

 private:
  struct known_place {
    part_place part;
    std::uint64_t window = 0;
    rank_t rank = 0;                ///< in the window's team
    std::string label{};            ///< of the window
    std::size_t element_bytes = 0;  ///< 0: unknown
  };

  [[nodiscard]] system_address address(part_place const& p) const noexcept {
    return std::uint64_t{memory_.first_page(p.owner)} * page_bytes + p.offset;
  }

  /// Returns the missing step that would have made the copies agree.
  [[nodiscard]] std::string missing(checker::verdict const& v, rank_t self, system_address at) {
    rank_t const writer = v.last.rank;
    std::string const who = "rank " + std::to_string(writer);
    if (*memory_.host(at) == v.expected) {
      auto const seen = last_wait_.find(self);
      return "rank " + std::to_string(self) + " did not drop its copy after it was signalled" +
             (seen == last_wait_.end() ? "" : ", last in " + seen->second);
    }
    core& theirs = *cores_[static_cast<std::size_t>(writer)];
    if (auto const where = theirs.physical(at)) {
      switch (theirs.look(*where, v.expected)) {
        case core::found::modified:
          return who + " never cleaned it before it signalled: it is still in its cache";
        case core::found::combined:
          return who +
                 " did not drain its stores before it signalled: it is still in its write-combining buffer";
        case core::found::copied:
        case core::found::nowhere:
          break;
      }
    }
    return "it is in no cache and not in memory: a drop without a clean lost it, or another rank's line went "
           "back "
           "whole "
           "over it";
  }

  job job_;
  scheduler turns_;
  std::optional<clock> clock_;
  memory memory_;
  std::optional<checker> oracle_;
  std::vector<error_log::entry> errors_;
  scc::collective_places collective_places_;
  std::vector<open_buffers> buffers_;  ///< of each core
  std::deque<interrupt_pin> pins_;
  std::vector<std::unique_ptr<core>> cores_;
  std::vector<test_and_set> registers_;
  std::array<std::int64_t, 2 * std::size_t{scheduler::most_cores}> increments_{};
  std::map<system_address, known_place> places_;
  std::map<rank_t, std::string> last_wait_;
  std::uint64_t windows_ = 0;
  emulation::meeting_place meeting_;
  std::vector<std::vector<emulation::service<chip>*>> services_;  ///< of each core
  waiters called_ = 0;                                            ///< cores that must call their services
  waiters working_ = 0;                                           ///< cores with services that look at words
  std::array<int, scheduler::most_cores> at_work_{};  ///< the number of these services of each core
  waiters serving_ = 0;                               ///< cores that do so now

 public:
  // Declared last, since its entries return their memory to the members above.
  emulation::registry<home_parts> parts;
  emulation::registry<home_words> words;
  emulation::registry<home_sections> mailboxes;
};

inline home_parts::~home_parts() { chip_->release_parts(parts_); }

using rank_bootstrap = emulation::rank_bootstrap<chip>;
static_assert(bootstrap<rank_bootstrap>);

}  // namespace PGAS_NAMESPACE::detail::scc
