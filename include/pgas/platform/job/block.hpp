// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <pgas/vocabulary/rank.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// What the ranks of one job and their supervisor share beside payload: who runs, who waits for whom,
/// who failed, which extents are taken. Plain numbers and characters only, since ranks may be
/// different programs mapped at different addresses.
struct job_block {
  static constexpr std::uint32_t layout = 0x70670001;  ///< changes whenever this struct does
  static constexpr std::size_t max_ranks = 1024;
  static constexpr std::size_t max_extents = 4096;
  static constexpr std::size_t max_entries = 64;
  static constexpr std::size_t max_value = 4096;

  /// A rank runs the body of a job; it has returned from it, and its program may run another; it is gone for good.
  enum phase : std::uint32_t { absent, running, returned, finished };

  /// One rank's wait, written by that rank alone and read by whoever looks for a deadlock.
  struct alignas(128) rank_record {
    std::atomic<std::uint32_t> phase{absent};
    std::atomic<std::uint32_t> process{0};
    std::atomic<std::uint64_t> wait{0};    ///< odd while a wait is published; grows with each
    std::atomic<std::uint64_t> checks{0};  ///< how often the published wait has found its condition false
    std::array<std::atomic<char>, 24> operation{};
    std::array<std::atomic<char>, 24> label{};
    std::array<std::atomic<std::uint64_t>, max_ranks / 64> awaited{};  ///< a bit per rank of the job
  };

  /// A published key of the bootstrap.
  struct entry {
    std::array<char, 32> key{};
    std::uint32_t bytes = 0;
    std::array<std::byte, max_value> value{};
  };

  /// A live piece of the arena. The table is sorted by offset.
  struct extent {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint64_t holders = 0;  ///< ranks that have not released it yet
  };

  std::atomic<std::uint32_t> version{layout};
  std::uint32_t ranks = 0;
  std::uint64_t arena_bytes = 0;
  double timeout_seconds = 0;  ///< of every wait; 0: none

  /// How the job failed: what was noticed first, and its cause if the failed rank could still tell.
  struct failure_note {
    std::int32_t rank = -1;
    std::int32_t code = 0;
    std::array<char, 1024> text{};
  };

  /// 0: well; 1: someone writes the symptom; 2: failed, the symptom is final; 3: so is the cause.
  alignas(128) std::atomic<std::uint32_t> failure{0};
  failure_note symptom;
  failure_note cause;

  alignas(128) std::atomic<std::uint32_t> lock{0};  ///< guards entries and extents
  std::atomic<std::uint32_t> entry_count{0};
  std::uint32_t extent_count = 0;
  std::array<extent, max_extents> extents{};

  alignas(128) std::atomic<std::uint64_t> arrived{0};  ///< at the bootstrap's fence, ever
  alignas(128) std::array<rank_record, max_ranks> records{};
  std::array<entry, max_entries> entries{};
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
