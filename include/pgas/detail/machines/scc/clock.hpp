// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/detail/machines/scc/turns.hpp>
#include <pgas/machines/scc/mesh.hpp>

namespace PGAS_NAMESPACE::detail::scc {

/// The kind of an access that leaves a core.
enum class asks : std::uint8_t { read_word, read_line, write_word, write_line };

/// The chip's time. An access travels from the core to its station, waits until the station serves it, and
/// travels back. Each core has at most one access under way: after a write the core goes on, but its next
/// access waits.
///
/// Accesses take place when their stations serve them, in the order of those times, so no core sees the
/// future. Links are reserved ahead of time, stations are not.
class clock {
 public:
  clock(timing const& t, scheduler& turns) : timing_(t), turns_(&turns), mesh_(t) {
    for (auto const kind : {station::buffer, station::registers, station::controller, station::interface}) {
      for (auto const what : {asks::read_word, asks::read_line, asks::write_word, asks::write_line})
        costs_[kind][index(what)] = cost_of(kind, what);
    }
  }

  [[nodiscard]] timing const& how() const noexcept { return timing_; }
  [[nodiscard]] ticks word_in_l1() const noexcept { return word_; }
  void spend(rank_t self, ticks time) noexcept { turns_->time().spend(self, time); }

  /// Makes an access of the running core; returns when it takes place. The core goes on when the access is
  /// over, or at once after a write.
  void access(rank_t self, station where, asks what) {
    auto& time = turns_->time();
    auto& done = done_[static_cast<std::size_t>(self)];
    tile const here = tile_of(self);
    tile const there = where.where();
    auto const [far, near, holds] = costs_[where.what][index(what)];
    ticks const takes = here == there ? near : far;
    ticks const begin = std::max(time.now(self), done);
    auto const [asking, answering] = flits(what);

    ticks const out = mesh_.pass_cores(here, mesh::out_of_cores, begin, asking, time.past());
    ticks const arrival = mesh_.travel(here, there, out + takes / 2, asking, time.past());
    ticks const served = serve(self, where, arrival, holds);
    ticks const back = mesh_.travel(there, here, served + takes - takes / 2, answering, time.past());
    done = mesh_.pass_cores(here, mesh::into_cores, back, answering, time.past());
    time.set(self, is_write(what) ? begin : done);
  }

  /// Counts `times` further accesses, each like the core's last one.
  void count(rank_t self, station where, asks what, std::uint64_t times) noexcept {
    tile const here = tile_of(self);
    auto const [asking, answering] = flits(what);
    mesh_.count_link(here, mesh::out_of_cores, asking, times);
    mesh_.count(here, where.where(), asking, times);
    mesh_.count(where.where(), here, answering, times);
    mesh_.count_link(here, mesh::into_cores, answering, times);
    use& u = uses_[where.index()];
    u.requests += times;
    u.busy += times * costs_[where.what][index(what)].holds;
    u.queued += times * queued_[static_cast<std::size_t>(self)];
  }

  [[nodiscard]] pgas::scc::traffic report() const {
    pgas::scc::traffic all;
    auto const load_of = [&](auto const& s, std::string name) {
      return pgas::scc::load{std::move(name), s.requests, timing_.in_core_cycles(s.busy),
                             timing_.in_core_cycles(s.queued)};
    };
    auto const tile_name = [](tile t) {
      return '(' + std::to_string(column_of(t)) + ',' + std::to_string(row_of(t)) + ')';
    };
    constexpr std::array<char const*, mesh::directions> ways{" east",  " west", " north",
                                                             " south", " out",  " in"};
    for (tile t = 0; t < tiles; ++t) {
      for (unsigned d = 0; d < mesh::directions; ++d) {
        all.links.push_back(load_of(mesh_.look(t, static_cast<mesh::direction>(d)), tile_name(t) + ways[d]));
      }
      all.buffers.push_back(load_of(uses_[station::at(station::buffer, t).index()], tile_name(t)));
      all.registers.push_back(load_of(uses_[station::at(station::registers, t).index()], tile_name(t)));
    }
    for (unsigned c = 0; c < controllers; ++c) {
      all.controllers.push_back(
          load_of(uses_[station::at(station::controller, c).index()], "controller " + std::to_string(c)));
    }
    all.interface = load_of(uses_[station::at(station::interface, 0).index()], "system interface");
    for (rank_t r = 0; r < turns_->size(); ++r)
      all.clocks.push_back(timing_.in_core_cycles(turns_->time().now(r)));
    return all;
  }

