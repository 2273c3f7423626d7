// SPDX-License-Identifier: BSL-1.0
// Barriers of the SCC's literature, as Christgau 2017, section 3.4.2, quotes them, beside the fences of this
// library.
#pragma once

#include <pgas/sync/central_counter.hpp>
#include <pgas/sync/dissemination.hpp>
#include <pgas/sync/master_slave.hpp>
#include <pgas/sync/shared_only.hpp>
#include <pgas/sync/tournament.hpp>

#include "rcce.hpp"

namespace papers::barrier {

inline constexpr rank_t master = 0;
inline constexpr std::uint32_t line = 32;

/// The size of RCCE's flags: a line each, which is the default build, or a bit each.
enum class rcce_flags { lines, bits };

/// RCCE after its sources (Intel 2010, RCCE_synch.c and RCCE_flags.c). put and get change the flags; they
/// drop all tagged lines and copy through private memory.
template <rcce_flags Flags>
class rcce {
 public:
  explicit rcce(machine& m) : m_(m) { m_.read(copy, line); }

  /// Each core turns a flag in its own buffer. The master reads all flags until they are equal, and then sets
  /// another flag in each buffer.
  void operator()() {
    ++phase_;
    get(m_.rank(), gather);
    put(m_.rank(), gather, phase_);
    if (m_.rank() != master) return wait(release, phase_);
    for (rank_t come = 1; come < m_.size();) {
      come = 1;
      for (rank_t r = 1; r < m_.size(); ++r) come += get(r, gather) == phase_ ? 1 : 0;
    }
    for (rank_t r = 1; r < m_.size(); ++r) set(r, release, phase_);
  }

 private:
  // The first line of each buffer is written to empty the write-combining buffer, and never read.
  static constexpr std::uint32_t dummy = 0, gather = line, release = 2 * line;
  static constexpr std::uint32_t copy = machine::scratch(0);
  static constexpr std::uint32_t bytes = Flags == rcce_flags::lines ? line : sizeof(std::uint32_t);

  /// A bit shares its byte with others, so its change needs a lock.
  void set(rank_t where, std::uint32_t flag, std::uint32_t value) {
    if constexpr (Flags == rcce_flags::lines) {
      put(where, flag, value);
    } else {
      auto const lock = m_.team().state()->backend.test_and_set(where);
      while (!lock.read()) {}
      get(where, flag);
      put(where, flag, value);
      lock.write();
    }
  }
  void wait(std::uint32_t flag, std::uint32_t value) {
    do m_.core().drop_tagged();
    while (m_.load(page_type::mpbt_wb, machine::buffer_of(m_.rank(), flag)) != value);
  }
  std::uint32_t get(rank_t where, std::uint32_t from) {
    m_.work(rcce_us);
    m_.core().drop_tagged();
    m_.copy(page_type::dcm, copy, page_type::mpbt_wb, machine::buffer_of(where, from), bytes);
    return m_.load(page_type::dcm, copy);
  }
  void put(rank_t where, std::uint32_t to, std::uint32_t value) {
    m_.work(rcce_us);
    m_.core().drop_tagged();
    m_.store(page_type::dcm, copy, value);
    m_.copy(page_type::mpbt_wt, machine::buffer_of(where, to), page_type::dcm, copy, bytes);
    // A whole line leaves the buffer by itself.
    if constexpr (Flags == rcce_flags::bits) {
      m_.store(page_type::mpbt_wt, machine::buffer_of(m_.rank(), dummy), 1);
    }
  }

  machine& m_;
  std::uint32_t phase_ = 0;
};

/// Pauses drawn from a range that doubles, in turns of an empty loop of a no-op and a LOOP. Both ends of the
/// range are those of iRCCE (RWTH Aachen), whose authors published the literature's numbers.
class back_off {
 public:
  explicit back_off(machine& m) : m_(m), state_(static_cast<std::uint32_t>(m.rank())) {}
  void operator()() {
    state_ = state_ * 1103515245U + 12345U;
    m_.cycles(turn * (shortest + (state_ >> 16U) % range_));
    range_ = std::min(2 * range_, longest);
  }
  void again() { range_ = shortest; }

 private:
  static constexpr std::uint64_t turn = 7, shortest = 8, longest = 256;
  machine& m_;
  std::uint32_t state_;
  std::uint64_t range_ = shortest;
};

/// A counter and a test-and-set register, both on the master's tile. The last core to come releases the
/// others.
template <bool BackOff>
class test_and_set {
 public:
  explicit test_and_set(machine& m)
      : m_(m), lock_(m.team().state()->backend.test_and_set(master)), pause_(m) {}
  void operator()() {
    ++phase_;
    wait([&] { return lock_.read(); });
    std::uint32_t const come = m_.load(page_type::ncm, counter) + 1;
    bool const last = come == static_cast<std::uint32_t>(m_.size()) * phase_;
    m_.store(page_type::ncm, counter, come);
    lock_.write();
    if (last) return m_.store(page_type::ncm, released, phase_);
    wait([&] { return m_.load(page_type::ncm, released) >= phase_; });
  }

 private:
  template <class Done>
  void wait(Done const& done) {
    for (pause_.again(); !done();) {
      if constexpr (BackOff) pause_();
    }
  }

