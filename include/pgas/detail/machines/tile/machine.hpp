// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <pgas/concepts/control.hpp>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/machines/bootstrap.hpp>
#include <pgas/detail/machines/control.hpp>
#include <pgas/detail/machines/scheduler.hpp>
#include <pgas/detail/machines/tile/queue.hpp>
#include <pgas/detail/machines/turn_order.hpp>
#include <pgas/detail/types/scoped_value.hpp>
#include <pgas/machines/tile/options.hpp>
#include <span>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail::tile_machine {

using emulation::waiters;

/// The parts of one window: plain memory that all cores share.
struct home_parts {
  struct alignas(part_alignment) line {
    std::byte bytes[part_alignment];
  };

  explicit home_parts(std::span<std::size_t const> wanted) : sizes(wanted.begin(), wanted.end()) {
    for (std::size_t const size : sizes) memory.emplace_back(size / sizeof(line) + 1);
  }

  [[nodiscard]] rank_t size() const noexcept { return static_cast<rank_t>(sizes.size()); }
  [[nodiscard]] std::size_t bytes_of(rank_t rank) const noexcept {
    return sizes[static_cast<std::size_t>(rank)];
  }

  std::vector<std::size_t> sizes;
  std::vector<std::vector<line>> memory;
};

using home_words = emulation::home_words<emulation::shared_word>;

/// The letters of one mailbox, for each receiver and sender.
struct home_letters {
  using letters = std::deque<std::vector<std::byte>>;
  static constexpr std::size_t room = 16;  ///< of a sender at each receiver

  explicit home_letters(rank_t ranks)
      : size(static_cast<std::size_t>(ranks)), all(size * size), room_is_wanted(size * size) {}

  [[nodiscard]] std::size_t number(rank_t to, rank_t from) const noexcept {
    return static_cast<std::size_t>(to) * size + static_cast<std::size_t>(from);
  }

  std::size_t size;
  std::vector<letters> all;
  std::vector<char> room_is_wanted;  ///< whether the sender has found no room
};

using emulation::bit;
using pgas::tile_machine::counters;
using pgas::tile_machine::options;

using scheduler = emulation::scheduler<options>;

/// The handlers of one rank of a channel.
struct port {
  using handler = std::shared_ptr<message_handler const>;

  std::array<queue, home_queues::queues>* queues = nullptr;
  std::array<handler, home_queues::queues> handlers;
  int holds = 0;
};

/// The machine of one launch: its cores, its network, and the order of their steps.
///
/// With a clock, a message arrives a fixed time after its send, so messages enter a queue in the order of
/// their sends. Without one, a message travels, and a step of the network lets it arrive: any order of steps
/// that keeps the messages of a sender to a queue in order is a run.
class machine {
 public:
  machine(job const& j, options const& how)
      : job_(j), turns_(j, how, how.is_timed() ? nullptr : std::function<void()>([this] { carry(); })) {
    cores_.resize(static_cast<std::size_t>(j.size()));
  }

  [[nodiscard]] job const& of_job() const noexcept { return job_; }
  [[nodiscard]] scheduler& turns() noexcept { return turns_; }
  [[nodiscard]] options const& how() const noexcept { return turns_.how(); }
  [[nodiscard]] counters& count(rank_t rank) noexcept { return at(rank).count; }
  /// The time of a core; 0 without a clock.
  [[nodiscard]] ticks now(rank_t rank) noexcept { return turns_.is_timed() ? turns_.time().now(rank) : 0; }
  [[nodiscard]] bool handles(rank_t rank) noexcept { return at(rank).handles; }

  // For the bootstrap

  [[nodiscard]] emulation::meeting_place& meeting() noexcept { return meeting_; }
  static void all_met() noexcept {}
  /// Called by a waiting core. Returns whether it called a service: then the core must check its condition
  /// again.
  bool serve(rank_t self) {
    core& c = at(self);
    if (!c.is_called || c.serves || c.services.empty()) return false;
    scoped_value const serving(c.serves, true);
    while (std::exchange(c.is_called, false)) {
      for (std::size_t i = 0; i < c.services.size(); ++i) c.services[i]->run();
    }
    return true;
  }

  void begin_service(rank_t self, emulation::service<machine>& one) { at(self).services.push_back(&one); }
  void end_service(rank_t self, emulation::service<machine>& one) noexcept {
    std::erase(at(self).services, &one);
  }
  /// Makes a core call its services in a wait.
  void call_services(rank_t whom) {
    at(whom).is_called = true;
    tell(whom, now(turns_.current()));
  }

  // Steps of the running core

