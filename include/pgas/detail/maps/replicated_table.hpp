// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/detail/maps/atomic_broadcast.hpp>
#include <pgas/detail/maps/map_member.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// A table on each client that changes by an atomic broadcast: what rep_remote and rep_sc have in common.
template <transportable Key, transportable Value, channel C, class Traits>
class replicated_table : public map_member<Key, Value, C, Traits> {
  using base = map_member<Key, Value, C, Traits>;

  static consteval broadcast_fault fault_of_broadcast() {
    if constexpr (requires { Traits::broadcast; }) return Traits::broadcast;
    return broadcast_fault::none;
  }

 public:
  ~replicated_table() { this->end_handling(); }

  /// Collective: ends a run. Each rank serves until all clients have called it, and then has all updates.
  void serve() { this->end_with_replicas(everyone_, receiver()); }

  /// Calls use(key, value) for each pair that this rank keeps for all. One-sided; the first client keeps all.
  template <class Use>
  void for_each_kept(Use&& use) const {
    if (this->is_first_client())
      for (auto const& [key, value] : values_) use(key, value);
  }

 protected:
  replicated_table(C& channel, map_on_options options, map_model::map_kind kind, std::string_view name)
      : base(channel, options, kind, name),
        broadcast_(channel, this->servers_.all(), this->servers_.clients(),
                   [this](rank_t, std::size_t, word, std::span<word const> payload) { apply(payload); }) {
    for (rank_t rank = 0; rank < channel.size(); ++rank) everyone_.push_back(rank);
    if (this->is_client()) this->handle(receiver());
  }

  /// Numbers an update and sends it to all clients. Returns the sequencer and the number.
  std::pair<std::size_t, word> send_update(Key const& key, std::optional<Value> const& value) {
    auto const sequencer = static_cast<std::size_t>(this->select_server(key));
    word const number = broadcast_.next_number(sequencer);
    std::array<word, message_words<Key> + message_words<Value>> payload;
    write_value(payload, key);
    if (value) write_value(std::span(payload).subspan(message_words<Key>), *value);
    std::size_t const words = message_words<Key> + (value ? message_words<Value> : 0);
    broadcast_.broadcast(sequencer, number, std::span<word const>(payload).first(words));
    return {sequencer, number};
  }
  /// Waits until this replica has applied all updates up to a number.
  void wait_for(std::size_t sequencer, word number) {
    this->serve_until([&] { return broadcast_.delivered(sequencer) >= number; }, receiver());
  }

  typename base::table values_;
  atomic_broadcast<C, fault_of_broadcast()> broadcast_;

 private:
  auto receiver() {
    return [this](rank_t from, map_reader read) {
      if (!broadcast_.on_message(from, read)) this->end_.ended(from);
    };
  }
  void apply(std::span<word const> payload) {
    Key const key = read_value<Key>(payload);
    if (payload.size() == message_words<Key>) return this->store_in(values_, key, std::nullopt);
    this->store_in(values_, key, read_value<Value>(payload.subspan(message_words<Key>)));
  }

  std::vector<rank_t> everyone_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