  static constexpr std::uint32_t counter = machine::buffer_of(master, 0),
                                 released = machine::buffer_of(master, line);
  machine& m_;
  pgas::scc::test_and_set_register lock_;
  back_off pause_;
  std::uint32_t phase_ = 0;
};

/// Uncached flags in the master's buffer, two for each slave. The model is Bologna's OpenMP runtime for
/// embedded many-cores, whose authors built the literature's runtime for this chip. The master waits for each
/// slave's flag and resets it, one after the other, and then increments another flag for each. A slave reads
/// that flag before and after.
class master_and_slaves {
 public:
  explicit master_and_slaves(machine& m) : m_(m) {}
  void operator()() {
    if (m_.rank() != master) {
      std::uint32_t const before = look(m_.rank(), go);
      arrive();
      while (look(m_.rank(), go) == before) {}
      return;
    }
    gather();
    for (rank_t r = 1; r < m_.size(); ++r) set(r, go, look(r, go) + 1);
  }

  void arrive() const { set(m_.rank(), come, 1); }
  void gather() const {
    for (rank_t r = 1; r < m_.size(); ++r) {
      while (look(r, come) == 0) {}
      set(r, come, 0);
    }
  }

 private:
  enum flag : std::size_t { come, go };
  static std::uint32_t of(rank_t r, flag which) {
    return machine::buffer_of(master, (2 * static_cast<std::size_t>(r) + which) * line);
  }
  [[nodiscard]] std::uint32_t look(rank_t r, flag which) const {
    return m_.load(page_type::ncm, of(r, which));
  }
  void set(rank_t r, flag which, std::uint32_t value) const { m_.store(page_type::ncm, of(r, which), value); }

  machine& m_;
};

/// The same, but the slaves sleep until the master interrupts each, so none of them polls. The kernel lies
/// between a core's pin and its process.
class by_interrupts {
 public:
  explicit by_interrupts(machine& m)
      : flags_(m),
        pins_(pgas::scc::interrupts_of(m.team())),
        handler_(pins_.on_interrupt([this, &m] {
          m.cycles(kernel);
          ++released_;
        })),
        rank_(m.rank()),
        size_(m.size()) {}
  void operator()() {
    ++phase_;
    if (rank_ != master) {
      flags_.arrive();
      pins_.sleep_until([this] { return released_ == phase_; });
      return;
    }
    flags_.gather();
    for (rank_t r = 1; r < size_; ++r) pins_.raise(r);
  }

 private:
  static constexpr auto kernel = static_cast<std::uint64_t>(pgas::scc::formulas_533.kernel.core);
  master_and_slaves flags_;
  std::uint32_t phase_ = 0, released_ = 0;
  pgas::scc::interrupts pins_;
  pgas::scc::interrupts::handler handler_;
  rank_t rank_, size_;
};

/// The fence of a window that no rank writes.
template <class Fence>
class ours {
 public:
  explicit ours(machine& m)
      : window_(pgas::make_window<std::uint32_t>(
            m.team()
                .template with<pgas::coherence::write_through,
                               pgas::protocols<Fence, pgas::sync::match_vector, pgas::sync::shared_only>>(),
            1)),
        epoch_(window_) {}
  void operator()() { epoch_.next(); }

 private:
  using team_type =
      decltype(std::declval<chip_team&>()
                   .template with<
                       pgas::coherence::write_through,
                       pgas::protocols<Fence, pgas::sync::match_vector, pgas::sync::shared_only>>());
  decltype(pgas::make_window<std::uint32_t>(std::declval<team_type const&>(), 1)) window_;
  decltype(pgas::fence{window_}) epoch_;
};

struct measured {
  double us = 0;        // of the master
  double accesses = 0;  // accesses that left a core, in all
};
template <class Barrier>
measured repeat(rank_t cores, int repetitions) {
  measured result;
  on_chip(cores, default_timing(), [&](machine& m) {
    Barrier barrier(m);
    m.team().barrier();
    barrier();
    double const before = m.now();
    for (int i = 0; i < repetitions; ++i) barrier();
    if (m.rank() == master) result.us = m.now() - before;
    m.team().barrier();
  });
  for (auto const& link : backend::last_traffic().links) {
    if (link.name.ends_with(" out")) result.accesses += static_cast<double>(link.requests);
  }
  return result;
}

template <class Barrier>
void measure(teller const& tell, std::string_view series, effort how) {
  int const repetitions = times_of(how, 200, 20, 2);
  for (rank_t cores : {2, 4, 8, 16, 24, 32, 40, 48}) {
    if (how == effort::small && cores != 8) continue;
    measured const all = repeat<Barrier>(cores, repetitions);
    tell(series, cores, "barrier", all.us / repetitions);
    tell(series, cores, "accesses", (all.accesses - repeat<Barrier>(cores, 0).accesses) / repetitions,
         "accesses");
  }
}

inline void run(effort how) {
  teller const tell("barrier", default_timing());
  measure<rcce<rcce_flags::lines>>(tell, "rcce", how);
  measure<rcce<rcce_flags::bits>>(tell, "rcce, flags of a bit", how);
  measure<test_and_set<false>>(tell, "tsr", how);
  measure<test_and_set<true>>(tell, "tsr_back_off", how);
  measure<master_and_slaves>(tell, "master_slave", how);
  measure<by_interrupts>(tell, "master_slave, interrupts", how);
  measure<ours<pgas::sync::master_slave>>(tell, "ours: master_slave", how);
  measure<ours<pgas::sync::tournament>>(tell, "ours: tournament", how);
  measure<ours<pgas::sync::central_counter>>(tell, "ours: central_counter", how);
  measure<ours<pgas::sync::dissemination>>(tell, "ours: dissemination", how);
}

}  // namespace papers::barrier