  /// Begins an instruction: other cores may go first, and a pending interrupt is taken.
  void begin(rank_t self) {
    if (!turns_.is_timed()) turns_.point();
    if (how().by == pgas::tile_machine::delivery::interrupts) take(self, true);
  }
  /// The same for an instruction that takes no time, and gives up the turn.
  void look(rank_t self) {
    begin(self);
    turns_.point();
  }
  /// Takes time. Returns when no other core has an earlier event.
  void spend(rank_t self, ticks time) {
    if (!turns_.is_timed()) return;
    turns_.time().spend(self, time);
    turns_.until(turns_.time().now(self));
  }
  /// Accesses a control word.
  void access(rank_t self) {
    begin(self);
    if (how().clock != nullptr) spend(self, how().clock->word);
  }
  /// Computes. Interrupts strike meanwhile, and their time is added.
  void compute(rank_t self, ticks left) {
    begin(self);
    at(self).count.charged += left;
    if (!turns_.is_timed()) return;
    bool const strikes = how().by == pgas::tile_machine::delivery::interrupts;
    while (left != 0) {
      ticks const now = turns_.time().now(self);
      doze(self, std::min(now + left, strikes ? next_interrupt(self) : never));
      left -= turns_.time().now(self) - now;
      if (strikes) take(self, true);
    }
  }
  /// Lets the running core wait until is_over(), which may become true when another core stores to a word, at
  /// the time next(), or by a handler. Messages to handlers are handled meanwhile. Throws like
  /// control::wait_until.
  template <std::predicate IsOver, std::invocable Next>
  void wait(rank_t self, std::span<waiters* const> watched, IsOver&& is_over, Next&& next,
            waiting_for const& why, std::string_view label, team_ranks const& ranks) {
    for (;;) {
      take(self, how().by == pgas::tile_machine::delivery::interrupts);
      serve(self);
      if (is_over()) return;
      if (job_.failed()) job_.as(self).check(why.operation);
      if (ticks const event = std::min<ticks>(next(), next_interrupt(self));
          event != never && turns_.is_timed()) {
        doze(self, event);
      } else {
        bool over = false;  // is_over() may do something, so it is called once per poll
        auto const goes_on = [&] {
          core const& c = at(self);
          return (over = over || is_over()) || next() != never || next_interrupt(self) != never ||
                 (c.is_called && !c.serves && !c.services.empty());
        };
        turns_.wait(watched, goes_on, why, label, ranks);
        if (over) return;
      }
    }
  }
  template <std::predicate IsOver>
  void wait(rank_t self, std::span<waiters* const> watched, IsOver&& is_over, waiting_for const& why,
            std::string_view label, team_ranks const& ranks) {
    wait(
        self, watched, is_over, [] { return never; }, why, label, ranks);
  }
  /// Passes the messages that have arrived to their handlers. Returns their number.
  std::size_t take(rank_t self, bool by_interrupt) {
    std::size_t taken = 0;
    core& c = at(self);
    while (next_interrupt(self) <= now(self)) {
      auto const [p, number] = first_interrupt(self);
      packet const message = read(self, (*p->queues)[number], by_interrupt ? interrupt() : 0);
      ++(by_interrupt ? c.count.interrupts : c.count.polled);
      ++taken;
      auto const handler = p->handlers[number];  // the handler may replace itself
      if (handler == nullptr) continue;
      scoped_value const handling(c.handles, true);
      turns_.interrupt([&] { (*handler)(message.from, message.words); });
    }
    return taken;
  }

  // Messages

  /// The running core sends a letter, and waits for room.
  void send(rank_t self, letter l, waiting_for const& why, std::string_view label, team_ranks const& ranks) {
    queue& q = l.home->destination(l);
    core& c = at(self);
    ++c.count.sent;
    if (q.has_room(l.what.words.size(), how().queue_words)) return start(std::move(l));
    ++c.count.blocked;
    bool is_sent = false;
    q.blocked.push_back({self, std::move(l), &is_sent});
    struct waiting {
      queue& of;
      bool const& is_over;
      ~waiting() {
        if (!is_over)
          std::erase_if(of.blocked, [this](blocked_send const& b) { return b.is_sent == &is_over; });
      }
    } const ends{q, is_sent};
    wait(
        self, {}, [&] { return is_sent; }, why, label, ranks);
  }
  /// The running core reads the first message of a queue of its own. Senders that wait for room send then.
  packet read(rank_t self, queue& q, ticks extra) {
    packet message = std::move(q.arrived.front());
    q.arrived.pop_front();
    if (turns_.is_timed()) spend(self, extra + how().clock->receive(message.words.size()));
    q.occupied -= message.words.size();
    let_in(q);
    return message;
  }