 private:
  struct cost {
    ticks far = 0, near = 0;  ///< for another tile, for the core's own
    ticks holds = 0;
  };
  struct use {
    std::uint64_t requests = 0;
    ticks busy = 0, queued = 0;
  };
  struct gate {
    ticks free = 0;  ///< the first tick at which the station is free
    waiters waiting = 0;
    arbiter order;
  };
  [[nodiscard]] cost cost_of(station::kind kind, asks what) const noexcept {
    auto const& t = timing_;
    auto const in_ticks = [&](cycles const& far, cycles const& near, cycles const& holds) {
      return cost{t.in_ticks(far), t.in_ticks(near), t.in_ticks(holds)};
    };
    switch (kind) {
      case station::buffer:
        return is_write(what) ? in_ticks(t.buffer_write, t.own_buffer_write, t.buffer_holds)
                              : in_ticks(t.buffer_read, t.own_buffer_read, t.buffer_holds);
      case station::registers:
        return in_ticks(t.register_access, t.own_register_access, t.register_holds);
      case station::interface:
        return in_ticks(t.interface_access, t.interface_access, t.interface_holds);
      case station::controller:
        break;
    }
    auto const& dram = what == asks::write_line ? t.memory_line_write
                       : is_write(what)         ? t.memory_write
                                                : t.memory_read;
    return in_ticks(dram, dram, is_write(what) ? t.memory_write_holds : t.memory_read_holds);
  }
  struct packets {
    unsigned asking, answering;  ///< flits of the request, of the answer
  };

  static constexpr std::size_t index(asks what) noexcept { return static_cast<std::size_t>(what); }
  static constexpr bool is_write(asks what) noexcept {
    return what == asks::write_word || what == asks::write_line;
  }
  /// The flits of a request and its answer: one for the header, and one for each 16 bytes.
  static constexpr packets flits(asks what) noexcept {
    switch (what) {
      case asks::read_word:
        return {1, 2};
      case asks::read_line:
        return {1, 3};
      case asks::write_word:
        return {2, 1};
      case asks::write_line:
        return {3, 1};
    }
    return {1, 1};
  }

  /// Waits for a station from `arrival` on; returns the tick at which it serves. That tick is then the
  /// present. A controller serves in the order of arrivals, so there the present stays at the arrival: the
  /// accesses have the same order.
  ticks serve(rank_t self, station where, ticks arrival, ticks holds) {
    use& u = uses_[where.index()];
    gate& g = gates_[where.gate()];
    auto& time = turns_->time();
    turns_->until(arrival);
    ++u.requests;
    u.busy += holds;
    ticks served = std::max(arrival, g.free);
    if (where.what == station::controller || (g.waiting == 0 && g.free <= arrival)) {
      // A controller has a queue of its own: first come, first served.
      g.free = served + holds;
    } else {
      waiters const mine = waiters{1} << static_cast<unsigned>(self);
      auto& held = holds_[static_cast<std::size_t>(self)];
      held = holds;
      came_[static_cast<std::size_t>(self)] = arrival;
      g.waiting |= mine;
      while ((g.waiting & mine) != 0) {
        turns_->until(g.free);
        if ((g.waiting & mine) == 0) break;
        // The first core to find the station free chooses the winner. The other cores wait until it is free
        // again.
        rank_t const winner = g.order.choose(g.waiting, where.where(), came_);
        g.waiting &= ~(waiters{1} << static_cast<unsigned>(winner));
        served_[static_cast<std::size_t>(winner)] = g.free;
        time.set_due(winner, g.free);
        g.free += holds_[static_cast<std::size_t>(winner)];
        for (waiters left = g.waiting; left != 0; left &= left - 1)
          time.set_due(static_cast<rank_t>(std::countr_zero(left)), g.free);
      }
      served = served_[static_cast<std::size_t>(self)];
    }
    u.queued += queued_[static_cast<std::size_t>(self)] = served - arrival;
    return served;
  }

  timing timing_;
  ticks word_ = timing_.in_ticks(timing_.l1_word);
  scheduler* turns_;
  mesh mesh_;
  std::array<use, station::count> uses_;
  std::array<gate, station::count> gates_;
  std::array<std::array<cost, 4>, 4> costs_{};
  std::array<ticks, scheduler::most_cores> done_{};    ///< the end of each core's last access
  std::array<ticks, scheduler::most_cores> queued_{};  ///< how long each core's last access waited
  std::array<ticks, scheduler::most_cores> came_{}, holds_{}, served_{};  ///< of waiting accesses
};

}  // namespace PGAS_NAMESPACE::detail::scc
