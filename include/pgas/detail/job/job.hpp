// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <pgas/concepts/bootstrap.hpp>
#include <pgas/concepts/control.hpp>
#include <pgas/detail/copy/cache_sizes.hpp>
#include <pgas/detail/job/bell.hpp>
#include <pgas/detail/job/block.hpp>
#include <pgas/detail/job/job_memory.hpp>
#include <pgas/detail/job/limits.hpp>
#include <pgas/detail/process/cores.hpp>
#include <pgas/detail/process/one_per_process.hpp>
#include <pgas/detail/process/setting.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/vocabulary/error.hpp>
#include <pgas/vocabulary/wait_policy.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace PGAS_NAMESPACE::detail {

/// A handle of one rank, or of the supervisor, on a job, whose block and arena lie in a job_memory.
///
/// The handle uses the mapping only. It keeps no descriptor, since the program may close all descriptors and
/// open its own files under their numbers. Only a launcher keeps the memfd open, so that ranks can join. A
/// rank includes its own parts of windows in core dumps if PGAS_CORE is 1.
///
/// The arena is sparse. The memory of an extent is allocated when it is reserved, and freed when its last
/// holder releases it. Ranks name memory by offset, never by address. A job is the bootstrap of ranks on one
/// node. Copies refer to the same mapping.
class job {
 public:
  /// The rank number of a handle that belongs to no rank.
  static constexpr rank_t supervisor = -1;

  /// Makes the block and an arena for a new job. With `shared_arena` false there is no arena: the ranks share
  /// no payload.
  [[nodiscard]] static job create(rank_t ranks, bool shared_arena = true) {
    job made = create_for_launcher(ranks, shared_arena);
    made.memory_->close_descriptor();
    return made;
  }

  /// The same, but keeps the memfd open at `fd()` for ranks that join by `attach`.
  [[nodiscard]] static job create_for_launcher(rank_t ranks, bool shared_arena = true) {
    if (ranks < 1 || static_cast<std::size_t>(ranks) > job_block::max_ranks) {
      throw_error(errc::invalid_argument, supervisor,
                  {"a job has 1 to ", job_block::max_ranks, " ranks, not ", ranks});
    }
    auto const limit = setting::variable("PGAS_TIMEOUT");
    double const timeout = limit.given() ? limit.seconds() : 0;
    if (auto const core = setting::variable("PGAS_CORE"); core.given())
      static_cast<void>(core.yes_or_no());  // before ranks need it
    static_cast<void>(cached_bytes_given());
    auto memory = job_memory::create(shared_arena);
    auto* const block = job_block::make_in(memory->base());
    block->ranks = static_cast<std::uint32_t>(ranks);
    block->arena_bytes = memory->arena_bytes();
    block->timeout_seconds = timeout;
    memory->know_ranks(ranks);
    return job(std::move(memory), supervisor);
  }

  /// Joins a job whose memfd this process inherited. The program may join again, even if it has closed the
  /// descriptor since. No other process may join as the same rank while this one runs.
  [[nodiscard]] static job attach(int fd, rank_t rank) {
    std::shared_ptr<job_memory>& joined_before = one_per_process<joined>().memory;
    struct ::stat info {};
    bool const is_job = ::fstat(fd, &info) == 0 &&
                        static_cast<std::uint64_t>(info.st_size) >= job_memory::block_bytes() &&
                        ::fcntl(fd, F_GET_SEALS) >= 0;  // no other kind of file has seals
    if (is_job && (!joined_before || !joined_before->is_of(info)))
      joined_before = job_memory::of_file(fd, info, rank);
    if (!joined_before) {
      throw_error(errc::invalid_argument, rank, "attach",
                  {"descriptor ", fd,
                   " (PGAS_JOB_FD) is not the memory of a pgas job; start the program by pgas-run, and "
                   "leave that descriptor open until run is called"});
    }
    job joined(joined_before, rank);
    if (joined.block().version.load() != job_block::layout || rank < 0 || rank >= joined.size()) {
      joined_before = {};
      throw_error(errc::mismatch, rank, "attach",
                  "launcher and program were built from different versions of pgas; build both from one");
    }
    joined.memory_->know_ranks(joined.size());
    joined.claim_rank();
    return joined;
  }

  /// Joins a job as one of its ranks, for a rank that another process has given the memfd.
  [[nodiscard]] static job share(int fd, rank_t rank) {
    struct ::stat info {};
    if (::fstat(fd, &info) != 0 || static_cast<std::uint64_t>(info.st_size) < job_memory::block_bytes())
      throw_error(errc::invalid_argument, rank, "attach", "the descriptor is not the memory of a pgas job");
    job shared(job_memory::of_file(fd, info, rank), rank);
    shared.memory_->know_ranks(shared.size());
    return shared;
  }
  /// Closes the memfd of create_for_launcher, when all ranks have joined.
  void close_memfd() const noexcept { memory_->close_descriptor(); }

