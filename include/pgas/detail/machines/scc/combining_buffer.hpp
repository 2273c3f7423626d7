// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstring>
#include <pgas/detail/machines/scc/cache.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail::scc {

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

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::scc
