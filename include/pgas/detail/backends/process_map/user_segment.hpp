// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <pgas/detail/backends/process_map/process_memory.hpp>
#include <pgas/detail/backends/process_map/segment.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/detail/types/plain_list.hpp>
#include <string>

namespace PGAS_NAMESPACE::detail {

/// Payload in memory that the ranks already had, outside any shared mapping. process_vm_readv and
/// process_vm_writev reach a peer's part. If the system forbids those calls, a copy in the job's arena stands
/// for the part.
///
/// One table for each node holds the address of each part, one line for each rank. No rank keeps addresses of
/// its own, so none can be out of date; Ferreras' address cache would repeat the table. Ranks that are
/// threads copy directly.
///
/// With copies a part exists twice, as in MPI's separate memory model: this rank's memory, and the copy that
/// peers access. `publish_own` carries this rank's stores to the copy, and `refresh_own` carries peers' puts
/// back. Both are exact to the byte, by a third copy of the last agreed state. Source: the twins and diffs of
/// TreadMarks, Keleher et al. 1994. Ours compares at the boundaries of epochs and not at page faults, and
/// neither side asks the other.
class user_segment {
 public:
  /// No instruction modifies another process' element.
  template <class T>
  static constexpr bool is_atomic = false;

  /// The obstacle between this rank and a rank's memory: none, or an errno.
  struct obstacle {
    rank_t rank = -1;
    int why = 0;

    [[nodiscard]] bool is_there() const noexcept { return why != 0; }
  };

  /// The size of one rank's entry in the table.
  static constexpr std::size_t entry_bytes() noexcept { return sizeof(entry); }

