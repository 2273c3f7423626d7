// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <pgas/vocabulary/expects.hpp>

namespace pgas::inline PGAS_ASSERTIONS {

/// The cycles that a map's computations take on a machine in virtual time. Elsewhere they mean nothing.
///
/// Source: Shahmirzadi 2014, table 3.1 and section 3.5. There `pre` is 12 for integers and 156 for strings of
/// 36 bytes; `lookup` and `update` are 0, 11 or 88, as the map is in the first cache, the second or memory.
struct map_costs {
  std::uint64_t pre = 0;                   ///< the hash of a key (o_pre)
  std::uint64_t lookup = 0;                ///< an access to a table that reads (o_lup)
  std::uint64_t update = 0;                ///< an access to a table that writes (o_upd)
  std::uint64_t select_power_of_two = 17;  ///< the choice among a power of two of servers (o_sel)
  std::uint64_t select_other = 90;         ///< the choice among another number of servers
};

/// Computations that take no time: the default of all maps.
inline constexpr map_costs no_map_costs{.select_power_of_two = 0, .select_other = 0};

}  // namespace pgas::inline PGAS_ASSERTIONS
