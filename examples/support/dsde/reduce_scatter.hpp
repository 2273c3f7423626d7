// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string_view>

#include "item_mail.hpp"

namespace example::dsde {

/// Exchanges by sums: the ranks add up how many messages each of them will get, and then send. MPI: the
/// "census", MPI_Reduce_scatter and MPI_Isend with receives from any source.
///
/// Costs a vector with a number for each rank.
template <class Team>
class reduce_scatter {
 public:
  static constexpr std::string_view name = "reduce_scatter";

  reduce_scatter(Team const& team, problem const&)
      : team_(team), mail_(team, false), sent_(static_cast<std::size_t>(team.size())) {}

  /// Sends the deliveries, and appends the items for this rank to `in`. Collective.
  void exchange(std::span<delivery const> out, std::vector<item>& in) {
    std::fill(sent_.begin(), sent_.end(), 0U);
    for (delivery const& d : out)
      sent_[static_cast<std::size_t>(d.to)] = static_cast<std::uint32_t>(mail_.messages_for(d));
    std::array<std::uint32_t, 1> expected{};
    team_.reduce_scatter(sent_, expected);
    for (delivery const& d : out) mail_.send(d);
    while (mail_.messages() < expected[0]) mail_.poll();
    mail_.end_round(in);
  }

 private:
  Team team_;
  item_mail<Team> mail_;
  std::vector<std::uint32_t> sent_;
};

}  // namespace example::dsde
