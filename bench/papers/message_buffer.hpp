// SPDX-License-Identifier: BSL-1.0
// The chip's message passing buffers by address, as a medium of the library's oc_bcast: its one algorithm
// gives the times of the papers' page.
#pragma once

#include <coroutine>
#include <pgas/concepts/collective.hpp>

#include "rcce.hpp"

namespace papers {

/// How a rank sets a flag.
enum class flags_by {
  puts,   ///< RCCE's put of a line: OC-Bcast
  stores  ///< a store of a word past the caches, which no library has to do: ours
};

/// A core's buffer of 8 KB: chunks from its beginning on, and flags of a line each at its end. A
/// buffering_medium.
template <flags_by Flags = flags_by::puts>
class message_buffer {
 public:
  static constexpr std::size_t buffer_bytes = pgas::detail::scc::mpb_bytes;
  static constexpr std::size_t flag_bytes = machine::line_bytes;
  static constexpr std::size_t flags = 64;

  explicit message_buffer(machine& m, double call_us) : library_(m, call_us) {}

  /// Names the private memory at whose address `bytes` lie in the algorithm's eyes. It never touches them.
  void lie(pgas::bytes_out bytes, std::uint32_t address) noexcept {
    begin_ = bytes.data();
    address_ = address;
  }

  [[nodiscard]] rank_t rank() const noexcept { return library_.rank(); }
  [[nodiscard]] rank_t size() const noexcept { return library_.size(); }
  [[nodiscard]] pgas::buffer_tree& tree() noexcept { return tree_; }

  void fill(std::size_t first, pgas::bytes_in from) const {
    library_.put(rank(), in_buffer(first), private_at(from), lines(from));
  }
  void fetch(rank_t of, std::size_t first, pgas::bytes_out into) const {
    library_.get_into_buffer(in_buffer(first), of, in_buffer(first), lines(into));
  }
  void drain(std::size_t first, pgas::bytes_out into) const { fetch_out(rank(), first, into); }
  void fetch_out(rank_t of, std::size_t first, pgas::bytes_out into) const {
    library_.get(private_at(into), of, in_buffer(first), lines(into));
  }

  void set_flag(rank_t owner, std::size_t i, pgas::word number) const {
    if constexpr (Flags == flags_by::puts) {
      library_.set(owner, flag_at(i), number);
    } else {
      // Lines of chunks have left this core, which makes its accesses in order.
      library_.on().store(page_type::ncm, machine::buffer_of(owner, flag_at(i)),
                          static_cast<std::uint32_t>(number));
    }
  }
  [[nodiscard]] std::suspend_never flag(std::size_t i, pgas::word number, rank_t /*setter*/) const {
    library_.wait(flag_at(i), number);
    return {};
  }

 private:
  static std::uint32_t in_buffer(std::size_t byte) { return static_cast<std::uint32_t>(byte); }
  static std::uint32_t flag_at(std::size_t i) { return in_buffer(buffer_bytes - (i + 1) * flag_bytes); }
  static std::size_t lines(pgas::bytes_in bytes) { return bytes.size() / machine::line_bytes; }
  [[nodiscard]] std::uint32_t private_at(pgas::bytes_in bytes) const {
    return address_ + static_cast<std::uint32_t>(bytes.data() - begin_);
  }

  rcce library_;
  pgas::buffer_tree tree_;
  std::byte const* begin_ = nullptr;
  std::uint32_t address_ = 0;
};
static_assert(pgas::buffering_medium<message_buffer<>>);

}  // namespace papers
