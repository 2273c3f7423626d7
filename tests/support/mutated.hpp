// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <atomic>
#include <pgas/concepts/coherence_policy.hpp>
#include <vector>

namespace pgas_test {

/// The step that a mutant lacks: an operation of its policy, or a part of one.
enum class step {
  none,
  clean_own,
  clean_remote,
  drop_own,
  drop_remote,
  drain_stores,
  drain_all,
  last_line_of_clean,  ///< the range of a clean ends a line too early
  last_line_of_drop,   // the range of a drop ends a line too early
  fence_kind,          ///< drops are ended by the drain that orders stores only
  byte_mask,           ///< a put writes the whole lines around its bytes
  drop_of_get,         ///< a get loads what the cache holds
  flush_of_load,       ///< a load does not complete own stores that are puts
  publish_of_get,      ///< a passive get leaves own stores where they are
};

namespace mutants {

/// The bytes of a part without its last line.
template <pgas::cache_controlled S>
std::size_t all_but_last_line(S const& s, pgas::rank_t rank) {
  std::size_t const bytes = s.part_bytes(rank);
  return bytes == 0 ? 0 : (bytes - 1) / S::line_bytes * S::line_bytes;
}

/// Reads the lines around the bytes and puts them back with the new bytes, as hardware without byte masks
/// would.
template <pgas::cache_controlled S>
void put_whole_lines(S& s, pgas::location at, pgas::bytes_in from) {
  std::size_t const first = at.offset / S::line_bytes * S::line_bytes;
  std::size_t const end = std::min(
      s.part_bytes(at.rank), (at.offset + from.size() + S::line_bytes - 1) / S::line_bytes * S::line_bytes);
  std::vector<std::byte> lines(end - first);
  s.get({at.rank, first}, lines);
  s.flush_local(at.rank);
  std::copy(from.begin(), from.end(), lines.begin() + static_cast<std::ptrdiff_t>(at.offset - first));
  s.put({at.rank, first}, lines);
}

}  // namespace mutants

/// While an object lives, policies that are `mutated` lack this step, on every rank that is launched.
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

/// A policy without the missing step: a wrong policy that some test must catch.
///
/// The mutant is a value at run time. All mutants share one test binary, and no test program is compiled
/// again for each. Parts of operations are those of `write_back`: ranges, and puts past the cache.
template <pgas::coherence_policy Policy>
struct mutated : Policy {
  static constexpr std::string_view name = Policy::name;

  template <pgas::segment S>
  static void clean_own(S& s) {
    if (lacking::is(step::last_line_of_clean)) {
      if constexpr (pgas::cache_controlled<S>)
        s.clean({s.rank(), 0}, mutants::all_but_last_line(s, s.rank()));
    } else if (!lacking::is(step::clean_own)) {
      Policy::clean_own(s);
    }
  }
  static void clean_remote(pgas::segment auto& s, pgas::rank_t rank) {
    if (!lacking::is(step::clean_remote)) Policy::clean_remote(s, rank);
  }
  template <pgas::segment S>
  static void drop_own(S& s) {
    if (lacking::is(step::last_line_of_drop)) {
      if constexpr (pgas::cache_controlled<S>) s.drop({s.rank(), 0}, mutants::all_but_last_line(s, s.rank()));
    } else if (!lacking::is(step::drop_own)) {
      Policy::drop_own(s);
    }
  }
  template <pgas::segment S>
  static void drop_remote(S& s, pgas::rank_t rank) {
    if (lacking::is(step::last_line_of_drop)) {
      if constexpr (pgas::cache_controlled<S>) s.drop({rank, 0}, mutants::all_but_last_line(s, rank));
    } else if (!lacking::is(step::drop_remote)) {
      Policy::drop_remote(s, rank);
    }
  }
  static void drain_stores(pgas::segment auto& s) {
    if (!lacking::is(step::drain_stores)) Policy::drain_stores(s);
  }
  static void drain_all(pgas::segment auto& s) {
    if (lacking::is(step::fence_kind)) {
      Policy::drain_stores(s);
    } else if (!lacking::is(step::drain_all)) {
      Policy::drain_all(s);
    }
  }
  template <pgas::segment S>
  static void put(S& s, pgas::location at, pgas::bytes_in from) {
    if constexpr (pgas::cache_controlled<S>) {
      if (lacking::is(step::byte_mask)) return mutants::put_whole_lines(s, at, from);
    }
    Policy::put(s, at, from);
  }
  template <pgas::segment S>
  static void get(S& s, pgas::location at, pgas::bytes_out into) {
    if constexpr (pgas::cache_controlled<S>) {
      if (lacking::is(step::drop_of_get)) return s.load(at, into);
    }
    Policy::get(s, at, into);
  }
  static void get_now(pgas::segment auto& s, pgas::location at, pgas::bytes_out into) {
    if (lacking::is(step::publish_of_get)) {
      s.get(at, into);
    } else {
      Policy::get_now(s, at, into);
    }
  }
  static void load(pgas::segment auto& s, pgas::location at, pgas::bytes_out into) {
    if (lacking::is(step::flush_of_load)) {
      s.get(at, into);
      s.flush_local(s.rank());
    } else {
      Policy::load(s, at, into);
    }
  }
};

}  // namespace pgas_test