  void attach(rank_t self, port& p) { at(self).ports.push_back(&p); }
  void detach(rank_t self, port& p) noexcept { std::erase(at(self).ports, &p); }

 private:
  struct core {
    std::vector<port*> ports;
    bool handles = false;    ///< a message
    bool dozes = false;      ///< until the time of its next event
    bool is_called = false;  ///< its services have something to do
    bool serves = false;
    std::vector<emulation::service<machine>*> services;
    counters count;
  };

  [[nodiscard]] core& at(rank_t rank) noexcept { return cores_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] ticks interrupt() const noexcept {
    return how().clock != nullptr ? how().clock->interrupt : 0;
  }

  /// The running core has nothing to do before `until`, unless another core notifies it of something earlier.
  void doze(rank_t self, ticks until) {
    auto& time = turns_.time();
    if (until > time.now(self)) {
      scoped_value const dozing(at(self).dozes, true);
      turns_.until(until);
    }
    time.set(self, std::max(time.now(self), time.due(self)));
  }
  /// Notifies a core of an event at `when`.
  void tell(rank_t whom, ticks when) noexcept {
    turns_.wake(bit(whom));
    if (at(whom).dozes) turns_.time().bring_forward(whom, when);
  }

  /// The port and the queue of the first message that the core may pass to a handler.
  [[nodiscard]] std::pair<port*, std::size_t> first_interrupt(rank_t self) noexcept {
    std::pair<port*, std::size_t> first{nullptr, 0};
    ticks best = never;
    if (at(self).handles) return first;
    for (port* p : at(self).ports) {
      for (std::size_t i = 0; i < p->queues->size() && p->holds == 0; ++i) {
        ticks const when = p->handlers[i] != nullptr ? (*p->queues)[i].next_arrival() : never;
        if (when < best) {
          best = when;
          first = {p, i};
        }
      }
    }
    return first;
  }
  [[nodiscard]] ticks next_interrupt(rank_t self) noexcept {
    auto const [p, number] = first_interrupt(self);
    return p == nullptr ? never : (*p->queues)[number].next_arrival();
  }

  /// A letter is sent at the present of the running core, and occupies the queue from then on.
  void start(letter l) {
    queue& q = l.home->destination(l);
    q.occupied += l.what.words.size();
    if (!turns_.is_timed()) {
      under_way_.push_back(std::move(l));
      turns_.set_agent(true);
      return;
    }
    l.what.arrives = now(turns_.current()) + how().clock->wire;
    arrive(std::move(l));
  }
  void arrive(letter l) {
    ticks const when = l.what.arrives;
    l.home->destination(l).arrived.push_back(std::move(l.what));
    tell(l.home->core_of(l.to), when);
  }
  /// Sends the messages that waited for the room that a queue has again.
  void let_in(queue& q) {
    while (!q.blocked.empty() && q.occupied + q.blocked.front().what.what.words.size() <= how().queue_words) {
      blocked_send first = std::move(q.blocked.front());
      q.blocked.pop_front();
      *first.is_sent = true;
      start(std::move(first.what));
      tell(first.core, now(turns_.current()));
    }
  }

  /// A step of the network: one letter arrives, the first of any sender to any queue.
  void carry() {
    std::vector<std::size_t> firsts;
    for (std::size_t i = 0; i < under_way_.size(); ++i) {
      bool const is_behind = std::any_of(firsts.begin(), firsts.end(), [&](std::size_t first) {
        return under_way_[first].has_way_of(under_way_[i]);
      });
      if (!is_behind) firsts.push_back(i);
    }
    auto const which = under_way_.begin() + static_cast<std::ptrdiff_t>(firsts[turns_.pick(firsts.size())]);
    letter one = std::move(*which);
    under_way_.erase(which);
    turns_.set_agent(!under_way_.empty());
    arrive(std::move(one));
  }

  job job_;
  scheduler turns_;
  std::vector<core> cores_;
  std::vector<letter> under_way_;  ///< without a clock, in the order of their sends
  emulation::meeting_place meeting_;

 public:
  emulation::registry<home_parts> parts;
  emulation::registry<home_words> words;
  emulation::registry<home_queues> queues;
  emulation::registry<home_letters> mailboxes;
};

using rank_bootstrap = emulation::rank_bootstrap<machine>;
static_assert(bootstrap<rank_bootstrap>);

}  // namespace PGAS_NAMESPACE::detail::tile_machine
