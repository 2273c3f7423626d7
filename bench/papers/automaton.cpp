// SPDX-License-Identifier: BSL-1.0
// Christgau 2017, Table 4.3 and Fig. 4.20: a cellular automaton of 2400 lines of 8 KiB on a ring of
// processes. In each of 100 generations, two lines go to the neighbours. Computation is charged from the
// serial run's time.
#include <pgas/exposure.hpp>

#include "messages.hpp"

namespace {

using namespace papers;

constexpr double serial_s = 401.05;  // of all generations
constexpr double paper_generations = 100;
constexpr double lines = 2400;
constexpr std::size_t line_bytes = 8192;

struct result {
  double computation = 0, total = 0;  ///< us of a generation, on rank 0
};

/// The time in us that a core computes in a generation for so many lines. The serial run has its controller
/// at its router. From other cores, each uncached store of a cell takes a few hops longer.
double work_of(rank_t core, double count) {
  double const cell = serial_s * 1e6 / paper_generations / lines / static_cast<double>(line_bytes);
  return count * static_cast<double>(line_bytes) *
         (cell + hops_to_memory(core, default_timing()) / machine::core_mhz);
}

/// `exchange(compute)` computes the inner lines during a wait. A slow process slows its neighbours in the
/// next generation, their neighbours in the one after it, and so on.
template <class Exchange>
void generations(machine& m, int count, result& got, Exchange const& exchange) {
  double const own = lines / m.size();
  m.team().barrier();
  double const before = m.now();
  for (int g = 0; g < count; ++g) {
    m.work(work_of(m.rank(), 2));  // the first and the last line
    exchange(g, [&] { m.work(work_of(m.rank(), own - 2)); });
  }
  if (m.rank() == 0) got = {work_of(0, own), (m.now() - before) / count};
  m.team().barrier();
}

constexpr std::uint32_t ghost_lines = machine::scratch(1 << 20);
/// The inner lines are more than the caches hold, so the old ghost line is evicted before a new one comes.
void evict_ghost_lines(machine const& m) { m.core().forget(ghost_lines, 2 * line_bytes); }

rank_t above(machine const& m) { return (m.rank() + m.size() - 1) % m.size(); }
rank_t below(machine const& m) { return (m.rank() + 1) % m.size(); }

/// Puts a line, read from the place where it was computed.
template <pgas::open_epoch Epoch>
void put_line(machine& m, Epoch& epoch, rank_t to, std::span<std::byte const> bytes, library const& how) {
  m.work(how.call);
  m.read(machine::scratch(0), line_bytes);
  epoch.put(to, 0, bytes);
}

result one_sided(rank_t cores, int count, library const& how) {
  result got;
  on_chip(cores, default_timing(), [&](machine& m) {
    // A window for each ghost line, of each of the two arrays.
    auto make = [&] { return pgas::make_window<std::byte>(m.team(), line_bytes); };
    std::array upper{make(), make()};
    std::array lower{make(), make()};
    std::vector<std::byte> const bytes(line_bytes);
    generations(m, count, got, [&](int g, auto const& inner) {
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

result by_messages(rank_t cores, int count, library const& how) {
  result got;
  on_chip(cores, default_timing(), [&](machine& m) {
    messages channel(m, rckmpi_message_us);
    message_windows window(m, channel, how);
    std::array const both{above(m), below(m)};
    for (rank_t from : both) channel.expect(from, ghost_lines);
    generations(m, count, got, [&](int, auto const& inner) {
      window.post(both);
      window.start();
      window.put(above(m), machine::scratch(0), line_bytes, line_bytes);
      window.put(below(m), machine::scratch(0), line_bytes);
      inner();
      evict_ghost_lines(m);
      window.complete(both);
      window.wait(both);
    });
  });
  return got;
}

/// A packet of each nonblocking send leaves at once; the others leave in the call that waits for them.
result two_sided(rank_t cores, int count) {
  result got;
  on_chip(cores, default_timing(), [&](machine& m) {
    messages channel(m, rckmpi_message_us);
    channel.expect(above(m), ghost_lines);
    channel.expect(below(m), ghost_lines + line_bytes);
    generations(m, count, got, [&](int, auto const& inner) {
      for (rank_t to : {above(m), below(m)})
        channel.start(to, messages::kind::data, machine::scratch(0), line_bytes);
      inner();
      evict_ghost_lines(m);
      channel.finish();
      for (rank_t from : {above(m), below(m)}) channel.wait(from, messages::kind::data);
    });
  });
  return got;
}

void say(teller const& tell, char const* series, rank_t cores, result const& r) {
  double const all = 1e-6 * paper_generations;
  tell(series, cores, "computation", r.computation * all, "s");
  tell(series, cores, "communication", (r.total - r.computation) * all, "s");
}

}  // namespace

int main(int argc, char** argv) {
  bool const quick = is_quick(argc, argv);
  int const count = quick ? 20 : 100;
  teller const tell("automaton", default_timing());
  for (rank_t cores : {6, 12, 24, 48}) {
    if (quick && cores < 24) continue;
    say(tell, "one_sided", cores, one_sided(cores, count, library::active()));
    say(tell, "two_sided", cores, two_sided(cores, count));
    say(tell, "messages", cores, by_messages(cores, count, library::active()));
  }
  std::printf("{\"type\":\"end\"}\n");
}
