// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <pgas/backends/pool_map/memory.hpp>
#include <pgas/coherence/write_back.hpp>
#include <pgas/concepts/backend.hpp>
#include <pgas/concepts/control.hpp>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/control/cells.hpp>
#include <pgas/detail/job/asked_text.hpp>
#include <pgas/detail/job/bell.hpp>
#include <pgas/detail/job/launch.hpp>
#include <pgas/detail/job/ranks.hpp>
#include <pgas/detail/job/team_backend.hpp>
#include <pgas/detail/job/wait.hpp>
#include <pgas/detail/text/text.hpp>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// Payload in a pool, accessed through this processor's cache, which is not coherent with other hosts'
/// caches.
///
/// The extent begins with the sizes of all parts. A part begins on a line. Only its owner stores to it
/// through a cache; the other ranks' puts pass their caches.
template <class Cache>
class pool_segment {
 public:
  static constexpr std::size_t line_bytes = pool<Cache>::line;
  static constexpr bool writeback_is_masked = false;
  static constexpr bool has_speculative_fill = true;
  static constexpr bool drop_may_write_back = true;
  static constexpr bool write_allocates = true;
  static constexpr bool tagged_drop = false;
  /// A locked instruction is atomic among the cores of one host only.
  template <class T>
  static constexpr bool is_atomic = false;

  pool_segment(held_pool_extent<Cache> extent, team_ranks ranks)
      : extent_(std::move(extent)),
        ranks_(std::move(ranks)),
        header_(extent_.data()),
        base_(header_ + header_bytes(ranks_.size())) {
    // Drops this rank's copies from the memory's last use, since a first get may come before any boundary.
    Cache::drop(header_, header_bytes(ranks_.size()));
    Cache::drain_all();
    std::memcpy(&stride_, header_, sizeof stride_);
    Cache::drop(base_, static_cast<std::size_t>(ranks_.size()) * stride_);
    Cache::drain_all();
    extent_.stores_to({part(rank()), part_bytes(rank())});
  }

  /// Makes the extent for parts of these sizes; one rank calls it for all.
  static std::uint64_t reserve(job const& j, pool<Cache> const& p, std::span<std::size_t const> sizes) {
    std::uint64_t const largest = *std::max_element(sizes.begin(), sizes.end());
    auto const ranks = static_cast<rank_t>(sizes.size());
    if (largest > p.bytes() / sizes.size()) {
      throw error(errc::no_space, j.rank(), "reserve",
                  text_of({asked_text(sizes), ": the memory given to pool_map has only ", p.bytes()}));
    }
    std::uint64_t const stride = (largest + line_bytes - 1) / line_bytes * line_bytes;
    std::uint64_t const extent = p.reserve(j, header_bytes(ranks) + stride * sizes.size(), ranks);
    std::byte* const header = p.data() + extent;
    Cache::put_past(header, reinterpret_cast<std::byte const*>(&stride), sizeof stride);
    Cache::put_past(header + sizeof stride, reinterpret_cast<std::byte const*>(sizes.data()),
                    sizes.size_bytes());
    Cache::drain_stores();
    return extent;
  }

  [[nodiscard]] rank_t rank() const noexcept { return ranks_.self(); }
  [[nodiscard]] rank_t size() const noexcept { return ranks_.size(); }
  // Reads through the cache, since the header never changes.
  [[nodiscard]] std::size_t part_bytes(rank_t rank) const noexcept {
    std::size_t bytes = 0;
    std::memcpy(&bytes, header_ + sizeof stride_ + static_cast<std::size_t>(rank) * sizeof bytes,
                sizeof bytes);
    return bytes;
  }

  void put(location at, bytes_in from) const noexcept {
    Cache::put_past(address(at), from.data(), from.size());
  }
  void get(location at, bytes_out into) const noexcept {
    drop(at, into.size());
    drain_all();
    load(at, into);
  }
  done rput(location at, bytes_in from) const noexcept { return put(at, from), done{}; }
  done rget(location at, bytes_out into) const noexcept { return get(at, into), done{}; }

  static void flush(rank_t) noexcept { drain_stores(); }
  static void flush_all() noexcept { drain_stores(); }
  // When they return, a put has read its source and a get has filled its destination.
  static void flush_local(rank_t) noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }
  static void flush_local_all() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

  void load(location at, bytes_out into) const noexcept {
    if (!into.empty()) std::memcpy(into.data(), address(at), into.size());
  }
  void store(location at, bytes_in from) const noexcept {
    if (!from.empty()) std::memcpy(address(at), from.data(), from.size());
  }
  void clean(location at, std::size_t count) const noexcept { Cache::clean(address(at), count); }
  void drop(location at, std::size_t count) const noexcept { Cache::drop(address(at), count); }
  static void drain_stores() noexcept { Cache::drain_stores(); }
  static void drain_all() noexcept { Cache::drain_all(); }

 private:
  static std::size_t header_bytes(rank_t ranks) noexcept {
    std::size_t const bytes = sizeof(std::uint64_t) + static_cast<std::size_t>(ranks) * sizeof(std::size_t);
    return (bytes + line_bytes - 1) / line_bytes * line_bytes;
  }

  [[nodiscard]] std::byte* part(rank_t rank) const noexcept {
    return base_ + static_cast<std::size_t>(rank) * stride_;
  }
  [[nodiscard]] std::byte* address(location at) const noexcept { return part(at.rank) + at.offset; }

  held_pool_extent<Cache> extent_;
  team_ranks ranks_;
  std::byte* header_;
  std::byte* base_;
  std::uint64_t stride_ = 0;
};
static_assert(cache_controlled<pool_segment<processor_cache>> &&
              !local_segment<pool_segment<processor_cache>>);

