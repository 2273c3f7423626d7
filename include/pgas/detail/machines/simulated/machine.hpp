// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <pgas/detail/machines/simulated/homes.hpp>
#include <pgas/detail/machines/simulated/message_times.hpp>
#include <pgas/detail/machines/simulated/rank_state.hpp>
#include <vector>

namespace PGAS_NAMESPACE::detail::simulated {

/// All ranks with their memory and the network between them: every operation of a rank goes through it.
///
/// A store to a word, a put and a get are messages: the rank goes on, and the arrival is an event of its own.
/// A load and a read-modify-write suspend the rank until they take place. Payload is copied when the
/// operation starts, which the contract allows; its time passes as the network says, and a flush waits for
/// that. A rank's stores take place in its order, wherever they go: what a release store promises.
class machine {
 public:
  machine(rank_t ranks, pgas::simulated::options const& how)
      : turns_(ranks, how),
        wires_(ranks, how.network),
        lead_(in_ticks(std::clamp(how.lead, 0.0, interface::longest_lead))),
        ranks_(static_cast<std::size_t>(ranks)) {}

  [[nodiscard]] scheduler& turns() noexcept { return turns_; }
  [[nodiscard]] message_times const& net() const noexcept { return wires_; }
  [[nodiscard]] rank_state& of(rank_t r) noexcept { return ranks_[static_cast<std::size_t>(r)]; }
  [[nodiscard]] pgas::simulated::counters& count(rank_t r) noexcept { return of(r).count; }

  void begin_service(rank_t self, service& one) { of(self).begin_service(one); }
  void end_service(rank_t self, service& one) noexcept { of(self).end_service(one); }

  emulation::registry<home_parts> parts;
  emulation::registry<home_words> words;
  emulation::registry<home_boxes> mailboxes;

  void run(function_ref<void(rank_t)> main) {
    auto const step = [this](event const& e) { take(e); };
    turns_.run(main, step);
  }

  /// The counts of all ranks together.
  [[nodiscard]] pgas::simulated::totals totals() const {
    pgas::simulated::totals all;
    all.ranks = ranks_.size();
    all.microseconds = static_cast<double>(turns_.last()) / 1e6;
    all.events = turns_.events();
    all.switches = turns_.switches();
    all.stack = turns_.touched();
    for (rank_state const& r : ranks_) {
      for (std::size_t d = 0; d < all.to.size(); ++d) all.to[d] += r.count.to[d];
      all.busiest = std::max(all.busiest, r.count.received);
      all.most.payload = std::max(all.most.payload, r.count.most.payload);
      all.most.control = std::max(all.most.control, r.count.most.control);
    }
    return all;
  }
  [[nodiscard]] std::vector<pgas::simulated::counters> counters() const {
    std::vector<pgas::simulated::counters> all;
    all.reserve(ranks_.size());
    for (rank_state const& r : ranks_) all.push_back(r.count);
    return all;
  }

  // The running rank is `self`; numbers of ranks are those of the job.

  /// Reads a word. A relaxed load does not wait for its turn: what it may see does not depend on the order of
  /// events, since another operation orders it, or nothing does. Collectives consist of such loads.
  word load(rank_t self, rank_t owner, word const* at, std::memory_order asked) {
    auto const d = wires_.between(self, owner);
    auto const& l = wires_.at(d);
    ticks& clock = turns_.clock(self);
    auto& mine = of(self);
    auto& count = mine.count.at(d);
    ++count.loads;
    count.bytes += sizeof(word);
    if (asked == std::memory_order_relaxed && mine.stores_in_flight == 0) {
      bound_lead(self);
      if (d == distance::self) {
        clock += l.overhead;
        return *at;
      }
      ++of(owner).count.received;
      ticks const begin = wires_.leave(self, clock, d, 0);
      clock = wires_.arrive(owner, d, begin, 0, true) + l.read + l.latency;
      return *at;
    }
    if (d == distance::self) {
      // A sequentially consistent load comes after the rank's stores; any load of another rank's word does.
      if (asked == std::memory_order_seq_cst) order(self);
      turns_.until(clock += l.overhead);
      return *at;
    }
    ++of(owner).count.received;
    ticks const begin = std::max(wires_.leave(self, clock, d, 0), mine.stores_arrive);
    turns_.until(begin);
    ticks const taken = std::max(wires_.arrive(owner, d, begin, 0), mine.stores_served);
    if (taken > begin) turns_.until(taken);
    word const seen = *at;
    clock = taken + l.read + l.latency;
    return seen;
  }

