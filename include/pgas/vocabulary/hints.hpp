// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/vocabulary/expects.hpp>

namespace PGAS_NAMESPACE {

/// The promises of a program about an epoch, known at compile time. Each promise erases work.
///
/// Combine them as arguments of an epoch: `fence epoch{w, no_store, read_only};`. A broken promise that the
/// compiler can see does not compile; any other makes the epoch's results undefined.
struct hints {
  bool no_store = false;    ///< no store to the own part since the last boundary: MPI_MODE_NOSTORE
  bool no_put = false;      ///< no rank puts to this rank's part in this epoch: MPI_MODE_NOPUT
  bool read_only = false;   ///< this epoch gets and does not put
  bool write_only = false;  ///< this epoch puts and does not get
  bool no_precede = false;  ///< no access since the last fence, so none is needed to open: MPI_MODE_NOPRECEDE
  bool no_check = false;    ///< the targets have posted already, so no wait is needed: MPI_MODE_NOCHECK
  bool no_succeed = false;  ///< every later epoch has an opening of its own: MPI_MODE_NOSUCCEED
  bool passive = false;     ///< set by shared locks: parts change without a boundary, so gets read memory
  bool alone = false;       ///< set by exclusive locks: no other rank accesses the part, so nothing is atomic

  /// All promises of both.
  friend constexpr hints operator|(hints a, hints b) noexcept {
    return {.no_store = a.no_store || b.no_store,
            .no_put = a.no_put || b.no_put,
            .read_only = a.read_only || b.read_only,
            .write_only = a.write_only || b.write_only,
            .no_precede = a.no_precede || b.no_precede,
            .no_check = a.no_check || b.no_check,
            .no_succeed = a.no_succeed || b.no_succeed,
            .passive = a.passive || b.passive,
            .alone = a.alone || b.alone};
  }
  friend constexpr bool operator==(hints, hints) = default;
};

/// A hint as a type, so that its value is known at compile time.
template <hints Value>
struct hint {
  /// The promises.
  static constexpr hints value = Value;
};

inline constexpr hint<hints{.no_store = true}> no_store{};      ///< see hints::no_store
inline constexpr hint<hints{.no_put = true}> no_put{};          ///< see hints::no_put
inline constexpr hint<hints{.read_only = true}> read_only{};    ///< see hints::read_only
inline constexpr hint<hints{.write_only = true}> write_only{};  ///< see hints::write_only
inline constexpr hint<hints{}> read_write{};                    ///< no promise
inline constexpr hint<hints{.no_precede = true}> no_precede{};  ///< see hints::no_precede
inline constexpr hint<hints{.no_check = true}> no_check{};      ///< see hints::no_check
inline constexpr hint<hints{.no_succeed = true}> no_succeed{};  ///< see hints::no_succeed

}  // namespace PGAS_NAMESPACE
