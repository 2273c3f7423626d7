// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <optional>
#include <pgas/vocabulary/expects.hpp>
#include <string_view>

namespace PGAS_NAMESPACE {

/// The promise of a concurrent object about operations that overlap.
enum class consistency {
  linearizable,  ///< each operation takes effect at one moment between its call and its return
  sequential,    ///< all ranks see one order of all operations, in which each rank's are in program order
};

/// A map that the ranks of a team share, made of messages or of one-sided accesses: one header in maps/.
///
/// `lookup(key)` returns the value of a key, or nothing. `update(key, value)` inserts or overwrites. It
/// returns when later lookups, as far as `promises` says, return the value. `erase(key)` makes the key
/// absent. Only ranks where `is_client()` is true call these. `serve()` is called by all ranks at the end: a
/// server's call serves until all clients have called it, and a client's call goes on with what other ranks
/// need of it. Then all ranks return. `name` is the map's name in messages and tables.
template <class M>
concept concurrent_map =
    requires(M& m, M const& cm, typename M::key_type const& key, typename M::mapped_type const& value) {
      { m.lookup(key) } -> std::same_as<std::optional<typename M::mapped_type>>;
      m.update(key, value);
      m.erase(key);
      m.serve();
      { cm.is_client() } -> std::same_as<bool>;
      { M::promises } -> std::convertible_to<consistency>;
      { M::name } -> std::convertible_to<std::string_view>;
    };

}  // namespace PGAS_NAMESPACE
