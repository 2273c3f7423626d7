// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <pgas/concepts/channel.hpp>
#include <pgas/detail/maps/map_member.hpp>
#include <pgas/vocabulary/map_traits.hpp>
#include <thread>
#include <unordered_map>

namespace PGAS_NAMESPACE::detail {

/// Lets a rank serve others for a while after its attempt number `attempt`, counted from 0, has failed.
///
/// The rank and the attempt decide how long, as if at random, up to a bound that doubles with each attempt.
/// So attempts of ranks that fail each other drift apart, also where all ranks run at the same speed. Plain
/// multiples of the rank would meet again: attempt k of rank 1 and attempt k + 1 of rank 0 begin together.
template <channel C>
void back_off(C& channel, unsigned attempt) {
  constexpr std::uint64_t cycles_a_turn = 50;  // of the order of a message and its answer
  auto const bound = static_cast<std::uint64_t>(channel.size()) << std::min(attempt, 10U);
  auto const turns = mixed(static_cast<std::uint64_t>(channel.rank()) << 32U | attempt) % bound;
  for (std::uint64_t turn = 0; turn < turns; ++turn) {
    channel.charge(cycles_a_turn);
    // Where ranks are more than cores, the rank that must answer may wait for this core.
    if (channel.poll() == 0) std::this_thread::yield();
  }
}

}  // namespace PGAS_NAMESPACE::detail

namespace PGAS_NAMESPACE::maps {

/// Each rank has a copy of the map, and there are no servers. An update needs the votes of all ranks.
///
/// Messages  none for a lookup. An update sends two messages to each other rank, and gets an answer to each.
/// Memory    each key once on each rank, and the pending updates.
/// Waits     A lookup waits while an update of its key is pending. An update waits for votes, and `update`
///           for conflicting updates too. `try_update` gives up at a conflict.
/// States    Of a key at a replica: free, or flagged with the rank whose update is pending. A vote for an
///           update flags the key, and its commit or abort frees it.
/// Source    REP_2PC (Shahmirzadi 2014, algorithm 8). It is linearizable: an update that commits has flagged
///           its key on all ranks, so no other update of the key has, and no lookup of it returns meanwhile.
/// Differs   As printed it is unsafe: there a rank with a higher number flags a key that is flagged, and both
///           updates may commit. Here a rank votes for an update only if the key is free. Ranks that fail
///           each other wait, the longer the higher their numbers, so that one of them goes first.
///
/// The queue of answers of a rank must have room for a word from each other rank.
/// Collective: all ranks of the channel make the map, with the same options, and destroy it after `serve()`.
/// They meet before the channel carries anything else.
template <transportable Key, transportable Value, channel C, class Traits = map_traits<Key>>
class rep_2pc : public detail::map_member<Key, Value, C, Traits> {
  using base = detail::map_member<Key, Value, C, Traits>;
  using kind = detail::map_kind;
  using typename base::buffer;
  using typename base::message;

 public:
  static constexpr std::string_view name = "rep_2pc";
  static constexpr consistency promises = consistency::linearizable;

  /// Collective: makes the map on a channel, which must outlive it.
  /// Throws errc::invalid_argument if a number of servers is given.
  explicit rep_2pc(C& channel, map_on_options options = {})
      : base(channel, without_servers(channel, options), map_model::map_kind::rep_2pc, name),
        everyone_(static_cast<std::size_t>(channel.size())) {
    std::iota(everyone_.begin(), everyone_.end(), 0);
    this->handle(receiver());
  }
  ~rep_2pc() { this->end_handling(); }

  /// This map has no servers.
  [[nodiscard]] static constexpr std::size_t number_of_servers() noexcept { return 0; }