  /// Publishes the place of this rank's part; peers may read it after the next barrier. `table` has an entry
  /// for each rank.
  user_segment(mapped_segment table, team_ranks ranks, job j, bytes_out own, bool ranks_are_threads)
      : table_(std::move(table)),
        ranks_(std::move(ranks)),
        job_(std::move(j)),
        own_(own),
        ranks_are_threads_(ranks_are_threads),
        probe_(new std::uint64_t) {
    auto const place = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(&*probe_));
    *probe_ = place ^ static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    ::new (table_.local().data())
        entry{::getpid(), static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(own_.data())),
              own_.size(), place, *probe_};
    if (!ranks_are_threads_) process_memory::admit_job();
  }

  [[nodiscard]] rank_t rank() const noexcept { return ranks_.self(); }
  [[nodiscard]] rank_t size() const noexcept { return ranks_.size(); }
  [[nodiscard]] std::size_t part_bytes(rank_t rank) const noexcept { return of(rank).bytes; }
  [[nodiscard]] bytes_out local() const noexcept { return own_; }

  /// Tries to reach this rank's own memory and, with probed_parts::all, that of every peer. It reads and
  /// writes a word of each, which must have its rank's value, since another process may have the number.
  /// Costs two system calls for each peer.
  [[nodiscard]] obstacle probe(probed_parts whose) const noexcept {
    if (int const why = probe_own(); why != 0) return {rank(), why};
    if (whose == probed_parts::own || ranks_are_threads_) return {};
    for (rank_t rank = 0; rank < size(); ++rank) {
      if (rank == this->rank() || part_bytes(rank) == 0) continue;
      entry const& there = of(rank);
      process_memory const memory(there.process);
      std::uint64_t seen = 0;
      auto* const bytes = reinterpret_cast<std::byte*>(&seen);
      int why = memory.get(there.probe, 0, bytes, 0, {1, sizeof seen});
      if (why == 0 && seen != there.probe_value) why = ESRCH;
      if (why == 0) why = memory.put(there.probe, 0, bytes, 0, {1, sizeof seen});
      if (why != 0) return {rank, why};
    }
    return {};
  }
  /// Describes an obstacle that a rank has met.
  [[nodiscard]] std::string describe(rank_t who, obstacle const& met) const {
    if (met.rank == who) {
      return text_of({"the memory that rank ", ranks_.to_world(who), " gives, ", part_bytes(who),
                      " bytes, cannot be read by itself: ", std::strerror(met.why)});
    }
    return text_of({"rank ", ranks_.to_world(who), " cannot reach the memory of rank ",
                    ranks_.to_world(met.rank), " (process ", of(met.rank).process,
                    "): ", std::strerror(met.why)});
  }

  /// Makes peers access these copies from now on, which have the same sizes. All ranks call it, followed by a
  /// barrier.
  void copy_through(mapped_segment copies) {
    seen_ = plain_list<std::byte>::for_overwrite(own_.size());
    if (!own_.empty()) {
      std::memcpy(seen_.begin(), own_.data(), own_.size());
      std::memcpy(copies.local().data(), own_.data(), own_.size());
    }
    copies_.emplace(std::move(copies));
  }
  /// True if peers access the memory itself, and no copy.
  [[nodiscard]] bool is_in_place() const noexcept { return !copies_; }

  /// Carries this rank's stores to these bytes, since the last call, to the copy.
  void publish_own(std::size_t first, std::size_t count) noexcept {
    if (copies_) carry_changes(own_.data(), copies_->local().data(), first, count);
  }
  /// Carries peers' puts into the copy, since the last call, to this rank's memory.
  void refresh_own() noexcept {
    if (copies_) carry_changes(copies_->local().data(), own_.data(), 0, seen_.size());
  }

  void put(location at, bytes_in from) const { put_rows(at, 0, from.data(), 0, {1, from.size()}); }
  void get(location at, bytes_out into) const { get_rows(at, 0, into.data(), 0, {1, into.size()}); }
  done rput(location at, bytes_in from) const { return put(at, from), done{}; }
  done rget(location at, bytes_out into) const { return get(at, into), done{}; }

  /// A move is complete when its call returns. A flush only keeps the compiler from moving others past it.
  static void flush(rank_t) noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }
  static void flush_all() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }
  static void flush_local(rank_t) noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }
  static void flush_local_all() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

  void put_rows(location at, std::size_t pitch, std::byte const* from, std::size_t from_pitch,
                row_shape shape) const {
    if (shape.rows == 0 || shape.row_bytes == 0) return;
    if (copies_) return copies_->put_rows(at, pitch, from, from_pitch, shape);
    entry const& there = of(at.rank);
    if (is_here(at.rank)) {
      return mapped_segment::copy_rows(at_address(there) + at.offset, pitch, from, from_pitch, shape);
    }
    int const why =
        process_memory(there.process).put(there.address + at.offset, pitch, from, from_pitch, shape);
    if (why != 0) [[unlikely]]
      refuse("put", at, pitch, shape, why);
  }
  void get_rows(location at, std::size_t pitch, std::byte* into, std::size_t into_pitch,
                row_shape shape) const {
    if (shape.rows == 0 || shape.row_bytes == 0) return;
    if (copies_) return copies_->get_rows(at, pitch, into, into_pitch, shape);
    entry const& there = of(at.rank);
    if (is_here(at.rank)) {
      return mapped_segment::copy_rows(into, into_pitch, at_address(there) + at.offset, pitch, shape);
    }
    int const why =
        process_memory(there.process).get(there.address + at.offset, pitch, into, into_pitch, shape);
    if (why != 0) [[unlikely]]
      refuse("get", at, pitch, shape, why);
  }

 private:
  struct entry {
    ::pid_t process;
    std::uint64_t address;
    std::uint64_t bytes;
    std::uint64_t probe;  ///< the address of an unused word
    std::uint64_t probe_value;
  };

  [[nodiscard]] entry const& of(rank_t rank) const noexcept {
    return *std::launder(reinterpret_cast<entry const*>(table_.part(rank)));
  }
  [[nodiscard]] bool is_here(rank_t rank) const noexcept {
    return ranks_are_threads_ || rank == this->rank();
  }
  static std::byte* at_address(entry const& there) noexcept {
    return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(there.address));
  }

  /// True if the ends of the own part are readable. A system call reports an error here; a load would end the
  /// rank.
  [[nodiscard]] int probe_own() const noexcept {
    if (own_.empty()) return 0;
    std::array<std::byte, 2> ends{};
    int const why = process_memory(::getpid())
                        .get(of(rank()).address, own_.size() - 1, ends.data(), 1,
                             {own_.size() > 1 ? std::size_t{2} : std::size_t{1}, 1});
    return why == EFAULT ? why : 0;  // if even this call is forbidden, nothing is known
  }

  /// Carries those bytes of `from` to `to` that differ from the last agreed state. It compares by blocks,
  /// since most are equal.
  ///
  /// A peer may meanwhile put into the copy, in an epoch that this boundary does not end. This call then
  /// carries some of the bytes, and the boundary that ends the epoch carries the others. The function is
  /// therefore hidden from the thread sanitizer, and compares words itself.
  [[gnu::no_sanitize_thread]] void carry_changes(std::byte const* from, std::byte* to, std::size_t first,
                                                 std::size_t count) noexcept {
    constexpr std::size_t block = 64;
    for (std::size_t const all = first + count; first < all; first += block) {
      std::size_t const end = std::min(first + block, all);
      std::uint64_t difference = 1;
      if (end - first == block) {
        difference = 0;
        for (std::size_t i = first; i < end; i += sizeof difference) {
          std::uint64_t now = 0;
          std::uint64_t before = 0;
          std::memcpy(&now, from + i, sizeof now);
          std::memcpy(&before, seen_.begin() + i, sizeof before);
          difference |= now ^ before;
        }
      }
      for (std::size_t i = first; difference != 0 && i < end; ++i) {
        if (std::byte const now = from[i]; now != seen_[i]) seen_[i] = to[i] = now;
      }
    }
  }

  [[noreturn, gnu::cold, gnu::noinline]] void refuse(char const* operation, location at, std::size_t pitch,
                                                     row_shape shape, int why) const {
    job_.check(operation);  // the rank may be gone
    std::string const who =
        text_of({"rank ", ranks_.to_world(at.rank), " (process ", of(at.rank).process, ")"});
    if (why == ESRCH) throw_error(errc::rank_failed, job_.rank(), operation, {who, " is gone"});
    std::string const what =
        text_of({(shape.rows - 1) * pitch + shape.row_bytes, " bytes at byte ", at.offset,
                 " of the memory of ", who, " cannot be reached: ", std::strerror(why)});
    if (why != EFAULT)
      throw_error(errc::unsupported, job_.rank(), operation,
                  {what, "; it was reachable when the window was made, so the system's rules have changed"});
    throw_error(errc::invalid_argument, job_.rank(), operation,
                {what,
                 "; keep the memory, and the sources and destinations of transfers, until the window's last "
                 "epoch has ended, and keep memory that is put into writable"});
  }

  mapped_segment table_;
  team_ranks ranks_;
  job job_;
  bytes_out own_;
  bool ranks_are_threads_;
  std::unique_ptr<std::uint64_t> probe_;  ///< for peers' probes: in this process alone, never in a mapping
  std::optional<mapped_segment> copies_;  ///< peers access these if they cannot access the memory
  plain_list<std::byte> seen_;            ///< the last state on which the own part and its copy agreed
};
static_assert(local_segment<user_segment> && !shared_segment<user_segment> && strided_segment<user_segment>);
static_assert(separate_segment<user_segment>);

}  // namespace PGAS_NAMESPACE::detail
