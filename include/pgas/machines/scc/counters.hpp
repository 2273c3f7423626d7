// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <pgas/vocabulary/expects.hpp>

namespace pgas::inline PGAS_ASSERTIONS::scc {

/// The way in which a page table entry makes a core access a page.
///
/// | type    | L1                    | L2 | write-combining buffer |
/// |---------|-----------------------|----|------------------------|
/// | dcm     | write-back            | write-back | no |
/// | ncm     | no                    | no | no |
/// | ncm_wcb | no                    | no | yes |
/// | mpbt_wb | write-back, tagged    | no | yes, for stores that miss |
/// | mpbt_wt | write-through, tagged | no | yes |
/// Source: Christgau 2017, section 2.2.4.
enum class page_type : std::uint8_t { dcm, ncm, ncm_wcb, mpbt_wb, mpbt_wt };

/// The counts of one core's operations.
struct counters {
  std::uint64_t loads = 0, stores = 0;                  ///< calls, each for a piece of a line
  std::uint64_t l1_hits = 0, l2_hits = 0;               ///< of loads and stores
  std::uint64_t fills = 0, reads = 0, writes = 0;       ///< lines fetched; uncached reads and writes
  std::uint64_t write_backs = 0;                        ///< modified lines written to memory
  std::uint64_t pushes = 0;                             ///< of the write-combining buffer
  std::uint64_t tagged_drops = 0;                       ///< CL1INVMB
  std::uint64_t l1_flushes = 0, l2_flushes = 0;         ///< WBINVD and INVD; calls of the kernel's routine
  std::uint64_t l2_lines_flushed = 0;                   ///< by those calls
  std::uint64_t remaps = 0;                             ///< of look-up table entries
  std::uint64_t word_accesses = 0, register_spins = 0;  ///< of control words; reads of a taken register
  std::uint64_t interrupts = 0;                         ///< raised
  std::uint64_t charged = 0;                            ///< cycles of computation, by charge()
  std::uint64_t evictions = 0, spurious_fills = 0;      ///< done by the adversary

  friend bool operator==(counters const&, counters const&) = default;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::scc
