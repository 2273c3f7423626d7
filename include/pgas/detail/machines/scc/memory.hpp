// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <pgas/concepts/control.hpp>
#include <pgas/detail/machines/scc/cache.hpp>
#include <pgas/vocabulary/error.hpp>
#include <string>
#include <vector>

namespace PGAS_NAMESPACE::detail::scc {

/// The range that one entry of a look-up table maps: 16 MiB.
inline constexpr std::size_t page_bytes = std::size_t{1} << 24U;
/// The range that one entry of a page table maps. All of it is accessed in one way.
inline constexpr std::size_t table_page_bytes = 4096;
/// The size of a core's message passing buffer, which is half of its tile's.
inline constexpr std::size_t mpb_bytes = 8192;

/// The number of a page of the chip: first each core's own memory, then the buffers.
using page_number = std::uint32_t;
/// The address of a byte of the chip, the same for every core.
using system_address = std::uint64_t;

/// The free bytes of one address range, given out first fit.
class extents {
 public:
  explicit extents(std::uint64_t bytes) : bytes_(bytes) { free_.emplace(0, bytes); }

  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  /// Reserves `bytes` bytes and returns their beginning; empty if no gap is large enough.
  [[nodiscard]] std::optional<std::uint64_t> reserve(std::uint64_t bytes) {
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      if (it->second < bytes) continue;
      auto const [at, size] = *it;
      free_.erase(it);
      if (size > bytes) free_.emplace(at + bytes, size - bytes);
      return at;
    }
    return std::nullopt;
  }
  void release(std::uint64_t at, std::uint64_t bytes) {
    auto next = free_.lower_bound(at);
    if (next != free_.end() && at + bytes == next->first) {
      bytes += next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin()) {
      if (auto const before = std::prev(next); before->first + before->second == at) {
        before->second += bytes;
        return;
      }
    }
    free_.emplace_hint(next, at, bytes);
  }

 private:
  std::uint64_t bytes_;
  std::map<std::uint64_t, std::uint64_t> free_;  ///< from the beginning to the size
};

/// All memory of the chip, by owner. A core's pages are consecutive, so a large part is contiguous.
///
/// The host's memory is allocated at its first access.
class memory {
 public:
  memory(rank_t cores, unsigned own_pages) : cores_(static_cast<std::size_t>(cores)), own_pages_(own_pages) {
    void* const base = ::mmap(nullptr, dram_bytes(), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) {
      throw error(errc::no_space, -1,
                  "run: scc: there is no address space for " + std::to_string(dram_bytes()) +
                      " bytes of emulated memory; choose fewer scc::options::own_pages");
    }
    dram_ = static_cast<std::byte*>(base);
    buffers_.resize(cores_ * mpb_bytes);
    free_.assign(cores_, extents(own_pages_ * page_bytes));
    free_buffers_.assign(cores_, extents(mpb_bytes));
  }
  memory(memory const&) = delete;
  memory& operator=(memory const&) = delete;
  ~memory() { ::munmap(dram_, dram_bytes()); }

  [[nodiscard]] page_number first_page(rank_t owner) const noexcept {
    return static_cast<page_number>(static_cast<std::size_t>(owner) * own_pages_);
  }
  [[nodiscard]] page_number buffer_page(rank_t owner) const noexcept {
    return static_cast<page_number>(cores_ * own_pages_ + static_cast<std::size_t>(owner));
  }
  [[nodiscard]] bool is_buffer(page_number page) const noexcept { return page >= cores_ * own_pages_; }
  [[nodiscard]] rank_t owner(page_number page) const noexcept {
    return static_cast<rank_t>(is_buffer(page) ? page - cores_ * own_pages_ : page / own_pages_);
  }
  [[nodiscard]] unsigned own_pages() const noexcept { return static_cast<unsigned>(own_pages_); }
  [[nodiscard]] std::byte* host(page_number page) noexcept {
    std::size_t const dram = cores_ * own_pages_;
    return page < dram ? dram_ + page * page_bytes : buffers_.data() + (page - dram) * mpb_bytes;
  }
  [[nodiscard]] std::byte* host(system_address at) noexcept {
    return host(static_cast<page_number>(at / page_bytes)) + at % page_bytes;
  }

  /// Reserves whole, zeroed pages of the owner's memory; returns their beginning in it. A page table entry
  /// chooses one way of access, so no page is shared.
  [[nodiscard]] std::uint64_t reserve(rank_t owner, std::uint64_t bytes) {
    extents& free = free_[static_cast<std::size_t>(owner)];
    auto const refuse = [&](std::string const& why) {
      throw error(errc::no_space, owner, "reserve", std::to_string(bytes) + " bytes were asked for: " + why);
    };
    if (bytes > free.bytes()) refuse("a core of the chip has only " + std::to_string(free.bytes()));
    auto const at = free.reserve(whole(bytes, table_page_bytes));
    if (at) return *at;
    refuse("no gap in the memory of core " + std::to_string(owner) + " is that large");
    return 0;
  }
  /// Frees pages, zeroed for their next use.
  void release(rank_t owner, std::uint64_t at, std::uint64_t bytes) {
    zero(host(first_page(owner)) + at, whole(bytes, table_page_bytes));
    free_[static_cast<std::size_t>(owner)].release(at, whole(bytes, table_page_bytes));
  }

  /// Reserves zeroed bytes of a core's message passing buffer.
  [[nodiscard]] std::uint64_t reserve_buffer(rank_t owner, std::uint64_t bytes) {
    auto const at = free_buffers_[static_cast<std::size_t>(owner)].reserve(whole(bytes, line_bytes));
    if (!at) {
      throw error(errc::no_space, owner, "reserve_mailbox",
                  std::to_string(bytes) + " bytes of the message passing buffer of core " +
                      std::to_string(owner) + " were asked for: of its " + std::to_string(mpb_bytes) +
                      " fewer are left");
    }
    return *at;
  }
  void release_buffer(rank_t owner, std::uint64_t at, std::uint64_t bytes) {
    std::memset(host(buffer_page(owner)) + at, 0, whole(bytes, line_bytes));
    free_buffers_[static_cast<std::size_t>(owner)].release(at, whole(bytes, line_bytes));
  }

 private:
  [[nodiscard]] std::size_t dram_bytes() const noexcept { return cores_ * own_pages_ * page_bytes; }
  static std::uint64_t whole(std::uint64_t bytes, std::uint64_t unit) noexcept {
    return std::max<std::uint64_t>(unit, (bytes + unit - 1) / unit * unit);
  }
  static void zero(std::byte* at, std::uint64_t bytes) noexcept {
    constexpr std::uint64_t large = std::uint64_t{1} << 20U;
    // The system takes back the pages of a large extent, and supplies zeroed ones later.
    if (bytes < large || ::madvise(at, bytes, MADV_DONTNEED) != 0) std::memset(at, 0, bytes);
  }

  std::size_t cores_;
  std::size_t own_pages_;
  std::byte* dram_ = nullptr;
  std::vector<std::byte> buffers_;
  std::vector<extents> free_;
  std::vector<extents> free_buffers_;
};

}  // namespace PGAS_NAMESPACE::detail::scc
