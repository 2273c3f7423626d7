// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sched.h>

#include <atomic>
#include <pgas/backends/pool_map.hpp>
#include <vector>

#include "../../support/incoherent/adversary.hpp"

namespace pgas_test {

/// The flaws of an emulated cache: the tests must notice each.
enum class flaw {
  none,
  clean_does_nothing,
  drop_does_nothing,
  drop_only_cleans,           ///< like clwb in place of clflushopt
  drain_stores_does_nothing,  ///< a signal may overtake the data
  drain_all_is_drain_stores,  ///< like sfence in place of mfence
  put_is_a_store,             ///< ordinary bytes and a clean
};

/// A cache in software between a rank and its pool. It shows a rank on one host the view of a rank on another
/// host: the bytes that a line held when it was last dropped.
///
/// A rank loads from and stores to its own view of the pool. The view agrees with the pool itself, its home,
/// only through these functions. Lines are written back whole. Deferrable effects happen late or, at random,
/// at once: a clean and a put until the next drain, a drop until drain_all. A dropped line is filled again at
/// once. Ranks are processes, so each has its own cache from the fork on.
template <flaw Flaw = flaw::none>
class emulated_cache {
 public:
  static constexpr std::size_t line = 64;

  static std::size_t line_bytes() noexcept { return line; }

  static std::byte* map(pgas::pool_memory const& m) noexcept {
    state& s = here();
    s.home = pgas::processor_cache::map(m);
    if (s.home == nullptr) return nullptr;
    // Neither zeros nor the pool's contents, as if another job had used this memory before.
    s.view.assign(m.bytes / line + 1, {});
    for (auto& l : s.view) std::memset(l.bytes, 0xee, line);
    s.filled = s.view;
    s.puts.clear();
    s.cleans.clear();
    s.drops.clear();
    return s.view.front().bytes;
  }
  static void unmap(std::byte*, std::uint64_t bytes) noexcept {
    pgas::processor_cache::unmap(here().home, bytes);
  }

  /// A line is written back if it differs from its fill. So the fill changes, too: a copy of the memory's
  /// last use may hold the same value.
  static void store(pgas::word* to, pgas::word value, std::memory_order order) noexcept {
    std::atomic_ref(*to).store(value, order);
    state& s = here();
    auto const offset = static_cast<std::size_t>(reinterpret_cast<std::byte*>(to) - s.view.front().bytes);
    *words(s.filled.front().bytes + offset) = ~value;
  }
  static void clean(std::byte* address, std::size_t bytes) noexcept {
    if (Flaw == flaw::clean_does_nothing) return;
    pgas::processor::each_line(address, bytes, line, [](std::byte* at) {
      if (choices().one_in(2)) {
        write_back(index(at));
      } else {
        here().cleans.push_back(index(at));
      }
    });
  }
  static void drop(std::byte* address, std::size_t bytes) noexcept {
    if (Flaw == flaw::drop_does_nothing) return;
    pgas::processor::each_line(address, bytes, line,
                               [](std::byte* at) { here().drops.push_back(index(at)); });
  }
  static void put_past(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
    if (bytes == 0) return;
    if (Flaw == flaw::put_is_a_store) {
      std::memcpy(to, from, bytes);
      clean(to, bytes);
      return;
    }
    state& s = here();
    // The put first evicts the copy. This rank's own loads see the put at once.
    pgas::processor::each_line(to, bytes, line, [](std::byte* at) {
      write_back(index(at));
      fill(index(at));
    });
    auto const offset = static_cast<std::size_t>(to - s.view.front().bytes);
    std::memcpy(to, from, bytes);
    std::memcpy(s.filled.front().bytes + offset, from, bytes);
    s.puts.push_back({offset, {from, from + bytes}});
  }

  static void drain_stores() noexcept {
    if (Flaw != flaw::drain_stores_does_nothing) drain();
  }
  static void drain_all() noexcept {
    if (choices().one_in(16)) ::sched_yield();  // a rank that was signalled too early gets time to look
    drain();
    if (Flaw == flaw::drain_all_is_drain_stores) return;
    for (std::size_t const l : here().drops) {
      write_back(l);
      if (Flaw != flaw::drop_only_cleans) fill(l);
    }
    here().drops.clear();
  }

 private:
  struct alignas(line) bytes_of_line {
    std::byte bytes[line];
  };
  struct put {
    std::size_t offset;
    std::vector<std::byte> bytes;
  };
  struct state {
    std::byte* home = nullptr;
    std::vector<bytes_of_line> view;
    std::vector<bytes_of_line> filled;  ///< the contents of each line of the view at its fill
    std::vector<put> puts;
    std::vector<std::size_t> cleans;
    std::vector<std::size_t> drops;
  };

  static state& here() noexcept {
    static state instance;
    return instance;
  }
  /// Each rank's own random numbers.
  static incoherent::dice& choices() noexcept {
    static incoherent::dice instance(static_cast<std::uint64_t>(::getpid()), 0, 0);
    return instance;
  }

  static std::size_t index(std::byte* at) noexcept {
    return static_cast<std::size_t>(at - here().view.front().bytes) / line;
  }
  static std::uint64_t* words(std::byte* of) noexcept { return reinterpret_cast<std::uint64_t*>(of); }

  // Copies word by word, so that a control word is never torn.
  static void write_back(std::size_t l) noexcept {
    state& s = here();
    if (std::memcmp(s.view[l].bytes, s.filled[l].bytes, line) == 0) return;
    for (std::size_t i = 0; i < line / 8; ++i) {
      std::atomic_ref(words(s.home + l * line)[i])
          .store(words(s.view[l].bytes)[i], std::memory_order_release);
    }
    s.filled[l] = s.view[l];
  }
  static void fill(std::size_t l) noexcept {
    state& s = here();
    for (std::size_t i = 0; i < line / 8; ++i) {
      words(s.view[l].bytes)[i] =
          std::atomic_ref(words(s.home + l * line)[i]).load(std::memory_order_acquire);
    }
    s.filled[l] = s.view[l];
  }
  static void drain() noexcept {
    state& s = here();
    for (auto const& p : s.puts) std::memcpy(s.home + p.offset, p.bytes.data(), p.bytes.size());
    s.puts.clear();
    for (std::size_t const l : s.cleans) write_back(l);
    s.cleans.clear();
  }
};

}  // namespace pgas_test
