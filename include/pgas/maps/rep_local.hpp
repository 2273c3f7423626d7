// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <pgas/detail/maps/map_member.hpp>
#include <pgas/detail/maps/replicated_table.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail {

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

}  // namespace PGAS_NAMESPACE::detail

namespace PGAS_NAMESPACE::maps {

/// Each client has a copy of the map. An update is shown when all clients have received it.
///
/// Messages  none for a lookup. An update is a request and an answer, a message to each other client, an
///           acknowledgment from each, and a second message to each.
/// Memory    each key once on each client, and the pending updates.
/// Waits     A lookup waits while an update of its key is pending. An update waits for acknowledgments.
/// States    Of an update at a replica: unknown, pending from its first message on, and shown or overwritten
///           at the second. While it is pending, lookups of its key wait.
/// Source    REP_LOCAL (Shahmirzadi 2014, algorithms 6 and 7, theorem 3.4.1). It is linearizable.
/// Differs   As printed, replicas diverge: second messages of different clients arrive in any order. Here an
///           update does not overwrite one of the same key with a higher number. All updates of a key have
///           the same sequencer, so pending ones with lower numbers are known when an update is shown.
///
/// The queue of answers of a rank must have room for a word from each client.
/// Collective: all ranks of the channel make the map, with the same options, and destroy it after `serve()`.
/// They meet before the channel carries anything else.
template <transportable Key, transportable Value, channel C, class Traits = map_traits<Key>>
class rep_local : public detail::map_member<Key, Value, C, Traits> {
  using base = detail::map_member<Key, Value, C, Traits>;
  using kind = detail::map_kind;
  using typename base::buffer;
  using typename base::message;

 public:
  static constexpr std::string_view name = "rep_local";
  static constexpr consistency promises = consistency::linearizable;

  /// Collective: makes the map on a channel, which must outlive it.
  /// Throws errc::invalid_argument if the ranks have no room for the servers.
  explicit rep_local(C& channel, map_on_options options = {})
      : base(channel, options, map_model::map_kind::rep_local, name),
        broadcast_(channel, this->servers_.all(), this->servers_.clients(),
                   [this](rank_t from, std::size_t, word, std::span<word const> payload) {
                     on_delivery(from, payload);
                   }) {
    for (rank_t rank = 0; rank < channel.size(); ++rank) everyone_.push_back(rank);
    if (this->is_client()) this->handle(receiver());
  }
  ~rep_local() { this->end_handling(); }

  [[nodiscard]] std::optional<Value> lookup(Key const& key) {
    this->begin("lookup");
    this->serve_arrived();
    this->serve_until([&] { return !pending_.has(key); }, receiver());
    return this->find_in(values_, key);
  }
  void update(Key const& key, Value const& value) { change(key, value); }
  void erase(Key const& key) { change(key, std::nullopt); }

  /// Collective: ends a run. Each rank serves until all clients have called it, and then has all updates.
  void serve() { this->end_with_replicas(everyone_, receiver()); }

  /// Calls use(key, value) for each pair that this rank keeps for all. One-sided; the first client keeps all.
  template <class Use>
  void for_each_kept(Use&& use) const {
    if (this->is_first_client())
      for (auto const& [key, value] : values_) use(key, value);
  }

 private:
  static constexpr std::size_t key_words = detail::message_words<Key>;

  void change(Key const& key, std::optional<Value> const& value) {
    this->begin(value ? "update" : "erase");
    auto const sequencer = static_cast<std::size_t>(this->select_server(key));
    word const number = broadcast_.next_number(sequencer);
    std::array<word, key_words + detail::message_words<Value>> payload;
    detail::write_value(payload, key);
    if (value) detail::write_value(std::span(payload).subspan(key_words), *value);
    broadcast_.broadcast(sequencer, number,
                         std::span<word const>(payload).first(value ? payload.size() : key_words));
    wait_for_acknowledgments();
    // This rank, too, must have the updates with lower numbers before it shows this one.
    this->serve_until([this] { return pending_.is_from(this->self()); }, receiver());
    this->send_to_others(this->servers_.clients(), detail::asynchronous, message(kind::all_have_it));
    show(this->self());
  }
  void wait_for_acknowledgments() {
    buffer words;
    for (std::size_t i = 1; i < this->servers_.clients().size(); ++i) this->receive(detail::answers, words);
  }

  auto receiver() {
    return [this](rank_t from, detail::map_reader read) {
      if (broadcast_.on_message(from, read)) return;
      if (read.kind() == kind::all_have_it) return show(from);
      this->end_.ended(from);
    };
  }
  /// An update arrives in its order: lookups of its key wait from now on.
  void on_delivery(rank_t from, std::span<word const> payload) {
    std::optional<Value> value;
    if (payload.size() > key_words) value = detail::read_value<Value>(payload.subspan(key_words));
    pending_.add(from, detail::read_value<Key>(payload), value);
    if (from != this->self()) this->send(from, detail::answers, message(kind::answer));
  }
  /// All clients have received the update of a rank.
  void show(rank_t from) {
    [[maybe_unused]] auto const held = this->channel_->hold();
    auto const update = pending_.take(from);
    if (!update.is_overwritten) this->store_in(values_, update.key, update.value);
  }

  typename base::table values_;
  detail::pending_updates<Key, Value, typename Traits::equal> pending_;
  detail::atomic_broadcast<C> broadcast_;
  std::vector<rank_t> everyone_;
};

}  // namespace PGAS_NAMESPACE::maps

namespace PGAS_NAMESPACE {

/// The policy of this algorithm: `make_map<Key, Value, pgas::rep_local>(team)`.
inline constexpr map_of_messages<maps::rep_local> rep_local{};

}  // namespace PGAS_NAMESPACE
