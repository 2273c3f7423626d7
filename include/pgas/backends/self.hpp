// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <pgas/coherence/coherent.hpp>
#include <pgas/concepts/backend.hpp>
#include <pgas/concepts/bootstrap.hpp>
#include <pgas/detail/copy/bulk_copy.hpp>
#include <pgas/detail/elements/uninterrupted_segment.hpp>
#include <pgas/vocabulary/error.hpp>
#include <pgas/vocabulary/op.hpp>
#include <string>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::backends {

/// One rank, whose memory no other rank shares. This is the shortest backend: read it first.
///
/// A put is a memcpy, and a control word is a plain integer. A wait whose condition is false is a deadlock.
class self {
 public:
  // Payload: the concept `segment`, refined by `local_segment`, `shared_segment` and `atomic_segment`. There
  // is no other rank, so the base reads and writes an element to modify it.
  class segment_type : public detail::uninterrupted_segment<segment_type> {
   public:
    explicit segment_type(std::size_t bytes)
        : memory_(bytes / sizeof(line) + 1), part_(reinterpret_cast<std::byte*>(memory_.data()), bytes) {}
    explicit segment_type(bytes_out memory_of_the_user) noexcept : part_(memory_of_the_user) {}

    [[nodiscard]] static rank_t rank() noexcept { return 0; }
    [[nodiscard]] static rank_t size() noexcept { return 1; }
    [[nodiscard]] std::size_t part_bytes(rank_t) const noexcept { return part_.size(); }
    [[nodiscard]] std::byte* part(rank_t) noexcept { return part_.data(); }
    [[nodiscard]] bytes_out local() noexcept { return part_; }

    void put(location at, bytes_in from) noexcept {
      detail::bulk_copy(part(0) + at.offset, from.data(), from.size());
    }
    void get(location at, bytes_out into) noexcept {
      detail::bulk_copy(into.data(), part(0) + at.offset, into.size());
    }

   private:
    struct alignas(part_alignment) line {
      std::byte bytes[part_alignment];
    };
    std::vector<line> memory_;  // moves keep its address
    bytes_out part_;
  };

  // Control words: the concept `control`.
  class control_type {
   public:
    struct slot_type {
      word* at;
      [[nodiscard]] word load(std::memory_order) const noexcept { return *at; }
      void store(word value, std::memory_order) const noexcept { *at = value; }
    };
    struct cell_type : detail::refuses_store {
      explicit cell_type(word* w) noexcept : at(w) {}
      word* at;
      [[nodiscard]] word load(std::memory_order) const noexcept { return *at; }
      word fetch_add(word value, std::memory_order) const noexcept { return std::exchange(*at, *at + value); }
      word fetch_xor(word value, std::memory_order) const noexcept { return std::exchange(*at, *at ^ value); }
      word exchange(word value, std::memory_order) const noexcept { return std::exchange(*at, value); }
      bool compare_exchange(word& expected, word desired, std::memory_order) const noexcept {
        if (*at != expected) return expected = *at, false;
        *at = desired;
        return true;
      }
      void reset_unshared(word value, std::memory_order) const noexcept { *at = value; }
    };

    static constexpr rmw read_modify_write = rmw::native;
    static constexpr bool can_park = false;

    control_type(control_words words, std::string_view label)
        : words_(words.slots + words.cells), slots_(words.slots), label_(label) {}

    [[nodiscard]] static rank_t rank() noexcept { return 0; }
    [[nodiscard]] static rank_t size() noexcept { return 1; }
    slot_type slot(rank_t, std::size_t i, rank_t) noexcept { return {&words_[i]}; }
    cell_type cell(rank_t, std::size_t i) noexcept { return cell_type{&words_[slots_ + i]}; }

    template <class Word, std::predicate<word> Predicate>
    word wait_until(Word w, Predicate&& predicate, waiting_for const& why) const {
      word const seen = w.load(std::memory_order_acquire);
      if (!predicate(seen)) alone(why);
      return seen;
    }
    template <class Word, std::predicate<word> Predicate>
    std::size_t wait_any(std::span<Word> words, Predicate&& predicate, waiting_for const& why) const {
      for (std::size_t i = 0; i < words.size(); ++i) {
        if (predicate(words[i].load(std::memory_order_acquire))) return i;
      }
      alone(why);
    }
    void pause(unsigned, waiting_for const&) const noexcept {}  // no other rank could go on meanwhile

