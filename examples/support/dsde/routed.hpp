// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <map>
#include <pgas/containers/make_channel.hpp>
#include <string_view>
#include <thread>

#include "fastest_radix.hpp"
#include "problem.hpp"

namespace example::dsde {

/// Exchanges by a dissemination that carries the items: in each round a rank sends to the ranks at n^i, 2 n^i
/// to (n - 1) n^i all items that have a digit of that value left to go. After the last round everything has
/// arrived, and every rank knows it: neither counts, acknowledgements nor a barrier are sent.
///
/// Source: the store-and-forward of Bruck, Ho, Kipnis, Upfal and Weathersby 1997 for all-to-all exchanges.
/// Here a batch says how many items it has, and most are empty. Costs a message for each of the barrier's,
/// more if a batch does not fit into one, and up to as many hops of an item as there are rounds. Memory:
/// nothing for each rank, apart from the channel's.
template <class Team>
class routed {
 public:
  static constexpr std::string_view name = "routed";

  routed(Team const& team, problem const&)
      : self_(team.rank()), ranks_(team.size()), channel_(pgas::make_channel(team)) {
    channel_.handle(0, [this](pgas::rank_t from, auto message) {
      auto& stream = streams_[from];
      stream.insert(stream.end(), message.begin(), message.end());
    });
    std::vector<item> nothing;
    radix_ = fastest_radix(team, [&](pgas::rank_t n) {
      radix_ = n;
      exchange({}, nothing);
    });
  }
  routed(routed const&) = delete;
  routed& operator=(routed const&) = delete;

  /// Sends the deliveries, and appends the items for this rank to `in`. Collective.
  void exchange(std::span<delivery const> out, std::vector<item>& in) {
    for (delivery const& d : out) {
      for (item const one : d.items) carried_.push_back({d.to, one});
    }
    for (pgas::rank_t step = 1; step < ranks_; step *= radix_) {
      for (pgas::rank_t digit = 1; digit < radix_ && digit * step < ranks_; ++digit) send(step, digit);
      for (pgas::rank_t digit = 1; digit < radix_ && digit * step < ranks_; ++digit)
        receive((self_ + ranks_ - digit * step) % ranks_);
    }
    for (travelling const& t : carried_) in.push_back(t.what);
    carried_.clear();
  }

 private:
  using channel_type = pgas::channel_on<typename Team::backend_type>;
  static constexpr std::size_t most_words = channel_type::most_words;

  struct travelling {
    pgas::rank_t to;
    item what;
  };

  /// Sends the items that have this digit to go: their number of words, then target and item of each.
  void send(pgas::rank_t step, pgas::rank_t digit) {
    std::vector<pgas::word> batch{0};
    auto const left = std::stable_partition(carried_.begin(), carried_.end(), [&](travelling const& t) {
      return (t.to + ranks_ - self_) % ranks_ / step % radix_ != digit;
    });
    for (auto t = left; t != carried_.end(); ++t)
      batch.insert(batch.end(), {static_cast<pgas::word>(t->to), t->what});
    carried_.erase(left, carried_.end());
    batch[0] = batch.size();
    for (std::size_t i = 0; i < batch.size(); i += most_words)
      channel_.send((self_ + digit * step) % ranks_, 0,
                    std::span(batch).subspan(i, std::min(most_words, batch.size() - i)));
  }
  /// Receives the next batch of a rank. Batches of one rank arrive in their order.
  void receive(pgas::rank_t from) {
    auto& stream = streams_[from];
    while (stream.empty() || stream.size() < stream[0]) {
      if (channel_.poll() == 0) std::this_thread::yield();  // ranks may share a core
    }
    auto const end = stream.begin() + static_cast<std::ptrdiff_t>(stream[0]);
    for (auto w = stream.begin() + 1; w != end; w += 2)
      carried_.push_back({static_cast<pgas::rank_t>(w[0]), w[1]});
    stream.erase(stream.begin(), end);
  }

  pgas::rank_t self_;
  pgas::rank_t ranks_;
  pgas::rank_t radix_ = 2;
  channel_type channel_;
  std::vector<travelling> carried_;
  std::map<pgas::rank_t, std::vector<pgas::word>> streams_;  ///< what has come from a rank and was not read
};

}  // namespace example::dsde
