// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <concepts>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <pgas/concepts/control.hpp>
#include <pgas/detail/job/job.hpp>
#include <pgas/detail/job/wait.hpp>
#include <pgas/detail/process/setting.hpp>
#include <pgas/detail/processor/processor.hpp>
#include <pgas/detail/text/text.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace PGAS_NAMESPACE::detail {

/// While it lives, an access to a truncated part of a mapped file ends the job with an error that names the
/// file and the rank. Without it, the rank would die by a SIGBUS without a name.
///
/// The handler of SIGBUS records the failure. It then restores the default action and returns, so the access
/// ends the rank. For other addresses it restores the program's own action. A process has at most one such
/// object.
class truncation_watch {
 public:
  truncation_watch(job const& mine, std::byte const* base, std::uint64_t bytes, std::string const& file)
      : state_(std::make_unique<state>(mine, base, bytes,
                                       "rank " + std::to_string(mine.rank()) + ": pool_map: the file " +
                                           file +
                                           " has lost bytes that the job uses: it was truncated, or its "
                                           "device is full; leave the file alone until the job has ended")) {
    current().store(state_.get(), std::memory_order_release);
    struct ::sigaction action {};
    action.sa_sigaction = &handle;
    action.sa_flags = SA_SIGINFO;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(SIGBUS, &action, &state_->before);
  }
  truncation_watch(truncation_watch const&) = delete;
  truncation_watch& operator=(truncation_watch const&) = delete;
  ~truncation_watch() {
    ::sigaction(SIGBUS, &state_->before, nullptr);
    current().store(nullptr, std::memory_order_release);
  }

 private:
  struct state {
    state(job const& j, std::byte const* b, std::uint64_t n, std::string t)
        : mine(j), base(b), bytes(n), text(std::move(t)) {}
    job mine;
    std::byte const* base;
    std::uint64_t bytes;
    std::string text;
    struct ::sigaction before {};
  };

  static std::atomic<state*>& current() noexcept {
    static std::atomic<state*> one{nullptr};
    return one;
  }

  static void handle(int, ::siginfo_t* info, void*) noexcept {
    struct ::sigaction standard {};
    standard.sa_handler = SIG_DFL;
    state const* const s = current().load(std::memory_order_acquire);
    auto const* const at = static_cast<std::byte const*>(info->si_addr);
    bool const ours = s != nullptr && at >= s->base && at < s->base + s->bytes;
    if (ours) s->mine.mark_failed(s->mine.rank(), s->text, errc::bad_file);
    ::sigaction(SIGBUS, ours || s == nullptr ? &standard : &s->before, nullptr);
  }

  std::unique_ptr<state> state_;
};

}  // namespace PGAS_NAMESPACE::detail

namespace PGAS_NAMESPACE {

/// Memory to be mapped: a device of a memory pool, a file on one, or any file for a trial.
struct pool_memory {
  int fd = -1;               ///< readable and writable; the mapping closes it
  std::uint64_t offset = 0;  ///< a multiple of the size that the system can map
  std::uint64_t bytes = 0;   ///< 0: up to the end, if the system knows it
};

/// A source of memory for pool_map. run calls `open()` once, before the ranks start; with a launcher, each
/// rank does.
template <class S>
concept pool_source = requires {
  { S::open() } -> std::same_as<pool_memory>;
};

/// The path in PGAS_POOL. PGAS_POOL_OFFSET and PGAS_POOL_BYTES name a part of it.
struct pool_from_environment {
  /// Opens the memory. Throws errc::invalid_argument if the variables name none.
  static pool_memory open() {
    auto const path = detail::setting::variable("PGAS_POOL");
    if (!path.given()) {
      throw error(errc::invalid_argument, -1,
                  "pool_map: there is no memory; set PGAS_POOL to the path of a file or device, and "
                  "PGAS_POOL_OFFSET and "
                  "PGAS_POOL_BYTES to use a part of it");
    }
    pool_memory memory{.fd = -1, .offset = number("PGAS_POOL_OFFSET"), .bytes = number("PGAS_POOL_BYTES")};
    memory.fd = ::open(path.text().c_str(), O_RDWR | O_CLOEXEC);
    if (memory.fd < 0) {
      throw error(errc::invalid_argument, -1,
                  "pool_map: PGAS_POOL is " + detail::in_quotes(path.text()) + ": " + std::strerror(errno));
    }
    return memory;
  }

 private:
  static std::uint64_t number(char const* name) {
    auto const given = detail::setting::variable(name);
    return given.given() ? given.whole("a number of bytes", 0, std::numeric_limits<std::uint64_t>::max()) : 0;
  }
};
static_assert(pool_source<pool_from_environment>);

/// A rank's access to a pool, through this processor's cache. Tests use an emulated cache in its place.
struct processor_cache {
  static_assert(
      processor::puts_are_exact,
      "pool_map: this processor cannot store past its cache, so a put would write back whole lines with "
      "neighbours' old bytes; use process_map");

