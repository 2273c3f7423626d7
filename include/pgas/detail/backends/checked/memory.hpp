// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sched.h>
#include <sys/mman.h>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <pgas/detail/backends/checked/record.hpp>
#include <pgas/detail/checking/error_log.hpp>
#include <pgas/detail/checking/known_places.hpp>
#include <pgas/detail/job/job.hpp>
#include <pgas/detail/processor/processor.hpp>
#include <pgas/vocabulary/error.hpp>
#include <pgas/vocabulary/expects.hpp>
#include <string>
#include <utility>

#if defined(__SANITIZE_THREAD__)
#define PGAS_TELLS_ORDER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PGAS_TELLS_ORDER 1
#endif
#endif

#if defined(PGAS_TELLS_ORDER)
extern "C" {
// The thread sanitizer's own names, which have no header.
void AnnotateIgnoreSyncBegin(char const* file, int line);    // NOLINT
void AnnotateIgnoreSyncEnd(char const* file, int line);      // NOLINT
void AnnotateIgnoreReadsBegin(char const* file, int line);   // NOLINT
void AnnotateIgnoreReadsEnd(char const* file, int line);     // NOLINT
void AnnotateIgnoreWritesBegin(char const* file, int line);  // NOLINT
void AnnotateIgnoreWritesEnd(char const* file, int line);    // NOLINT
void __tsan_acquire(void* address);                          // NOLINT
void __tsan_release(void* address);                          // NOLINT
}
#endif

namespace PGAS_NAMESPACE::detail {

/// Whether the thread sanitizer watches this program.
#if defined(PGAS_TELLS_ORDER)
inline constexpr bool has_thread_sanitizer = true;
#else
inline constexpr bool has_thread_sanitizer = false;
#endif

/// Hides synchronization from the thread sanitizer while it lives; `all` hides loads and stores, too.
///
/// The sanitizer assumes that each acquire orders what the program may rely on. A control word orders more: a
/// slow rank may find a newer value than its protocol promises. A checker knows the promise, and reports that
/// to the sanitizer instead, by `tell_release` and `tell_acquire`. Does nothing without the sanitizer.
class hidden_from_sanitizer {
 public:
  enum class what { synchronization, all };

  explicit hidden_from_sanitizer([[maybe_unused]] what hidden = what::all) noexcept {
#if defined(PGAS_TELLS_ORDER)
    hides_all_ = hidden == what::all;
    ++depth();
    ::AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
    if (!hides_all_) return;
    ::AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    ::AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
#endif
  }
  hidden_from_sanitizer(hidden_from_sanitizer const&) = delete;
  hidden_from_sanitizer& operator=(hidden_from_sanitizer const&) = delete;
  ~hidden_from_sanitizer() {  // NOLINT(modernize-use-equals-default): a guard must not look unused
#if defined(PGAS_TELLS_ORDER)
    if (hides_all_) {
      ::AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
      ::AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    }
    ::AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
    --depth();
#endif
  }

  /// The accesses of this thread so far come before those of a thread after its later acquire of this
  /// address.
  static void tell_release([[maybe_unused]] void const* at) noexcept {
#if defined(PGAS_TELLS_ORDER)
    seen([at] { ::__tsan_release(const_cast<void*>(at)); });  // NOLINT: only the address counts
#endif
  }
  static void tell_acquire([[maybe_unused]] void const* at) noexcept {
#if defined(PGAS_TELLS_ORDER)
    seen([at] { ::__tsan_acquire(const_cast<void*>(at)); });  // NOLINT: as above
#endif
  }

 private:
#if defined(PGAS_TELLS_ORDER)
  /// The guards of this thread.
  static int& depth() noexcept {
    static thread_local int now = 0;
    return now;
  }
  template <class Tell>
  static void seen(Tell const& tell) noexcept {
    for (int i = 0; i < depth(); ++i) ::AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
    tell();
    for (int i = 0; i < depth(); ++i) ::AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
  }
  bool hides_all_ = false;
#endif
};

}  // namespace PGAS_NAMESPACE::detail

#undef PGAS_TELLS_ORDER

