// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <pgas/detail/job/limits.hpp>
#include <pgas/vocabulary/error.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <string_view>

namespace PGAS_NAMESPACE::detail {

/// The memory that the ranks of a job and their supervisor share beside payload: phases, waits, the failure,
/// and extents. It holds plain numbers and characters only, since ranks may be different programs at
/// different addresses.
struct job_block {
  static constexpr std::uint32_t layout = 0x70670005;  ///< changes whenever this struct does
  static constexpr std::size_t max_ranks = 1024;
  static constexpr std::size_t max_extents = 4096;
  static constexpr std::size_t max_entries = 64;
  static constexpr std::size_t max_value = 4096;

  /// running: in the body of a job. returned: the body has ended, but the program may run another. finished:
  /// gone for good.
  enum phase : std::uint32_t { absent, running, returned, finished };

  /// The number of locks that a wait reports. A rank that holds more reports the first ones.
  static constexpr std::size_t max_locks = 64;

  /// One rank's wait. That rank alone writes it; a search for deadlocks reads it.
  struct alignas(128) rank_record {
    std::atomic<std::uint32_t> phase{absent};
    std::atomic<std::uint32_t> process{0};
    std::atomic<std::uint32_t> is_copy{0};  ///< 1 if a rank of another node waits, as its last letter said
    std::atomic<std::uint64_t> wait{0};     ///< odd while a wait is published; each wait adds two
    std::atomic<std::uint64_t> checks{0};   ///< how often the published wait has found its condition false
    std::array<std::atomic<char>, 24> operation{};
    std::array<std::atomic<char>, 24> label{};
    std::array<std::atomic<std::uint64_t>, max_ranks / 64> awaited{};  ///< one bit for each rank of the job
    std::atomic<std::int32_t> acquires{0};              ///< the part whose lock it awaits, or negative
    std::array<std::atomic<std::uint64_t>, 2> wants{};  ///< keys of the locks that must be released before
    std::array<std::atomic<std::uint64_t>, max_locks> holds{};  ///< keys of locks; 0 ends them
  };

  /// A published key of the bootstrap.
  struct entry {
    std::array<char, 32> key{};
    std::uint32_t bytes = 0;
    std::array<std::byte, max_value> value{};
  };

  /// An extent of the arena that is in use. The table is sorted by offset.
  struct extent {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint64_t holders = 0;  ///< ranks that have not released it yet
  };

  std::atomic<std::uint32_t> version{layout};
  std::uint32_t ranks = 0;
  /// That the ranks can use at once, as the launcher counted them.
  std::uint32_t cores = static_cast<std::uint32_t>(available_cores());
  std::uint64_t arena_bytes = 0;
  double timeout_seconds = 0;  ///< of every wait; 0: none

  /// A failure as one writer has recorded it.
  struct failure_record {
    std::atomic<std::uint32_t> taken{0};  ///< 1 once a thread of the writer has begun to write it
    std::int32_t rank = 0;
    std::int32_t code = 0;
    std::array<char, 1024> text{};
  };

  /// The failure of the job. 0: none; else 1 + the number of the record that counts.
  ///
  /// Each writer has two records of its own: record 2 w for a symptom, 2 w + 1 for its cause. The supervisor
  /// is writer 0, and rank r is writer r + 1. A writer writes its record first and then enters the record's
  /// number here. A writer that dies before that has recorded nothing, and blocks nobody.
  alignas(128) std::atomic<std::uint32_t> failure{0};
  std::array<failure_record, 2 * (max_ranks + 1)> failures{};
  /// 1: the supervisor of forked ranks has seen the end of all of them.
  std::atomic<std::uint32_t> all_ended{0};

  alignas(128) std::atomic<std::uint32_t> lock{0};  ///< guards entries and extents
  std::atomic<std::uint32_t> entry_count{0};
  std::uint32_t extent_count = 0;
  std::array<extent, max_extents> extents{};

  alignas(128) std::atomic<std::uint64_t> arrived{0};  ///< all arrivals at the bootstrap's fence
  std::uint32_t arrived_bell = 0;

  /// The rank that looks for a deadlock, plus one; 0: none does.
  alignas(128) std::atomic<std::uint32_t> looker{0};
  std::atomic<std::uint32_t> looks{0};           ///< the number of such looks so far
  std::atomic<std::uint32_t> has_copies{0};      ///< 1: some records are copies, which rank 0 receives
  std::atomic<std::uint32_t> without_fences{0};  ///< not 0: a rank's system has no membarrier

  /// Bells for words that lie outside the job's memory, each bell for many words.
  struct alignas(64) lone_bell {
    std::uint32_t state = 0;
  };
  std::array<lone_bell, 64> bells{};

  alignas(128) std::array<rank_record, max_ranks> records{};
  std::array<entry, max_entries> entries{};

  /// Writes record `number`, and makes it the job's failure if that still is `before`. Calls nothing that a
  /// handler of a signal may not call.
  [[gnu::noinline]] void record_failure(std::size_t number, std::uint32_t before, rank_t rank,
                                        std::string_view what, errc code) noexcept {
    failure_record& record = failures[number];
    if (failure.load(std::memory_order_acquire) != before) return;
    if (record.taken.exchange(1, std::memory_order_relaxed) != 0) return;  // another thread writes it
    record.rank = rank;
    record.code = static_cast<std::int32_t>(code);
    std::size_t const length = std::min(what.size(), record.text.size() - 1);
    std::memcpy(record.text.data(), what.data(), length);
    record.text[length] = '\0';
    // release: pairs with the acquire in job::failed() and job::failure().
    failure.compare_exchange_strong(before, static_cast<std::uint32_t>(number + 1), std::memory_order_acq_rel,
                                    std::memory_order_acquire);
  }

  /// Makes a block in new memory of the system, whose bytes are zero, as most members are. Only the version
  /// and the cores are written, so a job of few ranks touches few of the block's pages.
  static job_block* make_in(void* zeros) noexcept {
    auto* const made = std::launder(static_cast<job_block*>(zeros));
    made->cores = static_cast<std::uint32_t>(available_cores());
    made->version.store(layout,
                        std::memory_order_relaxed);  // the ranks start later, and see the store by that
    return made;
  }
};

}  // namespace PGAS_NAMESPACE::detail