  /// The bytes of a cache line.
  static std::size_t line_bytes() noexcept { return processor::line_bytes(); }
  /// Returns null, with errno, if the memory cannot be mapped.
  static std::byte* map(pool_memory const& m) noexcept {
    void* const base =
        ::mmap(nullptr, m.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, m.fd, static_cast<::off_t>(m.offset));
    return base == MAP_FAILED ? nullptr : static_cast<std::byte*>(base);
  }
  /// Ends a mapping.
  static void unmap(std::byte* base, std::uint64_t bytes) noexcept { ::munmap(base, bytes); }

  /// Stores a word through the cache, whose line is then dirty.
  static void store(word* to, word value, std::memory_order order) noexcept {
    std::atomic_ref(*to).store(value, order);
  }
  static void clean(std::byte* address, std::size_t bytes) noexcept { processor::clean(address, bytes); }
  static void drop(std::byte* address, std::size_t bytes) noexcept { processor::drop(address, bytes); }
  /// Stores bytes past the cache; drain_stores completes the stores.
  static void put_past(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
    processor::put_past(to, from, bytes);
  }
  static void drain_stores() noexcept { processor::drain_stores(); }
  static void drain_all() noexcept { processor::drain_all(); }
};

namespace detail {

/// The memory of a source, mapped into this process and its children. Copies refer to the same mapping.
template <class Cache>
class pool {
 public:
  /// Shared objects begin on lines of this length. Through its cache, only one rank stores to each line.
  static constexpr std::size_t line = 64;

  /// Maps the memory for the ranks that this process will start.
  static pool map(pool_memory const& given) {
    return map(given, [](descriptor const& d, range const& part) { lock(d, F_WRLCK, part); });
  }
  /// Maps the memory for one rank of a launcher; collective. Rank 0 locks it against other jobs. Its lock
  /// then lets other ranks' locks in, but no other job's.
  static pool map(pool_memory const& given, job const& mine) {
    return map(given, [&mine](descriptor const& d, range const& part) {
      mine.fence();  // no rank has the memory of an earlier run any more
      if (mine.rank() == 0) {
        lock(d, F_WRLCK, part);
        lock(d, F_RDLCK, part);  // in one step: there is no moment without a lock
      }
      mine.fence();
      if (mine.rank() != 0) lock(d, F_RDLCK, part);
    });
  }

  /// Makes an object that names the file if another program truncates it. Null for a device.
  [[nodiscard]] std::unique_ptr<truncation_watch> watch(job const& mine) const {
    if (mapping_->file.empty()) return nullptr;
    return std::make_unique<truncation_watch>(mine, data(), bytes(), mapping_->file);
  }

  [[nodiscard]] std::byte* data() const noexcept { return mapping_->base; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return mapping_->bytes; }

  /// Reserves a zeroed extent that each of `holders` ranks will release; returns its offset.
  [[nodiscard]] std::uint64_t reserve(job const& j, std::uint64_t wanted, rank_t holders) const {
    if (wanted > bytes()) {
      throw error(errc::no_space, j.rank(), "reserve",
                  std::to_string(wanted) + " bytes were asked for: the memory given to pool_map has only " +
                      std::to_string(bytes()));
    }
    std::uint64_t const extent = j.take_extent((wanted + line - 1) / line * line, holders, bytes());
    static constexpr std::byte zeros[4096]{};
    for (std::uint64_t done = 0; done < wanted;) {
      auto const piece = static_cast<std::size_t>(std::min<std::uint64_t>(sizeof zeros, wanted - done));
      Cache::put_past(data() + extent + done, zeros, piece);
      done += piece;
    }
    Cache::drain_stores();
    return extent;
  }

 private:
  struct descriptor {
    explicit descriptor(int fd) noexcept : number(fd) {}
    descriptor(descriptor const&) = delete;
    descriptor& operator=(descriptor const&) = delete;
    ~descriptor() {
      if (number >= 0) ::close(number);
    }
    int number;
  };
  struct mapping {
    mapping(std::byte* b, std::uint64_t n) noexcept : base(b), bytes(n) {}
    mapping(mapping const&) = delete;
    mapping& operator=(mapping const&) = delete;
    ~mapping() { Cache::unmap(base, bytes); }
    std::byte* base;
    std::uint64_t bytes;
    std::string file;  ///< the name of a plain file, which may be truncated; else empty
  };

  /// The bytes of the file that a job uses.
  struct range {
    std::uint64_t offset;
    std::uint64_t bytes;
  };

