// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <functional>
#include <pgas/concepts/segment.hpp>
#include <utility>
#include <vector>

#include "watched_control.hpp"

/// Links and pull areas that lack a step: their control and their memory are wrapped, and the wrappers leave
/// the step out, or do it too late.
namespace pgas_test::exchanges {

/// The step that is missing.
enum class step {
  none,
  flush_of_push,     ///< a piece may arrive after the word that announces it
  flag_after_piece,  ///< the word that announces a piece is stored before the piece is put
  flush_of_pull,     ///< a piece is used before its get is complete
  room_after_read,   ///< the word that frees a buffer is stored before the piece is read
  wait_for_room,     ///< a piece is put into a buffer before the last piece there was taken
  wait_for_piece,    ///< a piece is taken before it has come
  flush_of_meet,     ///< the ranks meet before what they have laid out is in memory
  flush_of_settle,   ///< what was fetched is used before the gets are complete
  second_buffer,     ///< each round of a pull area uses the same buffer
};

/// While an object lives, links and pull areas lack this step, on every rank that is launched.
class lacking {
 public:
  explicit lacking(step s) noexcept : before_(missing().exchange(s, std::memory_order_relaxed)) {}
  lacking(lacking const&) = delete;
  lacking& operator=(lacking const&) = delete;
  ~lacking() { missing().store(before_, std::memory_order_relaxed); }

  /// Relaxed: a launch starts its ranks after the store.
  static bool is(step s) noexcept { return missing().load(std::memory_order_relaxed) == s; }

 private:
  static std::atomic<step>& missing() noexcept {
    static std::atomic<step> instance{step::none};
    return instance;
  }

  step before_;
};

/// The work of a rank after its next store to a word, though it should have come before.
using delayed = std::function<void()>;

/// The words of links: those with an odd number free buffers, the others announce pieces.
struct mutant_of_words : watcher {
  delayed* later;

  template <class Word>
  pgas::word load(Word const& w, word_access at, std::memory_order order) {
    // The largest number is at least what a wait is for.
    if (lacking::is(step::wait_for_room) && at.index % 2 == 1) return ~pgas::word{0};
    if (lacking::is(step::wait_for_piece) && at.index % 2 == 0) return ~pgas::word{0};
    return w.load(order);
  }
  template <class Slot>
  void store(Slot const& s, word_access, pgas::word value, std::memory_order order) {
    s.store(value, order);
    if (*later) std::exchange(*later, nullptr)();
  }
};

/// The memory of links, and behind it that of a pull area with buffers of some bytes.
template <pgas::segment Inner>
class mutant_of_memory {
 public:
  mutant_of_memory(Inner& inner, delayed& later, std::size_t pull_area, std::size_t buffer)
      : inner_(&inner), later_(&later), pull_area_(pull_area), buffer_(buffer) {}

  [[nodiscard]] pgas::rank_t rank() const noexcept { return inner_->rank(); }
  [[nodiscard]] pgas::rank_t size() const noexcept { return inner_->size(); }
  [[nodiscard]] std::size_t part_bytes(pgas::rank_t r) const { return inner_->part_bytes(r); }
  void put(pgas::location at, pgas::bytes_in from) {
    if (!is_of_pull_area(at) && lacking::is(step::flag_after_piece)) {
      std::vector<std::byte> const bytes(from.begin(), from.end());
      *later_ = [this, at, bytes] {
        inner_->put(at, bytes);
        inner_->flush(at.rank);
      };
    } else {
      inner_->put(place(at), from);
    }
  }
  void get(pgas::location at, pgas::bytes_out into) {
    if (!is_of_pull_area(at) && lacking::is(step::room_after_read)) {
      *later_ = [this, at, into] {
        inner_->get(at, into);
        inner_->flush_local(at.rank);
      };
    } else {
      inner_->get(place(at), into);
    }
  }
  auto rput(pgas::location at, pgas::bytes_in from) { return inner_->rput(at, from); }
  auto rget(pgas::location at, pgas::bytes_out into) { return inner_->rget(at, into); }
  void flush(pgas::rank_t to) {
    if (!lacking::is(to == rank() ? step::flush_of_meet : step::flush_of_push)) inner_->flush(to);
  }
  void flush_all() { inner_->flush_all(); }
  void flush_local(pgas::rank_t to) {
    if (!lacking::is(step::flush_of_pull)) inner_->flush_local(to);
  }
  void flush_local_all() {
    if (!lacking::is(step::flush_of_settle)) inner_->flush_local_all();
  }

 private:
  [[nodiscard]] bool is_of_pull_area(pgas::location at) const noexcept { return at.offset >= pull_area_; }
  [[nodiscard]] pgas::location place(pgas::location at) const noexcept {
    if (!is_of_pull_area(at) || !lacking::is(step::second_buffer)) return at;
    return {at.rank, pull_area_ + (at.offset - pull_area_) % buffer_};
  }

  Inner* inner_;
  delayed* later_;
  std::size_t pull_area_;
  std::size_t buffer_;
};

}  // namespace pgas_test::exchanges
