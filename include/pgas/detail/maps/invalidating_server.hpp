// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>
#include <pgas/detail/maps/map_message.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// What a client asks a server for: the value of a key, or to change it.
template <class Key, class Value>
struct map_request {
  rank_t from;
  Key key;
  bool is_lookup;
  std::optional<Value> value;  ///< of an update; nothing erases
};

/// The keys of a server whose clients keep copies.
///
/// States    A key is free, or an update of it is pending until all clients with a copy have dropped it.
///           Requests for a key with a pending update wait in their order; those for other keys do not.
///           At most `most_under_way` updates invalidate copies at a time. A further one is held: its key is
///           blocked, but its invalidations wait until another update ends. So the messages under way to a
///           client have room in its queue, and this server never waits in a send.
/// Order     The set of clients with a copy is empty when an update has been applied. The next update needs
///           no message to a client that has not looked the key up since.
///
/// `Server` carries out what these steps ask for: `server.answer(request, value)` and
/// `server.invalidate(ranks, number, key)`. `server.keeps_copy(rank)` says whether a client keeps a copy of
/// what it looks up here. `server.take_time_to_read()` and `server.take_time_to_write()` charge for an
/// access.
template <class Key, class Value, class Traits, bool BlocksKeys = true, bool ForgetsCopies = true>
class invalidating_server {
  using request = map_request<Key, Value>;

 public:
  /// The updates that may invalidate copies at a time, where queues have room for any number.
  static constexpr std::size_t any_number = ~std::size_t{0};

  explicit invalidating_server(std::size_t most_under_way = any_number) noexcept
      : most_under_way_(most_under_way) {}

  template <class Server>
  void on_request(request const& r, Server& server) {
    entry& e = entries_[r.key];
    if (e.pending != 0 && (BlocksKeys || !r.is_lookup)) {
      e.waiting.push_back(r);
      return;
    }
    carry_out(e, r, server);
  }

  /// A client has dropped its copy, as the pending update with this number asked it to.
  template <class Server>
  void on_invalidated(word number, Server& server) {
    auto const found = pending_.find(number);
    if (--found->second.missing > 0) return;
    pending const done = std::move(found->second);
    pending_.erase(found);
    entry& e = entries_.find(done.update.key)->second;
    e.pending = 0;
    apply(e, done.update, server);
    if (!held_.empty()) {
      word const next = held_.front();
      held_.pop_front();
      invalidate(next, server);
    }
    while (e.pending == 0 && !e.waiting.empty()) {
      request const next = e.waiting.front();
      e.waiting.pop_front();
      carry_out(e, next, server);
    }
    // An absent key whose copies are gone needs no memory.
    if (!e.value && e.copies.empty() && e.pending == 0) entries_.erase(done.update.key);
  }

  /// Calls use(key, value) for each key that is present.
  template <class Use>
  void for_each(Use&& use) const {
    for (auto const& [key, its] : entries_)
      if (its.value) use(key, *its.value);
  }

 private:
  struct entry {
    std::optional<Value> value;
    std::vector<rank_t> copies;   ///< the clients with a copy: the invalidation set
    word pending = 0;             ///< the number of the pending update, or 0
    std::deque<request> waiting;  ///< requests that came after it
  };
  struct pending {
    request update;
    std::size_t missing = 0;  ///< the clients that may still have a copy
  };

  template <class Server>
  void carry_out(entry& e, request const& r, Server& server) {
    if (r.is_lookup) {
      server.take_time_to_read();
      if (server.keeps_copy(r.from) && std::find(e.copies.begin(), e.copies.end(), r.from) == e.copies.end())
        e.copies.push_back(r.from);
      server.answer(r, e.value);
      return;
    }
    if (e.copies.empty()) return apply(e, r, server);
    e.pending = ++last_number_;
    pending_.emplace(e.pending, pending{r});
    if (pending_.size() - held_.size() > most_under_way_) {
      held_.push_back(e.pending);
      return;
    }
    invalidate(e.pending, server);
  }
  /// Asks the clients to drop their copies. They stay listed until they are gone: a send may wait, and an
  /// answer must not overtake it.
  template <class Server>
  void invalidate(word number, Server& server) {
    pending& what = pending_.find(number)->second;
    auto const& copies = entries_.find(what.update.key)->second.copies;
    what.missing = copies.size();
    server.invalidate(std::span<rank_t const>(copies), number, what.update.key);
  }
  template <class Server>
  void apply(entry& e, request const& r, Server& server) {
    if constexpr (ForgetsCopies) e.copies.clear();
    server.take_time_to_write();
    e.value = r.value;
    server.answer(r, std::nullopt);
  }

  std::unordered_map<Key, entry, typename Traits::hash, typename Traits::equal> entries_;
  std::unordered_map<word, pending> pending_;  ///< by number
  std::deque<word> held_;                      ///< the numbers of pending updates that are held
  word last_number_ = 0;
  std::size_t most_under_way_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
