// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <optional>
#include <string_view>

#include "item_mail.hpp"

namespace example::dsde {

/// Exchanges with a barrier that does not block: a rank starts it when all its messages are acknowledged, and
/// receives until it has ended. MPI: MPI_Issend and MPI_Ibarrier. A started all_reduce is the barrier here.
///
/// Costs two messages for each delivery, and the barrier.
template <class Team>
class nbx {
 public:
  static constexpr std::string_view name = "nbx";

  nbx(Team const& team, problem const&) : team_(team), mail_(team, true) {}

  /// Sends the deliveries, and appends the items for this rank to `in`. Collective.
  void exchange(std::span<delivery const> out, std::vector<item>& in) {
    std::size_t sent = 0;
    for (delivery const& d : out) {
      mail_.send(d);
      sent += mail_.messages_for(d);
    }
    while (mail_.acknowledged() < sent) mail_.poll();
    std::array<std::uint32_t, 1> const mine{1};
    std::array<std::uint32_t, 1> all{};
    auto barrier = team_.start().all_reduce(mine, all);
    while (!barrier.test()) mail_.poll();
    mail_.end_round(in);
  }

 private:
  Team team_;
  item_mail<Team> mail_;
};

}  // namespace example::dsde