  template <class Lock>
  static pool map(pool_memory given, Lock const& lock_it) {
    descriptor const owned{given.fd};
    struct ::stat info {};
    if (::fstat(given.fd, &info) != 0)
      refuse(std::string("the descriptor of its memory: ") + std::strerror(errno));
    if (S_ISREG(info.st_mode)) {
      // A store past the end of a file would end the rank by a signal.
      auto const size = static_cast<std::uint64_t>(info.st_size);
      std::uint64_t const left = given.offset < size ? size - given.offset : 0;
      if (given.bytes == 0) given.bytes = left;
      if (given.bytes > left || left == 0) {
        refuse("the file has " + std::to_string(size) + " bytes, not " + std::to_string(given.bytes) +
               " from " + std::to_string(given.offset) + " on");
      }
    }
    if (given.bytes == 0) refuse("the size of a device is unknown; set PGAS_POOL_BYTES");
    if (Cache::line_bytes() != line) {
      refuse("a line of this processor has " + std::to_string(Cache::line_bytes()) + " bytes, not " +
             std::to_string(line));
    }
    std::byte* const base = Cache::map(given);
    if (base == nullptr) {
      refuse(std::to_string(given.bytes) + " bytes from " + std::to_string(given.offset) +
             " on cannot be mapped: " + std::strerror(errno));
    }
    auto mapped = std::make_shared<mapping>(base, given.bytes);
    lock_it(owned, {given.offset, given.bytes});
    if (S_ISREG(info.st_mode)) mapped->file = name_of(given.fd);
    return pool(std::move(mapped));
  }

  /// Locks a part of the file: for this job alone (F_WRLCK), or beside the other ranks of it (F_RDLCK). Two
  /// jobs may use different parts of one file. The lock is the open file's, which the mapping holds. It ends
  /// with the last process that maps the memory, whatever ends that process.
  static void lock(descriptor const& file, short how, range const& part) {
    struct ::flock wanted {};
    wanted.l_type = how;
    wanted.l_whence = SEEK_SET;
    wanted.l_start = static_cast<::off_t>(part.offset);
    wanted.l_len = static_cast<::off_t>(part.bytes);
    if (::fcntl(file.number, F_OFD_SETLK, &wanted) == 0) return;
    if (errno != EAGAIN && errno != EACCES) return;  // a device that has no locks
    refuse("another job uses " + name_of(file.number) +
           ", or a part of these bytes; wait for its end, or give each job bytes of its own by "
           "PGAS_POOL_OFFSET and PGAS_POOL_BYTES");
  }

  [[noreturn]] static void refuse(std::string const& why) {
    throw error(errc::invalid_argument, -1, "pool_map: " + why);
  }

  /// The file's path in quotes, or what the system has in its place.
  static std::string name_of(int fd) {
    char path[4096];
    auto const length = ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path, sizeof path);
    if (length <= 0) return "the file of its memory";
    return detail::in_quotes(std::string_view(path, static_cast<std::size_t>(length)));
  }

  explicit pool(std::shared_ptr<mapping const> m) noexcept : mapping_(std::move(m)) {}

  std::shared_ptr<mapping const> mapping_;
};

/// One rank's share of an extent of a pool. The destructor first cleans this rank's stores: a later
/// write-back would destroy the puts of the memory's next owner. It then releases the share.
template <class Cache>
class held_pool_extent {
 public:
  held_pool_extent(job j, pool<Cache> p, std::uint64_t offset) noexcept
      : job_(std::move(j)), pool_(std::move(p)), offset_(offset) {}
  held_pool_extent(held_pool_extent&& other) noexcept
      : job_(std::move(other.job_)),
        pool_(std::move(other.pool_)),
        offset_(other.offset_),
        stored_to_(std::exchange(other.stored_to_, {})),
        held_(std::exchange(other.held_, false)) {}
  held_pool_extent& operator=(held_pool_extent&& other) noexcept {
    std::swap(job_, other.job_);
    std::swap(pool_, other.pool_);
    std::swap(offset_, other.offset_);
    std::swap(stored_to_, other.stored_to_);
    std::swap(held_, other.held_);
    return *this;
  }
  ~held_pool_extent() {
    if (!held_) return;
    Cache::clean(stored_to_.data(), stored_to_.size());
    Cache::drain_stores();
    job_.give_extent(offset_, 1, [](auto const&) {});
  }

  /// Remembers the bytes that this rank stores to through its cache.
  void stores_to(bytes_out part) noexcept { stored_to_ = part; }

  [[nodiscard]] std::byte* data() const noexcept { return pool_.data() + offset_; }
  [[nodiscard]] job const& owner() const noexcept { return job_; }

 private:
  job job_;
  pool<Cache> pool_;
  std::uint64_t offset_;
  bytes_out stored_to_{};
  bool held_ = true;
};

}  // namespace detail

}  // namespace PGAS_NAMESPACE
