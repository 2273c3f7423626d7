// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <numeric>
#include <string_view>

#include "item_mail.hpp"

namespace example::dsde {

/// Exchanges by counts: every rank tells every rank how many messages it sends, then sends them. MPI: the
/// "personalized exchange", MPI_Alltoall and MPI_Isend.
///
/// Costs memory and time in proportion to the ranks.
template <class Team>
class alltoall {
 public:
  static constexpr std::string_view name = "alltoall";

  alltoall(Team const& team, problem const&)
      : team_(team),
        mail_(team, false),
        sent_(static_cast<std::size_t>(team.size())),
        coming_(static_cast<std::size_t>(team.size())) {}

  /// Sends the deliveries, and appends the items for this rank to `in`. Collective.
  void exchange(std::span<delivery const> out, std::vector<item>& in) {
    std::fill(sent_.begin(), sent_.end(), 0U);
    for (delivery const& d : out)
      sent_[static_cast<std::size_t>(d.to)] = static_cast<std::uint32_t>(mail_.messages_for(d));
    team_.all_to_all(sent_, coming_);
    for (delivery const& d : out) mail_.send(d);
    auto const expected = std::accumulate(coming_.begin(), coming_.end(), std::size_t{0});
    while (mail_.messages() < expected) mail_.poll();
    mail_.end_round(in);
  }

 private:
  Team team_;
  item_mail<Team> mail_;
  std::vector<std::uint32_t> sent_;
  std::vector<std::uint32_t> coming_;
};

}  // namespace example::dsde
