// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <pgas/concepts/control.hpp>
#include <pgas/concepts/protocol.hpp>
#include <pgas/concepts/recorder.hpp>
#include <pgas/detail/control/collective_call.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/detail/types/plain_list.hpp>
#include <pgas/vocabulary/error.hpp>
#include <pgas/vocabulary/expects.hpp>
#include <pgas/vocabulary/transportable.hpp>
#include <span>
#include <string>
#include <string_view>

namespace PGAS_NAMESPACE::detail {

/// Tells every rank the least of all ranks' words, for up to `Width` words at once, in ceil(log2 n) rounds.
///
/// Source    dissemination (Hensgen, Finkel and Manber 1988) with words that travel along. In round k rank r
///           writes what it knows to r + 2^k and waits for r - 2^k. Ranks may be counted twice, which changes
///           no minimum.
/// Words     for each round `Width` values and a number in the memory of rank r, written by r - 2^k only:
///           what that rank knows, and the call it belongs to.
/// Requires  that all ranks pass a barrier between two calls, so that no rank writes values that another has
///           still to read.
/// Memory    (Width + 1) ceil(log2 n) slots a rank.
/// Costs     each rank stores to, waits for and reads ceil(log2 n) numbers with their values; no rank reads
///           another's memory.
template <control Control, std::size_t Width>
class least_words {
 public:
  static constexpr control_words words(rank_t ranks) noexcept {
    return {.slots = static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(ranks - 1))) * (Width + 1),
            .cells = 0};
  }

  least_words(Control& control, control_words first) : control_(&control), first_(first.slots) {}

  /// Replaces each value by the least of all ranks' values in its place. Requires at most Width of them.
  void operator()(std::span<word> values, std::string_view operation) {
    ++calls_;
    rank_t const self = control_->rank();
    rank_t const size = control_->size();
    std::size_t at = first_;
    for (rank_t distance = 1; distance < size; distance *= 2, at += Width + 1) {
      rank_t const to = self + distance < size ? self + distance : self + distance - size;
      rank_t const from = self < distance ? self - distance + size : self - distance;
      // relaxed: the release below carries them.
      for (std::size_t i = 0; i < values.size(); ++i)
        control_->slot(to, at + i, self).store(values[i], std::memory_order_relaxed);
      // release: pairs with the acquire load of wait_until in `to`; carries the values above.
      control_->slot(to, at + Width, self).store(calls_, std::memory_order_release);
      control_->wait_until(control_->slot(self, at + Width, from),
                           [call = calls_](word seen) { return seen == call; },
                           {.operation = operation, .awaited = group(&from, 1)});
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = std::min(values[i], control_->slot(self, at + i, from).load(std::memory_order_relaxed));
      }
    }
  }

 private:
  Control* control_;
  std::size_t first_;
  word calls_ = 0;
};

}  // namespace PGAS_NAMESPACE::detail

namespace PGAS_NAMESPACE {

/// Collectives over control words alone: for values of a few words, and before a team has memory. They need
/// no payload memory, and work on backends whose payload does not agree by itself.
///
/// Each rank writes a value into slots of its own, a barrier passes, and the ranks read. Two sets of slots
/// alternate, so that one barrier a round is enough: when a rank writes a set again, a barrier has passed
/// since others read it. A round moves 64 bytes.
///
/// From level normal on, 4 bytes before each value say what its rank calls: a hash of operation, size and
/// root. Each rank compares those of the values that it reads, and that of the next rank, which costs one
/// load. If the ranks of a team call different collectives, at least one rank thus throws errc::mismatch.
/// A barrier writes these bytes, and compares none: next to it, in the ring, is a rank that compares.
/// A second thread of a rank that calls a collective during another of the same team gets errc::wrong_order.
/// `least` and `pick` read a bounded number of ranks, however many there are; gathers read all. With more
/// than 16 ranks short values of a root travel as `least` does, so that not all ranks read those of one.
/// Memory: 22 slots a rank, below level normal 16, and those of a barrier; with more than 16 ranks 5 for each
/// doubling of the ranks.
template <class Backend, fence_protocol Barrier>
class slot_collectives {
 public:
  using control_type = typename Backend::control_type;

  /// Up to this many ranks, each rank reads the words of all others: one barrier takes less time than two.
  static constexpr rank_t few_ranks = 16;

