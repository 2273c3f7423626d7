// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <pgas/detail/machines/scc/cache.hpp>
#include <pgas/detail/machines/scc/memory.hpp>
#include <unordered_map>
#include <vector>

namespace PGAS_NAMESPACE::detail::scc {

/// A core's write-combining buffer. It collects stored bytes of one line for a single access to memory.
class combining_buffer {
 public:
  [[nodiscard]] bool is_empty() const noexcept { return mask_ == 0; }
  [[nodiscard]] bool is_full() const noexcept { return mask_ == ~std::uint32_t{0}; }
  /// The line of its bytes, also after they were written.
  [[nodiscard]] line_number number() const noexcept { return number_; }
  [[nodiscard]] bool holds(line_number number) const noexcept { return mask_ != 0 && number_ == number; }
  [[nodiscard]] bool holds(std::size_t in_line, std::byte value) const noexcept {
    return (mask_ >> in_line & 1U) != 0 && bytes_[in_line] == value;
  }

  /// Adds bytes. Requires that the buffer is empty or holds this line.
  void add(line_number number, std::size_t in_line, std::byte const* from, std::size_t count) noexcept {
    number_ = number;
    std::memcpy(bytes_.data() + in_line, from, count);
    mask_ |= mask_of(in_line, count);
  }
  /// Writes its bytes, and no others, to the line at `to`; the buffer is then empty.
  void write_to(std::byte* to) noexcept {
    if (is_full()) {  // most buffers are, and then need no look at each byte
      std::memcpy(to, bytes_.data(), line_bytes);
    } else {
      for (std::size_t i = 0; i < line_bytes; ++i) {
        if ((mask_ >> i & 1U) != 0) to[i] = bytes_[i];
      }
    }
    mask_ = 0;
  }
  void forget() noexcept { mask_ = 0; }

 private:
  static std::uint32_t mask_of(std::size_t in_line, std::size_t count) noexcept {
    std::uint32_t const ones = count == line_bytes ? ~std::uint32_t{0} : (std::uint32_t{1} << count) - 1;
    return ones << in_line;
  }

  line bytes_{};
  line_number number_ = 0;
  std::uint32_t mask_ = 0;
};

/// A core's look-up table: it maps each 16 MiB of the core's physical addresses to a page of the chip.
///
/// The core's own pages come first, in order. A bounded number of entries follow for pages of other cores,
/// mapped at their first access, and then all message passing buffers. A change to the table does not touch
/// the caches.
class lookup_table {
 public:
  static constexpr std::size_t entries = 256;
  /// The first entry of the message passing buffers; each buffer has one.
  static constexpr unsigned first_buffer = 192;

  lookup_table(memory& m, rank_t owner, rank_t cores, unsigned mappable_pages)
      : memory_(&m), mapped_(std::clamp(mappable_pages, 1U, most_mapped)) {
    page_number const first = m.first_page(owner);
    for (unsigned entry = 0; entry < m.own_pages(); ++entry) point(entry, first + entry);
    for (rank_t r = 0; r < cores; ++r) point(first_buffer + static_cast<unsigned>(r), m.buffer_page(r));
  }

  void point(unsigned entry, page_number page) noexcept {
    pages_[entry] = page;
    hosts_[entry] = memory_->host(page);
  }

  [[nodiscard]] page_number page_of(physical_address at) const noexcept { return pages_[at / page_bytes]; }
  /// The address of a byte in the emulator.
  [[nodiscard]] std::byte* host(physical_address at) const noexcept {
    return hosts_[at / page_bytes] + at % page_bytes;
  }
  /// The physical address of a byte of the chip, if the byte is mapped.
  [[nodiscard]] std::optional<physical_address> physical(system_address at) const noexcept {
    for (unsigned entry = 0; entry < entries; ++entry) {
      if (hosts_[entry] != nullptr && pages_[entry] == at / page_bytes) {
        return static_cast<physical_address>(entry * page_bytes + at % page_bytes);
      }
    }
    return std::nullopt;
  }

  // Entries for pages of other cores

  /// The entry that the page was given, if it still has it; counts the use.
  [[nodiscard]] std::optional<unsigned> use(page_number page) noexcept {
    auto const known = entry_of_.find(page);
    if (known == entry_of_.end()) return std::nullopt;
    ++at(known->second).uses;
    return known->second;
  }
  /// The entry to give next: a free one, or else the one with the fewest uses.
  [[nodiscard]] unsigned least_used() const noexcept {
    auto const by_uses = [](mapped const& a, mapped const& b) { return a.uses < b.uses; };
    return first_mapped +
           static_cast<unsigned>(std::min_element(mapped_.begin(), mapped_.end(), by_uses) - mapped_.begin());
  }
  [[nodiscard]] bool is_used(unsigned entry) noexcept { return at(entry).uses != 0; }
  /// Gives an entry to a page; its page before loses it.
  void give(unsigned entry, page_number page) {
    if (is_used(entry)) entry_of_.erase(at(entry).page);
    entry_of_[page] = entry;
    at(entry) = {page, 1};
  }

 private:
  static constexpr unsigned first_mapped = 132;
  static constexpr unsigned most_mapped = 58;
  struct mapped {
    page_number page = 0;
    std::uint64_t uses = 0;  ///< 0: free
  };
  [[nodiscard]] mapped& at(unsigned entry) noexcept { return mapped_[entry - first_mapped]; }

  memory* memory_;
  std::array<page_number, entries> pages_{};
  std::array<std::byte*, entries> hosts_{};
  std::vector<mapped> mapped_;
  std::unordered_map<page_number, unsigned> entry_of_;
};

}  // namespace PGAS_NAMESPACE::detail::scc
