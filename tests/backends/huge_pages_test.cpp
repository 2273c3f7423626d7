// SPDX-License-Identifier: BSL-1.0
// Huge pages of the memory that processes share, and the parts of windows that begin in them.
// test: addresses, unit job
#include <doctest/doctest.h>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <memory>
#include <pgas/detail/backends/process_map/segment.hpp>
#include <pgas/detail/job/job_memory.hpp>
#include <span>
#include <sstream>
#include <string>

using pgas::detail::huge_page;
using pgas::detail::mapped_segment;

namespace {

constexpr std::size_t page = 4096;

std::uint64_t address(std::byte const* at) { return reinterpret_cast<std::uintptr_t>(at); }

/// A memfd, mapped at the beginning of a huge page as a job is.
class shared_memory {
 public:
  explicit shared_memory(std::size_t bytes) : bytes_(bytes), fd_(::memfd_create("pgas-test", MFD_CLOEXEC)) {
    REQUIRE(fd_ >= 0);
    REQUIRE(::ftruncate(fd_, static_cast<::off_t>(bytes)) == 0);
    space_ = static_cast<std::byte*>(
        ::mmap(nullptr, bytes + huge_page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    REQUIRE(space_ != MAP_FAILED);
    void* const at = space_ + (pgas::detail::in_huge_pages(address(space_)) - address(space_));
    data_ =
        static_cast<std::byte*>(::mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd_, 0));
    REQUIRE(data_ == at);
  }
  shared_memory(shared_memory const&) = delete;
  shared_memory& operator=(shared_memory const&) = delete;
  ~shared_memory() {
    ::munmap(space_, bytes_ + huge_page);
    ::close(fd_);
  }

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::uint64_t taken() const {
    struct ::stat info {};
    REQUIRE(::fstat(fd_, &info) == 0);
    return static_cast<std::uint64_t>(info.st_blocks) * 512;
  }
  /// The bytes that huge pages of this process map.
  [[nodiscard]] std::uint64_t in_huge_pages() const {
    std::ostringstream begin;
    begin << std::hex << address(data_) << '-';
    std::ifstream file("/proc/self/smaps");
    bool here = false;
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with(begin.str())) here = true;
      if (here && line.starts_with("ShmemPmdMapped:")) return std::stoull(line.substr(15)) * 1024;
    }
    return 0;
  }

 private:
  std::size_t bytes_;
  int fd_;
  std::byte* space_ = nullptr;
  std::byte* data_ = nullptr;
};

}  // namespace

TEST_CASE("huge pages are taken where they lie wholly inside the bytes, and what was written stays") {
  shared_memory const memory(4 * huge_page);
  memory.data()[page] = std::byte{1};
  memory.data()[2 * huge_page - 1] = std::byte{2};
  memory.data()[3 * huge_page] = std::byte{3};
  pgas::detail::take_huge_pages(memory.data() + page, 3 * huge_page);
  CHECK(memory.data()[page] == std::byte{1});
  CHECK(memory.data()[2 * huge_page - 1] == std::byte{2});
  CHECK(memory.data()[3 * huge_page] == std::byte{3});
  CHECK(std::all_of(memory.data() + huge_page, memory.data() + 2 * huge_page - 1,
                    [](std::byte b) { return b == std::byte{0}; }));
  CHECK(memory.taken() <= 2 * huge_page + 2 * page);
  // A system may have no huge page now, or none at all. The memory is then in small pages.
  shared_memory const other(huge_page);
  other.data()[0] = std::byte{1};
  if (constexpr int collapse = 25; ::madvise(other.data(), huge_page, collapse) == 0) {
    CHECK(memory.in_huge_pages() == 2 * huge_page);
  } else {
    MESSAGE("the system gives no huge page, so their number is not checked");
  }
}

TEST_CASE("bytes that hold no whole huge page take no memory in advance") {
  shared_memory const memory(2 * huge_page);
  pgas::detail::take_huge_pages(memory.data() + page, 2 * huge_page - 2 * page);
  CHECK(memory.taken() == 0);
}

TEST_CASE("long parts begin in the first small page of a huge page, apart from each other") {
  for (std::size_t const largest : {huge_page, huge_page + 8, 5 * huge_page - page, 8 * huge_page}) {
    CAPTURE(largest);
    std::array<std::size_t, 3> const sizes{largest, 8, largest / 2};
    std::uint64_t const bytes = mapped_segment::bytes_for(sizes);
    for (std::size_t const before : {0 * page, 1 * page, huge_page - page}) {
      shared_memory const memory(before + bytes);
      std::byte* const header = memory.data() + before;
      mapped_segment::write_header(header, sizes);
      mapped_segment const parts(header, {}, pgas::detail::team_ranks(0, 3));
      for (pgas::rank_t rank = 0; rank < 3; ++rank) {
        CHECK(address(parts.part(rank)) % huge_page < page);
        std::byte const* const end = rank == 2 ? header + bytes : parts.part(rank + 1);
        CHECK(parts.part(rank) + parts.part_bytes(rank) <= end);
      }
      CHECK(parts.part(0) > header);
    }
  }
}