  /// The rank's stores take place in its order, a release store after all others, wherever they go.
  void store(rank_t self, rank_t owner, word* at, word value, bool releases) {
    auto const d = wires_.between(self, owner);
    auto const& l = wires_.at(d);
    ticks& clock = turns_.clock(self);
    auto& mine = of(self);
    ++mine.count.at(d).stores;
    mine.count.at(d).bytes += sizeof(word);
    if (d == distance::self) {
      clock += l.overhead;
      if (releases) {
        order(self);
        turns_.until(clock);
      }
      *at = value;
      changed(owner, at, std::max(clock, turns_.present()));
      return;
    }
    ++of(owner).count.received;
    mine.stores_arrive = std::max(wires_.leave(self, clock, d, 0), mine.stores_arrive);
    ++mine.stores_in_flight;
    post({message::kind::store, d, self, owner, at, value}, mine.stores_arrive);
    if (mine.stores_in_flight + mine.moves.in_flight() > most_in_flight) turns_.until(clock);
  }

  /// Adds to a word, or flips bits of it, without a result: a store that takes place as a read-modify-write.
  void change(rank_t self, rank_t owner, word* at, word value, message::kind what) {
    auto const d = wires_.between(self, owner);
    if (d == distance::self) {
      return modify(self, owner, at, [&] {
        message::change(what, *at, value);
        return value != 0;
      });
    }
    ticks& clock = turns_.clock(self);
    auto& mine = of(self);
    ++mine.count.at(d).atomics;
    mine.count.at(d).bytes += sizeof(word);
    ++of(owner).count.received;
    mine.stores_arrive = std::max(wires_.leave(self, clock, d, 0), mine.stores_arrive);
    ++mine.stores_in_flight;
    post({what, d, self, owner, at, value}, mine.stores_arrive);
    if (mine.stores_in_flight + mine.moves.in_flight() > most_in_flight) turns_.until(clock);
  }

  /// Calls change() when the read-modify-write takes place; it returns whether the word at `at` has changed.
  template <class Change>
  void modify(rank_t self, rank_t owner, word const* at, Change&& change) {
    auto const d = wires_.between(self, owner);
    auto const& l = wires_.at(d);
    ticks& clock = turns_.clock(self);
    auto& mine = of(self);
    ++mine.count.at(d).atomics;
    mine.count.at(d).bytes += sizeof(word);
    if (d != distance::self) ++of(owner).count.received;
    ticks const begin = std::max(wires_.leave(self, clock, d, 0), mine.stores_arrive);
    turns_.until(begin);
    ticks const taken =
        wires_.modify(owner, l, std::max(wires_.arrive(owner, d, begin, 0), mine.stores_served));
    if (taken > begin) turns_.until(taken);
    if (change()) changed(owner, at, taken);
    clock = taken + l.atomic + l.latency;
  }

  /// Waits for one of these words; returns its place and value.
  void await(wait& w) {
    for (;;) {
      of(w.self).serve();
      bound_lead(w.self);
      for (watch& each : w.watches) {
        if (!w.predicate(*each.at)) continue;
        w.seen = *each.at;
        w.found = static_cast<std::size_t>(&each - w.watches.data());
        return pay_for_look(w.self, each.owner);
      }
      if (of(w.self).has_mail()) continue;  // a predicate that sends may have let other ranks run
      w.is_over = w.is_for_mail = false;
      w.looks_itself = of(w.self).has_services();
      turns_.await(w);
      if (!w.is_for_mail) return;
    }
  }

  void put(rank_t self, rank_t target, std::size_t bytes) { move(self, target, bytes, false); }
  void get(rank_t self, rank_t target, std::size_t bytes) { move(self, target, bytes, true); }