  static constexpr control_words words(rank_t ranks) noexcept {
    return fixed_words(ranks) + (ranks > few_ranks ? least_type::words(ranks) : control_words{});
  }

  /// The collectives of a team, on the first words of its control. Messages name the ranks of `backend`.
  slot_collectives(Backend const& backend, control_type& control)
      : backend_(&backend),
        control_(&control),
        barrier_(control, {}),
        first_(Barrier::words(control.size()).slots),
        least_(control, fixed_words(control.size())) {}

  /// Returns when every rank has called it.
  void barrier() {
    static constexpr detail::collective_call call("barrier");
    only_thread const inside(*this, "barrier");
    [[maybe_unused]] auto const span = detail::begin_span(*control_, span_kind::collective, "barrier");
    detail::compare_call(*control_, call);
    announce(call);
    meet("barrier");
    if constexpr (is_checked) ++round_;
  }

  /// Calls read(rank, value of that rank) for each rank, in order, on every rank. `folds` says what it makes
  /// of them, if that must be the same on all ranks.
  template <transportable T, class Read>
  void all_gather(T const& mine, std::string_view operation, Read&& read, detail::folded_kind folds = {}) {
    gather(mine, detail::collective_call(operation, sizeof(T), -1, folds), operation, true, read);
  }

  /// Calls read(rank, value of that rank) for each rank, in order, on `root` only.
  template <transportable T, class Read>
  void gather(T const& mine, rank_t root, std::string_view operation, Read&& read) {
    gather(mine, detail::collective_call(operation, sizeof(T), root), operation, control_->rank() == root,
           read);
  }

  /// Returns the value of rank `whose`, which each rank chooses for itself. Requires that this rank exists.
  template <transportable T>
  T pick(T const& mine, rank_t whose, std::string_view operation) {
    detail::collective_call const call(operation, sizeof(T));
    return from_words<T>(gather_words(to_words(mine, call), call, operation, whose, 1));
  }

  /// Replaces each of up to `most_least` words by the least of all ranks' words in its place.
  void least(std::span<word> values, std::string_view operation) {
    least(values, detail::collective_call(operation, values.size_bytes()), operation);
  }
  /// The largest number of words of `least`.
  static constexpr std::size_t most_least = 4;

  /// Tells every rank whether all ranks give the same word, for each of two.
  [[nodiscard]] std::array<bool, 2> are_same(word a, word b, std::string_view operation) {
    std::array<word, most_least> all{a, ~a, b, ~b};
    least(all, operation);
    return {all[0] == ~all[1], all[2] == ~all[3]};
  }

  /// Gives every rank the value of `root`.
  template <transportable T>
  void broadcast(T& value, rank_t root, std::string_view operation) {
    detail::collective_call const call(operation, sizeof(T), root);
    if constexpr (words_of<T>().size() <= most_least) {
      if (control_->size() > few_ranks) {
        // No word is greater than those of the other ranks.
        words_of<T> all;
        all.fill(~word{0});
        if (control_->rank() == root) all = to_words(value, call);
        least(all, call, operation);
        value = from_words<T>(all);
        return;
      }
    }
    auto all = to_words(value, call);
    broadcast_words(all, root, call, operation);
    value = from_words<T>(all);
  }

 private:
  static constexpr bool is_checked = assertions >= assertion_level::normal;
  static constexpr std::size_t tag_bytes = is_checked ? sizeof(std::uint32_t) : 0;
  static constexpr std::size_t slots = is_checked ? 9 : 8;                     ///< for values
  static constexpr std::size_t slots_of_a_set = slots + (is_checked ? 2 : 0);  ///< and the call in full
  using least_type = detail::least_words<control_type, most_least>;

  static constexpr control_words fixed_words(rank_t ranks) noexcept {
    return Barrier::words(ranks) + control_words{.slots = 2 * slots_of_a_set, .cells = 0};
  }

  /// Lives while a thread is in a collective. Throws if another thread is in one: the rounds would mix.
  class only_thread {
   public:
    only_thread(slot_collectives& of, std::string_view operation) : of_(&of) {
      // acquire: pairs with the release of the thread that was inside before.
      PGAS_EXPECTS(
          normal, !of.is_busy_.exchange(true, std::memory_order_acquire),
          detail::throw_error(errc::wrong_order, of.backend_->world_rank(of.control_->rank()), operation,
                              "another thread of this rank is in a collective of the team; let one "
                              "thread at a time call the library"));
    }
    only_thread(only_thread const&) = delete;
    only_thread& operator=(only_thread const&) = delete;
    ~only_thread() {
      // release: pairs with the acquire of the thread that comes next.
      if constexpr (is_checked) of_->is_busy_.store(false, std::memory_order_release);
    }