namespace PGAS_NAMESPACE::detail::checking {

/// Holds a lock in memory that all ranks share, hidden from the thread sanitizer. A rank may die while it
/// holds a lock, so a rank that waits for long checks whether the job has failed, and then throws.
///
/// States: 0 free, 1 held. A rank that finds 0 changes it to 1, and stores 0 at the end. Source: the
/// test-and-test-and-set lock of Rudolph and Segall 1984.
class spin_lock {
 public:
  spin_lock(std::uint32_t& word, job const& of) : word_(word) {
    // acquire: pairs with the release in the destructor of the last holder.
    while (word_.exchange(1, std::memory_order_acquire) != 0) wait(of);
  }
  spin_lock(spin_lock const&) = delete;
  spin_lock& operator=(spin_lock const&) = delete;
  ~spin_lock() { word_.store(0, std::memory_order_release); }  // pairs with the acquire above

 private:
  [[gnu::noinline]] void wait(job const& of) const {
    for (unsigned looks = 1; word_.load(std::memory_order_relaxed) != 0; ++looks) {
      if (looks % 64 == 0) ::sched_yield();
      if (looks % 65536 == 0) of.check("check");
    }
  }

  hidden_from_sanitizer hidden_;
  std::atomic_ref<std::uint32_t> word_;
};

/// The memory in which the ranks of a checked job keep what they know about each other's accesses.
///
/// The launcher maps it before there are ranks, so it has one address in all of them. It is sparse: a page is
/// allocated when it is first used. It holds the shadow of the arena, the histories of control words, the
/// clocks of locations and mailboxes, the logs of flushes, and the errors.
class memory {
 public:
  /// The records of a piece of the arena as a whole, before the cells of its granules.
  struct alignas(64) block {
    std::uint32_t lock;
    std::uint32_t used_cells;  ///< a bit for each four granules of which one may have records of its own
    std::array<std::uint64_t, 7> records;
  };
  /// The records of a granule: two, or one and a link to nodes, which is a record without bytes.
  struct cell {
    std::uint64_t first;
    std::uint64_t second;
  };
  /// Further records of a granule.
  struct node {
    std::array<std::uint64_t, 3> records;
    std::uint64_t next;  ///< 0 is none
  };
  /// The place of an access.
  using place = call_path;
  /// Memory that belongs to a control or a segment: its histories, or its logs.
  struct beside_entry {
    std::uint64_t handle;  ///< plus one, so that 0 is none
    std::uint64_t offset;
    std::uint64_t bytes;
  };

  static constexpr std::size_t granule = 8;
  static constexpr std::size_t block_bytes = 1024;
  static constexpr std::size_t granules = block_bytes / granule;
  static constexpr std::size_t most_places = std::size_t{1} << 15U;
  static constexpr std::size_t locations = std::size_t{1} << 16U;
  static constexpr std::size_t most_beside = 8192;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  static constexpr std::uint64_t arena_bytes = std::uint64_t{4} << 30U;  ///< a sanitizer has a shadow, too
#else
  static constexpr std::uint64_t arena_bytes = std::uint64_t{64} << 30U;
#endif
  static constexpr std::uint64_t most_nodes = arena_bytes / 1024;
  static constexpr std::uint64_t word_bytes = arena_bytes / 4;

  explicit memory(rank_t ranks) : ranks_(static_cast<std::size_t>(ranks)) {
    static constexpr std::uint64_t page = 4096;
    auto const take = [&](std::uint64_t bytes) {
      std::uint64_t const at = bytes_;
      bytes_ += (bytes + page - 1) / page * page;
      return at;
    };
    std::uint64_t const heads = take(sizeof(counts));
    std::uint64_t const blocks = take(arena_bytes / block_bytes * sizeof(block));
    std::uint64_t const cells = take(arena_bytes / granule * sizeof(cell));
    std::uint64_t const nodes = take(most_nodes * sizeof(node));
    std::uint64_t const places = take(most_places * sizeof(place));
    std::uint64_t const clocks = take((locations + ranks_ * ranks_) * locked_clock_bytes());
    std::uint64_t const controls = take(most_beside * sizeof(beside_entry));
    std::uint64_t const errors = take(ranks_ * sizeof(error_log::entry));
    std::uint64_t const words = take(word_bytes);
    void* const base =
        ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) {
      throw error(errc::no_space, -1,
                  std::string("check: there is no address space for the shadow memory: ") +
                      std::strerror(errno) + "; run without --pgas-check");
    }
    ::madvise(base, bytes_, MADV_DONTDUMP);
    base_ = static_cast<std::byte*>(base);
    counts_ = reinterpret_cast<counts*>(base_ + heads);
    blocks_ = reinterpret_cast<block*>(base_ + blocks);
    cells_ = reinterpret_cast<cell*>(base_ + cells);
    nodes_ = reinterpret_cast<node*>(base_ + nodes);
    places_ = reinterpret_cast<place*>(base_ + places);
    clocks_ = base_ + clocks;
    controls_ = reinterpret_cast<beside_entry*>(base_ + controls);
    errors_ = reinterpret_cast<error_log::entry*>(base_ + errors);
    words_ = base_ + words;
  }
  memory(memory const&) = delete;
  memory& operator=(memory const&) = delete;
  ~memory() { ::munmap(base_, bytes_); }

