// SPDX-License-Identifier: BSL-1.0
// Christgau 2017, Table 4.3 and Fig. 4.20: a cellular automaton of 2400 lines of 8 KiB on a ring of
// processes. In each of 100 generations, two lines go to the neighbours. Computation is charged from the
// serial run's time.
#pragma once

#include <pgas/exposure.hpp>

#include "messages.hpp"

namespace papers::automaton {

inline constexpr double paper_generations = 100;
inline constexpr double lines = 2400;
inline constexpr std::size_t line_bytes = 8192;

struct result {
  double computation = 0, total = 0;  ///< us of a generation, on rank 0
};

/// The time in us that a core computes in a generation for so many lines.
inline double work_of(rank_t core, double count, cell_stores stores) {
  return cells_us(core, count * static_cast<double>(line_bytes), stores);
}

/// `exchange(compute)` computes the inner lines during a wait. A slow process slows its neighbours in the
/// next generation, their neighbours in the one after it, and so on.
template <class Exchange>
void generations(machine& m, int count, cell_stores stores, result& got, Exchange const& exchange) {
  double const own = lines / m.size();
  m.team().barrier();
  double const before = m.now();
  for (int g = 0; g < count; ++g) {
    m.work(work_of(m.rank(), 2, stores));  // the first and the last line
    exchange(g, [&] { m.work(work_of(m.rank(), own - 2, stores)); });
  }
  if (m.rank() == 0) got = {work_of(0, own, stores), (m.now() - before) / count};
  m.team().barrier();
}

inline constexpr std::uint32_t ghost_lines = machine::scratch(1 << 20);
/// Computing the inner lines displaces the ghost lines, since they are more than the caches hold.
inline void displace_ghost_lines(machine const& m) { m.core().forget(ghost_lines, 2 * line_bytes); }

inline rank_t above(machine const& m) { return (m.rank() + m.size() - 1) % m.size(); }
inline rank_t below(machine const& m) { return (m.rank() + 1) % m.size(); }

/// Puts a line, read from the place where it was computed.
template <pgas::open_epoch Epoch>
void put_line(machine& m, Epoch& epoch, rank_t to, std::span<std::byte const> bytes, library const& how) {
  m.work(how.call);
  m.read(machine::scratch(0), line_bytes);
  epoch.put(to, 0, bytes);
}

inline result one_sided(rank_t cores, int count, library const& how,
                        cell_stores stores = cell_stores::stall) {
  result got;
  on_chip(cores, default_timing(), [&](machine& m) {
    // A window for each ghost line, of each of the two arrays.
    auto make = [&] { return pgas::make_window<std::byte>(m.team(), line_bytes); };
    std::array upper{make(), make()};
    std::array lower{make(), make()};
    std::vector<std::byte> const bytes(line_bytes);
    generations(m, count, stores, got, [&](int g, auto const& inner) {
      auto const which = static_cast<std::size_t>(g % 2);
      m.work(4 * how.call);
      pgas::exposure from_above{upper[which], {above(m)}};
      pgas::exposure from_below{lower[which], {below(m)}};
      pgas::access to_above{lower[which], {above(m)}};
      pgas::access to_below{upper[which], {below(m)}};
      put_line(m, to_above, above(m), bytes, how);
      put_line(m, to_below, below(m), bytes, how);
      inner();
      m.work(4 * how.call);
      to_above.complete();
      to_below.complete();
      from_above.wait();
      from_below.wait();
    });
  });
  return got;
}

inline result by_messages(rank_t cores, int count, library const& how) {
  result got;
  on_chip(cores, default_timing(), [&](machine& m) {
    messages channel(m);
    message_windows window(m, channel, how);
    std::array const both{above(m), below(m)};
    for (rank_t from : both) channel.expect(from, ghost_lines);
    generations(m, count, cell_stores::stall, got, [&](int, auto const& inner) {
      window.post(both);
      window.start();
      window.put(above(m), machine::scratch(0), line_bytes, line_bytes);
      window.put(below(m), machine::scratch(0), line_bytes);
      inner();
      displace_ghost_lines(m);
      window.complete(both);
      window.wait(both);
    });
  });
  return got;
}

/// A packet of each nonblocking send leaves at once; the others leave in the call that waits for them.
inline result two_sided(rank_t cores, int count, work_for unit = work_for::each_packet,
                        cell_stores stores = cell_stores::stall) {
  result got;
  on_chip(cores, default_timing(), [&](machine& m) {
    messages channel(m, unit);
    channel.expect(above(m), ghost_lines);
    channel.expect(below(m), ghost_lines + line_bytes);
    generations(m, count, stores, got, [&](int, auto const& inner) {
      for (rank_t to : {above(m), below(m)})
        channel.start(to, messages::kind::data, machine::scratch(0), line_bytes);
      inner();
      displace_ghost_lines(m);
      channel.finish();
      for (rank_t from : {above(m), below(m)}) channel.wait(from, messages::kind::data);
    });
  });
  return got;
}

inline void say(teller const& tell, char const* series, rank_t cores, result const& r) {
  double const all = 1e-6 * paper_generations;
  tell(series, cores, "computation", r.computation * all, "s");
  tell(series, cores, "communication", (r.total - r.computation) * all, "s");
}

inline void run(effort how) {
  int const count = times_of(how, 100, 20, 2);
  teller const tell("automaton", default_timing());
  for (rank_t cores : {6, 12, 24, 48}) {
    if (how == effort::small ? cores != 6 : how == effort::quick && cores < 24) continue;
    say(tell, "one_sided", cores, one_sided(cores, count, library::active()));
    say(tell, "two_sided", cores, two_sided(cores, count));
    say(tell, "messages", cores, by_messages(cores, count, library::active()));
    if (cores < 24) continue;
    // Second readings.
    say(tell, "two_sided, work per message", cores, two_sided(cores, count, work_for::each_message));
    say(tell, "two_sided, stores overlap", cores,
        two_sided(cores, count, work_for::each_packet, cell_stores::overlap));
    say(tell, "one_sided, stores overlap", cores,
        one_sided(cores, count, library::active(), cell_stores::overlap));
  }
}

}  // namespace papers::automaton
