// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <pgas/vocabulary/rank.hpp>
#include <utility>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// An update that a replica has received, but may not show yet.
template <class Key, class Value>
struct pending_update {
  rank_t from;
  Key key;
  std::optional<Value> value;   ///< nothing: the key is erased
  bool is_overwritten = false;  ///< a later update of this key has been shown
};

/// The pending updates of a replica, at most one of each rank, in the order of their numbers.
template <class Key, class Value, class Equal>
class pending_updates {
 public:
  void add(rank_t from, Key const& key, std::optional<Value> const& value) {
    all_.push_back({from, key, value});
  }
  [[nodiscard]] bool has(Key const& key) const {
    return std::any_of(all_.begin(), all_.end(), [&](auto const& one) { return Equal{}(one.key, key); });
  }
  [[nodiscard]] bool is_from(rank_t from) const noexcept { return find(from) != all_.size(); }

  /// Takes the update of a rank, and marks those of its key with lower numbers as overwritten.
  [[nodiscard]] pending_update<Key, Value> take(rank_t from) {
    auto const place = all_.begin() + static_cast<std::ptrdiff_t>(find(from));
    pending_update<Key, Value> const taken = *place;
    for (auto earlier = all_.begin(); earlier != place; ++earlier)
      if (Equal{}(earlier->key, taken.key)) earlier->is_overwritten = true;
    all_.erase(place);
    return taken;
  }

 private:
  [[nodiscard]] std::size_t find(rank_t from) const noexcept {
    return static_cast<std::size_t>(
        std::find_if(all_.begin(), all_.end(), [&](auto const& one) { return one.from == from; }) -
        all_.begin());
  }

  std::vector<pending_update<Key, Value>> all_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