  [[nodiscard]] std::size_t ranks() const noexcept { return ranks_; }
  [[nodiscard]] error_log errors() const noexcept { return error_log({errors_, ranks_}); }
  /// The number of an access to a control word, among those of all ranks.
  [[nodiscard]] std::uint64_t next_access() const noexcept {
    return std::atomic_ref(counts_->accesses).fetch_add(1, std::memory_order_relaxed) + 1;
  }

  [[nodiscard]] block& block_at(std::uint64_t n) const noexcept { return blocks_[n]; }
  [[nodiscard]] cell* cells_of(std::uint64_t n) const noexcept { return cells_ + n * granules; }
  [[nodiscard]] node& node_at(std::uint64_t n) const noexcept { return nodes_[n]; }

  /// Allocates a node. Returns 0 if there is none left: then a record is not kept.
  [[nodiscard]] std::uint64_t take_node(job const& of) const {
    spin_lock const hold(counts_->lock, of);
    if (std::uint64_t const n = counts_->free_node; n != 0) {
      counts_->free_node = nodes_[n].next;
      return n;
    }
    return counts_->used_nodes + 1 < most_nodes ? ++counts_->used_nodes : 0;
  }
  void give_node(std::uint64_t n, job const& of) const {
    spin_lock const hold(counts_->lock, of);
    nodes_[n].next = counts_->free_node;
    counts_->free_node = n;
  }

  /// The lock and the clock of a location. Several locations share them, which only adds knowledge.
  struct locked_clock {
    std::uint32_t* lock;
    shared_clock knowledge;
  };
  [[nodiscard]] locked_clock clock_of_location(std::uint64_t arena_offset) const noexcept {
    std::uint64_t const n = (arena_offset / granule * 0x9e3779b97f4a7c15U) >> 48U;
    return clock_number(n);
  }
  /// The clock of the messages from one rank to another.
  [[nodiscard]] locked_clock clock_of_mail(rank_t from, rank_t to) const noexcept {
    return clock_number(locations + static_cast<std::size_t>(from) * ranks_ + static_cast<std::size_t>(to));
  }

  /// Enters a place, and returns its number; 0 means "no room".
  [[nodiscard]] std::uint32_t number_of(place const& where) const noexcept {
    hidden_from_sanitizer const hidden;
    for (std::size_t probe = 0; probe < 64; ++probe) {
      std::size_t const n = (where.hash + probe) % most_places;
      if (n == 0) continue;
      std::atomic_ref<std::uint64_t> hash(places_[n].hash);
      std::uint64_t seen =
          hash.load(std::memory_order_acquire);  // pairs with the release of the entry's rank
      if (seen == 0 && hash.compare_exchange_strong(seen, taken, std::memory_order_acq_rel)) {
        places_[n].calls = where.calls;
        hash.store(where.hash, std::memory_order_release);  // pairs with the acquire above
        return static_cast<std::uint32_t>(n);
      }
      if (seen == where.hash) return static_cast<std::uint32_t>(n);
    }
    return 0;
  }
  [[nodiscard]] place const& place_of(std::uint32_t number) const noexcept { return places_[number]; }

  /// Makes zeroed memory beside a control or a segment that one rank has just reserved.
  void make_beside(std::uint64_t handle, std::uint64_t bytes, job const& of) const {
    spin_lock const hold(counts_->lock, of);
    beside_entry* known = nullptr;
    for (std::size_t i = 0; i < most_beside && known == nullptr; ++i) {
      if (controls_[i].handle == handle + 1 || controls_[i].handle == 0) known = &controls_[i];
    }
    if (known == nullptr || (known->bytes < bytes && word_bytes - counts_->used_words < bytes)) {
      throw error(errc::no_space, of.rank(), "check",
                  "there is no room for more windows; run without --pgas-check");
    }
    if (known->bytes < bytes) {
      *known = {handle + 1, counts_->used_words, bytes};
      counts_->used_words += (bytes + 63) / 64 * 64;
    } else {
      clear(words_ + known->offset, known->bytes);
    }
  }
  [[nodiscard]] std::byte* beside(std::uint64_t handle, job const& of) const {
    spin_lock const hold(counts_->lock, of);
    for (std::size_t i = 0; i < most_beside; ++i) {
      if (controls_[i].handle == handle + 1) return words_ + controls_[i].offset;
    }
    return words_;
  }