  /// Returns when the transfers to `target`, or to all, are complete.
  void flush(rank_t self, rank_t target, bool gets_only) {
    auto& mine = of(self);
    ticks& clock = turns_.clock(self);
    if (!mine.moves.has_arrived(target, gets_only)) {
      mine.flushes = target;
      mine.flushes_gets_only = gets_only;
      mine.is_flushing = true;
      turns_.suspend();
    }
    clock = std::max(clock + wires_.look(), mine.moves.complete_at(target, gets_only));
    mine.moves.forget(clock);
    turns_.until(clock);
  }
  /// True if the transfers to `target` are complete. Takes the time of a poll, so a loop over it ends.
  [[nodiscard]] bool is_complete(rank_t self, rank_t target, bool gets_only) {
    auto& moves = of(self).moves;
    look(self);
    return moves.has_arrived(target, gets_only) && moves.complete_at(target, gets_only) <= turns_.clock(self);
  }
  /// Returns when all stores of the rank have taken place.
  void drain(rank_t self) {
    order(self);
    turns_.until(turns_.clock(self));
  }
  /// Takes the time of a poll, and lets other ranks run.
  void look(rank_t self) {
    ticks& clock = turns_.clock(self);
    clock += std::max<ticks>(wires_.look(), least_look);
    turns_.until(clock);
  }
  void pause(rank_t self, unsigned attempt) {
    auto& dice = of(self).dice;
    dice = (dice + static_cast<std::uint64_t>(self) + 1) * 6364136223846793005U;
    ticks const longest = wires_.round_trip() << std::min(attempt, longest_pause);
    ticks& clock = turns_.clock(self);
    clock += least_look + (dice >> 32U) % (longest + 1);
    turns_.until(clock);
    of(self).serve();
  }

  /// Sends a letter, as a store, unless the receiver's box is full.
  [[nodiscard]] bool send(rank_t self, rank_t to, letter l) {
    auto& box = l.home->of(l.to);
    if (box.taken == home_boxes::room) {
      if (std::find(box.want_room.begin(), box.want_room.end(), self) == box.want_room.end())
        box.want_room.push_back(self);
      look(self);
      return false;
    }
    ++box.taken;
    auto const d = wires_.between(self, to);
    auto& mine = of(self);
    ++mine.count.at(d).stores;
    mine.count.at(d).bytes += l.size;
    if (d != distance::self) ++of(to).count.received;
    ticks& clock = turns_.clock(self);
    mine.stores_arrive = std::max(wires_.leave(self, clock, d, 0), mine.stores_arrive);
    ++mine.stores_in_flight;
    post({message::kind::store, d, self, to, nullptr, letters_.put(std::move(l))}, mine.stores_arrive);
    if (mine.stores_in_flight + mine.moves.in_flight() > most_in_flight) turns_.until(clock);
    return true;
  }
  /// A letter has been removed from the running rank's box: senders that want room are notified.
  void make_room(rank_t self, home_boxes::box& box) {
    --box.taken;
    for (rank_t const sender : std::exchange(box.want_room, {}))
      call_services(sender, turns_.clock(self) + wires_.at(wires_.between(self, sender)).latency);
  }
  /// A rank releases words of a team. Its last stores to words of other ranks may be under way: the words
  /// stay until they have arrived.
  void leave(rank_t self, std::shared_ptr<home_words> home) {
    if (of(self).stores_in_flight != 0) of(self).left.push_back(std::move(home));
  }

 private:
  static constexpr std::size_t most_in_flight = 64;
  static constexpr unsigned longest_pause = 6;
  static constexpr ticks least_look = 1000;  ///< so that a loop of tests takes time on every network

  /// Lets other ranks run if the running rank's clock is far ahead of the present, so that a loop over
  /// operations that do not wait for their turn ends.
  void bound_lead(rank_t self) {
    if (turns_.clock(self) > turns_.present() + lead_) turns_.until(turns_.clock(self));
  }
  void call_services(rank_t r, ticks at) {
    of(r).notice_mail();
    if (of(r).has_services()) turns_.interrupt(r, at);
  }
  /// The clock passes the times of the rank's stores.
  void order(rank_t self) {
    auto& mine = of(self);
    if (mine.stores_in_flight != 0) turns_.until(mine.stores_arrive);
    ticks& clock = turns_.clock(self);
    clock = std::max({clock, mine.stores_served, turns_.present()});
  }
  void changed(rank_t owner, word const* at, ticks when) {
    turns_.changed(owner, at, [&](rank_t waiter) { return seen_at(waiter, owner, when); });
    if (of(owner).works()) call_services(owner, when);
  }
  /// The time at which a waiting rank has learned of a change: its poll of another rank's word arrives when
  /// the word changes, at the earliest, and passes the interface of that node like any other message.
  ticks seen_at(rank_t waiter, rank_t owner, ticks when) {
    auto const d = wires_.between(waiter, owner);
    auto const& l = wires_.at(d);
    ++of(waiter).count.at(d).loads;
    of(waiter).count.at(d).bytes += sizeof(word);
    if (d == distance::self) return when + l.overhead;
    ++of(owner).count.received;
    return wires_.arrive(owner, d, when, 0) + l.read + l.latency;
  }
  void pay_for_look(rank_t self, rank_t owner) {
    if (owner < 0) return;
    auto const d = wires_.between(self, owner);
    auto const& l = wires_.at(d);
    ticks& clock = turns_.clock(self);
    ++of(self).count.at(d).loads;
    of(self).count.at(d).bytes += sizeof(word);
    if (d == distance::self) {
      clock += l.overhead;
      return;
    }
    ++of(owner).count.received;
    clock = wires_.arrive(owner, d, wires_.leave(self, clock, d, 0), 0) + l.read + l.latency;
  }