  /// The same job, as one of its ranks sees it.
  [[nodiscard]] job as(rank_t rank) const {
    job copy = *this;
    copy.rank_ = rank;
    return copy;
  }

  [[nodiscard]] rank_t rank() const noexcept { return rank_; }
  [[nodiscard]] rank_t size() const noexcept { return static_cast<rank_t>(block().ranks); }
  /// The lock holders of this rank.
  [[nodiscard]] held_locks& locks() const noexcept { return memory_->locks_of(rank_); }
  /// The wait policy of the job.
  [[nodiscard]] wait_policy waits() const noexcept { return waits_; }
  /// Returns whether the job has more ranks than cores. Computed once, since waits ask for it.
  [[nodiscard]] bool shares_cores() const noexcept { return shares_cores_; }
  /// Says so for a job of which only some ranks are on this node.
  void set_shares_cores(bool shares) noexcept { shares_cores_ = shares; }
  /// The memfd of a job that create_for_launcher has made; else -1.
  [[nodiscard]] int fd() const noexcept { return memory_->descriptor(); }
  [[nodiscard]] job_block& block() const noexcept {
    return *std::launder(static_cast<job_block*>(memory_->base()));
  }
  [[nodiscard]] std::byte* arena() const noexcept { return memory_->arena(); }

  // Phases and failure

  void mark_running() const noexcept {
    if (!bell::admit_fences()) block().without_fences.store(1, std::memory_order_relaxed);
    record().process.store(static_cast<std::uint32_t>(::getpid()), std::memory_order_relaxed);
    record().phase.store(job_block::running, std::memory_order_release);
  }
  void mark_returned() const noexcept {
    record().phase.store(job_block::returned, std::memory_order_release);
  }
  void mark_finished(rank_t rank) const noexcept {
    record(rank).phase.store(job_block::finished, std::memory_order_release);
  }

  /// Records the job's failure; only the first record counts. All waits of all ranks then throw.
  void mark_failed(rank_t rank, std::string_view what, errc code = errc::rank_failed) const noexcept {
    block().record_failure(2 * writer(), 0, rank, what, code);
  }

  /// Records why this rank's main ended early. It adds the cause to a failure that a guard has already
  /// recorded during unwinding. An error that repeats that failure, as a wait throws it, is no cause.
  void mark_cause(std::string_view what, errc code = errc::rank_failed) const noexcept {
    mark_failed(rank_, what, code);
    std::uint32_t const now = block().failure.load(std::memory_order_acquire);
    if (now % 2 == 0 || failure().rank != rank_) return;  // none, or a cause
    if (what.ends_with(as_cause(failure().text.data()))) return;
    block().record_failure(2 * writer() + 1, now, rank_, what, code);
  }

  [[nodiscard]] bool failed() const noexcept { return block().failure.load(std::memory_order_acquire) != 0; }
  [[nodiscard]] rank_t failed_rank() const noexcept { return failed() ? failure().rank : -1; }
  [[nodiscard]] errc failure_code() const noexcept { return static_cast<errc>(failure().code); }
  [[nodiscard]] std::string failure_text() const { return failed() ? failure().text.data() : ""; }

  /// Throws if the job has failed.
  void check(std::string_view operation) const {
    if (failed()) [[unlikely]]
      throw_failed(operation);
  }

  // Extents of the arena

  /// Reserves `bytes` zeroed bytes that `holders` ranks will release; returns their offset in the arena.
  [[nodiscard]] std::uint64_t reserve(std::uint64_t bytes, rank_t holders) const {
    return reserve(bytes, holders, bytes, bytes);
  }
  /// Reserves addresses for `bytes` bytes like the other overload, but allocates only the first `shared`
  /// bytes now. Then all ranks at once allocate the memory that they will use most, by `populate`: `memory`
  /// bytes in all, since some addresses may stay without memory.
  [[nodiscard]] std::uint64_t reserve(std::uint64_t bytes, rank_t holders, std::uint64_t shared,
                                      std::uint64_t memory) const {
    std::uint64_t const wanted = std::max(in_pages(bytes), page);
    if (bytes > block().arena_bytes)
      refuse(bytes, text_of({"the job's address space has only ", block().arena_bytes}));
    std::uint64_t const taken = std::max(in_pages(memory), page);
    if (std::uint64_t const available = available_memory(taken); taken > available) {
      refuse(memory, text_of({"only ", available, " are left; take less, or use fewer ranks on this node"}));
    }
    std::uint64_t const offset = take_extent(wanted, holders, block().arena_bytes);
    if (int const why = take_memory(offset, std::max(in_pages(shared), page)); why != 0) {
      release(offset, holders);
      refuse(bytes, std::strerror(why));
    }
    return offset;
  }

