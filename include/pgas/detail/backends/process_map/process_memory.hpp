// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <pgas/concepts/backend.hpp>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/job/job.hpp>
#include <pgas/detail/text/text.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// The memory of another process of this host, of any kind. Each copy is a system call, without that process'
/// help.
///
/// The kernel allows it if the caller may trace the process: a process of the same user, unless Yama's
/// ptrace_scope or a container's filter forbids it. Only a trial shows whether it does.
class process_memory {
 public:
  explicit process_memory(::pid_t process) noexcept : process_(process) {}

  /// Lets the ranks of this job trace this process, as far as it can permit that. If Yama allows tracing to
  /// ancestors only, the call permits it to the ranks' parent and its descendants, so to this job alone.
  /// Without Yama the call fails, and is not needed.
  static void admit_job() noexcept {
    ::prctl(PR_SET_PTRACER, static_cast<unsigned long>(::getppid()), 0, 0, 0);
  }

  /// Moves rows between this process and address `there`. Returns 0 or an errno: EPERM or ENOSYS if moves are
  /// forbidden, ESRCH if the process is gone, EFAULT if it has no such memory, or none that can be written.
  [[nodiscard]] int put(std::uint64_t there, std::size_t there_pitch, std::byte const* from,
                        std::size_t from_pitch, row_shape shape) const noexcept {
    // iovec has no const; process_vm_writev only reads here.
    return move(::process_vm_writev, const_cast<std::byte*>(from), from_pitch, there, there_pitch, shape);
  }
  [[nodiscard]] int get(std::uint64_t there, std::size_t there_pitch, std::byte* into, std::size_t into_pitch,
                        row_shape shape) const noexcept {
    return move(::process_vm_readv, into, into_pitch, there, there_pitch, shape);
  }

 private:
  static constexpr std::size_t most_rows = 256;  ///< in one call; the kernel takes 1024: 32 KiB of stack

  template <class Call>
  int move(Call call, std::byte* here, std::size_t here_pitch, std::uint64_t there, std::size_t there_pitch,
           row_shape shape) const noexcept {
    if (shape.rows > 1 && here_pitch == shape.row_bytes && there_pitch == shape.row_bytes) {
      shape = {1, shape.rows * shape.row_bytes};  // without gaps on both sides
    }
    std::size_t const all = shape.rows * shape.row_bytes;
    std::array<::iovec, most_rows> here_rows;
    std::array<::iovec, most_rows> there_rows;
    for (std::size_t done = 0; done < all;) {  // a call may move less than all: 2 GiB at most
      std::size_t const first = done / shape.row_bytes;
      std::size_t const skip = done % shape.row_bytes;
      std::size_t const rows = std::min(most_rows, shape.rows - first);
      for (std::size_t i = 0; i < rows; ++i) {
        std::size_t const gone = i == 0 ? skip : 0;
        here_rows[i] = {here + (first + i) * here_pitch + gone, shape.row_bytes - gone};
        there_rows[i] = {reinterpret_cast<void*>(there + (first + i) * there_pitch + gone),
                         shape.row_bytes - gone};
      }
      ::ssize_t const moved = call(process_, here_rows.data(), rows, there_rows.data(), rows, 0);
      if (moved <= 0) return moved < 0 ? errno : EFAULT;
      done += static_cast<std::size_t>(moved);
    }
    return 0;
  }

  ::pid_t process_;
};

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
    // relaxed: a barrier has passed since each rank recorded its process.
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

}  // namespace PGAS_NAMESPACE::detail
