// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <mutex>
#include <pgas/concepts/channel.hpp>
#include <pgas/detail/process/one_per_process.hpp>
#include <pgas/vocabulary/error.hpp>
#include <set>
#include <string_view>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Says that a channel carries a map, as long as the object lives. A second map on the channel would get
/// messages of the first one, so it is refused.
class map_on_channel {
 public:
  /// Throws errc::wrong_order if the channel carries another map.
  template <channel C>
  map_on_channel(C const& on, std::string_view map) : channel_(&on) {
    auto& [lock, carriers] = all();
    std::scoped_lock const held(lock);
    if (!carriers.insert(channel_).second)
      throw error(errc::wrong_order, on.rank(), map,
                  "the channel carries another map, and the messages of both would mix; destroy that map "
                  "first, or make a channel for each");
  }
  map_on_channel(map_on_channel const&) = delete;
  map_on_channel& operator=(map_on_channel const&) = delete;
  ~map_on_channel() {
    auto& [lock, carriers] = all();
    std::scoped_lock const held(lock);
    carriers.erase(channel_);
  }

 private:
  /// The channels of this process that carry maps. Ranks may be threads.
  struct registry {
    static constexpr std::string_view shared_name = "maps on channels";
    std::mutex lock;
    std::set<void const*> carriers;
  };
  static registry& all() { return one_per_process<registry>(); }

  void const* channel_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