  /// Allocates the memory of whole pages of an extent on this rank's node, and fills the entries of its page
  /// table.
  void populate(std::uint64_t offset, std::uint64_t bytes) const {
    if (bytes == 0) return;
    if (int const why = take_memory(offset, bytes); why != 0) refuse(bytes, std::strerror(why));
  }

  /// Makes core dumps of this process show these bytes of an extent if PGAS_CORE asks for it.
  void show_in_core(std::uint64_t offset, std::uint64_t bytes) const noexcept {
    if (bytes == 0 || setting::variable("PGAS_CORE").text() != "1") return;
    std::uint64_t const first = offset / page * page;
    ::madvise(arena() + first, in_pages(offset + bytes - first), MADV_DODUMP);
  }

  /// Releases `shares` shares of the extent at `offset`. The last one returns the memory to the system.
  /// Blocks only briefly.
  void release(std::uint64_t offset, rank_t shares = 1) const noexcept {
    give_extent(offset, shares, [this](job_block::extent const& unused) {
      std::byte* const first = arena() + unused.offset;
      // Locked memory (mlockall) stays, and must be zero for the next extent.
      if (::madvise(first, unused.bytes, MADV_REMOVE) != 0) std::memset(first, 0, unused.bytes);
    });
  }

  /// Enters an extent of `bytes` bytes into the table and returns its offset in a space of `space` bytes. The
  /// space is the arena, or memory outside the job; a job uses one of the two for all its extents.
  [[nodiscard]] std::uint64_t take_extent(std::uint64_t bytes, rank_t holders, std::uint64_t space) const {
    guard const hold(*this);
    job_block& b = block();
    if (b.extent_count == job_block::max_extents)
      refuse(bytes, "the job already has the most windows that it can have; destroy some first");
    std::uint64_t offset = 0;
    std::uint32_t place = 0;
    for (; place < b.extent_count; ++place) {  // finds the first gap that is large enough
      if (b.extents[place].offset - offset >= bytes) break;
      offset = b.extents[place].offset + b.extents[place].bytes;
    }
    if (space - offset < bytes) refuse(bytes, "no gap in the job's address space is that large");
    for (std::uint32_t i = b.extent_count; i > place; --i) b.extents[i] = b.extents[i - 1];
    b.extents[place] = {offset, bytes, static_cast<std::uint64_t>(holders)};
    ++b.extent_count;
    return offset;
  }

  /// Releases shares of an extent. Before the last share removes the extent from the table, calls
  /// when_unused(extent).
  template <class WhenUnused>
  void give_extent(std::uint64_t offset, rank_t shares, WhenUnused&& when_unused) const noexcept {
    if (failed()) return;  // a dead rank may hold the lock; the memory goes with the job
    try {
      guard const hold(*this);
      job_block& b = block();
      std::uint32_t place = 0;
      while (place < b.extent_count && b.extents[place].offset != offset) ++place;
      if (place == b.extent_count) return;
      auto& extent = b.extents[place];
      extent.holders -= std::min(extent.holders, static_cast<std::uint64_t>(shares));
      if (extent.holders != 0) return;
      when_unused(extent);
      --b.extent_count;
      for (; place < b.extent_count; ++place) b.extents[place] = b.extents[place + 1];
    } catch (error const&) {
      // The job failed during the wait for the lock.
    }
  }

  [[nodiscard]] std::uint32_t extent_count() const noexcept { return block().extent_count; }

  // Bootstrap

  void put(std::string_view key, bytes_in value) const {
    guard const hold(*this);
    job_block& b = block();
    std::uint32_t count = b.entry_count.load(std::memory_order_relaxed);
    if (auto const* known = find(key))
      count = static_cast<std::uint32_t>(known - b.entries.data());  // put again
    if (count == job_block::max_entries || value.size() > job_block::max_value ||
        key.size() >= sizeof(job_block::entry::key)) {
      throw_error(errc::no_space, rank_, "bootstrap", {"there is no room for the key '", key, "'"});
    }
    auto& entry = b.entries[count];
    entry.key = {};
    std::memcpy(entry.key.data(), key.data(), key.size());
    entry.bytes = static_cast<std::uint32_t>(value.size());
    if (!value.empty()) std::memcpy(entry.value.data(), value.data(), value.size());
    if (count < b.entry_count.load(std::memory_order_relaxed)) return;
    b.entry_count.store(count + 1, std::memory_order_release);  // pairs with the acquire in find
  }

