// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <exception>
#include <pgas/containers/distributed_map.hpp>
#include <pgas/detail/process/uncaught_since.hpp>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE {

/// Collects values for the keys of a map in this rank's memory, and brings them to the map many at a time.
///
/// Values of one key are combined here first, so a frequent key costs one access for many values. The rest is
/// sent to the map in bulk, the keys of one owner after another. `op` is associative and commutative, since
/// other ranks' values come between. A value is in the map after `flush`, also after the one that `add` makes
/// when there are `most` keys here. The destructor flushes; an error is thrown by the rank's next collective
/// call. During stack unwinding it drops the values. Local, except for flushes. Requires that the map is
/// neither moved nor destroyed meanwhile. Costs memory for `most` pairs. UPC++ and BCL: aggregating stores.
template <class Map, class Op>
class buffered_updates {
 public:
  using key_type = typename Map::key_type;
  using mapped_type = typename Map::mapped_type;

  /// For buffered.
  buffered_updates(Map& map, std::size_t most, Op op)
      : map_(&map), op_(op), most_(most), places_(most, map.hash_function(), map.key_eq()) {
    pairs_.reserve(most);
  }
  buffered_updates(buffered_updates const&) = delete;
  buffered_updates& operator=(buffered_updates const&) = delete;
  ~buffered_updates() {
    if (uncaught_.any()) return;
    try {
      flush();
    } catch (...) {
      map_->team().state()->deferred->record(std::current_exception());
    }
  }

  /// Combines a value with those of the key. The last of `most` keys flushes, and throws what flush throws.
  void add(key_type const& key, mapped_type const& value) {
    auto const [at, is_new] = places_.try_emplace(key, pairs_.size());
    if (!is_new) {
      auto& mine = pairs_[at->second].second;
      mine = op_(mine, value);
      return;
    }
    pairs_.emplace_back(key, value);
    if (pairs_.size() >= most_) flush();
  }
  /// Sends all values to the map. Throws the errors of insert_or_accumulate; the values are then lost.
  void flush() {
    std::vector<std::pair<key_type, mapped_type>> full;
    full.reserve(most_);
    full.swap(pairs_);
    places_.clear();
    map_->insert_or_accumulate(std::span<std::pair<key_type, mapped_type> const>(full), op_);
  }
  /// The number of keys in the buffer.
  [[nodiscard]] std::size_t size() const noexcept { return pairs_.size(); }

 private:
  Map* map_;
  Op op_;
  std::size_t most_;
  std::vector<std::pair<key_type, mapped_type>> pairs_;
  std::unordered_map<key_type, std::size_t, typename Map::hasher, typename Map::key_equal> places_;
  detail::uncaught_since uncaught_;
};

/// Makes a buffer for insert_or_accumulate: `auto counts = pgas::buffered(map); counts.add(word, 1);`. Local.
/// `most` is the number of different keys that it holds before it flushes by itself, at least one.
template <class Map, detail::operation_argument Op = op::sum>
[[nodiscard]] buffered_updates<Map, Op> buffered(Map& map, std::size_t most = 1024, Op op = {}) {
  return {map, most, op};
}

}  // namespace PGAS_NAMESPACE
