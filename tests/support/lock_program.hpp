// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <tuple>
#include <vector>

#include "models.hpp"

/// Programs of a few ranks that lock and unlock, for searches.
namespace pgas_test::locks {

using pgas::lock_kind;
using pgas::rank_t;

/// A rank's actions: lock the part, read and write inside, and unlock it.
enum class act { exclusive, shared, all, try_exclusive, try_shared };
struct step {
  act what;
  rank_t target = 0;
};
/// A list for each rank.
using program = std::vector<std::vector<step>>;

inline constexpr step x{act::exclusive};
inline constexpr step s{act::shared};
inline constexpr step a{act::all};
inline constexpr step x1{act::exclusive, 1};
inline constexpr step tx{act::try_exclusive};
inline constexpr step ts{act::try_shared};

inline std::vector<program> of_two() {
  return {{{x, x}, {x}},      {{x}, {s, x}},      {{x, x}, {a}},
          {{s, ts}, {x, tx}}, {{tx, x}, {ts, s}}, {{tx, x}, {a, a}}};
}
inline std::vector<program> of_three() {
  return {{{x}, {x}, {x}}, {{x}, {x}, {s}},  {{x}, {s}, {s}},  {{x}, {x}, {a}},     {{x}, {a}, {s}},
          {{a}, {a}, {x}}, {{tx}, {s}, {x}}, {{ts}, {x}, {s}}, {{s}, {ts}, {x, x}}, {{a}, {x1}, {x}}};
}

/// For hand-overs from one shared holder to the next but one.
inline program of_four() { return {{x}, {s}, {s}, {s}}; }

/// Performs one rank's steps; read(target) and write(target) access the part inside.
template <class Protocol, class Read, class Write>
void take_steps(Protocol& protocol, std::vector<step> const& steps, rank_t ranks, Read const& read,
                Write const& write) {
  pgas::no_boundary nothing;
  for (step const& one : steps) {
    switch (one.what) {
      case act::exclusive:
      case act::try_exclusive:
        if (one.what == act::exclusive) {
          hold(protocol, one.target, lock_kind::exclusive, nothing);
        } else if (!protocol.try_lock(one.target, lock_kind::exclusive, nothing)) {
          break;
        }
        write(one.target);
        protocol.unlock(one.target, lock_kind::exclusive, nothing);
        break;
      case act::shared:
      case act::try_shared:
        if (one.what == act::shared) {
          hold(protocol, one.target, lock_kind::shared, nothing);
        } else if (!protocol.try_lock(one.target, lock_kind::shared, nothing)) {
          break;
        }
        read(one.target);
        protocol.unlock(one.target, lock_kind::shared, nothing);
        break;
      case act::all:
        protocol.lock_all(nothing);
        for (rank_t target = ranks; target-- > 0;) {
          protocol.trigger(target, nothing);
          read(target);
        }
        protocol.unlock_all(nothing);
    }
  }
}

/// Calls use(protocol) for each protocol on words with locks on single parts.
template <class Use>
void with_each(Use const& use) {
  std::apply([&](auto... protocol) { (use(protocol), ...); }, target_locks_on_words{});
}

}  // namespace pgas_test::locks
