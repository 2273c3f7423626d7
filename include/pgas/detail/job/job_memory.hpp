// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <pgas/detail/job/block.hpp>
#include <pgas/detail/job/held_locks.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/vocabulary/error.hpp>
#include <pgas/vocabulary/expects.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace PGAS_NAMESPACE::detail {

/// The bytes of a huge page: one entry of a processor's translation buffer then stands for 512 small pages.
inline constexpr std::uint64_t huge_page = std::uint64_t{1} << 21U;

/// Returns the first multiple of a huge page that is at least `place`.
[[nodiscard]] constexpr std::uint64_t in_huge_pages(std::uint64_t place) noexcept {
  return (place + huge_page - 1) / huge_page * huge_page;
}

/// Allocates the memory of a shared mapping in huge pages where such a page lies wholly inside these bytes.
/// Leaves the bytes that have memory as they are. A system may refuse (before Linux 6.1, or without
/// contiguous memory); the caller then uses small pages. No setting of the machine is needed.
inline void take_huge_pages(std::byte* first, std::uint64_t bytes) noexcept {
#if defined(MADV_POPULATE_WRITE)
  constexpr int collapse = 25;  // MADV_COLLAPSE, which C libraries of Linux 6.0 and before do not name
  std::uint64_t const skipped =
      in_huge_pages(reinterpret_cast<std::uintptr_t>(first)) - reinterpret_cast<std::uintptr_t>(first);
  if (bytes < skipped + huge_page) return;
  std::byte* const begin = first + skipped;
  std::uint64_t const whole = (bytes - skipped) / huge_page * huge_page;
  // A huge page replaces the small ones in its place. There must be one, which takes the least time to
  // allocate.
  for (std::uint64_t at = 0; at < whole; at += huge_page) {
    if (::madvise(begin + at, 1, MADV_POPULATE_WRITE) != 0) return;
  }
  ::madvise(begin, whole, collapse);
#else
  static_cast<void>(first);
  static_cast<void>(bytes);
#endif
}

/// The memory of a job as one process maps it: one memfd with the job block and behind it an arena of
/// payload. The memfd has no name in any file system, so nothing can be left behind.
///
/// The memfd's number is at least 3, even if 0, 1 or 2 is closed, so no output of the program can overwrite
/// the job. The library leaves closed 0, 1 and 2 closed: they belong to the program. Core dumps show nothing
/// of the mapping: a terabyte of address space would fill memory and disk.
class job_memory {
 public:
  static constexpr std::uint64_t page = 4096;
  static constexpr std::uint64_t block_bytes() noexcept { return in_pages(sizeof(job_block)); }

  /// Makes the memory of a new job, and keeps the memfd open. If the system refuses so much address space,
  /// asks for half of it, and so on. Throws errc::no_space or errc::unsupported.
  [[nodiscard]] static std::shared_ptr<job_memory> create(bool has_arena) {
    std::uint64_t arena = within_file_limit(has_arena ? wanted_arena_bytes() : 0);
    int const fd = make_memfd();
    for (;; arena = arena / 2 / page * page) {
      std::uint64_t const bytes = block_bytes() + arena;
      if (::ftruncate(fd, static_cast<::off_t>(bytes)) == 0) {
        if (void* const base = map(fd, bytes); base != nullptr)
          return std::shared_ptr<job_memory>(new job_memory(base, bytes, fd));
      }
      if (arena <= least_arena) {
        int const why = errno;
        ::close(fd);
        throw_error(errc::no_space, no_rank, {"there is no address space for the job: ", std::strerror(why)});
      }
    }
  }

  /// Maps the memory of a job that another process has made; `file` describes its memfd. Leaves the
  /// descriptor to its owner. Throws errc::no_space.
  [[nodiscard]] static std::shared_ptr<job_memory> of_file(int fd, struct ::stat const& file, rank_t rank) {
    auto const bytes = static_cast<std::uint64_t>(file.st_size);
    void* const base = map(fd, bytes);
    if (base == nullptr) throw_error(errc::no_space, rank, "attach", std::strerror(errno));
    auto mapped = std::shared_ptr<job_memory>(new job_memory(base, bytes, -1));
    mapped->device_ = file.st_dev;
    mapped->file_ = file.st_ino;
    return mapped;
  }

  job_memory(job_memory const&) = delete;
  job_memory& operator=(job_memory const&) = delete;
  ~job_memory() {
    ::munmap(base_, bytes_);
    close_descriptor();
    delete[] locks_;
  }

