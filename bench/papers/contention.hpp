// SPDX-License-Identifier: BSL-1.0
// Shahmirzadi 2014, section 2.4 and Fig. 2.3: up to 48 cores get 128 lines each from one buffer, or put one
// line each into it, as often as they can. The same section loads one link of the mesh. A get or a put is its
// accesses, without a library's own time.
#pragma once

#include <numeric>

#include "chip.hpp"

namespace papers::contention {

/// The core with the buffer.
inline constexpr rank_t owner = 0;
inline constexpr rank_t cores = 48;
inline constexpr std::size_t lines_of_get = 128;

inline std::uint32_t middle_of(rank_t core) {
  return machine::buffer_of(core, lines_of_get * machine::line_bytes);
}
/// Gets lines from the middle of a core's buffer into the beginning of the own one.
inline void get_into_buffer(machine const& m, rank_t from) {
  m.core().drop_tagged();
  m.copy_lines(page_type::mpbt_wt, machine::buffer_of(m.rank(), 0), page_type::mpbt_wb, middle_of(from),
               lines_of_get);
}
/// Gets them into private memory. Each get has the same place, so the caches have it.
inline void get_into_memory(machine const& m, rank_t from) {
  m.core().drop_tagged();
  m.copy_lines(page_type::dcm, machine::scratch(0), page_type::mpbt_wb, middle_of(from), lines_of_get);
}
/// Puts a line of private memory, which the caches have, into a core's buffer.
inline void put(machine const& m, rank_t to) {
  m.copy_lines(page_type::mpbt_wt, machine::buffer_of(to, 0), page_type::dcm, machine::scratch(0), 1);
}

/// Microseconds of an access, on average over those that a core begins in the first `us`, but for the first
/// one. The last ones end when all other cores still go on.
template <class Access>
double mean(machine const& m, double us, Access const& access) {
  access();
  double const begin = m.now();
  int count = 0;
  do {
    access();
    ++count;
  } while (m.now() < begin + us);
  return (m.now() - begin) / count;
}

/// The means of the first n of the cores 1, 2, .. 47, 0, which access core 0's buffer at the same time.
template <class Access>
std::vector<double> together(rank_t first, rank_t last, double us, Access const& access) {
  std::vector<double> times(static_cast<std::size_t>(cores));
  on_chip(cores, default_timing(), [&](machine& m) {
    m.team().barrier();
    rank_t const place = (m.rank() + cores - 1) % cores;
    if (place >= first && place < last)
      times[static_cast<std::size_t>(place)] = mean(m, us, [&] { access(m, owner); });
  });
  return {times.begin() + first, times.begin() + last};
}

inline double mean_of(std::vector<double> const& times, rank_t n) {
  return std::accumulate(times.begin(), times.begin() + n, 0.0) / n;
}

template <class Access>
void measure(teller const& tell, std::string_view quantity, effort how, double us, Access const& access) {
  us = how == effort::small ? us / 40 : us;
  std::vector<double> alone;
  for (rank_t place = 0; place < (how == effort::small ? 4 : cores); ++place)
    alone.push_back(together(place, place + 1, us / 10, access).front());
  for (rank_t n : {1, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48}) {
    if (how == effort::small ? n != 4 && n != 48 : how == effort::quick && n % 12 != 0) continue;
    auto const times = together(0, n, us, access);
    auto const [fastest, slowest] = std::minmax_element(times.begin(), times.end());
    tell("slowest", n, quantity, *slowest);
    tell("mean", n, quantity, mean_of(times, n));
    tell("fastest", n, quantity, *fastest);
    if (how != effort::small || n == 4) tell("mean, each alone", n, quantity, mean_of(alone, n));
  }
}

/// The time of a get from tile (3, 2) to tile (2, 2). With `loaded`, all cores of other tiles get at the same
/// time, each from the tile in row 2 whose column is opposite. Answers travel along their row first, so all
/// of them pass the link between those two tiles.
inline double over_link(bool loaded, double us) {
  namespace chip = pgas::detail::scc;
  constexpr chip::tile west = 2 * chip::tile_columns + 2, east = west + 1;
  double time = 0;
  on_chip(cores, default_timing(), [&](machine& m) {
    m.team().barrier();
    chip::tile const here = chip::tile_of(m.rank());
    if (m.rank() == 2 * west) time = mean(m, us, [&] { get_into_buffer(m, 2 * east); });
    if (!loaded || here == west || here == east) return;
    chip::tile const there = 2 * chip::tile_columns + chip::tile_columns - 1 - chip::column_of(here);
    auto const from = static_cast<rank_t>(2 * there) + m.rank() % 2;
    static_cast<void>(mean(m, 1.5 * us, [&] { get_into_buffer(m, from); }));
  });
  return time;
}

inline void run(effort how) {
  teller const tell("contention", default_timing());
  measure(tell, "get of 128 lines into memory", how, 1000, get_into_memory);
  measure(tell, "get of 128 lines into a buffer", how, 1000, get_into_buffer);
  measure(tell, "put of a line", how, 100, put);
  double const us = how == effort::small ? 25 : 1000;
  tell("link not loaded", cores, "get over a link", over_link(false, us));
  tell("link loaded by 44 cores", cores, "get over a link", over_link(true, us));
}

}  // namespace papers::contention