   private:
    slot_collectives* of_;
  };

  void meet(std::string_view operation) {
    no_boundary nothing;
    barrier_.fence(nothing, operation);
  }

  template <class T>
  using words_of = std::array<word, (tag_bytes + sizeof(T) + sizeof(word) - 1) / sizeof(word)>;

  template <class T>
  static words_of<T> to_words(T const& value, detail::collective_call const& call) noexcept {
    words_of<T> all{};
    std::uint32_t const tag = call.tag();
    std::memcpy(all.data(), &tag, tag_bytes);
    std::memcpy(reinterpret_cast<std::byte*>(all.data()) + tag_bytes, static_cast<void const*>(&value),
                sizeof(T));
    return all;
  }
  template <class T>
  static T from_words(std::span<word const> all) noexcept {
    T value;
    std::memcpy(static_cast<void*>(&value), reinterpret_cast<std::byte const*>(all.data()) + tag_bytes,
                sizeof(T));
    return value;
  }

  [[nodiscard]] auto slot(rank_t owner, std::size_t i) {
    return control_->slot(owner, first_ + (round_ % 2) * slots_of_a_set + i, owner);
  }

  // relaxed: the barrier between a write and its reads orders them.
  void write(std::span<word const> from, std::size_t at) {
    for (std::size_t i = 0; i < slots && at + i < from.size(); ++i) {
      slot(control_->rank(), i).store(from[at + i], std::memory_order_relaxed);
    }
    announced_[round_ % 2].is_first = false;
  }
  void read_chunk(rank_t rank, std::span<word> into, std::size_t at) {
    for (std::size_t i = 0; i < slots && at + i < into.size(); ++i) {
      into[at + i] = slot(rank, i).load(std::memory_order_relaxed);
    }
  }

  /// Writes what this rank calls into the set of this round. Slots that hold it already are not stored again.
  void announce(detail::collective_call const& call) {
    if constexpr (is_checked) {
      describe(call);
      auto& last = announced_[round_ % 2];
      if (last.is_first) return;
      word first = 0;
      std::uint32_t const tag = call.tag();
      std::memcpy(&first, &tag, tag_bytes);
      slot(control_->rank(), 0).store(first, std::memory_order_relaxed);
      last.is_first = true;
    }
  }
  /// Writes the call in full, for the message of a rank that finds another hash than its own.
  void describe(detail::collective_call const& call) {
    if constexpr (is_checked) {
      auto& last = announced_[round_ % 2];
      if (last.call == call) return;
      slot(control_->rank(), slots).store(call.name(), std::memory_order_relaxed);
      slot(control_->rank(), slots + 1).store(call.shape(), std::memory_order_relaxed);
      last = {call, false};
    }
  }
  /// Throws if `rank`, whose first word this is, calls something else.
  void compare(detail::collective_call const& mine, word first, rank_t rank, std::string_view operation) {
    if constexpr (is_checked) {
      std::uint32_t tag = 0;
      std::memcpy(&tag, &first, tag_bytes);
      if (tag != mine.tag()) [[unlikely]]
        throw_mismatch(mine, rank, operation);
    }
  }
  void compare_next(detail::collective_call const& mine, std::string_view operation) {
    if constexpr (is_checked) {
      rank_t const next = control_->rank() + 1 < control_->size() ? control_->rank() + 1 : 0;
      if (next != control_->rank())
        compare(mine, slot(next, 0).load(std::memory_order_relaxed), next, operation);
    }
  }
  [[noreturn, gnu::cold, gnu::noinline]] void throw_mismatch(detail::collective_call const& mine, rank_t rank,
                                                             std::string_view operation) {
    detail::collective_call const other(slot(rank, slots).load(std::memory_order_relaxed),
                                        slot(rank, slots + 1).load(std::memory_order_relaxed));
    bool const in_full = other.name() == mine.name();
    if (in_full && other.shape() == mine.shape()) {
      static constexpr std::string_view difference =
          " calls it with another operation or with elements of another kind; all ranks of a team must fold "
          "in the same way";
      rank_t const self = backend_->world_rank(control_->rank());
      detail::throw_error(errc::mismatch, self, operation,
                          {"rank ", self, " calls ", mine.text(true), " while rank ",
                           backend_->world_rank(rank), difference});
    }
    rank_t const self = backend_->world_rank(control_->rank());
    detail::throw_error(
        errc::mismatch, self, operation,
        {"rank ", self, " calls ", mine.text(in_full), " while rank ", backend_->world_rank(rank), " calls ",
         other.text(in_full),
         (in_full ? "; all ranks of a team must give values of one size and name the same root"
                  : "; all ranks of a team must call the same collectives in the same order")});
  }