   private:
    [[noreturn]] void alone(waiting_for const& why) const {
      if (why.deadline != no_deadline)
        throw error(errc::timed_out, 0, why.operation, label_ + ": no other rank exists to signal");
      throw error(errc::deadlock, 0, why.operation,
                  "rank 0 waits in " + std::string(why.operation) + " (" + label_ +
                      ") for a signal that no other rank can send; signal before the wait");
    }

    std::vector<word> words_;
    std::size_t slots_;
    std::string label_;
  };

  // The start of ranks: the concept `bootstrap`.
  class bootstrap_type {
   public:
    [[nodiscard]] static rank_t rank() noexcept { return 0; }
    [[nodiscard]] static rank_t size() noexcept { return 1; }
    void put(std::string_view key, bytes_in value) {
      values_[std::string(key)].assign(value.begin(), value.end());
    }
    void get(std::string_view key, bytes_out into) const {
      auto const& value = values_.at(std::string(key));
      if (!into.empty()) std::memcpy(into.data(), value.data(), into.size());
    }
    static void fence() noexcept {}
    static void fail(std::string_view) noexcept {}

   private:
    std::map<std::string, std::vector<std::byte>, std::less<>> values_;
  };

  using handle = char;  ///< empty: no other rank attaches
  using default_coherence = coherence::coherent;
  using user_segment_type = segment_type;
  using user_coherence = coherence::coherent;
  static constexpr std::string_view name = "self";
  static constexpr progress progress_by = progress::hardware;
  static constexpr rank_t max_ranks = 1;

  template <class Main>
  static bootstrap_type launch(rank_t ranks, Main const& main) {
    static_cast<void>(detail::cached_bytes_given());  // refuses a wrong value
    if (ranks != 1) {
      throw error(errc::invalid_argument, -1,
                  "run: backend self has one rank, " + std::to_string(ranks) +
                      " were asked for: ask for one, or choose another backend");
    }
    bootstrap_type boot;
    try {
      main(self{}, boot);
    } catch (error const&) {
      throw;
    } catch (std::exception const& e) {
      throw error(errc::rank_failed, 0, std::string("rank 0 threw: ") + e.what());
    } catch (...) {
      throw error(errc::rank_failed, 0, "rank 0 threw something that is no std::exception");
    }
    return boot;
  }

  [[nodiscard]] static rank_t rank() noexcept { return 0; }
  [[nodiscard]] static rank_t size() noexcept { return 1; }
  [[nodiscard]] static rank_t world_rank(rank_t) noexcept { return 0; }
  [[nodiscard]] static locality locality_of(rank_t) noexcept { return locality::self; }

  static handle reserve_segment(std::span<std::size_t const> sizes) {
    if (sizes[0] > (std::size_t{1} << 47U)) {
      throw error(errc::no_space, 0, "reserve",
                  std::to_string(sizes[0]) + " bytes were asked for: no machine has as much");
    }
    return {};
  }
  static segment_type attach_segment(handle, std::size_t own_bytes) { return segment_type(own_bytes); }
  static handle reserve_user_segment(std::span<std::size_t const>) noexcept { return {}; }
  static segment_type attach_user_segment(handle, bytes_out own) noexcept { return segment_type(own); }
  static handle reserve_control(control_words) noexcept { return {}; }
  static control_type attach_control(handle, control_words words, std::string_view label) {
    return {words, label};
  }
  static self sub_team(group, rank_t) noexcept { return {}; }

  static void fail(std::string_view) noexcept {}   // an exception passes; no other rank has to know
  static void check(std::string_view) noexcept {}  // a failed rank would not call this
  [[nodiscard]] static time_point now() noexcept { return std::chrono::steady_clock::now(); }
  static void charge(std::uint64_t) noexcept {}
};
static_assert(bootstrap<self::bootstrap_type>);
static_assert(user_memory_backend<self> && shared_segment<self::segment_type> &&
              atomic_segment<self::segment_type, double, op::sum>);

}  // namespace PGAS_NAMESPACE::backends