/// Control words in a pool, one line each. A store writes its line back, and a load drops the line first.
///
/// The words have loads and stores only: a locked instruction is atomic among the cores of one host, and the
/// pool has no other agent. Cells exist, but their modifications do not compile.
template <class Cache>
class pool_control : public control_of_locks {
 public:
  static constexpr rmw read_modify_write = rmw::none;
  static constexpr bool can_park = false;

  class slot_type {
   public:
    slot_type(word* at, std::uint32_t* bell) noexcept : at_(at), bell_(bell) {}
    [[nodiscard]] word load(std::memory_order order) const noexcept { return load_now(at_, order); }
    void store(word value, std::memory_order order) const noexcept {
      store_through(at_, value, order);
      bell::ring(bell_);
    }

   private:
    friend pool_control;
    word* at_;
    std::uint32_t* bell_;
  };

  class cell_type : public refuses_store {
   public:
    cell_type(word* at, std::uint32_t* bell) noexcept : at_(at), bell_(bell) {}
    [[nodiscard]] word load(std::memory_order order) const noexcept { return load_now(at_, order); }
    template <class Value>
    word fetch_add(Value, std::memory_order) const {
      return refuse<Value>();
    }
    template <class Value>
    word fetch_xor(Value, std::memory_order) const {
      return refuse<Value>();
    }
    template <class Value>
    word exchange(Value, std::memory_order) const {
      return refuse<Value>();
    }
    template <class Value>
    bool compare_exchange(word&, Value, std::memory_order) const {
      return refuse<Value>() != 0;
    }
    void reset_unshared(word value, std::memory_order order) const noexcept {
      store_through(at_, value, order);
      bell::ring(bell_);
    }

   private:
    friend pool_control;
    template <class Value>
    static word refuse() {
      static_assert(
          always_false<Value>,
          "cell: hosts that share a pool have no read-modify-write in common; use slots, each with one "
          "writer, and protocols whose `needs` is rmw::none");
      return 0;
    }

    word* at_;
    std::uint32_t* bell_;
  };

  /// The bytes that `reserve` takes for these words.
  static std::uint64_t bytes(rank_t ranks, control_words words) noexcept {
    return std::max<std::uint64_t>(static_cast<std::uint64_t>(ranks) * (words.slots + words.cells), 1) *
           pool<Cache>::line;
  }

  pool_control(held_pool_extent<Cache> extent, team_ranks ranks, control_words words, std::string_view label)
      : extent_(std::move(extent)), ranks_(std::move(ranks)), words_(words), label_(label) {}

  [[nodiscard]] rank_t rank() const noexcept { return ranks_.self(); }
  [[nodiscard]] rank_t size() const noexcept { return ranks_.size(); }

  [[nodiscard]] slot_type slot(rank_t owner, std::size_t i, rank_t /*writer*/) const noexcept {
    return slot_type(at(owner, i), bell_of(owner, i));
  }
  [[nodiscard]] cell_type cell(rank_t owner, std::size_t i) const noexcept {
    return cell_type(at(owner, words_.slots + i), bell_of(owner, words_.slots + i));
  }

  template <class Word, std::predicate<word> Predicate>
  word wait_until(Word w, Predicate&& predicate, waiting_for const& why) const {
    word seen = 0;
    wait(
        why, [&] { return predicate(seen = w.load(std::memory_order_acquire)); },
        [&] { return std::array{w.bell_}; });
    return seen;
  }

  template <class Word, std::predicate<word> Predicate>
  std::size_t wait_any(std::span<Word> words, Predicate&& predicate, waiting_for const& why) const {
    std::size_t found = 0;
    wait(
        why, [&] { return look_at_all(words, predicate, found); },
        [&] {
          std::vector<std::uint32_t*> bells;
          for (auto const& each : words) bells.push_back(each.bell_);
          return bells;
        });
    return found;
  }

  /// The lock holders of this rank.
  [[nodiscard]] held_locks& locks() const noexcept { return extent_.owner().locks(); }
  void pause(unsigned attempt, waiting_for const& why) const { back_off(extent_.owner(), attempt, why); }

