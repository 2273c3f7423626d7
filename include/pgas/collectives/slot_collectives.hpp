// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstring>
#include <pgas/concepts/protocol.hpp>
#include <pgas/concepts/recorder.hpp>
#include <pgas/vocabulary/error.hpp>
#include <pgas/vocabulary/transportable.hpp>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS {

/// The collectives of start-up, over control words alone. They need no payload memory, and work on backends
/// whose payload does not agree by itself.
///
/// Each rank writes a value into slots of its own, a barrier passes, and the ranks read. Two sets of slots
/// are used in turn, so that one barrier a round is enough. A rank that writes a set again has passed the
/// barrier that the set's last readers reached after they had read it. For values of a few words: a round
/// moves 64 bytes.
/// Memory: 16 slots a rank and those of a barrier.
template <control Control, fence_protocol Barrier>
class slot_collectives {
 public:
  static constexpr control_words words(rank_t ranks) noexcept {
    return Barrier::words(ranks) + control_words{.slots = 2 * slots, .cells = 0};
  }

  /// The collectives of a team, on the first words of its control.
  explicit slot_collectives(Control& control)
      : control_(&control), barrier_(control, {}), first_(Barrier::words(control.size()).slots) {}

  /// Returns when every rank has called it. `operation` names the wait in messages.
  void barrier(std::string_view operation) {
    [[maybe_unused]] auto const span = detail::begin_span(*control_, span_kind::collective, operation);
    meet(operation);
  }

  /// Calls read(rank, value of that rank) for each rank, in order, on every rank.
  template <transportable T, class Read>
  void all_gather(T const& mine, std::string_view operation, Read&& read) {
    gather(mine, operation, true, read);
  }

  /// Calls read(rank, value of that rank) for each rank, in order, on `root` only.
  template <transportable T, class Read>
  void gather(T const& mine, rank_t root, std::string_view operation, Read&& read) {
    gather(mine, operation, control_->rank() == root, read);
  }

  /// Gives every rank the value of `root`.
  template <transportable T>
  void broadcast(T& value, rank_t root, std::string_view operation) {
    [[maybe_unused]] auto const span = detail::begin_span(*control_, span_kind::collective, operation);
    auto bytes = to_words(value);
    for (std::size_t at = 0; at < bytes.size(); at += slots) {
      if (control_->rank() == root) write(bytes, at);
      meet(operation);
      if (control_->rank() != root) read_chunk(root, bytes, at);
      ++round_;
    }
    std::memcpy(static_cast<void*>(&value), bytes.data(), sizeof(T));
  }

 private:
  static constexpr std::size_t slots = 8;

  void meet(std::string_view operation) {
    no_boundary nothing;
    barrier_.fence(nothing, operation);
  }

  template <class T>
  using words_of = std::array<word, (sizeof(T) + sizeof(word) - 1) / sizeof(word)>;

  template <class T>
  static words_of<T> to_words(T const& value) noexcept {
    words_of<T> all{};
    std::memcpy(all.data(), static_cast<void const*>(&value), sizeof(T));
    return all;
  }

  [[nodiscard]] auto slot(rank_t owner, std::size_t i) {
    return control_->slot(owner, first_ + (round_ % 2) * slots + i, owner);
  }

  // relaxed: the barrier between a write and its reads orders them.
  template <class Words>
  void write(Words const& from, std::size_t at) {
    for (std::size_t i = 0; i < slots && at + i < from.size(); ++i) {
      slot(control_->rank(), i).store(from[at + i], std::memory_order_relaxed);
    }
  }
  template <class Words>
  void read_chunk(rank_t rank, Words& into, std::size_t at) {
    for (std::size_t i = 0; i < slots && at + i < into.size(); ++i) {
      into[at + i] = slot(rank, i).load(std::memory_order_relaxed);
    }
  }

  template <class T, class Read>
  void gather(T const& mine, std::string_view operation, bool reads, Read& read) {
    [[maybe_unused]] auto const span = detail::begin_span(*control_, span_kind::collective, operation);
    auto const own = to_words(mine);
    std::vector<words_of<T>> all;
    if (reads) all.resize(static_cast<std::size_t>(control_->size()));
    for (std::size_t at = 0; at < own.size(); at += slots) {
      write(own, at);
      meet(operation);
      for (std::size_t rank = 0; rank < all.size(); ++rank)
        read_chunk(static_cast<rank_t>(rank), all[rank], at);
      ++round_;
    }
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      T value;
      std::memcpy(static_cast<void*>(&value), all[rank].data(), sizeof(T));
      read(static_cast<rank_t>(rank), value);
    }
  }

  Control* control_;
  typename Barrier::template on<Control> barrier_;
  std::size_t first_;
  std::size_t round_ = 0;
};

}  // namespace pgas::inline PGAS_ASSERTIONS