  /// Forgets the accesses to bytes of the arena, which one rank has just reserved. Throws errc::no_space.
  void forget(std::uint64_t first, std::uint64_t bytes, job const& of) const {
    if (first + bytes > arena_bytes - counts_->lone_shadow) {
      throw error(errc::no_space, of.rank(), "check",
                  "windows of more than " + std::to_string(arena_bytes) +
                      " bytes have no shadow memory; take less, or run without --pgas-check");
    }
    clear_shadow(first, bytes);
  }
  /// Reserves shadow for memory outside the arena. Returns its offset, as if the memory were in the arena.
  [[nodiscard]] std::uint64_t take_shadow(std::uint64_t bytes, job const& of) const {
    std::uint64_t const whole = (bytes + block_bytes - 1) / block_bytes * block_bytes;
    spin_lock const hold(counts_->lock, of);
    if (whole > arena_bytes / 2 - counts_->lone_shadow) {
      throw error(errc::no_space, of.rank(), "check",
                  "windows over memory of the program have used up their shadow memory; run without "
                  "--pgas-check");
    }
    counts_->lone_shadow += whole;  // never given back: it has not been used before
    return arena_bytes - counts_->lone_shadow;
  }

 private:
  void clear_shadow(std::uint64_t first, std::uint64_t bytes) const {
    std::uint64_t const begin = first / block_bytes;
    std::uint64_t const end = (first + bytes + block_bytes - 1) / block_bytes;
    // Nodes are not freed one by one: few windows have many, and all are freed with the job.
    clear(reinterpret_cast<std::byte*>(blocks_ + begin), (end - begin) * sizeof(block));
    clear(reinterpret_cast<std::byte*>(cells_ + begin * granules), (end - begin) * granules * sizeof(cell));
  }

  struct counts {
    alignas(64) std::uint64_t accesses;
    alignas(64) std::uint32_t lock;
    std::uint64_t free_node;
    std::uint64_t used_nodes;
    std::uint64_t used_words;
    std::uint64_t lone_shadow;  ///< bytes at the end of the arena's shadow, for memory elsewhere
  };
  static constexpr std::uint64_t taken = ~std::uint64_t{0};

  [[nodiscard]] std::size_t locked_clock_bytes() const noexcept {
    return (sizeof(std::uint32_t) * (1 + ranks_) + 63) / 64 * 64;
  }
  [[nodiscard]] locked_clock clock_number(std::size_t n) const noexcept {
    auto* const at = reinterpret_cast<std::uint32_t*>(clocks_ + n * locked_clock_bytes());
    return {at, shared_clock(at + 1, ranks_)};
  }

  /// Zeroes memory. Whole pages of long memory go back to the system.
  static void clear(std::byte* first, std::uint64_t bytes) noexcept {
    static constexpr std::uintptr_t page = 4096;
    std::byte* const end = first + bytes;
    if (bytes > 16 * page) {
      auto const begin_page = (reinterpret_cast<std::uintptr_t>(first) + page - 1) / page * page;
      auto const end_page = reinterpret_cast<std::uintptr_t>(end) / page * page;
      auto* const pages = first + (begin_page - reinterpret_cast<std::uintptr_t>(first));
      if (::madvise(pages, end_page - begin_page, MADV_REMOVE) == 0) {
        std::memset(first, 0, static_cast<std::size_t>(pages - first));
        std::byte* const rest = pages + (end_page - begin_page);
        std::memset(rest, 0, static_cast<std::size_t>(end - rest));
        return;
      }
    }
    std::memset(first, 0, bytes);
  }

  std::size_t ranks_;
  std::uint64_t bytes_ = 0;
  std::byte* base_ = nullptr;
  counts* counts_ = nullptr;
  block* blocks_ = nullptr;
  cell* cells_ = nullptr;
  node* nodes_ = nullptr;
  place* places_ = nullptr;
  std::byte* clocks_ = nullptr;
  beside_entry* controls_ = nullptr;
  error_log::entry* errors_ = nullptr;
  std::byte* words_ = nullptr;
};

}  // namespace PGAS_NAMESPACE::detail::checking