  [[nodiscard]] void* base() const noexcept { return base_; }
  [[nodiscard]] std::byte* arena() const noexcept { return static_cast<std::byte*>(base_) + block_bytes(); }
  [[nodiscard]] std::uint64_t arena_bytes() const noexcept { return bytes_ - block_bytes(); }
  /// The memfd of memory that this process has created, until it is closed; else -1.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  void close_descriptor() noexcept {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  }
  /// The lock holders of each rank that this process runs.
  void know_ranks(rank_t ranks) {
    if (locks_ == nullptr) locks_ = new held_locks[static_cast<std::size_t>(ranks)];
  }
  [[nodiscard]] held_locks& locks_of(rank_t rank) const noexcept { return locks_[rank]; }
  /// Returns whether this memory came from that file.
  [[nodiscard]] bool is_of(struct ::stat const& info) const noexcept {
    return device_ == info.st_dev && file_ == info.st_ino;
  }

 private:
  static constexpr rank_t no_rank = -1;
  static constexpr std::uint64_t least_arena = std::uint64_t{1} << 20U;

  job_memory(void* base, std::uint64_t bytes, int descriptor) noexcept
      : base_(base), bytes_(bytes), descriptor_(descriptor) {}

  /// The address space that a job asks for first. Unused address space costs nothing, except under valgrind,
  /// which keeps a shadow of every mapped byte. Its preloaded library reveals valgrind.
  [[nodiscard]] static std::uint64_t wanted_arena_bytes() noexcept {
    char const* const preloaded = std::getenv("LD_PRELOAD");
    bool const in_valgrind =
        preloaded != nullptr && std::string_view(preloaded).find("vgpreload") != std::string_view::npos;
    return std::uint64_t{1} << (in_valgrind ? 30U : 40U);
  }

  /// The part of the wanted arena that the limit of file sizes allows. A memfd is a file, and a process that
  /// makes it larger than the limit is killed by SIGXFSZ.
  static std::uint64_t within_file_limit(std::uint64_t wanted) {
    ::rlimit limit{};
    if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return wanted;
    std::uint64_t const most = limit.rlim_cur;
    std::uint64_t const needed = block_bytes() + std::min(wanted, least_arena);
    if (most < needed) {
      throw_error(errc::no_space, no_rank,
                  {"the limit of file sizes (ulimit -f) is ", most, " bytes, and the job ", "needs ", needed,
                   " for the memory that its ranks share; raise it"});
    }
    return std::min(wanted, (most - block_bytes()) / page * page);
  }

  /// A memfd with a number of at least 3.
  static int make_memfd() {
    int fd = ::memfd_create("pgas", MFD_CLOEXEC);
    if (fd >= 0 && fd <= STDERR_FILENO) {
      int const given = fd;
      fd = ::fcntl(given, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
      int const why = errno;
      ::close(given);
      errno = why;
    }
    if (fd < 0) {
      throw_error(errc::unsupported, no_rank,
                  {"the system has no memory for the job: ", std::strerror(errno)});
    }
    return fd;
  }

  /// Maps the memfd, without its pages in core dumps. Returns null, with errno, if the system refuses. The
  /// mapping begins with a huge page, so that huge pages of the file are huge pages of each process.
  static void* map(int fd, std::uint64_t bytes) noexcept {
    std::uint64_t const reserved = in_pages(bytes) + huge_page;
    void* const space =
        ::mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED) return nullptr;
    auto* const first = static_cast<std::byte*>(space);
    auto const before =
        in_huge_pages(reinterpret_cast<std::uintptr_t>(first)) - reinterpret_cast<std::uintptr_t>(first);
    void* const base =
        ::mmap(first + before, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, 0);
    if (base == MAP_FAILED) {
      int const why = errno;
      ::munmap(space, reserved);
      errno = why;
      return nullptr;
    }
    if (before > 0) ::munmap(space, before);
    if (before < huge_page) ::munmap(first + before + in_pages(bytes), huge_page - before);
    ::madvise(base, bytes, MADV_DONTDUMP);
    return base;
  }
  static constexpr std::uint64_t in_pages(std::uint64_t bytes) noexcept {
    return (bytes + page - 1) / page * page;
  }

  void* base_;
  std::uint64_t bytes_;
  int descriptor_;
  held_locks* locks_ = nullptr;  ///< one for each rank
  ::dev_t device_ = 0;           ///< of memory that another process has made
  ::ino_t file_ = 0;
};

}  // namespace PGAS_NAMESPACE::detail
