// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/fence.hpp>
#include <pgas/stage.hpp>
#include <pgas/window.hpp>
#include <string_view>

#include "problem.hpp"

namespace example::dsde {

/// Exchanges between two fences: a sender takes slots of the receiver's window by fetch_add, and puts its
/// items there. Source: the one-sided protocol of foMPI's comparison. MPI: MPI_Fetch_and_op and MPI_Put.
///
/// Costs an atomic operation and a put for each delivery, and two fences. Memory: room for the items that all
/// ranks could send to one.
template <class Team>
class accumulate {
 public:
  static constexpr std::string_view name = "accumulate";

  accumulate(Team const& team, problem const& p)
      : window_(pgas::make_window<item>(team, first + static_cast<std::size_t>(team.size()) * p.items)) {}

  /// Sends the deliveries, and appends the items for this rank to `in`. Collective.
  void exchange(std::span<delivery const> out, std::vector<item>& in) {
    {
      auto const part = pgas::stage(window_, 0, 1, pgas::write_only);
      part[0] = 0;
    }
    {
      pgas::fence epoch{window_};
      for (delivery const& d : out) {
        auto const slot = epoch.fetch_add(d.to, 0, d.items.size());
        epoch.put(d.to, first + static_cast<std::size_t>(slot), std::span(d.items));
      }
    }
    auto const part = pgas::stage(window_, pgas::read_only);
    in.insert(in.end(), part.begin() + first, part.begin() + first + part[0]);
  }

 private:
  static constexpr std::size_t first = 8;  ///< the items begin on the line after the counter's

  pgas::window_on<Team, item> window_;
};

}  // namespace example::dsde