 private:
  // acquire or weaker is requested; drain_all gives more. The load reads memory, and no later load precedes
  // it.
  static word load_now(word* at, std::memory_order order) noexcept {
    Cache::drop(reinterpret_cast<std::byte*>(at), sizeof(word));
    Cache::drain_all();
    return std::atomic_ref(*at).load(order);
  }
  // release: the boundary has drained this rank's puts and cleans before. The second drain orders later
  // accesses. The word is in memory before any later store and, through the drain_all of the next load,
  // before any later load.
  static void store_through(word* at, word value, std::memory_order order) noexcept {
    Cache::store(at, value, order);
    Cache::clean(reinterpret_cast<std::byte*>(at), sizeof(word));
    Cache::drain_stores();
  }

  template <class Condition, class Bells>
  void wait(waiting_for const& why, Condition&& condition, Bells&& bells) const {
    for (int i = 0; i < first_looks; ++i) {
      if (condition()) return;
    }
    auto const prepare = [&](long_wait& patience) {
      patience.awaits(ranks_, in_window(why));
      patience.sleeps_on(bells());
    };
    wait_on(extent_.owner(), condition, why, label_, prepare);
  }

  /// The bell of a word: in the job's memory, since a bell needs the processors' read-modify-writes.
  [[nodiscard]] std::uint32_t* bell_of(rank_t owner, std::size_t i) const noexcept {
    auto& bells = extent_.owner().block().bells;
    std::size_t const line = static_cast<std::size_t>(owner) * (words_.slots + words_.cells) + i;
    return &bells[line % bells.size()].state;
  }

  [[nodiscard]] word* at(rank_t owner, std::size_t i) const noexcept {
    return reinterpret_cast<word*>(extent_.data() +
                                   (static_cast<std::size_t>(owner) * (words_.slots + words_.cells) + i) *
                                       pool<Cache>::line);
  }

  held_pool_extent<Cache> extent_;
  team_ranks ranks_;
  control_words words_;
  std::string label_;
};
static_assert(control<pool_control<processor_cache>>);

}  // namespace PGAS_NAMESPACE::detail

namespace PGAS_NAMESPACE {

/// Ranks that map memory of several hosts, which no hardware keeps coherent between them: CXL pools, PCI
/// memory.
///
/// Payload and control words lie in the memory that `Source` names. Only cache maintenance makes copies
/// agree. Puts pass the cache, and boundaries clean and drop. Each store cleans its control word, and each
/// load drops the word first. Hosts have no read-modify-write in common. Protocols therefore use slots only,
/// and a bakery guards elements.
///
/// So far the ranks are processes of one job on one host. Their start, supervision and failures use the job's
/// own memory. One job at a time uses the memory, and overwrites its contents. A lock on the bytes of the
/// file refuses a second job. The default is the path in PGAS_POOL; in code, use
/// `run<basic_pool_map<my_source>>(...)`, see pool_source.
template <pool_source Source, class Cache = processor_cache>
class basic_pool_map : public detail::job_backend<basic_pool_map<Source, Cache>> {
  using base = detail::job_backend<basic_pool_map>;

 public:
  using segment_type = detail::pool_segment<Cache>;
  using control_type = detail::pool_control<Cache>;
  using default_coherence = coherence::write_back;
  using handle = std::uint64_t;  ///< the offset of an extent

  static constexpr std::string_view name = "pool_map";
  static constexpr progress progress_by = progress::hardware;

  /// Runs main(backend, bootstrap) on `ranks` ranks, or on a launcher's ranks if one has started this
  /// process. Returns the bootstrap.
  template <class Main>
  static detail::job launch(rank_t ranks, Main const& main) {
    std::optional<detail::pool<Cache>> inherited;  // by the ranks that this process starts
    if (!detail::launched_rank::find()) inherited = detail::pool<Cache>::map(Source::open());
    return detail::launch_processes(ranks, false, [&](detail::job const& mine) {
      auto const memory = inherited ? *inherited : detail::pool<Cache>::map(Source::open(), mine);
      auto const named = memory.watch(mine);
      detail::job own = mine;
      main(basic_pool_map(own, memory), own);
    });
  }

  using base::size;

  handle reserve_segment(std::span<std::size_t const> sizes) const {
    return detail::pool_segment<Cache>::reserve(job_, pool_, sizes);
  }
  segment_type attach_segment(handle extent, std::size_t /*own_bytes*/) const {
    return {{job_, pool_, extent}, ranks()};
  }
  handle reserve_control(control_words words) const {
    return pool_.reserve(job_, detail::pool_control<Cache>::bytes(size(), words), size());
  }
  control_type attach_control(handle extent, control_words words, std::string_view label) const {
    return {{job_, pool_, extent}, ranks(), words, label};
  }

  void check(std::string_view operation) const { job_.check(operation); }

 private:
  using base::job_;
  using base::ranks;

  basic_pool_map(detail::job const& j, detail::pool<Cache> p) : base(j), pool_(std::move(p)) {}

  detail::pool<Cache> pool_;
};

namespace backends {
/// Ranks map the memory that PGAS_POOL names.
using pool_map = basic_pool_map<pool_from_environment>;
static_assert(backend<pool_map>);
}  // namespace backends

}  // namespace PGAS_NAMESPACE
