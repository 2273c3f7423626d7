// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <pgas/concepts/backend.hpp>
#include <pgas/detail/backends/process_map/process_memory.hpp>
#include <pgas/detail/job/job.hpp>
#include <pgas/detail/text/text_of.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Memory of the ranks of a job that are processes of one node, as one of them reaches it: see
/// reaching_backend. Memory of the arena is reached by access, and private memory by calls.
class peer_memory {
 public:
  explicit peer_memory(job const& j) noexcept : job_(&j) {}

  [[nodiscard]] memory_place place_of(bytes_in memory) const noexcept {
    auto const at = reinterpret_cast<std::uintptr_t>(memory.data());
    auto const first = reinterpret_cast<std::uintptr_t>(job_->arena());
    std::uint64_t const most = job_->block().arena_bytes;
    bool const is_in_arena = at >= first && at - first <= most && most - (at - first) >= memory.size();
    if (is_in_arena) return {at - first, memory_place::reach::access};
    return {at, memory_place::reach::call};
  }
  [[nodiscard]] std::byte* address_of(memory_place place) const noexcept {
    return place.by == memory_place::reach::access ? job_->arena() + place.at : nullptr;
  }

  // Ranks are numbers in the job.

  [[nodiscard]] bool reaches(rank_t rank, memory_place place, bytes_in trial) const {
    std::vector<std::byte> seen(trial.size());
    return of(rank).get(place.at, 0, seen.data(), 0, {1, seen.size()}) == 0 &&
           std::memcmp(seen.data(), trial.data(), seen.size()) == 0;
  }
  void read_from(rank_t rank, memory_place place, bytes_out into, std::string_view operation) const {
    if (int const why = of(rank).get(place.at, 0, into.data(), 0, {1, into.size()}); why != 0)
      refuse(rank, operation, why);
  }
  void write_to(rank_t rank, memory_place place, bytes_in from, std::string_view operation) const {
    if (int const why = of(rank).put(place.at, 0, from.data(), 0, {1, from.size()}); why != 0)
      refuse(rank, operation, why);
  }

 private:
  [[nodiscard]] process_memory of(rank_t rank) const {
    // relaxed: the ranks have met since each rank entered its process.
    return process_memory(static_cast<::pid_t>(job_->record(rank).process.load(std::memory_order_relaxed)));
  }
  [[noreturn, gnu::cold, gnu::noinline]] void refuse(rank_t rank, std::string_view operation, int why) const {
    job_->check(operation);  // the rank may be gone
    if (why == EFAULT) await_failure(operation);
    std::string const who = text_of({"rank ", rank});
    if (why == ESRCH) throw_error(errc::rank_failed, job_->rank(), operation, {who, " is gone"});
    constexpr std::string_view advice =
        "; give ordinary memory, keep it until the call has returned, and leave the system's rules "
        "for processes as they were at the team's first long collective";
    throw_error(errc::unsupported, job_->rank(), operation,
                {"the memory that ", who, " gave cannot be reached: ", std::strerror(why), advice});
  }

  /// Throws the failure of another rank that is recorded within a fifth of a second. A rank whose call throws
  /// frees its memory first, and records its failure after that.
  void await_failure(std::string_view operation) const {
    for (int looks = 0; looks < 200; ++looks) {
      ::usleep(1000);
      job_->check(operation);
    }
  }

  job const* job_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