  void move(rank_t self, rank_t target, std::size_t bytes, bool is_get) {
    auto const d = wires_.between(self, target);
    auto const& l = wires_.at(d);
    ticks& clock = turns_.clock(self);
    auto& mine = of(self);
    ++(is_get ? mine.count.at(d).gets : mine.count.at(d).puts);
    mine.count.at(d).bytes += bytes;
    if (mine.moves.targets() > most_in_flight) mine.moves.forget(clock);
    ticks const spans = is_get ? l.get(bytes) : l.put(bytes);
    if (wires_.is_near(d)) {
      if (d == distance::node) ++of(target).count.received;
      clock += l.overhead + spans + (is_get ? 2 * l.latency : 0);
      mine.moves.finished(target, is_get, clock + (is_get ? 0 : 2 * l.latency));
      return;
    }
    ++of(target).count.received;
    mine.moves.start(target, is_get);
    ticks const arrives = wires_.leave(self, clock, d, is_get ? 0 : spans);
    post({is_get ? message::kind::get : message::kind::put, d, self, target, nullptr, bytes}, arrives);
    if (mine.stores_in_flight + mine.moves.in_flight() > most_in_flight) {
      turns_.until(clock);
      mine.moves.forget(clock);
    }
  }

  void post(message const& m, ticks arrives) { turns_.plan(arrives, event::arrival, messages_.put(m)); }
  /// A message arrives at its target's node, or takes place after it has queued there.
  void take(event const& e) {
    message const m = messages_.at(e.which);
    auto& origin = of(m.origin);
    if (m.what == message::kind::put || m.what == message::kind::get) {
      messages_.take(e.which);
      auto const& l = wires_.at(m.d);
      bool const is_get = m.what == message::kind::get;
      ticks const spans = is_get ? l.get(m.value) : l.put(m.value);
      ticks const taken = wires_.arrive(m.target, m.d, e.at, spans);
      origin.moves.arrived(m.target, is_get, taken + spans + (is_get ? l.read : 0) + l.latency);
      if (!origin.is_flushing || !origin.moves.has_arrived(origin.flushes, origin.flushes_gets_only)) return;
      origin.is_flushing = false;
      turns_.plan_resume(m.origin, turns_.present());
      return;
    }
    if (e.what == event::arrival) {
      ticks taken = std::max(wires_.arrive(m.target, m.d, e.at, 0), origin.stores_served);
      if (m.what != message::kind::store) taken = wires_.modify(m.target, wires_.at(m.d), taken);
      origin.stores_served = taken;
      if (taken > e.at) return turns_.plan(taken, event::effect, e.which);
    }
    messages_.take(e.which);
    if (m.at == nullptr) {
      deliver(m.target, m.value, e.at);
    } else {
      message::change(m.what, *m.at, m.value);
      changed(m.target, m.at, e.at);
    }
    if (--origin.stores_in_flight == 0) origin.left.clear();
  }

  void deliver(rank_t to, std::uint64_t number, ticks when) {
    letter l = letters_.take(static_cast<std::uint32_t>(number));
    auto const home = std::exchange(l.home, nullptr);
    home->of(l.to).arrived.push_back(std::move(l));
    call_services(to, when);
  }

  scheduler turns_;
  message_times wires_;
  ticks lead_;
  std::vector<rank_state> ranks_;
  pool<message> messages_;
  pool<letter> letters_;
};

}  // namespace PGAS_NAMESPACE::detail::simulated
