// SPDX-License-Identifier: BSL-1.0
// Barriers of the SCC's literature, as Christgau 2017, section 3.4.2, quotes them, beside the fences of this library.
#include <pgas/sync/central_counter.hpp>
#include <pgas/sync/dissemination.hpp>
#include <pgas/sync/master_slave.hpp>
#include <pgas/sync/tournament.hpp>

#include "chip.hpp"

namespace {

using namespace papers;

constexpr rank_t master = 0;
constexpr std::uint32_t line = 32;

/// RCCE's: a flag in each core's own buffer; the master looks at one after the other, and then sets another one in
/// each.
class rcce {
 public:
  explicit rcce(machine& m) : m_(m) {}
  void operator()() {
    ++phase_;
    if (m_.rank() != master) {
      set(m_.rank(), 0);
      wait(m_.rank(), line);
      return;
    }
    for (rank_t r = 1; r < m_.size(); ++r) wait(r, 0);
    for (rank_t r = 1; r < m_.size(); ++r) set(r, line);
  }

 private:
  void set(rank_t where, std::uint32_t flag) {
    m_.core().drop_tagged();
    m_.store(page_type::mpbt_wt, machine::buffer_of(where, flag), phase_);
    m_.core().drain();
  }
  void wait(rank_t where, std::uint32_t flag) {
    do m_.core().drop_tagged();
    while (m_.load(page_type::mpbt_wb, machine::buffer_of(where, flag)) != phase_);
  }
  machine& m_;
  std::uint32_t phase_ = 0;
};

/// A counter beside a test-and-set register, both of the master's tile; the last one that comes lets all go on. How
/// long the literature's pauses are is not known.
template <bool BackOff>
class test_and_set {
 public:
  explicit test_and_set(machine& m) : m_(m), lock_(m.team().state()->backend.test_and_set(master)) {}
  void operator()() {
    ++phase_;
    for (std::uint64_t pause = first_pause; !lock_.read(); pause = std::min(2 * pause, longest_pause)) {
      if constexpr (BackOff) m_.cycles(pause);
    }
    std::uint32_t const come = m_.load(page_type::ncm, counter) + 1;
    bool const last = come == static_cast<std::uint32_t>(m_.size()) * phase_;
    m_.store(page_type::ncm, counter, come);
    lock_.write();
    if (last) m_.store(page_type::ncm, released, phase_);
    std::uint64_t pause = first_pause;
    while (!last && m_.load(page_type::ncm, released) < phase_) {
      if constexpr (BackOff) m_.cycles(pause = std::min(2 * pause, longest_pause));
    }
  }

 private:
  static constexpr std::uint64_t first_pause = 50, longest_pause = 1600;
  static constexpr std::uint32_t counter = machine::buffer_of(master, 0), released = machine::buffer_of(master, line);
  machine& m_;
  pgas::scc::test_and_set_register lock_;
  std::uint32_t phase_ = 0;
};

/// Uncached flags in the master's buffer, a line for each core, and one that lets all go on.
class master_and_slaves {
 public:
  explicit master_and_slaves(machine& m) : m_(m) {}
  void operator()() {
    ++phase_;
    if (m_.rank() != master) {
      m_.store(page_type::ncm, flag_of(m_.rank()), phase_);
      while (m_.load(page_type::ncm, flag_of(master)) != phase_) {}
      return;
    }
    for (rank_t r = 1; r < m_.size(); ++r) {
      while (m_.load(page_type::ncm, flag_of(r)) != phase_) {}
    }
    m_.store(page_type::ncm, flag_of(master), phase_);
  }

 private:
  static std::uint32_t flag_of(rank_t r) { return machine::buffer_of(master, static_cast<std::size_t>(r) * line); }
  machine& m_;
  std::uint32_t phase_ = 0;
};

/// The same, but the slaves sleep until the master interrupts each: nobody polls for it.
class by_interrupts {
 public:
  explicit by_interrupts(machine& m)
      : m_(m), pins_(pgas::scc::interrupts_of(m.team())), handler_(pins_.on_interrupt([this] { ++released_; })) {}
  void operator()() {
    ++phase_;
    if (m_.rank() != master) {
      m_.store(page_type::ncm, flag_of(m_.rank()), phase_);
      pins_.sleep_until([this] { return released_ == phase_; });
      return;
    }
    for (rank_t r = 1; r < m_.size(); ++r) {
      while (m_.load(page_type::ncm, flag_of(r)) != phase_) {}
    }
    for (rank_t r = 1; r < m_.size(); ++r) pins_.raise(r);
  }

 private:
  static std::uint32_t flag_of(rank_t r) { return machine::buffer_of(master, static_cast<std::size_t>(r) * line); }
  machine& m_;
  std::uint32_t phase_ = 0, released_ = 0;
  pgas::scc::interrupts pins_;
  pgas::scc::interrupts::handler handler_;
};

/// The fence of a window that nobody writes.
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
                   .template with<pgas::coherence::write_through,
                                  pgas::protocols<Fence, pgas::sync::match_vector, pgas::sync::shared_only>>());
  decltype(pgas::make_window<std::uint32_t>(std::declval<team_type const&>(), 1)) window_;
  decltype(pgas::fence{window_}) epoch_;
};

struct run {
  double us = 0;        ///< of the master
  double accesses = 0;  ///< that left a core, in all
};
template <class Barrier>
run repeat(rank_t cores, int repetitions) {
  run result;
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
void measure(teller const& tell, std::string_view series, bool quick) {
  int const repetitions = quick ? 20 : 200;
  for (rank_t cores : {2, 4, 8, 16, 24, 32, 40, 48}) {
    run const all = repeat<Barrier>(cores, repetitions);
    tell(series, cores, "barrier", all.us / repetitions);
    tell(series, cores, "accesses", (all.accesses - repeat<Barrier>(cores, 0).accesses) / repetitions, "accesses");
  }
}

}  // namespace

int main(int argc, char** argv) {
  bool const quick = is_quick(argc, argv);
  teller const tell("barrier", default_timing());
  measure<rcce>(tell, "rcce", quick);
  measure<test_and_set<false>>(tell, "tsr", quick);
  measure<test_and_set<true>>(tell, "tsr_back_off", quick);
  measure<master_and_slaves>(tell, "master_slave", quick);
  measure<by_interrupts>(tell, "master_slave, interrupts", quick);
  measure<ours<pgas::sync::master_slave>>(tell, "ours: master_slave", quick);
  measure<ours<pgas::sync::tournament>>(tell, "ours: tournament", quick);
  measure<ours<pgas::sync::central_counter>>(tell, "ours: central_counter", quick);
  measure<ours<pgas::sync::dissemination>>(tell, "ours: dissemination", quick);
  std::printf("{\"type\":\"end\"}\n");
}