  void get(std::string_view key, bytes_out into) const;  // in wait.hpp: it waits
  void fence() const;                                    // in wait.hpp: it waits
  void fail(std::string_view what) const noexcept { mark_failed(rank_, what); }

  /// The entry under `key`, or null.
  [[nodiscard]] job_block::entry const* find(std::string_view key) const noexcept {
    job_block& b = block();
    std::uint32_t const count = b.entry_count.load(std::memory_order_acquire);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (key == b.entries[i].key.data()) return &b.entries[i];
    }
    return nullptr;
  }

  [[nodiscard]] job_block::rank_record& record(rank_t rank) const noexcept {
    return block().records[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] job_block::rank_record& record() const noexcept { return record(rank_); }

  static constexpr std::uint64_t page = job_memory::page;

 private:
  /// The job that this process has joined, also through another shared object.
  struct joined {
    static constexpr std::string_view shared_name = "joined job";
    std::shared_ptr<job_memory> memory;
  };

  /// Holds the block's lock. It is held for some hundred nanoseconds, at start-up and at the creation of
  /// windows only.
  class guard {
   public:
    explicit guard(job const& j) : lock_(j.block().lock) {
      // acquire: pairs with the release in ~guard.
      while (lock_.exchange(1, std::memory_order_acquire) != 0) {
        j.check("reserve");
        give_up_core();
      }
    }
    ~guard() { lock_.store(0, std::memory_order_release); }
    guard(guard const&) = delete;
    guard& operator=(guard const&) = delete;

   private:
    std::atomic<std::uint32_t>& lock_;
  };

  /// Allocates the memory of whole pages now: a later store without memory would end the rank by SIGBUS.
  /// Returns an errno, or 0.
  [[nodiscard]] int take_memory(std::uint64_t offset, std::uint64_t bytes) const noexcept {
    std::byte* const first = arena() + offset;
    take_huge_pages(first, bytes);
#if defined(MADV_POPULATE_WRITE)
    int result = 0;
    do {
      result = ::madvise(first, bytes, MADV_POPULATE_WRITE);
    } while (result != 0 && errno == EINTR);
    if (result == 0) return 0;
    if (errno != EINVAL) return errno == EFAULT ? ENOMEM : errno;
#endif
    // Before Linux 5.14. A peer may already put into the page, so this store changes no value.
    for (std::uint64_t at = 0; at < bytes; at += page) {
      std::atomic_ref(*reinterpret_cast<unsigned char*>(first + at)).fetch_or(0, std::memory_order_relaxed);
    }
    return 0;
  }

  [[noreturn]] void refuse(std::uint64_t bytes, std::string const& why) const {
    throw_error(errc::no_space, rank_, "reserve", {bytes, " bytes were asked for: ", why});
  }

  static constexpr std::uint64_t in_pages(std::uint64_t bytes) noexcept {
    return (bytes + page - 1) / page * page;
  }

  [[noreturn, gnu::cold, gnu::noinline]] void throw_failed(std::string_view operation) const {
    throw_error(failure_code(), rank_, operation, {as_cause(failure_text())});
  }

  // Pairs with the release in job_block::record_failure.
  [[nodiscard]] job_block::failure_record const& failure() const noexcept {
    return block().failures[block().failure.load(std::memory_order_acquire) - 1];
  }
  [[nodiscard]] std::size_t writer() const noexcept { return static_cast<std::size_t>(rank_) + 1; }

  /// Registers this process as the one that runs the rank.
  void claim_rank() const {
    std::uint32_t now = record().phase.load(std::memory_order_acquire);
    auto const self = static_cast<std::uint32_t>(::getpid());
    while (now == job_block::absent || now == job_block::returned) {
      if (record().phase.compare_exchange_weak(now, job_block::running, std::memory_order_acq_rel)) {
        record().process.store(self, std::memory_order_relaxed);
        return;
      }
    }
    std::uint32_t const other = record().process.load(std::memory_order_relaxed);
    if (other == self) return;
    throw_error(errc::invalid_argument, rank_, "attach",
                {"process ", self, " cannot join as rank ", rank_, ", as which process ", other,
                 " runs; start programs from a rank without the variable PGAS_JOB_FD"});
  }

  job(std::shared_ptr<job_memory> m, rank_t rank) : memory_(std::move(m)), rank_(rank) {}

  std::shared_ptr<job_memory> memory_;
  rank_t rank_;
  wait_policy waits_ = wait_policy_from_environment();
  bool shares_cores_ = block().ranks > block().cores;
};

}  // namespace PGAS_NAMESPACE::detail
