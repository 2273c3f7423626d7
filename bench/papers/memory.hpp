// SPDX-License-Identifier: BSL-1.0
// Christgau 2017, Figs. 4.11 to 4.13: bandwidth of loads and stores of words over a working set, for each
// type of page, on core 0 alone. Barrelfish's technical note 5: cycles of single accesses to each buffer and
// controller.
#pragma once

#include "chip.hpp"

namespace papers::memory {

inline constexpr std::uint32_t line = 32;

/// MB/s (2^20 bytes) of repeated loads or stores of each word of the working set, after one read of it.
inline double bandwidth(machine& m, page_type type, bool stores, std::size_t bytes, int repetitions) {
  auto const walk = [&](bool store) {
    for (std::uint32_t i = 0; i < bytes; i += 4) {
      if (store) {
        m.store(type, machine::scratch(i), i);
      } else {
        static_cast<void>(m.load(type, machine::scratch(i)));
      }
    }
  };
  walk(false);
  double const before = m.now();
  for (int i = 0; i < repetitions; ++i) walk(stores);
  double const us = m.now() - before;
  return static_cast<double>(bytes) * repetitions / us * 1e6 / (1 << 20);
}

inline void bandwidths(effort how_long) {
  struct type {
    char const* name;
    page_type of;
    bool defect;
  };
  constexpr std::array types{type{"dcm", page_type::dcm, true}, type{"ncm", page_type::ncm, true},
                             type{"mpbt_wb", page_type::mpbt_wb, true},
                             type{"mpbt_wt", page_type::mpbt_wt, true},
                             type{"mpbt_wt, as intended", page_type::mpbt_wt, false}};
  teller const tell("memory", default_timing());
  for (auto const& t : types) {
    std::size_t const most = how_long == effort::small ? 4 : 1024;
    for (std::size_t kib = 1; kib <= most; kib *= 2) {
      for (bool const stores : {false, true}) {
        double rate = 0;
        pgas::scc::options how;
        how.check = false;
        how.clock = &default_timing();
        how.through_pages_cached = !t.defect;
        pgas::scc::with_options const chosen(how);
        pgas::run<backend>(1, [&](auto& team) {
          machine m(team);
          rate = bandwidth(m, t.of, stores, kib * 1024, how_long != effort::whole || kib > 64 ? 1 : 5);
        });
        tell(t.name, kib, stores ? "store" : "load", rate, "MB/s");
      }
    }
  }
}

/// Core cycles of one access, averaged over many.
template <class Access>
double cycles_of(machine& m, Access const& access) {
  constexpr int times = 64;
  access(0);
  double const before = m.now();
  for (int i = 1; i <= times; ++i) access(static_cast<std::uint32_t>(i));
  return (m.now() - before) * machine::core_mhz / times;
}

inline void single_accesses(pgas::scc::timing const& with, std::string const& quantity) {
  teller const buffers("buffer_access", with);
  teller const dram("dram_access", with);
  on_chip(48, with, [&](machine& m) {
    if (m.rank() != 0) return;  // the other cores do nothing
    for (rank_t core = 0; core < 48; core += 2) {
      auto const x = core / 2 % 6;
      std::string const row = ", row " + std::to_string(core / 2 / 6);
      // Eight words fill a line of the write-combining buffer, which then leaves the buffer.
      buffers("line write" + row, x, quantity,
              cycles_of(m,
                        [&](std::uint32_t i) {
                          for (std::uint32_t word = 0; word < line; word += 4)
                            m.store(page_type::mpbt_wt, machine::buffer_of(core, i % 64 * line + word), i);
                        }),
              "cycles");
      buffers(
          "word read" + row, x, quantity,
          cycles_of(m,
                    [&](std::uint32_t i) {
                      m.core().drop_tagged();
                      static_cast<void>(m.load(page_type::mpbt_wb, machine::buffer_of(core, i % 64 * line)));
                    }) -
              cycles_of(m, [&](std::uint32_t) { m.core().drop_tagged(); }),
          "cycles");
    }
    // Cores whose controllers are 0, 5, 2 and 7 hops from tile (0, 0).
    for (auto const& [owner, hops] :
         {std::pair{rank_t{0}, 0}, {rank_t{6}, 5}, {rank_t{24}, 2}, {rank_t{30}, 7}}) {
      auto const at = [&](std::uint32_t byte) { return m.scratch_of(owner, byte); };
      dram("uncached word read", hops, quantity,
           cycles_of(m, [&](std::uint32_t i) { static_cast<void>(m.load(page_type::ncm, at(i * line))); }),
           "cycles");
      dram("uncached line write", hops, quantity,
           cycles_of(m,
                     [&](std::uint32_t i) {
                       for (std::uint32_t word = 0; word < line; word += 4)
                         m.store(page_type::ncm, at(i * line + word), i);
                     }),
           "cycles");
      dram("combined line write", hops, quantity,
           cycles_of(m,
                     [&](std::uint32_t i) {
                       for (std::uint32_t word = 0; word < line; word += 4)
                         m.store(page_type::mpbt_wt, at(i * line + word), i);
                     }),
           "cycles");
    }
  });
}

inline void run(effort how) {
  // The second set is that of all other figures, and named after the quantity.
  single_accesses(pgas::scc::barrelfish, "cycles");
  single_accesses(default_timing(), "cycles by " + std::string(default_timing().name));
  bandwidths(how);
}

}  // namespace papers::memory