  template <class T, class Read>
  void gather(T const& mine, detail::collective_call const& call, std::string_view operation, bool reads,
              Read& read) {
    auto const own = to_words(mine, call);
    detail::plain_list<word> const all = gather_words(own, call, operation, 0, reads ? control_->size() : 0);
    // The function that the program has given may take long, so no collective is open meanwhile.
    for (std::size_t rank = 0; rank * own.size() < all.size(); ++rank)
      read(static_cast<rank_t>(rank), from_words<T>(std::span(all.begin() + rank * own.size(), own.size())));
  }

  // These functions do not depend on T, so the compiler meets them once.

  void least(std::span<word> values, detail::collective_call const& call, std::string_view operation) {
    if (control_->size() <= few_ranks) {
      std::array<word, most_least> mine{};
      std::copy(values.begin(), values.end(), mine.begin());
      auto const take = [&](rank_t, std::array<word, most_least> const& theirs) {
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::min(values[i], theirs[i]);
      };
      gather(mine, call, operation, true, take);
      return;
    }
    only_thread const inside(*this, operation);
    [[maybe_unused]] auto const span = detail::begin_span(*control_, span_kind::collective, operation);
    detail::compare_call(*control_, call);
    announce(call);
    meet(operation);
    compare_next(call, operation);
    if constexpr (is_checked) ++round_;
    least_(values, operation);
  }

  /// Returns the words of `ranks` ranks from `first` on, in order.
  detail::plain_list<word> gather_words(std::span<word const> own, detail::collective_call const& call,
                                        std::string_view operation, rank_t first, rank_t ranks) {
    only_thread const inside(*this, operation);
    [[maybe_unused]] auto const span = detail::begin_span(*control_, span_kind::collective, operation);
    detail::compare_call(*control_, call);
    detail::plain_list<word> all(static_cast<std::size_t>(ranks) * own.size());
    for (std::size_t at = 0; at < own.size(); at += slots) {
      if (at == 0) describe(call);
      write(own, at);
      meet(operation);
      if (at == 0 && ranks < control_->size()) compare_next(call, operation);
      for (rank_t i = 0; i < ranks; ++i) {
        auto const words = std::span(all.begin() + static_cast<std::size_t>(i) * own.size(), own.size());
        read_chunk(first + i, words, at);
        if (at == 0) compare(call, words[0], first + i, operation);
      }
      ++round_;
    }
    return all;
  }

  void broadcast_words(std::span<word> all, rank_t root, detail::collective_call const& call,
                       std::string_view operation) {
    only_thread const inside(*this, operation);
    [[maybe_unused]] auto const span = detail::begin_span(*control_, span_kind::collective, operation);
    detail::compare_call(*control_, call);
    for (std::size_t at = 0; at < all.size(); at += slots) {
      if (control_->rank() == root) {
        if (at == 0) describe(call);
        write(all, at);
      } else if (at == 0) {
        announce(call);
      }
      meet(operation);
      if (at == 0) compare_next(call, operation);
      if (control_->rank() != root) {
        read_chunk(root, all, at);
        if (at == 0) compare(call, all[0], root, operation);
      }
      ++round_;
    }
  }

  /// The contents of a set's slots after this rank's last call there.
  struct announcement {
    detail::collective_call call;
    bool is_first = false;  ///< its hash is the first slot's whole content
  };

  Backend const* backend_;
  control_type* control_;
  typename Barrier::template on<control_type> barrier_;
  std::size_t first_;
  least_type least_;
  std::size_t round_ = 0;
  std::array<announcement, 2> announced_;
  std::atomic<bool> is_busy_ = false;  ///< a thread of this rank is in a collective
};

}  // namespace PGAS_NAMESPACE