  [[nodiscard]] std::optional<Value> lookup(Key const& key) {
    this->begin("lookup");
    this->serve_arrived();
    this->serve_until([&] { return !flags_.contains(key); }, receiver());
    return this->find_in(values_, key);
  }
  /// Tries to update once. Returns false, and changes nothing, if another update of the key is under way.
  [[nodiscard]] bool try_update(Key const& key, Value const& value) { return attempt(key, value); }
  /// Tries to erase once. Returns false, and changes nothing, if another update of the key is under way.
  [[nodiscard]] bool try_erase(Key const& key) { return attempt(key, std::nullopt); }
  void update(Key const& key, Value const& value) { change(key, value); }
  void erase(Key const& key) { change(key, std::nullopt); }

  /// Collective: ends a run. Each rank serves until all have called it, and then has all updates.
  void serve() { this->end_with_replicas(everyone_, receiver()); }

  /// Calls use(key, value) for each pair that this rank keeps for all. One-sided; the first rank keeps all.
  template <class Use>
  void for_each_kept(Use&& use) const {
    if (this->is_first_client())
      for (auto const& [key, value] : values_) use(key, value);
  }

 private:
  using flags = std::unordered_map<Key, rank_t, typename Traits::hash, typename Traits::equal>;

  static map_on_options without_servers(C& channel, map_on_options options) {
    if (options.servers.number != map_servers::chosen)
      throw error(errc::invalid_argument, channel.rank(), name,
                  "this map has no servers; leave their number out");
    options.servers = {.number = 1, .where = placement::colocated};
    return options;
  }

  void change(Key const& key, std::optional<Value> const& value) {
    for (unsigned failed = 0; !attempt(key, value); ++failed) detail::back_off(*this->channel_, failed);
  }
  bool attempt(Key const& key, std::optional<Value> const& value) {
    this->begin(value ? "update" : "erase");
    if (!vote(this->self(), key)) return false;
    this->send_to_others(everyone_, detail::asynchronous, message(kind::vote).add_value(key));
    bool const is_agreed = receive_answers();
    auto const decision = is_agreed ? kind::commit : kind::abort;
    this->send_to_others(everyone_, detail::asynchronous,
                         message(decision).add_value(key).add_value(is_agreed ? value : std::nullopt));
    decide(this->self(), key, is_agreed, value);
    if (is_agreed) receive_answers();
    return is_agreed;
  }
  /// Receives an answer from each other rank, and returns whether all agree.
  bool receive_answers() {
    bool is_agreed = true;
    for (std::size_t i = 1; i < everyone_.size(); ++i) {
      buffer words;
      this->receive(detail::answers, words);
      is_agreed = is_agreed && detail::map_reader(words).number() != 0;
    }
    return is_agreed;
  }

  auto receiver() {
    return [this](rank_t from, detail::map_reader read) {
      if (read.kind() == kind::ended) return this->end_.ended(from);
      Key const key = read.template value<Key>();
      if (read.kind() == kind::vote) {
        this->send(from, detail::answers, message(kind::answer, vote(from, key) ? 1 : 0));
        return;
      }
      bool const commits = read.kind() == kind::commit;
      if (commits) this->send(from, detail::answers, message(kind::answer, 1));
      decide(from, key, commits, read.template last_value<Value>());
    };
  }
  /// Flags a key for the update of a rank, and returns whether it was free.
  bool vote(rank_t from, Key const& key) {
    [[maybe_unused]] auto const held = this->channel_->hold();
    return flags_.try_emplace(key, from).second;
  }
  void decide(rank_t from, Key const& key, bool commits, std::optional<Value> const& value) {
    [[maybe_unused]] auto const held = this->channel_->hold();
    if (commits) this->store_in(values_, key, value);
    auto const flag = flags_.find(key);
    if (flag != flags_.end() && (commits || flag->second == from)) flags_.erase(flag);
  }

  typename base::table values_;
  flags flags_;  ///< the keys that are not free
  std::vector<rank_t> everyone_;
};

}  // namespace PGAS_NAMESPACE::maps

namespace PGAS_NAMESPACE {

/// The policy of this algorithm: `make_map<Key, Value, pgas::rep_2pc>(team)`.
inline constexpr map_of_messages<maps::rep_2pc> rep_2pc{};

}  // namespace PGAS_NAMESPACE
