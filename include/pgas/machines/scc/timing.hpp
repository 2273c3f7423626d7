// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstdint>
#include <pgas/vocabulary/expects.hpp>
#include <string_view>

namespace PGAS_NAMESPACE::scc {

/// Virtual time in cycles of 3.2 GHz: each possible clock of the chip takes a whole number of them.
using ticks = std::uint64_t;
/// The ticks of a microsecond.
inline constexpr double ticks_a_microsecond = 3200;

/// A time as the chip's descriptions state it: a number of cycles of each clock.
struct cycles {
  double core = 0, mesh = 0, memory = 0;  ///< cycles of the clocks of cores, mesh and memory
};

/// The times of the chip's operations, from one source: no result should mix two sources.
///
/// An access without contention takes the time stated here, and `hop` for each hop to its target's router,
/// there and back. It then `holds` its target: later accesses wait. A lock, a barrier or an atomic costs the
/// sum of its accesses to registers and buffers: `control.hpp` makes them, and `clock.hpp` prices each.
struct timing {
  std::string_view name;     ///< its name in PGAS_CLOCK
  ticks core, mesh, memory;  ///< ticks in a cycle of each clock

  cycles hop{.mesh = 4};                        ///< one way
  cycles own_buffer_read, own_buffer_write;     ///< a line of the own tile's message passing buffer
  cycles buffer_read, buffer_write;             ///< a line of another tile's
  cycles memory_read, memory_write;             ///< a word past the caches, or a line read
  cycles memory_line_write;                     ///< a line written to memory
  cycles own_register_access, register_access;  ///< of a configuration register of a tile
  cycles interface_access;                      ///< of the increment registers behind the system interface

  /// 24 cores do not slow each other down, 48 do.
  /// Source: Shahmirzadi 2014, section 2.4.
  cycles buffer_holds{.mesh = 3.5};
  cycles register_holds{.mesh = 3.5};  ///< of a tile's registers
  cycles interface_holds{.core = 20};  ///< of the system interface
  /// Eleven cores that poll beside a writer slow its uncached stores down 2.5 times.
  /// Source: Christgau and Schnor 2019, table 3: a store takes 155 core cycles when twelve cores are served
  /// in turn, so eleven reads and one write.
  cycles memory_read_holds{.memory = 20};
  /// A controller can keep writes and combine them, so a write holds it for less time than a read.
  /// Source: Christgau 2017, section 3.4.5, for both bounds. At most 13: twelve cores that store every 109
  /// core cycles, and read a line for each 32 stores, scale without loss. More than 8: polls at their
  /// controller make the same stores collapse.
  cycles memory_write_holds{.memory = 12};

  // In the core
  cycles l1_word{.core = 1};      ///< up to four bytes that hit, or that go to the write-combining buffer
  cycles l2_line{.core = 18};     ///< a line that hits in L2
  cycles drop_tagged{.core = 1};  ///< the instruction CL1INVMB
  /// WBINVD, and the entry into the kernel. Source for these: Christgau 2017, section 4.2.4.
  cycles write_back_l1{.core = 12000};
  cycles kernel{.core = 2000};          ///< the entry into the kernel
  cycles l2_flush_line{.core = 580};    ///< the flush of one line of L2 by the kernel
  cycles l2_flush_all{.core = 600000};  ///< the reads; modified lines take extra time
  cycles pause{.core = 533};            ///< the unit of a pause, doubled at each attempt: 1 us in the paper
  /// From a core's interrupt pin to the first instruction of the handler. No source has the time of the
  /// return: it is 0.
  /// Source: Barrelfish technical note 5, lambda_IPI: delivery and trap, between two cores of a tile.
  cycles interrupt{.core = 612};

  /// A time in ticks, rounded.
  [[nodiscard]] constexpr ticks in_ticks(cycles const& c) const noexcept {
    // NOLINTNEXTLINE(bugprone-incorrect-roundings): times are positive, and lround is not constexpr
    return static_cast<ticks>(c.core * static_cast<double>(core) + c.mesh * static_cast<double>(mesh) +
                              c.memory * static_cast<double>(memory) + 0.5);
  }
  /// Ticks in cycles of a core.
  [[nodiscard]] constexpr double in_core_cycles(ticks t) const noexcept {
    return static_cast<double>(t) / static_cast<double>(core);
  }
};

/// The literature's formulas. A buffer takes 45 core cycles, and 4 mesh cycles for each hop and way. Memory
/// takes 40 core cycles, 46 memory cycles and the hops. A core reaches its own tile's buffer through the
/// router, since the bypass is defective.
/// Source: the chip's Programmer's Guide, as field notes quote it. Registers take the time of buffers, and an
/// increment register four times as long (Christgau 2017, section 2.2.5).
constexpr timing formulas(std::string_view name, ticks core, ticks mesh, ticks memory) noexcept {
  cycles const buffer{.core = 45};
  cycles const own_buffer{.core = 45, .mesh = 8};
  cycles const dram{.core = 40, .memory = 46};
  return {.name = name,
          .core = core,
          .mesh = mesh,
          .memory = memory,
          .own_buffer_read = own_buffer,
          .own_buffer_write = own_buffer,
          .buffer_read = buffer,
          .buffer_write = buffer,
          .memory_read = dram,
          .memory_write = dram,
          .memory_line_write = dram,
          .own_register_access = own_buffer,
          .register_access = buffer,
          .interface_access = {.core = 180, .mesh = 78}};
}
/// Cores, mesh and memory at 533, 800 and 800 MHz: the default, and the setting of Christgau's work.
inline constexpr timing formulas_533 = formulas("formulas-533", 6, 4, 4);
/// The same with memory at 1066 MHz.
inline constexpr timing formulas_533_1066 = formulas("formulas-533-1066", 6, 4, 3);
/// A chip at 800, 1600 and 1066 MHz.
inline constexpr timing formulas_800 = formulas("formulas-800", 4, 2, 3);

/// Barrelfish's measurements in core cycles, including loops and fills of lines; the hops are the formulas'.
/// The note does not state the clocks. Its 5.3 core cycles a hop are those of cores at 533 and a mesh at 800
/// MHz; memory at 800 MHz is assumed. Source: Barrelfish technical note 5, tables of the message passing
/// buffers and of memory.
inline constexpr timing barrelfish = [] {
  timing t = formulas("barrelfish", 6, 4, 4);
  t.own_buffer_read = {.core = 20};
  t.own_buffer_write = {.core = 39};
  t.buffer_read = {.core = 57.7};
  t.buffer_write = {.core = 75.8};
  t.memory_read = {.core = 65.3, .memory = 46};
  t.memory_write = {.core = 66.3, .memory = 46};
  t.memory_line_write = {.core = 91.3, .memory = 46};
  t.own_register_access = t.own_buffer_read;
  t.register_access = t.buffer_read;
  t.interface_access = {.core = 4 * 57.7, .mesh = 78};
  return t;
}();

/// The sets of parameters that PGAS_CLOCK may name.
inline constexpr std::array<timing const*, 4> all_timings{&formulas_533, &formulas_533_1066, &formulas_800,
                                                          &barrelfish};

/// The place of control words: at each owner's controller, or all at one controller.
enum class placement {
  distributed,  ///< at each owner's controller
  central,      ///< at one controller
};

}  // namespace PGAS_NAMESPACE::scc
